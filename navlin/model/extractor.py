"""What an extractor is, and the register of extractors. A class registers itself by the decorator, nothing else does.

    @extractor("impala_events", source_type="IMPALA", mode=PUSH, version=1)
    @dataclass(frozen=True, slots=True)
    class ImpalaEvents(Extractor):
        source: Source
        estate: Estate
        directory: str

        def plan(self, positions: Positions) -> Plan: ...
        def read(self, split: Split) -> Iterator[Record]: ...

The fields after ``source`` and ``estate`` are the settings that a configuration may give it, checked by name and type.
If one changes, the next plan is a complete one, unless the setting is declared by `keeps_positions`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar, overload

from navlin.model.plan import Plan, Positions
from navlin.model.records import Record, Split
from navlin.model.source import Estate, Source


class Mode(StrEnum):
    """Who starts: navlin on a schedule (pull), or the source by writing a file (push)."""

    PULL = "pull"
    PUSH = "push"


PULL, PUSH = Mode.PULL, Mode.PUSH


class Extractor(Protocol):
    """A small frozen dataclass that can plan and read. It is pickled into Spark tasks.

    ``plan`` and ``read`` are its own; all other methods may be left as they are here.
    """

    __slots__ = ()
    source: Source
    estate: Estate

    def plan(self, positions: Positions) -> Plan:
        """What to read, from the positions that were saved last time. Without splits there is nothing to do.

        Raises what it cannot reach, in words that name host, file and what to do.
        """
        ...

    def read(self, split: Split) -> Iterator[Record]:
        """The records of a split. May run twice on one split: it yields the same, and leaves nothing behind.

        Opens its connections and closes them. Yields a `Reject` for what it cannot parse; raises as ``plan`` does.
        """
        ...

    @property
    def local(self) -> bool:
        """Whether each split must be read on the machine where the daemon runs, because reading takes more than the network:
        a keytab, a file of authorities, a configuration of Hadoop, or a child in Java. See also `Split.local`."""
        return False

    def still_there(self, paths: Sequence[str]) -> Collection[str] | None:
        """Those of these paths of the source's own tree that the source has, asked for by their names; None if it cannot be
        asked. They are what a full listing missed: one that is not named here is flagged deleted."""
        return None

    def directories(self) -> tuple[str, ...]:
        """Local directories whose changes wake the daemon before the next poll. Raises ValueError for a wrong setting."""
        return ()

    def check(self) -> Iterator[str]:
        """Tests the connection for ``navlin check``: yields what is fine, a sentence each, and raises what is not."""
        yield from ()

    def problems(self) -> Iterator[tuple[str, str]]:
        """What is wrong in the settings beyond their types, as (setting, sentence)."""
        yield from ()

    @classmethod
    def serves(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """The authorities that a source with these settings serves; the first is its address."""
        return ()


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

    Such settings are how long to wait and how much to read at once; which files to follow, if each file has a position of
    its own; who asks, if positions are saved only of what that user could read. An address is not: it may lead to another
    service. Give the reason at each; in doubt do not use it: a complete plan too many costs time, one too few the truth.
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


class NotAnExtractor(TypeError):
    """A class that is registered is no `Extractor`, or has the name of another one."""


_T = TypeVar("_T", bound=type[Extractor])


def extractor(name: str, *, source_type: str, mode: Mode, version: int) -> Callable[[_T], _T]:
    """Registers a class under ``name``. Raise ``version`` if better code should read the same input again.

    Raises `NotAnExtractor`.
    """

    def register(cls: _T) -> _T:
        if Extractor not in cls.__mro__:
            raise NotAnExtractor(f"{_place(cls)} must be a subclass of {_place(Extractor)}")
        made = Registration(name, source_type, mode, version, cls)
        other = EXTRACTORS.setdefault(name, made)
        if _place(other.make) != _place(cls):
            raise NotAnExtractor(
                f'the extractor "{name}" of {_place(cls)} has the name of that of {_place(other.make)}'
            )
        EXTRACTORS[name] = made
        return cls

    return register


def _place(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
