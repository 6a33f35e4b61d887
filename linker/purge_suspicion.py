"""Plausibility check before a purge, because a wrong clock or a typing error would irrecoverably remove history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from linker.purge_rules import PURGE_RULES
from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import Graph

LEAST: Final = 1_000
"""Maximum number of candidates of one rule for which their share is not checked. The clock is always checked."""
SHARE: Final = 0.5
"""Maximum plausible share of the executions, operations, files or directories to remove at once."""
QUIET_MS: Final = 14 * 86_400_000
"""Maximum age of the newest time reported by any source. If it is older, this machine's clock may be wrong."""
AHEAD_MS: Final = 86_400_000
"""A time further ahead of this machine's clock is an error of the source, and says nothing about this clock."""
_ALL: Final = {
    "directories": EntityFilter(types=("DIRECTORY",)),
    "files": EntityFilter(types=("FILE",)),
    "executions": EntityFilter(types=("OPERATION_EXECUTION",)),
    "operations": EntityFilter(types=("OPERATION",)),
}


@dataclass(frozen=True, slots=True)
class PurgeSuspicion:
    """Reasons to hold a purge, and the number of ``candidates`` older than ``before_ms`` (epoch ms) that a person has
    to accept. The purge is held only if there are reasons.
    """

    reasons: tuple[str, ...]
    candidates: int
    before_ms: int

    @property
    def note(self) -> str:
        """Sentence that explains a held purge; "" if the purge is not held."""
        if not self.reasons:
            return ""
        # The command names a date. It begins before a daily purge's threshold on that day, so no more is removed than
        # was counted.
        before = f"{datetime.fromtimestamp(self.before_ms / 1000).astimezone():%Y-%m-%d}"
        accept = f"if that is right: navlin purge --before {before} --accept {self.candidates}"
        return f"held, nothing was removed: {'; '.join(self.reasons)}; {accept}"


def purge_suspicion(
    graph: Graph, before_ms: int, now_ms: int, *, deleted_files: bool, accepted: int = 0
) -> PurgeSuspicion:
    """Count the candidates of the rules and return the reasons for suspicion. There are none if a person has ``accepted``
    at least as many candidates.
    """
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
    return PurgeSuspicion(() if candidates <= accepted else tuple(reasons), candidates, before_ms)
