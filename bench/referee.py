"""Judges column lineage of Spark statements: navlin and OpenLineage's agent against each other and against the SQL.

    python -m bench referee [--part PART]… [--jars DIR] [--only GLOB]… [--setting KEY=VALUE]… [--keep DIR]
        [--compare DIR] [--json FILE] [--short] [--check]

``own`` are some hundreds of statements with hand-written edges (bench/statements); ``tpcds`` are the 99 queries of TPC-DS
and their variants, each as CREATE TABLE … AS. These two run if no part is named, with the agent listening. The other parts
are tables of Delta and Iceberg, without it, in the Spark versions that those formats run on. All write event logs with
their Spark's defaults. ``--keep`` leaves logs and events in DIR; ``--compare`` judges the logs kept there again, without
running Spark. ``--check`` ends with 1 if navlin has a wrong data edge, or misses one without saying so. Sets of jars
(conf/jars) and other Sparks (bench/_referee_parts.py) are fetched into ``--jars``, by default .jars, if needed.
"""

from __future__ import annotations

import fnmatch
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench._index import JARS
from bench._machine import load_of_machine
from bench._options import options
from bench._referee_edges import Extracted, agent_edges, navlin_edges
from bench._referee_judging import EXPLAINED, Judged, judge, shown, sums
from bench._referee_parts import OWN, PARTS, TPCDS, Part
from bench._referee_running import Kept, run_part, statements_of
from navlin.solr_server.jars import fetch, progress_on

WIDTH = 150


def compare(part: Part, directory: Path, jars: Path, patterns: Sequence[str]) -> list[Judged]:
    """Judge the stored logs and events of a part, statement by statement in execution order."""
    kept = Kept(directory, part.name)
    runs = kept.read_runs()
    navlin, agent = navlin_edges(kept), agent_edges(kept)
    found = []
    for statement in statements_of(part, jars):
        if statement.name in runs and _wanted(statement.name, patterns):
            text = statement.program.text if statement.program else "; ".join(statement.sql)
            judged = judge(
                statement,
                text,
                navlin.get(statement.name, Extracted()),
                agent.get(statement.name, Extracted()),
            )
            judged.error = runs[statement.name]["error"]
            found.append(judged)
    return found


def _wanted(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def print_part(console: Console, part: Part, judged: list[Judged], *, short: bool) -> None:
    """Print the table of a part, its sums, and an explanation of each kind of difference."""
    with_truth, with_agent = part is not TPCDS, part in (OWN, TPCDS)
    table = Table(title=f"{part.name}: data edges", title_justify="left")
    table.add_column("statement", no_wrap=True)
    columns = ["navlin"]
    columns += ["agent", "common", "only\nnavlin", "only\nagent"] if with_agent else []
    columns += (
        ["wrong", "missing", "silent", "control\nmissing", "tables\nwrong", "tables\nmissing"]
        if with_truth
        else []
    )
    columns += ["agent\nwrong", "agent\nmissing"] if with_truth and with_agent else []
    for column in columns:
        table.add_column(column, justify="right")
    table.add_column("flags")
    totals: Counter[str] = Counter()
    for each in judged:
        counts = _counts(each)
        totals.update(counts)
        if not short or each.error or _matters(each, with_truth=with_truth):
            flags = ", ".join(sorted(each.navlin.flags)) + "".join(
                f" [red]not {flag}" for flag in sorted(each.unsaid)
            )
            row = (str(counts[column] or "") for column in columns)
            table.add_row(each.name, *row, "[red]failed" if each.error else flags)
    table.add_section()
    table.add_row(f"{len(judged)} statements", *(str(totals[column]) for column in columns), "")
    console.print(table)
    kinds = Table("difference", "edges", "statements", "what it is", "for example")
    for kind, count in sums(judged).most_common():
        having = [each for each in judged if kind in each.differences]
        example = f"{having[0].name}: {shown(having[0].differences[kind], 2)}"
        if with_agent or not kind.startswith("agent"):
            kinds.add_row(kind, str(count), str(len(having)), EXPLAINED[kind], example)
    if kinds.rows:
        console.print(kinds)
    if with_truth:
        console.print(_levels(part, judged))
    if with_agent:
        console.print(_summary(judged))


def _levels(part: Part, judged: list[Judged]) -> Table:
    """Count right, wrong, flagged and silent edges, at the levels of columns and tables. Statements that failed do
    not count."""
    table = Table("", title=f"{part.name}: true edges, and wrong ones", title_justify="left")
    for column in (
        "true",
        "right",
        "wrong",
        "missing, flagged",
        "missing, silent",
        "statements with a fault",
    ):
        table.add_column(column, justify="right")
    shares = [each.shares() for each in judged if each.truth and not each.error]
    for level in shares[0] if shares else ():
        of_level = [each[level] for each in shares]
        right, wrong, flagged, silent = (
            sum(map(len, kind))
            for kind in zip(
                *((each.right, each.wrong, each.flagged, each.silent) for each in of_level), strict=True
            )
        )
        faulty = sum(bool(each.wrong or each.silent) for each in of_level)
        table.add_row(level, *map(str, (right + flagged + silent, right, wrong, flagged, silent, faulty)))
    return table


def _matters(judged: Judged, *, with_truth: bool) -> bool:
    if with_truth:
        tables = judged.shares()["tables"]
        return bool(
            judged.wrong(judged.navlin)
            or judged.missing(judged.navlin)
            or judged.missing_control
            or judged.unsaid
            or tables.wrong
            or tables.flagged
            or tables.silent
        )
    return bool(judged.only_agent)


def _counts(judged: Judged) -> dict[str, int]:
    tables = judged.shares()["tables"]
    return {
        "navlin": len(judged.navlin.data),
        "agent": len(judged.agent.data),
        "common": len(judged.common),
        "only\nnavlin": len(judged.only_navlin),
        "only\nagent": len(judged.only_agent),
        "wrong": len(judged.wrong(judged.navlin)),
        "missing": len(judged.missing(judged.navlin)),
        "silent": len(judged.silent),
        "control\nmissing": len(judged.missing_control),
        "tables\nwrong": len(tables.wrong),
        "tables\nmissing": len(tables.flagged | tables.silent),
        "agent\nwrong": len(judged.wrong(judged.agent)),
        "agent\nmissing": len(judged.missing(judged.agent)),
    }


def _summary(judged: list[Judged]) -> str:
    agent = sum(len(each.agent.data) for each in judged)
    genuine = sum(len(each.genuine) for each in judged)
    common = sum(len(each.common) for each in judged)
    found = sum(len(each.found) for each in judged)
    indirect = sum(len(each.agent.control) for each in judged)
    known = sum(len(each.agent.control & (each.navlin.control | each.navlin.data)) for each in judged)
    words = [
        f"of the agent's {agent} data edges as printed navlin has {_share(common, agent)}",
        f"of the {genuine} genuine ones {_share(found, genuine)}",
        f"of its {indirect} indirect ones {_share(known, indirect)} as control or data",
    ]
    if with_truth := [each for each in judged if each.truth]:
        true = sum(len(each.truth.data | each.truth.deciding) for each in with_truth if each.truth)
        wrong = sum(len(each.wrong(each.navlin)) for each in with_truth)
        missing = sum(len(each.missing(each.navlin)) for each in with_truth)
        unsaid = sum(len(each.silent) for each in with_truth)
        words.append(
            f"of {true} true ones navlin misses {missing}, {unsaid} without saying so, and has {wrong} wrong ones"
        )
    return "; ".join(words)


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.4f})" if whole else "none"


