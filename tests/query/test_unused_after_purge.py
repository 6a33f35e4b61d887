"""A purge stores the time of the last read on the entity that was read, so verdicts on unused tables do not change."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from linker.purge import PurgeReport, purge
from navlin.index.graph.entity import WHOLE, LastRead
from navlin.index.graph.graph import Graph
from navlin.index.graph.sources import known_sources
from navlin.index.journal.holder import Holder
from navlin.index.journal.rejects import rejected, save_rejects
from navlin.index.schema.fields import ELEMENTS, RUNS, solr_date
from navlin.index.solr.solr import Solr
from navlin.model.keys import (
    EntityType,
    Key,
    RelationType,
    column_key,
    partition_key,
    path_column_key,
    path_key,
    table_key,
)
from navlin.model.records import Reject
from navlin.model.source import Source
from navlin.query.unused import UsageQuestion, UsageStatus
from navlin.service.maintenance.forget import forget, to_forget
from tests.cli.test_cli import configuration, run
from tests.query.test_unused import BEFORE_MS, DAY_MS, DAYS, LONG_AGO_MS, NOW_MS, SINCE_MS, Estate, estate
from tests.service.test_purge import Dying, Killed
from tests.support.query_estate import HDFS, HIVE, IMPALA, SPARK
from tests.support.solr_proxy import Call, SolrProxy

__all__ = ["estate"]

PURGED_BEFORE_MS = NOW_MS - 5 * DAY_MS
UNUSED, USED, UNKNOWN = UsageStatus.UNUSED, UsageStatus.USED, UsageStatus.UNKNOWN
ME = Holder("here", 1, "today")


def purged(solr: Solr, before_ms: int = PURGED_BEFORE_MS, **options: Any) -> PurgeReport:
    return purge(
        solr, before_ms, **{"holder": ME, "lives": lambda _: True, "clock": lambda: NOW_MS, **options}
    )


def of_another(kind: str, name: str) -> Source:
    return Source(
        "0123456789abcdef0123456789abcdef"[:: 1 if kind == HIVE else -1],
        kind,
        name,
        "estate",
        configured=False,
    )


# -- Cases, each with its own table, and the verdict before and after a purge ----------------------------------------------


def nothing(_: Estate, __: Key) -> None:
    """Change nothing: the table is not read."""


def read_long_ago(estate: Estate, table: Key) -> None:
    estate.read(table, BEFORE_MS)


def read_since(estate: Estate, table: Key) -> None:
    estate.read(table, SINCE_MS)


def it_steers(estate: Estate, table: Key) -> None:
    estate.read(table, SINCE_MS, control=True)


def a_column_is_read(estate: Estate, table: Key) -> None:
    estate.read(column_key(table, "x"), SINCE_MS)


def a_column_that_is_gone_was_read(estate: Estate, table: Key) -> None:
    estate.read(column_key(table, "y"), SINCE_MS)


def a_part_of_an_operation_reads_a_column(estate: Estate, table: Key) -> None:
    before = {*estate.elements, *estate.relations}
    operation = estate.operation(f"columns of {table.name}", parts={"t.c": [f"{table.name}.x"]})
    for identity, relation in list(estate.relations.items()):
        if identity not in before and relation["endpoint2Type"] == "FIELD":
            del estate.relations[identity]  # the statement writes nothing
    estate.recorded(before, SINCE_MS)
    estate.executed(operation, SINCE_MS, record_ms=SINCE_MS)


def a_partition_is_read(estate: Estate, table: Key) -> None:
    estate.read(estate.entity(partition_key(table, "ds=1")), SINCE_MS)


def its_view_is_read(estate: Estate, table: Key) -> None:
    view = estate.table(f"view_of_{table.name}", kind=EntityType.VIEW)
    estate.relate(RelationType.DATA_FLOW, table, view, writer=HIVE, parsed=True)
    estate.read(view, SINCE_MS)


def a_view_was_read_and_dropped_since(estate: Estate, table: Key) -> None:
    view = estate.table(f"view_of_{table.name}", kind=EntityType.VIEW, deleted=True)
    estate.relate(RelationType.DATA_FLOW, table, view, writer=HIVE, deleted=True)
    estate.read(view, SINCE_MS)


def an_insert_reads_it(estate: Estate, table: Key) -> None:
    operation = estate.operation(f"insert from {table.name}", [table], [estate.busy])
    estate.executed(operation, SINCE_MS, record_ms=SINCE_MS)


def only_the_record_is_of_since(estate: Estate, table: Key) -> None:
    before = {*estate.elements, *estate.relations}
    estate.operation(f"some day {table.name}", [table])
    estate.recorded(before, SINCE_MS)


def home(estate: Estate, table: Key) -> str:
    return f"/data/{table.name}"


def its_directory_is_read(estate: Estate, table: Key) -> None:
    estate.read(estate.path(home(estate, table)), SINCE_MS, engine=SPARK)


def a_file_that_was_never_seen_is_read(estate: Estate, table: Key) -> None:
    file = path_key(estate.source(HDFS), f"{home(estate, table)}/day=1/part", EntityType.FILE)
    estate.read(file, SINCE_MS, engine=SPARK)


def a_column_of_a_file_that_was_never_seen_is_read(estate: Estate, table: Key) -> None:
    file = path_key(estate.source(HDFS), f"{home(estate, table)}/part.parquet", EntityType.FILE)
    estate.read(path_column_key(file, "x"), SINCE_MS, engine=SPARK)


def a_file_was_read_and_deleted_since(estate: Estate, table: Key) -> None:
    below = estate.path(f"{home(estate, table)}/tmp", deleted=True)
    file = estate.path(f"{home(estate, table)}/tmp/part", kind=EntityType.FILE, deleted=True)
    for each in (below, file):
        estate.elements[each.identity]["deleteTime"] = SINCE_MS
    estate.read(file, SINCE_MS, engine=SPARK)


def a_file_beside_was_read_and_deleted_since(estate: Estate, table: Key) -> None:
    file = estate.path(f"{home(estate, table)}_tmp/part", kind=EntityType.FILE, deleted=True)
    estate.elements[file.identity]["deleteTime"] = SINCE_MS
    estate.read(file, SINCE_MS, engine=SPARK)


def it_is_read_by_an_address_that_nobody_configured(estate: Estate, table: Key) -> None:
    estate.read(
        estate.granted(table_key(of_another(HIVE, "thrift://other:9083"), "db", table.name)), SINCE_MS
    )


def it_is_read_in_another_spelling(estate: Estate, table: Key) -> None:
    name = table.name.title()
    estate.read(estate.granted(table_key(of_another(HIVE, "thrift://other:9083"), "Db", name)), SINCE_MS)


def its_path_is_read_by_an_address_that_nobody_configured(estate: Estate, table: Key) -> None:
    other = of_another(HDFS, "hdfs://nn1:8020")
    estate.read(estate.granted(path_key(other, f"{home(estate, table)}/part")), SINCE_MS)


def a_stream_reads_it(estate: Estate, table: Key) -> None:
    operation = estate.read(table, BEFORE_MS, engine=SPARK)
    before = {*estate.elements, *estate.relations}
    estate.execution(operation, f"stream of {table.name}", started=BEFORE_MS, status="RUNNING")
    estate.recorded(before, BEFORE_MS)


HAPPENED: dict[Callable[[Estate, Key], None], UsageStatus] = {
    nothing: UNUSED,
    read_long_ago: UNUSED,
    read_since: USED,
    it_steers: USED,
    a_column_is_read: USED,
    a_column_that_is_gone_was_read: USED,
    a_part_of_an_operation_reads_a_column: USED,
    a_partition_is_read: USED,
    its_view_is_read: USED,
    a_view_was_read_and_dropped_since: USED,
    an_insert_reads_it: USED,
    only_the_record_is_of_since: USED,
    its_directory_is_read: USED,
    a_file_that_was_never_seen_is_read: USED,
    a_column_of_a_file_that_was_never_seen_is_read: USED,
    a_file_was_read_and_deleted_since: USED,
    a_file_beside_was_read_and_deleted_since: UNUSED,
    it_is_read_by_an_address_that_nobody_configured: USED,
    it_is_read_in_another_spelling: USED,
    its_path_is_read_by_an_address_that_nobody_configured: USED,
    a_stream_reads_it: USED,
}
EXPECTED = {happened.__name__: verdict for happened, verdict in HAPPENED.items()}


def tell(estate: Estate) -> None:
    """Apply each case to its own table, which is named after the case."""
    estate.path("/")
    estate.path("/data")
    for happened in HAPPENED:
        table = estate.table(happened.__name__, "x", created=LONG_AGO_MS)
        estate.located(table, estate.path(home(estate, table)))
        happened(estate, table)
    estate.write()


def verdicts(estate: Estate) -> dict[str, UsageStatus]:
    judged = estate.judged()[1]
    return {name: judged[name].status for name in EXPECTED}


def executions(estate: Estate) -> int:
    estate.solr.commit(ELEMENTS, soft=True)
    return estate.solr.count(
        ELEMENTS,
        "type:OPERATION_EXECUTION",
        "-status:RUNNING",
        f"started:[* TO {solr_date(PURGED_BEFORE_MS)}]",
    )


@pytest.mark.services
def test_no_purge_changes_a_verdict(estate: Estate) -> None:
    tell(estate)
    assert verdicts(estate) == EXPECTED
    # The second purge removes the executions whose relations the first one removed.
    for before_ms in (NOW_MS - 95 * DAY_MS, PURGED_BEFORE_MS, PURGED_BEFORE_MS + 1):
        assert purged(estate.solr, before_ms, batch=7).status == "finished"
        assert verdicts(estate) == EXPECTED
    assert executions(estate) == 0
    assert estate.judged()[0].reasons == ()


@pytest.mark.services
def test_a_repeatedly_interrupted_purge_changes_no_verdict(estate: Estate) -> None:
    tell(estate)
    report, lives = None, 0
    while report is None:
        lives += 1
        dying = Dying(estate.solr.address)
        dying.left = 5 + lives
        with suppress(Killed):
            report = purged(dying, batch=9, holder=Holder("here", lives, "x"), lives=lambda _: False)
    assert lives > 5
    assert verdicts(estate) == EXPECTED
    assert executions(estate) == 0


def test_old_last_reads_are_shown_next_to_unused_tables(estate: Estate, tmp_path: Path) -> None:
    estate.read(estate.old, BEFORE_MS)
    estate.write()
    purged(estate.solr)
    judged = estate.judged()[1]["old"]
    assert judged.status == UNUSED
    shown = judged.to_json()
    assert (shown["lastRead"], shown["lastReader"]) == (solr_date(BEFORE_MS), "bob")
    printed = run(configuration(estate.solr, tmp_path), "show", "db.old").stdout
    assert solr_date(BEFORE_MS)[:10] in printed.split("last read ")[1].splitlines()[0]
    assert "bob" in printed.split("last read by")[1].splitlines()[0]


def last_read(estate: Estate, key: Key) -> LastRead:
    return Graph(estate.solr).entities_now([key.identity], WHOLE)[key.identity].last_read


@pytest.mark.services
def test_the_later_of_two_executions_wins_within_and_across_purges(estate: Estate) -> None:
    operation = estate.read(estate.old, BEFORE_MS)
    for day, who in ((80, "eve"), (70, "ann"), (90, "joe"), (60, "sue")):
        at_ms = NOW_MS - day * DAY_MS
        before = {*estate.elements, *estate.relations}
        estate.execution(operation, f"day {day}", started=at_ms, principal=who)
        estate.recorded(before, at_ms)
    estate.write()
    assert last_read(estate, estate.old) == LastRead()
    purged(estate.solr, NOW_MS - 65 * DAY_MS, batch=1)
    assert last_read(estate, estate.old) == LastRead(NOW_MS - 70 * DAY_MS, "ann")
    purged(estate.solr)
    assert last_read(estate, estate.old) == LastRead(NOW_MS - 60 * DAY_MS, "sue")
    purged(estate.solr, PURGED_BEFORE_MS + 1)
    assert last_read(estate, estate.old) == LastRead(NOW_MS - 60 * DAY_MS, "sue")


def test_a_purge_and_a_concurrent_extraction_lose_nothing_of_each_other(estate: Estate) -> None:
    estate.read(estate.old, SINCE_MS)
    estate.write()
    written: list[bool] = []

    def passes(call: Call) -> bool:
        # Another process writes the table just before the purge does.
        if not written and not call.answered and any("lastRead" in each for each in call.documents):
            written.append(True)
            (document,) = estate.solr.get(ELEMENTS, [estate.old.identity])
            estate.solr.add(ELEMENTS, [{**document, "owner": "eve", "description": "by a person"}])
        return True

    with SolrProxy(estate.solr.address, passes) as proxy, Solr(proxy.address) as behind:
        purged(behind)
    assert written
    (document,) = estate.solr.get(ELEMENTS, [estate.old.identity])
    assert (document["owner"], document["description"]) == ("eve", "by a person")
    assert last_read(estate, estate.old).ms == SINCE_MS


def test_purged_executions_still_count_for_gaps(estate: Estate) -> None:
    half = estate.read(estate.busy, SINCE_MS, text="half understood")
    estate.elements[half.identity]["incomplete"] = True
    estate.write()
    assert estate.judged()[1]["old"].status == UNKNOWN
    purged(estate.solr)
    known, judged = estate.judged()
    assert judged["old"].status == UNKNOWN
    assert "incomplete operations" in "; ".join(known.reasons)
    # The operation ran before the period asked about.
    assert (
        estate.judged(UsageQuestion(DAYS, SINCE_MS + (DAYS + 1) * DAY_MS, despite_gaps=False))[0].reasons
        != known.reasons
    )


@pytest.mark.services
def test_purged_rejects_still_count_for_gaps(estate: Estate) -> None:
    source = estate.source(IMPALA)
    estate.write()
    for place, seen_ms in (("a", SINCE_MS), ("b", PURGED_BEFORE_MS - 1), ("c", PURGED_BEFORE_MS)):
        rejects = [Reject(f"/log/{place}", "torn", 7)]
        save_rejects(estate.solr, source.name, source.id, "run", seen_ms, rejects)
    estate.solr.commit(RUNS, soft=True)

    def places() -> set[str]:
        estate.solr.commit(RUNS, soft=True)
        return {each.place for each in rejected(estate.solr, 10)[0]}

    assert estate.judged()[1]["old"].status == UNKNOWN
    assert purged(estate.solr, dry_run=True).rejects == 2
    assert places() == {"/log/a", "/log/b", "/log/c"}
    assert purged(estate.solr).rejects == 2
    assert places() == {"/log/c"}
    assert purged(estate.solr).rejects == 0
    purged(estate.solr, PURGED_BEFORE_MS + 1)
    assert places() == set()
    known, judged = estate.judged()
    assert judged["old"].status == UNKNOWN
    assert "could not be read, the last purged one" in "; ".join(known.reasons)
    later = UsageQuestion(DAYS, PURGED_BEFORE_MS + (DAYS + 1) * DAY_MS, despite_gaps=False)
    assert "could not be read" not in "; ".join(estate.judged(later)[0].reasons)


def test_an_engine_silent_before_a_purge_is_silent_after_it(estate: Estate) -> None:
    hive, quiet = estate.source("HIVE_QUERIES").id, range(30, 60)
    for identity, document in list(estate.elements.items()):
        started = document.get("started", "")
        if document["sourceId"] == hive and any(
            solr_date(NOW_MS - (day + 1) * DAY_MS) <= started < solr_date(NOW_MS - day * DAY_MS)
            for day in quiet
        ):
            del estate.elements[identity]
    estate.write()
    before = estate.judged()[0].reasons
    assert "recorded no execution in 4 weeks" in "; ".join(before)
    purged(estate.solr)
    assert estate.judged()[0].reasons == before


def test_a_purged_read_without_a_place_for_its_time_is_reported(estate: Estate) -> None:
    # The file system has not been extracted yet, so even the root directory is missing.
    for identity, document in list(estate.elements.items()):
        if document["type"] in ("FILE", "DIRECTORY"):
            del estate.elements[identity]
    estate.read(path_key(estate.source(HDFS), "/data/old/part"), SINCE_MS, engine=SPARK)
    estate.write()
    purged(estate.solr)
    known = estate.judged()[0]
    assert any("without a record of last reads" in each for each in known.reasons)


def test_reads_of_a_forgotten_source_are_unknown(estate: Estate) -> None:
    estate.read(estate.old, SINCE_MS)
    estate.write()
    source = next(each for each in known_sources(estate.solr) if each.id == estate.source(IMPALA).id)
    forget(estate.solr, to_forget(estate.solr, source, "/"), lambda: NOW_MS, configured=True)
    judged = estate.judged(UsageQuestion(DAYS, NOW_MS, ("impala",), despite_gaps=True))[1]["old"]
    assert judged.status == UNKNOWN
    assert "forgotten" in "; ".join(judged.reasons)
