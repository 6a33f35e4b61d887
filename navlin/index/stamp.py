"""What one run marks its documents with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stamp:
    """The id of a run (or of a purge, or of a pass of the linker) and when it started, epoch ms."""

    run_id: str
    now_ms: int
