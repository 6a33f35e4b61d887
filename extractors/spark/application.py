"""State of an application at the point up to which its log has been read: its identity and its open SQL executions.

A command may run further executions. All executions with the same root count as one run, which is complete when the
root has ended. Little is stored between two reads: for an open execution, only the position of its start line, not its
plan.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from extractors.spark import events
from extractors.spark.batches import MicroBatch, micro_batch
from extractors.spark.catalogs import Catalogs, implementation
from extractors.spark.events import NotASparkEvent, integer, mapping, text
from extractors.spark.jdbc_catalogs import JdbcCatalog, jdbc_catalogs, restored
from extractors.spark.lines import LogLine, Mark
from extractors.spark.plan.names import SESSION_CATALOG
from extractors.spark.plan.reading import PlanReading, read_plan
from extractors.spark.times import EARLIEST_MS, instant, no_time
from navlin.model.identity import identify
from navlin.model.redaction import bounded
from navlin.model.redaction.literals import said_in_state
from navlin.model.source import metastores_named

MAX_OPEN: Final = 5_000
"""Maximum number of open executions, and of running jobs. No real driver reaches it, but a damaged log may seem to."""
MAX_REMEMBERED: Final = 200
"""Maximum number of ended commands, and of statements without an open execution, to remember."""
MAX_NAME_CHARS: Final = 8_000
MAX_WORD_CHARS: Final = 1_000
"""Maximum length of an id, a user or a version, in characters. A longer name of a job group is replaced with its hash."""
CATALOG: Final = "spark.sql.catalog."
MAX_CATALOGS: Final = 50
MAX_CHANGED: Final = 100
"""Maximum number of tables remembered as created or altered during one execution."""
REDACTED: Final = "(redacted)"


@dataclass(frozen=True, slots=True)
class SparkApplication:
    """One attempt of an application. Fields that the log has not shown yet are empty or zero. ``begun`` and ``over``
    are true if the log shows the attempt's start and end, even without a valid time. ``log`` is the name of the log.
    """

    id: str = ""
    attempt: str = ""
    name: str = ""
    user: str = ""
    begun: bool = False
    over: bool = False
    started_ms: int = 0
    ended_ms: int = 0
    version: str = ""
    metastores: tuple[str, ...] = ()
    default_fs: str = ""
    log: str = ""
    catalogs: tuple[tuple[str, str], ...] = ()
    """(name, class) of each configured catalogue."""
    catalog_names: tuple[tuple[str, str], ...] = ()
    """(printed form in plans, catalogue name) pairs; see `extractors.spark.catalogs`. The name is "" if ambiguous."""
    metastore_catalogs: tuple[str, ...] = ()
    """Catalogues whose tables are in the metastore."""
    jdbc_catalogs: tuple[JdbcCatalog, ...] = ()

    @property
    def catalogs_by_class(self) -> dict[str, frozenset[str]]:
        """Class name → names of the catalogues with this class."""
        found: dict[str, frozenset[str]] = {}
        for name, class_name in self.catalogs:
            found[class_name] = found.get(class_name, frozenset()) | {name}
        return found

    def catalogs_of(self, printed: str) -> frozenset[str]:
        """Return the names of the catalogues to which ``printed``, a class and hash in a plan, may refer."""
        name = dict(self.catalog_names).get(printed)
        having = [each.name for each in self.jdbc_catalogs if each.has(printed)]
        if name or len(having) == 1:
            return frozenset({name or having[0]})
        return self.catalogs_by_class.get(implementation(printed), frozenset())

    @property
    def run(self) -> str:
        """Prefix that distinguishes this attempt's executions from those of other attempts. It is the log's name if
        the application's id is unknown.
        """
        return f"{self.id}_{self.attempt}" if self.attempt else self.id or self.log

    @property
    def known_ms(self) -> int:
        """A time at which the application ran (epoch ms), for records without a time of their own."""
        return self.started_ms or self.ended_ms or EARLIEST_MS


@dataclass(frozen=True, slots=True)
class Started:
    """The relevant fields of an execution's start."""

    started_ms: int
    description: str
    plan: PlanReading
    batch: MicroBatch | None = None


