"""Impala records for the demo: our own sample, in the format of Impala 4's lineage log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple


class LineageEdge(NamedTuple):
    """One edge of a lineage record. ``sources`` are full names of columns, ``target`` is a column of the target
    table."""

    kind: str
    sources: tuple[str, ...]
    target: str


TOP_MARKETS = (
    "INSERT INTO shop.top_markets SELECT country, revenue FROM shop.revenue WHERE orders > 0 ORDER BY revenue DESC LIMIT 10",
    "shop.top_markets",
    (
        LineageEdge("PROJECTION", ("shop.revenue.country",), "country"),
        LineageEdge("PROJECTION", ("shop.revenue.revenue",), "revenue"),
        LineageEdge("PREDICATE", ("shop.revenue.orders", "shop.revenue.revenue"), "country"),
        LineageEdge("PREDICATE", ("shop.revenue.orders", "shop.revenue.revenue"), "revenue"),
    ),
)
SCRATCH = (
    "CREATE TABLE shop.tmp_remarks AS SELECT country, concat(country, '!') AS remark FROM shop.customers",
    "shop.tmp_remarks",
    (
        LineageEdge("PROJECTION", ("shop.customers.country",), "country"),
        LineageEdge("PROJECTION", ("shop.customers.country",), "remark"),
    ),
)
BOARD_REPORT = (
    "INSERT INTO shop.board_report SELECT m.country, m.revenue, r.remark FROM shop.top_markets m"
    " JOIN shop.tmp_remarks r ON m.country = r.country",
    "shop.board_report",
    (
        LineageEdge("PROJECTION", ("shop.top_markets.country",), "country"),
        LineageEdge("PROJECTION", ("shop.top_markets.revenue",), "revenue"),
        LineageEdge("PROJECTION", ("shop.tmp_remarks.remark",), "remark"),
        LineageEdge("PREDICATE", ("shop.top_markets.country", "shop.tmp_remarks.country"), "country"),
    ),
)
"""``shop.tmp_remarks`` was dropped before it was ever listed, so relations that name it stay unlinked, as in a real
estate."""
FORECAST = (
    "INSERT INTO shop.board_report SELECT country, revenue, 'forecast' FROM shop.revenue",
    "shop.board_report",
    (
        LineageEdge("PROJECTION", ("shop.revenue.country",), "country"),
        LineageEdge("PROJECTION", ("shop.revenue.revenue",), "revenue"),
        LineageEdge("PROJECTION", (), "remark"),
    ),
)


def write_records(directory: Path, now_s: int) -> Path:
    """Write a lineage log into ``directory``, like an impalad, and return the file. Its statements ran one after the
    other and ended at ``now_s``: after the Spark job had filled the tables that they read."""
    file = directory / f"impala_lineage_log_1.0-{now_s}000"
    statements = (TOP_MARKETS, SCRATCH, BOARD_REPORT)
    file.write_text("".join(_line(each, now_s - len(statements) + n) for n, each in enumerate(statements)))
    return file


def write_one_more(file: Path, now_s: int) -> None:
    """Write another line for a lineage log to ``file``, so that it can be appended later."""
    file.write_text(_line(FORECAST, now_s))


def _line(statement: tuple[str, str, Sequence[LineageEdge]], at_s: int) -> str:
    text, target, edges = statement
    record = {
        "queryText": text,
        "queryId": f"{at_s:016x}:{len(text):016x}",
        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "user": "ada",
        "timestamp": at_s,
        "endTime": at_s + 1,
        **_graph(target, edges),
    }
    return json.dumps(record) + "\n"


def _graph(target: str, edges: Sequence[LineageEdge]) -> dict[str, Any]:
    ids: dict[str, int] = {}
    vertices = []
    for edge in edges:
        for name, table in [(source, source.rpartition(".")[0]) for source in edge.sources] + [
            (edge.target, target)
        ]:
            if name not in ids:
                ids[name] = len(ids)
                metadata = {"tableName": table, "tableCreateTime": 1_700_000_000}
                vertices.append(
                    {"id": ids[name], "vertexType": "COLUMN", "vertexId": name, "metadata": metadata}
                )
    numbered = [
        {
            "sources": [ids[source] for source in edge.sources],
            "targets": [ids[edge.target]],
            "edgeType": edge.kind,
        }
        for edge in edges
    ]
    return {"edges": numbered, "vertices": vertices}
