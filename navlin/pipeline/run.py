"""Runs one source once: plan, read, reconcile, write, link, save. This is the entry point for the daemon, the command
line, the demo and the tests. Pull and push differ only in splits and schedule."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from linker import link
from linker.linking import Linking
from navlin.index.graph.state import StoredState, count_stored, look_up, stored_below
from navlin.index.journal.freshness import NOTED_EVERY_MS, note_idle
from navlin.index.journal.known_positions import KnownPositions
from navlin.index.journal.leases import LEASE_S, Lease, Leased, LeaseLost, lease
from navlin.index.journal.purges import purged_before_ms
from navlin.index.journal.rejects import save_rejects
from navlin.index.journal.run_counts import RunCounts
from navlin.index.journal.runs import (
    BACKING_OFF,
    MISSING,
    Fence,
    RunRecord,
    SavedPositions,
    Status,
    last_run,
    next_iteration,
    runs_to_link,
    save_positions,
    save_run,
    save_run_fenced,
)
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.index.write.documents import source_envelope
from navlin.index.write.renames import RenamedValues, put_where_nothing_is, read_renames
from navlin.index.write.writing import outcome_of, write
from navlin.model.extractor import PUSH, Extractor, Registration
from navlin.model.plan import Plan
from navlin.model.records import Position, Reject, Split, first_of
from navlin.model.redaction.literals import without_quoted
from navlin.model.source import Source
from navlin.pipeline.clock_suspicion import TOLERANCE_MS
from navlin.pipeline.comparison import RECORDS_IN_TASK, Sizes, StateAccess, choose
from navlin.pipeline.covering import Coverage, coverage
from navlin.pipeline.crashes import ReadingEnded, batches, is_of_a_full_disk, suspected, turn
from navlin.pipeline.failing import in_words
from navlin.pipeline.fingerprint import fingerprint, is_of_other_reader, settings_hash
from navlin.pipeline.flagging import FLAGGED_COLUMNS, FLAGGED_IN_TASK, Flagging, flag
from navlin.pipeline.frames import in_ranges, missing_in, rows_of_splits
from navlin.pipeline.guard import Guard
from navlin.pipeline.masking_literals import masked
from navlin.pipeline.materialised import materialised
from navlin.pipeline.missing import Look, LossDecision, MissingState, decide
from navlin.pipeline.planning import Planner, has_news
from navlin.pipeline.reading import ReadSummary, summarize
from navlin.pipeline.reconciling import (
    CORES,
    COUNTED,
    GONE,
    GONE_REPORTED,
    OUTCOME_COLUMNS,
    REFUSED,
    Reconciliation,
    reconcile,
)
from navlin.pipeline.rereading import remove_invented
from navlin.pipeline.session import has_ended, use_pool
from navlin.pipeline.wall_clock import WallClock

_COUNT_NAMES: Final = {
    (ELEMENTS, GONE): "gone_entities",
    (RELATIONS, GONE): "gone_relations",
    (ELEMENTS, GONE_REPORTED): "reported_entities",
    (RELATIONS, GONE_REPORTED): "reported_relations",
}
"""(core, outcome) → name of the count. Every other outcome is counted under its own name."""


class NothingBlocked(Exception):
    """The loss of a run cannot be accepted, because the run is not the latest held run of its source."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The environment of runs: the index, the Spark session, the clock, and the plausibility guard."""

    address: SolrAddress
    spark: Callable[[], SparkSession]
    clock: Callable[[], int]
    """Function that returns the current time in epoch ms."""
    guard: Guard = field(default_factory=Guard)
    wall_clock: WallClock | None = None
    """The process's clock with detection of jumps; None if the process does not live long enough for a jump."""
    lease_s: float = LEASE_S
    """Duration of a source's lease, in seconds (see `navlin.index.journal.leases`)."""
    idle_noted_ms: dict[str, int] = field(default_factory=dict)
    """Source id → time at which this process last recorded that the source had nothing new (epoch ms)."""
    positions: KnownPositions = field(default_factory=KnownPositions)
    """The positions that this process knows from its earlier runs."""
    finished: dict[str, int] = field(default_factory=dict)
    """Source id → epoch of the lease under which this process last finished a run of the source."""

    def run(
        self,
        registration: Registration,
        extractor: Extractor,
        *,
        complete: bool = False,
        dry_run: bool = False,
        accept_loss: str = "",
        step: Callable[[str], None] = lambda step: None,
    ) -> RunRecord:
        """Run a source once and return the record of the run. A failure is stored in the record and never raised.

        ``complete`` requests a complete plan. ``dry_run`` reads and compares, but writes nothing. ``accept_loss`` is
        the id of a held run whose loss a user has accepted. If it is given, the plan is complete, and the guard does
        not block that loss again. ``step`` is called with the name of each step as the step begins.
        """
        with Solr(self.address) as solr:
            return _SourceRun(self, solr, registration, extractor, dry_run=dry_run, step=step).run(
                complete=complete or bool(accept_loss), accept_loss=accept_loss
            )


