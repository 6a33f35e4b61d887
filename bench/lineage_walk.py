"""Lineage answers over some hundred thousand relations, beside the bare requests to Solr that they are made of.

    python bench/lineage_walk.py [--operations N] [--starts N]

Each walk's requests are recorded and sent again with nothing done about the answers: the ratio says what navlin's own part
of an answer costs.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from navlin.index.cores import CORES
from navlin.index.documents import end_of
from navlin.index.fields import ELEMENTS, RELATIONS
from navlin.index.relation import relation_fields
from navlin.index.solr import Solr
from navlin.model.identity import relation_id
from navlin.model.keys import Key, RelationType, column_key, operation_key, sub_operation_key, table_key
from navlin.model.source import HIVE, IMPALA, Source, source_id
from navlin.query.answer import Lineage
from navlin.query.lineage import lineage
from navlin.query.options import Options
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr

REPOSITORY = Path(__file__).parents[1]
HMS = Source(source_id("bench", "hms"), HIVE, "hms", "bench")
ENGINE = Source(source_id("bench", "impala"), IMPALA, "impala", "bench")
BATCH = 5_000
ASKED = {
    "default": Options(),
    "one hop": Options(depth=1),
    "operations": Options(operations=True),
    "columns": Options(columns=True),
}


class Recorded:
    """A Solr whose searches are remembered."""

    def __init__(self, solr: Solr) -> None:
        self.solr = solr
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def select(self, core: str, params: dict[str, Any]) -> dict[str, Any]:
        self.requests.append((core, dict(params)))
        return self.solr.select(core, params)

    def replay(self) -> float:
        """Seconds that the remembered searches take by themselves."""
        began = time.perf_counter()
        for core, params in self.requests:
            form = {"wt": "json", "omitHeader": "true", **params}
            _ = self.solr.session.post(f"{self.solr.address.url}/{core}/select", data=form).content
        return time.perf_counter() - began


def fill(solr: Solr, operations: int) -> list[Key]:
    """Tables in layers, each made by some statements of one to four tables of the layers before; two columns each."""
    rng = random.Random(7)
    tables = [table_key(HMS, f"db{number % 50}", f"t{number}") for number in range(operations // 2)]
    documents: dict[str, list[dict[str, Any]]] = {ELEMENTS: [], RELATIONS: []}
    for table in tables:
        put(solr, documents, ELEMENTS, entity(table))
        for name in ("a", "b"):
            put(solr, documents, ELEMENTS, entity(column_key(table, name)))
    for number in range(operations):
        target = rng.randrange(50, len(tables))
        sources = {rng.randrange(max(0, target - 2_000), target) for _ in range(rng.randint(1, 4))}
        operation = operation_key(ENGINE, f"insert {number}", ())
        put(solr, documents, ELEMENTS, entity(operation))
        part = sub_operation_key(operation, "a")
        put(solr, documents, ELEMENTS, entity(part))
        flows = [(tables[each], operation) for each in sources] + [(operation, tables[target])]
        flows += [(column_key(tables[each], "a"), part) for each in sources]
        flows.append((part, column_key(tables[target], "a")))
        for ep1, ep2 in flows:
            put(solr, documents, RELATIONS, flow(ep1, ep2))
    for core in documents:
        put(solr, documents, core, None)
        solr.commit(core, soft=False)
    return tables


def entity(key: Key) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "identity": key.identity,
        "type": key.type.value,
        "sourceType": key.source.type,
        "originalName": key.name,
    }
    fields |= {"sourceId": key.source.id, "parentPath": key.parent_path, "deleted": False}
    if key.parent is not None:
        fields["firstClassParentId"] = key.parent.identity
    return fields


def flow(ep1: Key, ep2: Key) -> dict[str, Any]:
    identity = relation_id(RelationType.DATA_FLOW, ep1.identity, ep2.identity, ENGINE.id)
    fields = relation_fields(RelationType.DATA_FLOW, end_of(ep1), end_of(ep2))
    return {**fields, "identity": identity, "writer": ENGINE.id, "deleted": False, "asOf": 1}


def put(
    solr: Solr, documents: dict[str, list[dict[str, Any]]], core: str, document: dict[str, Any] | None
) -> None:
    if document is not None:
        documents[core].append(document)
    if len(documents[core]) >= BATCH or (document is None and documents[core]):
        solr.add(core, documents[core])
        documents[core].clear()


def measure(
    solr: Solr, starts: list[Key], options: Options
) -> tuple[list[float], list[float], list[int], list[Lineage]]:
    """Seconds of each walk, seconds of its bare requests, how many they were, and the answers."""
    walked, bare, counts, answers = [], [], [], []
    for start in starts:
        recorded = Recorded(solr)
        lineage(recorded, start.identity, options)  # type: ignore[arg-type] # it is asked for nothing but `select`
        # Once to warm Solr's caches for both.
        recorded.requests.clear()
        began = time.perf_counter()
        answers.append(lineage(recorded, start.identity, options))  # type: ignore[arg-type] # as above
        walked.append(time.perf_counter() - began)
        bare.append(recorded.replay())
        counts.append(len(recorded.requests))
    return walked, bare, counts, answers


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--operations", type=int, default=30_000)
    arguments.add_argument("--starts", type=int, default=40)
    asked = arguments.parse_args()
    with (
        tempfile.TemporaryDirectory() as state,
        EmbeddedSolr(
            Path(state),
            REPOSITORY / ".jars" / "solr",
            CONF / "solr",
            cores=CORES,
            cache=REPOSITORY / ".jars" / "solr-launcher",
        ) as server,
        Solr(server.start()) as solr,
    ):
        tables = fill(solr, asked.operations)
        starts = random.Random(11).sample(tables, asked.starts)
        console = Console()
        console.print(f"{solr.count(RELATIONS):,} relations, {solr.count(ELEMENTS):,} entities")
        table = Table("asked", "nodes", "requests", "p50 ms", "p95 ms", "bare p50 ms", "ratio")
        for name, options in ASKED.items():
            walked, bare, counts, answers = measure(solr, starts, options)
            nodes = statistics.median(len(answer.nodes) for answer in answers)
            table.add_row(
                name,
                f"{nodes:.0f}",
                f"{statistics.median(counts):.0f}",
                f"{percentile(walked, 0.5) * 1000:.0f}",
                f"{percentile(walked, 0.95) * 1000:.0f}",
                f"{percentile(bare, 0.5) * 1000:.0f}",
                f"{sum(walked) / sum(bare):.2f}",
            )
        console.print(table)


if __name__ == "__main__":
    main()
