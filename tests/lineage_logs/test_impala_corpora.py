"""Lineage records written by Impala itself: each becomes records with exactly the expected edges.

The expected edges are computed here from Impala's records alone, the actual ones from the extracted relations alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from extractors.impala_events import ImpalaEvents
from navlin.model.keys import EntityType
from navlin.model.records import Covered, Entity, Record, Reject
from navlin.model.source import IMPALA, Estate, Source, source_id
from tests.support.record_edges import (
    ColumnEdge,
    Ends,
    by_operation,
    folded,
    parts,
    read_all,
    yielded_edges,
    yielded_tables,
)

SOURCE = Source(source_id("c", "IMPALA-1"), IMPALA, "IMPALA-1", "c")


def read_files(*directories: Path) -> list[Record]:
    return read_all(ImpalaEvents(SOURCE, Estate("c", (SOURCE,)), tuple(map(str, directories))))


def expected_edges(record: dict[str, Any]) -> set[ColumnEdge]:
    """Return (edge type, source columns, target columns) of each edge; a column is (database, table, column)."""
    vertices = {vertex["id"]: vertex for vertex in record["vertices"]}

    def columns(numbers: Iterable[int]) -> Ends:
        found = set()
        for number in numbers:
            vertex = vertices[number]
            if "metadata" not in vertex:
                continue  # the label of a result
            table = vertex["metadata"]["tableName"]
            column = vertex["vertexId"].removeprefix(table + ".").split(".")[0]
            found.add((*table.split(".", 1), column))
        return frozenset(found)

    return {
        (edge["edgeType"], columns(edge["sources"]), columns(edge["targets"])) for edge in record["edges"]
    }


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def log_files(corpora: Path) -> list[Path]:
    return sorted((corpora / "impala").rglob("impala_lineage_log_1.0-*"))


def cases_as_log(corpora: Path, directory: Path) -> Path:
    cases = lines_of(corpora / "impala" / "cases.jsonl")
    path = directory / "impala_lineage_log_1.0-0"
    path.write_text("".join(json.dumps(case["lineage"]) + "\n" for case in cases))
    return path


def test_every_record_becomes_an_operation_with_its_execution(corpora: Path) -> None:
    for path in log_files(corpora):
        got = read_files(path.parent)
        lines = lines_of(path)
        runs = {
            r.key.identity
            for r in got
            if isinstance(r, Entity) and r.key.type is EntityType.OPERATION_EXECUTION
        }
        assert len(runs) == len({line["queryId"] for line in lines})
        assert sum(isinstance(record, Covered) for record in got) == len(lines)
        assert not [record for record in got if isinstance(record, Reject)]


@pytest.mark.parametrize("which", ["cases", "log of 5.0", "log of 4.2"])
def test_relations_are_exactly_the_edges_of_the_records(corpora: Path, tmp_path: Path, which: str) -> None:
    path = {
        "cases": lambda: cases_as_log(corpora, tmp_path),
        "log of 5.0": lambda: log_files(corpora)[1],
        "log of 4.2": lambda: log_files(corpora)[0],
    }[which]()
    records = lines_of(path)
    assert len(records) >= 40
    relations = by_operation(read_files(path.parent))
    edges: dict[str, set[ColumnEdge]] = defaultdict(set)
    tables: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for record in records:
        edges[record["queryText"]] |= expected_edges(record)
        tables[record["queryText"]] |= folded(expected_edges(record))
    for text in edges:
        # An edge from a literal to the label of a result column has no columns at all.
        between_columns = {edge for edge in edges[text] if edge[1] or edge[2]}
        assert set(yielded_edges(relations[text])) == between_columns, text
        assert yielded_tables(relations[text]) == tables[text], text


def test_each_distinct_edge_is_a_sub_operation_of_its_operation(corpora: Path, tmp_path: Path) -> None:
    got = {
        (record.key.parent.identity, record.attributes["edgeType"], *ends_of(record.attributes))
        for record in parts(read_files(cases_as_log(corpora, tmp_path).parent))
    }
    distinct = 0
    for case in lines_of(corpora / "impala" / "cases.jsonl"):
        names = {vertex["id"]: vertex["vertexId"] for vertex in case["lineage"]["vertices"]}
        edges = {
            (
                edge["edgeType"],
                *(tuple(sorted(names[end] for end in edge[side])) for side in ("sources", "targets")),
            )
            for edge in case["lineage"]["edges"]
        }
        distinct += len(edges)
    assert len(got) == distinct


def ends_of(attributes: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(attributes["inputs"]), tuple(attributes["outputs"])
