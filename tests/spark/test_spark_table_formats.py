"""Writes by Delta and Iceberg, compared with the expected lineage, which was written before the runs.

The logs come from ``python -m bench referee --part …`` with the Spark version of each part. They are reduced to SQL
executions and streams, without metrics and tasks, and the scratch directory is called ``/SCRATCH``. The expected
lineage is next to the statements in ``bench/statements``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard

from bench._referee_edges import Extracted, navlin_edges
from bench._referee_judging import Judged, judge
from bench._referee_parts import PARTS
from bench._referee_running import Kept, statements_of

LOGS = Path(__file__).parents[1] / "table_formats"
FEWEST = {
    "delta-3.3": 200,
    "delta-4": 200,
    "iceberg-1.4": 60,
    "iceberg-1.5": 35,
    "iceberg-1.9": 250,
    "iceberg-1.12": 250,
}
"""Part → minimum number of statements."""
CHANGES = ("merge", "update", "delete")
WRITES = ("insert", "ctas", "rtas", "save", "write", "chain")
CHANGES_ALONE = ("iceberg-1.4", "iceberg-1.5")
"""Parts whose Spark uses Iceberg's own nodes for row-level changes. All other nodes are as in Spark 3.5."""
CLAUSES_NOT_TOLD = (*CHANGES_ALONE, "iceberg-1.9")
"""Parts whose plans do not print which MERGE clause an instruction belongs to."""


@dataclass(frozen=True)
class Part:
    """The judged statements of a part."""

    name: str
    judged: tuple[Judged, ...]

    def __str__(self) -> str:
        return self.name


def unpacked(name: str, directory: Path) -> Kept:
    """Unpack the logs of a part into the directory structure that a session of the referee leaves."""
    kept = Kept(directory, name)
    kept.make()
    kept.runs.write_bytes((LOGS / name / "runs.json").read_bytes())
    for log in (LOGS / name).glob("*.zst"):
        lines = zstandard.ZstdDecompressor().decompress(log.read_bytes(), max_output_size=1 << 30)
        (kept.logs / log.stem).write_bytes(lines.replace(b"/SCRATCH", bytes(kept.data)))
    return kept


@pytest.fixture(scope="module", params=sorted(each.name for each in LOGS.iterdir()))
def part(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Part:
    name = str(request.param)
    kept = unpacked(name, tmp_path_factory.mktemp(name))
    runs, read = kept.read_runs(), navlin_edges(kept)
    statements = [each for each in statements_of(PARTS[name], Path()) if each.name in runs]
    return Part(
        name, tuple(judge(each, "", read.get(each.name, Extracted()), Extracted()) for each in statements)
    )


@pytest.mark.services
def test_every_kind_of_statement_occurs(part: Part) -> None:
    assert len(part.judged) >= FEWEST[part.name]
    kinds = CHANGES if part.name in CHANGES_ALONE else CHANGES + WRITES
    assert {kind for kind in kinds if any(each.name.startswith(kind) for each in part.judged)} == set(kinds)


def test_no_edge_is_wrong(part: Part) -> None:
    wrong = {each.name: sorted(map(str, each.wrong(each.navlin))) for each in part.judged}
    assert {name: edges for name, edges in wrong.items() if edges} == {}


def test_no_edge_is_missing_without_a_flag(part: Part) -> None:
    silent = {each.name: sorted(map(str, each.missing(each.navlin))) for each in part.judged if each.unsaid}
    assert silent == {}


def test_the_conditions_of_a_merge_that_deletes_control_every_column(part: Part) -> None:
    """Delta's delete-only MERGE is exempt: it is flagged, because its plan does not contain the columns."""
    held = (
        ("merge_all_clauses",)
        if part.name.startswith("delta")
        else ("merge_all_clauses", "merge_delete_only")
    )
    missing = {
        each.name: sorted(map(str, each.missing_control))
        for each in part.judged
        if each.name.startswith(held)
    }
    assert missing
    assert {name: edges for name, edges in missing.items() if edges} == {}


def test_columns_not_changed_by_an_update_are_not_controlled_by_its_condition(part: Part) -> None:
    """An update-only MERGE does not control the columns that it leaves unchanged either."""
    beyond = {
        each.name: sorted(map(str, each.uncontrolled(each.navlin)))
        for each in part.judged
        if each.name.startswith("update")
        or (each.name.startswith(("merge_update", "merge_of_itself")) and part.name not in CLAUSES_NOT_TOLD)
    }
    assert len(beyond) > 5
    assert {name: edges for name, edges in beyond.items() if edges} == {}


def test_at_most_a_quarter_of_the_edges_is_missing(part: Part) -> None:
    # For 60 columns, Spark truncates more than half of the lists in the plan.
    told = [each for each in part.judged if not each.name.startswith("merge_wide_star")]
    true = sum(len(each.truth.data) for each in told if each.truth)
    missing = sum(len(each.missing(each.navlin)) for each in told)
    assert missing < 0.25 * true
