"""The linker's rule `resolve_views`, applied to every text with written expected lineage: it adds exactly the expected
edges between known columns.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

import pytest

from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType
from navlin.model.records import Entity
from tests.sql.test_sql_scopes import TABLES as SCOPES
from tests.sql.test_sql_view_texts import TABLES as VIEW_TEXTS
from tests.support.indexed_estate import World
from tests.support.sql_scopes import SCHEMA, Truth, truths


def cases() -> Iterator[tuple[bool, Truth]]:
    """Yield (whether Spark made the view, expected lineage) for every text."""
    for kind, table in (*SCOPES.items(), *VIEW_TEXTS.items()):
        for truth in truths(table):
            yield kind == "spark", truth


@pytest.mark.parametrize("every", [pytest.param(1, marks=pytest.mark.services), 8])
def test_a_view_has_exactly_its_true_edges(solr: Solr, every: int) -> None:
    world = World(solr, f"texts of views {every}")
    everything = list(cases())[::every]
    assert len(everything) > 360 // every

    records = [record for name, columns in SCHEMA.items() for record in of_table(world, name, columns)]
    for at, (by_spark, truth) in enumerate(everything):
        attributes = {"queryText": truth.text, "params": json.dumps({"spark.sql.x": "1"} if by_spark else {})}
        _, *columns = of_table(world, f"s.v{at}", [f"c{each}" for each in range(len(truth.columns))])
        view = world.entity(world.table(f"s.v{at}", EntityType.VIEW), attributes)
        records.extend((view, *columns))
    world.link(world.put(world.hive, *records))

    found = edges(world)
    reasons = {
        each["originalName"]: each.get("unparsedReason", "")
        for each in world.documents(ELEMENTS)
        if each["type"] == "VIEW"
    }
    for at, (_, truth) in enumerate(everything):
        assert found[f"s.v{at}"] == expected(f"s.v{at}", truth), truth.text
        certain = truth.complete and "?" not in "".join((*truth.columns, *truth.rows))
        assert bool(reasons[f"v{at}"]) is not certain, (truth.text, reasons[f"v{at}"])


def of_table(world: World, name: str, columns: Sequence[str]) -> Iterator[Entity]:
    yield world.entity(world.table(name))
    for at, column in enumerate(columns):
        yield world.entity(world.column(f"{name}.{column}"), {"columnIndex": at})


def edges(world: World) -> dict[str, set[str]]:
    """View → the column edges that the rule adds."""
    found: dict[str, set[str]] = defaultdict(set)
    for each in world.documents(RELATIONS):
        if each.get("rule") == "resolve_views" and each["endpoint1Type"] == "FIELD":
            sign = "->" if each["type"] == "DATA_FLOW" else "~>"
            target = each["endpoint2Name"]
            found[target.rpartition(".")[0]].add(f"{each['endpoint1Name']} {sign} {target}")
    return found


def expected(view: str, truth: Truth) -> set[str]:
    """The expected column edges, without unknown source columns."""
    if truth.more:
        return set()
    edges = set()
    for at, column in enumerate(truth.columns):
        made_of, _, decided_by = column.partition(":")[2].partition("~")
        data = known(made_of.replace(",", " ").split())
        control = known((*decided_by.replace(",", " ").split(), *truth.rows)) - data
        edges |= {f"{source} -> {view}.c{at}" for source in data}
        edges |= {f"{source} ~> {view}.c{at}" for source in control}
    return edges


def known(sources: Sequence[str]) -> set[str]:
    return {f"s.{source}" for source in sources if "?" not in source}
