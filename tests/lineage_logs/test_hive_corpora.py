"""Lineage records written by Hive itself: each becomes records with exactly the expected edges.

The expected edges are computed here from Hive's records alone.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from extractors.hive_events import HiveEvents
from navlin.model.keys import EntityType
from navlin.model.records import Covered, Entity, Record, Reject
from navlin.model.source import HIVE, Estate, Source, source_id
from tests.support.record_edges import (
    ColumnEdge,
    Ends,
    by_operation,
    folded,
    read_all,
    yielded_edges,
    yielded_tables,
)

SOURCE = Source(source_id("c", "HIVESERVER2-1"), HIVE, "HIVESERVER2-1", "c", claimable=False)


def read_files(directory: Path, pattern: str = "*") -> list[Record]:
    return read_all(HiveEvents(SOURCE, Estate("c", (SOURCE,)), str(directory), pattern))


def cases_of(corpora: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (corpora / "hive" / "cases.jsonl").read_text().splitlines()]


VIEWS = {
    "dest_v2": {"c1": "a", "x2": "b"},
    "dest_v3": {
        "csmallint": "a1",
        "bint1": "a2",
        "ctinyint": "a3",
        "bint2": "a4",
        "cint": "a5",
        "cfloat": "a6",
        "cstring1": "a7",
    },
}
"""View → (column name in the view's query, as in Hive's records → column name in the view)."""


def expected_edges(case: dict[str, Any]) -> set[ColumnEdge]:
    """The edges of a record. For a view with a list of column names, edges use these names instead of those in Hive's
    record.
    """
    names = {vertex["id"]: vertex for vertex in case["lineage"]["vertices"]}
    writes = any("@" in output for output in case["outputs"])

    def columns(numbers: list[int]) -> Ends:
        found = set()
        for number in numbers:
            parts = names[number]["vertexId"].split(".")
            whole = names[number]["vertexType"] == "TABLE"
            if len(parts) >= 3 or whole:
                found.add((*parts[:2], "" if whole else parts[2]))
        return frozenset(found)

    edges = [
        edge
        for edge in case["lineage"]["edges"]
        if not edge.get("expression", "").startswith("compute_stats(")
    ]
    view = re.match(r"create view (\w+) \(", case["lineage"]["queryText"])

    def targets(edge: dict[str, Any]) -> Ends:
        found = columns(edge["targets"]) if writes else frozenset()
        return frozenset((*end[:2], VIEWS[view[1]][end[2]]) for end in found) if view else found

    return {(edge["edgeType"], columns(edge["sources"]), targets(edge)) for edge in edges}


def test_every_record_becomes_an_operation_with_its_execution(corpora: Path) -> None:
    got = read_files(corpora / "hive", "*.log")
    lines = (corpora / "hive" / "lineage-hdp3.1.0.log").read_text().splitlines()
    runs = {r.key for r in got if isinstance(r, Entity) and r.key.type is EntityType.OPERATION_EXECUTION}
    assert len(runs) == len(lines) == sum(isinstance(record, Covered) for record in got)
    assert not [record for record in got if isinstance(record, Reject)]


@pytest.mark.parametrize("indent", [None, 2], ids=["one line a record", "as the first releases indented it"])
def test_relations_are_exactly_the_edges_of_the_records(
    corpora: Path, tmp_path: Path, indent: int | None
) -> None:
    cases = cases_of(corpora)
    assert len(cases) >= 60
    log = [json.dumps(case["lineage"], indent=indent) for case in cases]
    (tmp_path / "lineage.log").write_text("".join(line + "\n" for line in log))
    relations = by_operation(read_files(tmp_path))
    edges: dict[str, set[ColumnEdge]] = defaultdict(set)
    for case in cases:
        edges[case["lineage"]["queryText"]] |= expected_edges(case)
    assert relations.keys() <= edges.keys()
    for text in edges:
        between_columns = {edge for edge in edges[text] if edge[1] or edge[2]}
        assert set(yielded_edges(relations[text])) == between_columns, text
        assert yielded_tables(relations[text]) == folded(edges[text]), text
