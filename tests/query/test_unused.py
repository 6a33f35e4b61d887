"""Finding unused tables. Each change of the estate has its correct verdict next to it, because a wrong verdict
deletes somebody's data."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from navlin.cli.invocation import Exit
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import End
from navlin.index.journal.purges import forget_purged_before, remember_purged_before
from navlin.index.journal.rejects import save_rejects
from navlin.index.journal.run_counts import RunCounts
from navlin.index.journal.runs import BACKING_OFF, RunRecord, Status, save_positions, save_run
from navlin.index.people.user_entities import SDK, SDK_SOURCE, write_relations
from navlin.index.schema.fields import RUNS, solr_date
from navlin.index.solr.solr import Solr
from navlin.index.usage.readers import LocationPath, sharing
from navlin.index.write.documents import source_envelope
from navlin.model.gaps import READS_UNNAMED
from navlin.model.identity import run_id
from navlin.model.image_positions import ENTRIES
from navlin.model.keys import EntityType, Key, RelationType, column_key, path_key, table_key
from navlin.model.records import Position, Reject
from navlin.model.source import S3, Source, source_id
from navlin.query.read_coverage import ReadCoverage
from navlin.query.unused import COLUMNS, MOST_PLACES, EntityUsage, UsageQuestion, UsageStatus, unused
from tests.cli.test_cli import configuration, run
from tests.support.query_estate import AS_OF_MS, HDFS, HIVE, IMPALA, SPARK, World
from tests.support.web import running_web

DAY_MS = 86_400_000
NOW_MS = AS_OF_MS + 365 * DAY_MS
DAYS = 90
LONG_AGO_MS = NOW_MS - 300 * DAY_MS
BEFORE_MS = NOW_MS - 100 * DAY_MS
SINCE_MS = NOW_MS - 10 * DAY_MS

HIVE_QUERIES = "HIVE_QUERIES"
"""A source that follows HiveServer2's logs. The metastore's source has the same type."""
ENGINES = (HIVE_QUERIES, IMPALA, SPARK)


class Estate(World):
    """A world with complete coverage: three engines and a metastore followed for a long time, and an HDFS with its
    files listed. Each test adds or removes one thing. ``old`` is the table under test."""

    def __init__(self, solr: Solr) -> None:
        super().__init__(solr, "unused")
        queries = Source(source_id("estate", "queries"), HIVE, "queries", "estate", claimable=False)
        self.sources[HIVE_QUERIES] = queries
        self._put(source_envelope(queries, AS_OF_MS))
        self.home = self.path("/data/old")
        self.old = self.table("old", "x", created=LONG_AGO_MS, owner="ann")
        self.located(self.old, self.home)
        self.file("/data/old/part-0", size=1_000)
        self.file("/data/old/part-1", size=234)
        self.busy = self.table("busy", created=LONG_AGO_MS)
        self.located(self.busy, self.path("/data/busy"))
        for engine in ENGINES:
            weekly = self.read(self.busy, LONG_AGO_MS, engine=engine, text=f"weekly of {engine}")
            for week in range(20):
                at_ms = NOW_MS - week * 7 * DAY_MS - DAY_MS
                self.executed(weekly, at_ms, record_ms=at_ms)
        self.runs = {kind: [(Status.FINISHED, NOW_MS - 3_600_000)] for kind in (*ENGINES, HDFS)}
        self.entries: str | None = "all"

    def file(
        self, path: str, *, size: int, accessed_ms: int = LONG_AGO_MS, written_ms: int = LONG_AGO_MS
    ) -> Key:
        return self.path(
            path, kind=EntityType.FILE, size=size, lastAccessed=accessed_ms, lastModified=written_ms
        )

    def read(
        self, what: Key, at_ms: int, *, engine: str = IMPALA, text: str = "", control: bool = False
    ) -> Key:
        """Add an operation that reads an entity, and one execution. The times of all records added are the
        execution's time."""
        before = {*self.elements, *self.relations}
        text = text or f"select from {what.name} {at_ms}"
        operation = self.operation(
            text, [] if control else [what], steered_by=[what] if control else [], engine=engine
        )
        self.recorded(before, at_ms)
        self.executed(operation, at_ms, record_ms=at_ms)
        return operation

    def executed(self, operation: Key, started_ms: int, *, record_ms: int) -> None:
        before = {*self.elements, *self.relations}
        self.execution(operation, f"run {len(before)}", started=started_ms, principal="bob")
        self.recorded(before, record_ms)

    def recorded(self, before: set[str], record_ms: int) -> None:
        for documents in (self.elements, self.relations):
            for identity, document in documents.items():
                if identity not in before:
                    document["asOf"] = record_ms

    def write(self) -> None:
        for document in (*self.elements.values(), *self.relations.values()):
            document.setdefault("firstSeen", solr_date(LONG_AGO_MS))
        self.index()
        for kind, runs in self.runs.items():
            source = self.source(kind)
            for iteration, (status, started_ms) in enumerate(runs, 1):
                counts, error = RunCounts(complete_listings=1), "gone" if status is Status.FAILED else ""
                save_run(
                    self.solr,
                    RunRecord(
                        source.name,
                        source.id,
                        iteration,
                        status,
                        started_ms,
                        started_ms + 1,
                        error=error,
                        counts=counts,
                    ),
                )
        if self.entries:
            save_positions(self.solr, self.source(HDFS).id, "f", [Position(ENTRIES, self.entries)], {})
        self.solr.commit(RUNS, soft=True)

    def judged(self, question: UsageQuestion | None = None) -> tuple[ReadCoverage, dict[str, EntityUsage]]:
        known, judged = unused(self.solr, question or UsageQuestion(DAYS, NOW_MS))
        return known, {each.entity.own_name: each for each in judged}

    def answer(self, question: UsageQuestion | None = None) -> tuple[ReadCoverage, dict[str, EntityUsage]]:
        self.write()
        return self.judged(question)

    def of_old(self, question: UsageQuestion | None = None) -> tuple[UsageStatus, str]:
        judged = self.answer(question)[1]["old"]
        return judged.status, "; ".join(judged.reasons)