def as_json(judged: list[Judged]) -> list[dict[str, Any]]:
    return [
        {
            "statement": each.name,
            "error": each.error,
            "flags": sorted(each.navlin.flags),
            "unsaid": sorted(each.unsaid),
            "common": sorted(map(str, each.common)),
            "differences": {kind: sorted(map(str, edges)) for kind, edges in each.differences.items()},
            "wrong": sorted(map(str, each.wrong(each.navlin))),
            "missing": sorted(map(str, each.missing(each.navlin))),
            "control missing": sorted(map(str, each.missing_control)),
            "levels": {
                level: {kind: sorted(getattr(share, kind)) for kind in ("wrong", "flagged", "silent")}
                for level, share in each.shares().items()
            },
            "agent wrong": sorted(map(str, each.wrong(each.agent))),
            "agent missing": sorted(map(str, each.missing(each.agent))),
        }
        for each in judged
    ]


def main() -> None:
    arguments = options(__doc__)
    arguments.add_argument("--part", action="append", choices=PARTS, help="only this one")
    arguments.add_argument(
        "--jars", type=Path, default=JARS, metavar="DIR", help="where sets of jars and other Sparks are kept"
    )
    arguments.add_argument(
        "--only", action="append", default=[], metavar="GLOB", help="statements of these names"
    )
    arguments.add_argument(
        "--setting", action="append", default=[], metavar="KEY=VALUE", help="one of Spark's, for the session"
    )
    place = arguments.add_mutually_exclusive_group()
    place.add_argument(
        "--keep", type=Path, metavar="DIR", help="leave event logs and the agent's events here"
    )
    place.add_argument("--compare", type=Path, metavar="DIR", help="judge what was kept here")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write all of it there")
    arguments.add_argument(
        "--short", action="store_true", help="only statements where something is missing or wrong"
    )
    arguments.add_argument(
        "--check", action="store_true", help="end with 1 if navlin is wrong, or silent unsaid"
    )
    asked = arguments.parse_args()
    parts = [PARTS[name] for name in asked.part or (OWN.name, TPCDS.name)]
    if asked.compare is None or TPCDS in parts:
        with progress_on(sys.stderr) as report:
            for jar_set in sorted({part.jars for part in parts}):
                fetch(jar_set, asked.jars / jar_set, report=report)
    # A file or a pipe has no width, but the tables need one.
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    with tempfile.TemporaryDirectory() as temporary:
        directory = (asked.compare or asked.keep or Path(temporary)).resolve()
        if asked.compare is None:
            for part in parts:
                names = [
                    each.name for each in statements_of(part, asked.jars) if _wanted(each.name, asked.only)
                ]
                run_part(part, directory, asked.jars, names, asked.setting)
        judged = {part.name: compare(part, directory, asked.jars, asked.only) for part in parts}
    for name, of_part in judged.items():
        print_part(console, PARTS[name], of_part, short=asked.short)
    console.print(f"load of the machine {load_of_machine()}")
    if asked.json:
        asked.json.write_text(
            json.dumps({part: as_json(of_part) for part, of_part in judged.items()}, indent=1)
        )
    if asked.check and any(
        each.wrong(each.navlin) or each.unsaid for of_part in judged.values() for each in of_part
    ):
        sys.exit(1)


if __name__ == "__main__":
    main()
