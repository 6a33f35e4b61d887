"""The plausibility of a purge: a wrong clock or a typing error would irrecoverably remove history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from linker.purge_rules import PURGE_RULES
from navlin.index.filters import EntityFilter
from navlin.index.graph import Graph

LEAST: Final = 1_000
"""Up to so many candidates are never doubted for their share. A clock is doubted whatever their number."""
SHARE: Final = 0.5
"""Share of executions, of operations, and of files and directories: more would be half of the history at once."""
QUIET_MS: Final = 14 * 86_400_000
"""If no source has reported anything newer, the clock may be wrong instead."""
AHEAD_MS: Final = 86_400_000
"""A time further ahead is an error of its source, and says nothing about this machine's clock."""
_ALL: Final = {
    "directories": EntityFilter(types=("DIRECTORY",)),
    "files": EntityFilter(types=("FILE",)),
    "executions": EntityFilter(types=("OPERATION_EXECUTION",)),
    "operations": EntityFilter(types=("OPERATION",)),
}


@dataclass(frozen=True, slots=True)
class Doubt:
    """The reasons why a purge is held, and the number of ``candidates`` older than that moment (epoch ms) that a person
    has to accept. Without reasons it is not held."""

    reasons: tuple[str, ...]
    candidates: int
    before_ms: int

    @property
    def note(self) -> str:
        """The sentence for a person; "" if the purge is not held."""
        if not self.reasons:
            return ""
        # The day of a daily purge's moment begins earlier, so that no more is removed than was counted.
        before = f"{datetime.fromtimestamp(self.before_ms / 1000).astimezone():%Y-%m-%d}"
        accept = f"if that is right: navlin purge --before {before} --accept {self.candidates}"
        return f"held, nothing was removed: {'; '.join(self.reasons)}; {accept}"


def purge_doubt(
    graph: Graph, before_ms: int, now_ms: int, *, deleted_files: bool, accepted: int = 0
) -> Doubt:
    """Counts the candidates of the rules. A person accepted ``accepted`` candidates, and not one more."""
    reasons, candidates = [], 0
    for rule in PURGE_RULES:
        if rule.ours and not deleted_files:
            continue
        aged = graph.count_entities(rule.candidates(before_ms))
        candidates += aged
        every = graph.count_entities(_ALL[rule.name])
        if aged > LEAST and aged > SHARE * every:
            reasons.append(f"{aged:,} of {every:,} {rule.name} are older than that")
    newest_ms = graph.newest_told_ms(now_ms + AHEAD_MS)
    if newest_ms and now_ms - newest_ms > QUIET_MS:
        days = (now_ms - newest_ms) // 86_400_000
        reasons.append(
            f"nothing was executed or modified in the last {days} days: is this machine's clock right?"
        )
    return Doubt(() if candidates <= accepted else tuple(reasons), candidates, before_ms)
