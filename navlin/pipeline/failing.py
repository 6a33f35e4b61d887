"""Extracts error messages, without the stack traces that the JVM and Python add to an error raised in a task."""

from __future__ import annotations

from typing import Final

from navlin.index.schema.fields import cut
from navlin.urls import without_userinfo

MESSAGE_CHARS: Final = 2_000
_FAULTS: Final = (
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    NameError,
    RecursionError,
)
"""Errors that Python raises because of a bug. Their message alone, such as ``'mtime_ns'``, is meaningless, so the name
of the class is added."""
_FAULT_NAMES: Final = frozenset(
    each.__name__ for each in (*_FAULTS, KeyError, IndexError, ZeroDivisionError, OverflowError)
)
_TRACEBACK: Final = "Traceback (most recent call last):\n"


def in_words(error: BaseException) -> str:
    """Return the message of an error, or of the original error if a Spark task raised it, without the users and
    passwords of URLs."""
    message = str(error)
    if isinstance(error, _FAULTS) and type(error).__module__ == "builtins":
        message = f"{type(error).__name__}: {message}"
    _, in_task, traceback = message.rpartition(_TRACEBACK)
    if in_task:
        # Frames are indented; the line of the error (`package.Class: message`) is not. The JVM's frames follow.
        lines = traceback.partition("\n\tat ")[0].splitlines()
        raised = next((line for line in reversed(lines) if line and not line.startswith(" ")), "")
        kind, _, text = raised.partition(": ")
        message = raised if kind in _FAULT_NAMES else text or raised
    elif "\n\tat " in message:
        message = message.partition("\n\tat ")[0]
    return cut(without_userinfo(message), MESSAGE_CHARS) or type(error).__name__
