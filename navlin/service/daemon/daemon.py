"""``navlin serve``: starts the processes it needs, keeps them running, and shuts them down cleanly.

The main thread only waits for commands and checks the child processes; sources run in the threads of the schedule.
Signal handlers only put a command into the queue.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from enum import Enum
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, Final

import structlog

from navlin.index.admin.cores import NotCreated
from navlin.index.admin.schema import UnusableIndex
from navlin.index.graph.sources import known_sources
from navlin.index.journal.holder import this_process
from navlin.index.journal.requests import Job
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.solr.solr import Solr, SolrAddress, SolrError
from navlin.model.plurals import counted
from navlin.pipeline.clock_suspicion import TOLERANCE_MS
from navlin.pipeline.failing import in_words
from navlin.pipeline.run import Pipeline
from navlin.pipeline.wall_clock import WallClock
from navlin.pipeline.warming import warm_up
from navlin.service import jobs
from navlin.service.daemon.exporting import Exporting
from navlin.service.daemon.notify import Systemd
from navlin.service.daemon.requests import RequestRefused, Requests, Step, Stopped
from navlin.service.daemon.schedule import Schedule
from navlin.service.daemon.solr_watch import SolrWatch
from navlin.service.daemon.watching import Watching
from navlin.service.daemon.web_process import WebProcess
from navlin.service.disk_space import DiskWatch
from navlin.service.heartbeat import Heartbeat, LastRun, remove_heartbeat, save_heartbeat
from navlin.service.inheriting import Inheriting
from navlin.service.loader import ConfiguredSources, ExtractorNotLoaded, SharedIdentity, load
from navlin.service.logs import configure_logs
from navlin.service.maintenance.opening import open_index
from navlin.service.maintenance.purging import Purging
from navlin.service.settings.configuration import BadConfiguration, Configuration
from navlin.service.solr import embedded_solr, external_address
from navlin.service.spark_session import ArchiveProcess, LazySparkSession
from navlin.solr_server.embedded import EmbeddedSolr

log = structlog.stdlib.get_logger(__name__)

TICK_S: Final = 1.0
WATCH_EVERY_TICKS: Final = 30
SPARK_ENDS_WITHIN_S: Final = 3_600.0
MOST_SPARK_ENDS: Final = 20
"""Maximum number of unexpected exits of Spark within `SPARK_ENDS_WITHIN_S` after which Spark is restarted. A split that
crashes Spark does so twice before it is set aside."""
FINISH_S: Final = 10.0
"""Time for runs to finish their writes after a request to stop, in seconds."""
ABANDON_S: Final = 5.0
"""Additional time for runs after their Spark jobs have been cancelled, in seconds."""


_NOT_TAKEN_UP: Final = (
    BadConfiguration,
    ExtractorNotLoaded,
    SharedIdentity,
    SolrError,
    UnusableIndex,
    NotCreated,
)
"""Errors in a new configuration after which the previous configuration stays in effect."""


class Command(Enum):
    STOP = "stop"
    RELOAD = "reload"


class NoSpace(Exception):
    """The disk of the state directory has less free space than the configured minimum."""


class SparkDied(Exception):
    """Spark exited unexpectedly too often."""


class Daemon:
    """The service. `run` returns after a request to stop."""

    def __init__(
        self,
        configuration: Configuration,
        reread: Callable[[], Configuration],
        *,
        environment: Mapping[str, str],
    ) -> None:
        """``reread`` reads the configuration again, or raises `BadConfiguration`."""
        self.commands: SimpleQueue[Command] = SimpleQueue()
        self._configuration = configuration
        self._reread = reread
        self._environment = environment
        self._clock = WallClock()
        self._systemd = Systemd(environment)
        self._embedded: EmbeddedSolr | None = None
        self._disk = DiskWatch(configuration.navlin.state_directory, configuration.navlin.least_free_bytes)
        self._solr_watch = SolrWatch(self._disk, self._wake_all)
        self._heartbeat_saved = True
        self._spark = LazySparkSession.of(configuration)
        self._archiving = ArchiveProcess(configuration.navlin.state_directory)
        self._web = WebProcess(configuration.file)
        self._schedule = Schedule(self._run_source, clock=self._clock)
        self._watching = Watching(self._schedule.wake)
        self._last_runs: dict[str, LastRun] = {}
        self._started_steady_s = self._clock.steady_s()
        self._requests: Requests | None = None
        self._inheriting: Inheriting | None = None
        self._exporting: Exporting | None = None
        self._stopping = False
        self._spark_dead = False
        self._spark_ends_s: list[float] = []
        self._address: SolrAddress
        self._sources: ConfiguredSources
        self._pipeline: Pipeline
        self._purging: Purging

    def handle_signals(self) -> None:
        """Install signal handlers: SIGTERM and SIGINT stop, SIGHUP reloads the configuration. Must be called in the
        main thread."""

        def put(number: int, _frame: FrameType | None) -> None:
            # SimpleQueue.put may be called from a handler while the main thread is inside get.
            self.commands.put(Command.RELOAD if number == signal.SIGHUP else Command.STOP)

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, put)

    def run(self) -> None:
        """Start and serve until a request to stop.

        Raises `NoSolr`, `SolrError`, `NoSpark`, `NoJava` or `SharedIdentity` if the daemon cannot start, `SparkDied` if
        Spark ended too often.
        """
        try:
            if self._start():
                self._serve()
        finally:
            self._end()

    # -- Starting --------------------------------------------------------------------------------------------------------

    def _start(self) -> bool:
        """Start everything. Return False if a request to stop arrived meanwhile."""
        configuration = self._configuration
        log.info("navlin starting", configuration=str(configuration.file), sources=len(configuration.sources))
        if not self._wait_for_space():
            return False
        self._systemd.notify(STATUS="starting Solr and Spark")
        with ThreadPoolExecutor(1, "spark-start") as beside:
            spark = beside.submit(self._spark)
            if configuration.solr.embedded:
                self._embedded = embedded_solr(configuration, self._environment)
                self._address = self._embedded.start()
            else:
                self._address = external_address(configuration, self._environment)
            self._purging = Purging(self._address, self._clock.now_ms, lambda: self._stopping)
            self._take_up(configuration)
            spark.result()
        if self._stop_asked():
            return False
        self._systemd.notify(STATUS="warming up Spark")
        warm_up(self._pipeline, [source.extractor for source in self._sources.sources])
        self._watching.start()
        self._schedule.start()
        self._set_jobs()
        self._make_up_purge()
        self._requests = self._request_jobs()
        self._inheriting = Inheriting(self._address, lambda: self._stopping)
        self._exporting = Exporting(self._address, self._clock.now_ms)
        self._exporting.configure(configuration.exports)
        self._save_heartbeat()
        self._systemd.notify(READY="1", STATUS=self._status_line())
        log.info(
            "navlin ready",
            solr=self._address.url,
            after_s=round(self._clock.steady_s() - self._started_steady_s, 1),
        )
        if not self._configuration.spark.on_yarn and self._archiving.start():
            log.info("build of a class archive started: it makes the next start faster")
        return True

    def _wait_for_space(self) -> bool:
        """Wait until there is enough disk space to start. Return False if a request to stop arrived meanwhile."""
        self._look_at_disk()
        while self._disk.short:
            self._systemd.notify(EXTEND_TIMEOUT_USEC="60000000", STATUS=f"waiting: {self._disk}")
            if self._stop_asked():
                return False
            time.sleep(TICK_S)
            self._look_at_disk()
        self._solr_watch.suspect = False
        return True

    def _look_at_disk(self) -> None:
        if (now := self._disk.changed()) is None:
            return
        if self._disk.short:
            log.error("disk space too low: sources paused", reason=str(now))
            return
        log.info("disk space recovered: sources resumed", free_bytes=now.free_bytes)
        self._solr_watch.suspect = True
        self._wake_all()

    def _wake_all(self) -> None:
        for source in self._schedule.due_s():
            self._schedule.wake(source)

    def _request_jobs(self) -> Requests:
        run = {
            Job.EXTRACT: self._requested_extract,
            Job.LINK: self._requested_link,
            Job.PURGE: self._requested_purge,
        }
        return Requests(self._address, this_process(), run, self._clock.now_ms)

    def _stop_asked(self) -> bool:
        # The start itself reads the configuration, so a request to reload it is dropped.
        while not self.commands.empty():
            if self.commands.get() is Command.STOP:
                return True
        return False

    def _take_up(self, configuration: Configuration) -> None:
        with Solr(self._address) as solr:
            open_index(solr, self._embedded)
            self._sources = load(configuration, known_sources(solr))
        self._configuration = configuration
        self._pipeline = Pipeline(self._address, self._spark, self._clock.now_ms, wall_clock=self._clock)

    def _set_jobs(self) -> None:
        sources = self._sources.sources
        self._watch()
        self._schedule.set_sources({source.name: source.settings.interval_s for source in sources})
        purge = self._configuration.purge
        self._schedule.set_purge(self._scheduled_purge, purge.at if purge.scheduled else None)
        if not purge.scheduled:
            self._purging.never_daily()

    def _make_up_purge(self) -> None:
        at = self._configuration.purge.at
        if self._configuration.purge.scheduled and self._purging.missed(at):
            log.info("missed daily purge started", at=at)
            self._schedule.set_purge(self._scheduled_purge, at, missed=True)

    def _watch(self) -> None:
        wanted = [
            (source.name, directory)
            for source in self._sources.sources
            for directory in source.extractor.directories()
        ]
        self._watching.watch(wanted)

    # -- Serving ---------------------------------------------------------------------------------------------------------

    def _serve(self) -> None:
        ticks = 0
        while True:
            try:
                command = self.commands.get(timeout=TICK_S)
            except Empty:
                ticks += 1
                self._look_after(ticks)
                continue
            if command is Command.STOP:
                return
            self._reload()

    def _look_after(self, ticks: int) -> None:
        self._look_at_spark()
        if not self._schedule.alive:
            raise RuntimeError("the scheduler's thread ended")
        self._look_at_disk()
        if self._embedded is not None:
            self._solr_watch.look_after(self._embedded)
        if jump_s := self._clock.new_jump_s():
            log.warning("system clock jumped", by_s=round(jump_s, 1))
            self._schedule.clock_jumped()
        if ticks % WATCH_EVERY_TICKS == 0:
            self._watch()
        if self._requests is not None:
            self._requests.poll()
        if self._inheriting is not None and not self._disk.short:
            self._inheriting.poll()
        if self._exporting is not None and not self._disk.short:
            self._exporting.poll()
        self._web.look_after(self._configuration)
        self._save_heartbeat()
        self._systemd.notify(WATCHDOG="1", STATUS=self._status_line())

    def _look_at_spark(self) -> None:
        if not self._spark.dead:
            self._spark_dead = False
            return
        if self._spark_dead:
            return  # the next run starts a new session
        self._spark_dead = True
        now_s = self._clock.steady_s()
        self._spark_ends_s = [each for each in self._spark_ends_s if now_s - each < SPARK_ENDS_WITHIN_S] + [
            now_s
        ]
        if len(self._spark_ends_s) > MOST_SPARK_ENDS:
            raise SparkDied(
                f"Spark exited unexpectedly {len(self._spark_ends_s)} times within an hour; its last lines"
                " are on standard error"
            )
        log.error("Spark exited unexpectedly: the next run restarts it", times=len(self._spark_ends_s))

    def _reload(self) -> None:
        # A user who reloads the configuration has checked the clock.
        self._clock.believe()
        self._systemd.notify(RELOADING="1", MONOTONIC_USEC=str(time.monotonic_ns() // 1000))
        try:
            configuration = self._as_started(self._reread())
            self._take_up(configuration)
        except _NOT_TAKEN_UP as error:
            log.error("configuration refused: the previous one stays in effect", error=str(error))
        else:
            configure_logs(configuration.log)
            self._disk.least_bytes = configuration.navlin.least_free_bytes
            self._set_jobs()
            if self._exporting is not None:
                self._exporting.configure(configuration.exports)
            log.info("configuration reloaded", sources=len(configuration.sources))
        self._systemd.notify(READY="1", STATUS=self._status_line())

    def _as_started(self, read: Configuration) -> Configuration:
        """Return a reloaded configuration, with the present values of settings that take effect only at a start. For
        example, another cluster would make every source a new source."""
        now = self._configuration
        navlin = replace(now.navlin, least_free=read.navlin.least_free)
        kept = replace(read, navlin=navlin, solr=now.solr, spark=now.spark)
        for section in ("navlin", "solr", "spark"):
            if getattr(kept, section) != getattr(read, section):
                log.warning("section not reloaded: a restart applies it", section=section)
        return kept

    # -- Running a source ------------------------------------------------------------------------------------------------

    def _run_source(self, name: str) -> None:
        loaded = self._sources.named(name)
        if loaded is None or self._disk.short:
            return
        with structlog.contextvars.bound_contextvars(source=name):
            try:
                record = self._pipeline.run(
                    loaded.settings.registration, loaded.extractor, step=self._between_steps
                )
            except Stopped:
                log.info("run interrupted by shutdown")
                return
            except Exception as error:
                # The pipeline reports its own errors. This handles errors outside the pipeline, so that the source is
                # due again.
                log.exception("run failed outside the pipeline")
                now_ms = self._clock.now_ms()
                record = RunRecord(
                    name, loaded.source.id, 0, Status.FAILED, now_ms, now_ms, error=in_words(error)
                )
            self._log_run(record)
        self._remember(record)

    def _remember(self, record: RunRecord) -> None:
        self._last_runs[record.source] = LastRun(
            record.started_ms, record.ended_ms, record.status.value, record.error, record.more
        )
        if record.more:
            self._schedule.wake(record.source)

    def _between_steps(self, step: str) -> None:
        if self._stopping:
            raise Stopped(step)
        if self._disk.short:
            raise NoSpace(f"stopped before the step {step!r}: {self._disk}")

    def _log_run(self, record: RunRecord) -> None:
        if self._stopping and record.status is Status.FAILED:
            log.info("run interrupted by shutdown")
            return
        about = {"run": record.run_id, "took_ms": record.ended_ms - record.started_ms}
        match record.status:
            case Status.IDLE:
                log.debug("run found nothing new", **about)
            case Status.FAILED:
                self._solr_watch.suspect |= record.error.startswith("Solr at ")
                log.error("run failed", error=record.error, failures=list(record.failures), **about)
            case Status.HELD:
                log.warning("run held for review", reason=record.note, **about)
            case Status.LEASED:
                log.warning("run skipped: another process holds the lease", reason=record.error)
            case _:
                failures = {"failures": list(record.failures)} if record.failures else {}
                log.info("run finished", **about, **record.counts.counted(), **failures)

    def _scheduled_purge(self) -> None:
        put_off = str(self._disk) if self._disk.short else ""
        if self._suspect_jump_ms():
            put_off = (
                "this machine's clock jumped; if it is right now, confirm that with `systemctl reload navlin`"
            )
        self._purging.daily(self._configuration.purge, put_off)

    # -- Requests --------------------------------------------------------------------------------------------------------

    def _requested_extract(self, arguments: Mapping[str, Any], step: Step) -> jobs.Answer:
        name, dry_run = arguments["source"], arguments["dry_run"]
        loaded = self._sources.named(name)
        if loaded is None:
            raise RequestRefused(
                f'the running navlin serve has no source "{name}": reload its configuration'
                f" (systemctl reload navlin, or kill -HUP {os.getpid()})"
            )

        self._require_space()

        def next_step(step_name: str) -> None:
            self._between_steps(step_name)
            step(step_name)

        def run() -> RunRecord:
            with structlog.contextvars.bound_contextvars(source=name):
                record = jobs.extract(
                    self._pipeline,
                    loaded,
                    complete=arguments["complete"],
                    dry_run=dry_run,
                    accept_loss=arguments["accept_loss"],
                    step=next_step,
                )
                self._log_run(record)
            return record

        if dry_run:
            return jobs.run_as_json(run(), dry_run=True)
        record = self._schedule.run_in_turn(name, run)
        if record is None or (self._stopping and record.status is Status.FAILED):
            raise Stopped
        self._remember(record)
        return jobs.run_as_json(record, dry_run=False)

    def _require_space(self) -> None:
        if self._disk.short:
            raise RequestRefused(str(self._disk))

    def _requested_link(self, arguments: Mapping[str, Any], step: Step) -> jobs.Answer:
        self._require_space()
        step("link")
        with Solr(self._address) as solr:
            everything = arguments["everything"]
            return jobs.link(
                solr,
                self._sources,
                self._spark,
                self._clock.now_ms,
                everything=everything,
                stop=lambda: self._stopping,
            )

    def _requested_purge(self, arguments: Mapping[str, Any], step: Step) -> jobs.Answer:
        self._require_space()
        step("purge")
        return self._purging.purge(
            arguments["before_ms"],
            dry_run=arguments["dry_run"],
            deleted_files=arguments["deleted_files"],
            accepted=arguments["accepted"],
        )

    # -- Ending ----------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        self._stopping = True
        self._systemd.notify(STOPPING="1", STATUS="finishing what is being written")
        self._web.stop()
        self._archiving.stop()
        self._watching.stop()
        self._schedule.stop()
        if self._exporting is not None:
            self._exporting.stop()
        if left := self._wait_for_runs(FINISH_S):
            log.warning("runs aborted by shutdown: the next start repeats them", sources=left)
            self._spark.cancel()
            self._wait_for_runs(ABANDON_S)
        self._spark.stop()
        if self._embedded is not None:
            self._embedded.stop()
        remove_heartbeat(self._configuration.navlin.state_directory)
        log.info("navlin stopped")

    def _wait_for_runs(self, at_most_s: float) -> list[str]:
        deadline = time.monotonic() + at_most_s
        while (running := self._running()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return running

    def _running(self) -> list[str]:
        requested = self._requests.running() if self._requests is not None else []
        inheriting = ["inheriting"] if self._inheriting is not None and self._inheriting.at_it else []
        exporting = self._exporting.running() if self._exporting is not None else []
        return [*self._schedule.running(), *requested, *inheriting, *exporting]

    # -- State -----------------------------------------------------------------------------------------------------------

    def _save_heartbeat(self) -> None:
        heartbeat = Heartbeat(
            round(self._clock.at_s(self._started_steady_s) * 1000),
            self._schedule.due_s(),
            dict(self._last_runs),
            clock_jump_ms=self._suspect_jump_ms(),
        )
        try:
            save_heartbeat(self._configuration.navlin.state_directory, heartbeat)
        except OSError as error:
            if self._heartbeat_saved:
                log.warning("heartbeat not written: `navlin status` shows an older one", error=str(error))
            self._heartbeat_saved = False
        else:
            self._heartbeat_saved = True

    def _status_line(self) -> str:
        failing = sorted(name for name, run in self._last_runs.items() if run.status == Status.FAILED)
        words = counted(len(self._sources.sources), "source")
        if self._disk.short:
            return f"{words}, waiting: {self._disk}"
        return f"{words}, failing: {', '.join(failing)}" if failing else f"{words}, all well"

    def _suspect_jump_ms(self) -> int:
        jump_ms = self._clock.jump_ms()
        return jump_ms if abs(jump_ms) > TOLERANCE_MS else 0
