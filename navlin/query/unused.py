"""Which tables nothing is known to have read for some days, and how much they hold: what may go.

Somebody deletes data because of this answer. So a table is unused only if everything that would have shown a read was there
for all of that time and shows none; whatever is missing makes the answer "not known", with the reason. HDFS's access time
counts as evidence of a read, never of none. Of a table that was read nothing more is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from navlin.index.entity import OWNED, TABLE_AGE, StoredEntity
from navlin.index.executions import KnownExecutions, executions_of, running_operations
from navlin.index.fields import solr_date
from navlin.index.filters import EntityFilter, RelationFilter
from navlin.index.graph import Graph
from navlin.index.readers import Place, Readers, places_of, readers_of, sharing, views_of
from navlin.index.sizes import Below, sums_below
from navlin.index.solr import Solr
from navlin.index.state import in_batches
from navlin.model.keys import RelationType
from navlin.query.watched import Watched, watched

DAY_MS: Final = 86_400_000
TABLES_AT_ONCE: Final = 50
MOST_PLACES: Final = 1_000
"""In how many places outside of its own directory a table's partitions are looked for."""
MOST_VIEWS: Final = 100
"""How many views of one table, and views of these, are looked at."""
COLUMNS: Final = (
    "verdict",
    "database",
    "name",
    "owner",
    "sizeBytes",
    "files",
    "lastRead",
    "lastReader",
    "lastWritten",
    "locations",
    "reasons",
    "id",
)
"""The columns of the answer as CSV."""

_TABLES: Final = EntityFilter(("TABLE",), deleted=False)
_RENAMES: Final = RelationFilter((RelationType.DATA_FLOW,), deleted=False, ep1_types=("OPERATION",))


class Verdict(StrEnum):
    """What is known of reads of a table."""

    UNUSED = "unused"
    UNKNOWN = "not known"
    USED = "used"


