"""Coverage of the reads of tables: the engines that are followed, for how long, and with which gaps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.incomplete import unparsed_counts
from navlin.index.journal.purges import reads_lost_before_ms
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import solr_date
from navlin.index.solr.solr import Solr
from navlin.index.usage.contents import Accesses, accesses_of
from navlin.index.usage.source_coverage import SourceCoverage, coverage_of_sources
from navlin.model.gaps import READS_UNNAMED
from navlin.model.image_positions import ALL
from navlin.model.plurals import agreeing, counted
from navlin.model.source import HDFS, HIVE, IMPALA, S3, SPARK

ENGINES: Final = (HIVE, IMPALA, SPARK)
"""Engines that read tables and record their reads."""
ACCEPTED: Final = "(unless you confirm that this contains no reads)"
QUIET_MS: Final = 86_400_000
"""If navlin has read nothing from any source for this long, it is not running."""


@dataclass(frozen=True, slots=True)
class ReadCoverage:
    """Coverage of reads. ``reasons`` are the reasons why reads are unknown for all tables; if there are none, every
    read is covered. ``evidence`` is then the basis of a verdict. ``file_systems`` maps the id of each HDFS and bucket to
    the reason if its files do not show what they could of reads, else to ""."""

    reasons: tuple[str, ...]
    evidence: tuple[str, ...]
    file_systems: Mapping[str, str]
    accesses: Mapping[str, Accesses] = field(default_factory=dict)
    """Id of each HDFS → access times in its last whole image."""
    listed: frozenset[str] = frozenset()
    """Ids of file systems that have all their files in the index."""
    unnamed: str = ""
    """Sentence saying that some statements read tables that only the text names, not the record; "" if all records name
    them."""

    @property
    def every_reason(self) -> tuple[str, ...]:
        """Reasons that apply to data whose names are not searched for in the texts of statements."""
        return (*self.reasons, *filter(None, (self.unnamed,)))

    def lists_files(self, source_id: str) -> bool:
        """Whether all files of a file system are in the index."""
        return source_id in self.listed

    def image_ms(self, source_id: str) -> int:
        """Earliest possible time of the last whole image of a file system (epoch ms; 0: none is known)."""
        return self.accesses.get(source_id, Accesses()).as_of_ms

    def unread(self, source_id: str) -> str:
        """Return why a place on a file system is not covered; "" if it is."""
        return self.file_systems.get(source_id, "no configured source reads the files there")

    def to_json(self) -> dict[str, Any]:
        """JSON keys: reasons (why reads are unknown for all tables), evidence (the basis of a verdict)."""
        return {"reasons": list(self.reasons), "evidence": list(self.evidence)}


def read_coverage(
    solr: Solr, since_ms: int, now_ms: int, without_engines: Collection[str], *, despite_gaps: bool
) -> ReadCoverage:
    """Return the coverage of reads since ``since_ms``; see `navlin.query.unused.Question`."""
    sources = coverage_of_sources(solr, since_ms, now_ms)
    absent = {each.upper() for each in without_engines}
    engines = [each for each in sources if _tells_of_reads(each, absent)]
    reasons = [
        *_lost(reads_lost_before_ms(solr), since_ms),
        *_engines(engines, since_ms, absent),
        *_stopped(sources, now_ms),
        *([] if despite_gaps else _gaps(Graph(solr), engines, since_ms)),
    ]
    evidence = [
        f"{each.freshness.source.name} recorded what {each.freshness.source.type} reads since {solr_date(each.since_ms)}"
        for each in engines
        if each.since_ms
    ]
    evidence += [f"as confirmed, {each.title()} reads nothing here" for each in sorted(absent)]
    if despite_gaps:
        evidence.append("as confirmed, the gaps contain no reads of it")
    evidence.append("reads that bypass these engines show only in access times, which cannot rule them out")
    buckets = [each for each in sources if each.freshness.source.type == S3]
    if buckets:
        evidence.append("objects of S3 have no access times, so such reads of them show nowhere")
    hdfs = [each for each in sources if each.freshness.source.type == HDFS]
    return ReadCoverage(
        tuple(reasons),
        tuple(evidence),
        {each.freshness.source.id: _of_files(each) for each in (*hdfs, *buckets)},
        {each.freshness.source.id: accesses_of(solr, each.freshness.source.id) for each in hdfs},
        frozenset(each.freshness.source.id for each in sources if each.entries == ALL),
        "" if despite_gaps else _unnamed(Graph(solr), since_ms),
    )


def _tells_of_reads(each: SourceCoverage, absent: Collection[str]) -> bool:
    """Whether a source records reads, or would if it could be read. A source that has recorded nothing yet does not
    count if a person vouched that its engine reads nothing here."""
    source = each.freshness.source
    of_engine = source.type in ENGINES and not source.metastore
    return of_engine and (each.since_ms > 0 or source.type not in absent)


def _lost(before_ms: int, since_ms: int) -> Iterator[str]:
    if since_ms < before_ms:
        yield (
            f"executions before {solr_date(before_ms)} were purged or forgotten without a record of last reads:"
            " ask for fewer days"
        )


def _engines(engines: Collection[SourceCoverage], since_ms: int, absent: Collection[str]) -> Iterator[str]:
    for kind in ENGINES:
        of_kind = [each for each in engines if each.freshness.source.type == kind]
        if not any(each.since_ms for each in of_kind) and kind not in absent:
            yield f"no source records reads by {kind.title()} (unless you confirm that nothing here reads with it)"
        for each in of_kind:
            name = each.freshness.source.name
            if each.since_ms > since_ms:
                yield f"{name} records reads by {kind.title()} only since {solr_date(each.since_ms)}"
            if each.freshness.status == Status.FAILED:
                yield f"{name} cannot be read: {each.freshness.error}"


def _stopped(sources: Collection[SourceCoverage], now_ms: int) -> Iterator[str]:
    read_ms = max((each.freshness.read_ms for each in sources), default=0)
    if now_ms - read_ms > QUIET_MS:
        when = f"since {solr_date(read_ms)}" if read_ms else "ever"
        yield f"navlin has read nothing from any source {when}"


def reading_unnamed(since_ms: int) -> EntityFilter:
    """Return a filter for the statements since ``since_ms`` whose records do not name the tables that they read."""
    unnamed = EntityFilter(("OPERATION",), deleted=False, incomplete_for=READS_UNNAMED)
    return replace(unnamed, as_of_from_ms=since_ms)


def _unnamed(graph: Graph, since_ms: int) -> str:
    count = graph.count_entities(reading_unnamed(since_ms))
    read = f"{counted(count, 'statement')} of the period {agreeing(count, 'reads', 'read')} tables without naming a column"
    return f"{read} {ACCEPTED}" if count else ""


def _gaps(graph: Graph, engines: Collection[SourceCoverage], since_ms: int) -> Iterator[str]:
    incomplete = EntityFilter(
        ("OPERATION",), deleted=False, incomplete=True, but_incomplete_for=READS_UNNAMED
    )
    every = graph.count_entities(incomplete)
    if count := every - graph.count_entities(_before(incomplete, since_ms)):
        are = agreeing(count, "is", "are")
        yield f"{counted(count, 'operation')} of the period {are} incomplete, and may have read it {ACCEPTED}"
    if views := sum(each.views for each in unparsed_counts(graph.solr)):
        are = agreeing(views, "is", "are")
        yield f"{counted(views, 'view')} {are} not fully parsed, and may read it {ACCEPTED}"
    for each in engines:
        if each.incomplete_ms >= since_ms:
            yield (
                f"{each.freshness.source.name} had incomplete operations, the last purged one of"
                f" {solr_date(each.incomplete_ms)}, which may have read it {ACCEPTED}"
            )
        if each.rejects:
            yield f"{counted(each.rejects, 'record')} of {each.freshness.source.name} could not be read {ACCEPTED}"
        elif each.rejected_ms >= since_ms:
            yield (
                f"records of {each.freshness.source.name} could not be read, the last purged one of"
                f" {solr_date(each.rejected_ms)} {ACCEPTED}"
            )
        if each.backing_off:
            backing_off = agreeing(
                each.backing_off, "1 file or other part", f"{each.backing_off:,} files or other parts"
            )
            yield f"{backing_off} of {each.freshness.source.name} cannot be read {ACCEPTED}"
        # A source that has recorded nothing at all may be new, with nothing to read yet.
        if each.since_ms and each.silent_ms:
            first, weeks = solr_date(each.silent_ms[0]), len(each.silent_ms)
            silent = f"in {weeks} weeks, the first from {first}" if weeks > 1 else f"in the week from {first}"
            yield f"{each.freshness.source.name} recorded no execution {silent} {ACCEPTED}"


def _before(where: EntityFilter, before_ms: int) -> EntityFilter:
    return replace(where, as_of_before_ms=before_ms)


def _of_files(each: SourceCoverage) -> str:
    freshness = each.freshness
    # Only HDFS has access times, for which its files must be in the index.
    if each.entries == "directories" and freshness.source.type == HDFS:
        return 'its files are not read (entries = "directories")'
    if not each.entries:
        return "its coverage of files is unknown until its next complete reading"
    if freshness.status == Status.FAILED:
        return f"{freshness.source.name} cannot be read: {freshness.error}"
    if freshness.blocked_run:
        return f"deletions of {freshness.source.name} await review: {freshness.blocked_run}"
    return ""
