"""Purge as the daemon and the command line run it: its report for programs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from linker.purge import PurgeReport, purge
from navlin.index.solr import Solr

DAY_MS = 86_400_000


def purge_before(
    solr: Solr,
    before_ms: int,
    clock: Callable[[], int],
    *,
    deleted_files: bool,
    dry_run: bool = False,
    accepted: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> PurgeReport:
    """Purges what is older than a moment (epoch ms). ``deleted_files`` switches navlin's own rule;
    ``accepted`` as for `purge`."""
    return purge(
        solr,
        before_ms,
        clock=clock,
        dry_run=dry_run,
        ours=deleted_files,
        accepted=accepted,
        stop=stop,
    )


def report_as_json(report: PurgeReport) -> dict[str, Any]:
    """A report for programs."""
    return {
        "status": report.status,
        "dry_run": report.dry_run,
        "before": datetime.fromtimestamp(report.before_ms / 1000, UTC).isoformat(),
        "resumed": report.resumed,
        "note": report.note,
        "rules": [
            {
                "rule": rule.name,
                "what": rule.what,
                "ours": rule.ours,
                "candidates": tally.candidates,
                "removed": tally.removed,
                "relations": tally.relations,
                "unlinked": tally.unlinked,
                "kept": tally.kept,
                "examples": tally.examples,
                "kept_examples": tally.kept_examples,
            }
            for rule, tally in report.rules
        ],
        "never": [
            {"never": each.never.name, "what": each.never.what, "count": each.count} for each in report.never
        ],
        "rejects": report.rejects,
    }
