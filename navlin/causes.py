"""The root cause of an error: libraries wrap errors in one another."""

from __future__ import annotations


def innermost(error: BaseException) -> str:
    """The message of the error that caused all others."""
    while (cause := error.__cause__ or error.__context__) is not None:
        error = cause
    return str(error) or type(error).__name__
