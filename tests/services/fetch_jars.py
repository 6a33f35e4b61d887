"""Fetches a set of jars for a checkout: ``python -m tests.services.fetch_jars SET DIRECTORY [--renew-sums]``.

The Java is that in JAVA_HOME, or else on the PATH. The exit code is 1 after a failure.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from navlin.solr_server.jars import (
    SETS,
    SETTINGS,
    JarsNotFetched,
    fetch,
    load,
    progress_on,
    put_in_place,
    sha256,
    workplace,
)


def renew_sums(
    jar_set: str, into: Path, *, report: Callable[[str], None], java: str = "java", sets: Path = SETS
) -> Path:
    """Replace ``into`` by the jars of the set without checking them, and store their checksums, after a change of the
    set. Return the file with the checksums. Raises as `fetch` does."""
    into = into.resolve()
    with workplace(into, report) as (work, lock):
        load(jar_set, sets, work, None, lock, java=java, report=report, pause=time.sleep)
        put_in_place(into, work)
    sums = sets / f"{jar_set}.sha256"
    sums.write_text("".join(f"{sha256(jar)}  {jar.name}\n" for jar in sorted(into.iterdir())))
    report(f"{jar_set}: checksums written to {sums}")
    return sums


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.services.fetch_jars", description="Fetch a set of jars."
    )
    parser.add_argument(
        "set", choices=sorted(path.stem for path in SETS.glob("*.xml") if path.name != SETTINGS)
    )
    parser.add_argument(
        "directory", type=Path, help="directory for the jars: new, empty, or of an earlier fetch"
    )
    parser.add_argument(
        "--renew-sums",
        action="store_true",
        help="the set was changed: write the checksums of the downloads, without a check",
    )
    given = parser.parse_args()
    home = os.environ.get("JAVA_HOME")
    act = renew_sums if given.renew_sums else fetch
    try:
        with progress_on(sys.stdout) as report:
            act(given.set, given.directory, report=report, java=f"{home}/bin/java" if home else "java")
    except (JarsNotFetched, OSError) as error:
        sys.stderr.write(f"navlin: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
