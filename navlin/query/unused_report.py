"""The answer about unused tables as it goes out: table by table, and the sums at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from navlin.index.fields import solr_date
from navlin.query.unused import Judged, Question, Verdict
from navlin.query.watched import Watched

SIGN_EVERY: Final = 100
"""After so many tables that were read there is a blank."""


@dataclass(slots=True)
class Totals:
    """Sums over tables: how many of each verdict and their bytes, as far as these are known; of the unused also by database
    and owner; how often which reason kept a verdict from being known."""

    tables: Counter[str] = field(default_factory=Counter)
    sizes_bytes: Counter[str] = field(default_factory=Counter)
    unused_tables: Counter[tuple[str, str]] = field(default_factory=Counter)
    unused_bytes: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, judged: Judged) -> None:
        """Counts one more."""
        verdict, size_bytes = judged.verdict.value, judged.below.size_bytes if judged.below else 0
        self.tables[verdict] += 1
        self.sizes_bytes[verdict] += size_bytes
        if judged.verdict is Verdict.UNUSED:
            of = judged.table.database, judged.table.owner
            self.unused_tables[of] += 1
            self.unused_bytes[of] += size_bytes
        elif judged.verdict is Verdict.UNKNOWN:
            self.reasons.update(judged.reasons)

    def to_json(self) -> dict[str, Any]:
        """For each verdict tables and sizeBytes; unusedBy (database, owner, tables, sizeBytes), the most bytes first."""
        verdicts = {
            each.value: {"tables": self.tables[each.value], "sizeBytes": self.sizes_bytes[each.value]}
            for each in Verdict
        }
        by = [
            {"database": database, "owner": owner, "tables": self.unused_tables[of], "sizeBytes": size_bytes}
            for of, size_bytes in self.unused_bytes.most_common()
            for database, owner in [of]
        ]
        return {**verdicts, "unusedBy": by}


def counted(judged: Iterable[Judged], totals: Totals) -> Iterator[Judged]:
    """All are counted; those that were read go no further."""
    for each in judged:
        totals.add(each)
        if each.verdict is not Verdict.USED:
            yield each


def json_pieces(
    question: Question, known: Watched, judged: Iterable[Judged], totals: Totals
) -> Iterator[bytes]:
    """The answer as pieces of one JSON text: days, since, watched, tables (those that were read are left out), totals."""
    head = {"days": question.days, "since": solr_date(question.since_ms), "watched": known.to_json()}
    yield orjson.dumps(head)[:-1] + b',"tables":['
    between = b"\n"
    for number, each in enumerate(judged):
        totals.add(each)
        if each.verdict is not Verdict.USED:
            yield between + orjson.dumps(each.to_json())
            between = b",\n"
        elif number % SIGN_EVERY == 0:
            # Whoever reads takes a long silence for a dead server.
            yield b" "
    yield b'\n],"totals":' + orjson.dumps(totals.to_json()) + b"}\n"
