from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args, get_type_hints

import click

from navlin.cli.invocation import Exit, Failure, Invocation, json_option
from navlin.cli.terminal import print_json, print_pieces, say, shows_progress

if TYPE_CHECKING:
    from navlin.export.choosing import Selection
    from navlin.export.connection import Connection
    from navlin.export.name_patterns import NamePattern
    from navlin.export.target import Target
    from navlin.export.writing import Exported, Question
    from navlin.index.solr.solr import Solr

EXAMPLES: Final = """\b
    Examples:
      navlin export {name} --out graph.{suffix}
      navlin export {name} 'type:TABLE AND tags:pii' --out - > pii.{suffix}
      navlin export {name} --since 2026-01-31 --out changes.{suffix}
"""
SENT: Final = """      navlin export {name} --out https://{name}.example:1234 --user navlin --password-file password
"""
_File = click.Path(path_type=Path, dir_okay=False)


class Targets(click.Group):
    """The group with a command for each export target."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from navlin.export.target import targets

        return list(targets())

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a target's command, with the target's own options."""
        from navlin.export.target import targets

        target = targets().get(cmd_name)
        return None if target is None else _command(target)


@click.group("export", cls=Targets, short_help="The graph in the models of others.")
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


@dataclass(frozen=True, slots=True)
class _Asked:
    """The options that all targets have."""

    query: str
    saved: str
    out: str
    since: str
    filters: tuple[str, ...]
    database: str
    table: str
    names: Path | None
    all_executions: bool
    tables_only: bool
    no_texts: bool
    placeholders: bool
    position: Path | None
    follow: str
    full: bool
    user: str
    password_file: Path | None
    token_file: Path | None
    principal: str
    keytab: Path | None
    ca_file: Path | None
    as_json: bool


def _command(target: Target) -> click.Command:
    shared = {each.name for each in fields(_Asked)}

    def export(invocation: Invocation, /, **given: Any) -> None:
        # A target without a server lacks the options about a server, which are then None.
        of_all: dict[str, Any] = {name: given.get(name) for name in shared}
        asked = _Asked(**of_all)
        options = target.options(**{name: value for name, value in given.items() if name not in shared})
        _export(invocation, target, asked, options)

    export.__doc__ = _help(target)
    made: Callable[..., None] = click.pass_obj(export)
    for option in reversed([*_shared_options(target), *_own_options(target)]):
        made = option(made)
    return click.command(target.name, short_help=f"For {target.title}.")(made)


def _help(target: Target) -> str:
    sends = SENT if target.send is not None else ""
    examples = (EXAMPLES + sends).format(name=target.name, suffix=target.suffix)
    return f"The graph for {target.title}. Without QUERY everything.\n\n    {examples}"


def _shared_options(target: Target) -> Iterator[Callable[..., Any]]:
    yield click.argument("query", required=False, default="")
    yield click.option(
        "--saved",
        default="",
        metavar="NAME",
        help="Instead of QUERY: the saved search of this name, or OWNER/NAME.",
    )
    where = "a file, or - for standard output" + ("; or the URL of a server" if target.send else "")
    yield click.option("--out", required=True, metavar="FILE", help=f"Where to: {where}.")
    yield click.option(
        "--since",
        default="",
        metavar="RUN|DATE",
        help="Only what changed since, with what went: the run that the last export named, or a date.",
    )
    yield click.option(
        "--filter", "filters", multiple=True, metavar="QUERY", help="What must match as well. Repeatable."
    )
    yield click.option(
        "-d",
        "--database",
        default="",
        metavar="PATTERN",
        help="Databases of such names alone, and their tables.",
    )
    yield click.option(
        "-t", "--table", default="", metavar="PATTERN", help="Of these the tables of such names."
    )
    yield click.option(
        "-f", "--file", "names", type=_File, metavar="FILE", help="Both from a file of lines database:table."
    )
    yield click.option(
        "--all-executions", is_flag=True, help="All executions of an operation, not the last alone."
    )
    yield click.option("--tables-only", is_flag=True, help="No columns.")
    yield click.option("--no-texts", is_flag=True, help="No texts of queries and views, and no expressions.")
    yield click.option(
        "--placeholders",
        is_flag=True,
        help="Also inputs and outputs that the index does not have, by their names.",
    )
    yield click.option(
        "--position",
        type=_File,
        metavar="FILE",
        help="Where to keep how far it came, if it is cut off; beside the file that is written without it.",
    )
    if target.send is not None:
        yield click.option(
            "--follow",
            default="",
            metavar="NAME",
            help="Only what changed since the last export of this name; everything the first time.",
        )
        yield click.option("--full", is_flag=True, help="With --follow: everything once more.")
        yield click.option("--user", default="", help="Who logs in to the server.")
        yield click.option("--password-file", type=_File, help="The file with that user's password.")
        yield click.option("--token-file", type=_File, help="The file with a token for the server.")
        yield click.option("--principal", default="", help="Who logs in by Kerberos.")
        yield click.option("--keytab", type=_File, help="The keytab of that principal.")
        yield click.option(
            "--ca-file", type=_File, help="Authorities to believe instead of the system's, PEM."
        )
    yield json_option


