"""Decide how to list a bucket: which prefixes, and which ranges of their keys.

Each listing is complete, and proves what is gone. A prefix that may not be listed is left out of that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from extractors.path_filters import PathFilters
from extractors.s3.errors import S3Refused
from extractors.s3.ranges import boundaries, forgotten, joined, saved_ranges
from extractors.s3.service import Bucket
from extractors.s3.splits import BucketSplit, RangeSplit
from navlin.model.image_positions import ENTRIES
from navlin.model.plan import Plan, Positions, SourceTime
from navlin.model.records import Covered, Position, Split
from navlin.model.tree import ROOT

LISTED_MS: Final = "listed_ms"
"""Key of the position that holds the time of the last complete listing, in epoch ms."""
FIRST_RANGES: Final = 16
"""Maximum number of ranges of a prefix that was never listed."""


@dataclass(frozen=True, slots=True)
class BucketPlanning:
    """Settings of a plan. ``prefixes`` are the key prefixes to list (see `prefixes_of`)."""

    filters: PathFilters
    prefixes: tuple[str, ...]
    entries: str
    list_every_ms: int
    objects_in_split: int

    def is_due(self, positions: Positions) -> bool:
        """Whether the bucket is to be listed now."""
        listed_ms: int = positions.values.get(LISTED_MS, 0)
        return positions.complete or not listed_ms or positions.now_ms - listed_ms >= self.list_every_ms

    def plan(self, bucket: Bucket, positions: Positions) -> Plan:
        """Return a plan to list the bucket. Raises an `S3Error`; `S3Refused` only if no prefix may be listed."""
        allowed, refused = self._allowed(bucket)
        saved = saved_ranges(positions.values)
        ranges: list[RangeSplit] = []
        for prefix, large in allowed.items():
            ranges += self._ranges(bucket, prefix, saved, positions.now_ms, large=large)
        starts = {each.after or each.prefix for each in ranges}
        covered = Covered(ROOT, positions.now_ms, matching=self.filters.matching)
        whole: Split = BucketSplit(bucket.region, positions.now_ms, refused)
        clock = SourceTime(bucket.now_ms, f"S3 ({bucket.place})") if bucket.now_ms else None
        return Plan(
            (whole, *ranges),
            (
                Position(LISTED_MS, positions.now_ms),
                Position(ENTRIES, self.entries),
                *forgotten(each for each in sorted(saved) if each not in starts),
            ),
            (covered,),
            source_time=clock,
        )

    def _allowed(self, bucket: Bucket) -> tuple[Mapping[str, bool], tuple[tuple[str, str], ...]]:
        """Return the prefixes that may be listed, and whether each has more objects than a page; and the others with
        S3's answers.
        """
        allowed: dict[str, bool] = {}
        refused: dict[str, S3Refused] = {}
        for prefix in self.prefixes:
            try:
                allowed[prefix] = bucket.locate(prefix)
            except S3Refused as error:
                refused[prefix] = error
        if not allowed:
            raise next(iter(refused.values()))
        return allowed, tuple((prefix, str(error)) for prefix, error in refused.items())

    def _ranges(
        self, bucket: Bucket, prefix: str, saved: Mapping[str, int], as_of_ms: int, *, large: bool
    ) -> Sequence[RangeSplit]:
        known = any(key.startswith(prefix) for key in saved)
        if known:
            starts: Sequence[str] = joined(prefix, saved, self.objects_in_split)
        elif not large:
            starts = ()
        else:
            starts = boundaries(bucket, prefix, "", "", FIRST_RANGES - 1)
        first, ends = ("", *starts), (*starts, "")
        return [
            RangeSplit(prefix, after, until, bucket.region, as_of_ms)
            for after, until in zip(first, ends, strict=True)
        ]


def prefixes_of(include: Sequence[str]) -> tuple[str, ...]:
    """Return the key prefixes that contain all paths of globs: what comes before the first character with a meaning. A
    prefix that begins with another one is left out.
    """
    found: list[str] = []
    for prefix in sorted({_literal(glob) for glob in include}):
        if not any(prefix.startswith(other) for other in found):
            found.append(prefix)
    return tuple(found)


def _literal(glob: str) -> str:
    text = glob.strip("/")
    ends = [at for each in "*?[" if (at := text.find(each)) >= 0]
    return text[: min(ends)] if ends else text
