"""Tables without a known read for some days, and their sizes: candidates for removal.

People delete data because of these verdicts. A table is therefore unused only if everything that would have shown a
read existed for the whole period and shows none; any gap makes the verdict "not known", with the reason. HDFS's access
time counts as evidence of a read, never of its absence. For a table with a recent recorded read, nothing more is looked
up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from navlin.index.graph.entity import OWNED, TABLE_AGE, LastRead, StoredEntity
from navlin.index.graph.executions import KnownExecutions, executions_of, running_operations
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.schema.fields import solr_date
from navlin.index.solr.solr import Solr
from navlin.index.usage.contents import Content, contents_at
from navlin.index.usage.last_reads import last_reads
from navlin.index.usage.readers import (
    LocationPath,
    Readers,
    metastores,
    places_of,
    readers_of,
    sharing,
    views_of,
)
from navlin.index.usage.sizes import Below, sums_below
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType
from navlin.query.read_coverage import ACCEPTED, ReadCoverage, read_coverage, reading_unnamed
from navlin.query.usage_status import COLUMNS, DAY_MS, EntityUsage, Size, UsageQuestion, UsageStatus

__all__ = ["COLUMNS", "DAY_MS", "EntityUsage", "UsageQuestion", "UsageStatus", "unused"]

TABLES_AT_ONCE: Final = 200
MOST_PLACES: Final = 1_000
"""Maximum number of places outside a table's own directory in which the table's partitions are looked for."""
MOST_VIEWS: Final = 100
"""Maximum number of views that are followed from one table, including views of views."""
_UNNAMED: Final = (
    f"a statement mentions it or a view of it, but the record does not say what it reads {ACCEPTED}"
)
_TABLES: Final = EntityFilter(("TABLE",), deleted=False)
_RENAMES: Final = RelationFilter((RelationType.DATA_FLOW,), deleted=False, ep1_types=("OPERATION",))


def unused(
    solr: Solr, question: UsageQuestion, progress: Callable[[int, int], None] = lambda done, all_: None
) -> tuple[ReadCoverage, Iterator[EntityUsage]]:
    """Return the coverage, and an iterator of verdicts on every table that is not flagged deleted. ``progress`` is called
    with the number of tables done and the total."""
    known = read_coverage(
        solr,
        question.since_ms,
        question.now_ms,
        question.without_engines,
        despite_gaps=question.despite_gaps,
    )
    return known, _judge_all(TableJudge.of(Graph(solr), question, known), progress)


def _judge_all(judge: TableJudge, progress: Callable[[int, int], None]) -> Iterator[EntityUsage]:
    total, done = judge.graph.count_entities(_TABLES), 0
    for batch in in_batches(judge.graph.entities(_TABLES, fields=TABLE_AGE), TABLES_AT_ONCE):
        yield from judge.usages(batch)
        done += len(batch)
        progress(done, max(total, done))


@dataclass(frozen=True, slots=True)
class TableJudge:
    """Judge of tables, with data that are looked up once for all of them. ``running`` are the ids of operations with a
    running execution."""

    graph: Graph
    question: UsageQuestion
    coverage: ReadCoverage
    views: Mapping[str, set[str]]
    running: set[str]
    metastores: Sequence[str]

    @classmethod
    def of(cls, graph: Graph, question: UsageQuestion, known: ReadCoverage) -> TableJudge:
        """Return a judge for a question; ``known`` is the coverage since the start of the period in question."""
        views, running = views_of(graph), running_operations(graph)
        return cls(graph, question, known, views, running, metastores(graph.solr))

    def usages(self, tables: Iterable[StoredEntity]) -> Iterator[EntityUsage]:
        """Yield a verdict on each of these tables, in no particular order. The tables must have been read with
        `navlin.index.graph.entity.TABLE_AGE`."""
        for batch in in_batches(tables, TABLES_AT_ONCE):
            yield from self._usages(batch)

    def _usages(self, tables: Sequence[StoredEntity]) -> Iterator[EntityUsage]:
        places, scattered = places_of(self.graph, tables, MOST_PLACES)
        above = {table.id: _views_above(table.id, self.views) for table in tables}
        entities = self.graph.entities_of(each for ids in above.values() for each in ids)
        read = [
            (
                [table, *(entities[each] for each in above[table.id] if each in entities)],
                places.get(table.id, ()),
            )
            for table in tables
        ]
        since_ms = self.question.since_ms
        readers = readers_of(self.graph, read, self.metastores, enough_ms=since_ms)
        # The last reads are read after the readers, and for all tables, because a purge may be moving reads from
        # relations to last reads.
        left = last_reads(self.graph, read, self.metastores)
        quiet = []
        for table, found, purged in zip(tables, readers, left, strict=True):
            # The newest relation that shows a read is enough. The times of executions are looked up only for quiet tables.
            if found.newest_ms >= since_ms:
                reason = "an operation that reads it was recorded since"
                yield EntityUsage(table, UsageStatus.USED, (reason,), last_read_ms=found.newest_ms)
            elif purged.ms >= since_ms:
                reason = "it was read since, as a purge recorded"
                yield EntityUsage(
                    table, UsageStatus.USED, (reason,), last_read_ms=purged.ms, last_reader=purged.principal
                )
            elif purged.below_ms >= since_ms:
                reason = "something since removed from its directories was read, as a purge recorded"
                yield EntityUsage(table, UsageStatus.USED, (reason,), last_read_ms=purged.below_ms)
            else:
                quiet.append((table, found, purged))
        names = {
            table.id: [
                table.own_name,
                *(entities[each].own_name for each in above[table.id] if each in entities),
            ]
            for table, _, _ in quiet
        }
        yield from self._judge_quiet(quiet, places, scattered, above, names)

    def _judge_quiet(
        self,
        quiet: Sequence[tuple[StoredEntity, Readers, LastRead]],
        places: Mapping[str, list[LocationPath]],
        scattered: set[str],
        above: Mapping[str, list[str]],
        names: Mapping[str, list[str]],
    ) -> Iterator[EntityUsage]:
        """Yield verdicts on the tables whose records show no recent read. ``names`` maps each table's id to the names
        of the table and its views."""
        if not quiet:
            return
        operations = self.graph.entities_of(
            (each for _, found, _ in quiet for each in found.operations), OWNED
        )
        executions = executions_of(self.graph, operations.values())
        of = [(table.id, places.get(table.id, [])) for table, _, _ in quiet]
        shared = sharing(self.graph, of)
        sums = sums_below(self.graph, [each for _, each in of])
        contents = contents_at(self.graph, (place for _, each in of for place in each))
        renamed = _renamed(self.graph, [table for table, _, _ in quiet], self.question.since_ms)
        unnamed = self._unnamed(names)
        for (table, found, left), others, below in zip(quiet, shared, sums, strict=True):
            ran = [executions.get(each, KnownExecutions()) for each in found.operations]
            last = max(ran, key=lambda each: each.last_ms, default=KnownExecutions())
            at = tuple(places.get(table.id, ()))
            size = self._size(at, below, contents)
            if not self.running.isdisjoint(found.operations):
                yield EntityUsage(
                    table, UsageStatus.USED, ("an execution that reads it is running",), at, size
                )
                continue
            if any(each.newest_ms >= self.question.since_ms for each in ran):
                yield EntityUsage(
                    table, UsageStatus.USED, ("it was read since",), at, size, last.last_ms, last.principal
                )
                continue
            if below.read_ms >= self.question.since_ms:
                reason = "one of its files was accessed after it was written"
                yield EntityUsage(table, UsageStatus.USED, (reason,), at, size, below.read_ms)
                continue
            if accessed := self._accessed(at, contents):
                reason = "according to the last whole image, one of its files was accessed since, and none was written"
                yield EntityUsage(table, UsageStatus.USED, (reason,), at, size, accessed)
                continue
            unknown = [
                *self.coverage.reasons,
                *self._of_table(table, found, ran, below, at),
                *(
                    ["it was renamed since: reads under its former name do not count"]
                    if table.id in renamed
                    else ()
                ),
                *(
                    ["its partitions lie in more places than navlin examines"]
                    if table.id in scattered
                    else ()
                ),
                *(["it has more views than navlin examines"] if len(above[table.id]) >= MOST_VIEWS else ()),
                *([_UNNAMED] if not unnamed.isdisjoint(names[table.id]) else ()),
                *([f"other tables lie there too: {', '.join(others)}"] if others else ()),
            ]
            read_ms, reader = max(
                (last.last_ms, last.principal), (below.read_ms, ""), (left.ms, left.principal)
            )
            status = UsageStatus.UNKNOWN if unknown else UsageStatus.UNUSED
            yield EntityUsage(
                table, status, tuple(unknown) or self.coverage.evidence, at, size, read_ms, reader
            )

    def _unnamed(self, names: Mapping[str, list[str]]) -> set[str]:
        """Return the names found in the text of a statement whose record does not name the tables that it reads."""
        if not self.coverage.unnamed:
            return set()
        every = (name for of_table in names.values() for name in of_table)
        return self.graph.named_in_texts(every, reading_unnamed(self.question.since_ms))

    def _size(
        self, places: Sequence[LocationPath], below: Below, contents: Mapping[LocationPath, Content]
    ) -> Size | None:
        """Return the size of a table, from its files if the index lists the files of its file systems, else from the
        last whole images. Return None if the index has no directory there, or the images lack a location."""
        known = [contents[place] for place in places if place in contents]
        whole = bool(places) and len(known) == len(places)
        space_bytes = sum(each.space_bytes for each in known) if whole else 0
        if all(self.coverage.lists_files(place.source_id) for place in places):
            if not below.directories:
                return None
            return Size(below.size_bytes, below.files, space_bytes, below.modified_ms)
        if not whole:
            return None
        return Size(
            sum(each.size_bytes for each in known),
            sum(each.files for each in known),
            space_bytes,
            max(each.modified_ms for each in known),
            min(self.coverage.image_ms(place.source_id) for place in places),
        )

    def _accessed(self, places: Sequence[LocationPath], contents: Mapping[LocationPath, Content]) -> int:
        """Return the last access (epoch ms) in the period in question to a file not written in that period; 0 if the
        images show none."""
        known = [contents[place] for place in places if place in contents]
        since_ms = self.question.since_ms
        return max(
            (each.accessed_ms for each in known if each.accessed_ms >= since_ms > each.modified_ms), default=0
        )

    def _of_table(
        self,
        table: StoredEntity,
        found: Readers,
        ran: Sequence[KnownExecutions],
        below: Below,
        places: Sequence[LocationPath],
    ) -> Iterator[str]:
        """Yield the reasons why it is unknown whether this table was read."""
        if not table.born_ms:
            yield "its time of creation is unknown"
        elif table.born_ms >= self.question.since_ms:
            yield f"first seen only on {solr_date(table.born_ms)}"
        if any(not each.last_ms for each in ran):
            yield "read by an operation whose run times are unknown"
        if found.cut:
            yield "more operations read it than navlin examines"
        if table.placeholder:
            yield "it is in no metastore that navlin reads"
        if not places:
            yield "location unknown"
        for place in places:
            if place.since_ms >= self.question.since_ms:
                yield f"location {place.path} known only since {solr_date(place.since_ms)}"
            if why := self.coverage.unread(place.source_id):
                yield f"{place.path}: {why}"
        if places and not below.directories:
            yield "its directory is not in the index"


def _views_above(table: str, views: Mapping[str, set[str]]) -> list[str]:
    """Return the ids of the views of a table, the views of these views, and so on."""
    above: dict[str, None] = {}
    waiting = [table]
    while waiting and len(above) < MOST_VIEWS:
        for each in views.get(waiting.pop(), ()):
            if each not in above and each != table:
                above[each] = None
                waiting.append(each)
    return list(above)


def _renamed(graph: Graph, tables: Sequence[StoredEntity], since_ms: int) -> set[str]:
    """Return the ids of tables renamed since ``since_ms``. A table was renamed if its own source states an operation
    that made it."""
    own = {table.id: table.source_id for table in tables}
    return {
        relation.ep2.id
        for relation in graph.relations(_RENAMES, of=own, sides=(2,))
        if relation.ep2.id in own
        and relation.writer == own[relation.ep2.id]
        and relation.as_of_ms >= since_ms
    }
