"""Lineage records that Impala itself writes: each becomes records, and each edge is there and no other.

What is expected is worked out here from the records alone, and what was yielded is walked by its relations alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from extractors.impala_events import ImpalaEvents
from navlin.model.keys import EntityType, RelationType
from navlin.model.plan import Positions
from navlin.model.records import Covered, Entity, Record, Reject, Relation, Split
from navlin.model.source import IMPALA, Estate, Source, source_id

SOURCE = Source(source_id("c", "IMPALA-1"), IMPALA, "IMPALA-1", "c")

Ends = frozenset[tuple[str, ...]]
ColumnEdge = tuple[str, Ends, Ends]


def read_files(*directories: Path) -> list[Record]:
    impala = ImpalaEvents(SOURCE, Estate("c", (SOURCE,)), tuple(map(str, directories)))
    splits: list[Split] = list(impala.plan(Positions()).splits)
    records: list[Record] = []
    for split in splits:
        for record in impala.read(split):
            if isinstance(record, Split):
                splits.append(record)
            else:
                records.append(record)
    return records


def expected_edges(record: dict[str, Any]) -> set[ColumnEdge]:
    """Every edge of a record: its type, and the columns (database, table, column) on either side."""
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


def expected_tables(record: dict[str, Any]) -> set[tuple[str, str]]:
    """("DATA_FLOW in", table), ("CONTROL_FLOW in", table), ("DATA_FLOW out", table)."""
    edges = expected_edges(record)
    read = {end[:2] for kind, sources, _ in edges for end in sources if kind == "PROJECTION"}
    looked_at = {end[:2] for kind, sources, _ in edges for end in sources if kind == "PREDICATE"} - read
    written = {end[:2] for _, _, targets in edges for end in targets}
    return {
        (side, ".".join(table))
        for side, tables in (
            ("DATA_FLOW in", read),
            ("CONTROL_FLOW in", looked_at),
            ("DATA_FLOW out", written),
        )
        for table in tables
    }


def by_operation(records: Iterable[Record]) -> dict[str, list[Relation]]:
    """The relations of each operation, by its text."""
    texts = {
        record.key.tree_path: record.attributes["queryText"]
        for record in records
        if isinstance(record, Entity) and record.key.type is EntityType.OPERATION
    }
    relations: dict[str, list[Relation]] = defaultdict(list)
    for record in records:
        if isinstance(record, Relation):
            (path,) = [path for path in texts if record.tree_path.startswith(path + "/")]
            relations[texts[path]].append(record)
    return relations


def yielded_edges(relations: Iterable[Relation]) -> Iterator[ColumnEdge]:
    sources: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    targets: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    kinds: dict[str, set[RelationType]] = defaultdict(set)
    for relation in relations:
        if relation.ep2.type is EntityType.SUB_OPERATION:
            kinds[relation.ep2.identity].add(relation.type)
            sources[relation.ep2.identity].add(column(relation.ep1))
        elif relation.ep1.type is EntityType.SUB_OPERATION:
            assert relation.type is RelationType.DATA_FLOW
            targets[relation.ep1.identity].add(column(relation.ep2))
    for part in sources.keys() | targets.keys():
        kind = "PREDICATE" if RelationType.CONTROL_FLOW in kinds[part] else "PROJECTION"
        assert len(kinds[part]) <= 1
        yield kind, frozenset(sources[part]), frozenset(targets[part])


def column(key: Any) -> tuple[str, ...]:
    return (key.parent.parent.name, key.parent.name, key.name)


def yielded_tables(relations: Iterable[Relation]) -> set[tuple[str, str]]:
    tables = set()
    for relation in relations:
        if relation.ep2.type is EntityType.OPERATION:
            tables.add((f"{relation.type} in", f"{relation.ep1.parent_path}.{relation.ep1.name}".lstrip("/")))
        elif relation.ep1.type is EntityType.OPERATION:
            tables.add(
                (f"{relation.type} out", f"{relation.ep2.parent_path}.{relation.ep2.name}".lstrip("/"))
            )
    return tables


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def log_files(corpora: Path) -> list[Path]:
    return sorted((corpora / "impala").rglob("impala_lineage_log_1.0-*"))


def cases_as_log(corpora: Path, directory: Path) -> Path:
    cases = lines_of(corpora / "impala" / "cases.jsonl")
    path = directory / "impala_lineage_log_1.0-0"
    path.write_text("".join(json.dumps(case["lineage"]) + "\n" for case in cases))
    return path


def test_every_record_becomes_an_operation_with_its_execution_and_none_is_rejected(corpora: Path) -> None:
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
def test_every_edge_of_every_record_is_there_and_no_other(corpora: Path, tmp_path: Path, which: str) -> None:
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
        tables[record["queryText"]] |= expected_tables(record)
    for text in edges:
        # A literal that only a result's label shows flows from nowhere to nowhere.
        between_columns = {edge for edge in edges[text] if edge[1] or edge[2]}
        assert set(yielded_edges(relations[text])) == between_columns, text
        assert yielded_tables(relations[text]) == tables[text], text


def test_each_distinct_edge_is_a_part_of_its_operation_whether_it_names_columns_or_labels(
    corpora: Path, tmp_path: Path
) -> None:
    got = {
        (record.key.parent.identity, record.attributes["edgeType"], *ends_of(record.attributes))
        for record in read_files(cases_as_log(corpora, tmp_path).parent)
        if isinstance(record, Entity) and record.key.type is EntityType.SUB_OPERATION and record.key.parent
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
