"""Output of verdicts on unused data: one by one, with the totals at the end; or only the largest."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from navlin.index.schema.fields import solr_date
from navlin.query.judged import Judged, Of, Question, Verdict
from navlin.query.watched import Watched

SIGN_EVERY: Final = 100
"""Number of entities after which a blank is sent as a sign of life, if the entity at that position is in use."""


@dataclass(slots=True)
class Totals:
    """Totals of tables, partitions or directories: their number and known bytes for each verdict, and for unused ones
    also by database and owner; and how often each reason prevented a verdict."""

    of: Of = Of.TABLES
    tables: Counter[str] = field(default_factory=Counter)
    sizes_bytes: Counter[str] = field(default_factory=Counter)
    unused_tables: Counter[tuple[str, str]] = field(default_factory=Counter)
    unused_bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, judged: Judged) -> None:
        verdict, size_bytes = judged.verdict.value, judged.size_bytes
        self.tables[verdict] += 1
        self.sizes_bytes[verdict] += size_bytes
        if judged.verdict is Verdict.UNUSED:
            of = judged.database, judged.entity.owner
            self.unused_tables[of] += 1
            self.unused_bytes[of] += size_bytes
        elif judged.verdict is Verdict.UNKNOWN:
            self.reasons.update(judged.reasons)

    def to_json(self) -> dict[str, Any]:
        """JSON keys: each verdict, with tables (or partitions, or directories) and sizeBytes; unusedBy (database,
        owner, tables, sizeBytes), most bytes first."""
        many = self.of.value
        verdicts = {
            each.value: {many: self.tables[each.value], "sizeBytes": self.sizes_bytes[each.value]}
            for each in Verdict
        }
        by = [
            {"database": database, "owner": owner, many: self.unused_tables[of], "sizeBytes": size_bytes}
            for of, size_bytes in self.unused_bytes.most_common()
            for database, owner in [of]
        ]
        return {**verdicts, "unusedBy": by}


def counted(judged: Iterable[Judged], totals: Totals) -> Iterator[Judged]:
    """Add all verdicts to ``totals``, and yield the verdicts other than USED."""
    for each in judged:
        totals.add(each)
        if each.verdict is not Verdict.USED:
            yield each


def largest_unused(judged: Iterable[Judged], most: int) -> list[Judged]:
    """Return the ``most`` unused entities with the most bytes, largest first. All of ``judged`` is consumed."""
    found = (each for each in judged if each.verdict is Verdict.UNUSED)
    return heapq.nlargest(most, found, key=lambda each: each.size_bytes)


def json_pieces(
    question: Question, known: Watched, judged: Iterable[Judged], totals: Totals
) -> Iterator[bytes]:
    """The answer as pieces of one JSON text: days, since, watched, tables (or partitions, or directories; those in use
    are left out), totals."""
    head = {"days": question.days, "since": solr_date(question.since_ms), "watched": known.to_json()}
    yield orjson.dumps(head)[:-1] + f',"{totals.of.value}":['.encode()
    between = b"\n"
    for number, each in enumerate(judged):
        totals.add(each)
        if each.verdict is not Verdict.USED:
            yield between + orjson.dumps(each.to_json())
            between = b",\n"
        elif number % SIGN_EVERY == 0:
            # Clients take a long silence for a dead server.
            yield b" "
    yield b'\n],"totals":' + orjson.dumps(totals.to_json()) + b"}\n"
