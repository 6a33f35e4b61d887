"""Nemeses: faults injected at random while the inputs of `tests.support.killed_runs` are processed.

A nemesis disturbs one or more runs, whose results do not matter. Afterwards the run is repeated undisturbed and must
succeed, as the daemon's next run would.
"""

from __future__ import annotations

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from navlin.index.journal.runs import RunRecord, Status
from navlin.pipeline.run import NothingBlocked
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.another_process import AnotherProcess
from tests.support.followed_logs import OF_LOGS, FollowedLogs
from tests.support.full_disk import empty, fill
from tests.support.killed_runs import GENERATION_MS, GENERATIONS, Played
from tests.support.pipeline_estate import FIRST_MS, SmallEstate
from tests.support.solr_proxy import Call, SolrProxy

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
REQUESTS, REQUESTS_AT_LEAST = 45, 12
"""Approximate number of requests of a run, and of a run that finds nothing new."""
THROUGH = (Status.FINISHED, Status.IDLE)


@dataclass(slots=True)
class World:
    """Everything that a nemesis can disturb. ``struck`` counts the faults by name; ``came_to`` counts the results of
    disturbed runs.
    """

    estate: SmallEstate
    """The estate, whose requests pass through the proxy."""
    proxy: SolrProxy
    solr_server: EmbeddedSolr
    chance: random.Random
    struck: Counter[str] = field(default_factory=Counter)
    came_to: Counter[str] = field(default_factory=Counter)
    another: Callable[[], AnotherProcess] | None = None
    """Returns a second navlin process that runs the same sources, starting it if necessary."""
    logs: FollowedLogs | None = None
    reached: bool = True
    """Whether the nemesis struck. A run may end before the request at which it would have struck."""
    missed: int = 0
    disk: Path | None = None
    """Mount point of a small disk with Solr's state, which a nemesis may fill."""

    def disturbed(self, run: Callable[[], RunRecord]) -> RunRecord:
        """Execute a run that may have any result."""
        record = run()
        self.came_to[record.status] += 1
        return record

    @contextmanager
    def holding(self, **changes: Any) -> Iterator[None]:
        """Change the contents of the metastore inside the block."""
        before = self.estate.tables_file.read_text()
        self.estate.tables_file.write_text(json.dumps({**json.loads(before), **changes}))
        try:
            yield
        finally:
            self.estate.tables_file.write_text(before)

    @contextmanager
    def at_request(self, strike: Callable[[], bool], within: int = REQUESTS) -> Iterator[None]:
        """Call ``strike`` before and after each request, from a random request on. The request or response passes if
        ``strike`` returns True.
        """
        left = self.chance.randrange(within)
        self.reached = False

        def passes(call: Call) -> bool:
            nonlocal left
            left -= not call.answered
            if left >= 0:
                return True
            self.reached = True
            return strike()

        self.proxy.passes = passes
        try:
            yield
        finally:
            self.proxy.passes = lambda call: True


Run = Callable[..., RunRecord]
Nemesis = Callable[[World, Run], None]


# -- Solr and the process ----------------------------------------------------------------------------------------------


def dead_from_a_request_on(world: World, run: Run) -> None:
    """Block all requests from a random one on. For the index this is the same as the death of the process."""
    with world.at_request(lambda: False):
        world.disturbed(run)


def one_request_is_lost(world: World, run: Run) -> None:
    lost = [False]

    def strike() -> bool:
        lost[0], before = True, lost[0]
        return before

    with world.at_request(strike):
        world.disturbed(run)


def solr_is_killed(world: World, run: Run) -> None:
    killed = [False]

    def strike() -> bool:
        if not killed[0]:
            killed[0] = True
            os.kill(world.solr_server.pid or 0, signal.SIGKILL)
        return False

    with world.at_request(strike):
        world.disturbed(run)
    if killed[0]:
        # On a busy machine, a killed process takes a moment to end.
        while world.solr_server.alive:
            time.sleep(0.01)
        world.solr_server.start()


def solr_stands_still(world: World, run: Run) -> None:
    stood = [False]

    def strike() -> bool:
        if not stood[0]:
            stood[0] = True
            pid = world.solr_server.pid or 0
            os.kill(pid, signal.SIGSTOP)
            threading.Timer(world.chance.uniform(0.05, 1.0), os.kill, (pid, signal.SIGCONT)).start()
        return True

    with world.at_request(strike):
        world.disturbed(run)


def solr_answers_late(world: World, run: Run) -> None:
    def strike() -> bool:
        time.sleep(world.chance.uniform(0, 0.02))
        return True

    with world.at_request(strike):
        world.disturbed(run)


def disk_is_full(world: World, run: Run) -> None:
    """Fill the disk at a random request. After there is room again, restart Solr, whose writes failed, as `navlin
    serve` does.
    """
    assert world.disk is not None
    full = [False]

    def strike() -> bool:
        if not full[0]:
            full[0] = True
            fill(world.disk or Path())
        return True

    with world.at_request(strike):
        world.disturbed(run)
    if full[0]:
        empty(world.disk)
        world.solr_server.stop()
        world.solr_server.start()