@dataclass(frozen=True, slots=True)
class Judged:
    """A table and what is known of reads of it. ``last_read_ms`` and ``last_reader`` are of the last read that is known
    (epoch ms; 0: none is)."""

    table: StoredEntity
    verdict: Verdict
    reasons: tuple[str, ...]
    places: tuple[Place, ...] = ()
    below: Below | None = None
    last_read_ms: int = 0
    last_reader: str = ""

    def to_json(self) -> dict[str, Any]:
        """id, name, database, owner, verdict, reasons, sizeBytes and files (null if not known), lastRead, lastReader,
        lastWritten (null if not known), locations."""
        below = self.below if self.below is not None and self.below.directories else None
        return {
            "id": self.table.id,
            "name": self.table.name,
            "database": self.table.database,
            "owner": self.table.owner,
            "verdict": self.verdict.value,
            "reasons": list(self.reasons),
            "sizeBytes": below.size_bytes if below else None,
            "files": below.files if below else None,
            "lastRead": solr_date(self.last_read_ms) if self.last_read_ms else None,
            "lastReader": self.last_reader or None,
            "lastWritten": solr_date(below.modified_ms) if below and below.modified_ms else None,
            "locations": [place.path for place in self.places],
        }


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: nothing read for ``days``, at ``now_ms`` (epoch ms). ``without_engines`` are those of which a person
    says that nothing of them reads here; with ``despite_gaps`` a person takes it that what navlin could not read was no
    read of these tables."""

    days: int
    now_ms: int
    without_engines: tuple[str, ...] = ()
    despite_gaps: bool = False

    @property
    def since_ms(self) -> int:
        """From when on nothing was read."""
        return self.now_ms - self.days * DAY_MS


def unused(
    solr: Solr, question: Question, progress: Callable[[int, int], None] = lambda done, all_: None
) -> tuple[Watched, Iterator[Judged]]:
    """What is watched, and a verdict on every table that is not flagged deleted, as they come. ``progress`` is called with
    how many tables are done, and of how many."""
    known = watched(
        solr,
        question.since_ms,
        question.now_ms,
        question.without_engines,
        despite_gaps=question.despite_gaps,
    )
    return known, _judge_all(Graph(solr), question, known, progress)


def _judge_all(
    graph: Graph, question: Question, known: Watched, progress: Callable[[int, int], None]
) -> Iterator[Judged]:
    total, done = graph.count_entities(_TABLES), 0
    views, running = views_of(graph), running_operations(graph)
    tables = graph.entities(_TABLES, fields=TABLE_AGE)
    for batch in in_batches(tables, TABLES_AT_ONCE):
        yield from _Batch(graph, question, known, views, running, batch).judged()
        done += len(batch)
        progress(done, max(total, done))


@dataclass(slots=True)
class _Batch:
    """Some tables, looked at together."""

    graph: Graph
    question: Question
    watched: Watched
    views: Mapping[str, set[str]]
    running: set[str]
    """The ids of operations of which an execution is running."""
    tables: list[StoredEntity]

    def judged(self) -> Iterator[Judged]:
        places, scattered = places_of(self.graph, self.tables, MOST_PLACES)
        above = {table.id: _views_above(table.id, self.views) for table in self.tables}
        entities = self.graph.entities_of(each for ids in above.values() for each in ids)
        readers = readers_of(
            self.graph,
            [
                (
                    [table, *(entities[each] for each in above[table.id] if each in entities)],
                    places.get(table.id, ()),
                )
                for table in self.tables
            ],
        )
        since_ms = self.question.since_ms
        quiet = [
            (table, found)
            for table, found in zip(self.tables, readers, strict=True)
            if found.newest_ms < since_ms
        ]
        for table, found in zip(self.tables, readers, strict=True):
            if found.newest_ms >= since_ms:
                reason = "an operation that reads it was recorded since"
                yield Judged(table, Verdict.USED, (reason,), last_read_ms=found.newest_ms)
        yield from self._judge_quiet(quiet, places, scattered, above)

    def _judge_quiet(
        self,
        quiet: Sequence[tuple[StoredEntity, Readers]],
        places: Mapping[str, list[Place]],
        scattered: set[str],
        above: Mapping[str, list[str]],
    ) -> Iterator[Judged]:
        """Those of which the records themselves show no read that recent."""
        if not quiet:
            return
        operations = self.graph.entities_of((each for _, found in quiet for each in found.operations), OWNED)
        executions = executions_of(self.graph, operations.values())
        of = [(table.id, places.get(table.id, [])) for table, _ in quiet]
        shared = sharing(self.graph, of)
        sums = sums_below(self.graph, [each for _, each in of])
        renamed = _renamed(self.graph, [table for table, _ in quiet], self.question.since_ms)
        for (table, found), others, below in zip(quiet, shared, sums, strict=True):
            ran = [executions.get(each, KnownExecutions()) for each in found.operations]
            last = max(ran, key=lambda each: each.last_ms, default=KnownExecutions())
            at = tuple(places.get(table.id, ()))
            if not self.running.isdisjoint(found.operations):
                yield Judged(table, Verdict.USED, ("an execution that reads it is running",), at, below)
                continue
            if any(each.newest_ms >= self.question.since_ms for each in ran):
                yield Judged(
                    table, Verdict.USED, ("it was read since",), at, below, last.last_ms, last.principal
                )
                continue
            if below.read_ms >= self.question.since_ms:
                reason = "the access time of a file of it is later than its writing"
                yield Judged(table, Verdict.USED, (reason,), at, below, below.read_ms)
                continue
            unknown = [
                *self.watched.reasons,
                *self._of_table(table, found, ran, below, at),
                *(
                    ["it was renamed since: reads under its former name do not count"]
                    if table.id in renamed
                    else ()
                ),
                *(["its partitions lie in more places than are looked at"] if table.id in scattered else ()),
                *(["it has more views than are looked at"] if len(above[table.id]) >= MOST_VIEWS else ()),
                *([f"other tables lie there too: {', '.join(others)}"] if others else ()),
            ]
            read_ms, reader = max((last.last_ms, last.principal), (below.read_ms, ""))
            verdict = Verdict.UNKNOWN if unknown else Verdict.UNUSED
            yield Judged(table, verdict, tuple(unknown) or self.watched.evidence, at, below, read_ms, reader)

    def _of_table(
        self,
        table: StoredEntity,
        found: Readers,
        ran: Sequence[KnownExecutions],
        below: Below,
        places: Sequence[Place],
    ) -> Iterator[str]:
        """Why it is not known whether one table was read."""
        if not table.born_ms:
            yield "it is not known since when it is there"
        elif table.born_ms >= self.question.since_ms:
            yield f"it is there, or in the index, only since {solr_date(table.born_ms)}"
        if any(not each.last_ms for each in ran):
            yield "an operation reads it, and it is not known when that ran"
        if found.cut:
            yield "more operations read it than are looked at"
        if table.granted:
            yield "no metastore that is read has it"
        if not places:
            yield "it is not known where it lies"
        for place in places:
            if why := self.watched.unread(place.source_id):
                yield f"{place.path}: {why}"
        if places and not below.directories:
            yield "its directory is not in the index"


def _views_above(table: str, views: Mapping[str, set[str]]) -> list[str]:
    """The ids of the views of a table, of the views of these, and so on."""
    above: dict[str, None] = {}
    waiting = [table]
    while waiting and len(above) < MOST_VIEWS:
        for each in views.get(waiting.pop(), ()):
            if each not in above and each != table:
                above[each] = None
                waiting.append(each)
    return list(above)


def _renamed(graph: Graph, tables: Sequence[StoredEntity], since_ms: int) -> set[str]:
    """The ids of those that were renamed since: their own source states what they were made from."""
    own = {table.id: table.source_id for table in tables}
    return {
        relation.ep2.id
        for relation in graph.relations(_RENAMES, of=own, sides=(2,))
        if relation.ep2.id in own
        and relation.writer == own[relation.ep2.id]
        and relation.as_of_ms >= since_ms
    }
