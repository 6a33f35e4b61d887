"""Delta's MERGE from a source that is not a Delta table. A first execution caches the rows of the source.

The log was written by Spark 4.1 with Delta 4.4. The sources are files, tables of other formats, a view, a database
table and queries.
"""
# ruff: noqa: E501 - statements with all that flows through them

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.support.spark_logs import read_once
from tests.support.spark_statements import LOGS, statements

NO_COLUMNS = "navlin did not find in the plan which columns are written"

# fmt: off
TRUTH = {
    "m_parquet": ("MERGE", "out.d src.upd", "out.d", {"id": "src.upd.id | out.d.id", "name": "src.upd.label | out.d.id src.upd.id", "city": "src.upd.town | out.d.id src.upd.id"}),
    "m_csv": ("MERGE", "out.d src.updcsv", "out.d", {"id": "src.updcsv.id | out.d.id", "name": "src.updcsv.label | out.d.id src.updcsv.id", "city": "src.updcsv.town | out.d.id src.updcsv.id"}),
    "m_jdbc": ("MERGE", "out.d pg.app.upd", "out.d", {"id": "pg.app.upd.id | out.d.id", "name": "pg.app.upd.label | out.d.id pg.app.upd.id", "city": "pg.app.upd.town | out.d.id pg.app.upd.id"}),
    "m_view": ("MERGE", "out.d src.upd", "out.d", {"id": "src.upd.id | out.d.id", "name": "src.upd.label | out.d.id src.upd.id", "city": "src.upd.town | out.d.id src.upd.id"}),
    "m_delta": ("MERGE", "out.d src.updd", "out.d", {"id": "src.updd.id | out.d.id", "name": "src.updd.label | out.d.id src.updd.id", "city": "src.updd.town | out.d.id src.updd.id"}),
    "m_sub": ("MERGE", "out.d src.more src.upd", "out.d", {"id": "src.upd.id | out.d.id src.more.k src.upd.town", "name": "src.more.extra src.upd.label | out.d.id src.more.k src.upd.id src.upd.town", "city": "src.upd.town | out.d.id src.more.k src.upd.id"}),
    "m_agg": ("MERGE", "out.d src.upd", "out.d", {"id": "src.upd.id | out.d.id", "name": "src.upd.label | out.d.id src.upd.id", "city": "src.upd.town | out.d.id src.upd.id"}),
    "m_json": ("MERGE", "file:/srv/jobs/delta/files/json out.d", "out.d", {"id": "/srv/jobs/delta/files/json.id | out.d.id", "name": "/srv/jobs/delta/files/json.label | /srv/jobs/delta/files/json.id out.d.id", "city": "/srv/jobs/delta/files/json.town | /srv/jobs/delta/files/json.id out.d.id"}),
    "m_insert_only": ("MERGE", "out.d src.upd", "out.d", {"id": "src.upd.id | out.d.id", "name": "src.upd.label | out.d.id src.upd.id", "city": "| out.d.id src.upd.id"}),
    "m_star": ("MERGE", "out.d src.upd", "out.d", {"id": "src.upd.id |", "name": "src.upd.label |", "city": "src.upd.town |"}),
    "m_bysource": ("MERGE", "out.d src.upd", "out.d", {"id": "| out.d.id src.upd.id", "name": "src.upd.label | out.d.id src.upd.id", "city": "| out.d.id src.upd.id"}),
}
"""Statement → (kind, inputs, output, {column: "data sources | control sources"})."""
# fmt: on


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return {
        name: (each.operation, " ".join(each.inputs), " ".join(each.outputs), each.reasons, each.columns)
        for name, each in statements("delta-4.4", tmp_path_factory.mktemp("delta")).items()
    }


@pytest.mark.parametrize("name", TRUTH)
def test_a_merge_has_the_columns_of_its_source(name: str, told: dict[str, Any]) -> None:
    operation, inputs, outputs, columns = TRUTH[name]
    names = {f"{outputs}.{column}": made for column, made in columns.items()}
    assert told[name] == (operation, inputs, outputs, [], names)


@pytest.mark.parametrize("name", ["m_update_only", "m_delete"])
def test_a_merge_that_rewrote_no_file_has_no_columns(name: str, told: dict[str, Any]) -> None:
    assert told[name][3:] == ([NO_COLUMNS], {})


def test_a_merge_without_its_materialized_source_has_unknown_columns(tmp_path: Path) -> None:
    packed = (LOGS / "delta-4.4.zst").read_bytes()
    log = zstandard.ZstdDecompressor().decompress(packed, 1 << 28).decode()
    kept = [line for line in log.splitlines() if "materialize source" not in line or "m_parquet" not in line]
    numbers = {f'"executionId":{number},' for number in (19,)}
    (tmp_path / "local-1").write_text(
        "".join(
            f"{line}\n"
            for line in kept
            if "ExecutionEnd" not in line or not any(each in line for each in numbers)
        )
    )
    found = [each for each in read_once(tmp_path).operations if each.key.name == "delta: m_parquet"]
    assert [each.attributes["incompleteReasons"] for each in found] == [
        ["a program made the rows: an RDD, a checkpoint, rows that its driver held"]
    ]
