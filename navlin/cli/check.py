from __future__ import annotations

from dataclasses import asdict

import click

from navlin.cli.invocation import Exit, Invocation, json_option
from navlin.cli.terminal import console, print_json


@click.command("check", short_help="Check the configuration and every connection.")
@click.option(
    "--start", is_flag=True, help="Fail only if navlin could not start, not if a source does not answer."
)
@json_option
@click.pass_obj
def command(invocation: Invocation, *, start: bool, as_json: bool) -> None:
    """Check the configuration, Java, the index, a directory of users, each export's server, and each source's connection
    and directories.

    One line each; a problem says what to do, and the exit code is 1. Errors in the configuration are reported with file
    and line, all at once (exit code 2).

    \b
    Examples:
      navlin check
      navlin --config new.toml check
      navlin check --start                    (what the systemd unit does before each start)
    """
    from rich.text import Text

    from navlin.service.check import check

    findings = []
    out = console()
    for finding in check(invocation.configuration(), invocation.environment, invocation.left_out):
        findings.append(finding)
        if not as_json:
            mark = Text("ok    ", "green") if finding.fine else Text("WRONG ", "bold red")
            out.print(mark + Text(f"{finding.subject}: {finding.text}"), soft_wrap=True)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    wrong = [finding for finding in findings if not finding.fine and (finding.needed or not start)]
    raise SystemExit(Exit.FAILED if wrong else Exit.OK)
