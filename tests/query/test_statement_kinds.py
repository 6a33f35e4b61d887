"""Results of reading Hive's and Impala's records of every kind of statement in `tests.support.statement_kinds`."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from extractors.hive_events import HiveEvents
from extractors.impala_events import ImpalaEvents
from extractors.lineage.statements import StatementEffect, StatementKind, kind_of
from navlin.model.extractor import Extractor
from navlin.model.keys import EntityType
from navlin.model.records import Covered, Entity, Relation
from navlin.model.source import HIVE, IMPALA, Estate, Source, source_id
from tests.support.record_edges import flow, name, read_all
from tests.support.statement_kinds import HIVE_STATEMENTS, IMPALA_STATEMENTS, Row, rows

WHEN_S = 1_700_000_000

WRITTEN: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "in lower case": str.lower,
    "behind comments": lambda text: f"-- insert into x\n/* select */ {text}",
    "in between comments": lambda text: text.replace(" ", " /* as select */ ", 1),
    "over several lines": lambda text: "\n\t " + text.replace(" ", "\n  "),
    "with its end": lambda text: text + " ;",
}
"""Spellings of a text that keep the kind of the statement."""


class Reading(NamedTuple):
    kind: str
    incomplete: bool
    reasons: set[str]
    tables: set[str]
    written: set[str]
    covered: bool


def engines(directory: Path) -> Iterator[tuple[str, Extractor, list[Row]]]:
    hive = Source(source_id("c", "HIVESERVER2-1"), HIVE, "HIVESERVER2-1", "c", claimable=False)
    impala = Source(source_id("c", "IMPALA-1"), IMPALA, "IMPALA-1", "c")
    yield "hive", HiveEvents(hive, Estate("c", (hive,)), str(directory)), rows(HIVE_STATEMENTS)
    yield "impala", ImpalaEvents(impala, Estate("c", (impala,)), str(directory), "*"), rows(IMPALA_STATEMENTS)


CASES = [(engine, row) for engine, _, table in engines(Path()) for row in table]
EDGES: dict[str, Any] = {
    "edges": [
        {"sources": [1], "targets": [0], "edgeType": "PROJECTION"},
        {"sources": [2], "targets": [0], "edgeType": "PREDICATE"},
    ],
    "vertices": [
        {"id": 0, "vertexType": "COLUMN", "vertexId": "s.u.b"},
        {"id": 1, "vertexType": "COLUMN", "vertexId": "s.t.a"},
        {"id": 2, "vertexType": "COLUMN", "vertexId": "s.w.c"},
    ],
}


def read(directory: Path, engine: str, texts: list[str], graph: dict[str, Any]) -> dict[str, Reading]:
    """Read records of these texts. Map each text to its result."""
    (extractor,) = (each for named, each, _ in engines(directory) if named == engine)
    records = [{"queryText": text, "timestamp": WHEN_S, "hash": "0" * 32, **graph} for text in texts]
    (directory / "records").write_text("".join(json.dumps(record) + "\n" for record in records))
    got = read_all(extractor)
    covered = {record.path for record in got if isinstance(record, Covered)}
    relations = [record for record in got if isinstance(record, Relation)]
    readings = {}
    for entity in got:
        if isinstance(entity, Entity) and entity.key.type is EntityType.OPERATION:
            own = [each for each in relations if each.tree_path.startswith(entity.key.tree_path + "/")]
            columns = [each for each in own if each.ep2.type is EntityType.FIELD]
            tables = [each for each in own if EntityType.OPERATION in (each.ep1.type, each.ep2.type)]
            readings[entity.attributes["queryText"]] = Reading(
                entity.attributes["operationType"],
                bool(entity.attributes.get("incomplete")),
                set(entity.attributes.get("incompleteReasons", ())),
                {flow(each) for each in tables},
                {name(each.ep2) for each in columns},
                entity.key.tree_path in covered,
            )
    return readings


@pytest.mark.parametrize("engine", ["hive", "impala"])
@pytest.mark.parametrize("written", WRITTEN)
def test_each_kind_is_recognized_in_every_spelling_and_incomplete_if_it_moves_unnamed_data(
    tmp_path: Path, engine: str, written: str
) -> None:
    table = {WRITTEN[written](row.text): row for named, row in CASES if named == engine}
    got = read(tmp_path, engine, list(table), {"edges": [], "vertices": []})
    found = {text: (reading.kind, reading.incomplete, reading.tables) for text, reading in got.items()}
    assert found == {text: (row.kind, _moves(row), set()) for text, row in table.items()}


UNNAMED = {
    "table": {"its record does not name the table that it writes"},
    "both": {"its record does not name the table that it writes"},
    "files": {"its record does not name the files that it writes"},
    "result": {"its record does not name the tables that it reads: it reads no column of them"},
    "nothing": set[str](),
    "shown": set[str](),
}
"""Outcome of a statement → reasons for incompleteness if the record has no edges."""
ALSO_READS = "its record does not name the tables that it reads"


@pytest.mark.parametrize("engine", ["hive", "impala"])
def test_a_record_without_edges_gives_the_reason_for_incompleteness(tmp_path: Path, engine: str) -> None:
    table = {row.text: row for named, row in CASES if named == engine}
    got = read(tmp_path, engine, list(table), {"edges": [], "vertices": []})
    assert {text: reading.reasons - {ALSO_READS} for text, reading in got.items()} == {
        text: UNNAMED[row.outcome] if _moves(row) else set() for text, row in table.items()
    }
    also = {text for text, reading in got.items() if ALSO_READS in reading.reasons}
    assert also
    assert {table[text].outcome for text in also} <= {"table", "files", "both"}


def _moves(row: Row) -> bool:
    """Return whether the statement reads table data for its result, or writes a table or files."""
    reads = "FROM" in row.text.upper() and row.outcome == "result"
    return reads or row.outcome in ("table", "files", "both")


READ = {"DATA_FLOW s.t -> operation", "CONTROL_FLOW s.w -> operation"}
WROTE = {"DATA_FLOW operation -> s.u"}
OUTCOMES = {
    "table": (False, READ | WROTE),
    "files": (True, READ),
    "both": (True, READ | WROTE),
    "result": (False, READ),
    "nothing": (False, READ | WROTE),
    "shown": (False, set[str]()),
}


@pytest.mark.parametrize("engine", ["hive", "impala"])
def test_tables_of_a_record_are_inputs_outputs_or_only_labels_by_kind(tmp_path: Path, engine: str) -> None:
    table = {row.text: row for named, row in CASES if named == engine}
    got = read(tmp_path, engine, list(table), EDGES)
    assert {text: (reading.incomplete, reading.tables) for text, reading in got.items()} == {
        text: OUTCOMES[row.outcome] for text, row in table.items()
    }
    assert {text for text, reading in got.items() if reading.written == {"s.u.b"}} == {
        text for text, row in table.items() if row.outcome in ("table", "nothing")
    }
    assert set().union(*(reading.written for reading in got.values())) == {"s.u.b"}
    # An incomplete record also replaces the operation's earlier records.
    assert all(reading.covered for reading in got.values())


@pytest.mark.parametrize(
    ("statement", "kind", "effect"),
    [
        ("select a from q", "SELECT", StatementEffect.READS),
        ("insert into b select a from q", "INSERT", StatementEffect.WRITES),
    ],
)
def test_the_kind_after_a_with_clause_of_any_length_is_recognized(
    statement: str, kind: str, effect: StatementEffect
) -> None:
    definition = " ".join(["with q as (select", *["x +"] * 40_000, "x as a from t)"])
    assert kind_of(f"{definition} {statement}") == StatementKind(kind, effect)


def test_every_operation_of_a_real_hive_has_a_row(hive_jars: Path) -> None:
    (jar,) = hive_jars.glob("hive-exec-*.jar")
    enum = "org.apache.hadoop.hive.ql.plan.HiveOperation"
    run = subprocess.run(["javap", "-cp", str(jar), enum], capture_output=True, text=True, check=True)
    operations = set(re.findall(rf"public static final {re.escape(enum)} (\w+);", run.stdout))
    assert len(operations) > 90
    assert operations - {row.known_as for row in rows(HIVE_STATEMENTS)} == set()


def test_impalas_declared_kind_counts_and_an_unknown_union_is_a_query(
    tmp_path: Path,
) -> None:
    union = "SELECT a FROM s.t UNION ALL SELECT a FROM s.w"
    unknown = read(tmp_path, "impala", [union], EDGES | {"operationType": "UNKNOWN"})[union]
    assert (unknown.kind, unknown.incomplete, unknown.tables) == ("SELECT", False, READ)
    declared = read(tmp_path, "impala", [union], EDGES | {"operationType": "INSERT"})[union]
    assert (declared.kind, declared.incomplete, declared.tables) == ("INSERT", False, READ | WROTE)
    new = read(tmp_path, "impala", [union], {"edges": [], "vertices": [], "operationType": "REPLACE"})[union]
    assert (new.kind, new.incomplete) == ("REPLACE", True)


def test_an_insert_with_only_statistics_edges_is_incomplete(tmp_path: Path) -> None:
    text = "INSERT INTO s.u SELECT a FROM s.t"
    edges = [{**EDGES["edges"][0], "expression": "compute_stats(s.t.a, 'hll')"}]
    got = read(tmp_path, "hive", [text], EDGES | {"edges": edges})[text]
    assert (got.incomplete, got.tables) == (True, set())
