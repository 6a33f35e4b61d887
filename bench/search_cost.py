"""Compares the cost of a search for people with that of Navigator's search over the same index.

    python -m bench search_cost [--entities 1000000] [--rounds 5]

The questions are those of the judged set, asked as the command line asks them and as the console's page does, with counts.
Their answers are among tables, columns, paths and statements with names and comments made of the same words. Both searches
answer each question in turns, and every round starts with Solr's caches empty, as after a commit. "CPU" is the time that
Solr and this process spend on a question; other load affects it less than the elapsed time.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench._index import ENGINE, HMS, own_solr
from bench._machine import load_of_machine, own_java, processor_s
from bench._options import options
from bench._shown import percentile, table_of
from navlin.console.search import COUNTED, RESULTS_A_PAGE
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import entity_envelope
from navlin.model.batches import in_batches
from navlin.model.keys import (
    EntityType,
    Key,
    column_key,
    execution_key,
    operation_key,
    partition_key,
    path_key,
    sub_operation_key,
    table_key,
)
from navlin.model.records import Entity
from navlin.model.source import HDFS, Source, source_id
from navlin.query.finding import find_for_people
from navlin.query.scanner import QueryError
from navlin.query.search import search
from tests.support.judged_estate import FOLDER, JudgedEstate

AT_MS: Final = 1_800_000_000_000
BATCH: Final = 2_000
COLUMNS: Final = 16
WARMING: Final = 3
"""Number of rounds that are not counted, during which Solr's JVM compiles hot code."""
OF_A_TABLE: Final = 52
"""Entities per table: itself, its columns, partitions and paths, and statements with their sub-operations and
executions."""
WORDS: Final = (
    "customer orders order revenue region regions sales target targets invoice payment account address email city country"
    " category price amount unit currency posting date day month year status ledger cost centre nightly hourly readings"
    " sensor page views clicks landing curated events session visitor churn risk scores rates reference shop web crm gl"
    " contacts warehouse archive daily total net discounts data protection securities code name key id value type step"
    " placed ECB"
).split()
STATEMENT: Final = "INSERT INTO {} SELECT {} FROM {} -- {}"
_FILES: Final = Source(source_id("bench", "hdfs"), HDFS, "hdfs", "bench", ("hdfs://bench",))

Asking = Callable[[str], object]


# -- The index -----------------------------------------------------------------------------------------------------------


