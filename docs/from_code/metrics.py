"""Metrics and alerts."""

from __future__ import annotations

from typing import Any, Final

import yaml

from docs.from_code.markdown import code, prose, table
from navlin.api.metrics import EXPORT, REASONS, SOURCE, gauges
from navlin.shipped import CONF

ALERTS: Final = CONF / "prometheus" / "alerts.yml"
_EMPTY: Final[dict[str, Any]] = {
    "sources": [],
    "exports": [],
    "hosts": [],
    **{key: [] for _, key, _, _ in REASONS.values()},
    "purge": None,
    "last_purge_ms": 1_000,
    "space": {"free_bytes": 1, "least_bytes": 1},
    "daemon": {"clock_jump_ms": 0},
}
"""A status without sources. All metrics can be made from it."""
_OTHERS: Final = (
    ("navlin_daemon_up", "", "Whether navlin serve runs."),
    ("navlin_solr_up", "", "Whether the index responds."),
    ("navlin_status_seconds", "", "Time that the index took for these figures."),
    ("navlin_snapshot_age_seconds", "", "Age of all other figures."),
    (
        "navlin_http_request_seconds",
        "address, status",
        "Duration of responses, including the last byte (a histogram).",
    ),
)


def metric_rows() -> list[tuple[str, str, str]]:
    """Return (name, labels, meaning) of each metric."""
    labels = {
        **dict.fromkeys(SOURCE, "source, extractor"),
        **dict.fromkeys(EXPORT, "export, target"),
        **{name: ", ".join(of) for name, (_, _, of, _) in REASONS.items()},
        "navlin_source_state": "source, state",
    }
    return [
        *_OTHERS,
        *((each.name, labels.get(each.name, ""), each.documentation) for each in gauges(_EMPTY)),
    ]


def all_metrics() -> str:
    """Return the table of metrics."""
    rows = ((code(name), labels, prose(words)) for name, labels, words in metric_rows())
    return table(("metric", "labels", "meaning"), rows)


def alert_rules() -> list[dict[str, Any]]:
    """Return the alert rules that ship with navlin."""
    groups: list[dict[str, Any]] = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def alerts() -> str:
    """Return the table of alerts, each with a link to the runbook."""
    rows = (
        (
            f"[{each['alert']}](#{each['alert'].lower()})",
            each["labels"]["severity"],
            code(" ".join(each["expr"].split())),
            each.get("for", ""),
        )
        for each in alert_rules()
    )
    return table(("alert", "severity", "condition", "for"), rows)