@pytest.fixture
def estate(private_solr: Solr) -> Estate:
    return Estate(private_solr)


def nothing(_: Estate) -> None:
    """Change nothing: the table is not read, and coverage is complete."""


def read_long_ago(estate: Estate) -> None:
    estate.read(estate.old, BEFORE_MS)


def read_since_by(engine: str) -> Callable[[Estate], None]:
    return lambda estate: void(estate.read(estate.old, SINCE_MS, engine=engine))


def void(_: object) -> None:
    pass


def read_long_ago_and_since(estate: Estate) -> None:
    estate.read(estate.old, BEFORE_MS)
    estate.read(estate.old, SINCE_MS, text="again")


def record_is_old_and_an_execution_is_new(estate: Estate) -> None:
    operation = estate.read(estate.old, BEFORE_MS)
    estate.executed(operation, SINCE_MS, record_ms=SINCE_MS)


def an_execution_that_began_long_ago_has_ended_since(estate: Estate) -> None:
    operation = estate.read(estate.old, BEFORE_MS)
    estate.executed(operation, BEFORE_MS, record_ms=SINCE_MS)


def it_steers(estate: Estate) -> None:
    estate.read(estate.old, SINCE_MS, control=True)


def a_column_is_read(estate: Estate) -> None:
    operation = estate.read(estate.busy, SINCE_MS, text="by column")
    estate.relate(RelationType.DATA_FLOW, column_key(estate.old, "x"), operation, writer=IMPALA)
    for relation in estate.relations.values():
        relation.setdefault("asOf", SINCE_MS)


def its_directory_is_read(estate: Estate) -> None:
    estate.read(estate.home, SINCE_MS, engine=SPARK)


def a_path_below_is_read(estate: Estate) -> None:
    below = path_key(estate.source(HDFS), "/data/old/part-0", EntityType.FILE)
    estate.read(below, SINCE_MS, engine=SPARK)


def a_path_beside_is_read(estate: Estate) -> None:
    estate.read(estate.path("/data/older"), SINCE_MS, engine=SPARK)


