"""``navlin purge``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import click

from navlin.cli.invocation import Exit, Failure, Invocation, console, json_option, print_json

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
    If `navlin serve` runs here, it does the work. A purge that was cut off is continued by the next, with its own date.

    \b
    Examples:
      navlin purge --before 2026-01-01 --dry-run
      navlin purge --before 2026-01-01
    """
    from navlin.cli.requested import answer_of_daemon
    from navlin.index.requests import Job
    from navlin.service import jobs

    configuration = invocation.configuration_without_sources()
    before_ms = round(before.astimezone().timestamp() * 1000)
    if before_ms > invocation.now_ms():
        raise Failure(f"{before:%Y-%m-%d} is in the future: everything executed so far would go", Exit.USAGE)
    with invocation.solr(configuration) as solr:
        how: dict[str, Any] = {
            "before_ms": before_ms,
            "dry_run": dry_run,
            "deleted_files": configuration.purge.deleted_files,
        }
        answer = answer_of_daemon(solr, configuration.navlin.state_directory, Job.PURGE, how)
        if answer is None:
            answer = jobs.purge(solr, invocation.now_ms, **how)
    if as_json:
        print_json(answer)
    else:
        _print(answer)
    raise SystemExit(Exit.BUSY if answer["status"] == "leased" else Exit.OK)


def _print(answer: Mapping[str, Any]) -> None:
    out = console()
    out.print(
        f"{'dry run' if answer['dry_run'] else answer['status']}{', continued' if answer['resumed'] else ''}"
    )
    if answer["note"]:
        out.print(answer["note"], markup=False)
    verb = "would remove" if answer["dry_run"] else "removed"
    for rule in answer["rules"]:
        own = " (navlin's own rule)" if rule["ours"] else ""
        out.print(
            f"[bold]{rule['rule']}[/]{own}: {verb} {rule['removed']:,} with {rule['relations']:,} relations"
        )
        out.print(f"  {rule['what']}", markup=False, soft_wrap=True)
        for example in rule["examples"][:SHOWN]:
            out.print(f"  - {example}", markup=False, soft_wrap=True)
        for reason, count in rule["kept"].items():
            names = ", ".join(rule["kept_examples"].get(reason, [])[:SHOWN])
            out.print(f"  kept {count:,}, {reason}: {names}", markup=False, soft_wrap=True)
    for each in answer["never"]:
        out.print(f"never: {each['what']}: {each['count']:,} old enough", markup=False, soft_wrap=True)
