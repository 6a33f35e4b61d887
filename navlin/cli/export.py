from __future__ import annotations

import copy
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from navlin.cli.invocation import Exit, Failure, Invocation
from navlin.cli.questions import AS_JSON, filled, option
from navlin.cli.terminal import print_json, print_pieces, say, shows_progress
from navlin.questions.declare.parameters import parameters_of

if TYPE_CHECKING:
    from navlin.cli.server import RunningServer
    from navlin.export.parameters import OutputParameters, Parameters, Sending
    from navlin.export.target import Target
    from navlin.export.writing import Exported, ExportQuestion
    from navlin.index.solr.solr import Solr

EXAMPLES: Final = """\b
Examples:
  navlin export {name} --out graph.{suffix}
  navlin export {name} 'type:TABLE AND tags:pii' --out - > pii.{suffix}
  navlin export {name} --since 2026-01-31 --out changes.{suffix}
"""
SENT: Final = """  navlin export {name} --out https://{name}.example:1234 --user navlin --password-file password
"""


class Targets(click.Group):
    """The group with a command for each export target. ``server`` is the navlin that exports; None for this one."""

    server: RunningServer | None = None

    def list_commands(self, ctx: click.Context) -> list[str]:
        from navlin.export.target import targets

        return list(targets())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a target's command, with the target's own options."""
        from navlin.export.target import targets

        target = targets().get(cmd_name)
        return None if target is None else ExportCommand(target, self.server)

    def answered_by(self, server: RunningServer) -> Targets:
        """Return a copy of the group, whose commands let another navlin export."""
        other = copy.copy(self)
        other.server = server
        return other


@click.group("export", cls=Targets, short_help="Export the graph to other catalogues.")
def command() -> None:
    """Export the graph to another model: into a file, or to that model's server.

    Everything, the results of a query, or the changes since a run or date (including deletions). An operation with any
    change is exported whole. An interrupted export continues where it was if it is called again; one for SQLFlow, which
    is a single document, starts over.

    \b
    Examples:
      navlin export atlas --out graph.jsonl
      navlin export atlas --out https://atlas.example:21000 --user navlin --password-file password
    """


class ExportCommand(click.Command):
    """Command of one target. The options are the parameters of an export and the target's own options."""

    def __init__(self, target: Target, server: RunningServer | None) -> None:
        from navlin.export.parameters import OutputParameters, Parameters, Sending

        self.target, self.server = target, server
        sends, example = ((Sending,), EXAMPLES + SENT) if target.send else ((), EXAMPLES)
        declared: tuple[type[Any], ...] = (Parameters, OutputParameters, *sends, target.options)
        super().__init__(
            target.name,
            params=[*(option(each) for cls in declared for each in parameters_of(cls)), AS_JSON],
            help=f"Export the graph to {target.title}. Without QUERY, everything is exported.\n\n"
            + example.format(name=target.name, suffix=target.suffix),
            short_help=f"For {target.title}.",
        )

    def invoke(self, ctx: click.Context) -> None:
        """Parse the options, and export."""
        from navlin.export.parameters import OutputParameters, Parameters, Sending

        given, output = filled(ctx, Parameters), filled(ctx, OutputParameters)
        sending = filled(ctx, Sending) if self.target.send else Sending()
        options = filled(ctx, self.target.options)
        if output.file is not None:
            given = replace(given, name=tuple(_content(output.file).splitlines()))
        if self.server is not None:
            from navlin.cli.export_download import download

            download(self.server, ctx, self.target, given, output)
        _export(ctx.obj, self.target, given, output, sending, options, as_json=ctx.params["as_json"])


def _content(file: Path) -> str:
    try:
        return file.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file} cannot be read: {error}", Exit.USAGE) from error


def _export(
    invocation: Invocation,
    target: Target,
    given: Parameters,
    output: OutputParameters,
    sending: Sending,
    options: Any,
    *,
    as_json: bool,
) -> None:
    from navlin.export.writing import ExportQuestion
    from navlin.index.journal.removals import UnknownRun
    from navlin.query.saved import query_or_saved

    with invocation.solr() as solr:
        try:
            query = given.query
            if query or given.saved:
                author = invocation.author().name
                query = query_or_saved(solr, query, given.saved, author, administrator=True)
            question = ExportQuestion(target, given.selection(query), options)
            done = _carried_out(invocation, solr, question, given, output, sending)
        except UnknownRun as error:
            raise Failure(f"{error}: leave out --since", Exit.FAILED) from error
        except OSError as error:
            raise Failure(f"{output.out} cannot be written: {error}", Exit.FAILED) from error
    if done is None:
        raise SystemExit(Exit.OK)
    if as_json:
        print_json(done.to_json())
    else:
        _print_summary(done)
    raise SystemExit(Exit.FAILED if done.refusals else Exit.OK if any(done.counts.values()) else Exit.NOTHING)


def _carried_out(
    invocation: Invocation,
    solr: Solr,
    question: ExportQuestion,
    given: Parameters,
    output: OutputParameters,
    sending: Sending,
) -> Exported | None:
    """Run the export and return its result; None if all of it went to standard output."""
    from navlin.export.answers import Unavailable
    from navlin.export.connection import NotAllowed, ServerConnection
    from navlin.export.following import follow
    from navlin.export.writing import PositionFile, send, write_file

    out, position = output.out, output.position
    remote = out.startswith(("http://", "https://"))
    if sending.follow and (not remote or given.since or position):
        raise Failure(
            "--follow needs a server, and cannot be combined with --since or --position", Exit.USAGE
        )
    if sending.full and not sending.follow:
        raise Failure("--full needs --follow", Exit.USAGE)
    if out == "-":
        print_pieces(question.records(question.batches(solr)))
        return None
    if not remote:
        file = Path(out)
        kept = PositionFile(position or file.with_name(file.name + ".position"))
        return write_file(solr, question, file, kept, _print_progress)
    if question.target.send is None:
        raise Failure(f"{question.target.title} has no server to send to: give a file", Exit.USAGE)
    positions = PositionFile(position) if position is not None else None
    try:
        with closing(ServerConnection(sending.address(out, _content))) as connection:
            if sending.follow:
                return follow(
                    solr,
                    sending.follow,
                    question,
                    connection,
                    now_ms=invocation.now_ms,
                    refused=_refused,
                    progress=_print_progress,
                    full=sending.full,
                )
            return send(solr, question, connection, positions, _refused, _print_progress)
    except ValueError as error:
        raise Failure(str(error), Exit.USAGE) from error
    except (Unavailable, NotAllowed) as error:
        again = f"; repeat the command to continue from there ({position})" if position else ""
        raise Failure(f"{error}{again}", Exit.FAILED) from error


def _print_progress(done: Exported) -> None:
    if shows_progress():
        say(f"{sum(done.counts.values()):,} exported so far", on_stderr=True)


def _refused(refused: Any) -> None:
    say(f"refused: {refused.what}: {refused.reason}", on_stderr=True)


def _print_summary(done: Exported) -> None:
    counts = ", ".join(f"{count:,} {kind}" for kind, count in done.counts.items() if count)
    say(f"{counts or 'nothing'} exported" + (f"; {done.refusals:,} refused" if done.refusals else ""))
    if done.until:
        say(f"to export later changes: --since '{done.until}'")
