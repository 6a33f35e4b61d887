"""What one run marks its documents with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NEVER_MS: Final = (1 << 63) - 1
"""Later than any time."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The id of a run (or of a purge, or of a pass of the linker) and when it started, epoch ms.

    ``believed_ms``: an ``asOf`` in the index that is later was written while a clock was ahead, and counts as the oldest. A
    complete listing sets it, and so heals what such a clock has stamped. Other runs leave such documents as they are: they
    cannot know what has happened in between.
    """

    run_id: str
    now_ms: int
    believed_ms: int = NEVER_MS

    def counted(self, as_of_ms: int) -> int:
        """An ``asOf`` of the index as this run counts it."""
        return as_of_ms if as_of_ms <= self.believed_ms else 0
