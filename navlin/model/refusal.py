"""Refusals: the sentence by which a question or a change is rejected, the same on every door."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final


class Refusal(Exception):
    """Its text gives the error and a remedy. ``status`` is HTTP's number for it, from which a command's exit code
    follows; ``more`` is plain JSON that goes with the sentence: candidates, suggestions, known names."""

    status: int = 400
    more: Mapping[str, Any] = MappingProxyType({})


LISTED: Final = ("suggestions", "candidates")
"""Keys of ``more`` that list entities: id, name, type, sourceType, deleted."""


def with_entities(message: str, more: Mapping[str, Any]) -> str:
    """The sentence as a terminal shows it: below it a line for each entity that may be meant."""
    lines = [message]
    for each in (each for key in LISTED for each in more.get(key, ())):
        source, deleted = each.get("sourceType", ""), " (deleted)" if each.get("deleted") else ""
        lines.append(
            "  " + "  ".join(filter(None, (each["name"] + deleted, each["type"], source, each["id"])))
        )
    return "\n".join(lines)