class _SourceRun:
    """One run of a source. The methods are the steps of the run, in the order in which `_pass` calls them."""

    def __init__(
        self,
        pipeline: Pipeline,
        solr: Solr,
        registration: Registration,
        extractor: Extractor,
        *,
        dry_run: bool,
        step: Callable[[str], None],
    ) -> None:
        self.pipeline, self.solr, self.registration, self.extractor = pipeline, solr, registration, extractor
        self.source: Source = extractor.source
        self.dry_run, self._report_step = dry_run, step
        self.lease: Lease | None = None
        self.session: SparkSession | None = None
        self.tag = f"run {uuid4()}"
        self.fingerprint = fingerprint(registration, extractor)
        self.known = pipeline.positions
        self.planner = Planner(solr, registration, extractor, pipeline.clock, pipeline.wall_clock, self.known)
        self.started_ms = pipeline.clock()
        self.counts = RunCounts()

    def run(self, *, complete: bool, accept_loss: str) -> RunRecord:
        record = RunRecord(self.source.name, self.source.id, 0, Status.RUNNING, self.started_ms)
        try:
            self.step("plan")
            before, plan = self.planner.plan(complete=complete)
            nothing = not plan.splits and not plan.covers and not has_news(plan, before.values)
            # If only positions of an older extractor remain, run anyway, to report the results of records that are
            # gone.
            if nothing and (before.values or not before.outdated):
                self._note_idle()
                return self._ended(record, Status.IDLE, note=plan.note)
            with ExitStack() as stack:
                if not self.dry_run:
                    self.lease = stack.enter_context(
                        lease(self.solr, self.source.id, length_s=self.pipeline.lease_s, on_lost=self._cancel)
                    )
                    if not self._ran_last(self.lease):
                        # A run that died may have written documents, its record, and positions that are not visible yet.
                        self._commit(*CORES, RUNS, soft=True)
                        again = self.known.load(self.solr, self.source.id, self.fingerprint)
                        if again != before:  # another process ran the source during planning
                            before, plan = self.planner.plan(complete=complete)
                stack.callback(self._untag)
                previous = last_run(self.solr, self.source.id)
                record = replace(record, iteration=next_iteration(previous), note=plan.note)
                if self.lease is not None:
                    # Overwrite the record of a run that failed or was interrupted, so that Solr rejects later writes of
                    # that run.
                    over = previous is not None and previous.iteration == record.iteration
                    version = previous.version if previous is not None and over else -1
                    record = self._save_run(replace(record, epoch=self.lease.epoch, version=version))
                try:
                    return self._pass(record, plan, before, accept_loss)
                except Exception as error:  # the record is written while the lease is held
                    return self._failed(record, self._cause(error))
        except Leased as leased:
            return self._ended(record, Status.LEASED, error=str(leased))
        except Exception as error:  # the record has the error; the source is tried again at its next interval
            return self._failed(record, error)

    def _ran_last(self, held: Lease) -> bool:
        """Whether this process ran the source last, and finished that run. Every run takes the lease, which raises its
        epoch by one."""
        return self.pipeline.finished.pop(self.source.id, -1) == held.epoch - 1

    def _note_idle(self) -> None:
        noted_ms = self.pipeline.idle_noted_ms
        # Absolute difference, because the clock may have been set back in the meantime.
        if not self.dry_run and abs(self.started_ms - noted_ms.get(self.source.id, 0)) >= NOTED_EVERY_MS:
            note_idle(self.solr, self.source.id, self.started_ms)
            noted_ms[self.source.id] = self.started_ms

    def step(self, name: str) -> None:
        """Begin a step. Raises `LeaseLost` if the lease is lost."""
        if self.lease is not None:
            self.lease.check()
        self._report_step(name)

    def _pass(self, record: RunRecord, plan: Plan, before: SavedPositions, accept_loss: str) -> RunRecord:
        stamp = Stamp(record.run_id, self.started_ms)
        accepted = self._accepted(accept_loss, before)
        if not self.dry_run:
            self._write_source(stamp)
            before = self._save_found(plan, before)
        with ExitStack() as stack:
            self.step("read")
            rounds, summary = self._read(plan.splits, before, record, stack)
            covers = coverage(
                [*summary.covers, *(() if summary.failures else plan.covers)], summary.withdrawn
            )
            self.counts = self.counts.plus(complete_listings=int(covers.everything))
            if covers.listed and not self._follows_events:
                stamp = replace(stamp, believed_ms=self.started_ms + TOLERANCE_MS)
            self.step("reconcile and write")
            renamed = RenamedValues()
            if not self.dry_run:
                renamed = read_renames(self.solr, self.source.id, stamp.run_id, plan.moves)
            reads_again = self._reads_again(plan, before)
            outcomes = self._reconcile(
                rounds, summary.documents, covers, stamp, renamed, stack, reads_again=reads_again
            )
            refused = self._count(outcomes)
            if self.dry_run:
                return self._ended(record, Status.FINISHED, failures=_in_lines(summary.failures))
            self._commit(*CORES, soft=True)
            self.step("link")
            remembered = MissingState.of(before.values.get(MISSING))
            decision = self._decision(outcomes, summary, covers, remembered, accepted)
            if reads_again:
                self._remove_invented(rounds, outcomes, before, stamp)
            else:
                self._flag(outcomes, stamp, decision)
            put_where_nothing_is(self.solr, self.source.id, stamp.run_id, renamed)
            self._link(stamp, record.iteration)
        self.step("save")
        aside = self.planner.set_aside(summary.failures, before.values)
        rejects = [*summary.rejects, *refused, *aside]
        saved = save_rejects(
            self.solr, self.source.name, self.source.id, record.run_id, self.started_ms, rejects
        )
        self.counts = self.counts.plus(rejects=saved)
        self._save_source(record.iteration)
        self._commit(*CORES, soft=False)
        positions = [
            *summary.positions,
            *(() if summary.failures else plan.positions),
            *self.planner.backing_off(summary, plan, before.values),
            *self._remember(remembered, decision, covers, record),
        ]
        outdated = () if summary.failures else tuple(before.outdated)
        self.known.forget(self.source.id)
        versions = save_positions(
            self.solr,
            self.source.id,
            self.fingerprint,
            positions,
            before.values,
            outdated=outdated,
            fence=self._fence(before),
        )
        status = Status.HELD if decision.blocked else Status.FINISHED
        if plan.splits and summary.failures.keys() >= {split.name for split in plan.splits}:
            status = Status.FAILED
        note = "; ".join(
            filter(None, (decision.blocked or plan.note, *decision.notes, renamed.note, self._late()))
        )
        ended = self._ended(record, status, note=note, failures=_in_lines(summary.failures))
        self._save_run(ended)
        self.solr.commit(RUNS, soft=False)
        self.known.saved(self.source.id, self.fingerprint, before, positions, versions, outdated)
        if self.lease is not None:
            self.pipeline.finished[self.source.id] = self.lease.epoch
        return replace(ended, more=plan.more and status is Status.FINISHED and not summary.failures)

    # -- plan ------------------------------------------------------------------------------------------------------------

    def _accepted(self, accept_loss: str, before: SavedPositions) -> Collection[str] | None:
        """Return the places whose loss a user has accepted; None if ``accept_loss`` is empty. Raises `NothingBlocked`."""
        if not accept_loss:
            return None
        blocked = last_run(self.solr, self.source.id, Status.HELD)
        if blocked is None or blocked.run_id != accept_loss:
            newest = f"; its newest run on hold is {blocked.run_id}" if blocked else ""
            raise NothingBlocked(f"{self.source.name} has no run on hold named {accept_loss}{newest}")
        remembered = MissingState.of(before.values.get(MISSING))
        return frozenset(remembered.shown if remembered.blocked_run == accept_loss else ())

    def _write_source(self, stamp: Stamp) -> None:
        envelope = source_envelope(self.source, self.started_ms)
        stored = look_up(self.solr, ELEMENTS, [envelope.identity]).get(envelope.identity)
        outcome = outcome_of(
            envelope, stored, covered_as_of_ms=0, follows_events=False, purged_before_ms=0, stamp=stamp
        )
        list(write(self.solr, ELEMENTS, [(envelope, outcome)], stamp))

    def _save_found(self, plan: Plan, before: SavedPositions) -> SavedPositions:
        """Save the positions of data that was not known before, and return all positions. If everything is read again,
        the positions of an earlier reading are still there, and nothing is saved."""
        if not plan.found or before.outdated:
            return before
        fence = self._fence(before)
        self.known.forget(self.source.id)
        added = save_positions(
            self.solr, self.source.id, self.fingerprint, plan.found, before.values, fence=fence
        )
        self._commit(RUNS, soft=True)
        values = {**before.values, **{each.key: each.value for each in plan.found}}
        return SavedPositions(values, {}, {**before.versions, **{key: at for key, at in added.items() if at}})

    # -- read ------------------------------------------------------------------------------------------------------------

    def _read(
        self, splits: Sequence[Split], before: SavedPositions, record: RunRecord, stack: ExitStack
    ) -> tuple[list[DataFrame], ReadSummary]:
        """Read the splits, and the splits that these yield, round by round. The rows of each round are materialised
        once."""
        rounds: list[DataFrame] = []
        summary = ReadSummary()
        while splits:
            further: list[Split] = []
            for together in batches(splits, before.values):
                with turn(together, before.values):
                    spark = self._spark()
                    try:
                        rows = rows_of_splits(spark, self.extractor, together, stack)
                        read = summarize(rows.where(F.col("core").startswith("#")).collect())
                    except Exception as error:
                        raise self._reading_ended(together, before, record, error) from error
                rounds.append(rows)
                summary += read
                further += read.splits
            splits = further
        self.counts = self.counts.plus(records=summary.documents, failed_splits=len(summary.failures))
        return rounds, summary

    def _reading_ended(
        self, splits: Sequence[Split], before: SavedPositions, record: RunRecord, error: Exception
    ) -> ReadingEnded:
        """Record the splits whose read crashed a process instead of raising an error, and return the error to raise."""
        message = in_words(error)
        if self.extractor.estate.masks_literals:
            message = without_quoted(message)
        if self.lease is not None and not is_of_a_full_disk(str(error)):
            self.step("set aside")
            positions, rejects = suspected(
                splits, before.values, message, self.pipeline.clock(), settings_hash(self.extractor)
            )
            save_rejects(self.solr, self.source.name, self.source.id, record.run_id, self.started_ms, rejects)
            fence = self._fence(before)
            self.known.forget(self.source.id)
            save_positions(self.solr, self.source.id, self.fingerprint, positions, before.values, fence=fence)
            self.solr.commit(RUNS, soft=False)
        names = first_of([each.name for each in splits])
        return ReadingEnded(f"Spark, or one of its processes, ended while {names} was read: {message}")

    # -- reconcile and write ---------------------------------------------------------------------------------------------

    def _reconcile(
        self,
        rounds: Sequence[DataFrame],
        documents: int,
        covers: Coverage,
        stamp: Stamp,
        renamed: RenamedValues,
        stack: ExitStack,
        *,
        reads_again: bool,
    ) -> DataFrame | None:
        if not rounds and not covers.by_path:
            return None
        comparison = choose(self._sizes(documents, covers))
        carried: dict[str, dict[str, StoredState]] = {}
        if comparison.state is StateAccess.CARRIED:
            carried, covers = self._carried(covers)
        task = Reconciliation(
            self.pipeline.address,
            self.source.id,
            stamp,
            covers,
            self._follows_events,
            purged_before_ms(self.solr),
            comparison,
            carried,
            dry_run=self.dry_run,
            renamed=renamed,
            reads_again=reads_again,
        )
        frame = in_ranges(self._spark(), rounds, comparison.ranges)
        return materialised(frame.mapInArrow(reconcile(task), OUTCOME_COLUMNS), stack)

    @property
    def _follows_events(self) -> bool:
        return self.registration.mode is PUSH

    def _sizes(self, documents: int, covers: Coverage) -> Sizes:
        """Return the sizes for the choice of a comparison. Sizes that cannot affect the choice are not counted."""
        stored, covered = None, 0
        if covers.everything or documents > RECORDS_IN_TASK:
            stored = sum(count_stored(self.solr, core, self.source.id) for core in CORES)
        if stored != 0 and covers.by_path and not covers.everything and not self._follows_events:
            covered = sum(
                count_stored(self.solr, core, self.source.id, below=covers.by_path) for core in CORES
            )
        return Sizes(documents, stored, covered, covers.everything, self._follows_events)

    def _carried(self, covers: Coverage) -> tuple[dict[str, dict[str, StoredState]], Coverage]:
        """Return the documents at and below the covered paths (core → id → document), and the coverage with the times
        at which those paths were last read."""
        carried = {
            core: {
                each.identity: each for each in stored_below(self.solr, core, self.source.id, covers.by_path)
            }
            for core in CORES
        }
        if not self._follows_events:
            return carried, covers
        floors = {
            each.tree_path: each.as_of_ms
            for each in carried[ELEMENTS].values()
            if each.tree_path in covers.by_path
        }
        return carried, replace(covers, floors=floors)

    def _count(self, outcomes: DataFrame | None) -> list[Reject]:
        """Count the outcomes of the records, and return Solr's refusals as rejects."""
        refused: list[Reject] = []
        if outcomes is None:
            return refused
        for row in outcomes.where(F.col("outcome") == COUNTED).collect():
            name = _COUNT_NAMES.get((row["core"], row["note"]), row["note"])
            self.counts = self.counts.plus(**{name: row["as_of"]})
        if self.counts.refused:
            for row in outcomes.where(F.col("outcome") == REFUSED).collect():
                refused.append(Reject(f"Solr {row['core']}", row["note"], sample=row["identity"]))
        return refused

    # -- link ------------------------------------------------------------------------------------------------------------

    def _decision(
        self,
        outcomes: DataFrame | None,
        summary: ReadSummary,
        covers: Coverage,
        remembered: MissingState,
        accepted: Collection[str] | None,
    ) -> LossDecision:
        if outcomes is None or not self.counts.gone_entities:
            return LossDecision()
        missing = missing_in(outcomes)
        # A run that follows events covers only entities that an event reported again.
        proved = self._follows_events or all(each.proved for each in covers.listed)
        found_by_name = None
        if not proved and not missing.too_many:
            with masked(self.extractor):
                found_by_name = self.extractor.still_there(tuple(missing.places))
        stored = count_stored(self.solr, ELEMENTS, self.source.id, live=True)
        known = Look(
            missing,
            stored,
            summary.documents,
            remembered.high_water_mark,
            found_by_name,
            remembered.once,
            proved,
            accepted,
        )
        return decide(self.pipeline.guard, known)

    def _remember(
        self, remembered: MissingState, decision: LossDecision, covers: Coverage, record: RunRecord
    ) -> Iterator[Position]:
        reported = self.counts.reported_entities
        if not self._follows_events and (covers.listed or reported):
            live = count_stored(self.solr, ELEMENTS, self.source.id, live=True)
            high_water_mark = remembered.high_water_mark.after(
                live, reported=reported, now_ms=self.started_ms
            )
            after = (
                remembered.after(decision, record.run_id, high_water_mark)
                if covers.listed
                else replace(remembered, high_water_mark=high_water_mark)
            )
            yield Position(MISSING, after.value())

    def _flag(self, outcomes: DataFrame | None, stamp: Stamp, decision: LossDecision) -> None:
        if outcomes is None:
            return
        kinds = (GONE_REPORTED,) if decision.blocked and not decision.spared else (GONE, GONE_REPORTED)
        for core in CORES:
            count = sum(getattr(self.counts, _COUNT_NAMES[core, kind]) for kind in kinds)
            if not count:
                continue
            gone = outcomes.where((F.col("core") == core) & F.col("outcome").isin(*kinds)).select(
                "identity", "as_of", "note"
            )
            steps = math.ceil(count / FLAGGED_IN_TASK)
            gone = gone.coalesce(1) if steps == 1 else gone.repartition(steps)
            flagged = gone.mapInArrow(
                flag(Flagging(self.pipeline.address, core, stamp, decision.spared)), FLAGGED_COLUMNS
            )
            self.counts = self.counts.plus(deleted=sum(row["flagged"] for row in flagged.collect()))
            self.solr.commit(core, soft=True)

    def _reads_again(self, plan: Plan, before: SavedPositions) -> bool:
        """Whether this run reads records again that were read with other settings or by an older extractor. If so,
        results that the run no longer produces were never true. False for a listing, whose entities come and go."""
        return bool(before.outdated) and (self._follows_events or not plan.covers)

    def _remove_invented(
        self,
        rounds: Sequence[DataFrame],
        outcomes: DataFrame | None,
        before: SavedPositions,
        stamp: Stamp,
    ) -> None:
        first = all(key.startswith((BACKING_OFF, MISSING)) for key in before.values)
        newer = is_of_other_reader(before.outdated.values(), self.fingerprint)
        linking = Linking(self.solr, self.started_ms, stamp.run_id)
        removed = remove_invented(linking, self.source.id, rounds, outcomes, whole=first and newer)
        self.counts = self.counts.plus(deleted=removed)
        self._commit(*CORES, soft=True)

    def _late(self) -> str:
        """Return a note on records that were too old to be written; "" for events, which may well come late."""
        if self._follows_events or not self.counts.late:
            return ""
        return f"{self.counts.late} records are older than the index and were not written"

    def _link(self, stamp: Stamp, iteration: int) -> None:
        run_ids, since_ms = runs_to_link(self.solr, self.source.id, iteration)
        changed = link(Linking(self.solr, self.started_ms, stamp.run_id, run_ids, since_ms))
        self.counts = self.counts.plus(linked=sum(changed.values()))

    # -- save ------------------------------------------------------------------------------------------------------------

    def _save_source(self, iteration: int) -> None:
        update = {"identity": self.source.id, "sourceExtractIteration": {"set": iteration}, "_version_": 1}
        self.solr.add_all(ELEMENTS, [update])

    def _commit(self, *cores: str, soft: bool) -> None:
        with ThreadPoolExecutor(len(cores)) as at_once:
            list(at_once.map(lambda core: self.solr.commit(core, soft=soft), cores))

    def _spark(self) -> SparkSession:
        self.session = spark = self.pipeline.spark()
        use_pool(spark, self.registration.mode)
        if self.lease is not None:
            spark.sparkContext.addJobTag(self.tag)
            self.lease.check()
        return spark

    def _cancel(self) -> None:
        """Cancel Spark's jobs for this run. The thread that renews the lease calls this when the lease is lost."""
        if self.session is not None:
            self.session.sparkContext.cancelJobsWithTag(self.tag)

    def _untag(self) -> None:
        # This thread later runs other sources, whose jobs must not have this run's tag.
        if self.session is not None and not has_ended(self.session):
            self.session.sparkContext.removeJobTag(self.tag)

    def _fence(self, before: SavedPositions) -> Fence | None:
        """Renew the lease and return a fence; None without a lease. Called just before positions are saved. Raises
        `LeaseLost` if the run has lost its lease."""
        if self.lease is None:
            return None
        self.lease.renew()
        return Fence(self.lease.epoch, before.versions, self.lease.renew)

    def _save_run(self, record: RunRecord) -> RunRecord:
        if self.lease is None:
            return save_run(self.solr, record)
        return save_run_fenced(self.solr, record, self.lease.renew)

    def _cause(self, error: Exception) -> Exception:
        """Return the `LeaseLost` error if a lost lease caused ``error``, for example because Spark's jobs were
        cancelled. Otherwise return ``error``."""
        if self.lease is None:
            return error
        try:
            self.lease.check()
        except LeaseLost as lost:
            return lost
        return error

    def _ended(self, record: RunRecord, status: Status, **more: Any) -> RunRecord:
        return replace(record, status=status, ended_ms=self.pipeline.clock(), counts=self.counts, **more)

    def _failed(self, record: RunRecord, error: Exception) -> RunRecord:
        message = in_words(error)
        failed = self._ended(record, Status.FAILED, error=message)
        if self.dry_run:
            return failed
        try:
            if not record.iteration:
                # A plan that fails repeatedly gets one record instead of one every five seconds.
                failed = replace(failed, iteration=next_iteration(last_run(self.solr, self.source.id)))
            self._save_run(failed)
            self.solr.commit(RUNS, soft=False)
        except Exception as unsaved:  # the index is down, but the caller still gets the first error
            return replace(
                failed, error=f"{message}; this run's record could not be saved: {in_words(unsaved)}"
            )
        return failed


def _in_lines(failures: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}: {message}" for name, message in sorted(failures.items()))
