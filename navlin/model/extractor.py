"""The extractor protocol, and the register of extractors. The decorator is the only way to register a class.

    @extractor("impala_events", source_type="IMPALA", mode=PUSH, version=1)
    @dataclass(frozen=True, slots=True)
    class ImpalaEvents(Extractor):
        source: Source
        estate: Estate
        directory: str

        def plan(self, positions: Positions) -> Plan: ...
        def read(self, split: Split) -> Iterator[Record]: ...

The fields after ``source`` and ``estate`` are the settings that a configuration may give, checked by name and type. If
a setting changes, the next plan is a complete one, unless the setting is declared with `keeps_positions`. The package
`extractors` names the code that extractors share.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Final, Protocol, TypeVar, overload

from navlin.model.plan import Plan, Positions
from navlin.model.records import Record, Split
from navlin.model.source import Estate, Source


class Mode(StrEnum):
    """The side that starts a read: navlin on a schedule (pull), or the source by writing a file (push)."""

    PULL = "pull"
    PUSH = "push"


PULL, PUSH = Mode.PULL, Mode.PUSH
LINES, FILES = "lines", "files"
"""Forms in which data of other hosts arrives: separate lines, or whole files byte for byte."""


class Extractor(Protocol):
    """A small frozen dataclass that can plan and read. It is pickled into Spark tasks.

    Only ``plan`` and ``read`` must be implemented; all other methods have defaults.
    """

    __slots__ = ()
    source: Source
    estate: Estate
    receives: ClassVar[frozenset[str]] = frozenset()
    """The forms (`LINES`, `FILES`) of data of other hosts that the source reads below `Estate.forwarded`."""

    def plan(self, positions: Positions) -> Plan:
        """Decide which splits to read, given the positions saved last time. Return a plan without splits if there is
        nothing to read.

        Raises an error for anything unreachable; its message names the host, the file and the remedy.
        """
        ...

    def read(self, split: Split) -> Iterator[Record]:
        """Yield the records of a split. If called again for the same split, it must yield the same records; it must
        have no lasting effects.

        The method opens and closes its own connections, yields a `Reject` for anything unparseable, and raises as
        ``plan`` does.
        """
        ...

    @property
    def local(self) -> bool:
        """Whether each split must be read on the daemon's host because reading needs more than the network: a keytab, a
        CA file, a Hadoop configuration, or a Java child process. See also `Split.local`."""
        return False

    def still_there(self, paths: Sequence[str]) -> Collection[str] | None:
        """Return the subset of ``paths`` (in the source's own tree) that the source still has, looked up by name; None
        if the source cannot be asked. The paths were missing from a full listing, and any path that is not returned is
        flagged deleted."""
        return None

    def directories(self) -> tuple[str, ...]:
        """Return local directories whose changes wake the daemon before the next poll. Raises ValueError for a wrong
        setting."""
        return ()

    def check(self) -> Iterator[str]:
        """Test the connection for ``navlin check``: yield a sentence for each test that succeeds, and raise an error
        for one that fails."""
        yield from ()

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield mistakes in the settings that a check of their types does not find, as (setting, sentence)."""
        yield from ()

    @classmethod
    def serves(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the authorities that a source with these settings serves; the first is the source's address."""
        return ()


GIVEN: Final = ("source", "estate")
"""The fields of every extractor that navlin itself fills in; all others are settings."""

KEEPS_POSITIONS: Final = "keeps positions"
"""The mark of `keeps_positions` in a field's metadata."""

_D = TypeVar("_D")


@overload
def keeps_positions() -> Any: ...
@overload
def keeps_positions(default: _D) -> _D: ...
def keeps_positions(default: Any = MISSING) -> Any:
    """Declare a setting whose change keeps the positions valid, because records already read would be read in the same
    way.

    Examples: timeouts and batch sizes; the choice of files to follow, if each file has its own position; the user, if
    positions are saved only for data that this user could read. An address does not qualify, because it may lead to
    another service. Give the reason at each use. If in doubt, do not use this function, because a superfluous complete
    plan costs time, but a missing one costs correctness.
    """
    return field(default=default, metadata={KEEPS_POSITIONS: True})


@dataclass(frozen=True, slots=True)
class Registration:
    """A kind of extractor: its name in the configuration, its class, and its mode."""

    name: str
    source_type: str
    mode: Mode
    version: int
    make: type[Any]


EXTRACTORS: dict[str, Registration] = {}


class NotAnExtractor(TypeError):
    """A registered class is not an `Extractor`, or its name is already that of another extractor."""


_T = TypeVar("_T", bound=type[Extractor])


def extractor(name: str, *, source_type: str, mode: Mode, version: int) -> Callable[[_T], _T]:
    """Register a class under ``name``. Increase ``version`` if better code should read the same input again.

    Raises `NotAnExtractor`.
    """

    def register(cls: _T) -> _T:
        if Extractor not in cls.__mro__:
            raise NotAnExtractor(f"{_place(cls)} must be a subclass of {_place(Extractor)}")
        made = Registration(name, source_type, mode, version, cls)
        other = EXTRACTORS.setdefault(name, made)
        if _place(other.make) != _place(cls):
            raise NotAnExtractor(
                f'the extractor "{name}" of {_place(cls)} has the same name as that of {_place(other.make)}'
            )
        EXTRACTORS[name] = made
        return cls

    return register


def _place(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
