"""All output of commands. Control characters in the output are replaced or escaped, except those of rich's own colours.

A test lists every place in navlin that could print in any other manner.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TextIO

import click

from navlin.model.printable import escaped, printable, printable_json

if TYPE_CHECKING:
    from navlin.render.console import CleanConsole

SIGNS: Final = "navlin-signs"
"""Name of the codec error handler that replaces characters that an encoding lacks."""
WIDTH_CHARS: Final = 160
"""Width of an answer that is written to a file or a pipe."""


def _signs(error: UnicodeError) -> tuple[str, int]:
    """Write characters that a terminal's encoding lacks as JSON escapes, so that JSON stays valid."""
    assert isinstance(error, UnicodeEncodeError)
    return escaped(error.object[error.start : error.end]), error.end


codecs.register_error(SIGNS, _signs)


class AnswerLost(Exception):
    """Standard output does not accept the answer; the message says why."""


class _StandardOutput(io.TextIOWrapper):
    """Standard output. A failed write raises `AnswerLost`, which distinguishes it from failures of other files."""

    def write(self, text: str, /) -> int:
        with _lost():
            return super().write(text)

    def flush(self) -> None:
        with _lost():
            super().flush()


@contextmanager
def _lost() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # Otherwise Python would report another failed write when the process exits.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        raise AnswerLost(error.strerror) from None


def prepare_streams() -> None:
    """Make the standard streams replace characters that their encoding lacks. Make standard output raise `AnswerLost`
    if an answer cannot be written."""
    out: TextIO | None = sys.stdout  # None if it was closed
    if out is None or type(out) is io.TextIOWrapper:
        encoding, by_line = (out.encoding, out.line_buffering) if out is not None else ("utf-8", False)
        sys.stdout = _StandardOutput(open(1, "wb", closefd=False), encoding, SIGNS, line_buffering=by_line)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  # as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SIGNS)


@contextmanager
def whole_answer() -> Iterator[None]:
    """Raise `Failure` if the answer cannot be written completely, because the disk is full or the reader has closed the
    pipe."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except AnswerLost as error:
        from navlin.cli.invocation import Exit, Failure

        raise Failure(f"the answer was not written completely: {error}", Exit.FAILED) from None


def say(text: str, *, on_stderr: bool = False, file: Any = None, bold: bool = False) -> None:
    """Print one or more lines of text, with control characters replaced."""
    text = printable(text)
    # The file is passed, because click would replace a stream that is limited to ASCII by its own.
    file = file or (sys.stderr if on_stderr else sys.stdout)
    click.echo(click.style(text, bold=True) if bold else text, file=file)


def confirm(question: str) -> None:
    """Ask a question on standard error, and abort the command unless the answer is yes."""
    click.confirm(printable(question), abort=True, err=True)


def ask_password() -> str:
    """Ask for a password twice, on standard error, without showing the typed text."""
    typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return typed


def print_json(answer: Any) -> None:
    """Print an answer as indented JSON."""
    import orjson

    click.echo(printable_json(orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode()), file=sys.stdout)


def print_pieces(pieces: Iterable[bytes]) -> None:
    """Print JSON in pieces, as they arrive. A piece may end within a character."""
    for text in codecs.iterdecode(pieces, "utf-8"):
        click.echo(printable_json(text), nl=False, file=sys.stdout)


def print_csv(pieces: Iterable[bytes]) -> None:
    """Print CSV or HTML in pieces, as they arrive. A file or a pipe receives the bytes unchanged; a terminal receives
    printable text, without the byte order mark for spreadsheets."""
    from navlin.model.spreadsheet import MARK

    if not sys.stdout.isatty():
        for piece in pieces:
            with _lost():
                sys.stdout.buffer.write(piece)
                sys.stdout.buffer.flush()
        return
    mark = MARK.decode()
    for text in codecs.iterdecode(pieces, "utf-8"):
        click.echo(printable(text.removeprefix(mark)), nl=False, file=sys.stdout)


def is_watched() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr.isatty()


def shows_progress() -> bool:
    """Whether standard error is a terminal, and standard output a file or a pipe."""
    return is_watched() and not sys.stdout.isatty()


def output_width() -> int:
    """Return the width of a printed answer, in characters."""
    return console().width


def console(*, on_stderr: bool = False) -> CleanConsole:
    """Return the console for text output. It is as wide as the terminal; `WIDTH_CHARS` for a file or a pipe."""
    from navlin.render.console import CleanConsole

    to = sys.stderr if on_stderr else sys.stdout
    return CleanConsole(file=to, width=None if to.isatty() else WIDTH_CHARS, highlight=False)


def print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an unexpected error, in place of `sys.excepthook`, because the text may contain a file name with control
    characters."""
    say("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), on_stderr=True)