def a_directory_around_it_is_read(estate: Estate) -> None:
    estate.read(estate.path("/data"), SINCE_MS, engine=SPARK)


def its_view_is_read(estate: Estate) -> None:
    view = estate.table("seen", kind=EntityType.VIEW)
    estate.relate(RelationType.DATA_FLOW, estate.old, view, writer=HIVE, parsed=True)
    estate.read(view, SINCE_MS)


def a_view_of_its_view_is_read(estate: Estate) -> None:
    first, second = (estate.table(name, kind=EntityType.VIEW) for name in ("first", "second"))
    made = estate.operation("create view first", [estate.old], [first])
    estate.execution(made, "made", started=BEFORE_MS)
    estate.relate(RelationType.DATA_FLOW, first, second, writer=HIVE, parsed=True)
    estate.read(second, SINCE_MS)


def a_view_was_read_and_dropped_since(estate: Estate) -> None:
    view = estate.table("seen", kind=EntityType.VIEW, deleted=True)
    estate.relate(RelationType.DATA_FLOW, estate.old, view, writer=HIVE, deleted=True)
    estate.read(view, SINCE_MS)


def a_program_wrote_that_an_execution_of_its_own_read_it(estate: Estate) -> None:
    execution = End("an execution", "", "OPERATION_EXECUTION", SDK, SDK_SOURCE)
    table = End(estate.old.identity, "", "TABLE", HIVE, estate.source(HIVE).id)
    write_relations(
        estate.solr,
        RelationType.DATA_FLOW,
        [(table, execution)],
        namespace="own",
        user_specified=False,
        missing={},
        now_ms=SINCE_MS,
    )


def it_is_read_by_an_address_that_nobody_configured(estate: Estate) -> None:
    other = Source(
        "0123456789abcdef0123456789abcdef", HIVE, "thrift://other:9083", "estate", configured=False
    )
    estate.read(estate.granted(table_key(other, "db", "old")), SINCE_MS)


def it_is_read_in_capitals(estate: Estate) -> None:
    other = Source(
        "0123456789abcdef0123456789abcdef", HIVE, "thrift://other:9083", "estate", configured=False
    )
    estate.read(estate.granted(column_key(table_key(other, "DB", "OLD"), "X")), SINCE_MS)


def its_path_is_read_by_an_address_that_nobody_configured(estate: Estate) -> None:
    other = Source("fedcba9876543210fedcba9876543210", HDFS, "hdfs://nn1:8020", "estate", configured=False)
    estate.read(estate.granted(path_key(other, "/data/old")), SINCE_MS)


def a_stream_that_reads_it_is_running(estate: Estate) -> None:
    operation = estate.read(estate.old, BEFORE_MS, engine=SPARK)
    before = {*estate.elements, *estate.relations}
    estate.execution(operation, "stream", started=BEFORE_MS, status="RUNNING")
    estate.recorded(before, BEFORE_MS)


def written_since(estate: Estate) -> None:
    operation = estate.operation("insert into old", [], [estate.old])
    estate.execution(operation, "w", started=SINCE_MS, principal="etl")


def a_file_was_accessed_since(estate: Estate) -> None:
    estate.file("/data/old/part-2", size=1, accessed_ms=SINCE_MS)


def a_file_was_written_since(estate: Estate) -> None:
    estate.file("/data/old/part-2", size=1, accessed_ms=SINCE_MS, written_ms=SINCE_MS)


def it_is_young(estate: Estate) -> None:
    estate.elements[estate.old.identity]["created"] = solr_date(SINCE_MS)


def navlin_is_young(estate: Estate) -> None:
    estate.elements[estate.old.identity]["firstSeen"] = solr_date(SINCE_MS)


def it_was_dropped_and_created_again(estate: Estate) -> None:
    estate.elements[estate.old.identity]["recreated"] = [solr_date(SINCE_MS)]


def it_was_renamed(estate: Estate) -> None:
    rename = estate.operation("alter table former rename to old", [], [estate.old], engine=HIVE)
    for relation in estate.relations.values():
        if rename.identity in relation["endpoint1Ids"]:
            relation["asOf"] = SINCE_MS


