"""Converts entities and ends of relations to names of datasets and runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from navlin.export.values import DatasetName, RunName
from navlin.index.graph.entity import PATH_TYPES, StoredEntity
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import End as RelationEnd
from navlin.index.graph.sources import KnownSource, known_sources
from navlin.model.identity import identify

DATA_TYPES: Final = ("DATABASE", "TABLE", "VIEW", "DIRECTORY", "FILE", "S3BUCKET", "DATASET")
"""Types of datasets. Partitions and columns are not datasets; the dataset that contains them is used instead."""
LINEAGE_TYPES: Final = DATA_TYPES[1:]
"""Types of datasets between which data can flow."""


@dataclass(frozen=True, slots=True)
class EntityNames:
    """Names of the entities in one index. ``sources`` maps source ids to sources."""

    sources: Mapping[str, KnownSource] = field(default_factory=dict)

    @classmethod
    def read(cls, graph: Graph) -> EntityNames:
        """Read all sources that the index knows."""
        return cls({source.id: source for source in known_sources(graph.solr)})

    def source(self, source_id: str, source_type: str) -> KnownSource:
        """Return the source. If the index no longer has the source, return one with only an id and a type."""
        return self.sources.get(source_id) or KnownSource(
            source_id, source_type, "", "", (), placeholder=True
        )

    def dataset(self, entity: StoredEntity) -> DatasetName:
        """Return the name of a database, table, view, path or other dataset."""
        source = self.source(entity.source_id, entity.source_type)
        if entity.type in PATH_TYPES:
            return DatasetName(entity.id, entity.type, source, entity.path or entity.name)
        database = entity.database if entity.type in ("TABLE", "VIEW") else ""
        return DatasetName(entity.id, entity.type, source, entity.own_name or entity.name, database)

    def unseen(self, end: RelationEnd) -> DatasetName:
        """Return the name of a dataset that only a relation mentions; for a column or partition, the name of the
        dataset that contains it."""
        source, kind, name, identity = self.source(end.source_id, end.source_type), end.type, end.name, end.id
        part = kind in ("FIELD", "PARTITION")
        if part:
            path = name.startswith("/")
            kind = "DIRECTORY" if path else "TABLE"
            name = name.rpartition(".")[0] if path else ".".join(name.split(".")[:2])
        database, dot, table = name.partition(".") if kind in ("TABLE", "VIEW") else ("", "", name)
        if not dot:
            database, table = "", name
        if part:
            key = (database.upper(), table.upper()) if database else (name,)
            identity = identify(end.source_id, *key)
        return DatasetName(identity, kind, source, table, database)

    def run(self, end: RelationEnd) -> RunName:
        """Return the name of a run of another system."""
        return RunName(end.id, end.name, self.source(end.source_id, end.source_type))


def databases_of(tables: Iterable[DatasetName]) -> dict[str, DatasetName]:
    """Return id → name of the databases that contain the tables and views among ``tables``."""
    return {
        identity: DatasetName(identity, "DATABASE", each.source, each.database)
        for each in tables
        if each.is_table and each.database
        for identity in [identify(each.source.id, each.database.upper())]
    }


def parents_of(graph: Graph, entities: Iterable[StoredEntity], fields: str) -> dict[str, StoredEntity]:
    """Return id → entity of the datasets that contain the columns and partitions among ``entities``."""
    return graph.entities_of(
        (each.parent_id for each in entities if each.type in ("FIELD", "PARTITION") and each.parent_id),
        fields,
    )