# -- Processes ---------------------------------------------------------------------------------------------------------

TAKEN_AFTER_S = 2.0
"""Time in seconds without a renewal after which this test's process takes over a lease."""


def a_python_worker_is_killed(world: World, run: Run) -> None:
    """Kill one of the Python workers of Spark; the task is retried."""
    killed = [False]

    def strike() -> bool:
        if not killed[0] and (workers := python_workers()):
            killed[0] = True
            with suppress(ProcessLookupError):
                os.kill(world.chance.choice(workers), signal.SIGKILL)
        return True

    with world.at_request(strike):
        world.disturbed(run)


def python_workers() -> list[int]:
    """Return the Python workers of this process's Spark, without the daemon that forks them."""
    parents, daemons = {}, set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if b"navlin.pipeline.worker_daemon" in (entry / "cmdline").read_bytes():
                daemons.add(int(entry.name))

    def ours(pid: int) -> bool:
        return pid == os.getpid() or (pid in parents and ours(parents[pid]))

    return [pid for pid in daemons if parents.get(pid) in daemons and ours(pid)]


def _in_another(
    world: World, run: Run, strike: Callable[[AnotherProcess], None]
) -> tuple[AnotherProcess, bool]:
    """Run the source in another process. ``strike``, which must kill or stop that process, is called at one of its
    requests.

    Return the other process, and whether it was struck: its run may make too few requests.
    """
    assert world.another is not None
    another, struck = world.another(), threading.Event()

    def once() -> bool:
        if not struck.is_set():
            struck.set()
            strike(another)
        return True

    kind = "pull" if run == world.estate.pull else "follow"
    with world.at_request(once, within=REQUESTS_AT_LEAST):
        another.run(kind, world.estate.solr.address, world.estate.cluster, world.estate.now_ms)
        while not struck.is_set() and not (ended := another.came_to(wait_s=0.2)):
            pass
    if not struck.is_set():
        world.came_to[f"{ended} in another process"] += 1
    return another, struck.is_set()


def another_process_is_killed(world: World, run: Run) -> None:
    """Kill the process with all its children, as systemd does."""
    _, killed = _in_another(world, run, lambda process: process.close())
    world.came_to["killed in another process"] += killed
    world.disturbed(run)


def the_driver_of_another_process_is_killed(world: World, run: Run) -> None:
    """Kill only the driver; its Spark ends when it notices."""
    _, killed = _in_another(world, run, lambda process: process.kill_the_driver_alone())
    world.came_to["killed in another process"] += killed
    world.disturbed(run)


def the_java_of_another_process_is_killed(world: World, run: Run) -> None:
    """Kill the Java process of the other navlin. Its run fails, as all later ones would; `navlin serve` then exits and
    is restarted.
    """
    another, killed = _in_another(world, run, lambda process: process.kill_its_java())
    if killed:
        world.came_to[f"{another.came_to(wait_s=30) or 'stuck'} without Spark in another process"] += 1
        another.close()
    world.disturbed(run)


def another_process_stands_still_past_its_lease(world: World, run: Run) -> None:
    """This process takes over the lease, and writes of the other process are refused when it continues."""
    another, stopped = _in_another(world, run, lambda process: process.send(signal.SIGSTOP))
    estate, pipeline = world.estate, world.estate.pipeline
    estate.pipeline = replace(pipeline, lease_s=TAKEN_AFTER_S)
    try:
        world.disturbed(run)
    finally:
        estate.pipeline = pipeline
        another.send(signal.SIGCONT)
    if stopped:
        world.came_to[f"{another.came_to()} after it stood still"] += 1


# -- The clock ---------------------------------------------------------------------------------------------------------


def _at_another_time(world: World, run: Run, off_ms: int) -> None:
    world.estate.now_ms += off_ms
    try:
        world.disturbed(run)
    finally:
        world.estate.now_ms -= off_ms


def clock_ahead(world: World, run: Run) -> None:
    """No other clock contradicts this one, so the records read get wrong times; the next listing corrects them."""
    _at_another_time(world, run, world.chance.choice((HOUR_MS, DAY_MS, 30 * DAY_MS)))


def clock_behind(world: World, run: Run) -> None:
    _at_another_time(world, run, -world.chance.choice((1_000, HOUR_MS, 30 * DAY_MS)))


def clock_that_the_source_contradicts(world: World, run: Run) -> None:
    right = {"at_ms": world.estate.now_ms, "exact": True}
    with world.holding(clock=right):
        _at_another_time(world, run, world.chance.choice((-1, 1)) * 30 * DAY_MS)


# -- The source --------------------------------------------------------------------------------------------------------


def _some(world: World, share: float) -> tuple[Mapping[str, Any], Sequence[str]]:
    """Return the tables that are still listed, and the names of the others."""
    tables: dict[str, Any] = json.loads(world.estate.tables_file.read_text())["tables"]
    missed = world.chance.sample(sorted(tables), max(1, int(len(tables) * share)))
    return {name: table for name, table in tables.items() if name not in missed}, missed