@dataclass(slots=True)
class SqlExecution:
    """One started SQL execution. ``started`` is None while only the position of the start line is known. ``of_batch``
    is true if the execution belongs to a micro-batch. ``within`` is the number of the latest execution with the same
    root that was running when this one started, or -1.
    """

    id: int
    root: int
    mark: Mark
    ended_ms: int = 0
    error: str = ""
    failed: bool = False
    group: str = ""
    of_batch: bool = False
    within: int = -1
    ended: bool = False
    shared_rows: bool = False
    """Whether this execution may read a temporary view of rows from the driver."""
    started: Started | None = None
    changed: list[str] = field(default_factory=list)
    """Tables and views that catalogue events reported as created or altered while this execution was open, as
    ``database.name``.
    """


@dataclass(frozen=True, slots=True)
class ServerStatement:
    """A statement sent to a Thrift server, and the user who sent it."""

    text: str
    user: str


@dataclass(slots=True)
class ExecutionTree:
    """All executions with the same root, which count as one; the root is first. ``over`` is true if the run counts as
    finished although the log does not show its end. ``given_up`` is true if it was dropped while open, because too
    many runs were open or their state was too large.
    """

    application: SparkApplication
    members: list[SqlExecution]
    over: bool = False
    given_up: bool = False
    statement: ServerStatement | None = None
    statement_mark: Mark | None = None

    @property
    def root(self) -> SqlExecution:
        return self.members[0]

    @property
    def marks(self) -> Iterator[Mark]:
        """Marks of the lines to read again before records of this run can be created."""
        yield from (member.mark for member in self.members if member.started is None)
        if self.statement is None and self.statement_mark is not None:
            yield self.statement_mark


@dataclass(slots=True)
class Numbers:
    """Counter of execution numbers. An application assigns them consecutively from 0, so a gap means that the log did not
    show some executions.

    Counting starts at ``first``; -1 means at the next number that appears. ``awaited`` are earlier executions that
    have not ended and should reappear.
    """

    first: int = 0
    next: int = 0
    count: int = 0
    awaited: list[int] = field(default_factory=list)
    lost: str = ""
    """Possible cause of lost executions, worded to complete "<n> SQL executions …"; "" if none is known, or once
    everything available has been read.
    """

    def take(self, number: int) -> None:
        if self.first < 0:
            self.first = number
        if number in self.awaited:
            self.awaited.remove(number)
        if number >= self.first:
            self.next, self.count = max(self.next, number + 1), self.count + 1

    @property
    def left_out(self) -> int:
        """Number of executions that the log did not show."""
        return max(self.next - self.first - self.count, 0) + len(self.awaited)

    def begin_anew(self, awaited: list[int]) -> Numbers:
        """Return a counter that continues after the numbers counted so far, and expects the executions in ``awaited``
        to reappear.
        """
        return Numbers(self.next if self.first >= 0 else -1, self.next, 0, awaited)


