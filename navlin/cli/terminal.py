"""The only way for commands to print. Nothing that a terminal would obey passes it, except rich's own colours.

A test lists every place in navlin that could print past it.
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

from navlin.model.printable import printable, printable_json

if TYPE_CHECKING:
    from navlin.render.console import CleanConsole

SIGNS: Final = "navlin-signs"
"""Python's name for the error handler that replaces letters that an encoding lacks."""
WIDTH_CHARS: Final = 160
"""Width of an answer that goes into a file or a pipe."""


def _signs(error: UnicodeError) -> tuple[str, int]:
    """Write letters that a terminal's encoding lacks as JSON escapes, so that JSON stays valid."""
    assert isinstance(error, UnicodeEncodeError)
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    signs = (f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))
    return "".join(signs), error.end


codecs.register_error(SIGNS, _signs)


class AnswerLost(Exception):
    """Standard output does not accept the answer; the text says why."""


class _Answer(io.TextIOWrapper):
    """Standard output with failures that are told from those of all other files."""

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
        # Otherwise Python would complain once more when it ends.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
        raise AnswerLost(error.strerror) from None


def prepare_streams() -> None:
    """From now on, replace letters that an encoding lacks, and raise `AnswerLost` if an answer cannot be written."""
    out: TextIO | None = sys.stdout  # None if it was closed
    if out is None or type(out) is io.TextIOWrapper:
        encoding, by_line = (out.encoding, out.line_buffering) if out is not None else ("utf-8", False)
        sys.stdout = _Answer(open(1, "wb", closefd=False), encoding, SIGNS, line_buffering=by_line)  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115  # as long as the process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SIGNS)


@contextmanager
def whole_answer() -> Iterator[None]:
    """End the command with a sentence if its answer is not written completely: the disk is full, or the reader has gone."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except AnswerLost as error:
        from navlin.cli.invocation import Exit, Failure

        raise Failure(f"the answer was not written whole: {error}", Exit.FAILED) from None


def say(text: str, *, on_stderr: bool = False, file: Any = None, bold: bool = False) -> None:
    """Print a sentence or some lines."""
    text = printable(text)
    # Named, because click replaces a stream that is limited to ASCII by one of its own.
    file = file or (sys.stderr if on_stderr else sys.stdout)
    click.echo(click.style(text, bold=True) if bold else text, file=file)


def confirm(question: str) -> None:
    """Ask on standard error; abort the command unless the answer is yes."""
    click.confirm(printable(question), abort=True, err=True)


def ask_password() -> str:
    """Ask twice, on standard error, without showing the typed text."""
    typed: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return typed


def print_json(answer: Any) -> None:
    """Print an answer for programs."""
    import orjson

    click.echo(printable_json(orjson.dumps(answer, option=orjson.OPT_INDENT_2).decode()), file=sys.stdout)


def print_pieces(pieces: Iterable[bytes]) -> None:
    """Print an answer for programs piece by piece, as it comes. A piece may end within a letter."""
    for text in codecs.iterdecode(pieces, "utf-8"):
        click.echo(printable_json(text), nl=False, file=sys.stdout)


def print_csv(pieces: Iterable[bytes]) -> None:
    """Print a table for spreadsheets and programs, as it comes: byte for byte into a file or a pipe; on a terminal,
    without the mark for spreadsheets."""
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
    """Whether standard error is a terminal, and the answer goes into a file or a pipe."""
    return is_watched() and not sys.stdout.isatty()


def output_width() -> int:
    """Width of a printed answer, in characters."""
    return console().width


def console(*, on_stderr: bool = False) -> CleanConsole:
    """Return the console on which an answer for people is printed: as wide as the terminal, if it is one."""
    from navlin.render.console import CleanConsole

    to = sys.stderr if on_stderr else sys.stdout
    return CleanConsole(file=to, width=None if to.isatty() else WIDTH_CHARS, highlight=False)


def print_traceback(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an unforeseen error, in place of `sys.excepthook`: its text may contain the name of a file."""
    say("".join(traceback.format_exception(kind, error, trace)).rstrip("\n"), on_stderr=True)
