"""``navlin extract``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from navlin.cli.invocation import Exit, Invocation, console, json_option, print_json, source_named

if TYPE_CHECKING:
    from navlin.index.runs import RunRecord


@click.command("extract")
@click.argument("source")
@click.option("--dry-run", is_flag=True, help="Read and compare, write nothing.")
@click.option("--full", is_flag=True, help="Read everything, whatever was read before.")
@click.option(
    "--accept-loss",
    metavar="RUN",
    default="",
    help="Let through what this held run would have flagged deleted. Reads everything anew.",
)
@json_option
@click.pass_obj
def command(
    invocation: Invocation, source: str, *, dry_run: bool, full: bool, accept_loss: str, as_json: bool
) -> None:
    """Run SOURCE once: read what is new, write it, link it.

    Safe beside a running `navlin serve`: whoever comes second leaves the source alone and says so (exit code 5).

    \b
    Examples:
      navlin extract HIVE-1
      navlin extract HIVE-1 --full --dry-run
      navlin extract HIVE-1 --accept-loss 9d1a…##42     (the run is named by `navlin status`)
    """
    from navlin.pipeline.run import Pipeline
    from navlin.service.spark_session import LazySparkSession

    configuration = invocation.configuration()
    with invocation.solr(configuration) as solr:
        loaded = source_named(invocation.roster(configuration, solr), source)
        spark = LazySparkSession(configuration.spark, configuration.navlin.state_directory)
        try:
            record = Pipeline(solr.address, spark, invocation.now_ms).run(
                loaded.settings.registration,
                loaded.extractor,
                complete=full,
                dry_run=dry_run,
                accept_loss=accept_loss,
            )
        finally:
            spark.stop()
    if as_json:
        print_json({"run_id": record.run_id, **asdict(record)})
    else:
        _print(record, dry_run=dry_run)
    raise SystemExit(_code(record))


def _code(record: RunRecord) -> Exit:
    match record.status.value:
        case "failed":
            return Exit.FAILED
        case "held":
            return Exit.HELD
        case "leased":
            return Exit.BUSY
    return Exit.OK


def _print(record: RunRecord, *, dry_run: bool) -> None:

    out = console()
    took_s = (record.ended_ms - record.started_ms) / 1000
    out.print(
        f"{record.source}: {record.status.value}{' (dry run)' if dry_run else ''}, {took_s:.1f} s",
        markup=False,
    )
    for label, text in (("note", record.note), ("error", record.error)):
        if text:
            out.print(f"  {label}: {text}", markup=False)
    for name, count in sorted(record.counts.items()):
        out.print(f"  {name}: {count:,}", markup=False)
    for failure in record.failures:
        out.print(f"  not read: {failure}", markup=False)
    if record.more:
        out.print("  there is more to read already: run it again", markup=False)
    if record.status.value == "held":
        out.print(
            f"  to let it through: navlin extract {record.source} --accept-loss '{record.run_id}'",
            markup=False,
        )
