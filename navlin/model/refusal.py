"""Refusals of a question or a change, with the same message in every interface."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final


class Refusal(Exception):
    """A question or a change was refused. The message gives the error and a remedy. ``status`` is the HTTP status,
    which also determines a command's exit code. ``more`` is plain JSON sent with the message: candidates, suggestions,
    known names."""

    status: int = 400
    more: Mapping[str, Any] = MappingProxyType({})


LISTED: Final = ("suggestions", "candidates")
"""Keys of ``more`` that list entities: id, name, type, sourceType, deleted."""


def with_entities(message: str, more: Mapping[str, Any]) -> str:
    """Return the message for a terminal, followed by a line for each entity that the user may mean."""
    lines = [message]
    for each in (each for key in LISTED for each in more.get(key, ())):
        source, deleted = each.get("sourceType", ""), " (deleted)" if each.get("deleted") else ""
        lines.append(
            "  " + "  ".join(filter(None, (each["name"] + deleted, each["type"], source, each["id"])))
        )
    return "\n".join(lines)
