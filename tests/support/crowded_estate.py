"""An estate that is hard to draw and has similar names, and a `navlin web` that serves it: a hub with 300 readers, 60
tables of 40 columns in 6 layers, a long chain, a cycle, a self-loop, a deleted table between two others, five
statements of one job, long names, and right-to-left names.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from navlin.edit.annotation_changes import AnnotationChanges, Tags, edit_annotations
from navlin.index.journal.rejects import save_rejects
from navlin.index.people.editing import Author
from navlin.index.schema.fields import EDITS
from navlin.index.solr.solr import Solr
from navlin.model.identity import run_id
from navlin.model.keys import EntityType, Key, sub_operation_key
from navlin.model.records import Reject
from navlin.service.inheriting import keep_inherited
from tests.support.query_estate import AS_OF_MS, HIVE, IMPALA, SPARK, World
from tests.support.web import Web, running_web

READERS = 300
LAYERS = 6
TABLES_A_LAYER = 10
COLUMNS = 40
CHAIN = 40
LONG = "an_extraordinarily_long_name_" * 6 + "end"
ARABIC = "مبيعات_العملاء"
HEBREW = "לקוחות"
STATEMENTS = ("facts", "revenue", "markets", "export", "check")


@dataclass
class CrowdedEstate:
    """``keys`` maps the purpose of an entity in the tests to its key."""

    solr: Solr
    world: World
    web: Web
    keys: dict[str, Key]


@contextmanager
def crowded_estate(solr: Solr, home: Path) -> Iterator[CrowdedEstate]:
    """Create the estate. It needs a separate Solr."""
    world = World(solr, "crowded", database="shop")
    keys = {**_hub(world), **_layers(world), **_shapes(world), **_job(world)}
    world.index()
    now_ms = time.time_ns() // 1_000_000
    words = {keys["amount"].identity: AnnotationChanges({}, Tags(add=("secret",)))}
    for edited in edit_annotations(solr, words, Author("editor", now_ms)):
        assert not edited.refused
    solr.commit(EDITS, soft=True)
    keep_inherited(solr)
    spark = world.source(SPARK)
    rejects = [Reject("/logs/spark/app-1", "its third line is cut off", offset=4_711, count=2)]
    save_rejects(solr, spark.name, spark.id, run_id(spark.id, 1), now_ms, rejects)
    solr.commit("nav_runs", soft=True)
    with running_web(solr.address, home) as web:
        yield CrowdedEstate(solr, world, web, keys)


def _hub(world: World) -> dict[str, Key]:
    hub = world.table("hub", "id", owner="platform")
    for number in range(READERS):
        reader = world.table(f"reader_{number:03d}", owner=f"team {number % 7}")
        world.operation(f"load reader_{number:03d}", [hub], [reader])
    return {"hub": hub}


def _layers(world: World) -> dict[str, Key]:
    columns = [f"c{number:02d}" for number in range(COLUMNS)]
    tables: dict[tuple[int, int], Key] = {}
    for layer in range(LAYERS):
        for number in range(TABLES_A_LAYER):
            name = f"l{layer}_t{number:02d}"
            tables[layer, number] = world.table(name, *columns, owner="etl")
            for place, column in enumerate(columns):
                world.entity(world.column(f"{name}.{column}"), columnIndex=str(place))
            if layer:
                others = (number, (number + 1) % TABLES_A_LAYER)
                read = [tables[layer - 1, each] for each in others]
                # No operation writes the last column.
                parts = {f"{name}.{each}": [f"l{layer - 1}_t{number:02d}.{each}"] for each in columns[:-1]}
                world.operation(f"load {name}", read, [tables[layer, number]], parts=parts, engine=SPARK)
    return {"layered": tables[3, 0]}


def _shapes(world: World) -> dict[str, Key]:
    before = first = world.table("chain_00", owner="etl")
    for number in range(1, CHAIN):
        after = world.table(f"chain_{number:02d}", owner="etl")
        world.operation(f"step {number}", [before], [after])
        before = after
    ring = [world.table(f"ring_{each}", "x") for each in "abc"]
    for one, other in zip(ring, [*ring[1:], ring[0]], strict=True):
        names = [each.name for each in (one, other)]
        world.operation(
            f"{names[1]} from {names[0]}", [one], [other], parts={f"{names[1]}.x": [f"{names[0]}.x"]}
        )
    loop = world.table("loop", "x", "y")
    world.operation("insert overwrite loop", [loop], [loop], parts={"loop.x": ["loop.x"]})
    left, gone, right = world.table("left"), world.table("gone", deleted=True), world.table("right")
    world.operation("gone from left", [left], [gone])
    world.operation("right from gone", [gone], [right])
    long = world.table(LONG, f"c_{LONG}", owner="etl")
    arabic, hebrew = world.table(ARABIC, "المبلغ"), world.table(HEBREW, "סכום")
    world.operation(
        f"load {ARABIC} from {HEBREW}",
        [hebrew, long],
        [arabic],
        parts={f"{ARABIC}.المبلغ": [f"{HEBREW}.סכום", f"{LONG}.c_{LONG}"]},
    )
    return {
        "chain": first,
        "ring": ring[0],
        "loop": loop,
        "left": left,
        "gone": gone,
        "long": long,
        "arabic": arabic,
    }


def _job(world: World) -> dict[str, Key]:
    """Five statements of one job, with column lineage. The last one also reads a table that was never extracted."""
    orders = world.table("orders", "id", "amount", "note", owner="crm")
    for place, column in enumerate(("id", "amount", "note")):
        world.entity(world.column(f"orders.{column}"), columnIndex=str(place))
    before, keys = orders, {"orders": orders, "amount": world.column("orders.amount")}
    for name in STATEMENTS:
        made = world.table(name, "amount", owner="etl")
        before_name = before.name
        reads = [before, world.named("ghost")] if name == "check" else [before]
        parts = {f"{name}.amount": [f"{before_name}.amount"]}
        if name == "check":
            parts[f"{name}.amount"].append("ghost.amount")
        operation = world.operation("nightly revenue", reads, [made], parts=parts, engine=SPARK)
        part = sub_operation_key(operation, f"{name}.amount")
        world.entity(part, expression=f"sum({before_name}.amount)")
        world.execution(operation, f"run {name}", started=AS_OF_MS, ended=AS_OF_MS + 1_000, principal="etl")
        keys[name], keys[f"nightly {name}"] = made, operation
        before = made
    lost = world.operation(
        "insert lost", [before], [world.named("lost")], parts={"lost.amount": ["check.amount"]}
    )
    world.elements[lost.identity].update(
        {"incomplete": True, "incompleteReasons": ["its plan was cut: set spark.sql.maxPlanStringLength"]}
    )
    view = world.table("big_orders", "amount", kind=EntityType.VIEW, owner="bi")
    world.operation(
        "create view big_orders",
        [orders],
        [view],
        parts={"big_orders.amount": ["orders.amount"]},
        engine=HIVE,
    )
    world.source(IMPALA)
    return keys
