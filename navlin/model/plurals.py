"""Singular and plural in sentences with counts."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 entity``, ``1,204 entities``."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def agreeing(count: int, one: str, several: str) -> str:
    """Return the form of a verb or a pronoun that agrees with a count."""
    return one if count == 1 else several
