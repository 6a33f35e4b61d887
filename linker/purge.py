"""Purge: remove old data while everything else continues to run.

The rules are in `linker.purge_rules`. Candidates are read in the order of their ids. Each batch is recorded before its
first removal, and its result afterwards. An interrupted purge therefore continues at that point, with its original
threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, NamedTuple

from linker import purge_forecast as forecast
from linker import purge_removal as removal
from linker.linking import Linking
from linker.purge_removal import RemovalBatch
from linker.purge_rules import CHANGED, NEVER, PURGE_RULES, Never, PurgeRule
from linker.purge_suspicion import purge_suspicion
from navlin.index.graph.entity import PURGE, StoredEntity
from navlin.index.graph.graph import Graph
from navlin.index.journal.holder import Holder, Lives, may_live
from navlin.index.journal.inheritance_due import note_due
from navlin.index.journal.leases import LEASE_S, Lease, Leased, LeaseLost, lease
from navlin.index.journal.purges import PURGE as LEASE
from navlin.index.journal.purges import (
    PurgeRecord,
    close_purge,
    open_purge,
    remember_purged_before,
    save_purge,
)
from navlin.index.journal.rejects import expire_rejects, old_rejects
from navlin.index.journal.removals import expire_removals
from navlin.index.solr.solr import Solr
from navlin.index.write.graph_changes import GraphChanges
from navlin.model.batches import in_batches

HELD: Final = "held"
BATCH: Final = 500
BATCHES_A_COMMIT: Final = 20
EXAMPLES: Final = 5


class _Step(NamedTuple):
    prepare: removal.Prepare
    remove: removal.Remove
    forecast: forecast.Forecast


_STEPS: Final[dict[str, _Step]] = {
    "directories": _Step(removal.prepare_directories, removal.remove_paths, forecast.of_directories),
    "files": _Step(removal.prepare_files, removal.remove_paths, forecast.of_files),
    "executions": _Step(removal.prepare_executions, removal.remove_executions, forecast.of_executions),
    "operations": _Step(removal.prepare_operations, removal.remove_operations, forecast.of_operations),
}


@dataclass(slots=True)
class Tally:
    """Result of one rule, or its forecast in a dry run. ``kept`` maps reasons to the number of candidates kept."""

    candidates: int = 0
    removed: int = 0
    relations: int = 0
    unlinked: int = 0
    kept: dict[str, int] = field(default_factory=dict)
    examples: list[str] = field(default_factory=list)
    kept_examples: dict[str, list[str]] = field(default_factory=dict)

    def keep(self, reason: str, names: Collection[str]) -> None:
        """Count candidates that are kept for a reason."""
        if names:
            self.kept[reason] = self.kept.get(reason, 0) + len(names)
            shown = self.kept_examples.setdefault(reason, [])
            shown.extend(list(names)[: EXAMPLES - len(shown)])


@dataclass(frozen=True, slots=True)
class NeverReport:
    """A kind of entity that purge never removes, and the number of those that are old enough."""

    never: Never
    count: int


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """Result of a purge, or its forecast.

    ``status``: finished, stopped (on request; the next one continues), leased (ignored because another purge is
    running), or held (a person must decide). ``note`` explains the status to users. ``rejects`` is the number of
    rejects removed because they were last seen before ``before_ms``.
    """

    before_ms: int
    status: str
    dry_run: bool
    resumed: bool = False
    note: str = ""
    rules: tuple[tuple[PurgeRule, Tally], ...] = ()
    never: tuple[NeverReport, ...] = ()
    rejects: int = 0


def purge(
    solr: Solr,
    before_ms: int,
    *,
    clock: Callable[[], int],
    holder: Holder | None = None,
    lives: Lives = may_live,
    lease_s: float = LEASE_S,
    dry_run: bool = False,
    deleted_files: bool = True,
    accepted: int = 0,
    stop: Callable[[], bool] = lambda: False,
    batch: int = BATCH,
) -> PurgeReport:
    """Remove data older than ``before_ms`` by the rules; without ``deleted_files``, only by Navigator's own rules.

    An unfinished purge is continued instead, with the threshold and the rules it began with. ``clock`` returns epoch
    ms; ``holder``, ``lives`` and ``lease_s`` are as for `lease`. ``stop`` is checked between batches. A dry run writes
    nothing at all. An implausible purge is held for confirmation; ``accepted`` is the number of candidates that a
    person has confirmed, as counted by `linker.purge_suspicion`.
    """
    if dry_run:
        return _dry_run(solr, before_ms, clock(), deleted_files=deleted_files, batch=batch, accepted=accepted)
    try:
        with lease(solr, LEASE, holder=holder, lives=lives, length_s=lease_s) as own_lease:
            return _purge(
                solr,
                own_lease,
                before_ms,
                clock,
                deleted_files=deleted_files,
                accepted=accepted,
                stop=stop,
                batch=batch,
            )
    except Leased as other:
        return PurgeReport(before_ms, "leased", dry_run, note=str(other))


def _purge(
    solr: Solr,
    own_lease: Lease,
    before_ms: int,
    clock: Callable[[], int],
    *,
    deleted_files: bool,
    accepted: int,
    stop: Callable[[], bool],
    batch: int,
) -> PurgeReport:
    begun = open_purge(solr)
    record = replace(begun or PurgeRecord(before_ms, clock(), deleted_files), epoch=own_lease.epoch)
    if begun is None:
        if suspicion := purge_suspicion(
            Graph(solr), before_ms, clock(), deleted_files=deleted_files, accepted=accepted
        ).note:
            return PurgeReport(before_ms, HELD, dry_run=False, note=suspicion)
        # Recorded before the first removal, because a concurrent re-extraction must not write purged data again.
        remember_purged_before(solr, before_ms)
    rejects = 0
    try:
        # Saved before anything else, so that Solr refuses later records of a purge that has lost the lease.
        run = _PurgeRun(solr, save_purge(solr, record), batch, own_lease.check)
        finished = all(run.rule(rule, stop) for rule in _due(record))
        if finished:
            own_lease.renew()
            GraphChanges(solr).commit(soft=False)
            # This covers relations unlinked because they lost an end; removed relations are noted one by one.
            note_due(solr, runs=[run.record.run_id])
            expire_removals(solr, clock())
            rejects = expire_rejects(solr, record.before_ms)
            close_purge(solr, run.record, clock())
    except LeaseLost as other:
        return _report(solr, record, "leased", begun is not None, str(other))
    note = "continued with its original threshold" if begun and begun.before_ms != before_ms else ""
    report = _report(solr, run.record, "finished" if finished else "stopped", begun is not None, note)
    return replace(report, rejects=rejects)


def _due(record: PurgeRecord) -> Iterator[PurgeRule]:
    """Yield the record's current rule and all later rules."""
    names = [rule.name for rule in PURGE_RULES]
    first = names.index(record.rule) if record.rule else 0
    return (rule for rule in PURGE_RULES[first:] if record.ours or not rule.ours)


