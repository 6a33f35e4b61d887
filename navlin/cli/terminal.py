"""The one door through which commands print. Nothing passes it that a terminal would obey, but rich's own colours.

A test lists every place in navlin that could print past it.
"""

from __future__ import annotations

import codecs
import sys
import traceback
from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final

import click

from navlin.model.printable import printable, printable_json

if TYPE_CHECKING:
    from navlin.render.console import CleanConsole

WIDTH_CHARS: Final = 160
"""How wide an answer is that goes into a file or a pipe."""


def say(text: str, *, on_stderr: bool = False, file: Any = None, bold: bool = False) -> None:
    """Prints a sentence or some lines."""
    text = printable(text)
    click.echo(click.style(text, bold=True) if bold else text, file=file, err=on_stderr)


def confirm(question: str) -> None:
    """Asks on standard error; aborts the command unless the answer is yes."""
    click.confirm(printable(question), abort=True, err=True)


def ask_password() -> str:
    """Asks twice, on standard error, and shows nothing of what is typed."""
    typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return typed


def print_json(answer: Any) -> None:
    """Prints an answer for programs."""
    import orjson

    click.echo(printable_json(orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode()))


def print_pieces(pieces: Iterable[bytes]) -> None:
    """Prints an answer for programs piece by piece, as it comes. A piece may end within a letter."""
    for text in codecs.iterdecode(pieces, "utf-8"):
        click.echo(printable_json(text), nl=False)


def print_csv(pieces: Iterable[bytes]) -> None:
    """Prints a table for spreadsheets and programs, as it comes. Into a file or a pipe it goes byte for byte; on a terminal
    the mark for spreadsheets is left out."""
    from navlin.model.spreadsheet import MARK

    if not sys.stdout.isatty():
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    mark = MARK.decode()
    for text in codecs.iterdecode(pieces, "utf-8"):
        click.echo(printable(text.removeprefix(mark)), nl=False)


def shows_progress() -> bool:
    """Whether standard error is a terminal, and the answer goes into a file or a pipe."""
    return sys.stderr.isatty() and not sys.stdout.isatty()


def output_width() -> int:
    """How many characters wide an answer is printed."""
    return console().width


def console(*, on_stderr: bool = False) -> CleanConsole:
    """Where an answer for people is printed: as wide as the terminal, if it is one."""
    from navlin.render.console import CleanConsole

    to = sys.stderr if on_stderr else sys.stdout
    return CleanConsole(file=to, width=None if to.isatty() else WIDTH_CHARS, highlight=False)


def print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What ends the process unforeseen, in place of `sys.excepthook`: an error's text may hold the name of a file."""
    say("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), on_stderr=True)
