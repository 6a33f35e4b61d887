"""A fixed set of inputs, processed to the end by processes that are killed and restarted.

Run as a program (``python -m tests.support.killed_runs``), this module is one of these processes. It reads Solr's
address from stdin, prints each step on a line, and continues where the previous process was killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.pipeline.session import start_session
from tests.support.pipeline_estate import FIRST_MS, SmallEstate, unstamped

REPOSITORY = Path(__file__).parents[2]
GENERATION_MS = 10_000_000
LIFE_MS = 100_000


@dataclass(frozen=True, slots=True)
class Generation:
    """The metastore's contents in this generation, and the lines that the engine appends to its file. ``broken`` and
    ``rejected`` name tables that cannot be read.
    """

    tables: Mapping[str, Any]
    lines: Sequence[str] = ()
    broken: Sequence[str] = ()
    rejected: Sequence[str] = ()


def _said(text: str, reads: list[str], writes: list[str], at: int, **more: Any) -> str:
    return json.dumps({"text": text, "reads": reads, "writes": writes, "at_ms": FIRST_MS + at, **more})


def _wide(tables: int, columns: int, owner: str = "etl") -> dict[str, Any]:
    return {
        f"wide.t{number:03d}": {"columns": [f"c{c}" for c in range(columns)], "owner": owner}
        for number in range(tables)
    }


_ORDERS = {"columns": ["id", "amount"], "location": "hdfs://ns/w/orders"}
_BASE = {"sales.orders": _ORDERS, "sales.items": ["id", "price"], "tmp.stage": ["id"]}
_MORE = {**_BASE, "sales.report": ["id", "total"], "sales.orders": {**_ORDERS, "owner": "bob"}}
_LESS = {name: table for name, table in _MORE.items() if name != "tmp.stage"}
_BACK = {**_LESS, "tmp.stage": ["id"], "sales.orders": {**_ORDERS, "columns": ["id"], "owner": "bob"}}
_RENAMED = {name: table for name, table in _BACK.items() if name != "sales.items"} | {
    "sales.goods": {"columns": ["id", "price"], "was": "sales.items"}
}
_PARTS = [["sales.orders.id", "sales.report.id"], ["sales.orders.amount", "sales.report.total"]]

GENERATIONS: tuple[Generation, ...] = (
    Generation(
        _BASE,
        [
            _said("stage", ["sales.orders"], ["tmp.stage"], 1, parts=[["sales.orders.id", "tmp.stage.id"]]),
            _said("report", ["tmp.stage", "sales.items"], ["sales.report"], 2, parts=_PARTS),
            _said("look", ["sales.orders"], [], 3),
        ],
    ),
    # A claimed table appears, and another table changes. The engine reports a line that is not a record, and a location
    # that no source serves.
    Generation(_MORE, ["{half a record", _said("export", ["sales.report"], ["hdfs://out/x/report"], 4)]),
    # A table is dropped. A statement loses a sub-operation, and an older record of it arrives late.
    Generation(
        _LESS,
        [
            _said("report", ["tmp.stage", "sales.items"], ["sales.report"], 9, parts=_PARTS[:1]),
            _said("report", ["tmp.stage", "sales.items"], ["sales.report"], 5, parts=_PARTS),
        ],
    ),
    # Each core gets more than one batch.
    Generation(
        {**_LESS, **_wide(110, 10)},
        [
            _said(f"copy {n}", [f"wide.t{n:03d}"], [f"wide.t{n + 1:03d}"], 20 + n, parts=[])
            for n in range(0, 100, 2)
        ],
    ),
    # Some tables cannot be read; they must not be lost.
    Generation(
        {**_LESS, **_wide(100, 9, "ann")},
        [_said("again", ["wide.t001"], ["wide.t002"], 200)],
        broken=["wide.t005"],
        rejected=["wide.t006"],
    ),
    # All tables can be read again. Some of the wide ones are gone, and a dropped table is back; another one has lost a
    # column.
    Generation({**_BACK, **_wide(80, 9, "ann")}, [_said("again", ["wide.t001"], ["wide.t002"], 201)]),
    Generation({**_RENAMED, **_wide(80, 9, "ann")}, ["no record either"]),
)


# -- Running the generations -------------------------------------------------------------------------------------------


class Played:
    """An estate that processes the generations one after the other."""

    def __init__(self, estate: SmallEstate, reported: Callable[[str], None] = lambda step: None) -> None:
        self.estate, self.reported = estate, reported
        self._through = estate.tables_file.with_suffix(".through")

    def begin(self) -> None:
        self._through.unlink(missing_ok=True)

    @property
    def through(self) -> int:
        """Number of runs completed."""
        return int(self._through.read_text()) if self._through.exists() else 0

    def play(self, *, life: int = 0, first: int = 0, last: int = 2 * len(GENERATIONS)) -> None:
        """Execute the runs that are not yet completed, up to ``last``. Even runs are the metastore's, odd ones the
        engine's. Raises an AssertionError if a run fails.
        """
        for run in range(max(first, self.through), last):
            number = run // 2
            self.lay(number)
            self.estate.now_ms = FIRST_MS + (number + 1) * GENERATION_MS + life * LIFE_MS
            name, start = (("pull", self.estate.pull), ("follow", self.estate.follow))[run % 2]

            def step(at: str, *, of: str = f"{number + 1} {name}") -> None:
                self.reported(f"{of}: {at}")

            record = start(step=step)
            if record.status not in (Status.FINISHED, Status.IDLE):
                raise AssertionError(f"generation {number + 1}: {record}")
            self._through.write_text(str(run + 1))

    def lay(self, number: int) -> None:
        """Set the sources to their contents in generation ``number``, counted from 0."""
        now = GENERATIONS[number]
        self.estate.tables(now.tables, broken=now.broken, rejected=now.rejected)
        lines = [line for generation in GENERATIONS[: number + 1] for line in generation.lines]
        self.estate.lines_file.write_text("".join(line + "\n" for line in lines))


def index_of(estate: SmallEstate) -> dict[tuple[str, str], dict[str, Any]]:
    """Map (core, id) to each document of the inputs, without navlin's own stamps. The time of a metastore listing is
    removed as well; the time of a statement's run is kept.
    """
    estate.solr.commit(RUNS, soft=True)
    index = estate.index()
    for document in index.values():
        if document["writer"] != estate.impala.id or document["type"] == "SOURCE":
            document.pop("asOf", None)
    of_either = f"sourceId:({estate.hive.id} OR {estate.impala.id})"
    for reject in estate.solr.cursor(RUNS, "kind:reject", "*", filters=[of_either]):
        index[RUNS, reject["identity"]] = {
            name: value for name, value in unstamped(reject).items() if name not in ("runId", "started")
        }
    return index


def wipe(estate: SmallEstate) -> None:
    documents = {core: [d["identity"] for d in estate.documents(core)] for core in (ELEMENTS, RELATIONS)}
    of_either = (
        f"sourceId:({estate.hive.id} OR {estate.impala.id}) source:({estate.hive.id} OR {estate.impala.id})"
    )
    documents[RUNS] = [d["identity"] for d in estate.solr.cursor(RUNS, of_either, "identity")]
    for core, ids in documents.items():
        estate.solr.delete_ids(core, ids)
        estate.solr.commit(core, soft=True)


def differences(
    one: Mapping[tuple[str, str], Mapping[str, Any]], other: Mapping[tuple[str, str], Mapping[str, Any]]
) -> list[str]:
    """Return the differences between two indexes, one line per document."""
    return [
        f"{core} {identity}: {_unlike(one.get((core, identity)), other.get((core, identity)))}"
        for core, identity in sorted(one.keys() | other.keys())
        if one.get((core, identity)) != other.get((core, identity))
    ]


def _unlike(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> str:
    if one is None or other is None:
        return f"only the {'second' if one is None else 'first'} has it: {one or other}"
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return ", ".join(f"{name} {one.get(name)!r} and {other.get(name)!r}" for name in names) + f" of {one}"


# -- Killed processes --------------------------------------------------------------------------------------------------


class Life:
    """A process that runs the inputs. ``steps`` lists the steps begun; the last one is where the process was killed.
    ``program`` is this module, or another one with the same orders.

    The process starts Spark immediately and waits for `begin`, so that it can start up while the previous process runs.
    """

    def __init__(self, folder: Path, number: int, program: str = "tests.support.killed_runs") -> None:
        self.number = number
        self.steps: list[str] = []
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", program, str(folder / f"scratch-{number}")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            text=True,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._output = self._process.stdin, self._process.stdout
        self._lines: SimpleQueue[str] = SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        for line in self._output:
            self.steps.append(line.strip())
            self._lines.put(line.strip())
        self._lines.put("")

    def begin(self, address: SolrAddress, cluster: str) -> None:
        """Make the waiting process run the inputs."""
        reported = {
            "address": asdict(address),
            "folder": str(self._folder),
            "cluster": cluster,
            "life": self.number,
        }
        self._orders.write(json.dumps(reported) + "\n")
        self._orders.flush()

    def go_on(self) -> None:
        """Let a process that waits at each of its steps begin the step."""
        self._orders.write("\n")
        self._orders.flush()

    def next_step(self) -> str:
        """Wait for the next step; return "" once the process and its children have ended."""
        return self._lines.get()

    def kill(self) -> None:
        """Send SIGKILL to all processes of the session at once, as systemd does. Does nothing if they have ended."""
        for pid in session_of(self._process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def end(self) -> int:
        """Wait until the process ends, without waiting for its children, and return its exit code."""
        return self._process.wait(600)

    def close(self) -> None:
        self.kill()
        self._process.wait()
        self._orders.close()


def session_of(leader: int) -> list[int]:
    """Return the processes of a session. Process groups are not enough, because Spark's workers have their own."""
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == leader:
            pids.append(int(stat.parent.name))
    return pids


def main() -> None:
    """Read the orders from stdin, and execute the runs that are not yet completed."""
    spark = start_session(Path(sys.argv[1]))
    orders = sys.stdin.readline()
    if not orders:
        return  # the test ended without starting this process
    reported = json.loads(orders)

    def say(step: str) -> None:
        sys.stdout.write(step + "\n")
        sys.stdout.flush()

    say("begun")
    with Solr(SolrAddress(**reported["address"])) as solr:
        estate = SmallEstate(solr, lambda: spark, Path(reported["folder"]), cluster=reported["cluster"])
        Played(estate, say).play(life=reported["life"])
    say("through")
    spark.stop()


if __name__ == "__main__":
    main()