def listing_is_short(world: World, run: Run) -> None:
    """The listing lacks tables without reporting an error. The source still knows the names of the missing tables."""
    listed, missed = _some(world, world.chance.random())
    with world.holding(tables=listed, unlisted=missed):
        world.disturbed(run)


def listing_is_short_and_nobody_can_be_asked(world: World, run: Run) -> None:
    listed, _ = _some(world, world.chance.random())
    with world.holding(tables=listed, **{"cannot be asked": True}):
        world.disturbed(run)


def some_tables_cannot_be_read(world: World, run: Run) -> None:
    _, missed = _some(world, world.chance.uniform(0, 0.3))
    with world.holding(broken=missed):
        world.disturbed(run)


def source_is_down(world: World, run: Run) -> None:
    with world.holding(down="nobody answers"):
        world.disturbed(run)


def metastore_is_set_back(world: World, run: Run) -> None:
    """The metastore is restored from an earlier copy, then returns to its former state in steps."""
    now = json.loads(world.estate.tables_file.read_text())["tables"]
    earlier = world.chance.choice([each.tables for each in GENERATIONS if set(each.tables) <= set(now)])
    with world.holding(tables=earlier):
        world.disturbed(run)
    some = {name: table for name, table in now.items() if name in earlier or world.chance.random() < 0.5}
    with world.holding(tables=some):
        world.disturbed(run)


# -- Users -------------------------------------------------------------------------------------------------------------


def everything_is_read_again(world: World, run: Run) -> None:
    world.disturbed(lambda: run(complete=True))


def only_looked_at(world: World, run: Run) -> None:
    world.disturbed(lambda: run(dry_run=True))


def a_loss_is_accepted_that_nobody_held(world: World, run: Run) -> None:
    try:
        world.disturbed(lambda: run(accept_loss="no such run"))
    except NothingBlocked:
        world.came_to["refused"] += 1


OF_EITHER: tuple[Nemesis, ...] = (
    dead_from_a_request_on,
    one_request_is_lost,
    solr_is_killed,
    solr_stands_still,
    solr_answers_late,
    clock_ahead,
    clock_behind,
    everything_is_read_again,
    only_looked_at,
    a_loss_is_accepted_that_nobody_held,
)
OF_THE_METASTORE: tuple[Nemesis, ...] = (
    clock_that_the_source_contradicts,
    listing_is_short,
    listing_is_short_and_nobody_can_be_asked,
    some_tables_cannot_be_read,
    source_is_down,
)
OF_PROCESSES: tuple[Nemesis, ...] = (
    a_python_worker_is_killed,
    another_process_is_killed,
    the_driver_of_another_process_is_killed,
    the_java_of_another_process_is_killed,
    another_process_stands_still_past_its_lease,
)


def play_among(world: World, *, runs: int, faults_a_run: int, further: Sequence[Nemesis] = ()) -> None:
    """Process the inputs, with ``faults_a_run`` random faults before each run.

    The nemeses in ``further`` take longer. Each of them occurs at least once if there are enough runs.
    """
    estate = world.estate
    played = Played(estate)
    due = list(further)
    for number in range(runs):
        played.lay(number // 2)
        estate.now_ms = FIRST_MS + (number // 2 + 1) * GENERATION_MS
        run, nemeses = (
            (estate.pull, OF_EITHER + OF_THE_METASTORE + ((metastore_is_set_back,) if further else ())),
            (estate.follow, OF_EITHER),
        )[number % 2]
        strikes = world.chance.choices((*nemeses, *further), k=faults_a_run)
        if due:
            strikes.append(due.pop(world.chance.randrange(len(due))))
        for nemesis in strikes:
            world.reached = True
            nemesis(world, run)
            world.struck[nemesis.__name__] += world.reached
            world.missed += not world.reached
        record = run()
        if record.status not in THROUGH:
            raise AssertionError(f"run {number}, undisturbed after {world.struck}: {record}")
        if world.logs is not None:
            _play_logs(world, world.logs, faults=faults_a_run)


def _play_logs(world: World, logs: FollowedLogs, *, faults: int) -> None:
    """Write and follow the logs, with ``faults`` random faults between two undisturbed runs."""
    logs.write(1)
    for nemesis in world.chance.choices(OF_LOGS, k=faults):
        nemesis(logs, world.chance)
        world.struck[nemesis.__name__] += 1
        logs.run()
    logs.catch_up()


def in_words(world: World) -> str:
    """Summarize the faults and results in one line."""
    faults = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in (+world.struck).most_common())
    came_to = ", ".join(f"{status} {count}" for status, count in (+world.came_to).most_common())
    missed = f", and {world.missed} for which a run was too short" if world.missed else ""
    return f"{world.struck.total()} faults ({faults}){missed}; the disturbed runs were {came_to}"
