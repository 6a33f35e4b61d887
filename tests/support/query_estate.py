"""A small estate for tests of queries: entities and relations as the pipeline and the linker would write them. Each
test uses a separate name, from which all ids are derived.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from navlin.index.journal.runs import RunRecord, Status, save_run
from navlin.index.schema.envelope import Envelope
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import (
    Document,
    entity_envelope,
    implied_relation,
    placeholder_envelopes,
    relation_envelope,
    source_envelope,
)
from navlin.model.identity import run_id
from navlin.model.keys import (
    EntityType,
    Key,
    RelationType,
    column_key,
    execution_key,
    operation_key,
    path_column_key,
    path_key,
    sub_operation_key,
    table_key,
)
from navlin.model.records import Entity, Relation
from navlin.model.source import HDFS, HIVE, IMPALA, SPARK, Source, source_id
from navlin.model.tree import below

AS_OF_MS = 1_767_225_600_000
BATCH = 2_000


@dataclass
class World:
    """Entities and relations whose ids all derive from ``name``. `index` writes them."""

    solr: Solr
    name: str
    database: str = "db"
    elements: dict[str, Document] = field(default_factory=dict)
    relations: dict[str, Document] = field(default_factory=dict)
    sources: dict[str, Source] = field(default_factory=dict)
    operations: list[Key] = field(default_factory=list)

    def source(self, kind: str, *serves: str) -> Source:
        if kind not in self.sources:
            name = f"{self.name}-{kind.lower()}"
            made = Source(source_id("estate", name), kind, name, "estate", serves)
            self.sources[kind] = made
            self._put(source_envelope(made, AS_OF_MS))
        return self.sources[kind]

    def finished(self, kind: str, iteration: int) -> str:
        """Record an empty run that has just finished, and return its id. Runs with a later start, left by other tests,
        are removed so that this run is the newest.
        """
        self.solr.client(RUNS).delete(q="+kind:run +started:[NOW TO *]")
        source, now_ms = self.source(kind), int(time.time() * 1000)
        save_run(self.solr, RunRecord(source.name, source.id, iteration, Status.FINISHED, now_ms, now_ms + 1))
        self.solr.commit(RUNS, soft=True)
        return run_id(source.id, iteration)

    # -- Entities ------------------------------------------------------------------------------------------------------

    def table(
        self,
        name: str,
        *columns: str,
        kind: EntityType = EntityType.TABLE,
        deleted: bool = False,
        database: str = "",
        **attributes: Any,
    ) -> Key:
        key = self.named(name, kind, database)
        self._put(entity_envelope(Entity(key, AS_OF_MS, attributes)), deleted=deleted)
        if key.parent is not None and key.parent.identity not in self.elements:
            self._put(entity_envelope(Entity(key.parent, AS_OF_MS)))
        for column in columns:
            self._put(entity_envelope(Entity(column_key(key, column), AS_OF_MS)), deleted=deleted)
        return key

    def named(self, name: str, kind: EntityType = EntityType.TABLE, database: str = "") -> Key:
        """The key of a table, without adding an entity to the index."""
        return table_key(self.source(HIVE), database or self.database, name, kind)

    def path(
        self,
        path: str,
        *,
        kind: EntityType = EntityType.DIRECTORY,
        deleted: bool = False,
        **attributes: Any,
    ) -> Key:
        key = path_key(self.source(HDFS, f"hdfs://{self.name}"), path, kind)
        self._put(entity_envelope(Entity(key, AS_OF_MS, attributes)), deleted=deleted)
        return key

    def granted(self, key: Key) -> Key:
        for envelope in placeholder_envelopes(key, AS_OF_MS):
            self._put(envelope)
        return key

    def entity(self, key: Key, *, deleted: bool = False, **attributes: Any) -> Key:
        self._put(entity_envelope(Entity(key, AS_OF_MS, attributes)), deleted=deleted)
        return key

    def operation(
        self,
        text: str,
        reads: Iterable[Key] = (),
        writes: Iterable[Key] = (),
        *,
        steered_by: Iterable[Key] = (),
        parts: Mapping[str, Sequence[str]] | None = None,
        steering_columns: Sequence[str] = (),
        engine: str = IMPALA,
        deleted: bool = False,
        incomplete: bool = False,
        **attributes: Any,
    ) -> Key:
        """Add an operation with its relations. ``parts`` maps output columns to their source columns, all as
        ``table.column``. ``incomplete`` marks the outputs as having further unknown sources.
        """
        reads, writes, steered_by = tuple(reads), tuple(writes), tuple(steered_by)
        ends = tuple(key.identity for key in (*reads, *writes, *steered_by))
        operation = operation_key(self.source(engine), text, ends)
        self.operations.append(operation)
        self.entity(operation, deleted=deleted, queryText=text, **attributes)
        for key in reads:
            self.relate(RelationType.DATA_FLOW, key, operation, writer=engine)
        for key in steered_by:
            self.relate(RelationType.CONTROL_FLOW, key, operation, writer=engine)
        flags = {"incomplete": True} if incomplete else {}
        for key in writes:
            self.relate(RelationType.DATA_FLOW, operation, key, writer=engine, **flags)
        for output, inputs in (parts or {}).items():
            part = self.entity(sub_operation_key(operation, output))
            self.relate(RelationType.DATA_FLOW, part, self.column(output), writer=engine)
            for each in inputs:
                self.relate(RelationType.DATA_FLOW, self.column(each), part, writer=engine)
            for each in steering_columns:
                self.relate(RelationType.CONTROL_FLOW, self.column(each), part, writer=engine)
        return operation

    def column(self, name: str) -> Key:
        """The key of ``table.column`` or ``/path.column``. A path's column is added as a granted entity."""
        table, _, column = name.rpartition(".")
        if not table.startswith("/"):
            return column_key(self.named(table), column)
        path = path_key(self.source(HDFS, f"hdfs://{self.name}"), table)
        return self.granted(path_column_key(path, column))

    def execution(self, operation: Key, run: str, **attributes: Any) -> Key:
        return self.entity(execution_key(operation, run), **attributes)

    # -- Relations -----------------------------------------------------------------------------------------------------

    def relate(
        self,
        kind: RelationType,
        ep1: Key,
        ep2: Key,
        *,
        writer: str,
        deleted: bool = False,
        **attributes: Any,
    ) -> None:
        own = self.source(writer)
        path = below("/", ep1.identity + ep2.identity)
        relation = Relation(kind, ep1, ep2, path, AS_OF_MS, attributes)
        self._put(relation_envelope(relation, own.id), deleted=deleted)

    def located(self, table: Key, path: Key, **attributes: Any) -> None:
        self.relate(RelationType.LOGICAL_PHYSICAL, table, path, writer=HIVE, **attributes)

    # -- The index -----------------------------------------------------------------------------------------------------

    def _put(self, envelope: Envelope, *, deleted: bool = False) -> None:
        stamps: Document = {"asOf": envelope.as_of, "deleted": deleted}
        stamps["extractorRunId"] = run_id(envelope.writer, 1)
        if deleted:
            stamps["deleteTime"] = AS_OF_MS + 1_000
        if envelope.parent_id:
            identity, document = implied_relation(envelope)
            self.relations[identity] = {**document, **stamps, "identity": identity}
        core = self.relations if envelope.core == RELATIONS else self.elements
        core[envelope.identity] = {
            **envelope.fields(),
            **stamps,
            "identity": envelope.identity,
            "digest": envelope.digest,
        }

    def index(self) -> None:
        """Write and commit everything. Relations are linked if all their ends exist."""
        for relation in self.relations.values():
            if "unlinked" in relation:
                missing = [each for each in relation["claimedIds"] if each not in self.elements]
                relation["unlinked"] = bool(missing)
                if missing:
                    relation["unlinkedReason"] = "no match"
        for core, documents in ((ELEMENTS, self.elements), (RELATIONS, self.relations)):
            every = list(documents.values())
            for first in range(0, len(every), BATCH):
                added = self.solr.add(core, every[first : first + BATCH])
                assert not added.refused, added.refused[:3]
            self.solr.commit(core, soft=True)


__all__ = ["HDFS", "HIVE", "IMPALA", "SPARK", "World"]
