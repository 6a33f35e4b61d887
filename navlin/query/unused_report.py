"""Output of verdicts on unused data: one by one, with the totals at the end; or only the largest."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from navlin.index.schema.fields import solr_date
from navlin.query.read_coverage import ReadCoverage
from navlin.query.usage_status import EntityUsage, JudgedKind, UsageQuestion, UsageStatus

SIGN_EVERY: Final = 100
"""Number of entities after which a blank is sent as a sign of life, if the entity at that position is in use."""


@dataclass(slots=True)
class Totals:
    """Totals of tables, partitions or directories: their number and known bytes for each verdict, and for unused ones
    also by database and owner; and how often each reason prevented a verdict."""

    of: JudgedKind = JudgedKind.TABLES
    tables: Counter[str] = field(default_factory=Counter)
    sizes_bytes: Counter[str] = field(default_factory=Counter)
    unused_tables: Counter[tuple[str, str]] = field(default_factory=Counter)
    unused_bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, usages: EntityUsage) -> None:
        status, size_bytes = usages.status.value, usages.size_bytes
        self.tables[status] += 1
        self.sizes_bytes[status] += size_bytes
        if usages.status is UsageStatus.UNUSED:
            of = usages.database, usages.entity.owner
            self.unused_tables[of] += 1
            self.unused_bytes[of] += size_bytes
        elif usages.status is UsageStatus.UNKNOWN:
            self.reasons.update(usages.reasons)

    def to_json(self) -> dict[str, Any]:
        """JSON keys: each verdict, with tables (or partitions, or directories) and sizeBytes; unusedBy (database,
        owner, tables, sizeBytes), most bytes first."""
        many = self.of.value
        statuses = {
            each.value: {many: self.tables[each.value], "sizeBytes": self.sizes_bytes[each.value]}
            for each in UsageStatus
        }
        by = [
            {"database": database, "owner": owner, many: self.unused_tables[of], "sizeBytes": size_bytes}
            for of, size_bytes in self.unused_bytes.most_common()
            for database, owner in [of]
        ]
        return {**statuses, "unusedBy": by}


def counted(usages: Iterable[EntityUsage], totals: Totals) -> Iterator[EntityUsage]:
    """Add all verdicts to ``totals``, and yield the verdicts other than USED."""
    for each in usages:
        totals.add(each)
        if each.status is not UsageStatus.USED:
            yield each


def largest_unused(usages: Iterable[EntityUsage], most: int) -> list[EntityUsage]:
    """Return the ``most`` unused entities with the most bytes, largest first. All of ``usages`` is consumed."""
    found = (each for each in usages if each.status is UsageStatus.UNUSED)
    return heapq.nlargest(most, found, key=lambda each: each.size_bytes)


def json_pieces(
    question: UsageQuestion, known: ReadCoverage, usages: Iterable[EntityUsage], totals: Totals
) -> Iterator[bytes]:
    """The answer as pieces of one JSON text: days, since, watched, tables (or partitions, or directories; those in use
    are left out), totals."""
    head = {"days": question.days, "since": solr_date(question.since_ms), "watched": known.to_json()}
    yield orjson.dumps(head)[:-1] + f',"{totals.of.value}":['.encode()
    between = b"\n"
    for number, each in enumerate(usages):
        totals.add(each)
        if each.status is not UsageStatus.USED:
            yield between + orjson.dumps(each.to_json())
            between = b",\n"
        elif number % SIGN_EVERY == 0:
            # Clients take a long silence for a dead server.
            yield b" "
    yield b'\n],"totals":' + orjson.dumps(totals.to_json()) + b"}\n"
