"""The report of a purge as plain JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from linker.purge import PurgeReport


def report_as_json(report: PurgeReport) -> dict[str, Any]:
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
