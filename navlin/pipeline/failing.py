"""What failed, in words: without the stacks of the JVM and of Python around what a task raised."""

from __future__ import annotations

from typing import Final

from navlin.index.fields import cut

MESSAGE_CHARS: Final = 2_000
_TRACEBACK: Final = "Traceback (most recent call last):\n"


def in_words(error: BaseException) -> str:
    """The message of an error, or of the one that a Spark task raised where that is what failed."""
    message = str(error)
    _, in_task, traceback = message.rpartition(_TRACEBACK)
    if in_task:
        # Its frames are indented, the error is not: `package.Class: message`, and what Spark adds to it.
        lines = traceback.partition("\n\tat ")[0].splitlines()
        raised = next((line for line in reversed(lines) if line and not line.startswith(" ")), "")
        message = raised.partition(": ")[2] or raised
    elif "\n\tat " in message:
        message = message.partition("\n\tat ")[0]
    return cut(message, MESSAGE_CHARS) or type(error).__name__
