"""Nemeses with a Solr whose state is on a small disk that is sometimes full. Must run inside a mount namespace; prints
a summary.
"""

from __future__ import annotations

import sys
from pathlib import Path

from navlin.index.admin.cores import CORES
from navlin.pipeline.session import start_session
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr
from tests.service.test_nemeses import compare_with_undisturbed
from tests.support.full_disk import mount
from tests.support.killed_runs import REPOSITORY

MEGABYTES = 120


def main() -> None:
    folder, seed, runs, faults = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    state, jars = folder / "state", REPOSITORY / ".jars" / "solr"
    mount(state, MEGABYTES)
    spark = start_session(folder / "scratch", settings={"spark.executorEnv.PYTHONPATH": str(REPOSITORY)})
    with EmbeddedSolr(state, jars, CONF / "solr", cores=CORES, cache=jars.parent / "solr-launcher") as server:
        done = compare_with_undisturbed(
            server, lambda: spark, folder, seed=seed, runs=runs, faults_a_run=faults, disk=state
        )
    spark.stop()
    sys.stdout.write(f"{done}\n")


if __name__ == "__main__":
    main()
