"""A small estate for one test, written to a real index as the pipeline writes it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from linker import link
from linker.linking import Linking
from navlin.index.graph.presentation import presented
from navlin.index.graph.state import look_up
from navlin.index.schema.envelope import Envelope
from navlin.index.schema.fields import ELEMENTS, RELATIONS, STAMPS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import (
    entity_envelope,
    placeholder_envelopes,
    relation_envelope,
    source_envelope,
)
from navlin.index.write.rewriting import flag_deleted, rewrite
from navlin.index.write.writing import outcome_of, write
from navlin.model.identity import run_id
from navlin.model.keys import (
    EntityType,
    Key,
    RelationType,
    column_key,
    execution_key,
    operation_key,
    partition_key,
    path_key,
    sub_operation_key,
    table_key,
)
from navlin.model.records import Attributes, Entity, Relation
from navlin.model.source import HDFS, HIVE, IMPALA, SPARK, Source, source_id
from navlin.model.tree import below

DAY_MS = 86_400_000
NOW_MS = 1_000_000 * 1_000_000
"""A day in 2001, long before the times that other tests write."""


class World:
    """Sources HIVE-1, HDFS-1, HDFS-2, IMPALA-1 and SPARK-1 in a separate cluster for each test."""

    def __init__(self, solr: Solr, cluster: str, *, configured: bool = True) -> None:
        self.solr, self.cluster = solr, cluster
        self.hive = self._source(HIVE, "HIVE-1", configured=configured)
        self.hdfs = self._source(HDFS, "HDFS-1", configured=configured)
        self.other_hdfs = self._source(HDFS, "HDFS-2", configured=configured)
        self.impala = self._source(IMPALA, "IMPALA-1", configured=True)
        self.spark = self._source(SPARK, "SPARK-1", configured=True)
        self.runs: Counter[str] = Counter()
        self.now_ms = NOW_MS

    def _source(self, source_type: str, name: str, *, configured: bool) -> Source:
        return Source(source_id(self.cluster, name), source_type, name, self.cluster, configured=configured)

    @property
    def sources(self) -> tuple[Source, ...]:
        return self.hive, self.hdfs, self.other_hdfs, self.impala, self.spark

    # -- Keys ------------------------------------------------------------------------------------------------------------

    def table(self, name: str, kind: EntityType = EntityType.TABLE) -> Key:
        database, table = name.split(".")
        return table_key(self.hive, database, table, kind)

    def column(self, name: str) -> Key:
        database, table, column = name.split(".")
        return column_key(self.table(f"{database}.{table}"), column)

    def partition(self, table: str, name: str) -> Key:
        return partition_key(self.table(table), name)

    def path(
        self, path: str, kind: EntityType = EntityType.DIRECTORY, *, source: Source | None = None
    ) -> Key:
        return path_key(source or self.hdfs, path, kind)

    def file(self, path: str) -> Key:
        return self.path(path, EntityType.FILE)

    def operation(self, text: str, *, source: Source | None = None) -> Key:
        return operation_key(source or self.impala, text, ())

    def part(self, operation: Key, name: str) -> Key:
        return sub_operation_key(operation, name)

    def execution(self, operation: Key, name: str) -> Key:
        return execution_key(operation, f"{self.cluster} {name}")

    # -- Records ---------------------------------------------------------------------------------------------------------

    def entity(
        self, key: Key, attributes: Attributes | None = None, *, as_of_ms: int | None = None
    ) -> Entity:
        return Entity(key, self.now_ms if as_of_ms is None else as_of_ms, attributes or {})

    def flow(self, ep1: Key, ep2: Key, kind: RelationType = RelationType.DATA_FLOW) -> Relation:
        operation = ep1 if ep1.type in (EntityType.OPERATION, EntityType.SUB_OPERATION) else ep2
        path = below(operation.tree_path, ep1.identity + ep2.identity)
        return Relation(kind, ep1, ep2, path, self.now_ms)

    def location(self, table: Key, path: Key) -> Relation:
        return Relation(
            RelationType.LOGICAL_PHYSICAL, table, path, below(table.tree_path, path.identity), self.now_ms
        )

    # -- Writing ---------------------------------------------------------------------------------------------------------

    def put(self, source: Source, *records: Entity | Relation) -> str:
        """Write and commit records as one run of a source, and return the run's id."""
        self.runs[source.id] += 1
        stamp = Stamp(run_id(source.id, self.runs[source.id]), self.now_ms)
        envelopes = [source_envelope(source, self.now_ms)]
        for record in records:
            if isinstance(record, Entity):
                envelopes.append(entity_envelope(record))
            else:
                envelopes.append(relation_envelope(record, source.id))
                for end in (record.ep1, record.ep2):
                    if not end.source.configured:
                        envelopes.extend(placeholder_envelopes(end, self.now_ms))
        for core in (ELEMENTS, RELATIONS):
            self._write(core, [envelope for envelope in envelopes if envelope.core == core], stamp)
        self.commit()
        return stamp.run_id

    def _write(self, core: str, envelopes: Iterable[Envelope], stamp: Stamp) -> None:
        by_id: dict[str, Envelope] = {}
        for envelope in envelopes:
            by_id.setdefault(envelope.identity, envelope)
        held = look_up(self.solr, core, by_id)
        records = [
            (
                envelope,
                outcome_of(
                    envelope,
                    held.get(identity),
                    covered_as_of_ms=0,
                    follows_events=False,
                    purged_before_ms=0,
                    stamp=stamp,
                ),
            )
            for identity, envelope in by_id.items()
        ]
        for _ in write(self.solr, core, records, stamp):
            pass

    def drop(self, source: Source, *gone: Key | Relation) -> str:
        """Flag entities and relations deleted as a run of their source does, commit, and return the run's id."""
        self.runs[source.id] += 1
        stamp = Stamp(run_id(source.id, self.runs[source.id]), self.now_ms)
        elements = [thing.identity for thing in gone if isinstance(thing, Key)]
        relations = [
            relation_envelope(thing, source.id).identity for thing in gone if isinstance(thing, Relation)
        ]
        for core, ids in ((ELEMENTS, elements), (RELATIONS, relations)):
            for _ in rewrite(self.solr, core, ids, lambda each: flag_deleted(each, stamp, self.now_ms)):
                pass
        self.commit()
        return stamp.run_id

    def link(self, *run_ids: str, everything: bool = False) -> dict[str, int]:
        """Link the documents written by these runs, or all documents with ``everything``. Return the linker's counts."""
        own = run_ids[-1] if run_ids else run_id(self.cluster, 0)
        linked = link(Linking(self.solr, self.now_ms, own, run_ids, since_ms=0, everything=everything))
        self.commit()
        return linked

    def commit(self) -> None:
        self.solr.commit(ELEMENTS, soft=True)
        self.solr.commit(RELATIONS, soft=True)

    # -- Reading ---------------------------------------------------------------------------------------------------------

    def relation(self, source: Source, relation: Relation) -> dict[str, Any]:
        found = self.solr.get(RELATIONS, [relation_envelope(relation, source.id).identity])
        assert found, f"{relation.type} of {relation.ep1.name} and {relation.ep2.name} is not in the index"
        return found[0]

    def entity_of(self, key: Key) -> dict[str, Any] | None:
        return next(iter(self.solr.get(ELEMENTS, [key.identity])), None)

    def added(self) -> set[tuple[str, str, str]]:
        """Relations that the linker added, as (table or partition, path, "certain" or "inferred")."""
        return {
            (
                relation["endpoint1Name"],
                relation["endpoint2Name"],
                "inferred" if relation.get("inferred") else "certain",
            )
            for relation in self.documents(RELATIONS)
            if relation.get("rule") == "add_locations"
        }

    def documents(self, core: str) -> list[dict[str, Any]]:
        """All committed documents of this world in a core, including derived fields."""
        documents = presented(self.solr, core, self.stored(core))
        return sorted(documents, key=lambda document: str(document["identity"]))

    def stored(self, core: str) -> list[dict[str, Any]]:
        """All committed documents of this world in a core, as stored in Solr."""
        ids = ",".join(source.id for source in self.sources)
        fields = ("endpoint1SourceId", "endpoint2SourceId") if core == RELATIONS else ("sourceId",)
        found: dict[str, dict[str, Any]] = {}
        for field in fields:
            for document in self.solr.cursor(core, f"{{!terms f={field}}}{ids}", "*"):
                found[document["identity"]] = document
        return list(found.values())

    def index(self) -> dict[str, list[dict[str, Any]]]:
        """Map each core to its documents, without navlin's own stamps."""
        return {
            core: [
                {name: value for name, value in document.items() if name not in STAMPS}
                for document in self.documents(core)
            ]
            for core in (ELEMENTS, RELATIONS)
        }

    def versions(self) -> dict[str, int]:
        """Map the id of each document to its version. Equal versions prove that nothing was written."""
        return {
            document["identity"]: document["_version_"]
            for core in (ELEMENTS, RELATIONS)
            for document in self.documents(core)
        }

    def clear(self) -> None:
        for core in (ELEMENTS, RELATIONS):
            self.solr.delete_ids(core, [document["identity"] for document in self.documents(core)])
        self.commit()
        self.runs.clear()
