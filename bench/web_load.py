"""Users who ask lineage and search over HTTP during extraction: times of answers and events, with users and without.

    python -m bench web_load [--users 50] [--events 100] [--seconds 600] [--operations 50000] [--questions 10000]

It starts its own service, with a graph in its index. Impala's lineage log gets ``--events`` records a second. First
nobody asks, then each user asks for the lineage of a random table or for a search, reads the answer, pauses (3 s on
average), and asks again. Some records are timed, from the append until a search finds the statement. Finally, without
events, the users ask without pauses, every tenth time for lineage, until the total of questions is reached, to measure
the remaining memory.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import requests
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from bench._index import all_tables, fill
from bench._machine import command_of, load_of_machine, processes, processor_s, resident_mib
from bench._options import options
from bench._shown import percentile, table_of
from bench.latency import served
from navlin.access.roles import Role
from navlin.access.store import AccessFile
from navlin.api.own import ROOT
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from tests.support.served_daemon import record

PASSWORD: Final = "a password of the bench"
PAUSE_S: Final = 3.0
SAMPLE_EVERY_S: Final = 1.0
ASK_EVERY_S: Final = 0.1
PATIENCE_S: Final = 120.0


@dataclass
class Asked:
    """Results of the users: the seconds of each response, by kind of query, and the number of errors."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: {"lineage": [], "search": []})
    errors: Counter[str] = field(default_factory=Counter)

    @property
    def count(self) -> int:
        return sum(map(len, self.seconds.values()))


@dataclass
class Writer:
    """Appends records to the log at a steady rate, and times some of them."""

    log: Path
    solr: Solr
    events_a_second: int
    number: int = 0
    seconds: list[float] = field(default_factory=list)

    def run(self, until_s: float) -> None:
        """Append records until ``until_s``. Return once the timed records are searchable."""
        waiting: list[tuple[int, float]] = []
        begun_s, first = time.monotonic(), self.number
        next_sample_s = begun_s
        while (now_s := time.monotonic()) < until_s:
            due = first + int((now_s - begun_s) * self.events_a_second)
            with self.log.open("a") as file:
                file.writelines(record(each, f"load.t{each}") for each in range(self.number, due))
            if due > self.number and now_s >= next_sample_s:
                waiting.append((due - 1, now_s))
                next_sample_s += SAMPLE_EVERY_S
            self.number = due
            waiting = self._through(waiting)
            time.sleep(ASK_EVERY_S)
        while waiting and time.monotonic() < until_s + PATIENCE_S:
            waiting = self._through(waiting)
            time.sleep(ASK_EVERY_S)
        self.seconds += [PATIENCE_S] * len(waiting)

    def _through(self, waiting: list[tuple[int, float]]) -> list[tuple[int, float]]:
        left = list(waiting)
        while left and self.solr.count(ELEMENTS, f'queryText:"load.t{left[0][0]}"'):
            self.seconds.append(time.monotonic() - left.pop(0)[1])
        return left


@dataclass
class User:
    url: str
    name: str
    tables: list[tuple[str, str]]
    rng: random.Random

    def ask_until(self, until_s: float, asked: Asked) -> None:
        """Send queries until ``until_s``, with pauses."""
        with self._session() as session:
            time.sleep(self.rng.uniform(0, PAUSE_S))
            while time.monotonic() < until_s:
                self._ask(session, self.rng.choice(["lineage", "search"]), asked)
                time.sleep(self.rng.expovariate(1 / PAUSE_S))

    def ask_times(self, times: int, asked: Asked, progress: Callable[[], None]) -> None:
        """Send this many queries without pauses."""
        with self._session() as session:
            for number in range(times):
                self._ask(session, "search" if number % 10 else "lineage", asked)
                progress()

    def _session(self) -> requests.Session:
        session = requests.Session()
        session.auth = (self.name, PASSWORD)
        return session

    def _ask(self, session: requests.Session, question: str, asked: Asked) -> None:
        identity, name = self.rng.choice(self.tables)
        query = f"originalName:{name[:4]}* AND type:TABLE"
        parameters = {"entity": identity} if question == "lineage" else {"query": query}
        begun_s = time.perf_counter()
        try:
            status = session.get(
                f"{self.url}{ROOT}/{question}", params=parameters, timeout=PATIENCE_S
            ).status_code
        except requests.RequestException as error:
            status = 0
            asked.errors[type(error).__name__] += 1
        if status == 200:
            asked.seconds[question].append(time.perf_counter() - begun_s)
        elif status:
            asked.errors[f"{question}: {status}"] += 1


def spent_s(service: int) -> dict[str, float]:
    """Map each kind of process of a service (Solr, web, Spark's Java, other Python) to its CPU seconds so far."""
    parents = processes()
    family = [service]
    for each in family:
        family.extend(child for child, parent in parents.items() if parent == each)
    sums: dict[str, float] = defaultdict(float)
    for each in family:
        with suppress(OSError):  # it has ended
            sums[kind_of(command_of(each))] += processor_s(each, with_children=True)
    return sums


