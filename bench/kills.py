"""At least 50 SIGKILLs at random moments, and the index compared with one that nobody disturbed.

    python -m bench kills [--kills 50] [--seed 1]

A process runs a fixed set of inputs (`tests.support.killed_runs`). It is killed at a random moment after a random number of
requests to Solr and started again, until all inputs are through. Then every document is compared, the index is emptied, and
it all starts again until there were enough kills. Half of the kills hit the process and all of its children, as systemd
does it. The other half hit the driver alone: its Spark then ends when it notices.
"""

from __future__ import annotations

import argparse
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench._machine import load_of_machine
from navlin.index.admin.cores import CORES
from navlin.index.solr.solr import Solr
from navlin.pipeline.session import start_session
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.killed_runs import Life, Played, differences, index_of, wipe
from tests.support.pipeline_estate import SmallEstate
from tests.support.solr_proxy import Call, SolrProxy

REPOSITORY = Path(__file__).parents[1]
MOST_REQUESTS = 60
"""A kill comes after fewer requests than this. A run makes about 45."""
LONGEST_MOMENT_S = 0.3


@dataclass(frozen=True, slots=True)
class Round:
    """One pass through all inputs."""

    reached: tuple[str, ...]
    """Step that each process had reached when it was killed."""
    compared: int
    unlike: tuple[str, ...]
    took_s: float


def one_round(
    solr: Solr,
    folder: Path,
    cluster: str,
    expected: dict[tuple[str, str], dict[str, Any]],
    rng: random.Random,
) -> Round:
    began = time.perf_counter()
    asking = SmallEstate(solr, _no_spark, folder, cluster=cluster)
    Played(asking).begin()
    lives = [Life(folder, 1)]
    reached = []
    try:
        with SolrProxy(solr.address) as proxy:
            while True:
                life = lives[-1]
                lives.append(Life(folder, life.number + 1))
                proxy.passes = _dies(life, rng)
                life.begin(proxy.address, cluster)
                code = life.end()
                if code == 0:
                    break
                if code != -signal.SIGKILL:
                    raise RuntimeError(f"process {life.number} ended by itself at {life.steps[-1:]}")
                reached.append(life.steps[-1] if life.steps else "")
    finally:
        for life in lives:
            life.close()
    index = index_of(asking)
    unlike = tuple(differences(expected, index))
    wipe(asking)
    return Round(tuple(reached), len(index), unlike, time.perf_counter() - began)


def _dies(life: Life, rng: random.Random) -> Callable[[Call], bool]:
    requests, moment_s, alone = (
        rng.randrange(MOST_REQUESTS),
        rng.uniform(0, LONGEST_MOMENT_S),
        rng.random() < 0.5,
    )
    counted = [0]

    def passes(call: Call) -> bool:
        counted[0] += not call.answered
        if counted[0] == requests and not call.answered:
            threading.Timer(moment_s, life.kill, kwargs={"driver_alone": alone}).start()
        return True

    return passes


def _no_spark() -> Any:
    raise AssertionError("only the processes that are killed run anything")


def measure(server: EmbeddedSolr, folder: Path, kills: int, seed: int) -> Table:
    with Solr(server.address) as solr:
        spark = start_session(folder / "scratch", settings={"spark.executorEnv.PYTHONPATH": str(REPOSITORY)})
        undisturbed = SmallEstate(solr, lambda: spark, folder)
        Played(undisturbed).play()
        expected = index_of(undisturbed)
        wipe(undisturbed)
        spark.stop()
        rng = random.Random(seed)
        rounds: list[Round] = []
        while sum(len(each.reached) for each in rounds) < kills:
            rounds.append(one_round(solr, folder, undisturbed.cluster, expected, rng))
            Console(stderr=True).print(
                f"round {len(rounds)}: {len(rounds[-1].reached)} kills", *rounds[-1].unlike
            )
    shown = Table(title=f"Killed and started again, seed {seed}; load of the machine {load_of_machine()}")
    for heading in ("round", "kills", "killed at", "documents compared", "differences", "time"):
        shown.add_column(heading, justify="left" if heading == "killed at" else "right")
    for number, each in enumerate(rounds, 1):
        shown.add_row(
            str(number),
            str(len(each.reached)),
            _steps(each.reached),
            str(each.compared),
            str(len(each.unlike)),
            f"{each.took_s:.0f} s",
        )
    everywhere = [step for each in rounds for step in each.reached]
    shown.add_section()
    shown.add_row(
        "all",
        str(len(everywhere)),
        _steps(everywhere),
        str(sum(each.compared for each in rounds)),
        str(sum(len(each.unlike) for each in rounds)),
        f"{sum(each.took_s for each in rounds):.0f} s",
    )
    return shown


def _steps(reached: list[str] | tuple[str, ...]) -> str:
    counted = Counter(step.rpartition(": ")[2] for step in reached)
    return ", ".join(f"{step} {count}" for step, count in counted.most_common())


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--kills", type=int, default=50)
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    jars = REPOSITORY / ".jars" / "solr"
    launcher = jars.parent / "solr-launcher"
    with (
        tempfile.TemporaryDirectory() as directory,
        EmbeddedSolr(Path(directory) / "state", jars, CONF / "solr", cores=CORES, cache=launcher) as server,
    ):
        Console().print(measure(server, Path(directory), given.kills, given.seed))


if __name__ == "__main__":
    main()
