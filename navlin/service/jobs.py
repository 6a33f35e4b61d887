"""Jobs to extract, link and purge, run by ``navlin serve`` or by the commands themselves. The result of each job is
plain JSON, from which all output is rendered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from navlin.index.journal.runs import RunRecord
from navlin.index.solr.solr import Solr
from navlin.service.loader import ConfiguredSources, Loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from linker.purge import PurgeReport
    from navlin.pipeline.run import Pipeline

Answer = dict[str, Any]


def extract(
    pipeline: Pipeline,
    loaded: Loaded,
    *,
    complete: bool,
    dry_run: bool,
    accept_loss: str,
    step: Callable[[str], None],
) -> RunRecord:
    """Run a source once; see `navlin.pipeline.run.Pipeline.run`."""
    return pipeline.run(
        loaded.settings.registration,
        loaded.extractor,
        complete=complete,
        dry_run=dry_run,
        accept_loss=accept_loss,
        step=step,
    )


def run_as_json(record: RunRecord, *, dry_run: bool) -> Answer:
    return {"run_id": record.run_id, "dry_run": dry_run, **asdict(record)}


def link(
    solr: Solr,
    configured: ConfiguredSources,
    spark: Callable[[], SparkSession],
    clock: Callable[[], int],
    *,
    everything: bool,
    stop: Callable[[], bool] = lambda: False,
) -> Answer:
    """Link the unfinished work of runs, or everything, then update inherited tags. Return rule → number of changed
    relations, and ``inherited`` → number of entities whose inherited tags changed."""
    from navlin.service.inheriting import keep_inherited
    from navlin.service.linking import link_everything, link_recent

    sources = configured.estate.sources
    changed = link_everything(solr, spark, clock) if everything else link_recent(solr, sources, clock())
    return {**changed, "inherited": keep_inherited(solr, stop=stop)}


def purge(
    solr: Solr,
    clock: Callable[[], int],
    *,
    before_ms: int,
    dry_run: bool,
    deleted_files: bool,
    accepted: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> Answer:
    """Purge data older than ``before_ms`` (epoch ms)."""
    from linker.purge import purge as purge_by_rules

    report = purge_by_rules(
        solr,
        before_ms,
        clock=clock,
        dry_run=dry_run,
        deleted_files=deleted_files,
        accepted=accepted,
        stop=stop,
    )
    return _report_as_json(report)


def _report_as_json(report: PurgeReport) -> Answer:
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
