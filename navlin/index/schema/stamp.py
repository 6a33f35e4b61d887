"""The stamp that a run leaves on the documents it writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

NEVER_MS: Final = (1 << 63) - 1
"""A time later than any other."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The id of a run (or of a purge, or of a pass of the linker) and its start, epoch ms.

    An ``asOf`` in the index later than ``believed_ms`` was written while a clock was ahead, and counts as the oldest. A
    complete listing sets ``believed_ms``, and so repairs wrong times. Other runs leave documents with wrong times
    unchanged, because they cannot know about changes in the meantime.
    """

    run_id: str
    now_ms: int
    believed_ms: int = NEVER_MS

    def counted(self, as_of_ms: int) -> int:
        """Return an ``asOf`` of the index, or 0 if it is later than ``believed_ms``."""
        return as_of_ms if as_of_ms <= self.believed_ms else 0
