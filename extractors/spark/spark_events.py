"""Extractor for Spark's event logs: the reads, writes and outcome of each SQL execution of each application.

No code runs in users' jobs. The log that Spark writes for its history server is followed while it grows, and each read
resumes at the last position. Every execution that has ended becomes an operation (a distinct plan within an
application's name) and an execution of that operation. A successful execution also gives data flow. Logs may have any
form or codec; see `extractors.spark.forms` and `extractors.spark.codecs`. The codec is recognized by a log's content.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from extractors.hdfs.client import HdfsAddress
from extractors.lineage.listed_files import NothingToFollow, expand
from extractors.spark import events
from extractors.spark.application import (
    ApplicationState,
    ExecutionTree,
    SparkApplication,
    Started,
    to_started,
    to_statement,
)
from extractors.spark.archives import ArchivePlace, NotReadable, is_archive
from extractors.spark.codecs import PLAIN
from extractors.spark.forms import (
    IN_PROGRESS,
    Closed,
    Log,
    LogPart,
    application_in,
    find_logs,
    plain_path,
    reason_of,
)
from extractors.spark.lineage import ApplicationKeys, records_of
from extractors.spark.lines import (
    HEAD_BYTES,
    LogLine,
    LogLines,
    Mark,
    all_lines,
    enters_anywhere,
    head_of,
    lines_at,
    tail_of,
)
from extractors.spark.places import SCHEME, FileStore, HdfsPlace, LocalPlace, path_of, split_url
from extractors.spark.queries import QueryParser
from extractors.spark.rolled import entry_behind, is_compact, lost_parts, number_of
from extractors.spark.settings import advice
from extractors.spark.streams import Streams
from navlin.model.extractor import FILES, PUSH, Extractor, extractor, keeps_positions
from navlin.model.forwarded import arrived, files_directories, host_of
from navlin.model.plan import Plan, Positions
from navlin.model.plurals import counted
from navlin.model.records import Position, Record, Reject, Split
from navlin.model.redaction import sample
from navlin.model.source import Estate, Source

SPLIT_BYTES: Final = 64 << 20
CHECKED_BYTES: Final = 4 << 20
"""Number of bytes at the beginning of a log that `navlin check` reads."""
MAX_REJECTS: Final = 20
"""Maximum number of individual rejects in one read of a log. One more reject counts the rest."""
DECOMPRESS_BYTES_A_MS: Final = 50_000
"""Pause before the next read of an unfinished frame: decompressed bytes per ms of pause. A frame that is still being
written must be decompressed from its start each time, so a large frame is read less often. The value is a tenth of the
decompression speed, which limits the CPU use to a tenth of one core.
"""
BEYOND_MS: Final = 3_600_000
"""Pause before a growing log that was abandoned is read again; see `extractors.spark.lines`."""
FORGET_MS: Final = 7 * 86_400_000
MAX_STATE_BYTES: Final = 4 << 20
"""Maximum size of the open executions and streams of one log, as JSON."""
ALL_STATE_BYTES: Final = 64 << 20
"""Maximum size of the open executions and streams of all logs together. Each log has an equal share."""
DOWNLOAD_MS: Final = 60_000
"""Maximum time since the last change for which a zip archive without its end may still be downloading."""


@dataclass(frozen=True, slots=True)
class LogSplit(Split):
    """The section of one log to read: from ``mark`` to the sizes that ``parts`` had when the split was planned.

    ``state`` is the application's state at ``mark``. ``over`` is true if nothing more will be written. ``missing`` are
    ranges of missing part numbers; ``sizes`` maps the names of a rolling log's parts to their earlier sizes.
    ``archive`` is the zip archive that contains the log; ``further`` are the logs in the archive that are still to be
    read. ``state_bytes`` limits the size of the state to save. ``root`` is the directory with the log.
    """

    log: str
    parts: tuple[LogPart, ...]
    mtime_ns: int
    finished: bool
    over: bool
    planned_ms: int
    mark: Mark | None = None
    skipping: bool = False
    head: str = ""
    head_bytes: int = 0
    tail: str = ""
    tail_end: int = 0
    ctime_ns: int = 0
    out_bytes: int = 0
    state: Mapping[str, Any] | None = None
    missing: tuple[tuple[int, int], ...] = ()
    sizes: Mapping[str, int] | None = None
    archive: LogPart | None = None
    further: tuple[LogSplit, ...] = ()
    state_bytes: int = MAX_STATE_BYTES
    root: str = ""

    @property
    def name(self) -> str:
        return self.archive.path.removesuffix(IN_PROGRESS) if self.archive else self.log

    @property
    def local(self) -> bool:
        return not self.log.startswith(SCHEME)


@extractor("spark_events", source_type="SPARK", mode=PUSH, version=3)
@dataclass(frozen=True, slots=True)
class SparkEvents(Extractor):
    """Extractor that follows the event logs in ``directory`` (a path, which may be a glob, a ``file:`` URI or an
    ``hdfs:`` URL, or several of these; Spark's ``spark.eventLog.dir``), and those that other hosts sent.

    On HDFS, ``hadoop_configuration_directory`` holds core-site.xml and hdfs-site.xml; without it, ``namenodes``
    (``host:port`` of each) make the URL's nameservice an HA pair. ``hadoop_user`` is the user without Kerberos; with
    Kerberos, ``principal`` is used with ``keytab`` or a ticket cache. ``java_options`` are passed to Hadoop's client.
    ``metastore`` is the authority of the metastore for applications without ``hive.metastore.uris``; "" means the only
    configured one. ``yarn`` is the ResourceManager's address, needed if several are configured. ``reads`` is true to
    keep executions that write nothing, which show who reads a table. A log ``.inprogress`` that has not changed for
    ``stale_after_s`` seconds counts as abandoned by its driver. A line longer than ``max_line_bytes`` is skipped and
    counted.
    """

    receives = frozenset((FILES,))
    source: Source
    estate: Estate
    # Each log has its own position, and is recognized by its path and first bytes. A log that the user may not read
    # has no position.
    directory: str | tuple[str, ...] = keeps_positions()
    metastore: str = ""
    yarn: str = ""
    reads: bool = True
    # Each plan checks again whether a log is stale. Records read from a stale log stay valid until the log grows.
    stale_after_s: int = keeps_positions(86_400)
    max_line_bytes: int = 64 << 20
    hadoop_configuration_directory: str = keeps_positions("")
    namenodes: tuple[str, ...] = keeps_positions(())
    hadoop_user: str = keeps_positions("")
    principal: str = keeps_positions("")
    keytab: str = keeps_positions("")
    java_options: tuple[str, ...] = keeps_positions(())

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield problems that the types do not catch, as (setting, message)."""
        if self.keytab and not self.principal:
            yield "keytab", "keytab needs a principal"
        try:
            for each in self._given():
                path_of(each)
        except ValueError as error:
            yield "directory", f"directory: {error}"

    def directories(self) -> tuple[str, ...]:
        """Return the directories that can be watched. There are none on HDFS, which is polled."""
        local = [each for each in self.roots() if isinstance(self.place_of(each), LocalPlace)]
        # Files of other hosts are polled: thousands of directories would be too many to watch.
        return tuple(each for each in local if not host_of(self.estate.forwarded, f"{each}/"))

    def roots(self) -> list[str]:
        """Return the directories that the settings and the logs of other hosts amount to now: local paths or HDFS
        URLs. Raises ValueError for any other file system."""
        paths = [path_of(each) for each in self._given()]
        given = [
            each
            for path in paths
            for each in ((path,) if path.startswith(SCHEME) or os.path.isdir(path) else expand((path,)))
        ]
        return [*given, *files_directories(self.estate.forwarded, self.source.name)]

    def place_of(self, root: str) -> FileStore:
        """Return the file system of a directory of `roots`."""
        if not root.startswith(SCHEME):
            return LocalPlace(root)
        url, _ = split_url(root)
        address = HdfsAddress(
            url,
            self.namenodes,
            self.hadoop_configuration_directory,
            self.hadoop_user,
            self.principal,
            self.keytab,
            cache=f"{self.estate.spool}/java" if self.estate.spool else "",
            java_options=self.java_options,
        )
        return HdfsPlace(address)

    def _given(self) -> tuple[str, ...]:
        return (self.directory,) if isinstance(self.directory, str) else self.directory

    @property
    def local(self) -> bool:
        # Logs are local files, or are read by Hadoop's client, a Java child process that needs the jars and
        # configuration of this machine.
        return True

    def check(self) -> Iterator[str]:
        found = list(self._logs({}, failed := dict[str, str]()))
        closed = [each for _, each in found if isinstance(each, Closed)]
        for root in self.roots():
            logs = sum(of == root and not isinstance(each, Closed) for of, each in found)
            yield failed.get(root) or f"{root}: {counted(logs, 'event log')}"
        if closed:
            yield _closed_note(closed)
        readable = [(root, each) for root, each in found if isinstance(each, Log) and each.parts]
        if readable:
            root, newest = max(readable, key=lambda pair: pair[1].mtime_ns)
            properties = self._spark_properties(root, newest)
            yield from advice(newest.name, properties) if properties is not None else ()

    def _spark_properties(self, root: str, log: Log) -> Mapping[str, Any] | None:
        """Return the Spark properties of a log's application; None if the beginning of the log does not have them."""
        lines = LogLines(
            self.place_of(root),
            log.parts or (),
            None,
            last_line=True,
            max_line_bytes=self.max_line_bytes,
            max_bytes=CHECKED_BYTES,
        )
        for line in lines:
            try:
                if not line.too_long and events.kind_of(line.data) == events.ENVIRONMENT:
                    return events.mapping(events.parse(line.data).get("Spark Properties"))
            except events.NotASparkEvent:
                continue
        return None

    # -- Plan: stat only ----------------------------------------------------------------------------------------------

    def plan(self, positions: Positions) -> Plan:
        saved: Mapping[str, Any] = {} if positions.complete else positions.values
        splits, seen, closed, failed = [], set(), [], dict[str, str]()
        for root, log in self._logs(saved, failed):
            if isinstance(log, Closed):
                seen.add(log.path)
                closed.append(log)
                continue
            seen.add(log.name)
            split = self._split(log, saved.get(log.name), positions.now_ms)
            if split is not None:
                splits.append(replace(split, root=root))
        splits.sort(key=lambda split: (split.mtime_ns, split.log))
        of_others = sum(bool(value.get("open")) for value in saved.values()) if splits else 0
        share_bytes = min(MAX_STATE_BYTES, ALL_STATE_BYTES // (of_others + len(splits) or 1))
        before_ns = (positions.now_ms - FORGET_MS) * 1_000_000
        gone = tuple(
            Position(name, None)
            for name, value in positions.values.items()
            if name not in seen and value["mtime_ns"] < before_ns and not name.startswith(tuple(failed))
        )
        shared = tuple(replace(split, state_bytes=share_bytes) for split in splits)
        return Plan(shared, gone, note="; ".join(filter(None, (*failed.values(), _closed_note(closed)))))

    def _logs(self, saved: Mapping[str, Any], failed: dict[str, str]) -> Iterator[tuple[str, Log | Closed]]:
        """Yield each log with its directory. A directory that cannot be listed is added to ``failed``, with the reason.
        Raises `NothingToFollow` if that is so for all of them."""

        def known(name: str, mtime_ns: int) -> bool:
            value = saved.get(name)
            if value is None or not value["finished"] or value["size"] < 0:
                return False
            return bool(value["mtime_ns"] == mtime_ns)

        roots, error = self.roots(), None
        for root in roots:
            try:
                yield from ((root, log) for log in find_logs(self.place_of(root), root, known))
            except OSError as unlisted:
                failed[root], error = f"cannot list the event logs: {reason_of(unlisted, root)}", unlisted
        if error is not None and len(failed) == len(roots):
            raise NothingToFollow("; ".join(failed.values())) from error

    def _split(self, log: Log, known: Mapping[str, Any] | None, now_ms: int) -> LogSplit | None:
        if log.parts is None:
            return None
        stale = not log.being_written and now_ms - log.mtime_ns // 1_000_000 >= self.stale_after_s * 1000
        over = log.finished or stale
        split = LogSplit(log.name, log.parts, log.mtime_ns, log.finished, over, now_ms, missing=log.missing)
        split = replace(split, ctime_ns=log.ctime_ns)
        if known is None:
            return split
        is_unchanged = (known["size"], known["mtime_ns"]) == (log.size, log.mtime_ns)
        if is_unchanged and known.get("ctime_ns", log.ctime_ns) == log.ctime_ns:
            finished = known.get("settled") or not (over and (known.get("open") or known.get("rest")))
            if finished and known["finished"] == log.finished:
                return None
        elif not over and now_ms < known.get("not_before_ms", 0):
            return None
        if known.get("archive"):
            return split
        part, restart, skip = known["mark"]
        return replace(
            split,
            mark=Mark(part, restart, skip),
            skipping=bool(known.get("skipping")),
            head=known["head"],
            head_bytes=known["head_bytes"],
            tail=known.get("tail", ""),
            tail_end=known.get("tail_end", 0),
            out_bytes=known.get("out_bytes", 0),
            state=known["state"],
            sizes=known.get("sizes"),
        )

    # -- Read ---------------------------------------------------------------------------------------------------------

    def read(self, split: Split) -> Iterator[Record]:
        if not isinstance(split, LogSplit):
            raise TypeError(f"not a split of spark_events: {split!r}")
        if split.archive or split.mark or not is_archive(self.place_of(split.root), split.parts[0]):
            with closing(QueryParser()) as queries:
                yield from _LogReading(self, split, queries).records()
        else:
            yield from self._of_archive(split)

    def _of_archive(self, split: LogSplit) -> Iterator[Record]:
        """Yield a split for the first log in a zip archive, with the remaining logs as ``further``. For an unreadable
        archive, yield a reject and a position instead. All logs count as finished, because archives do not grow.
        """
        [part] = split.parts
        try:
            logs = ArchivePlace(self.place_of(split.root), part).logs()
        except NotReadable as error:
            if error.cut and 0 <= split.planned_ms - split.mtime_ns // 1_000_000 < DOWNLOAD_MS:
                return  # the archive will be read again
            yield Reject(split.log, str(error))
            yield _archive_position(split, part.size)
            return
        splits = tuple(
            replace(split, log=log.name, parts=log.parts or (), missing=log.missing, archive=part)
            for log in logs
        )
        yield replace(splits[0], further=splits[1:])


class _LogReading:
    def __init__(self, extractor: SparkEvents, split: LogSplit, queries: QueryParser) -> None:
        place = extractor.place_of(split.root)
        self._place = ArchivePlace(place, split.archive) if split.archive else place
        self._host = host_of(extractor.estate.forwarded, split.log)
        self._queries = queries
        goes_on = split.mark is not None and _is_the_same(self._place, split)
        entry = entry_behind(split.mark, split.parts) if split.mark and not goes_on else None
        mark, self._read_up_to, before = (split.mark if goes_on else None), 0, split.state
        if goes_on and split.mark:
            self._read_up_to = number_of(split.mark.part)
        elif entry and split.mark:
            # The rest of the part at the mark is lost, unless a compacted part contains it.
            goes_on, mark, self._read_up_to = not entry.anew, entry.mark, number_of(split.mark.part) - 1
        if not self._read_up_to and is_compact(split.parts[0].name):
            self._read_up_to = number_of(split.parts[0].name) - 1
        self._extractor = extractor
        self._split = split
        self._state = ApplicationState(_unnamed(split), before if goes_on else None)
        if entry and entry.anew:
            followed = ApplicationState(_unnamed(split), before)
            self._state.numbers = followed.numbers.begin_anew(followed.open_numbers)
        self._lines = LogLines(
            self._place,
            split.parts,
            mark,
            skipping=split.skipping and goes_on and mark == split.mark,
            last_line=split.over,
            max_line_bytes=extractor.max_line_bytes,
            # A log in an archive can only be read from its beginning.
            max_bytes=max(SPLIT_BYTES, mark.restart) if split.archive and mark else SPLIT_BYTES,
            out_bytes=split.out_bytes if goes_on else 0,
            finished=split.finished,
        )
        self._streams = Streams(split.state.get("streams") if goes_on and split.state else None)
        self._of_streams = {
            events.STREAM_START: self._streams.take_started,
            events.STREAM_PROGRESS: self._streams.take_progress,
            events.STREAM_IDLE: self._streams.take_idle,
            events.STREAM_END: self._streams.take_end,
        }
        self._waiting: list[ExecutionTree] = []
        self._rejects = 0
        self._last_reject: Reject | None = None

    def records(self) -> Iterator[Record]:
        for line in self._lines:
            for record in self._of_line(line):
                yield from self._counted(record)
        for path, damage in self._lines.damages:
            yield from self._counted(Reject(path, f"damaged: {damage}", damage.offset))
        for path, offset, count in self._lines.holes:
            yield from self._counted(Reject(path, f"{count} NUL bytes before a line skipped", offset))
        for reason in self._lost():
            yield from self._counted(Reject(self._split.log, reason))
        if self._lines.beyond:
            mark = self._lines.mark
            yield Reject(self._split.log, f"not read further: {self._lines.beyond}", mark.restart)
        over = self._lines.at_end and (self._split.over or self._state.application.over)
        if over:
            for run in self._state.over():
                for record in self._of_run(run):
                    yield from self._counted(record)
        # Executions and streams get half of the space each, so that neither displaces the other.
        most_bytes = self._split.state_bytes // 2
        for run in self._state.bound(most_bytes):
            for record in self._of_run(run):
                yield from self._counted(record)
        for record in self._read_again(self._waiting):
            yield from self._counted(record)
        self._streams.bound(most_bytes)
        for record in self._streams.records(self._names(self._state.application), over=over):
            yield from self._counted(record)
        for reason in (*self._state.rejected, *self._streams.rejected):
            yield from self._counted(Reject(self._split.log, reason))
        if self._rejects > MAX_REJECTS and self._last_reject:
            more = self._rejects - MAX_REJECTS
            yield replace(
                self._last_reject, reason=f"{more} further lines that could not be read", count=more
            )
        yield from self._done(over=over)

    def _lost(self) -> Iterator[str]:
        """Yield a message, only once, for each loss of parts or executions before the current mark."""
        split, numbers = self._split, self._state.numbers
        last = number_of(self._lines.mark.part)
        if not last:
            return
        passed = (self._read_up_to + 1, last)
        lost = list(lost_parts(split.missing, passed, split.sizes or {}, split.mark))
        yield from lost
        if is_compact(split.parts[0].name) and self._read_up_to < number_of(split.parts[0].name):
            numbers.lost = "were compacted away before they were read"
        elif lost and not numbers.lost:
            numbers.lost = "are in no part that is left"
        if numbers.lost and self._lines.at_end:
            if numbers.left_out:
                yield f"{numbers.left_out} SQL executions {numbers.lost}"
            self._state.numbers = numbers.begin_anew([])

    def _counted(self, record: Record) -> Iterator[Record]:
        if isinstance(record, Reject):
            self._rejects += 1
            self._last_reject = record
            if self._rejects > MAX_REJECTS:
                return
        yield arrived(record, self._host)

    def _of_line(self, line: LogLine) -> Iterator[Record]:
        if line.too_long:
            limit = self._extractor.max_line_bytes
            yield Reject(line.path, f"the line is longer than {limit} bytes", line.offset)
            return
        if not line.data.strip():
            return
        try:
            kind = events.kind_of(line.data)
            if kind in self._of_streams:
                self._of_streams[kind](events.parse(line.data))
            elif kind is not None:
                for run in self._state.take(kind, line):
                    yield from self._of_run(run)
        except events.NotASparkEvent as error:
            reason = str(error) if line.whole else f"the log ends within this line ({error})"
            yield Reject(
                line.path, reason, line.offset, sample(line.data) if events.is_event(line.data) else ""
            )
        for rejected in (self._state.rejected, self._streams.rejected):
            for reason in rejected:
                yield Reject(line.path, reason, line.offset, sample(line.data))
            rejected.clear()

    def _of_run(self, run: ExecutionTree) -> Iterator[Record]:
        if next(run.marks, None) is not None:
            if run.root.of_batch:
                # The batch is needed now, because the progress event that follows in the log completes it.
                yield from self._read_again([run])
            else:
                self._waiting.append(run)
            return
        if not self._streams.take_batch(run):
            yield from records_of(run, self._names(run.application), reads=self._extractor.reads)

    def _names(self, application: SparkApplication) -> ApplicationKeys:
        extractor = self._extractor
        return ApplicationKeys(
            extractor.source,
            extractor.estate,
            application,
            extractor.metastore,
            extractor.yarn,
            self._queries,
        )

    def _read_again(self, runs: list[ExecutionTree]) -> Iterator[Record]:
        """Read again the lines of runs that started before this read, in log order. Yield the records of these runs."""
        wanted = {mark for run in runs for mark in run.marks}
        members = {member.mark: member for run in runs for member in run.members}
        if not wanted:
            return
        started, statements = {}, {}
        for line in lines_at(self._place, self._split.parts, wanted, self._extractor.max_line_bytes):
            try:
                match events.kind_of(line.data):
                    case events.EXECUTION_START:
                        event = events.parse(line.data)
                        member = members[line.mark]
                        started[line.mark] = to_started(
                            event, of_batch=member.of_batch, shared_rows=member.shared_rows
                        )
                    case events.STATEMENT:
                        statements[line.mark] = to_statement(events.parse(line.data))
                    case _:
                        pass
            except events.NotASparkEvent:
                continue  # rejected below, like all lines that no longer exist
        compacted = self._compacted(runs, wanted)
        for run in runs:
            for member in run.members:
                if member.started is None and member.mark in started:
                    member.started = started[member.mark]
                elif member.started is None and member.id in compacted:
                    member.started = compacted[member.id]
                elif member.started is None:
                    yield Reject(
                        self._split.log,
                        f"the start of execution {member.id} is no longer in the log",
                        member.mark.restart,
                    )
            if run.statement is None and run.statement_mark in statements:
                run.statement = statements[run.statement_mark]
            run.statement_mark = None
            run.members = [member for member in run.members if member.started is not None]
            if run.members:
                yield from self._of_run(run)

    def _compacted(self, runs: list[ExecutionTree], wanted: set[Mark]) -> dict[int, Started]:
        """Return execution id → start, for starts in parts that have since been compacted. The compacted part contains
        them at another position.
        """
        part = self._split.parts[0]
        if not is_compact(part.name):
            return {}
        last = number_of(part.name)
        gone = {mark for mark in wanted if mark.part != part.name and 0 < number_of(mark.part) <= last}
        members = {each.id: each for run in runs for each in run.members if each.mark in gone}
        found: dict[int, Started] = {}
        for line in all_lines(self._place, part, self._extractor.max_line_bytes) if members else ():
            with suppress(events.NotASparkEvent):
                if events.kind_of(line.data) == events.EXECUTION_START:
                    event = events.parse(line.data)
                    number = events.integer(event.get("executionId"), -1)
                    if member := members.get(number):
                        found[number] = to_started(
                            event, of_batch=member.of_batch, shared_rows=member.shared_rows
                        )
        return found

    def _done(self, *, over: bool) -> Iterator[Record]:
        split, lines = self._split, self._lines
        # A log that is not worth reading further waits until it has changed.
        at_end = lines.at_end or bool(lines.beyond)
        part = next(part for part in split.parts if part.name == lines.mark.part)
        head_bytes = 0 if split.archive else min(HEAD_BYTES, part.size)
        head = head_of(self._place, part, head_bytes)
        # The parts of a log in an archive are read together, and read again whenever the archive has changed.
        tail_end = 0 if split.archive else part.size
        tail = tail_of(self._place, part, tail_end) if tail_end else ""
        state = self._state.saved()
        if streams := self._streams.saved():
            state["streams"] = streams
        value: dict[str, Any] = {
            "mark": list(lines.mark),
            "head": head,
            "head_bytes": head_bytes,
            "tail": tail,
            "tail_end": tail_end,
            # A log that was not read to its end must not look complete.
            "size": sum(part.size for part in split.parts) if at_end else -1,
            "mtime_ns": split.mtime_ns,
            "ctime_ns": split.ctime_ns,
            "finished": split.finished,
            "state": state,
        }
        if number_of(lines.mark.part):
            value["sizes"] = {part.name: part.size for part in split.parts}
        if lines.skipping:
            value["skipping"] = True
        if self._state.open or streams:
            value["open"] = True
        if lines.has_rest:
            value["rest"] = True
        if lines.out_bytes and lines.codec != PLAIN:
            value["out_bytes"] = lines.out_bytes
        if over or lines.beyond:
            value["settled"] = True
        if not enters_anywhere(lines.codec):
            value["not_before_ms"] = split.planned_ms + lines.mark.skip // DECOMPRESS_BYTES_A_MS
        if lines.beyond:
            value["not_before_ms"] = split.planned_ms + BEYOND_MS
        if not split.archive:
            yield Position(split.log, value)
        elif at_end and split.further:
            yield replace(split.further[0], further=split.further[1:])
        elif at_end:
            yield _archive_position(split, split.archive.size)
        if not at_end:
            yield replace(
                split,
                mark=lines.mark,
                skipping=lines.skipping,
                head=head,
                head_bytes=head_bytes,
                tail=tail,
                tail_end=tail_end,
                out_bytes=lines.out_bytes,
                state=state,
            )


def _unnamed(split: LogSplit) -> SparkApplication:
    """Return the application as identified by the name of its log."""
    app_id, attempt = application_in(split.log)
    return SparkApplication(app_id, attempt, log=plain_path(split.log.removeprefix(split.root)).strip("/"))


def _archive_position(split: LogSplit, size: int) -> Position:
    """Return the position of an archive, which is read as a whole, and read again if it has changed."""
    value = {"size": size, "mtime_ns": split.mtime_ns, "finished": split.finished}
    return Position(split.name, value | {"settled": True, "archive": True})


def _closed_note(closed: Sequence[Closed]) -> str:
    """Return a note that some logs cannot be read, with the reason for the first of them; "" if there are none."""
    return f"{counted(len(closed), 'event log')} cannot be read, such as {closed[0].reason}" if closed else ""


def _is_the_same(place: FileStore, split: LogSplit) -> bool:
    """Whether the part at the mark still exists, has the same first bytes, is not shorter, and has the same bytes
    before the end of the last read.
    """
    mark = split.mark
    part = next((part for part in split.parts if mark is not None and part.name == mark.part), None)
    if part is None or mark is None or part.size < max(mark.restart, split.head_bytes, split.tail_end):
        return False
    if split.tail and tail_of(place, part, split.tail_end) != split.tail:
        return False
    return head_of(place, part, split.head_bytes) == split.head
