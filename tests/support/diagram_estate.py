"""An estate for tasks in the diagram: a figure that is wrong because of a planted join, a hub whose tagged column is read by
some of 300 tables, and a table of 1,485 columns.
"""

from __future__ import annotations

import time

from navlin.edit.annotation_changes import AnnotationChanges, Tags, edit_annotations
from navlin.index.people.editing import Author
from navlin.index.schema.fields import EDITS
from navlin.index.solr.solr import Solr
from navlin.model.keys import Key, RelationType, sub_operation_key
from tests.support.query_estate import IMPALA, SPARK, World

READERS = 300
LAYERS = 6
TABLES_A_LAYER = 10
READERS_OF_EMAIL = ("reader_007", "reader_120", "reader_299")
"""The readers that take the tagged column of the hub; all others take another one."""
WIDE_COLUMNS = 1_485
DUPLICATING_JOIN = "sum(o.amount) over a join with visits that repeats orders"
DAY_MS = 86_400_000


def diagram_estate(solr: Solr, name: str) -> dict[str, Key]:
    """Write the estate, and return its keys by their purpose. Its databases are d_NAME, wide_NAME and hub_NAME, its tags
    pii-NAME on a column of the hub and web-NAME on a table."""
    keys: dict[str, Key] = {}
    for database, make in (
        (f"d_{name}", _figure),
        (f"wide_{name}", _wide),
        (f"hub_{name}", _hub),
        (f"layers_{name}", _layers),
    ):
        world = World(solr, f"diagram-{name}", database=database)
        keys |= make(world)
        world.index()
    words = {
        keys["email"].identity: AnnotationChanges({}, Tags(add=(f"pii-{name}",))),
        keys["visits"].identity: AnnotationChanges({}, Tags(add=(f"web-{name}",))),
    }
    for edited in edit_annotations(solr, words, Author("editor", time.time_ns() // 1_000_000)):
        assert not edited.refused
    solr.commit(EDITS, soft=True)
    return keys


def _figure(world: World) -> dict[str, Key]:
    """orders and visits → joined (the planted join) → daily → report.revenue."""
    orders = world.table("orders", "id", "amount", owner="crm")
    visits = world.table("visits", "order_id", "page", owner="web")
    joined = world.table("joined", "order_id", "amount", "page", owner="etl")
    daily = world.table("daily", "revenue", "visits", owner="etl")
    report = world.table("report", "revenue", "note", owner="bi")
    now_ms = time.time_ns() // 1_000_000
    planted = world.operation(
        "insert into joined select o.id, o.amount, v.page from orders o join visits v",
        [orders, visits],
        [joined],
        parts={
            "joined.order_id": ["orders.id"],
            "joined.amount": ["orders.amount"],
            "joined.page": ["visits.page"],
        },
        engine=SPARK,
    )
    made = world.operation(
        "insert into daily select sum(amount) from joined",
        [joined],
        [daily],
        parts={"daily.revenue": ["joined.amount"], "daily.visits": ["joined.page"]},
        engine=IMPALA,
    )
    last = world.operation(
        "insert into report select revenue from daily",
        [daily],
        [report],
        parts={"report.revenue": ["daily.revenue"]},
        engine=IMPALA,
    )
    world.entity(sub_operation_key(planted, "joined.amount"), expression=DUPLICATING_JOIN)
    world.entity(sub_operation_key(made, "daily.revenue"), expression="sum(joined.amount)")
    for operation, days in ((planted, 400), (made, 3), (last, 1)):
        started_ms = now_ms - days * DAY_MS
        run = world.execution(operation, "run", started=started_ms, ended=started_ms + 1_000, principal="etl")
        world.relate(RelationType.INSTANCE_OF, operation, run, writer=IMPALA)
    return {
        "orders": orders,
        "visits": visits,
        "joined": joined,
        "daily": daily,
        "report": report,
        "planted": planted,
    }


def _hub(world: World) -> dict[str, Key]:
    hub = world.table("hub", "id", "email", owner="platform")
    for number in range(READERS):
        name = f"reader_{number:03d}"
        reader = world.table(name, "value", owner=f"team {number % 7}")
        column = "email" if name in READERS_OF_EMAIL else "id"
        parts = {f"{name}.value": [f"hub.{column}"]}
        world.operation(f"load {name}", [hub], [reader], parts=parts, engine=IMPALA)
    return {"hub": hub, "email": world.column("hub.email")}


def _wide(world: World) -> dict[str, Key]:
    columns = [f"measure_{number:04d}" for number in range(WIDE_COLUMNS)]
    wide = world.table("wide", *columns, owner="science")
    for place, column in enumerate(columns):
        world.entity(world.column(f"wide.{column}"), columnIndex=str(place))
    narrow = world.table("narrow", "total", owner="science")
    world.operation(
        "insert into narrow select measure_1400 from wide",
        [wide],
        [narrow],
        parts={"narrow.total": ["wide.measure_1400"]},
        engine=SPARK,
    )
    return {"wide": wide, "narrow": narrow}


def _layers(world: World) -> dict[str, Key]:
    """60 tables. Each takes ``kept`` from one table before it, and ``mixed`` from two."""
    made: dict[tuple[int, int], Key] = {}
    for layer in range(LAYERS):
        for number in range(TABLES_A_LAYER):
            name = f"l{layer}_t{number}"
            made[layer, number] = world.table(name, "kept", "mixed", owner="etl")
            if layer:
                near, far = (f"l{layer - 1}_t{each % TABLES_A_LAYER}" for each in (number, number + 1))
                reads = [made[layer - 1, each % TABLES_A_LAYER] for each in (number, number + 1)]
                parts = {f"{name}.kept": [f"{near}.kept"], f"{name}.mixed": [f"{near}.mixed", f"{far}.mixed"]}
                world.operation(f"load {name}", reads, [made[layer, number]], parts=parts, engine=SPARK)
    return {"source": made[0, 0]}
