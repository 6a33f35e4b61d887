from __future__ import annotations

from pathlib import Path

import click

from navlin.cli.terminal import say


@click.command(
    "forward",
    short_help="Send this host's log files to a navlin on another host.",
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
)
@click.option(
    "--write-agent",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the agent as one executable file instead, for hosts without navlin.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(*, write_agent: Path | None, arguments: tuple[str, ...]) -> None:
    """Send files that only grow, such as lineage logs and Spark's event logs, to a navlin on another host.

    The agent needs Python 3.6 or newer, and nothing else. `--write-agent FILE` writes it as one file, to be copied to
    hosts without navlin; it runs there as `FILE ARGUMENTS`. Otherwise it runs here. The host needs a token:
    `navlin host-token add`.

    \b
    Arguments of the agent:
      --url URL                           Where navlin answers, as https://navlin.example:7187.
      --token-file FILE                   The file with the token of this host.
      --ca-file FILE                      CA bundle (PEM).
      --source NAME=DIRECTORY[:PATTERN]   A directory to send; may be repeated.
      --poll S                            Seconds between looks, if changes are not noticed by themselves.
      --once                              End when everything is sent.
      @FILE                               Arguments from a file, one a line.

    \b
    Examples:
      navlin forward --write-agent navlin-forward.pyz
      navlin forward --url https://navlin.example:7187 --token-file token --source impala=/var/log/impalad/lineage
    """
    from navlin.forward import agent
    from navlin.forward.packed_agent import write

    if write_agent is None:
        agent.main(list(arguments))
        return
    write(write_agent)
    say(f"written: {write_agent}")
