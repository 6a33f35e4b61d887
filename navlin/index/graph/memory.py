"""Memory of a process: the parts of the graph that were read last, each with the versions of its documents.

Nothing here is current by itself. `navlin.index.graph.remembered` compares the state of the index, or the versions, with
those of the index for each answer, so the memory may be emptied at any moment, and needs no message from the processes that
write.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from sys import intern
from threading import Lock
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from navlin.index.graph.relation import End, StoredRelation
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr

MOST_BYTES: Final = 192 << 20
"""Maximum size of a memory, by the estimates below."""
BYTES_A_RELATION: Final = 700
BYTES_AN_ENTITY: Final = 900
BYTES_AN_ID: Final = 200


class PartKind(NamedTuple):
    """A kind of search for one id: the documents of a core whose ``field`` has the id and that have one of ``types``, if
    any are given. If ``live``, documents flagged deleted do not match. ``fields`` are the fields read; ``most`` is the
    maximum number of results. If not ``versioned``, the results are made from too many documents to compare their
    versions; they are tuples, and hold only in the epoch in which they were read."""

    core: str
    field: str
    types: tuple[str, ...]
    live: bool
    fields: str
    most: int = 0
    versioned: bool = True


@dataclass(slots=True)
class RememberedPart:
    """The result of one search: ``value``, made from documents with these ``versions``, which are all that matched.
    ``epoch`` is the epoch of the last question that read the part, or found it unchanged (`GraphMemory.epochs`)."""

    value: Any
    versions: Sequence[int]
    epoch: int = field(default=0, compare=False)


class GraphMemory:
    """Results of searches, by kind and id. Of two generations the older is dropped when the younger one has grown to half
    of the maximum size, so that what is used stays. Thread-safe."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = Lock()
        self._young: dict[PartKind, dict[str, RememberedPart]] = {}
        self._old: dict[PartKind, dict[str, RememberedPart]] = {}
        self._young_bytes = self._old_bytes = 0
        self._ends: dict[End, End] = {}
        self._states: dict[str, tuple[Hashable, int]] = {}
        self._numbers = count(1)

    def epochs(self, states: Mapping[str, Hashable]) -> dict[str, int]:
        """Return core → epoch of these states of the cores, which were read just now. The epoch of a core changes
        whenever its state differs from the state given before. So a part with the same epoch, which was read after the
        epoch began, is as current as a search at the time of ``states``."""
        with self._lock:
            for core, state in states.items():
                if core not in self._states or self._states[core][0] != state:
                    self._states[core] = state, next(self._numbers)
            return {core: self._states[core][1] for core in states}

    @property
    def bytes(self) -> int:
        """The estimated size."""
        return self._young_bytes + self._old_bytes

    def look(self, kind: PartKind, ids: Iterable[str]) -> dict[str, RememberedPart]:
        """Return id → remembered result, for those of the ids that have one."""
        with self._lock:
            young, old = self._young.get(kind, {}), self._old.get(kind, {})
            found: dict[str, RememberedPart] = {}
            again: dict[str, RememberedPart] = {}
            for one in ids:
                if one in young:
                    found[one] = young[one]
                elif one in old:
                    found[one] = again[one] = old[one]
            self._keep(kind, again)
            return found

    def keep(self, kind: PartKind, results: Mapping[str, RememberedPart]) -> None:
        """Remember results. Ends of relations that are equal are kept once."""
        with self._lock:
            self._keep(kind, {intern(one): self._compact(result) for one, result in results.items()})

    def forget(self, kind: PartKind, ids: Iterable[str]) -> None:
        with self._lock:
            for one in ids:
                for generation in (self._young, self._old):
                    generation.get(kind, {}).pop(one, None)

    def _keep(self, kind: PartKind, results: Mapping[str, RememberedPart]) -> None:
        if not results:
            return
        self._young.setdefault(kind, {}).update(results)
        each = BYTES_AN_ENTITY if kind.core == ELEMENTS else BYTES_A_RELATION
        self._young_bytes += len(results) * BYTES_AN_ID
        if kind.versioned:
            self._young_bytes += each * sum(len(result.versions) for result in results.values())
        else:
            self._young_bytes += BYTES_AN_ID * sum(len(result.value) for result in results.values())
        if self._young_bytes > self._most_bytes // 2:
            self._old, self._old_bytes = self._young, self._young_bytes
            self._young, self._young_bytes = {}, 0
            self._ends.clear()

    def _compact(self, result: RememberedPart) -> RememberedPart:
        value = result.value
        if isinstance(value, tuple) and value and isinstance(value[0], StoredRelation):
            value = tuple(
                each._replace(
                    type=intern(each.type),
                    ep1=self._end(each.ep1),
                    ep2=self._end(each.ep2),
                    writer=intern(each.writer),
                    rule=intern(each.rule),
                )
                for each in value
            )
        return RememberedPart(value, tuple(result.versions), result.epoch)

    def _end(self, end: End) -> End:
        known = self._ends.get(end)
        if known is None:
            known = self._ends[end] = End(*map(intern, end))
        return known


_MEMORIES: Final[WeakKeyDictionary[Solr, GraphMemory]] = WeakKeyDictionary()
_LOCK: Final = Lock()


def memory_of(solr: Solr) -> GraphMemory:
    """Return the memory that belongs to a connection, and ends with the connection."""
    with _LOCK:
        if solr not in _MEMORIES:
            _MEMORIES[solr] = GraphMemory()
        return _MEMORIES[solr]