def an_engine_is_not_followed(estate: Estate) -> None:
    spark = estate.source(SPARK).id
    for documents in (estate.elements, estate.relations):
        for identity in [
            each
            for each, document in documents.items()
            if spark in (document.get("sourceId"), document.get("writer"), document["identity"])
        ]:
            del documents[identity]
    del estate.runs[SPARK]


def of_hive_only_a_metastore_is_read_that_recorded_renames(estate: Estate) -> None:
    queries = estate.source(HIVE_QUERIES).id
    for documents in (estate.elements, estate.relations):
        for identity, document in list(documents.items()):
            if queries in (document.get("sourceId"), document.get("writer"), identity):
                del documents[identity]
    del estate.runs[HIVE_QUERIES]
    rename = estate.operation("alter table a rename to b", [estate.busy], [estate.busy], engine=HIVE)
    for week in range(50):
        at_ms = NOW_MS - week * 6 * DAY_MS - DAY_MS
        estate.executed(rename, at_ms, record_ms=at_ms)


def an_engine_is_followed_only_since(estate: Estate) -> None:
    for document in estate.elements.values():
        if document["type"] == "OPERATION_EXECUTION" and document["sourceId"] == estate.source(SPARK).id:
            document["started"] = solr_date(SINCE_MS)


def an_engine_fell_silent(estate: Estate) -> None:
    hive, since = estate.source(HIVE_QUERIES).id, solr_date(NOW_MS - 40 * DAY_MS)
    for identity, document in list(estate.elements.items()):
        if document["sourceId"] == hive and document.get("started", "") > since:
            del estate.elements[identity]


def an_engines_source_fails(estate: Estate) -> None:
    estate.runs[IMPALA] = [(Status.FINISHED, BEFORE_MS), (Status.FAILED, NOW_MS - 60_000)]


def another_source_of_impala(estate: Estate, *runs: tuple[Status, int]) -> Source:
    """Add a second Impala source, which has recorded nothing."""
    second = Source(source_id("estate", "second"), IMPALA, "second", "estate", claimable=False)
    estate.sources["IMPALA_2"] = second
    estate._put(source_envelope(second, AS_OF_MS))
    estate.runs["IMPALA_2"] = list(runs)
    return second


def another_source_has_nothing_to_read_yet(estate: Estate) -> None:
    another_source_of_impala(estate, (Status.FINISHED, NOW_MS - 60_000))


def another_source_never_could_be_read(estate: Estate) -> None:
    another_source_of_impala(estate, (Status.FAILED, NOW_MS - 60_000))


def of_another_source_no_record_would_read(estate: Estate) -> None:
    second = another_source_of_impala(estate, (Status.FINISHED, NOW_MS - 60_000))
    save_rejects(
        estate.solr, second.name, second.id, run_id(second.id, 1), SINCE_MS, [Reject("log", "torn", 7)]
    )


def of_another_source_no_file_can_be_read(estate: Estate) -> None:
    second = another_source_of_impala(estate, (Status.FINISHED, NOW_MS - 60_000))
    held = Position(BACKING_OFF + "/logs/impala.8", {"times": 3, "error": "permission denied"})
    save_positions(estate.solr, second.id, "f", [held], {})


def navlin_stands_still(estate: Estate) -> None:
    estate.runs = {kind: [(Status.FINISHED, SINCE_MS)] for kind in estate.runs}


def purged_by_a_navlin_that_left_no_reads(estate: Estate, before_ms: int) -> None:
    body = orjson.dumps({"before_ms": before_ms}).decode()
    estate.solr.add(RUNS, [{"identity": "purge:before", "kind": "purge", "body": body}])
    # A later purge keeps the times of last reads, but times that an earlier purge lost stay lost.
    remember_purged_before(estate.solr, NOW_MS - DAY_MS)


def a_navlin_that_left_no_reads_has_purged_since(estate: Estate) -> None:
    purged_by_a_navlin_that_left_no_reads(estate, SINCE_MS)


def a_navlin_that_left_no_reads_has_purged_older_executions(estate: Estate) -> None:
    purged_by_a_navlin_that_left_no_reads(estate, BEFORE_MS)


