"""Layouts of the diagram beside elkjs and dagre, on 20 graphs: time and crossing lines.

    python -m bench layouts --packages DIR [--only TEXT]

All three lay out the same boxes and lines, in one process of Node: chains, layers, hubs, rings, diamonds, and estates in
which statements derive each table from others. DIR has the two libraries, which navlin does not ship: run in it
`npm install elkjs @dagrejs/dagre`. A line goes from its column in one box to its column in the other along the points that
the way returns; two lines cross if they share no end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from bench._machine import load_of_machine
from bench._options import options
from bench._shown import table_of

SCRIPT: Final = Path(__file__).with_name("layouts.mjs")
OWN: Final = "graphviz"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument(
        "--packages", type=Path, help="directory with node_modules of elkjs and @dagrejs/dagre"
    )
    parser.add_argument("--only", default="", help="only graphs with this text in their names")
    given = parser.parse_args()
    if given.packages is None:
        sys.exit("give --packages: a directory in which `npm install elkjs @dagrejs/dagre` was run")
    command = ["node", str(SCRIPT), str(given.packages.resolve()), given.only]
    graphs: dict[str, dict[str, Any]] = defaultdict(dict)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            measured = json.loads(line)
            graphs[measured["graph"]][measured["way"]] = measured
    ways = list(dict.fromkeys(way for found in graphs.values() for way in found))
    figures = ("boxes", "lines", *(f"{way} {of}" for of in ("ms", "crossings") for way in ways))
    table = table_of("graph", figures=figures, title=f"load {load_of_machine()}", caption=_won(graphs))
    for name, found in graphs.items():
        one = next(iter(found.values()))
        cells = [_cell(found[way], of) if way in found else "-" for of in ("ms", "crossings") for way in ways]
        table.add_row(name, str(one["boxes"]), str(one["lines"]), *cells)
    Console(width=200).print(table)


def _cell(measured: dict[str, Any], of: str) -> str:
    return f"{measured[of]:,.0f}" if of in measured else "failed"


def _won(graphs: dict[str, dict[str, Any]]) -> str:
    """Return the number of graphs on which navlin's layout is not slower, and has no more crossings, than the better of
    the others."""
    counts = dict.fromkeys(("ms", "crossings"), 0)
    for found in graphs.values():
        for of in counts:
            others = [each[of] for way, each in found.items() if way != OWN and of in each]
            counts[of] += not others or found[OWN][of] <= min(others)
    return f"of {len(graphs)} graphs: {counts['ms']} not slower, {counts['crossings']} with no more crossings"


if __name__ == "__main__":
    main()