def fill(solr: Solr, entities: int) -> None:
    """Index the judged estate and about this many other entities."""
    JudgedEstate(solr, "judged")
    rng = random.Random(7)
    made = (each for number in range(entities // OF_A_TABLE) for each in _around_a_table(rng, number))

    def add(batch: Sequence[tuple[str, bytes]]) -> None:
        added = solr.add_json(ELEMENTS, batch)
        assert not added.refused, added.refused[0]

    with ThreadPoolExecutor(2) as threads:
        for several in in_batches(in_batches(map(_document, made), BATCH), 8):
            list(threads.map(add, several))
    solr.commit(ELEMENTS, soft=False)


def _name(rng: random.Random) -> str:
    return "_".join(rng.choices(WORDS, k=rng.choice((1, 2, 2, 3))))


def _comment(rng: random.Random) -> str:
    return " ".join(["the", *rng.choices(WORDS, k=rng.randint(3, 9))])


def _around_a_table(rng: random.Random, number: int) -> Iterator[Entity]:

    def made(key: Key, **attributes: Any) -> Entity:
        return Entity(key, AT_MS, attributes)

    database = f"{WORDS[number % len(WORDS)]}_{number % 200}"
    table = table_key(HMS, database, f"{_name(rng)}_{number}")
    owner = f"etl_{number % 30}"
    yield made(table, owner=owner, originalDescription=_comment(rng), partitionColNames=["ds"])
    columns = [column_key(table, name) for name in dict.fromkeys(_name(rng) for _ in range(COLUMNS))]
    for column in columns:
        said = {"originalDescription": _comment(rng)} if rng.random() < 0.3 else {}
        yield made(column, dataType="string", **said)
    for day in range(3):
        yield made(partition_key(table, f"ds=2026-01-{day + 1:02}"))
    place = f"/warehouse/{database}.db/{table.name}"
    for day in range(3):
        yield made(path_key(_FILES, f"{place}/ds=2026-01-{day + 1:02}", EntityType.DIRECTORY), owner=owner)
        for part in range(4):
            path = f"{place}/ds=2026-01-{day + 1:02}/part-{part:05}"
            yield made(path_key(_FILES, path, EntityType.FILE), owner=owner, size=number)
    for _ in range(2):
        read = f"{rng.choice(WORDS)}.{_name(rng)}"
        chosen = ", ".join(column.name for column in columns[:6])
        text = STATEMENT.format(f"{database}.{table.name}", chosen, read, _comment(rng))
        operation = operation_key(ENGINE, text, (str(number),))
        yield made(operation, queryText=text, principal=owner)
        for column in columns[:4]:
            yield made(sub_operation_key(operation, column.name))
        for run in range(3):
            yield made(execution_key(operation, str(run)), principal=owner, started=AT_MS - run, ended=AT_MS)


def _document(entity: Entity) -> tuple[str, bytes]:
    envelope = entity_envelope(entity)
    stamps = {"asOf": AT_MS, "deleted": False, "extractorRunId": "bench##1", "digest": envelope.digest}
    return envelope.identity, _json({**envelope.fields(), **stamps, "identity": envelope.identity})


def _json(document: dict[str, Any]) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


# -- Asking --------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Cost:
    """Costs of queries, in the order in which they ran."""

    taken_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Meter:
    """Measures queries. ``requests`` is the number of requests sent to Solr."""

    solr_pid: int
    requests: int = 0

    def measure(self, ask: Asking, question: str, cost: Cost) -> None:
        """Run a query once and record its cost."""
        sent, cpu_s, began_s = self.requests, self._cpu_s(), time.perf_counter()
        ask(question)
        cost.taken_s.append(time.perf_counter() - began_s)
        cost.cpu_s.append(self._cpu_s() - cpu_s)
        cost.requests.append(self.requests - sent)

    def _cpu_s(self) -> float:
        return processor_s(self.solr_pid) + time.process_time()


def ways(solr: Solr) -> dict[str, dict[str, Asking]]:
    """Interface → name of the search → function. ``before`` is Navigator's search."""
    counted = [f"{{!ex={name}}}{name}" for name in COUNTED]
    return {
        how: {
            "before": partial(search, solr, limit=RESULTS_A_PAGE, facets=facets),
            "for people": partial(find_for_people, solr, limit=RESULTS_A_PAGE, facets=facets),
        }
        for how, facets in (("command line", ()), ("page, with counts", counted))
    }


def measure(
    solr: Solr, meter: Meter, questions: Sequence[str], rounds: int
) -> dict[str, dict[str, list[Cost]]]:
    """Interface → name of the search → cost of each round."""
    rng = random.Random(11)
    asked = ways(solr)
    costs = {how: {name: list[Cost]() for name in searches} for how, searches in asked.items()}
    for number in range(-WARMING, rounds):
        for how, searches in asked.items():
            _empty_caches(solr)
            for ask in searches.values():
                ask("warehouse total")
            of_round = {name: Cost() for name in searches}
            for question in rng.sample(questions, len(questions)):
                for name in sorted(searches, reverse=bool(number % 2)):
                    meter.measure(searches[name], question, of_round[name])
            if number >= 0:
                for name, cost in of_round.items():
                    costs[how][name].append(cost)
    return costs


def _empty_caches(solr: Solr) -> None:
    """Write and commit a document, so that Solr opens a new searcher with empty caches."""
    key = table_key(HMS, "bench", "touched")
    solr.add_json(ELEMENTS, [_document(Entity(key, AT_MS))])
    solr.commit(ELEMENTS, soft=False)


def questions_of(solr: Solr) -> list[str]:
    """Return the queries of the judged set that both searches can parse."""
    found = []
    for file in ("search.json", "search_unseen.json"):
        for judged in json.loads((FOLDER / file).read_text(encoding="utf-8")):
            with suppress(QueryError):
                search(solr, judged["question"], limit=1)
                found.append(judged["question"])
    return found


def shown(costs: dict[str, dict[str, list[Cost]]], title: str) -> Table:
    headings = ("p50 ms", "p95 ms", "CPU ms", "requests", "p95 to before")
    table = table_of("asked as", "search", figures=headings, title=title)
    for how, searches in costs.items():
        p95s = {
            name: [percentile(each.taken_s, 0.95) for each in rounds] for name, rounds in searches.items()
        }
        for name, rounds in searches.items():
            ratios = sorted(now / then for now, then in zip(p95s[name], p95s["before"], strict=True))
            every = [taken for each in rounds for taken in each.taken_s]
            count = sum(len(each.requests) for each in rounds)
            table.add_row(
                how,
                name,
                f"{statistics.median(every) * 1000:.1f}",
                f"{statistics.median(p95s[name]) * 1000:.1f}",
                f"{sum(sum(each.cpu_s) for each in rounds) / count * 1000:.1f}",
                f"{sum(sum(each.requests) for each in rounds) / count:.1f}",
                f"{statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})",
            )
    return table


def main() -> None:
    given = options(__doc__, entities=1_000_000, rounds=5).parse_args()
    with tempfile.TemporaryDirectory() as state, own_solr(Path(state), memory="2g") as solr:
        fill(solr, given.entities)
        meter = Meter(own_java())
        count_requests(solr, meter)
        questions = questions_of(solr)
        costs = measure(solr, meter, questions, given.rounds)
        title = f"{len(questions)} questions, {solr.count(ELEMENTS):,} entities, load {load_of_machine()}"
        Console().print(shown(costs, title))


def count_requests(solr: Solr, meter: Meter) -> None:
    """Make the meter count every request to this Solr."""

    def sent(response: Any, *_: Any, **__: Any) -> Any:
        meter.requests += 1
        return response

    solr.session.hooks["response"].append(sent)


if __name__ == "__main__":
    main()
