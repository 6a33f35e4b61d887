from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from navlin.cli.invocation import Exit, Failure, Invocation
from navlin.cli.jobs import JobCommand, submitted
from navlin.cli.terminal import console, print_json, say
from navlin.questions.purge import QUESTION

if TYPE_CHECKING:
    from navlin.index.solr.solr import Solr

SHOWN = 3


class _PurgeCommand(JobCommand):
    def invoke(self, ctx: click.Context) -> None:
        """Purge. With ``--forget-threshold``, only forget the time before which records were purged."""
        if not ctx.params["forget_threshold"]:
            return super().invoke(ctx)
        if ctx.params["before"] is not None:
            raise Failure("--forget-threshold and --before cannot be combined", Exit.USAGE)
        if self.answering is not None:
            raise Failure("--forget-threshold: available only on the server's own machine", Exit.USAGE)
        with ctx.obj.solr() as solr:
            _forget_threshold(solr, as_json=ctx.params["as_json"])
        return None


def _run(invocation: Invocation, given: Any) -> Mapping[str, Any]:
    from navlin.service import jobs

    configuration = invocation.configuration_without_sources()
    with invocation.solr(configuration) as solr:
        how, answer = submitted(QUESTION, invocation, configuration, solr, given)
        return jobs.purge(solr, invocation.now_ms, **how) if answer is None else answer


def _forget_threshold(solr: Solr, *, as_json: bool) -> None:
    from navlin.index.journal.purges import forget_purged_before, purged_before_ms

    before_ms = purged_before_ms(solr)
    forget_purged_before(solr)
    if as_json:
        print_json({"forgotten_ms": before_ms})
    elif before_ms:
        until = datetime.fromtimestamp(before_ms / 1000).astimezone()
        say(f"threshold forgotten: records from before {until:%Y-%m-%d %H:%M} will be written again")
    else:
        say("nothing has been purged yet")


def print_answer(answer: Mapping[str, Any]) -> None:
    """Print as text how many entities each rule removed and kept, with examples."""
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
        out.print(f"always kept: {each['what']}: {each['count']:,}", markup=False, soft_wrap=True)


command = _PurgeCommand(
    QUESTION,
    _run,
    print_answer,
    [
        click.Option(
            ["--forget-threshold"],
            is_flag=True,
            help="Write records again that are older than the last purge.",
        )
    ],
)
