from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class RunCounts:
    """Numbers of the records that a run read, by outcome. Nothing is counted twice except as noted."""

    records: int = 0
    """Entities and relations read. Each is also counted by one of the next nine fields."""
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    seen: int = 0
    late: int = 0
    withdrawn: int = 0
    purged: int = 0
    unclaimed: int = 0
    refused: int = 0
    gone_entities: int = 0
    """Number of indexed entities missing from a listing that covers them."""
    gone_relations: int = 0
    reported_entities: int = 0
    """Entities in the index that the source itself reported as deleted."""
    reported_relations: int = 0
    deleted: int = 0
    """Documents flagged deleted, among those counted by the four fields above."""
    linked: int = 0
    """Relations that the linker changed."""
    rejects: int = 0
    failed_splits: int = 0
    complete_listings: int = 0
    """1 if the run covered its whole source. Such a run ends the review of an earlier held run."""

    @classmethod
    def of(cls, counted: Mapping[str, Any]) -> Self:
        """Create from the JSON of a run record. Counts unknown to this version are ignored."""
        return cls(**{each.name: int(counted[each.name]) for each in fields(cls) if each.name in counted})

    def plus(self, **more: int) -> Self:
        """Return a copy in which each number in ``more`` is added to the field of that name."""
        return replace(self, **{name: getattr(self, name) + count for name, count in more.items()})

    def counted(self) -> dict[str, int]:
        """Return the non-zero counts, by name."""
        return {name: count for name, count in asdict(self).items() if count}