class ApplicationState:
    """State of one application, which takes the events of a log in order and yields complete runs.

    ``unnamed`` is the application as identified by the log's name. ``rejected`` lists errors in events that were
    accepted nevertheless; the caller reports the errors and clears the list.
    """

    def __init__(self, unnamed: SparkApplication, saved: Mapping[str, Any] | None = None) -> None:
        saved = saved or {}
        self.rejected: list[str] = []
        self.application = _application(saved["app"]) if "app" in saved else unnamed
        self._open = {int(key): _execution(int(key), value) for key, value in saved.get("open", {}).items()}
        self._jobs = {int(key): int(value) for key, value in saved.get("jobs", {}).items()}
        self._done: dict[int, None] = dict.fromkeys(saved.get("done", ()))
        self._done_until = int(saved.get("done_until", -1))
        self._marks = {key: Mark(*value) for key, value in saved.get("statements", {}).items()}
        self._statements: dict[str, ServerStatement] = {}
        self._shares_rows = bool(saved.get("shares_rows", False))
        self._catalogs = Catalogs(**saved.get("catalogs", {}))
        # A position saved by a version that did not count numbers does not show which executions came earlier.
        self.numbers = Numbers(**saved.get("numbers", {"first": -1} if saved else {}))

    def saved(self) -> dict[str, Any]:
        """Return the state as JSON values. It includes only runs that are still open."""
        value: dict[str, Any] = {
            "app": asdict(self.application),
            "open": {str(each.id): _execution_to_json(each) for each in self._open.values()},
        }
        if self._catalogs.created or self._catalogs.seen:
            value["catalogs"] = asdict(self._catalogs)
        if self.numbers != Numbers():
            value["numbers"] = asdict(self.numbers)
        if self._jobs:
            value["jobs"] = {str(job): execution for job, execution in self._jobs.items()}
        if self._done:
            value["done"] = list(self._done)
        if self._shares_rows:
            value["shares_rows"] = True
        if self._done_until >= 0:
            value["done_until"] = self._done_until
        if self._marks:
            value["statements"] = {group: list(mark) for group, mark in self._marks.items()}
        return value

    def take(self, kind: str, line: LogLine) -> Iterator[ExecutionTree]:
        """Process one line, and yield the runs that it completes. Raises `NotASparkEvent` if the line is invalid."""
        match kind:
            case events.JOB_START:
                self._job_start(line.data)
            case events.JOB_END:
                self._job_end(line.data)
            case events.EXECUTION_START:
                yield from self._execution_start(events.parse(line.data), line.mark)
            case events.EXECUTION_END:
                yield from self._execution_end(events.parse(line.data))
            case events.STATEMENT:
                self._statement(events.parse(line.data), line.mark)
            case events.CATALOG_CHANGE:
                self._catalog_change(events.parse(line.data))
            case _:
                yield from self._learn(kind, events.parse(line.data))

    def over(self) -> Iterator[ExecutionTree]:
        """Yield the runs that never ended, once nothing more is expected. They stay open in case the log grows after all."""
        roots = {execution.root for execution in self._open.values()}
        for root in sorted(roots):
            yield self._run(root, over=True)

    def bound(self, most_bytes: int) -> Iterator[ExecutionTree]:
        """Drop and yield the longest-open runs until the state takes up to ``most_bytes`` as JSON."""
        excess_bytes = len(json.dumps(self.saved())) - most_bytes
        while excess_bytes > 0 and self._open:
            run = self._give_up(f"more than {most_bytes} bytes of its log would have to be kept")
            excess_bytes -= len(json.dumps([_execution_to_json(each) for each in run.members]))
            yield run

    def _give_up(self, why: str) -> ExecutionTree:
        """Stop following the run that has been open longest, and return it."""
        root = next(iter(self._open.values())).root
        run = replace(self._run(root, over=True), given_up=True)
        self._forget(root)
        self.rejected.append(f"execution {root} is no longer followed: {why}")
        return run

    @property
    def open(self) -> bool:
        return bool(self._open)

    @property
    def open_numbers(self) -> list[int]:
        """Numbers of the open executions, sorted."""
        return sorted(self._open)

    # -- Events --------------------------------------------------------------------------------------

    def _learn(self, kind: str, event: Mapping[str, Any]) -> Iterator[ExecutionTree]:
        app = self.application
        match kind:
            case events.LOG_START:
                self.application = replace(app, version=_word(event, "Spark Version") or app.version)
            case events.ENVIRONMENT:
                spark = mapping(event.get("Spark Properties"))
                hadoop = mapping(event.get("Hadoop Properties"))
                self.application = replace(
                    app,
                    metastores=_metastores(spark, hadoop) or app.metastores,
                    default_fs=_setting("fs.defaultFS", spark, hadoop) or app.default_fs,
                    catalogs=_catalogs(spark) or app.catalogs,
                    metastore_catalogs=_metastore_catalogs(spark) or app.metastore_catalogs,
                    jdbc_catalogs=jdbc_catalogs(spark, CATALOG, REDACTED) or app.jdbc_catalogs,
                )
            case events.APPLICATION_START:
                named = _word(event, "App ID")
                # The oldest versions of Spark do not log the application's id.
                app_id, attempt = (named, _word(event, "App Attempt ID")) if named else (app.id, app.attempt)
                if app.begun and (app_id, attempt) != (app.id, app.attempt):
                    # The file has two attempts, so executions that the first one left open will never end.
                    yield from list(self.over())
                    self._open.clear()
                    self._jobs.clear()
                    # The next attempt numbers its executions from 0 again.
                    self._done.clear()
                    self._done_until = -1
                    self._shares_rows = False
                self.application = replace(
                    app,
                    id=app_id,
                    attempt=attempt,
                    name=bounded(text(event.get("App Name")), MAX_NAME_CHARS),
                    user=_word(event, "User"),
                    begun=True,
                    over=False,
                    started_ms=self._time(event, "Timestamp", "the application starts at"),
                    ended_ms=0,
                )
            case events.APPLICATION_END:
                ended_ms = self._time(event, "Timestamp", "the application ends at")
                self.application = replace(app, over=True, ended_ms=ended_ms)
            case _:
                pass

    def _execution_start(self, event: Mapping[str, Any], mark: Mark) -> Iterator[ExecutionTree]:
        number = integer(event.get("executionId"))
        root = integer(event.get("rootExecutionId"), number)
        if root != number and self._has_ended(root):
            # The execution's thread outlived the command that started the execution.
            root = number
        self.numbers.take(number)
        self._time(event, "time", f"execution {number} starts at")
        above = self._open.get(root)
        shared = self._shares_rows if above is None else above.shared_rows
        started = to_started(event, of_batch=above is not None and above.of_batch, shared_rows=shared)
        before = self._open.get(number)
        execution = SqlExecution(
            number,
            root,
            mark,
            group=_group(event.get("jobGroupId")),
            of_batch=started.batch is not None,
            within=max(
                (each.id for each in self._open.values() if each.root == root and not each.ended), default=-1
            ),
            shared_rows=shared and not started.plan.has_own_rows,
            started=started,
        )
        self._shares_rows = self._shares_rows or started.plan.shares_rows
        if before is not None and before.root == number:
            # Another attempt in the same file reuses the number, so the first execution never ended.
            yield self._run(number, over=True)
            self._forget(number)
        self._open[number] = execution
        while len(self._open) > MAX_OPEN:
            yield self._give_up(f"more than {MAX_OPEN} are open")

    def _execution_end(self, event: Mapping[str, Any]) -> Iterator[ExecutionTree]:
        number = integer(event.get("executionId"))
        execution = self._open.get(number)
        if execution is None:
            raise NotASparkEvent(f"execution {number} ends without a start")
        execution.ended_ms = self._time(event, "time", f"execution {number} ends at")
        execution.ended = True
        if "errorMessage" in event:
            # Logged since Spark 3.4. This is more reliable than a failed job, which may have been retried.
            execution.error = text(event["errorMessage"])
            execution.failed = bool(execution.error)
        if execution.root == number:
            run = self._run(number)
            self._forget(number)
            yield run

    def _job_start(self, line: bytes) -> None:
        job = events.job_start(line)
        if job is None or job.execution not in self._open:
            return
        if len(self._jobs) < MAX_OPEN:
            self._jobs[job.job] = job.execution
        else:
            self.rejected.append(f"job {job.job} is not followed: more than {MAX_OPEN} are running")
        if job.group:
            self._open[job.execution].group = _group(job.group)

    def _job_end(self, line: bytes) -> None:
        if not self._jobs:
            return
        event = events.parse(line)
        execution = self._open.get(self._jobs.pop(integer(event.get("Job ID"), -1), -1))
        if execution is not None and text(mapping(event.get("Job Result")).get("Result")) != "JobSucceeded":
            execution.failed = True

    def _statement(self, event: Mapping[str, Any], mark: Mark) -> None:
        group = _group(event.get("groupId"))
        if group:
            self._marks[group] = mark
            self._statements[group] = to_statement(event)
        if len(self._marks) > MAX_REMEMBERED:
            carried_out = {each.group for each in self._open.values()}
            others = [each for each in self._marks if each not in carried_out]
            for oldest in others[: max(0, len(others) - MAX_REMEMBERED)]:
                del self._marks[oldest]
                self._statements.pop(oldest, None)

    def _catalog_change(self, event: Mapping[str, Any]) -> None:
        name = f"{text(event.get('database'))}.{text(event.get('name'))}"[:1000]
        for each in self._open.values():
            if name in each.changed:
                continue
            if len(each.changed) < MAX_CHANGED:
                each.changed.append(name)
            else:
                self.rejected.append(
                    f"execution {each.id} creates or alters more than {MAX_CHANGED} tables: {name} is left out"
                )

    def _time(self, event: Mapping[str, Any], name: str, what: str) -> int:
        at_ms = instant(event.get(name))
        if not at_ms:
            self.rejected.append(no_time(what, event.get(name)))
        return at_ms

    # -- Runs -----------------------------------------------------------------------------------------------------

    def _run(self, root: int, *, over: bool = False) -> ExecutionTree:
        members = [each for each in self._open.values() if each.root == root and each.id != root]
        members.sort(key=lambda each: each.id)
        if root in self._open:
            members.insert(0, self._open[root])
        plans = [each.started.plan for each in members if each.started]
        self._catalogs.learn(
            (write for plan in plans for write in plan.writes),
            (end for plan in plans for end in plan.reads.ends),
            self.application.catalogs_by_class,
        )
        names = tuple(self._catalogs.names.items())
        if names != self.application.catalog_names:
            self.application = replace(self.application, catalog_names=names)
        run = ExecutionTree(self.application, members, over)
        group = next((each.group for each in members if each.group in self._marks), "")
        if group:
            run.statement, run.statement_mark = self._statements.get(group), self._marks[group]
        return run

    def _forget(self, root: int) -> None:
        for number in [each.id for each in self._open.values() if each.root == root]:
            del self._open[number]
        self._done[root] = None
        while len(self._done) > MAX_REMEMBERED:
            oldest = next(iter(self._done))
            del self._done[oldest]
            self._done_until = max(self._done_until, oldest)

    def _has_ended(self, root: int) -> bool:
        """Whether a command has ended. An unseen command may still be logged after the executions that it runs, but only if
        its number is above those of all ended commands that have been forgotten."""
        return root not in self._open and (root in self._done or root <= self._done_until)


