"""Counts in sentences: here alone is decided what goes with one and what with several."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A count and what is counted: ``1 entity``, ``1,204 entities``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def agreeing(count: int, one: str, several: str) -> str:
    """The form of a verb or a pronoun that goes with a count."""
    return one if count == 1 else several