def _own_options(target: Target) -> Iterator[Callable[..., Any]]:
    hints = get_type_hints(target.options, include_extras=True)
    for each in fields(target.options):
        kind, text = get_args(hints[each.name])[:2]
        name = f"--{each.name.replace('_', '-')}"
        if kind is bool:
            names = f"{name}/--no-{name[2:]}" if each.default is True else name
            yield click.option(names, each.name, is_flag=True, default=each.default, help=text)
        else:
            yield click.option(
                name, each.name, type=kind, default=each.default, show_default=bool(each.default), help=text
            )


# -- Carried out -----------------------------------------------------------------------------------------------------------


def _export(invocation: Invocation, target: Target, asked: _Asked, options: Any) -> None:
    from navlin.export.choosing import NotExportable
    from navlin.export.writing import Question
    from navlin.index.journal.removals import UnknownRun

    with invocation.solr() as solr:
        try:
            selection = _selection(invocation, solr, asked)
            done = _carried_out(invocation, solr, Question(target, selection, options), asked)
        except NotExportable as error:
            raise Failure(str(error), Exit.USAGE) from error
        except UnknownRun as error:
            raise Failure(f"{error}: leave out --since", Exit.FAILED) from error
        except OSError as error:
            raise Failure(f"{asked.out} cannot be written: {error}", Exit.FAILED) from error
    if done is None:
        raise SystemExit(Exit.OK)
    if asked.as_json:
        print_json(done.to_json())
    else:
        _print_summary(done)
    raise SystemExit(Exit.FAILED if done.refusals else Exit.OK if any(done.counts.values()) else Exit.NOTHING)


def _selection(invocation: Invocation, solr: Solr, asked: _Asked) -> Selection:
    from navlin.export.choosing import Selection, since
    from navlin.query.saved import query_or_saved

    try:
        since_run, since_ms = since(asked.since)
    except ValueError as error:
        raise Failure(str(error), Exit.USAGE) from error
    return Selection(
        query_or_saved(solr, asked.query, asked.saved, invocation.author().name, administrator=True)
        if asked.query or asked.saved
        else "",
        asked.filters,
        since_run,
        since_ms,
        asked.all_executions,
        asked.tables_only,
        not asked.no_texts,
        asked.placeholders,
        tuple(_named(asked)),
    )


def _named(asked: _Asked) -> Iterator[NamePattern]:
    from navlin.export.name_patterns import BadPattern, NamePattern, patterns_of_lines

    try:
        if asked.names is not None:
            yield from patterns_of_lines(asked.names.read_text().splitlines())
        elif asked.database or asked.table:
            yield NamePattern(asked.database, asked.table)
    except (BadPattern, OSError, UnicodeDecodeError) as error:
        raise Failure(str(error), Exit.USAGE) from error


def _carried_out(invocation: Invocation, solr: Solr, question: Question, asked: _Asked) -> Exported | None:
    """Run the export and return its result; None if all of it went to standard output."""
    from navlin.export.answers import Unavailable
    from navlin.export.connection import NotAllowed
    from navlin.export.following import follow
    from navlin.export.writing import Positions, send, write_file
    from navlin.index.journal.leases import Leased, LeaseLost

    remote = asked.out.startswith(("http://", "https://"))
    if asked.follow and (not remote or asked.since or asked.position):
        raise Failure(
            "--follow needs a server, and cannot be combined with --since or --position", Exit.USAGE
        )
    if asked.full and not asked.follow:
        raise Failure("--full needs --follow", Exit.USAGE)
    if asked.out == "-":
        print_pieces(question.records(question.batches(solr)))
        return None
    if not remote:
        file = Path(asked.out)
        kept = Positions(asked.position or file.with_name(file.name + ".position"))
        return write_file(solr, question, file, kept, _print_progress)
    if question.target.send is None:
        raise Failure(f"{question.target.title} has no server to send to: give a file", Exit.USAGE)
    positions = Positions(asked.position) if asked.position is not None else None
    try:
        with _connected(asked) as connection:
            if asked.follow:
                now_ms = invocation.now_ms
                return follow(
                    solr,
                    asked.follow,
                    question,
                    connection,
                    now_ms=now_ms,
                    refused=_refused,
                    progress=_print_progress,
                    full=asked.full,
                )
            return send(solr, question, connection, positions, _refused, _print_progress)
    except ValueError as error:
        raise Failure(str(error), Exit.USAGE) from error
    except (Leased, LeaseLost) as error:
        raise Failure(str(error), Exit.BUSY) from error
    except (Unavailable, NotAllowed) as error:
        again = f"; repeat the command to continue from there ({asked.position})" if asked.position else ""
        raise Failure(f"{error}{again}", Exit.FAILED) from error


@contextmanager
def _connected(asked: _Asked) -> Iterator[Connection]:
    from navlin.export.connection import Address, Connection
    from navlin.kerberos.client import Login

    try:
        address = Address(
            asked.out,
            asked.user,
            _secret(asked.password_file),
            _secret(asked.token_file),
            Login(asked.principal, str(asked.keytab)) if asked.principal and asked.keytab else None,
            asked.ca_file,
        )
    except ValueError as error:
        raise Failure(str(error), Exit.USAGE) from error
    connection = Connection(address)
    try:
        yield connection
    finally:
        connection.close()


def _secret(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{file} cannot be read: {error}", Exit.USAGE) from error


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
