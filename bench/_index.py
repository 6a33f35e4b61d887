"""A Solr of a bench's own, and a graph of tables and statements written straight into it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from navlin.index.admin.cores import CORES
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.identity import relation_id
from navlin.model.keys import Key, RelationType, column_key, operation_key, sub_operation_key, table_key
from navlin.model.source import HIVE, IMPALA, Source, source_id
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, EmbeddedSolrOptions

# The real path: another checkout may reach this file by a link.
REPOSITORY: Final = Path(__file__).resolve().parents[1]
JARS: Final = REPOSITORY / ".jars"
HMS: Final = Source(source_id("bench", "hms"), HIVE, "hms", "bench")
ENGINE: Final = Source(source_id("bench", "impala"), IMPALA, "impala", "bench")
_BATCH: Final = 5_000


@contextmanager
def own_solr(state: Path, *further: str, memory: str = EmbeddedSolrOptions().memory) -> Iterator[Solr]:
    """Start an embedded Solr with navlin's cores and further ones."""
    server = EmbeddedSolr(
        state,
        JARS / "solr",
        CONF / "solr",
        settings=EmbeddedSolrOptions(memory=memory),
        cores=(*CORES, *further),
        cache=JARS / "solr-launcher",
    )
    with server, Solr(server.address) as solr:
        yield solr


class Filler:
    """Adds documents to the cores of entities and relations, batch by batch, and commits them at its end."""

    def __init__(self, solr: Solr) -> None:
        self._solr = solr
        self._waiting: dict[str, list[dict[str, Any]]] = {ELEMENTS: [], RELATIONS: []}

    def __enter__(self) -> Filler:
        return self

    def __exit__(self, *_: object) -> None:
        for core in self._waiting:
            self._send(core)
            self._solr.commit(core, soft=False)

    def put(self, core: str, document: dict[str, Any]) -> None:
        self._waiting[core].append(document)
        if len(self._waiting[core]) >= _BATCH:
            self._send(core)

    def _send(self, core: str) -> None:
        if self._waiting[core]:
            added = self._solr.add(core, self._waiting[core])
            assert not added.refused, added.refused[0]
            self._waiting[core].clear()


def fill(solr: Solr, operations: int) -> None:
    """Index tables of two columns in layers. Statements derive each table from one to four tables of earlier
    layers."""
    rng = random.Random(7)
    tables = all_tables(operations)
    with Filler(solr) as filler:
        for table in tables:
            for key in (table, column_key(table, "a"), column_key(table, "b")):
                filler.put(ELEMENTS, entity(key))
        for number in range(operations):
            target = rng.randrange(50, len(tables))
            sources = {rng.randrange(max(0, target - 2_000), target) for _ in range(rng.randint(1, 4))}
            operation = operation_key(ENGINE, f"insert {number}", ())
            part = sub_operation_key(operation, "a")
            for key in (operation, part):
                filler.put(ELEMENTS, entity(key))
            flows = [(tables[each], operation) for each in sources] + [(operation, tables[target])]
            flows += [(column_key(tables[each], "a"), part) for each in sources]
            flows.append((part, column_key(tables[target], "a")))
            for ep1, ep2 in flows:
                filler.put(RELATIONS, flow(ep1, ep2))


def all_tables(operations: int) -> list[Key]:
    """Return the tables of the graph with this many operations."""
    return [table_key(HMS, f"db{number % 50}", f"t{number}") for number in range(operations // 2)]


def entity(key: Key) -> dict[str, Any]:
    """Return an entity as a document."""
    parent = {} if key.parent is None else {"firstClassParentId": key.parent.identity}
    return {
        "identity": key.identity,
        "type": key.type.value,
        "sourceType": key.source.type,
        "originalName": key.name,
        "sourceId": key.source.id,
        "parentPath": key.parent_path,
        "deleted": False,
        **parent,
    }


def flow(ep1: Key, ep2: Key) -> dict[str, Any]:
    """Return a data flow that the engine reported, as a document."""
    identity = relation_id(RelationType.DATA_FLOW, ep1.identity, ep2.identity, ENGINE.id)
    fields: dict[str, Any] = {"identity": identity, "type": "DATA_FLOW", "writer": ENGINE.id, "asOf": 1}
    for side, end in ((1, ep1), (2, ep2)):
        fields[f"endpoint{side}Ids"] = [end.identity]
        fields[f"endpoint{side}Type"] = end.type.value
        fields[f"endpoint{side}SourceType"] = end.source.type
        fields[f"endpoint{side}SourceId"] = end.source.id
        fields[f"endpoint{side}Name"] = f"{(end.parent_path or '').strip('/')}.{end.name}".strip(".")
    return {**fields, "deleted": False, "unlinked": False, "claimedIds": [ep1.identity]}
