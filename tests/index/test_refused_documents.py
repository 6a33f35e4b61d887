"""Documents that Solr refuses are always reported to callers that must not lose them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from navlin.index.journal.export_positions import ExportPosition, save_export
from navlin.index.journal.rejects import save_rejects
from navlin.index.journal.removals import record_removal
from navlin.index.journal.runs import Fence, RunRecord, Status, save_positions, save_run, save_run_fenced
from navlin.index.people.inheritance import StoredClosure, TagGroup, save_closures
from navlin.index.schema.fields import ELEMENTS, RUNS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr, SolrError
from navlin.model.records import Position, Reject

TOO_LONG = "x" * 40_000
"""Solr accepts no term longer than 32,766 bytes."""
TOO_LARGE = 2**64 - 1
"""Larger than a Java long."""


def run_record(solr: Solr) -> None:
    save_run(solr, RunRecord("S", uuid4().hex, TOO_LARGE, Status.FINISHED, 1, 2))


def run_record_under_a_lease(solr: Solr) -> None:
    record = RunRecord("S", uuid4().hex, TOO_LARGE, Status.RUNNING, 1, version=-1)
    save_run_fenced(solr, record, lambda: None)


def position(solr: Solr) -> None:
    save_positions(solr, uuid4().hex, TOO_LONG, [Position("events", 7)], {})


def position_under_a_lease(solr: Solr) -> None:
    fence = Fence(1, {}, lambda: None)
    save_positions(solr, uuid4().hex, TOO_LONG, [Position("events", 7)], {}, fence=fence)


def reject(solr: Solr) -> None:
    save_rejects(solr, "S", uuid4().hex, "run", 1, [Reject("a file", "is no JSON", count=TOO_LARGE)])


def removal(solr: Solr) -> None:
    record_removal(solr, ELEMENTS, ["1"], Stamp(TOO_LONG, 1))


def reach(solr: Solr) -> None:
    reached = TagGroup(frozenset({TOO_LONG}), frozenset({"1"}))
    save_closures(solr, {uuid4().hex: StoredClosure(frozenset({reached}))})


def export(solr: Solr) -> None:
    save_export(solr, ExportPosition(TOO_LONG))


@pytest.mark.parametrize(
    "write",
    [
        run_record,
        run_record_under_a_lease,
        position,
        position_under_a_lease,
        reject,
        removal,
        reach,
        export,
    ],
    ids=lambda write: write.__name__.replace("_", " "),
)
def test_every_writer_reports_the_refused_document_and_the_reason(
    solr: Solr, write: Callable[[Solr], None]
) -> None:
    with pytest.raises(SolrError, match=r"Solr at \S+, nav_runs: \S+ was refused: .+"):
        write(solr)


def test_the_other_documents_are_written(solr: Solr) -> None:
    good, bad = f"good-{uuid4().hex}", f"bad-{uuid4().hex}"
    documents: list[dict[str, Any]] = [{"identity": bad, "iteration": TOO_LARGE}, {"identity": good}]

    with pytest.raises(SolrError, match=f"{bad} was refused: .*{TOO_LARGE}"):
        solr.add_all(RUNS, documents)

    assert [each["identity"] for each in solr.get(RUNS, [good, bad])] == [good]


def test_a_conflict_is_not_a_refusal(solr: Solr) -> None:
    identity = f"there-{uuid4().hex}"
    solr.add_all(RUNS, [{"identity": identity}])

    assert solr.add_all(RUNS, [{"identity": identity, "_version_": -1}]).conflicts == (identity,)
