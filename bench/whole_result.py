"""A result of a million entities as CSV and as JSON lines over HTTP: its speed, and the server's memory.

    python -m bench whole_result [--tables 60000] [--columns 16]

A server next to the index; one client reads as fast as it can. The memory is the server's peak so far.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import requests
from rich.console import Console
from rich.table import Table

from bench._machine import load_of_machine
from bench.lineage_walk import own_solr
from bench.suggestions import fill
from navlin.api.own import ROOT
from navlin.index.schema.fields import ELEMENTS
from tests.support.web import PASSWORD, Web, running_web


def most_mib(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def read(web: Web, **form: str) -> tuple[float, float, int, int]:
    """Return the seconds until the first and until the last piece, the bytes, and the lines."""
    began, first_s, size, lines = time.perf_counter(), 0.0, 0, 0
    auth = ("viewer", PASSWORD)
    parameters = {"query": "*", **form}
    with requests.get(
        f"{web.url}{ROOT}/search", params=parameters, auth=auth, stream=True, timeout=600
    ) as answer:
        answer.raise_for_status()
        for piece in answer.iter_content(1 << 20):
            first_s = first_s or time.perf_counter() - began
            size += len(piece)
            lines += piece.count(b"\n")
    return first_s, time.perf_counter() - began, size, lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=60_000)
    parser.add_argument("--columns", type=int, default=16)
    given = parser.parse_args()
    console = Console()
    with (
        tempfile.TemporaryDirectory() as state,
        tempfile.TemporaryDirectory() as home,
        own_solr(Path(state)) as solr,
        running_web(solr.address, Path(home)) as web,
    ):
        fill(solr, given.tables, given.columns)
        shown = Table("as", "lines", "MB", "first s", "all s", "a second", "server's memory, MiB")
        idle = most_mib(web.process.pid)
        for name, form in (("CSV", {"csv": "true"}), ("JSON lines", {"jsonl": "true"})):
            first_s, all_s, size, lines = read(web, **form)
            most = f"{idle:.0f} → {most_mib(web.process.pid):.0f}"
            rate = f"{lines / all_s:,.0f}"
            shown.add_row(
                name, f"{lines:,}", f"{size / 1e6:,.0f}", f"{first_s:.2f}", f"{all_s:.1f}", rate, most
            )
        console.print(f"{solr.count(ELEMENTS):,} entities; load: {load_of_machine()}")
        console.print(shown)


if __name__ == "__main__":
    main()
