"""Entities that Navigator's clients identify without ids, by names in a source.

The id is computed by the rule for keys (`navlin.model.keys`), so it is the id under which the extractor of that source
writes, or will write, the entity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from navlin.edit.values import BadValue
from navlin.index.graph.graph import Graph
from navlin.index.graph.sources import KnownSource, known_sources
from navlin.index.solr.solr import Solr
from navlin.model.keys import (
    EntityType,
    Key,
    column_key,
    database_key,
    operation_key,
    path_key,
    pig_execution_key,
    split_location,
    table_key,
)
from navlin.model.redaction import redact
from navlin.model.source import HDFS, HIVE, LOCAL, PIG, S3, Source, source_id

NAMES: Final = (
    *("fileSystemPath", "databaseName", "tableName", "columnName", "queryText"),
    *("jobName", "logicalPlanHash", "scriptId"),
)
"""Attributes that name an entity within a source."""
_PATHS: Final = frozenset({HDFS, LOCAL, S3})


@dataclass(frozen=True)
class EntityResolver:
    """Resolves the names by which clients identify entities. The sources are read only once."""

    solr: Solr

    @cached_property
    def sources(self) -> Mapping[str, KnownSource]:
        """Source id → source, for all sources in the index."""
        return {source.id: source for source in known_sources(self.solr)}

    def meant(self, given: Mapping[str, Any]) -> Key | str:
        """Return the key of an entity, given its names; for an operation with a known text, return the id of the
        existing operation. Raises `BadValue`."""
        kind = str(given.get("type") or "")
        given = _with_own_name(given, kind)
        named = {name: _text(name, given[name]) for name in NAMES if given.get(name) not in (None, "")}
        match named:
            case {"fileSystemPath": path}:
                source = self._source(given, _PATHS)
                folder = kind != EntityType.FILE
                return path_key(
                    source, split_location(path)[2], EntityType.DIRECTORY if folder else EntityType.FILE
                )
            case {"databaseName": database}:
                return _of_hive(self._source(given, {HIVE}), kind, database, named)
            case {"queryText": text}:
                return self._operation(self._source(given, self._engines()), text)
            case {"jobName": job, "logicalPlanHash": plan}:
                operation = pig_execution_key(self._pig(given), "", job, plan).parent
                assert operation is not None
                return operation
            case {"jobName": _, "scriptId": script}:
                return _without_parent(pig_execution_key(self._pig(given), script, "", ""))
        raise BadValue(
            "it has neither an identity nor fileSystemPath, databaseName, queryText, jobName and logicalPlanHash, or"
            " jobName and scriptId"
        )

    def with_names(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Translate ``parentPath`` and ``originalName`` into the attributes that name an entity. Without a type, the
        type of the source decides whether these are paths or tables."""
        name, above = given.get("originalName"), str(given.get("parentPath") or "")
        if not name or any(given.get(each) for each in NAMES):
            return given
        parts = [part for part in above.split("/") if part]
        kind = given.get("type")
        if kind in (EntityType.FILE, EntityType.DIRECTORY) or (not kind and self._has_paths(given)):
            return {**given, "fileSystemPath": f"{above.rstrip('/')}/{name}"}
        if kind in (EntityType.OPERATION,):
            return {**given, "queryText": name}
        hive = dict(zip(("databaseName", "tableName", "columnName"), (*parts, name), strict=False))
        return {**given, **hive}

    def _has_paths(self, given: Mapping[str, Any]) -> bool:
        known = self.sources.get(str(given.get("sourceId")))
        return known is not None and known.type in _PATHS

    def _source(self, given: Mapping[str, Any], types: Any) -> Source:
        identity = given.get("sourceId")
        if not identity:
            raise BadValue("it has no sourceId")
        known = self.sources.get(str(identity))
        if known is None:
            raise BadValue(f"there is no source {identity!s:.60}")
        if types is not None and known.type not in types:
            raise BadValue(
                f"source {known.name} is of type {known.type}, and has no tables or paths of that form"
            )
        return Source(
            known.id, known.type, known.name, known.cluster, known.serves, configured=not known.placeholder
        )

    def _engines(self) -> frozenset[str]:
        return frozenset(each.type for each in self.sources.values()) - _PATHS

    def _pig(self, given: Mapping[str, Any]) -> Source:
        """Return the source of Pig's entities, which clients usually do not name. It is not a configured source,
        because YARN reports Pig's jobs. If the index has no such source yet, the id is derived from the cluster."""
        if given.get("sourceId"):
            return self._source(given, {PIG})
        for known in self.sources.values():
            if known.type == PIG:
                return Source(known.id, PIG, known.name, known.cluster, known.serves, configured=False)
        cluster = next((each.cluster for each in self.sources.values() if each.cluster), "")
        return Source(source_id(cluster, PIG.lower()), PIG, PIG.lower(), cluster, configured=False)

    def _operation(self, source: Source, text: str) -> Key | str:
        text = redact(text)
        # For a Hive statement, clients name the metastore's source, which has the tables, but statements belong to
        # another source.
        alike = [
            each.id
            for each in self.sources.values()
            if (each.type, each.cluster) == (source.type, source.cluster) and each.id != source.id
        ]
        if same := Graph(self.solr).operations_of_text(text, (source.id, *alike)):
            return same[0].id
        # An operation's id also depends on its inputs and outputs, which are unknown before it is extracted. Until
        # then, the id is derived from the text alone.
        return operation_key(source, " ".join(text.split()), (), name=text)


_NAMED_BY: Final[Mapping[str, tuple[str, str]]] = {
    EntityType.TABLE: ("databaseName", "tableName"),
    EntityType.VIEW: ("databaseName", "tableName"),
    EntityType.FIELD: ("tableName", "columnName"),
}
"""Type → (the attribute that names the parent, the attribute that names the entity itself)."""


def _with_own_name(given: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    """Add the entity's own name. Before version 2, the SDK named the parent of a table or a column, and sent the
    entity's own name as ``originalName``."""
    above, own = _NAMED_BY.get(kind, ("", ""))
    if given.get(above) and given.get("originalName") and not given.get(own):
        return {**given, own: given["originalName"]}
    return given


def _without_parent(key: Key) -> Key:
    """Return the execution alone, because the client did not name its operation."""
    return Key(key.type, key.identity, key.source, key.name, key.tree_path)


def _of_hive(source: Source, kind: str, database: str, named: Mapping[str, str]) -> Key:
    match named:
        case {"tableName": table, "columnName": column}:
            return column_key(table_key(source, database, table), column)
        case {"tableName": table}:
            view = kind == EntityType.VIEW
            return table_key(source, database, table, EntityType.VIEW if view else EntityType.TABLE)
        case {"columnName": _}:
            raise BadValue("it has a columnName and no tableName")
    return database_key(source, database)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadValue(f"{name} must be a text, not {value!r:.40}")
    return value
