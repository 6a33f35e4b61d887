"""An estate that fills every page of the console, with markup in names, and a `navlin web` that serves it. The test
process plays the daemon, and handles requests only when told to.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from navlin.edit.annotation_changes import AnnotationChanges, Properties, Tags, edit_annotations
from navlin.index.journal.holder import this_process
from navlin.index.journal.purges import PurgeRecord, close_purge, save_purge
from navlin.index.journal.rejects import save_rejects
from navlin.index.journal.requests import Job, leave_request
from navlin.index.journal.run_counts import RunCounts
from navlin.index.journal.runs import MISSING, RunRecord, Status, save_positions, save_run
from navlin.index.people.editing import Author
from navlin.index.people.saved_searches import SavedSearch, write_saved_search
from navlin.index.schema.fields import EDITS, RUNS, solr_date
from navlin.index.solr.solr import Solr
from navlin.model.identity import run_id
from navlin.model.image_positions import ENTRIES
from navlin.model.keys import EntityType, Key, partition_key, sub_operation_key
from navlin.model.records import Position, Reject
from navlin.pipeline.guard import HighWaterMark
from navlin.pipeline.missing import MissingState
from navlin.service import jobs
from navlin.service.daemon.requests import Requests
from navlin.service.heartbeat import Heartbeat, LastRun, save_heartbeat
from tests.support.query_estate import AS_OF_MS, HDFS, HIVE, IMPALA, SPARK, World
from tests.support.web import Web, running_web

EVIL = "</title></text></svg><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{7*7}}\u202egnp"
LONG = "very_" * 30 + "long"
DAY_MS = 86_400_000
STATEMENT = (
    "insert overwrite table sales.revenue partition (day) select c.country, c.segment, sum(case when o.state = 'paid' and"
    " o.refunded = 0 then o.price * o.quantity else 0 end) as amount, count(distinct o.customer_id) as buyers, o.day from"
    " sales.orders o left join sales.customers c on o.customer_id = c.id where o.day between '2026-01-01' and '2026-01-31'"
    " and o.test = false group by c.country, c.segment, o.day"
)


@dataclass
class ConsoleEstate:
    """The estate with its important entities. ``held`` is the name of a source with a held run; ``request`` is the id
    of a completed dry run of a purge.
    """

    solr: Solr
    world: World
    web: Web
    requests: Requests
    report: Key
    evil: Key
    long: Key
    operation: Key
    directory: Key
    held: str
    request: str = ""

    def answer_requests(self) -> None:
        """Handle requests as the daemon does, until none is waiting."""
        self.requests.poll()
        while self.requests.running():
            time.sleep(0.02)


@contextmanager
def console_estate(solr: Solr, home: Path) -> Iterator[ConsoleEstate]:
    """Create the estate. It needs a separate Solr, because its queries cover the whole index."""
    now_ms = time.time_ns() // 1_000_000
    world = World(solr, "estate", database="sales")
    keys = _entities(world)
    (home / "logs").mkdir(parents=True)
    lines = ['hue_url = "https://hue.example:8888/hue"']
    for kind, settings in (
        (HIVE, 'extractor = "hms"\nuris = ["thrift://127.0.0.1:9"]'),
        (IMPALA, 'extractor = "impala_events"\ndirectory = "logs"'),
        (SPARK, 'extractor = "spark_events"\ndirectory = "logs"'),
    ):
        lines += ["[[source]]", f'name = "{world.source(kind).name}"', settings]
    world.index()
    _runs(solr, world, now_ms)
    _words(solr, keys, now_ms)
    held = world.source(HIVE).name
    requests = Requests(
        solr.address,
        this_process(),
        {Job.PURGE: lambda given, _: jobs.purge(solr, lambda: time.time_ns() // 1_000_000, **given)},
        lambda: time.time_ns() // 1_000_000,
    )
    with running_web(solr.address, home, *lines) as web:
        estate = ConsoleEstate(
            solr,
            world,
            web,
            requests,
            keys["report"],
            keys["evil"],
            keys["long"],
            keys["operation"],
            keys["path"],
            held,
        )
        due_s = {world.source(kind).name: now_ms / 1000 + 300 for kind in (HIVE, IMPALA, SPARK)}
        last = LastRun(now_ms - 4_000, now_ms - 3_900, Status.IDLE.value)
        heartbeat = Heartbeat(now_ms - DAY_MS, due_s, {world.source(IMPALA).name: last})
        save_heartbeat(home / "state", heartbeat)
        # A completed dry run of a purge that covers everything.
        given = {"before_ms": now_ms, "dry_run": True, "deleted_files": True, "accepted": 0}
        estate.request = leave_request(solr, Job.PURGE, given, "chief", now_ms).id
        estate.answer_requests()
        yield estate


# -- Entities ------------------------------------------------------------------------------------------------------------


def _entities(world: World) -> dict[str, Key]:
    location = world.path("/warehouse/sales.db/revenue", owner="etl", created=AS_OF_MS - 90 * DAY_MS)
    orders = world.table("orders", "customer_id", "price", "quantity", "state", "day", owner="shop")
    customers = world.table("customers", "id", "country", "segment", "email", owner="crm")
    report = world.table(
        "revenue",
        "country",
        "segment",
        "amount",
        "buyers",
        "day",
        owner="etl",
        created=AS_OF_MS - 300 * DAY_MS,
        partitionColNames=["day"],
        originalDescription="What was paid, by day",
    )
    for number, column in enumerate(("country", "segment", "amount", "buyers", "day")):
        world.entity(world.column(f"revenue.{column}"), columnIndex=str(number), dataType="decimal(18,2)")
    world.elements[report.identity]["recreated"] = [solr_date(AS_OF_MS - 30 * DAY_MS)]
    world.elements[report.identity]["firstSeen"] = solr_date(AS_OF_MS - 200 * DAY_MS)
    for day in range(1, 4):
        world.entity(partition_key(report, f"day=2026-01-0{day}"))
    world.located(report, location)
    parts = {
        "revenue.country": ["customers.country"],
        "revenue.segment": ["customers.segment"],
        "revenue.amount": ["orders.price", "orders.quantity", "orders.state"],
        "revenue.buyers": ["orders.customer_id"],
        "revenue.day": ["orders.day"],
    }
    operation = world.operation(
        STATEMENT,
        [orders, customers],
        [report],
        parts=parts,
        steering_columns=["orders.day"],
        operationType="INSERT",
    )
    amount = "sum(case when o.state = 'paid' and o.refunded = 0 then o.price * o.quantity else 0 end)"
    for column, expression in (
        ("amount", amount),
        ("buyers", "count(distinct o.customer_id)"),
        ("country", "c.country"),
    ):
        world.entity(sub_operation_key(operation, f"revenue.{column}"), expression=expression)
    for number in range(3):
        started_ms = AS_OF_MS + number * DAY_MS
        world.execution(
            operation,
            f"run-{number}",
            started=started_ms,
            ended=started_ms + 61_000,
            principal="etl",
            status="SUCCEEDED",
            jobId=f"application_1767225600000_{number + 1:04d}",
        )
    before = world.table("revenue_2025", deleted=True)
    renamed = "ALTER TABLE sales.revenue_2025 RENAME TO sales.revenue"
    world.operation(renamed, [before], [report], engine=HIVE, operationType="ALTERTABLE_RENAME")
    view = world.table("revenue_by_country", "country", "amount", kind=EntityType.VIEW, owner="bi")
    world.operation(
        "create view revenue_by_country as select country, sum(amount) amount from revenue group by country",
        [report],
        [view],
        parts={"revenue_by_country.amount": ["revenue.amount"]},
    )
    world.operation(
        "insert into lost select * from never_captured",
        [world.named("never_captured")],
        [world.table("lost")],
    )
    wrote = world.operation(
        "spark write",
        [report],
        [world.path("/exports/revenue", owner="bi")],
        engine=SPARK,
    )
    cut = "its plan was cut: spark.sql.debug.maxToStringFields should be 2000"
    world.elements[wrote.identity].update({"incomplete": True, "incompleteReasons": [cut]})
    evil = world.table(f"t{EVIL}", f"c{EVIL}", owner=EVIL, originalDescription=EVIL)
    world.operation(f"insert {EVIL}", [report, world.named(f"never{EVIL}")], [evil])
    long = world.table(LONG, f"c_{LONG}", owner="etl")
    world.operation(f"create table {LONG} like revenue", [report], [long])
    abandoned = world.table("abandoned", "x", owner="ann", created=AS_OF_MS - 300 * DAY_MS)
    world.elements[abandoned.identity]["firstSeen"] = solr_date(AS_OF_MS - 300 * DAY_MS)
    lies = world.path("/warehouse/sales.db/abandoned")
    world.located(abandoned, lies)
    for each in (world.relations, world.elements):
        for document in each.values():
            document.setdefault("firstSeen", solr_date(AS_OF_MS - 300 * DAY_MS))
    world.path("/warehouse/sales.db/abandoned/part-0", kind=EntityType.FILE, size=3 << 30)
    for number in range(30):
        world.path(f"/warehouse/sales.db/revenue/part-{number:05d}", kind=EntityType.FILE, size=1 << 20)
    return {"report": report, "evil": evil, "long": long, "operation": operation, "path": location}


def _runs(solr: Solr, world: World, now_ms: int) -> None:
    for kind in (HIVE, IMPALA, SPARK):
        source = world.source(kind)
        for number in range(1, 25):
            started_ms = now_ms - (25 - number) * 600_000
            failed = kind == SPARK and number > 22
            error = "/var/log/spark/events cannot be read: Permission denied" if failed else ""
            status = Status.FAILED if failed else Status.FINISHED
            took_ms = 800 + 700 * (number * 7 % 11)
            counts = RunCounts(records=number * 31, new=number, unchanged=number * 30)
            record = RunRecord(
                source.name,
                source.id,
                number,
                status,
                started_ms,
                started_ms + took_ms,
                error=error,
                counts=counts,
            )
            save_run(solr, record)
    files = world.source(HDFS)
    listed = RunRecord(files.name, files.id, 1, Status.FINISHED, now_ms - 60_000, now_ms - 50_000)
    save_run(solr, replace(listed, counts=RunCounts(complete_listings=1)))
    save_positions(solr, files.id, "any", [Position(ENTRIES, "all")], {})
    hive = world.source(HIVE)
    note = "1,204 of 1,300 entities would be flagged deleted, more than 50%"
    counts = RunCounts(records=96, gone_entities=1_204, complete_listings=1)
    save_run(
        solr,
        RunRecord(
            hive.name, hive.id, 25, Status.HELD, now_ms - 60_000, now_ms - 51_000, note=note, counts=counts
        ),
    )
    places = [
        *(world.named(each).tree_path for each in ("revenue", "orders", "customers", f"t{EVIL}")),
        "/GONE",
    ]
    remembered = MissingState((), run_id(hive.id, 25), tuple(places), HighWaterMark(1_300, now_ms))
    known = [Position(MISSING, remembered.value()), Position("event", 81_234)]
    save_positions(solr, hive.id, "any", known, {})
    impala = world.source(IMPALA)
    rejects = [
        Reject(
            "/var/log/impala/lineage/impala_lineage_log_1.0-1767225600000",
            "is no JSON",
            offset=4_711,
            sample='{"queryText":',
        ),
        Reject(f"/logs/{EVIL}", f"broken {EVIL}", sample=EVIL, count=7),
    ]
    save_rejects(solr, impala.name, impala.id, run_id(impala.id, 24), now_ms - 600_000, rejects)
    for days in (3, 2, 1):
        tallies = {"executions": {"candidates": 90 * days, "removed": 81 * days, "relations": 81 * days}}
        begun = PurgeRecord(now_ms - (60 + days) * DAY_MS, now_ms - days * DAY_MS, tallies=tallies)
        close_purge(solr, save_purge(solr, begun), now_ms - days * DAY_MS + 4_200)
    solr.commit(RUNS, soft=True)


def _words(solr: Solr, keys: dict[str, Key], now_ms: int) -> None:
    words = {
        keys["report"].identity: AnnotationChanges(
            {"name": "Revenue", "description": "Paid orders by day, country and segment. Owned by Finance."},
            Tags(add=("finance", "gold")),
            Properties(add={"steward": "ann"}),
        ),
        keys["evil"].identity: AnnotationChanges(
            {"name": EVIL, "description": EVIL}, Tags(add=(EVIL,)), Properties(add={"a": EVIL})
        ),
    }
    for each in words:
        for edited in edit_annotations(solr, {each: words[each]}, Author("editor", now_ms - DAY_MS)):
            assert not edited.refused, edited.refused
    assert write_saved_search(
        solr, SavedSearch("chief", f"saved {EVIL}", "type:TABLE", True, "chief", now_ms)
    )
    solr.commit(EDITS, soft=True)
