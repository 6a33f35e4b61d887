from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from navlin.cli.invocation import Invocation, source_named
from navlin.cli.jobs import JobCommand, submitted
from navlin.cli.terminal import console
from navlin.questions.extract import QUESTION

if TYPE_CHECKING:
    from navlin.index.solr.solr import Solr
    from navlin.service.loader import Loaded
    from navlin.service.spark_session import LazySparkSession


def _run(invocation: Invocation, given: Any) -> Mapping[str, Any]:
    from navlin.service.spark_session import LazySparkSession

    configuration = invocation.configuration()
    with (
        LazySparkSession.of(configuration) as spark,
        # Spark takes about as long to start as Solr. If Solr has to be started, both start in parallel.
        invocation.solr(configuration, starting=spark.start_early) as solr,
    ):
        loaded = source_named(invocation.configured_sources(configuration, solr), given.source)
        how, run = submitted(QUESTION, invocation, configuration, solr, given)
        return _extract(invocation, solr, loaded, spark, how) if run is None else run


def _extract(
    invocation: Invocation, solr: Solr, loaded: Loaded, spark: LazySparkSession, how: Mapping[str, Any]
) -> Mapping[str, Any]:
    from navlin.pipeline.run import Pipeline
    from navlin.service import jobs
    from navlin.service.inheriting import keep_inherited

    pipeline = Pipeline(solr.address, spark, invocation.now_ms)
    settings = {name: value for name, value in how.items() if name != "source"}
    record = jobs.extract(pipeline, loaded, **settings, step=lambda step: None)
    if not how["dry_run"]:
        keep_inherited(solr)
    return jobs.run_as_json(record, dry_run=how["dry_run"])


def print_answer(run: Mapping[str, Any]) -> None:
    """Print the result of a run as text."""
    from navlin.render.counts import count_lines
    from navlin.render.text import clean

    out = console()
    took_s = (run["ended_ms"] - run["started_ms"]) / 1000
    out.print(
        f"{run['source']}: {run['status']}{' (dry run)' if run['dry_run'] else ''}, {took_s:.1f} s",
        markup=False,
    )
    for label in ("note", "error"):
        if run[label]:
            out.print(f"  {label}: {run[label]}", markup=False)
    for line in count_lines(run["counts"]):
        out.print(f"  {line}", markup=False)
    for failure in run["failures"]:
        out.print(f"  not read: {clean(failure)}", markup=False)
    if run["more"]:
        out.print("  there is more to read already: run it again", markup=False)
    if run["status"] == "held":
        out.print(
            f"  to confirm: navlin extract {run['source']} --accept-loss '{run['run_id']}'",
            markup=False,
        )


command = JobCommand(QUESTION, _run, print_answer)
