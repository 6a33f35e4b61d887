"""``navlin purge``."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import click

from navlin.cli.invocation import Exit, Failure, Invocation, console, json_option, print_json

if TYPE_CHECKING:
    from linker.purge import PurgeReport

SHOWN = 3


@click.command("purge", short_help="Remove what is old.")
@click.option(
    "--before",
    required=True,
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]),
    metavar="DATE",
    help="What was deleted or executed earlier goes. This machine's time zone.",
)
@click.option("--dry-run", is_flag=True, help="Say what each rule would remove and keep, and remove nothing.")
@json_option
@click.pass_obj
def command(invocation: Invocation, *, before: datetime, dry_run: bool, as_json: bool) -> None:
    """Remove what is old: executions, deleted files and directories, and the relations that hang on them.

    Navigator's five rules, and navlin's own for deleted files ([purge] deleted_files). Never a table or what produced it.
    Safe beside a running `navlin serve`. One that was cut off is continued by the next, with its own date.

    \b
    Examples:
      navlin purge --before 2026-01-01 --dry-run
      navlin purge --before 2026-01-01
    """
    from navlin.service.purging import purge_before, told

    configuration = invocation.configuration_without_sources()
    before_ms = round(before.astimezone().timestamp() * 1000)
    if before_ms > invocation.now_ms():
        raise Failure(f"{before:%Y-%m-%d} is in the future: everything executed so far would go", Exit.USAGE)
    with invocation.solr(configuration) as solr:
        files = configuration.purge.deleted_files
        report = purge_before(solr, before_ms, invocation.now_ms, deleted_files=files, dry_run=dry_run)
    if as_json:
        print_json(told(report))
    else:
        _print(report)
    raise SystemExit(Exit.BUSY if report.status == "leased" else Exit.OK)


def _print(report: PurgeReport) -> None:
    out = console()
    out.print(f"{'dry run' if report.dry_run else report.status}{', continued' if report.resumed else ''}")
    if report.note:
        out.print(report.note, markup=False)
    verb = "would remove" if report.dry_run else "removed"
    for rule, tally in report.rules:
        own = " (navlin's own rule)" if rule.ours else ""
        out.print(f"[bold]{rule.name}[/]{own}: {verb} {tally.removed:,} with {tally.relations:,} relations")
        out.print(f"  {rule.what}", markup=False, soft_wrap=True)
        for example in tally.examples[:SHOWN]:
            out.print(f"  - {example}", markup=False, soft_wrap=True)
        for reason, count in tally.kept.items():
            names = ", ".join(tally.kept_examples.get(reason, [])[:SHOWN])
            out.print(f"  kept {count:,}, {reason}: {names}", markup=False, soft_wrap=True)
    for each in report.never:
        out.print(f"never: {each.never.what}: {each.count:,} old enough", markup=False, soft_wrap=True)
