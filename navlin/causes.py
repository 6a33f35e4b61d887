"""Root cause of an error, because libraries wrap errors in one another."""

from __future__ import annotations


def innermost(error: BaseException) -> str:
    """Return the message of the error that caused all others; the name of its type if it has no message."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return str(error) or type(error).__name__