def a_purge_that_lost_reads_is_forgotten(estate: Estate) -> None:
    purged_by_a_navlin_that_left_no_reads(estate, SINCE_MS)
    forget_purged_before(estate.solr)


def it_lies_there_only_since(estate: Estate) -> None:
    for relation in estate.relations.values():
        if estate.old.identity in relation["endpoint1Ids"] and relation["type"] == "LOGICAL_PHYSICAL":
            relation["firstSeen"] = solr_date(SINCE_MS)


def an_operation_that_reads_it_has_no_time(estate: Estate) -> None:
    operation = estate.operation("select from old, some day", [estate.old])
    for relation in estate.relations.values():
        if operation.identity in relation["endpoint2Ids"]:
            relation["asOf"] = BEFORE_MS


def an_operation_is_incomplete(estate: Estate) -> None:
    operation = estate.read(estate.busy, SINCE_MS, text="half understood")
    estate.elements[operation.identity]["incomplete"] = True


def an_operation_long_ago_was_incomplete(estate: Estate) -> None:
    operation = estate.read(estate.busy, BEFORE_MS, text="half understood")
    estate.elements[operation.identity]["incomplete"] = True


def its_rows_are_counted(
    estate: Estate, at_ms: int = SINCE_MS, text: str = "select COUNT(*) from db.`OLD` where 1 = 1"
) -> None:
    """The record of a statement that only counts rows does not name the table."""
    operation = estate.read(estate.busy, at_ms, text=text)
    estate.elements[operation.identity] |= {"incomplete": True, "incompleteReasons": [READS_UNNAMED]}


def its_rows_were_counted_long_ago(estate: Estate) -> None:
    its_rows_are_counted(estate, BEFORE_MS)


def the_rows_of_another_table_are_counted(estate: Estate) -> None:
    its_rows_are_counted(estate, text="select count(*) from db.other")


def the_rows_of_its_view_are_counted(estate: Estate) -> None:
    view = estate.table("seen", kind=EntityType.VIEW)
    estate.relate(RelationType.DATA_FLOW, estate.old, view, writer=HIVE, parsed=True)
    its_rows_are_counted(estate, text="select count(*) from seen")


def a_view_that_may_read_it_does_not_parse(estate: Estate) -> None:
    view = estate.table("opaque", kind=EntityType.VIEW)
    estate.elements[view.identity]["unparsedReason"] = "a table is not known"
    estate.read(view, SINCE_MS)


def a_record_would_not_read(estate: Estate) -> None:
    source = estate.source(SPARK)
    save_rejects(
        estate.solr, source.name, source.id, run_id(source.id, 1), SINCE_MS, [Reject("log", "torn", 7)]
    )


def a_file_of_an_engine_cannot_be_read(estate: Estate) -> None:
    held = Position(BACKING_OFF + "/logs/impala.7", {"times": 3, "error": "permission denied"})
    save_positions(estate.solr, estate.source(IMPALA).id, "f", [held], {})


def only_directories_are_read(estate: Estate) -> None:
    estate.entries = "directories"


def how_files_are_read_is_not_told(estate: Estate) -> None:
    estate.entries = None


def the_file_system_fails(estate: Estate) -> None:
    estate.runs[HDFS] = [(Status.FINISHED, BEFORE_MS), (Status.FAILED, NOW_MS - 60_000)]


def a_loss_of_the_file_system_is_held(estate: Estate) -> None:
    estate.runs[HDFS] = [(Status.FINISHED, BEFORE_MS), (Status.HELD, NOW_MS - 60_000)]


def it_lies_where_nobody_reads(estate: Estate) -> None:
    del estate.elements[estate.home.identity]
    for relation in estate.relations.values():
        if estate.old.identity in relation["endpoint1Ids"] and relation["type"] == "LOGICAL_PHYSICAL":
            relation["endpoint2SourceId"] = "of nobody"


def nobody_knows_where_it_lies(estate: Estate) -> None:
    for identity, relation in list(estate.relations.items()):
        if estate.old.identity in relation["endpoint1Ids"] and relation["type"] == "LOGICAL_PHYSICAL":
            del estate.relations[identity]