def to_started(event: Mapping[str, Any], *, of_batch: bool = False, shared_rows: bool = False) -> Started:
    """Parse a ``SparkListenerSQLExecutionStart``. ``of_batch`` is true if the root is a micro-batch, ``shared_rows``
    if SQL may read rows from the driver through a temporary view.
    """
    batch = micro_batch(event, within=of_batch)
    plan = read_plan(batch.event if batch else event, shared_rows=shared_rows)
    return Started(instant(event.get("time")), text(event.get("description"))[:4000], plan, batch)


def to_statement(event: Mapping[str, Any]) -> ServerStatement:
    """Parse a ``SparkListenerThriftServerOperationStart``."""
    return ServerStatement(text(event.get("statement")), text(event.get("userName")))


def _word(event: Mapping[str, Any], name: str) -> str:
    return text(event.get(name))[:MAX_WORD_CHARS]


def _metastores(spark: Mapping[str, Any], hadoop: Mapping[str, Any]) -> tuple[str, ...]:
    return metastores_named(_setting("hive.metastore.uris", spark, hadoop))


def _catalogs(spark: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    found = (
        (name.removeprefix(CATALOG), text(value).strip()[:200])
        for name, value in spark.items()
        if name.startswith(CATALOG) and "." not in name.removeprefix(CATALOG) and len(name) <= MAX_WORD_CHARS
    )
    return tuple(sorted(found))[:MAX_CATALOGS]


def _metastore_catalogs(spark: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the Iceberg catalogues that store their tables in Spark's own metastore."""
    names = (name for name, _ in _catalogs(spark) if name != SESSION_CATALOG)
    return tuple(
        name
        for name in names
        if (
            spark.get(f"{CATALOG}{name}.type") == "hive"
            or text(spark.get(f"{CATALOG}{name}.catalog-impl")).endswith(".HiveCatalog")
        )
        and not text(spark.get(f"{CATALOG}{name}.uri"))
    )


def _setting(name: str, spark: Mapping[str, Any], hadoop: Mapping[str, Any]) -> str:
    for value in (spark.get(f"spark.hadoop.{name}"), spark.get(name), hadoop.get(name)):
        if isinstance(value, str) and value.strip() and REDACTED not in value:
            return value.strip()[:2000]
    return ""


def _application(saved: Mapping[str, Any]) -> SparkApplication:
    pairs = {
        name: tuple((key, value) for key, value in saved[name]) for name in ("catalogs", "catalog_names")
    }
    names = {name: tuple(saved[name]) for name in ("metastores", "metastore_catalogs")}
    return SparkApplication(
        **{**saved, **pairs, **names, "jdbc_catalogs": restored(saved.get("jdbc_catalogs", ()))}
    )


def _execution_to_json(execution: SqlExecution) -> list[Any]:
    return [
        *execution.mark,
        execution.root,
        execution.ended_ms,
        said_in_state(execution.error)[:500],
        execution.failed,
        execution.group,
        execution.of_batch,
        execution.within,
        execution.ended,
        execution.shared_rows,
        execution.changed,
    ]


def _group(value: object) -> str:
    """Return the name of a job group, or its hash if the name is too long."""
    group = text(value)
    return group if len(group) <= MAX_WORD_CHARS else identify(group)


def _execution(number: int, saved: Any) -> SqlExecution:
    part, restart, skip, *state, changed = saved
    execution = SqlExecution(number, state[0], Mark(part, restart, skip), *state[1:])
    execution.changed = list(changed)
    return execution