def kind_of(command: str) -> str:
    if "java" not in command.partition("\0")[0]:
        return "web" if "--child" in command else "daemon and Spark's Python"
    return "Spark's Java" if "spark" in command.lower() else "Solr"


def address_of(log: list[dict[str, Any]]) -> str:
    """Return the URL of the web process, once the log reports that it is ready."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        for line in list(log):
            if line.get("event") == "web ready":
                return str(line["url"])
        time.sleep(0.1)
    raise SystemExit(f"the web process is not ready: {log[-5:]}")


def web_process(configuration: Path) -> int:
    """Return the pid of the web process that uses this configuration file."""
    for process in processes():
        with suppress(OSError):  # it has ended
            command = command_of(process).split("\0")
            if "--child" in command and str(configuration) in command:
                return process
    raise SystemExit("no web process runs")


@contextmanager
def phase(progress: Progress, what: str, seconds: float) -> Iterator[float]:
    """Show the progress of a phase. Yield the time at which the phase ends."""
    until_s = time.monotonic() + seconds
    task, done = progress.add_task(what, total=seconds), threading.Event()

    def tick() -> None:
        while not done.wait(1):
            progress.update(task, completed=seconds - max(0.0, until_s - time.monotonic()))

    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        yield until_s
    finally:
        done.set()
        ticking.join()


def measure(home: Path, users: int, events: int, seconds: float, operations: int, questions: int) -> Table:
    names = [f"user{number}" for number in range(users)]
    (home / "state").mkdir()
    access = AccessFile(home / "state")
    for name in names:
        access.add_user(name, Role.LINEAGE_VIEWER, PASSWORD)
    asked, hurried = Asked(), Asked()
    with Progress(console=Console(stderr=True)) as progress, served(home, 0) as (solr, log):
        url, web = address_of(log), web_process(home / "navlin.toml")
        fill(solr, operations)
        tables = [(key.identity, key.name) for key in all_tables(operations)]
        writer = Writer(home / "lineage" / "impala_lineage_log_1.0-1700000000000", solr, events)
        service = processes()[web]
        spent = [spent_s(service)]
        with phase(progress, "events alone", seconds) as until_s:
            writer.run(until_s)
        alone, writer.seconds = writer.seconds, []
        spent.append(spent_s(service))
        for name in names:
            # Checking a password hash takes 0.1 s, once for each user.
            requests.get(f"{url}/session", auth=(name, PASSWORD), timeout=PATIENCE_S).raise_for_status()
        who = [User(url, name, tables, random.Random(seed)) for seed, name in enumerate(names)]
        memory_mib, begun = [resident_mib(web)], load_of_machine()
        with phase(progress, "with users", seconds) as until_s, ThreadPoolExecutor(users) as pool:
            asking = [pool.submit(each.ask_until, until_s, asked) for each in who]
            writer.run(until_s)
            for done in asking:
                done.result()
        memory_mib.append(resident_mib(web))
        spent.append(spent_s(service))
        times = max(0, questions - asked.count) // users
        task = progress.add_task("questions without pauses", total=times * users)
        with ThreadPoolExecutor(users) as pool:
            for each in who:
                pool.submit(each.ask_times, times, hurried, partial(progress.advance, task))
        memory_mib.append(resident_mib(web))
    memory = ", ".join(f"{each:.0f}" for each in memory_mib)
    shown = table_of(
        "what",
        figures=("count", "p50 s", "p95 s", "p99 s", "most s"),
        title=f"{users} users beside {events} events a second, {seconds:.0f} s without and with them",
        caption=f"{asked.count:,} answers, errors: {dict(asked.errors) or 'none'}; then {hurried.count:,} without pauses,"
        f" errors: {dict(hurried.errors) or 'none'}; web process {memory} MiB before, after, and after the last;"
        f" load of the machine {begun} to {load_of_machine()}",
    )
    rows = {"event, alone": alone, "event, with users": writer.seconds, **asked.seconds}
    for what, values in rows.items():
        figures = [percentile(values, share) for share in (0.5, 0.95, 0.99)] if values else []
        shown.add_row(
            what, f"{len(values):,}", *(f"{each:.2f}" for each in figures), f"{max(values, default=0):.2f}"
        )
    if alone and writer.seconds:
        ratio = percentile(writer.seconds, 0.99) / percentile(alone, 0.99)
        shown.add_row("p99 of events, with users to alone", "", "", "", f"{ratio:.2f}", "")
    for kind in sorted(spent[-1]):
        without, beside = (round(after[kind] - before[kind]) for before, after in pairwise(spent))
        shown.add_row(f"processor s of {kind}", f"{without} alone, {beside} with users")
    return shown


def main() -> None:
    numbers = {"users": 50, "events": 100, "seconds": 600.0, "operations": 50_000, "questions": 10_000}
    given = options(__doc__, **numbers).parse_args()
    with tempfile.TemporaryDirectory() as home:
        Console().print(
            measure(Path(home), given.users, given.events, given.seconds, given.operations, given.questions)
        )


if __name__ == "__main__":
    main()