def it_lies_in_a_bucket(
    estate: Estate, path: str = "/old", kind: EntityType = EntityType.DIRECTORY, entries: str = "all"
) -> None:
    nobody_knows_where_it_lies(estate)
    bucket = estate.source(S3, "s3://lake")
    estate.located(estate.old, estate.entity(path_key(bucket, path, kind)))
    save_positions(estate.solr, bucket.id, "f", [Position(ENTRIES, entries)], {})
    estate.runs[S3] = [(Status.FINISHED, NOW_MS - 3_600_000)]


def it_lies_in_a_bucket_of_which_directories_are_read(estate: Estate) -> None:
    it_lies_in_a_bucket(estate, entries="directories")


def it_lies_at_the_top_of_a_bucket(estate: Estate) -> None:
    it_lies_in_a_bucket(estate, "/", EntityType.S3BUCKET)


def its_bucket_cannot_be_listed(estate: Estate) -> None:
    it_lies_in_a_bucket(estate)
    estate.runs[S3] = [(Status.FINISHED, BEFORE_MS), (Status.FAILED, NOW_MS - 60_000)]


def a_loss_of_its_bucket_is_held(estate: Estate) -> None:
    it_lies_in_a_bucket(estate)
    estate.runs[S3] = [(Status.FINISHED, BEFORE_MS), (Status.HELD, NOW_MS - 60_000)]


def another_table_lies_there(estate: Estate) -> None:
    estate.located(estate.table("other", created=LONG_AGO_MS), estate.home)


def another_table_lies_inside(estate: Estate) -> None:
    estate.located(estate.table("other", created=LONG_AGO_MS), estate.path("/data/old/inside"))


def another_table_lies_around(estate: Estate) -> None:
    estate.located(estate.table("other", created=LONG_AGO_MS), estate.path("/data"))


def another_table_lies_beside(estate: Estate) -> None:
    estate.located(estate.table("other", created=LONG_AGO_MS), estate.path("/data/old_too"))


def test_sharing_places_is_checked_up_to_the_limit(solr: Solr) -> None:
    deep = [
        LocationPath("of hdfs", f"/warehouse/{number % 7}/a/b/c/d/e/f/g{number}")
        for number in range(MOST_PLACES)
    ]
    assert sharing(Graph(solr), [("a table", deep), ("another", deep[:1])]) == [[], []]


