"""The register of targets. A module or package of `navlin.export` that registers a target is found automatically."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from navlin.export.values import Item

if TYPE_CHECKING:
    from navlin.export.connection import ServerConnection


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A record that a target's server did not accept, and the reason."""

    what: str
    reason: str


class Sends(Protocol):
    """Sends records to a server as they arrive. Yields, after each request, the number of accepted records or a refused
    record. The same records may be sent again. Raises `navlin.export.answers.Unavailable`."""

    def __call__(
        self, connection: ServerConnection, records: Iterable[bytes], options: Any, /
    ) -> Iterator[int | RefusedRecord]: ...


class Asks(Protocol):
    """Checks that a server is the target's without sending records, and returns a sentence about the server. Raises the
    same errors as `Sends`."""

    def __call__(self, connection: ServerConnection, options: Any, /) -> str: ...


class Frame(NamedTuple):
    """The text in a file before the first record, between two records, and after the last. This text is not sent to a
    server."""

    begin: bytes = b""
    between: bytes = b""
    end: bytes = b""

    def around(self, records: Iterable[bytes]) -> Iterator[bytes]:
        """Yield records with their frame. Yield nothing before the first record, because producing it may fail."""
        before, behind = self.begin, self.begin + self.end
        for record in records:
            yield before + record
            before, behind = self.between, self.end
        if behind:
            yield behind


LINES: Final = Frame()
"""A frame without text, for records that simply follow one another."""


@dataclass(frozen=True, slots=True)
class Target:
    """A model to which the graph may be exported.

    ``options`` is a frozen dataclass whose fields all have defaults and are ``str``, ``bool`` or ``int``; each has its
    help text as ``Annotated[str, "What it is."]``. The fields become options of the command and parameters of the
    endpoint. ``records`` converts items to records, one by one, each a line or another whole piece of a file. It may be
    called again for each batch of items, so it must keep no state between items. A target with a single document (XML)
    sets ``whole``; then ``records`` is called once, and the export cannot be resumed. ``send`` and ``ask`` are None if
    there is no server to send to.
    """

    name: str
    title: str
    media_type: str
    suffix: str
    options: type[Any]
    records: Callable[[Iterable[Item], Any], Iterator[bytes]]
    send: Sends | None = None
    ask: Asks | None = None
    whole: bool = False
    frame: Frame = LINES


_TARGETS: dict[str, Target] = {}


def register(target: Target) -> None:
    """Register a target by its name. Raises ValueError if another target has that name."""
    if _TARGETS.setdefault(target.name, target) is not target:
        raise ValueError(f"there are two targets {target.name!r}")


def targets() -> Mapping[str, Target]:
    package = importlib.import_module("navlin.export")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"navlin.export.{module.name}")
    return dict(sorted(_TARGETS.items()))
