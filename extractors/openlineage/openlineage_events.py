"""OpenLineage events in files, written by the file transport of OpenLineage clients, or by navlin's own endpoint.

The events of a run may be in several files, so all files of a source are read one after the other, and the state of
each run is kept between two reads. The state is kept for an hour after the end of the run, because events may arrive
late. Without an end, it is kept for thirty days if it fits into the sender's share
(`extractors.openlineage.kept_runs`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from extractors.lineage.file_split import FileSplit
from extractors.lineage.followed_files import MAX_LINE_BYTES, Line, follow, sought
from extractors.lineage.line_logs import LineLogs, parted
from extractors.lineage.moved_files import FileWentAway
from extractors.lineage.planned_files import never_read
from extractors.openlineage.event_files import EVENT_START, events_among, parse, side_by_side
from extractors.openlineage.events import NotAnOpenLineageEvent, RunEvent, events_in, sample_of, to_event
from extractors.openlineage.kept_runs import (
    GIVEN_UP,
    LOST,
    RUNS,
    GivenUp,
    SavedRun,
    choose,
    in_shards,
    of_shards,
)
from extractors.openlineage.names import DatasetKeys
from extractors.openlineage.records import Writing
from extractors.openlineage.runs import MORE_THAN_KEPT, DatasetState, JobRun, run_of
from extractors.openlineage.whole_texts import make_whole
from navlin.model.extractor import PUSH, extractor, keeps_positions
from navlin.model.plan import Plan, Positions
from navlin.model.records import Position, Record, Reject, Split
from navlin.model.source import SDK, Estate, Source
from navlin.model.spooled import sender_of

SPLIT_EVENTS: Final = 1_000
SPLIT_BYTES: Final = 32 << 20
MOST_ROUNDS: Final = 8
RUN_BYTES: Final = 64 << 20
"""Maximum number of splits that one run reads one after the other, and of bytes after which it reads no further split.
The next run reads the rest, but first the events that other senders have sent in the meantime.
"""


@dataclass(frozen=True, slots=True)
class EventsSplit(Split):
    """Files to read one after the other. ``shards`` are the saved positions that hold runs; with ``anew``, their
    contents are ignored. ``complete`` is true if this split and those that follow it read everything once more.
    ``round`` and ``read_bytes`` are the numbers of splits and of bytes that this run has read before.
    """

    files: tuple[FileSplit, ...]
    shards: Mapping[str, Any] = field(default_factory=dict)
    anew: bool = False
    complete: bool = False
    error: str = ""
    """Error that prevented the split's only file from being read. Reading this split raises it."""
    round: int = 0
    read_bytes: int = 0

    @property
    def name(self) -> str:
        # A single file that fails backs off under its own name, without affecting other files.
        if len(self.files) == 1:
            return self.files[0].path
        # This name must be the same in every run, because the split is recognized by it.
        return f"events in {min(os.path.dirname(each.path) for each in self.files)}"

    @property
    def local(self) -> bool:
        return True


@extractor("openlineage_events", source_type=SDK, mode=PUSH, version=4)
@dataclass(frozen=True, slots=True)
class OpenLineageEvents(LineLogs):
    """Follow files of OpenLineage events on this host.

    ``directory`` may list several directories and globs. ``metastore`` is the address of the metastore for tables
    named without an address; ``metastore_namespaces`` are namespaces whose datasets are tables of this metastore, as
    Trino or a Thrift server names them. ``yarn`` is the address of the YARN that ran the applications, needed if
    several are configured.
    """

    source: Source
    estate: Estate
    # Each file has its own position and is recognized by its content, wherever it is.
    directory: str | tuple[str, ...] = keeps_positions("/var/lib/navlin/openlineage")
    pattern: str = keeps_positions("*")
    metastore: str = ""
    metastore_namespaces: tuple[str, ...] = ()
    yarn: str = ""
    max_line_bytes: int = MAX_LINE_BYTES

    def plan(self, positions: Positions) -> Plan:
        shards = {
            key: value for key, value in positions.values.items() if key.startswith(RUNS) or key == GIVEN_UP
        }
        of_files = {key: value for key, value in positions.values.items() if key not in shards}
        plan = LineLogs.plan(self, replace(positions, values=of_files))
        files = [split for split in plan.splits if isinstance(split, FileSplit)]
        # An unreadable file fails alone, and its retries are delayed alone.
        closed = [each for each in files if not each.descriptor and not os.access(each.path, os.R_OK)]
        together = by_backlog(each for each in files if each not in closed)
        splits = [EventsSplit((each,)) for each in closed]
        if together:
            # If nothing was read before, everything is read, either for the first time or again by another version.
            complete = positions.complete or (not shards and all(map(never_read, of_files.values())))
            splits.insert(0, EventsSplit(together, shards, positions.complete, complete))
        return replace(plan, splits=tuple(splits))

    def read(self, split: Split) -> Iterator[Record]:
        assert isinstance(split, EventsSplit)
        if split.error:
            raise OSError(split.error)
        yield from _Reading(self, split).records()