UNUSED, USED, UNKNOWN = UsageStatus.UNUSED, UsageStatus.USED, UsageStatus.UNKNOWN
TRUTH: list[tuple[Callable[[Estate], None], UsageStatus, str]] = [
    (nothing, UNUSED, "recorded what IMPALA reads since"),
    (read_long_ago, UNUSED, "only in access times"),
    (read_since_by(IMPALA), USED, ""),
    (read_since_by(HIVE_QUERIES), USED, ""),
    (read_since_by(SPARK), USED, ""),
    (read_long_ago_and_since, USED, ""),
    (record_is_old_and_an_execution_is_new, USED, ""),
    (an_execution_that_began_long_ago_has_ended_since, USED, ""),
    (it_steers, USED, ""),
    (a_column_is_read, USED, ""),
    (its_directory_is_read, USED, ""),
    (a_path_below_is_read, USED, ""),
    (a_path_beside_is_read, UNUSED, ""),
    (a_directory_around_it_is_read, USED, ""),
    (its_view_is_read, USED, ""),
    (a_view_was_read_and_dropped_since, USED, ""),
    (a_program_wrote_that_an_execution_of_its_own_read_it, USED, ""),
    (a_view_of_its_view_is_read, USED, ""),
    (it_is_read_by_an_address_that_nobody_configured, USED, ""),
    (it_is_read_in_capitals, USED, ""),
    (its_path_is_read_by_an_address_that_nobody_configured, USED, ""),
    (a_stream_that_reads_it_is_running, USED, "is running"),
    (written_since, UNUSED, ""),
    (a_file_was_accessed_since, USED, "accessed after it was written"),
    (a_file_was_written_since, UNUSED, ""),
    (it_is_young, UNKNOWN, "first seen only on"),
    (navlin_is_young, UNKNOWN, "first seen only on"),
    (it_was_dropped_and_created_again, UNKNOWN, "first seen only on"),
    (it_was_renamed, UNKNOWN, "renamed"),
    (an_engine_is_not_followed, UNKNOWN, "no source records reads by Spark"),
    (of_hive_only_a_metastore_is_read_that_recorded_renames, UNKNOWN, "no source records reads by Hive"),
    (an_engine_is_followed_only_since, UNKNOWN, "records reads by Spark only since"),
    (an_engine_fell_silent, UNKNOWN, "recorded no execution in 6 weeks"),
    (an_engines_source_fails, UNKNOWN, "cannot be read: gone"),
    (another_source_has_nothing_to_read_yet, UNUSED, ""),
    (another_source_never_could_be_read, UNKNOWN, "second cannot be read: gone"),
    (of_another_source_no_record_would_read, UNKNOWN, "1 record of second could not be read"),
    (of_another_source_no_file_can_be_read, UNKNOWN, "1 file or other part of second cannot be read"),
    (navlin_stands_still, UNKNOWN, "navlin has read nothing"),
    (a_navlin_that_left_no_reads_has_purged_since, UNKNOWN, "without a record of last reads"),
    (a_navlin_that_left_no_reads_has_purged_older_executions, UNUSED, ""),
    (a_purge_that_lost_reads_is_forgotten, UNKNOWN, "without a record of last reads"),
    (it_lies_there_only_since, UNKNOWN, "location /data/old known only since"),
    (an_operation_that_reads_it_has_no_time, UNKNOWN, "run times are unknown"),
    (an_operation_is_incomplete, UNKNOWN, "is incomplete"),
    (an_operation_long_ago_was_incomplete, UNUSED, ""),
    (its_rows_are_counted, UNKNOWN, "record does not say what it reads"),
    (its_rows_were_counted_long_ago, UNUSED, ""),
    (the_rows_of_another_table_are_counted, UNUSED, ""),
    (the_rows_of_its_view_are_counted, UNKNOWN, "record does not say what it reads"),
    (a_view_that_may_read_it_does_not_parse, UNKNOWN, "1 view is not fully parsed"),
    (a_record_would_not_read, UNKNOWN, "could not be read"),
    (a_file_of_an_engine_cannot_be_read, UNKNOWN, "cannot be read"),
    (only_directories_are_read, UNKNOWN, 'entries = "directories"'),
    (how_files_are_read_is_not_told, UNKNOWN, "next complete reading"),
    (the_file_system_fails, UNKNOWN, "cannot be read: gone"),
    (a_loss_of_the_file_system_is_held, UNKNOWN, "await review"),
    (it_lies_where_nobody_reads, UNKNOWN, "no configured source"),
    (nobody_knows_where_it_lies, UNKNOWN, "location unknown"),
    (it_lies_in_a_bucket, UNUSED, "objects of S3 have no access times"),
    (it_lies_in_a_bucket_of_which_directories_are_read, UNUSED, "objects of S3 have no access times"),
    (it_lies_at_the_top_of_a_bucket, UNUSED, "objects of S3 have no access times"),
    (its_bucket_cannot_be_listed, UNKNOWN, "s3 cannot be read: gone"),
    (a_loss_of_its_bucket_is_held, UNKNOWN, "await review"),
    (another_table_lies_there, UNKNOWN, "db.other"),
    (another_table_lies_inside, UNKNOWN, "db.other"),
    (another_table_lies_around, UNKNOWN, "db.other"),
    (another_table_lies_beside, UNUSED, ""),
]
"""(change, verdict for the last ninety days, words that the reasons must contain)"""


@pytest.mark.parametrize(
    ("happened", "verdict", "words"), TRUTH, ids=lambda each: getattr(each, "__name__", "")
)
def test_the_verdict_is_correct(
    estate: Estate, happened: Callable[[Estate], None], verdict: UsageStatus, words: str
) -> None:
    happened(estate)
    found, reasons = estate.of_old()
    assert found == verdict, reasons
    assert words in reasons


