"""``navlin --url URL export``: the server makes the records, and the command writes them to a file or to standard
output.

The records cannot be sent to the target's own server in this way. ``[[export]]`` in the configuration of the navlin
server does that.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from navlin.cli.export import Targets
from navlin.cli.invocation import Exit, Failure
from navlin.cli.terminal import print_json, print_pieces, say
from navlin.files import replaced

if TYPE_CHECKING:
    from navlin.cli.server import Server
    from navlin.export.target import Target

ON_THE_SERVER: Final = frozenset(
    "position follow full user password_file token_file principal keytab ca_file".split()
)
"""Options for sending, and for continuing an interrupted export. They only work on the server's own machine."""
UNTIL: Final = "Navlin-Until"


class Downloads(Targets):
    """The group with a command for each target. The commands have the same options as without ``--url``."""

    def __init__(self, command: click.Group, server: Server) -> None:
        super().__init__(command.name, help=command.help, short_help=command.short_help)
        self.server = server

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        command = super().get_command(ctx, cmd_name)
        if command is None:
            return None
        from navlin.export.target import targets

        downloading, target = copy.copy(command), targets()[cmd_name]
        downloading.callback = lambda **given: _download(self.server, target, given)
        return downloading


def _download(server: Server, target: Target, given: Mapping[str, Any]) -> None:
    as_json, out = given["as_json"], given["out"]
    parameters = dict(_typed(click.get_current_context().command, given))
    if out.startswith(("http://", "https://")):
        raise Failure("with --url, --out must be a file, or - for standard output", Exit.USAGE)
    if here := sorted(name for name in parameters if name in ON_THE_SERVER):
        options = ", ".join(f"--{name.replace('_', '-')}" for name in here)
        raise Failure(f"{options}: available only on the server's own machine", Exit.USAGE)
    file = None if out == "-" else Path(out)
    records, headers = server.records(
        f"/export/{target.name}", list(_pairs_of(dict(_asked(target, parameters))))
    )
    until = headers.get(UNTIL, "")
    if file is None:
        print_pieces(records)
    else:
        try:
            # The old file stays until the last record has arrived.
            with replaced(file) as out:
                out.writelines(records)
        except OSError as error:
            raise Failure(f"{file} cannot be written: {error}", Exit.FAILED) from error
        if as_json:
            print_json({"until": until, "bytes": file.stat().st_size})
        elif until:
            say(f"to export later changes: --since '{until}'")
    raise SystemExit(records.exit_code)


def _asked(target: Target, parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of each parameter of the endpoint."""
    own = {each.name for each in fields(target.options)}
    options = []
    for name, value in parameters.items():
        if name in own:
            options.append(f"{name}={str(value).lower() if isinstance(value, bool) else value}")
        elif name == "file":
            try:
                yield "name", tuple(filter(str.strip, value.read_text().splitlines()))
            except (OSError, UnicodeDecodeError) as error:
                raise Failure(f"{value} cannot be read: {error}", Exit.USAGE) from error
        elif name not in ("out", "json"):
            yield name, value
    if options:
        yield "option", tuple(options)


def _typed(command: click.Command, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) for each option that was typed. The name is the typed one, with underscores."""
    context = click.get_current_context()
    for each in command.params:
        if each.name not in given or context.get_parameter_source(each.name) is ParameterSource.DEFAULT:
            continue
        value = given[each.name]
        name = max(each.opts, key=len).lstrip("-").replace("-", "_")
        yield name, value.astimezone().isoformat() if isinstance(value, datetime) else value


def _pairs_of(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, value) as in a query string; for a tuple, one pair for each element."""
    for name, value in parameters.items():
        for each in value if isinstance(value, tuple) else (value,):
            yield name, "true" if each is True else str(each)
