"""Measures a checkout: sizes of the jars and packages it fetches, `make demo`, and the test tiers on request.

    python -m bench checkout [--tests] [--services]

Sizes are of the files in ``.jars`` and ``.venv``; packages are compressed while downloaded, to some two thirds of that.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench._index import JARS, REPOSITORY
from bench._machine import load_of_machine
from bench._options import options

JAR_SETS = {
    "Solr's jars": ("solr",),
    "Hadoop's and Hive's jars": ("hadoop", "hive", "hive-metastore"),
    "jars of later releases": (
        "hive-metastore-3.1",
        "hive-metastore-4.0",
        "solr-8",
        "mapreduce",
        "pig",
        "openlineage-spark",
    ),
    "Atlas": ("atlas",),
    "Hadoop's client of S3": ("hadoop-aws",),
}


def size_bytes(*folders: Path) -> int:
    return sum(file.lstat().st_size for folder in folders for file in folder.rglob("*") if file.is_file())


def made(*target: str) -> float:
    """Run a make target and return the seconds it took. Exit with the output if the target fails."""
    began_s = time.perf_counter()
    finished = subprocess.run(
        ["make", *target],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if finished.returncode:
        sys.exit(f"make {' '.join(target)}: {finished.stdout[-3000:]}{finished.stderr[-3000:]}")
    return time.perf_counter() - began_s


def main() -> None:
    arguments = options(__doc__)
    arguments.add_argument("--tests", action="store_true", help="`make test` as well")
    arguments.add_argument("--services", action="store_true", help="`make test-services` as well")
    given = arguments.parse_args()
    table = Table("what", "", title="a checkout, all of it fetched", title_justify="left")
    for name, sets in JAR_SETS.items():
        table.add_row(name, f"{size_bytes(*(JARS / each for each in sets)) / 1e6:,.0f} MB")
    table.add_row("Python packages", f"{size_bytes(Path(sysconfig.get_path('platlib'))) / 1e6:,.0f} MB")
    targets: list[tuple[str, ...]] = [("demo", "ONCE=1")]
    targets += [("test",)] if given.tests else []
    targets += [("test-services",)] if given.services else []
    for target in targets:
        table.add_row(f"make {' '.join(target)}", f"{made(*target):,.0f} s")
    table.caption = f"load of the machine {load_of_machine()}"
    Console().print(table)


if __name__ == "__main__":
    main()