def test_a_waived_gap_is_named_in_the_evidence(estate: Estate) -> None:
    an_engine_is_not_followed(estate)
    an_operation_is_incomplete(estate)
    its_rows_are_counted(estate)
    vouched = UsageQuestion(DAYS, NOW_MS, without_engines=("spark",), despite_gaps=True)
    verdict, reasons = estate.of_old(vouched)
    assert verdict == UNUSED
    assert "Spark reads nothing here" in reasons
    assert "as confirmed, the gaps contain no reads of it" in reasons


def test_a_source_without_records_does_not_count_if_its_engine_is_excluded(
    estate: Estate,
) -> None:
    an_engine_is_not_followed(estate)
    spark = Source(source_id("estate", "second"), SPARK, "second", "estate", claimable=False)
    estate.sources[SPARK] = spark
    estate._put(source_envelope(spark, AS_OF_MS))
    estate.runs[SPARK] = [(Status.FAILED, NOW_MS - 60_000)]
    assert estate.of_old()[0] == UNKNOWN
    assert estate.of_old(UsageQuestion(DAYS, NOW_MS, without_engines=("spark",)))[0] == UNUSED


def test_size_last_read_and_last_write_accompany_the_verdict(estate: Estate) -> None:
    estate.read(estate.old, BEFORE_MS)
    shown = estate.answer()[1]["old"].to_json()
    assert (shown["sizeBytes"], shown["files"], shown["owner"], shown["database"]) == (1_234, 2, "ann", "db")
    assert (shown["lastRead"], shown["lastReader"]) == (solr_date(BEFORE_MS), "bob")
    assert (shown["lastWritten"], shown["locations"]) == (solr_date(LONG_AGO_MS), ["/data/old"])


def test_progress_is_reported_up_to_all_tables(estate: Estate) -> None:
    estate.answer()
    told: list[tuple[int, int]] = []
    _, judged = unused(
        estate.solr, UsageQuestion(DAYS, NOW_MS), lambda done, every: told.append((done, every))
    )
    assert len(list(judged)) == 2
    assert told[-1] == (2, 2)


def test_the_command_prints_unused_tables_and_the_space_they_free(estate: Estate, tmp_path: Path) -> None:
    estate.runs = {kind: [(Status.FINISHED, 1_000)] for kind in estate.runs}
    estate.answer()
    file = configuration(estate.solr, tmp_path)
    # The command's clock is far later than navlin's last run, so no verdict is possible.
    answer = json.loads(run(file, "unused", "--days", str(DAYS), "--json").stdout)
    assert {each["verdict"] for each in answer["tables"]} == {"not known"}
    assert answer["totals"]["not known"]["tables"] == answer["totals"]["used"]["tables"] == 1
    assert answer["totals"]["not known"]["sizeBytes"] == 1_234
    printed = run(file, "unused", "--days", str(DAYS), "--csv")
    rows = list(csv.DictReader(io.StringIO(printed.stdout.removeprefix("\ufeff"))))
    assert tuple(rows[0]) == COLUMNS
    shown = run(file, "unused", "--days", str(DAYS))
    assert (shown.exit_code, "unknown" in shown.stdout) == (Exit.NOTHING, True)
    assert run(file, "unused").exit_code == Exit.USAGE
    assert run(file, "unused", "--days", "0").exit_code == Exit.USAGE


@pytest.mark.services
def test_the_endpoint_and_the_command_agree(private_solr: Solr, tmp_path: Path) -> None:
    with running_web(private_solr.address, tmp_path) as web:
        (world := World(private_solr, "endpoint")).table("asked_over_http")
        world.index()
        answered = web.asked("/unused", days=36_500, without_engine="hive")
        printed = web.command("unused", "--days", "36500", "--without-engine", "hive")
        for each in (answered, printed):
            del each["since"]
        assert answered == printed
        answer = web.get("/api/navlin/v1/unused", days=36_500, csv="true")
        assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
        for wrong in ({}, {"days": "0"}, {"days": "1", "without_engine": "pig"}):
            assert web.get("/api/navlin/v1/unused", **wrong).status_code == 400
