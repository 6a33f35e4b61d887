"""``navlin purge``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import click

from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import console, print_json, say

if TYPE_CHECKING:
    from navlin.index.solr import Solr

SHOWN = 3


@click.command("purge", short_help="Remove what is old.")
@click.option(
    "--before",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]),
    metavar="DATE",
    help="What was deleted or executed earlier goes. This machine's time zone.",
)
@click.option(
    "--accept",
    type=click.IntRange(0),
    default=0,
    metavar="NUMBER",
    help="Let a held purge of so many candidates through.",
)
@click.option("--dry-run", is_flag=True, help="Say what each rule would remove and keep, and remove nothing.")
@click.option("--forget-threshold", is_flag=True, help="Write records of purged times again.")
@json_option
@click.pass_obj
def command(
    invocation: Invocation,
    *,
    before: datetime | None,
    accept: int,
    forget_threshold: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove old data: executions, operations without output, deleted files and directories, and their relations.

    This applies Navigator's five rules, and navlin's own for deleted files ([purge] deleted_files). It never removes a
    table or its producer. Entities that a person described or tagged stay. If `navlin serve` runs here, it does the work.
    An interrupted purge is continued by the next, with its own date.

    A purge is held, and says why, if it would look at more than half of the executions, operations, files or directories,
    and more than 1,000 of them; or if nothing was executed or modified lately, so that the clock may be wrong. --accept
    lets exactly that one through.

    Records of purged times are not written again. If that was a mistake, --forget-threshold resets that time; removed
    data comes back only if its source still has it.

    \b
    Examples:
      navlin purge --before 2026-01-01 --dry-run
      navlin purge --before 2026-01-01
    """
    from navlin.cli.requested import answer_of_daemon
    from navlin.index.requests import Job
    from navlin.service import jobs

    configuration = invocation.configuration_without_sources()
    if forget_threshold:
        if before is not None:
            raise Failure("--forget-threshold and --before exclude each other", Exit.USAGE)
        with invocation.solr(configuration) as solr:
            _forget_threshold(solr, as_json=as_json)
        return
    if before is None:
        raise Failure("--before is missing: what is older than that date goes", Exit.USAGE)
    before_ms = round(before.astimezone().timestamp() * 1000)
    if before_ms > invocation.now_ms():
        raise Failure(f"{before:%Y-%m-%d} is in the future: everything executed so far would go", Exit.USAGE)
    with invocation.solr(configuration) as solr:
        how: dict[str, Any] = {
            "before_ms": before_ms,
            "dry_run": dry_run,
            "deleted_files": configuration.purge.deleted_files,
            "accepted": accept,
        }
        answer = answer_of_daemon(solr, configuration.navlin.state_directory, Job.PURGE, how)
        if answer is None:
            answer = jobs.purge(solr, invocation.now_ms, **how)
    if as_json:
        print_json(answer)
    else:
        print_answer(answer)
    raise SystemExit(exit_code(answer))


_EXITS: Final = {"leased": Exit.BUSY, "held": Exit.HELD, "stopped": Exit.FAILED}


def _forget_threshold(solr: Solr, *, as_json: bool) -> None:
    from navlin.index.purges import forget_purged_before, purged_before_ms

    before_ms = purged_before_ms(solr)
    forget_purged_before(solr)
    if as_json:
        print_json({"forgotten_ms": before_ms})
    elif before_ms:
        until = datetime.fromtimestamp(before_ms / 1000).astimezone()
        say(f"forgotten: records from before {until:%Y-%m-%d %H:%M} are written again")
    else:
        say("nothing was ever purged")


def exit_code(answer: Mapping[str, Any]) -> Exit:
    """Return the command's exit code."""
    return _EXITS.get(answer["status"], Exit.OK)


def print_answer(answer: Mapping[str, Any]) -> None:
    """Print the entities that each rule removed and kept, for people."""
    from navlin.model.plurals import counted

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
            f"[bold]{rule['rule']}[/]{own}: {verb} {rule['removed']:,} with {counted(rule['relations'], 'relation')}"
        )
        out.print(f"  {rule['what']}", markup=False, soft_wrap=True)
        for example in rule["examples"][:SHOWN]:
            out.print(f"  - {example}", markup=False, soft_wrap=True)
        for reason, count in rule["kept"].items():
            names = ", ".join(rule["kept_examples"].get(reason, [])[:SHOWN])
            out.print(f"  kept {count:,}, {reason}: {names}", markup=False, soft_wrap=True)
    if answer.get("rejects"):
        out.print(f"{verb} {counted(answer['rejects'], 'reject')} last seen before that date", markup=False)
    for each in answer["never"]:
        out.print(f"never: {each['what']}: {each['count']:,} old enough", markup=False, soft_wrap=True)
