"""The expected lineage of the inputs in ``data/unseen``, and the alternative names and ends that its notes allow."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parents[1] / "data" / "unseen"

Edge = tuple[str, str]


def index() -> dict[str, str]:
    """Map the name of each input to its kind."""
    rows = [line.split("\t") for line in (DATA / "index.tsv").read_text().splitlines()[1:]]
    return {name: kind for name, kind, *_ in rows}


@dataclass(frozen=True)
class Truth:
    """The expected lineage of one input."""

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
    """Normalize a name in the expected lineage. The address of a JDBC database is removed, because no log contains it."""
    return re.sub(r"^jdbc:\S+ ", "jdbc ", name)


# -- Notes -------------------------------------------------------------------------------------------------------------

# Alternative names and ends that the notes of the expected lineage allow. A pattern matches a whole name.

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
"""Database in the settings of a program → JDBC catalog. Tables may be named by either."""
ALSO_READ: Final = {
    "y_hive_staging": {"hdfs://nn1.example:8020/warehouse/raw.db/s"},
    "h_no_edges": {"default.tmp_orders"},
    "y_sqoop_append": {"jdbc ORDERS"},
}
"""Input → tables and paths that are read but are not in an expected edge."""
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
"""Input → tables and paths that are written although no data flows into them."""
DECIDING: Final = {"d_window_mix": {("src.cust", "out.d_window_mix")}}
"""Input → table edges that may be control flow, because only a condition reads the source."""
GLOBS: Final = {
    "y_commas_globs": {
        "hdfs://nn1.example:8020/in": (
            "hdfs://nn1.example:8020/in/2026-01/x",
            "hdfs://nn1.example:8020/in/2026-02/x",
        )
    }
}
"""Input → directory above the paths that a glob matches → these paths. The directory may be reported instead if it is
marked as inferred.
"""
VIEWS: Final = {"e_view_wide": "out.e_view"}
"""Input → view that a flow may pass through."""
ASKED_AGAIN: Final = {"y_slow_job": ("job_1795000000000_0022", "hdfs://nn1.example:8020/out/22")}
"""Input → (job that may still be waiting, output of the job)."""
ONLY_IF_COLUMNS_LACK: Final = {"d_simple_join"}
"""Inputs that must be flagged only if columns are missing."""
INEXACT: Final = {"d_cogroup"}
"""Inputs where edges from all columns are acceptable if they are marked as opaque."""
