"""Suggestions while typing, over a million entities: the time to find the names that begin with some letters.

    python -m bench suggestions [--tables 60000] [--columns 15] [--asked 300]

The prefixes are the first one to six letters of existing names, of tables and columns weighted by frequency, and of parts
of names (``id`` of ``customer_id``), which people type as often. Each is asked of the function, and then over HTTP, of a
server next to the index, over a persistent connection.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import requests
from rich.console import Console
from rich.table import Table

from bench.lineage_walk import HMS, entity, own_solr, percentile, put
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.keys import column_key, table_key
from navlin.query.suggest import suggestions
from tests.support.web import PASSWORD, Web, running_web

WORDS = (
    "customer order invoice payment account address city country product category price amount currency date day month year"
    " status type code id key name first last email phone user session event page click view item cart stock store region"
    " employee department salary manager project task ticket device sensor value unit channel campaign source target batch"
).split()


def name(rng: random.Random) -> str:
    """Return a name of one to three words, sometimes with a number."""
    words = [rng.choice(WORDS) for _ in range(rng.choice((1, 2, 2, 3)))]
    return "_".join([*words, *([f"{rng.randrange(100):02}"] if rng.random() < 0.2 else [])])


def fill(solr: Solr, tables: int, columns: int) -> list[str]:
    """Index tables with columns. Return a sample of their names, in which a frequent name occurs more often."""
    rng, names = random.Random(7), []
    documents: dict[str, list[dict[str, Any]]] = {ELEMENTS: []}
    for number in range(tables):
        table = table_key(HMS, f"db{number % 200}", f"{name(rng)}_{number}")
        put(solr, documents, ELEMENTS, entity(table))
        names.append(table.name)
        for column in {name(rng) for _ in range(columns)}:
            put(solr, documents, ELEMENTS, entity(column_key(table, column)))
            if rng.random() < 0.05:
                names.append(column)
    put(solr, documents, ELEMENTS, None)
    solr.commit(ELEMENTS, soft=False)
    return names


def prefixes(names: list[str], count: int) -> dict[int, list[str]]:
    """Map each prefix length to prefixes of names, or of words in names, as users type them."""
    rng = random.Random(11)
    starts = [rng.choice([chosen := rng.choice(names), rng.choice(chosen.split("_"))]) for _ in range(count)]
    return {length: [each[:length] for each in starts if len(each) >= length] for length in (1, 2, 3, 4, 6)}


def seconds(solr: Solr, start: str) -> float:
    began = time.perf_counter()
    suggestions(solr, start)
    return time.perf_counter() - began


def seconds_over_http(web: Web, session: requests.Session, start: str) -> float:
    began = time.perf_counter()
    answer = session.get(f"{web.url}/api/v9/interactive/suggestions", params={"query": start}, timeout=60)
    answer.raise_for_status()
    return time.perf_counter() - began


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--tables", type=int, default=60_000)
    arguments.add_argument("--columns", type=int, default=16)
    arguments.add_argument("--asked", type=int, default=300)
    asked = arguments.parse_args()
    console = Console()
    with (
        tempfile.TemporaryDirectory() as state,
        tempfile.TemporaryDirectory() as home,
        own_solr(Path(state)) as solr,
        running_web(solr.address, Path(home)) as web,
        requests.Session() as session,
    ):
        session.auth = ("viewer", PASSWORD)
        names = fill(solr, asked.tables, asked.columns)
        console.print(f"{solr.count(ELEMENTS):,} entities")
        table = Table("letters", "p50 ms", "p95 ms", "HTTP p50 ms", "HTTP p95 ms", "matches")
        for length, starts in prefixes(names, asked.asked).items():
            taken = [seconds(solr, each) for each in starts]
            over_http = [seconds_over_http(web, session, each) for each in starts]
            found = statistics.median(
                solr.count(ELEMENTS, f"originalName:{q.literal(each)}*") for each in starts[:20]
            )
            table.add_row(
                str(length),
                *(
                    f"{percentile(each, share) * 1000:.1f}"
                    for each in (taken, over_http)
                    for share in (0.5, 0.95)
                ),
                f"{found:,.0f}",
            )
        console.print(table)


if __name__ == "__main__":
    main()
