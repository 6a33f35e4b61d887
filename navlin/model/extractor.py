"""The register of extractors. A module in the package ``extractors`` registers itself by this decorator, nothing else does.

    @extractor("impala_events", source_type="IMPALA", mode=PUSH, version=1)
    @dataclass(frozen=True, slots=True)
    class ImpalaEvents:
        source: Source
        estate: Estate
        directory: str

        def plan(self, positions: Positions) -> Plan: ...
        def read(self, split: Split) -> Iterator[Record]: ...

The fields after ``source`` and ``estate`` are the settings that a configuration may give it, checked by name and type.
One that changes makes the next plan a complete one, unless it is declared by `keeps_positions`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar, overload, runtime_checkable

from navlin.model.plan import Plan, Positions
from navlin.model.records import Record, Split
from navlin.model.source import Estate, Source


class Mode(StrEnum):
    """Who starts: navlin on a schedule (pull), or the source by writing a file (push)."""

    PULL = "pull"
    PUSH = "push"


PULL, PUSH = Mode.PULL, Mode.PUSH


class Extractor(Protocol):
    """What an extractor is: a small frozen value that can plan and read. It is pickled into Spark tasks.

    ``read`` may run twice on one split and must yield the same; it leaves nothing behind. Connections are opened inside
    ``read`` and ``plan`` and closed before they end. What it cannot parse it yields as a `Reject`; what it cannot reach
    it raises, in words that name host, file and what to do.
    """

    @property
    def source(self) -> Source: ...

    @property
    def estate(self) -> Estate: ...

    def plan(self, positions: Positions) -> Plan: ...

    def read(self, split: Split) -> Iterator[Record]: ...


@runtime_checkable
class Watches(Protocol):
    """An extractor that reads local files may say which directories to watch, so that the daemon polls it sooner."""

    def directories(self) -> tuple[str, ...]: ...


@runtime_checkable
class Checks(Protocol):
    """An extractor may test its connection for ``navlin check``: yields what is fine, raises what is not."""

    def check(self) -> Iterator[str]: ...


@runtime_checkable
class Serves(Protocol):
    """An extractor class may derive from its settings which authorities its source serves, and its address."""

    @classmethod
    def serves(cls, settings: Mapping[str, Any]) -> tuple[str, ...]: ...


GIVEN: Final = ("source", "estate")
"""The fields of every extractor that navlin fills in itself; all others are settings."""

KEEPS_POSITIONS: Final = "keeps positions"
"""The mark of `keeps_positions` in a field's metadata."""

_D = TypeVar("_D")


@overload
def keeps_positions() -> Any: ...
@overload
def keeps_positions(default: _D) -> _D: ...
def keeps_positions(default: Any = MISSING) -> Any:
    """Declares a setting that may change while the positions still count: what has been read would be read alike.

    How long to wait and how much at once are such settings; which files to follow, where each file has a position of its
    own; who asks, where positions are saved only of what that user could read. Not an address: it may lead to another
    service. Say at each why, and where in doubt leave it out: a complete plan too many costs time, one too few the truth.
    """
    return field(default=default, metadata={KEEPS_POSITIONS: True})


@dataclass(frozen=True, slots=True)
class Registration:
    """One kind of extractor: its name in the configuration, the class, and when it runs."""

    name: str
    source_type: str
    mode: Mode
    version: int
    make: type[Any]


EXTRACTORS: dict[str, Registration] = {}


_T = TypeVar("_T", bound=type[Any])


def extractor(name: str, *, source_type: str, mode: Mode, version: int) -> Callable[[_T], _T]:
    """Registers a class under ``name``. Raise ``version`` when the same input must be read anew by better code."""

    def register(cls: _T) -> _T:
        EXTRACTORS[name] = Registration(name, source_type, mode, version, cls)
        return cls

    return register
