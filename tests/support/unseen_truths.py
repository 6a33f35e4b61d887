"""What is true of the inputs in ``data/unseen``, and which other names and ends the notes of their truths allow."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parents[1] / "data" / "unseen"

Edge = tuple[str, str]


def index() -> dict[str, str]:
    """The kind of each input, by its name."""
    rows = [line.split("\t") for line in (DATA / "index.tsv").read_text().splitlines()[1:]]
    return {name: kind for name, kind, *_ in rows}


@dataclass(frozen=True)
class Truth:
    """What is true of one input."""

    name: str
    kind: str
    tables: frozenset[Edge]
    columns: frozenset[Edge]
    complete: bool
    may_doubt: bool

    @property
    def sources(self) -> set[str]:
        return {source for source, _ in self.tables}

    @property
    def targets(self) -> set[str]:
        return {target for _, target in self.tables}


def truth_of(name: str) -> Truth:
    told = json.loads((DATA / name / "truth.json").read_text())
    tables, columns = (
        frozenset((_spelled(source), _spelled(target)) for source, target in told[level])
        for level in ("tables", "columns")
    )
    return Truth(name, told["kind"], tables, columns, told["complete"], "allowed" in told)


def _spelled(name: str) -> str:
    """A truth's name. No log has the address of a database behind JDBC: its tables are known by their names alone."""
    return re.sub(r"^jdbc:\S+ ", "jdbc ", name)


# -- Notes -------------------------------------------------------------------------------------------------------------

# Which other names and ends the notes of the truths allow. A pattern is of a whole name.

OTHER_SOURCES: Final = {
    "i_json_infer": {r"file:/data/unseen/in/events/day=2026-01-0[12]": "file:/data/unseen/in/events"},
    "o_failed_then_good": {r"hdfs://nn1 /wh/raw\.db/open": "hive://hms.example:9083 raw.open"},
}
OTHER_TARGETS: Final = {
    "b_catalog_ctas": {r"app\.totals": "erp.app.totals"},
    "b_catalog_insert": {r"app\.people": "erp.app.people"},
    "o_failed_then_good": {r"hdfs://nn1 /wh/mart\.db/m": "hive://hms.example:9083 mart.m"},
}
OTHER_COLUMNS: Final = {
    "i_json_infer": {"file:/data/unseen/in/events#who.name": "file:/data/unseen/in/events#who"}
}
CATALOGS: Final = {"h2:mem:crm": "crm", "h2:mem:erp": "erp"}
"""The JDBC catalogs of the programs, by what their settings name; a table of theirs may be told by either."""
ALSO_READ: Final = {
    "y_hive_staging": {"hdfs://nn1.example:8020/warehouse/raw.db/s"},
    "h_no_edges": {"default.tmp_orders"},
}
"""What is read and is in no edge of the truth."""
ALSO_TRUE: Final = {
    "d_window_mix": {
        ("src.cust.id", "out.d_window_mix.known"),
        ("src.orders.cust_id", "out.d_window_mix.known"),
    },
    "h_no_edges": {("default.tmp_orders", "dst.h_all")},
}
WRITTEN_FROM_NOTHING: Final = {
    "a_show_tables": {"file:/data/unseen/files/a_show_tables"},
    "a_range_literals": {"out.a_range_literals"},
}
"""What is written, and nothing of a table or a path flows into it."""
DECIDING: Final = {"d_window_mix": {("src.cust", "out.d_window_mix")}}
"""Edges between tables that may be told as what decides, for only a test reads the table."""
GLOBS: Final = {
    "y_commas_globs": {
        "hdfs://nn1.example:8020/in": (
            "hdfs://nn1.example:8020/in/2026-01/x",
            "hdfs://nn1.example:8020/in/2026-02/x",
        )
    }
}
"""Directories above what a pattern means, by which it may be told if that is marked as inferred."""
VIEWS: Final = {"e_view_wide": "out.e_view"}
"""Views through which what flows may be told as well."""
ASKED_AGAIN: Final = {"y_slow_job": ("job_1795000000000_0022", "hdfs://nn1.example:8020/out/22")}
"""A job that may wait, and what it writes."""
ONLY_IF_COLUMNS_LACK: Final = {"d_simple_join"}
"""What must be flagged only if columns are not told."""
INEXACT: Final = {"d_cogroup"}
"""Edges from all columns are no error where they are marked as opaque."""
