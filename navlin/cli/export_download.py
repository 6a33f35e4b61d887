"""``navlin --url URL export``: the server makes the records, and the command writes them to a file or to standard
output.

The records cannot be sent to the target's own server in this way. ``[[export]]`` in the configuration of the navlin
server does that.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click

from navlin.cli.invocation import Exit, Failure
from navlin.cli.questions import typed
from navlin.cli.terminal import print_json, print_pieces, say
from navlin.files import replaced

if TYPE_CHECKING:
    from navlin.cli.server import RunningServer
    from navlin.export.parameters import OutputParameters, Parameters
    from navlin.export.target import Target

UNTIL: Final = "Navlin-Until"


def download(
    server: RunningServer, ctx: click.Context, target: Target, given: Parameters, output: OutputParameters
) -> NoReturn:
    """Write the records that a server makes, and end the command. Options for sending, and for continuing an
    interrupted export, are refused: they work only on the server's own machine."""
    from navlin.export.parameters import OutputParameters as Of
    from navlin.export.parameters import Parameters as Selecting
    from navlin.export.parameters import Sending

    if output.out.startswith(("http://", "https://")):
        raise Failure("with --url, --out must be a file, or - for standard output", Exit.USAGE)
    own = {name for name, _ in (*typed(ctx, Of), *(typed(ctx, Sending) if target.send else ()))}
    if here := sorted(own - {"out", "file"}):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in here)
        raise Failure(f"{options}: available only on the server's own machine", Exit.USAGE)
    pairs = [pair for pair in typed(ctx, Selecting) if pair[0] != "name"]
    pairs += [("name", each) for each in given.name]
    pairs += [("option", f"{name}={text}") for name, text in typed(ctx, target.options)]
    records, headers = server.records(f"/export/{target.name}", pairs)
    until = headers.get(UNTIL, "")
    if output.out == "-":
        print_pieces(records)
        raise SystemExit(records.exit_code)
    file = Path(output.out)
    try:
        # The old file stays until the last record has arrived.
        with replaced(file) as out:
            out.writelines(records)
    except OSError as error:
        raise Failure(f"{file} cannot be written: {error}", Exit.FAILED) from error
    if ctx.params["as_json"]:
        print_json({"until": until, "bytes": file.stat().st_size})
    elif until:
        say(f"to export later changes: --since '{until}'")
    raise SystemExit(records.exit_code)