class _PurgeRun:
    """Work of one process on a purge. ``record`` is the last saved progress."""

    def __init__(self, solr: Solr, record: PurgeRecord, batch: int, check: Callable[[], None]) -> None:
        self.solr, self.record, self.batch, self.check = solr, record, batch, check
        self.linking = Linking(solr, record.started_ms, record.run_id)

    def rule(self, rule: PurgeRule, stop: Callable[[], bool]) -> bool:
        """Process the remaining candidates of one rule. Return whether the rule finished."""
        tally = Tally(**self.record.tallies.get(rule.name, {}))
        if self.record.rule != rule.name:
            self._save(rule=rule.name, after="", pending={})
        if self.record.pending:
            self._remove(rule, tally, RemovalBatch(**self.record.pending), self.record.after)
        batches = _candidates(self.linking.graph, rule, self.record.before_ms, self.record.after, self.batch)
        for number, candidates in enumerate(batches, 1):
            if stop():
                self._show()
                return False
            self.check()
            last = candidates[-1].id
            batch = _examine(self.linking, rule, candidates, self.record.before_ms, tally)
            self._save(
                pending=asdict(batch), after=last, tallies={**self.record.tallies, rule.name: asdict(tally)}
            )
            self._remove(rule, tally, batch, last)
            if number % BATCHES_A_COMMIT == 0:
                self._show()
        self._show()
        return True

    def _remove(self, rule: PurgeRule, tally: Tally, batch: RemovalBatch, after: str) -> None:
        removed = _STEPS[rule.name].remove(
            self.linking,
            batch,
            self.record.before_ms,
            lambda grown: self._save(pending=asdict(grown)),
        )
        tally.removed += removed.entities
        tally.relations += removed.relations
        tally.unlinked += removed.unlinked
        tally.keep(CHANGED, removed.came_back)
        self._save(pending={}, after=after, tallies={**self.record.tallies, rule.name: asdict(tally)})

    def _show(self) -> None:
        # Reopen searchers only occasionally: no rule needs to see removals, and a new searcher has cold caches.
        self.linking.changes.commit()

    def _save(self, **changed: Any) -> None:
        self.record = save_purge(self.solr, replace(self.record, **changed))


