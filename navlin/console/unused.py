"""``/unused``: data without a known read for a number of days, with sizes and evidence.

A complete check may take too long for a page. So the page checks as much as it can within `LOOKS_S`, and says how much
that was. The download checks everything.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.console.pages import address
from navlin.query.unused_places import usages_of
from navlin.query.unused_report import Totals, counted, largest_unused
from navlin.query.usage_status import EntityUsage, JudgedKind, UsageQuestion
from navlin.questions.unused import ENGINES, KINDS, MOST_DAYS, Engine, Kind

LOOKS_S: Final = 5.0
"""Time limit for the checks of the page, in seconds. It may be exceeded, because it is checked only between
results."""
LISTED: Final = 100
REASONS_LISTED: Final = 30
DAYS: Final = 90
"""Number of days that the form shows at first."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """The options of ``navlin unused``, without ``csv``. If ``days`` is 0, the page shows only the form."""

    days: Annotated[
        int, "Period without a recorded read, in days; 0 shows only the form.", range(MOST_DAYS + 1)
    ] = 0
    of: Annotated[Kind, "Tables, partitions or directories."] = "tables"
    without_engine: Annotated[tuple[Engine, ...], "Assume that nothing reads with this engine."] = ()
    despite_gaps: Annotated[bool, "Assume that gaps contain no reads."] = False


@dataclass(slots=True)
class _Look:
    """Progress of the checks: ``done`` of ``every`` tables or directories, as far as known. ``cut`` is set if the time
    ran out."""

    until_s: float
    done: int = 0
    every: int = 0
    cut: bool = False

    def progress(self, done: int, every: int) -> None:
        """Record the progress. Raise `_TimeOver` if the time has run out, because the next result may take much
        longer."""
        self.done, self.every = done, every
        if time.monotonic() > self.until_s and done < every:
            raise _TimeOver

    def in_time(self, usages: Iterable[EntityUsage]) -> Iterator[EntityUsage]:
        """Yield the verdicts until the time runs out."""
        try:
            for each in usages:
                yield each
                if time.monotonic() > self.until_s:
                    self.cut = True
                    return
        except _TimeOver:
            self.cut = True


class _TimeOver(Exception):
    """The time for the checks has run out."""


def _values(request: ApiRequest) -> Mapping[str, Any]:
    given: Parameters = request.parameters
    values = {
        "given": given,
        "days": given.days or DAYS,
        "kinds": KINDS,
        "engines": ENGINES,
        "download": address(given, days=given.days or DAYS),
        "totals": None,
    }
    if not given.days:
        return values
    question = UsageQuestion(given.days, request.service.now_ms(), given.without_engine, given.despite_gaps)
    totals, look = Totals(JudgedKind(given.of)), _Look(time.monotonic() + LOOKS_S)
    known, usages = usages_of(request.solr, question, totals.of, look.progress)
    largest = largest_unused(counted(look.in_time(usages), totals), LISTED)
    return {
        **values,
        "totals": totals.to_json(),
        "many": given.of,
        "listed": [each.to_json() for each in largest],
        "known": known,
        "reasons": totals.reasons.most_common(REASONS_LISTED),
        "cut": look.cut,
        "looked_at": max(look.done, sum(totals.tables.values()) if totals.of is JudgedKind.TABLES else 0),
        "every": look.every,
        "since_ms": question.since_ms,
    }


PAGE = ConsolePage("/unused", "Unused tables", Parameters, _values, menu="Unused tables")