def by_backlog(files: Iterable[FileSplit]) -> tuple[FileSplit, ...]:
    """Order files so that those of a sender with few unread bytes come before those of a sender with many."""
    of_senders: dict[str, list[FileSplit]] = {}
    for each in files:
        of_senders.setdefault(sender_of(each.path), []).append(each)
    return tuple(chain(*sorted(of_senders.values(), key=lambda of_one: sum(map(_unread_bytes, of_one)))))


def _unread_bytes(split: FileSplit) -> int:
    return split.end - split.offset


class _Reading:
    def __init__(self, extractor: OpenLineageEvents, split: EventsSplit) -> None:
        self._extractor = extractor
        self._split = split
        self._now_ms = max(each.planned_ms for each in split.files)
        self._latest_ms = max(each.latest_ms for each in split.files)
        names = DatasetKeys(
            extractor.source, extractor.estate, extractor.metastore, extractor.metastore_namespaces
        )
        self._writing = Writing(names, extractor.yarn, split.complete)
        shards = {} if split.anew else split.shards
        self._saved = {each.run: each for each in of_shards(shards)}
        self._lost = GivenUp(shards.get(GIVEN_UP) or {}, self._now_ms)
        self._runs: dict[str, JobRun] = {}
        self._touched: dict[str, None] = {}
        self._events = 0
        self._bytes = 0

    def records(self) -> Iterator[Record]:
        rest: list[FileSplit] = []
        for number, file in enumerate(self._split.files):
            if self._full:
                rest += self._split.files[number:]
                break
            for record in self._of_file(file):
                if isinstance(record, FileSplit):
                    rest.append(record)
                else:
                    yield record
        for run in map(self._run, self._touched):
            if run.ended or (run.type in ("START", "RUNNING") and not self._is_over(run.above)):
                yield from self._written(run)
        for run in map(self._run, self._touched):
            if run.bound() and not run.ended:
                yield Reject(f"events of {run.sender}", f"run {run.id:.100}: {MORE_THAN_KEPT}")
        yield from self._given_up()
        known, forgotten = choose(self._kept(), self._now_ms)
        for each in forgotten:
            if not each.ended and (unended := self._known(each.run)) is not None:
                yield from self._forgotten(each, unended)
        shards = in_shards(known)
        if (lost := self._lost.value()) is not None:
            shards[GIVEN_UP] = lost
        for key in sorted({*shards, *self._split.shards}):
            if shards.get(key) != self._split.shards.get(key):
                yield Position(key, shards.get(key))
        rounds, read_bytes = self._split.round + 1, self._split.read_bytes + self._bytes
        complete = self._split.complete
        if rest and (complete or (rounds < MOST_ROUNDS and read_bytes < RUN_BYTES)):
            yield EventsSplit(tuple(rest), shards, complete=complete, round=rounds, read_bytes=read_bytes)

    @property
    def _full(self) -> bool:
        return self._events >= SPLIT_EVENTS or self._bytes >= SPLIT_BYTES

    def _of_file(self, split: FileSplit) -> Iterator[Record]:
        limit = self._extractor.max_line_bytes
        try:
            with follow(split, max_line_bytes=limit) as file:
                for found in events_among(file, max_bytes=limit):
                    if isinstance(found, Reject):
                        yield found
                        continue
                    yield from self._of_text(found, file.path)
                    if self._full:
                        break
                yield from file.done()
        except FileWentAway as away:
            if away.loses:
                yield Reject(split.path, str(away), split.offset)
            yield sought(split)
        except OSError as error:
            if len(self._split.files) == 1:
                raise
            # The part that has already been read will be read again.
            yield EventsSplit((split,), error=f"{split.path}: {error.strerror or error}")

    def _of_text(self, found: Line, path: str) -> Iterator[Record]:
        self._bytes += len(found.text)
        try:
            value = parse(found.text)
        except NotAnOpenLineageEvent as broken:
            values, read = side_by_side(found.text)
            for each in values:
                yield from self._of_value(each, found, path)
            offset, rest = found.offset + read, found.text[read:]
            pieces = parted(rest, EVENT_START)
            for at, piece in pieces:
                yield from self._of_text(Line(offset + at, piece), path)
            if rest and not pieces:
                self._events += 1
                yield Reject(path, str(broken), offset, sample_of(rest))
            return
        for each in events_in(value):
            yield from self._of_value(each, found, path)

    def _of_value(self, value: Any, found: Line, path: str) -> Iterator[Record]:
        self._events += 1
        try:
            event = to_event(value, latest_ms=self._latest_ms)
        except NotAnOpenLineageEvent as broken:
            yield Reject(path, str(broken), found.offset, sample_of(found.text))
            return
        if event.problems:
            reason = "a part of the event is broken: " + "; ".join(event.problems[:10])
            yield Reject(path, reason, found.offset, sample_of(found.text))
        yield from self._of_event(event, (path, found.offset, len(found.text)))

    def _of_event(self, event: RunEvent, at: tuple[str, int, int]) -> Iterator[Record]:
        if event.dataset is not None:
            known = DatasetState()
            name = (event.dataset.namespace, event.dataset.name)
            for reason in sorted(known.learn(event.dataset, event.time_ms)):
                path, offset, _ = at
                yield Reject(path, f"dataset {name[1]:.200} in {name[0]:.200}: {reason}", offset)
            yield from self._writing.of_dataset_event(name, known, event.time_ms)
            return
        if not event.run:
            described = JobRun("", event.namespace, event.name)
            described.learn(event, self._now_ms)
            yield from self._writing.of_run(described)
            return
        run = self._known(event.run) or self._begun(event, sender_of(at[0]))
        run.learn(event, self._now_ms, at)
        self._runs[event.run] = run
        self._touched[event.run] = None

    # -- Runs ------------------------------------------------------------------------------------------------------------

    def _begun(self, event: RunEvent, sender: str) -> JobRun:
        """Create a run without known events. It is incomplete if it was abandoned before."""
        run = JobRun(event.run, event.namespace, event.name, sender=sender)
        if reason := self._lost.why_incomplete(run.id, sender, starts=event.type == "START"):
            run.missing(reason)
        return run

    def _forgotten(self, saved: SavedRun, run: JobRun) -> Iterator[Record]:
        """Abandon a run before its end, and yield its records. More events of the run may still arrive."""
        self._lost.add(saved)
        if saved.is_recent(self._now_ms):
            run.missing(LOST)
            yield Reject(f"events of {saved.sender}", f"run {saved.run:.100} is abandoned: {LOST}")
        yield from self._written(run, over=True)
        if saved.run not in self._touched:
            del self._runs[saved.run]

    def _written(self, run: JobRun, *, over: bool = False) -> Iterator[Record]:
        make_whole(run)
        above = {each: known for each in run.above if (known := self._known(each)) is not None}
        for each in above.values():
            if each.sql_hidden:  # the text identifies the operation
                make_whole(each)
        yield from self._writing.of_run(run, over=over, above=above)
        # The full texts of many runs would take more memory than everything else.
        run.cut_sql()

    def _known(self, run: str) -> JobRun | None:
        if run not in self._runs and run in self._saved:
            self._runs[run] = run_of(self._saved[run].text)
        return self._runs.get(run)

    def _run(self, run: str) -> JobRun:
        """Return a run with events in this split. If its application is unknown, it is taken from the parent or root
        run.
        """
        found = self._runs[run]
        for above in (found.parent, found.root):
            known = self._known(above[0]) if above and not found.application else None
            if known is not None:
                found.application = known.application
                found.principal = found.principal or known.principal
        return found

    def _given_up(self) -> Iterator[Record]:
        """Yield the records of runs that will get no more events, because their parent or root run has ended."""
        over = {run for run in self._touched if self._runs[run].ended}
        for each in self._kept() if self._touched else ():
            late = each.run in self._touched and self._is_over(each.above)
            if each.ended or not (over.intersection(each.above) or late):
                continue
            if (run := self._known(each.run)) is not None:
                yield from self._written(run, over=True)

    def _is_over(self, above: Iterable[str]) -> bool:
        """Whether one of the runs ``above`` has ended, so that the runs below it get no more events."""
        return any(each is not None and each.ended for each in map(self._known, above))

    def _kept(self) -> Iterator[SavedRun]:
        """Yield all known runs, with the current state for runs that have events in this split."""
        yield from (each for run, each in self._saved.items() if run not in self._touched)
        for run in self._touched:
            known = self._runs[run]
            yield SavedRun(run, known.seen_ms, known.ended, known.above, known.sender, known.saved())
