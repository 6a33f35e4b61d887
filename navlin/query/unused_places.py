"""Unused partitions and directories, judged by the access times in the last whole image and by the reads that engines
have recorded since.

Engines do not record which partition they read. But an image has the last access time of every file, if the cluster
keeps access times. So data that was neither accessed nor written in the period was not read up to the image. Nor was
the data read after the image, if no read of the table, or of the path, is known, and everything that would have shown
one was watched. If any of this is missing, the verdict is "not known", with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from navlin.index.graph.entity import OWNED, TABLE_AGE, LastRead, StoredEntity
from navlin.index.graph.executions import KnownExecutions, executions_of
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import NAMED
from navlin.index.schema.fields import solr_date
from navlin.index.solr.solr import Solr
from navlin.index.usage.contents import Content, contents_at, count_quiet, quiet_directories, quiet_parents
from navlin.index.usage.last_reads import last_reads
from navlin.index.usage.readers import LocationPath, Readers, readers_of, table_places, tables_near
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType
from navlin.model.tree import upward
from navlin.query.read_coverage import ReadCoverage, read_coverage
from navlin.query.unused import TableJudge, unused
from navlin.query.usage_status import DAY_MS, EntityUsage, JudgedKind, Size, UsageQuestion, UsageStatus

FRESH_MS: Final = 8 * DAY_MS
"""Maximum age of the last image; images are read every week, so something is wrong if it is older."""
PRECISION_MS: Final = DAY_MS
"""Longest interval in which HDFS may not update an access time again (``dfs.namenode.accesstime.precision``; an hour by
default). Data accessed just before a time may therefore have been read after it."""
AT_ONCE: Final = 200
_READ_BY_PATH: Final[tuple[str, ...]] = ("its path was read since",)
_PARTITIONED: Final = EntityFilter(("TABLE",), deleted=False)
_LOCATED: Final = RelationFilter((RelationType.LOGICAL_PHYSICAL,), deleted=False, ep1_types=("PARTITION",))

Progress = Callable[[int, int], None]


def usages_of(
    solr: Solr, question: UsageQuestion, of: JudgedKind, progress: Progress = lambda done, all_: None
) -> tuple[ReadCoverage, Iterator[EntityUsage]]:
    """Return the coverage, and the verdicts on tables, partitions or directories."""
    match of:
        case JudgedKind.PARTITIONS:
            return unused_partitions(solr, question, progress)
        case JudgedKind.DIRECTORIES:
            return unused_directories(solr, question, progress)
    return unused(solr, question, progress)


def since_images(solr: Solr, question: UsageQuestion) -> ReadCoverage:
    """Return the coverage since the oldest of the last whole images, for the reads that no image shows. If no image is
    usable, return the coverage of the whole period, with that reason."""
    known = read_coverage(
        solr, question.since_ms, question.now_ms, question.without_engines, despite_gaps=question.despite_gaps
    )
    times = [each.as_of_ms for each in known.accesses.values() if _usable(each.as_of_ms, question)]
    if not times:
        return replace(
            known, reasons=("no whole image of a file system was read in the last days", *known.reasons)
        )
    return read_coverage(
        solr, min(times), question.now_ms, question.without_engines, despite_gaps=question.despite_gaps
    )


def _usable(image_ms: int, question: UsageQuestion) -> bool:
    return question.now_ms - FRESH_MS < image_ms <= question.now_ms


@dataclass(frozen=True, slots=True)
class _Images:
    question: UsageQuestion
    coverage: ReadCoverage

    @property
    def before_ms(self) -> int:
        """Data last accessed before this time (epoch ms) were not read in the period in question."""
        return self.question.since_ms - PRECISION_MS

    def why_unknown(self, source_id: str) -> str:
        """Return why the image of a file system does not show reads; "" if it does."""
        accesses = self.coverage.accesses.get(source_id)
        if accesses is None:
            return "no configured source reads the files there"
        if not accesses.as_of_ms:
            return "no whole image with access times was read"
        if not _usable(accesses.as_of_ms, self.question):
            return f"the last whole image is from {solr_date(accesses.as_of_ms)}"
        if not accesses.kept_since(self.question.since_ms):
            return (
                "the last whole image does not show that access times were kept in every week of the period"
            )
        return ""

    def judge(self, place: LocationPath, content: Content | None) -> tuple[UsageStatus, str]:
        """Judge one place by the image. Return a verdict and the reason; UNUSED holds only up to the time of the
        image."""
        if why := self.why_unknown(place.source_id):
            return UsageStatus.UNKNOWN, f"{place.path}: {why}" if not self.coverage.accesses.get(
                place.source_id
            ) else why
        if content is None:
            return UsageStatus.UNKNOWN, "the last whole image has nothing there"
        if not content.files:
            return UsageStatus.UNKNOWN, "it has no files, so no access time could show a read"
        since_ms = self.question.since_ms
        if content.accessed_ms >= since_ms > content.modified_ms:
            return UsageStatus.USED, "one of its files was accessed since, and none was written"
        if content.modified_ms >= self.before_ms:
            return (
                UsageStatus.UNKNOWN,
                "it was written since: the access times of new files do not show reads",
            )
        if not content.accessed_ms:
            return UsageStatus.UNKNOWN, "some of its files have no access time"
        if content.accessed_ms >= self.before_ms:
            return (
                UsageStatus.UNKNOWN,
                "it was accessed in the day before the period, and access times are not exact to the hour",
            )
        return UsageStatus.UNUSED, ""

    def size(self, place: LocationPath, content: Content | None) -> Size | None:
        if content is None:
            return None
        as_of_ms = self.coverage.image_ms(place.source_id)
        return Size(content.size_bytes, content.files, content.space_bytes, content.modified_ms, as_of_ms)

    def evidence(self, place: LocationPath) -> tuple[str, ...]:
        image = solr_date(self.coverage.image_ms(place.source_id))
        since = f"the last whole image, of {image}, shows no access to it and no write since then"
        return (since, *self.coverage.evidence)


@dataclass(frozen=True, slots=True)
class _LastRead:
    """The last known read of a path: time (epoch ms; 0: none is known), user, and the reason to suspect a later one (""
    if none)."""

    ms: int = 0
    principal: str = ""
    suspicion: str = ""


def _reads(judge: TableJudge, found: Sequence[tuple[StoredEntity, LocationPath]]) -> list[_LastRead]:
    """Return the last known read of each entity: by its path, by the paths around it, or by its id."""
    read = [([entity], [place]) for entity, place in found]
    readers = readers_of(judge.graph, read, judge.metastores)
    left = last_reads(judge.graph, read, judge.metastores)
    operations = judge.graph.entities_of((each for of in readers for each in of.operations), OWNED)
    executions = executions_of(judge.graph, operations.values())
    return [_read(judge, of, purged, executions) for of, purged in zip(readers, left, strict=True)]


def _read(
    judge: TableJudge, of: Readers, purged: LastRead, executions: Mapping[str, KnownExecutions]
) -> _LastRead:
    ran = [executions.get(each, KnownExecutions()) for each in of.operations]
    times = [(purged.ms, purged.principal), (purged.below_ms, ""), (of.newest_ms, "")]
    times += [(each.newest_ms, each.principal) for each in ran]
    if not judge.running.isdisjoint(of.operations):
        times.append((judge.question.now_ms, ""))
    suspicion = "more operations read it than navlin examines" if of.cut else ""
    if any(not each.last_ms for each in ran):
        suspicion = "an operation reads it, and the time of its last execution is unknown"
    return _LastRead(*max(times), suspicion)


# -- Partitions ----------------------------------------------------------------------------------------------------------


def unused_partitions(
    solr: Solr, question: UsageQuestion, progress: Progress = lambda done, all_: None
) -> tuple[ReadCoverage, Iterator[EntityUsage]]:
    """Return the coverage, and a verdict on every partition that is not flagged deleted; ``progress`` is called with
    the number of tables done and the total."""
    known = since_images(solr, question)
    return known, _partitions(Graph(solr), _Images(question, known), progress)


def _partitions(graph: Graph, images: _Images, progress: Progress) -> Iterator[EntityUsage]:
    known = images.coverage
    times = [each.as_of_ms for each in known.accesses.values() if _usable(each.as_of_ms, images.question)]
    # Tables are judged only by reads after the image.
    judge = TableJudge.of(
        graph, replace(images.question, from_ms=min(times, default=images.question.now_ms)), known
    )
    total, done = graph.count_entities(_PARTITIONED), 0
    for batch in in_batches(graph.entities(_PARTITIONED, fields=TABLE_AGE), AT_ONCE):
        partitioned = [each for each in batch if each.partitioned]
        statuses = {each.entity.id: each for each in judge.usages(partitioned)} if partitioned else {}
        owners = {each.id: each for each in partitioned}
        where = EntityFilter(("PARTITION",), deleted=False, parents=tuple(owners))
        for some in in_batches(graph.entities(where) if owners else (), AT_ONCE):
            yield from _of_tables(graph, images, judge, some, statuses)
        done += len(batch)
        progress(done, max(total, done))


def _of_tables(
    graph: Graph,
    images: _Images,
    judge: TableJudge,
    partitions: Sequence[StoredEntity],
    tables: Mapping[str, EntityUsage],
) -> Iterator[EntityUsage]:
    ids = [each.id for each in partitions]
    places = {
        relation.ep1.id: LocationPath(relation.ep2.source_id, relation.ep2.name)
        for relation in graph.relations(_LOCATED, of=ids, sides=(1,), fields=NAMED)
    }
    contents = contents_at(graph, places.values())
    quiet: list[tuple[StoredEntity, LocationPath]] = []
    for each in partitions:
        place, table = places.get(each.id), tables[each.parent_id]
        if place is None:
            yield EntityUsage(each, UsageStatus.UNKNOWN, ("its location is unknown",))
            continue
        content = contents.get(place)
        status, reason = images.judge(place, content)
        if status is UsageStatus.UNUSED and table.status is UsageStatus.UNUSED:
            quiet.append((each, place))
            continue
        reasons: tuple[str, ...] = (reason,)
        if status is UsageStatus.UNUSED:
            status, reasons = UsageStatus.UNKNOWN, table.reasons
            if table.status is UsageStatus.USED:
                image = solr_date(images.coverage.image_ms(place.source_id))
                reasons = (
                    f"its table was read since the last whole image, of {image}, and no engine records which partition",
                )
        accessed_ms = content.accessed_ms if content is not None and status is UsageStatus.USED else 0
        yield EntityUsage(each, status, reasons, (place,), images.size(place, content), accessed_ms)
    for (each, place), read in zip(quiet, _reads(judge, quiet), strict=True):
        size = images.size(place, contents.get(place))
        if read.ms >= images.question.since_ms:
            status, reasons = UsageStatus.USED, _READ_BY_PATH
        elif read.suspicion:
            status, reasons = UsageStatus.UNKNOWN, (read.suspicion,)
        else:
            status, reasons = UsageStatus.UNUSED, images.evidence(place)
        yield EntityUsage(each, status, reasons, (place,), size, read.ms, read.principal)


# -- Directories ---------------------------------------------------------------------------------------------------------


def unused_directories(
    solr: Solr, question: UsageQuestion, progress: Progress = lambda done, all_: None
) -> tuple[ReadCoverage, Iterator[EntityUsage]]:
    """Return the coverage, and a verdict on each directory below which nothing was accessed or written, according to
    the last whole image. Directories that contain, are or are inside a table's location are left out, and so are
    directories nested in a listed one. If the image of a file system does not show reads, its directories are left out,
    too, and the coverage contains the reason."""
    known = since_images(solr, question)
    images = _Images(question, known)
    unknown = {each: images.why_unknown(each) for each in known.accesses}
    reasons = tuple(dict.fromkeys(filter(None, unknown.values())))
    readable = [each for each, why in unknown.items() if not why]
    shown = replace(known, reasons=(*reasons, *known.every_reason))
    return shown, _directories(Graph(solr), images, readable, progress)


def _directories(
    graph: Graph, images: _Images, sources: Sequence[str], progress: Progress
) -> Iterator[EntityUsage]:
    before_ms, done = images.before_ms, 0
    total = sum(count_quiet(graph, source_id, before_ms) for source_id in sources)
    if not sources:
        return
    judge = TableJudge.of(graph, images.question, images.coverage)
    at = table_places(graph)
    around = {(source_id, up) for source_id, path in at for up in upward(path) if up != path}

    def belongs(source_id: str, path: str) -> bool:
        return (source_id, path) in around or any((source_id, up) in at for up in upward(path))

    for source_id in sources:
        for batch in in_batches(quiet_directories(graph, source_id, before_ms), AT_ONCE):
            free = [(each, content) for each, content in batch if not belongs(source_id, each.path)]
            parents = quiet_parents(graph, source_id, (each.path for each, _ in free), before_ms)
            outer = [
                (each, content)
                for each, content in free
                if (parent := each.path.rpartition("/")[0] or "/") not in parents
                or belongs(source_id, parent)
            ]
            yield from _outermost(graph, images, judge, outer)
            done += len(batch)
            progress(done, max(total, done))


def _outermost(
    graph: Graph, images: _Images, judge: TableJudge, found: Sequence[tuple[StoredEntity, Content]]
) -> Iterator[EntityUsage]:
    placed = [(each, LocationPath(each.source_id, each.path)) for each, _ in found]
    taken = tables_near(graph, [place for _, place in placed])
    for (each, content), (_, place), near, read in zip(
        found, placed, taken, _reads(judge, placed), strict=True
    ):
        size = images.size(place, content)
        if read.ms >= images.question.since_ms:
            status, reasons = UsageStatus.USED, _READ_BY_PATH
        elif near:
            status, reasons = UsageStatus.UNKNOWN, (f"tables or partitions lie there: {', '.join(near)}",)
        elif images.coverage.every_reason or read.suspicion:
            status, reasons = (
                UsageStatus.UNKNOWN,
                (*images.coverage.every_reason, *filter(None, (read.suspicion,))),
            )
        else:
            status, reasons = UsageStatus.UNUSED, images.evidence(place)
        yield EntityUsage(each, status, reasons, (place,), size, read.ms, read.principal)
