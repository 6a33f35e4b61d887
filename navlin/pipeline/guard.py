"""The plausibility guard: a full listing that loses too much is not believed without a person's word."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guard:
    """Up to ``floor`` entities may be gone whatever the ratio (one of one table may well have been dropped); beyond it, no
    more than ``ratio`` of what the source held. A listing that came back with nothing at all is never believed."""

    ratio: float = 0.5
    floor: int = 20
    off: bool = False

    def doubt(self, *, lost: int, held: int, read: int) -> str:
        """Why a loss is not believed, in words; empty where it is."""
        if self.off or lost == 0:
            return ""
        if read == 0:
            return f"nothing was read, and all of the {held} entities held would be flagged deleted"
        if lost > self.floor and lost > self.ratio * held:
            return f"{lost} of {held} entities would be flagged deleted, more than {self.ratio:.0%}"
        return ""
