"""Root cause of an error that libraries have wrapped in other errors."""

from __future__ import annotations


def innermost(error: BaseException) -> str:
    """Return the root cause's message, or its type name if the message is empty."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return str(error) or type(error).__name__