def _candidates(
    graph: Graph, rule: PurgeRule, before_ms: int, after_id: str, size: int
) -> Iterator[Sequence[StoredEntity]]:
    where = replace(rule.candidates(before_ms), after_id=after_id)
    return in_batches(graph.entities(where, fields=PURGE, rows=size), size)


def _examine(
    linking: Linking, rule: PurgeRule, candidates: Sequence[StoredEntity], before_ms: int, tally: Tally
) -> RemovalBatch:
    """Count the candidates to keep, each under the first reason that applies, and prepare a batch of the rest."""
    going, staying = {each.id: each for each in candidates}, []
    tally.candidates += len(going)
    for keep in rule.keeps:
        blocked = keep.check(linking.graph, list(going.values()), before_ms)
        kept = [going.pop(identity) for identity in sorted(blocked)]
        tally.keep(keep.name, [_shown(each) for each in kept])
        staying.extend(kept)
    tally.examples.extend(_shown(each) for each in list(going.values())[: EXAMPLES - len(tally.examples)])
    return _STEPS[rule.name].prepare(linking, list(going.values()), staying)


def _shown(entity: StoredEntity) -> str:
    return " ".join((entity.path or entity.own_name or entity.id).split())[:100]


def _dry_run(
    solr: Solr, before_ms: int, now_ms: int, *, deleted_files: bool, batch: int, accepted: int
) -> PurgeReport:
    linking = Linking(solr, now_ms, "")
    record = PurgeRecord(before_ms, now_ms, deleted_files)
    tallies: dict[str, Any] = {}
    for rule in _due(record):
        tally = Tally()
        for candidates in _candidates(linking.graph, rule, before_ms, "", batch):
            going = _examine(linking, rule, candidates, before_ms, tally)
            tally.removed += len(going.versions)
            tally.relations += _STEPS[rule.name].forecast(linking.graph, going, before_ms)
        tallies[rule.name] = asdict(tally)
    begun = open_purge(solr)
    note = (
        "a purge was started but did not finish: the next one continues it, with its original threshold"
        if begun
        else ""
    ) or purge_suspicion(
        linking.graph, before_ms, now_ms, deleted_files=deleted_files, accepted=accepted
    ).note
    report = _report(solr, replace(record, tallies=tallies), "finished", False, note)
    return replace(report, dry_run=True, rejects=old_rejects(solr, before_ms))


def _report(solr: Solr, record: PurgeRecord, status: str, resumed: bool, note: str) -> PurgeReport:
    rules = tuple(
        (rule, Tally(**record.tallies[rule.name])) for rule in PURGE_RULES if rule.name in record.tallies
    )
    never = tuple(
        NeverReport(
            each,
            Graph(solr).count_entities(each.aged(record.before_ms))
            if each.aged
            else sum(tally.kept.get(each.keep.name, 0) for _, tally in rules if each.keep),
        )
        for each in NEVER
    )
    return PurgeReport(record.before_ms, status, False, resumed, note, rules, never)
