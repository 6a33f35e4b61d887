"""A fixed set of inputs, run to completion by processes that are killed on the way and restarted.

As a program (``python -m tests.support.killed_runs``) it is one such process: it reads Solr's address from stdin, prints
each step on a line, and continues from where the previous process was killed.
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

from navlin.index.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.runs import Status
from navlin.index.solr import Solr, SolrAddress
from navlin.pipeline.session import start_session
from tests.support.pipeline_estate import FIRST_MS, SmallEstate, unstamped

REPOSITORY = Path(__file__).parents[2]
GENERATION_MS = 10_000_000
LIFE_MS = 100_000


@dataclass(frozen=True, slots=True)
class Generation:
    """Contents of the metastore from now on, and lines that the engine appends to its file."""

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
    # A claimed table appears, another changes; a line that is not a record; a claim of a location that nobody serves.
    Generation(_MORE, ["{half a record", _said("export", ["sales.report"], ["hdfs://out/x/report"], 4)]),
    # A table goes; the statement loses a part, and an old record of it comes late.
    Generation(
        _LESS,
        [
            _said("report", ["tmp.stage", "sales.items"], ["sales.report"], 9, parts=_PARTS[:1]),
            _said("report", ["tmp.stage", "sales.items"], ["sales.report"], 5, parts=_PARTS),
        ],
    ),
    # More than one batch of each core.
    Generation(
        {**_LESS, **_wide(110, 10)},
        [
            _said(f"copy {n}", [f"wide.t{n:03d}"], [f"wide.t{n + 1:03d}"], 20 + n, parts=[])
            for n in range(0, 100, 2)
        ],
    ),
    # Something cannot be read: nothing is lost because of it.
    Generation(
        {**_LESS, **_wide(100, 9, "ann")},
        [_said("again", ["wide.t001"], ["wide.t002"], 200)],
        broken=["wide.t005"],
        rejected=["wide.t006"],
    ),
    # Now it can: half of the wide ones are gone, a table is back without a column.
    Generation({**_BACK, **_wide(80, 9, "ann")}, [_said("again", ["wide.t001"], ["wide.t002"], 201)]),
    Generation({**_RENAMED, **_wide(80, 9, "ann")}, ["no record either"]),
)


# -- Running them ------------------------------------------------------------------------------------------------------


class Played:
    """An estate over which the generations are played. Each run is repeated until it succeeds, as a daemon does."""

    def __init__(self, estate: SmallEstate, reported: Callable[[str], None] = lambda step: None) -> None:
        self.estate, self.reported = estate, reported
        self._through = estate.tables_file.with_suffix(".through")

    def begin(self) -> None:
        """Forgets the progress."""
        self._through.unlink(missing_ok=True)

    @property
    def through(self) -> int:
        """The number of runs completed."""
        return int(self._through.read_text()) if self._through.exists() else 0

    def play(self, *, life: int = 0, first: int = 0, last: int = 2 * len(GENERATIONS)) -> None:
        """Makes the runs not yet completed: two per generation, the metastore's and the engine's."""
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
        """Sets the sources to their contents in this generation, counted from 0."""
        now = GENERATIONS[number]
        self.estate.tables(now.tables, broken=now.broken, rejected=now.rejected)
        lines = [line for generation in GENERATIONS[: number + 1] for line in generation.lines]
        self.estate.lines_file.write_text("".join(line + "\n" for line in lines))


def index_of(estate: SmallEstate) -> dict[tuple[str, str], dict[str, Any]]:
    """All documents of the inputs, by core and id, without navlin's own stamps. The time of a metastore listing is a
    stamp too; the time of a statement's run is not.
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
    """Removes everything of the estate from the index."""
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
    """Differences between two indexes, one line per document."""
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


# -- Processes that are killed -----------------------------------------------------------------------------------------


class Life:
    """One process that runs the inputs. ``steps`` grows while it lives; the last one is where it was killed.

    It starts Spark immediately and waits for `begin`, so that the next one can start up while this one runs.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self.number = number
        self.steps: list[str] = []
        self._folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.killed_runs", str(folder / f"scratch-{number}")],
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
        """Lets it run."""
        reported = {
            "address": asdict(address),
            "folder": str(self._folder),
            "cluster": cluster,
            "life": self.number,
        }
        self._orders.write(json.dumps(reported) + "\n")
        self._orders.flush()

    def next_step(self) -> str:
        """Waits for its next line; "" once it and its children have ended."""
        return self._lines.get()

    def kill(self, *, driver_alone: bool = False) -> None:
        """Sends SIGKILL to all its processes at once, as systemd does, or to the driver alone, whose children then end in
        their own time. Harmless if it has ended.
        """
        if driver_alone:
            os.kill(self._process.pid, signal.SIGKILL)
            return
        for pid in session_of(self._process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def end(self) -> int:
        """Waits for its end, not for that of its children; returns its exit code."""
        return self._process.wait(600)

    def close(self) -> None:
        self.kill()
        self._process.wait()
        self._orders.close()


def session_of(leader: int) -> list[int]:
    """The processes of a session: Spark's workers have a process group of their own."""
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
    """Makes the runs not yet completed."""
    spark = start_session(Path(sys.argv[1]))
    orders = sys.stdin.readline()
    if not orders:
        return  # nobody needed it
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
