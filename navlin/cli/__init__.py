"""The command line: ``navlin COMMAND``. Each command has its own small module, which is loaded when the command is
called."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any, Final

import click

from navlin.cli.invocation import EXITS, Exit, Failure, Invocation
from navlin.cli.terminal import prepare_streams, print_traceback, whole_answer
from navlin.model.printable import printable
from navlin.model.refusal import Refusal, with_entities
from navlin.own_environment import open_standard_streams, shut_out, speak_utf_8
from navlin.own_packages import ForeignPackage, verify_own_packages
from navlin.questions import NAMES
from navlin.service import DEFAULT_FILE, FILE_VARIABLE

COMMANDS: Final = (
    "serve",
    *NAMES,
    "check",
    "forget",
    "annotations",
    "export",
    "web",
    "user",
    "token",
    "host-token",
    "forward",
    "backup",
    "restore",
    "index",
    "demo",
)
"""Names of the commands, in the order of ``--help``. The module ``navlin.cli.NAME`` defines ``command``, except for
commands that are made from questions."""


class Commands(click.Group):
    """The group of all commands. Each is imported only when needed, so that a query of the index loads neither Spark
    nor the extractors."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in NAMES:
            from navlin.cli.questions import command as of_question

            return of_question(cmd_name)
        command: click.Command = importlib.import_module(f"navlin.cli.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the typed command; with ``--url``, a variant that sends requests to a server."""
        name, command, rest = super().resolve_command(ctx, args)
        if name and command and (url := ctx.params.get("url")):
            from navlin.cli.remote import over_http
            from navlin.cli.server import RunningServer

            command = over_http(name, command, RunningServer(url, ctx.params["token_file"]))
        return name, command, rest

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Prepare the streams, and parse the command line."""
        sys.excepthook = print_traceback
        open_standard_streams()
        prepare_streams()
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            error.message = printable(error.message)  # type: ignore[misc]  # click declares it final, and prints it itself
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Convert an error that the user can do something about to a sentence and an exit code."""
        try:
            with whole_answer():
                return super().invoke(ctx)
        except click.ClickException as error:
            # click prints these errors itself. They repeat the typed text, in which a shell may have expanded file
            # names.
            error.message = printable(error.message)  # type: ignore[misc]  # click declares it final
            raise
        except (click.exceptions.Exit, click.Abort):
            raise
        except Refusal as refusal:
            said = with_entities(str(refusal), refusal.more)
            raise Failure(said, EXITS.get(refusal.status, Exit.FAILED)) from refusal
        except Exception as error:
            if (code := _exit_code(error)) is not None:
                raise Failure(str(error), code) from error
            raise


def _exit_code(error: Exception) -> Exit | None:
    """Return the exit code of an error whose message is all that the user needs; None for any other error. The error
    classes are imported only here, because a successful command does not need them."""
    from navlin.index.admin.cores import NotCreated
    from navlin.index.admin.schema import UnusableIndex
    from navlin.index.journal.leases import Leased, LeaseLost
    from navlin.index.solr.solr import SolrError
    from navlin.index.write.rewriting import TooManyConflicts
    from navlin.service.loader import ExtractorNotLoaded, SharedIdentity
    from navlin.service.settings.configuration import BadConfiguration
    from navlin.solr_server.embedded import NoSolr, StateInUse
    from navlin.solr_server.jars import JarsNotFetched

    if isinstance(error, BadConfiguration):
        return Exit.USAGE
    if isinstance(error, StateInUse | Leased | LeaseLost):
        return Exit.BUSY
    if isinstance(
        error,
        NoSolr
        | SolrError
        | NotCreated
        | UnusableIndex
        | TooManyConflicts
        | JarsNotFetched
        | ExtractorNotLoaded
        | SharedIdentity,
    ):
        return Exit.FAILED
    return None


OTHERS_NOTHING: Final = 0o077
EPILOG = """\b
Exit codes:
  0  success
  1  failure; the message says why
  2  wrong command line or configuration
  3  nothing found
  4  on hold: too much would be flagged deleted, or purged; review it
  5  another navlin process holds the lock
"""


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar=FILE_VARIABLE,
    default=DEFAULT_FILE,
    show_default=True,
    show_envvar=True,
    help="The configuration.",
)
@click.option(
    "--url",
    metavar="URL",
    envvar="NAVLIN_URL",
    show_envvar=True,
    help="URL of a navlin server to query instead of the local index, such as https://navlin.example:7187.",
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="NAVLIN_TOKEN_FILE",
    show_envvar=True,
    help="The file with the token for --url.",
)
@click.version_option(package_name="navlin", message="%(version)s")
@click.pass_context
def main(context: click.Context, *, file: Path, url: str | None, token_file: Path | None) -> None:
    """Metadata and lineage of a Hadoop and Spark estate: extracted, linked, searched and purged, in Solr."""
    # The files of navlin and its child processes contain extracted data and the index's password, so only their owner
    # may read them.
    before = os.umask(OTHERS_NOTHING)
    context.call_on_close(lambda: os.umask(before))
    speak_utf_8(os.environ)
    left_out = shut_out(os.environ, sys.path)
    try:
        verify_own_packages()
    except ForeignPackage as error:
        raise Failure(str(error), Exit.FAILED) from error
    context.obj = Invocation(file, os.environ, left_out)
