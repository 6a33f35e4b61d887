"""Records → documents, and the one envelope in which everything crosses Spark."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from navlin.index import entity
from navlin.index.fields import ELEMENTS, RELATIONS, to_fields
from navlin.index.relation import NO_TREE, End, placed, relation_fields
from navlin.model.identity import relation_id
from navlin.model.keys import EntityType, Key, parent_relation
from navlin.model.records import Entity, Relation
from navlin.model.source import HIVE, Source

Document = dict[str, Any]

INTERNAL_TYPES: Mapping[tuple[str, str], str] = {
    ("HIVE", "DATABASE"): "hv_database",
    ("HIVE", "TABLE"): "hv_table",
    ("HIVE", "VIEW"): "hv_view",
    ("HIVE", "FIELD"): "hv_column",
    ("HIVE", "PARTITION"): "hv_partition",
    ("HIVE", "OPERATION"): "hv_query",
    ("HIVE", "SUB_OPERATION"): "hv_query_part",
    ("HIVE", "OPERATION_EXECUTION"): "hv_query_execution",
    ("HDFS", "FILE"): "fselement",
    ("HDFS", "DIRECTORY"): "fselement",
    ("IMPALA", "OPERATION"): "impala_operation",
    ("IMPALA", "SUB_OPERATION"): "impala_sub_operation",
    ("IMPALA", "OPERATION_EXECUTION"): "impala_operation_execution",
    ("SPARK", "OPERATION"): "spark_operation",
    ("SPARK", "SUB_OPERATION"): "spark_sub_operation",
    ("SPARK", "OPERATION_EXECUTION"): "spark_operation_execution",
    ("YARN", "OPERATION"): "yarn_operation",
    ("YARN", "OPERATION_EXECUTION"): "yarn_operation_execution",
    ("PIG", "OPERATION"): "pig_operation",
    ("PIG", "OPERATION_EXECUTION"): "pig_op_exec",
    ("OOZIE", "OPERATION"): "oozie_operation",
    ("OOZIE", "OPERATION_EXECUTION"): "oozie_operation_execution",
}
"""Navigator's class of a thing by its source type and type; an extractor's attribute ``internalType`` goes before it."""


class Envelope(NamedTuple):
    """What crosses Spark, whatever it is. ``core`` is a core's name, or says which kind of control record it is."""

    core: str
    identity: str
    writer: str
    tree_path: str
    as_of: int
    digest: str
    document: bytes

    def read(self) -> Document:
        """The document, parsed."""
        parsed: Document = orjson.loads(self.document)
        return parsed


GRANTED = "granted"
"""The digest of a document that is written for a claimant: it says that the document counts only where there is none."""
IMPLIED = "_implied"
"""Inside an envelope's document: the parent whose relation rides with the entity, as (its id, type, readable name, the
entity's readable name). `implied_relation` makes the relation of it and of what the document says anyway."""
RENAMED_FROM = "_renamedFrom"
AGES = "_ages"
VOLATILE = "_volatile"
WHERE_CLAIMED = "_whereClaimed"


def entity_envelope(entity: Entity) -> Envelope:
    """The envelope of an owned entity."""
    key = entity.key
    fields = _key_fields(key)
    fields.update(to_fields(entity.attributes))
    if "internalType" in fields:
        fields["metaClassName"] = fields["internalType"]
    digest = _digest(fields)
    if entity.volatile:
        fields[VOLATILE] = to_fields(entity.volatile)
    if key.parent is not None:
        fields[IMPLIED] = _implied(key, key.parent)
    if entity.renamed_from:
        fields[RENAMED_FROM] = entity.renamed_from
    if entity.ages:
        fields[AGES] = True
    return Envelope(
        ELEMENTS, key.identity, key.source.id, key.tree_path, entity.as_of_ms, digest, orjson.dumps(fields)
    )


def relation_envelope(relation: Relation, writer_id: str) -> Envelope:
    """The envelope of a relation that the source ``writer_id`` states."""
    identity = relation_id(relation.type, relation.ep1.identity, relation.ep2.identity, writer_id)
    fields = relation_fields(relation.type, end_of(relation.ep1), end_of(relation.ep2))
    claims = [end.identity for end in (relation.ep1, relation.ep2) if end.source.id != writer_id]
    if claims:
        fields["claimedIds"] = claims
        if any(end.source.configured for end in (relation.ep1, relation.ep2) if end.source.id != writer_id):
            fields["unlinked"] = True
    fields.update(to_fields(relation.attributes))
    digest = _digest({name: value for name, value in fields.items() if name != "unlinked"})
    if relation.ages:
        fields[AGES] = True
    return Envelope(
        RELATIONS, identity, writer_id, relation.tree_path, relation.as_of_ms, digest, orjson.dumps(fields)
    )


def granted_envelopes(end: Key, as_of_ms: int) -> Iterator[Envelope]:
    """What a claim on an authority that nobody serves grants: the thing, what contains it, and the source itself.

    Of a column of a configured file system's path, the column alone: its path is for that source to tell of.
    """
    key: Key | None = end
    while key is not None and key.source.configured is end.source.configured:
        fields = _key_fields(key)
        fields["granted"] = True
        if key.parent is not None:
            fields[IMPLIED] = _implied(key, key.parent)
        yield Envelope(
            ELEMENTS, key.identity, key.source.id, key.tree_path, as_of_ms, GRANTED, orjson.dumps(fields)
        )
        key = key.parent
    yield source_envelope(end.source, as_of_ms, granted=True)


def source_envelope(source: Source, as_of_ms: int, *, granted: bool = False) -> Envelope:
    """The SOURCE document of a source."""
    fields: Document = {
        "type": EntityType.SOURCE.value,
        "sourceType": source.type,
        "sourceId": source.id,
        "packageName": "nav",
        "originalName": source.name,
        "clusterName": source.cluster,
        "sourceUrl": source.url or source.name,
        "serves": list(source.serves),
    }
    if source.type == HIVE and source.claimable:
        # So clients of Navigator tell the metastore's source from those of queries, which are of the same type.
        fields["sourceTemplate"] = True
    if granted:
        fields["granted"] = True
    digest = GRANTED if granted else _digest(fields)
    return Envelope(ELEMENTS, source.id, source.id, NO_TREE, as_of_ms, digest, orjson.dumps(fields))


def end_of(key: Key) -> End:
    """A key as the end of a relation."""
    return End(key.identity, readable_name(key), key.type.value, key.source.type, key.source.id)


def readable_name(key: Key) -> str:
    """What a person calls a key, as `navlin.index.entity` has it."""
    named = {"originalName": key.name, "parentPath": key.parent_path or ""}
    if key.file_system_path is not None:
        named |= to_fields({"fileSystemPath": key.file_system_path})
    return entity.readable_name({"identity": key.identity, "type": key.type.value, **named})


def implied_relation(
    identity: str, writer: str, tree_path: str, child: Mapping[str, Any], implied: Sequence[str]
) -> tuple[str, Document]:
    """The relation to its parent that rides with an entity (``child`` are its fields): its identity and its fields."""
    parent_id, parent_type, parent_name, child_name = implied
    relation_type = parent_relation(child["type"])
    source = child["sourceType"], child["sourceId"]
    fields = relation_fields(
        relation_type,
        End(parent_id, parent_name, parent_type, *source),
        End(identity, child_name, child["type"], *source),
    )
    return relation_id(relation_type, parent_id, identity, writer), placed(fields, writer, tree_path)


def _implied(key: Key, parent: Key) -> list[str]:
    return [parent.identity, parent.type.value, readable_name(parent), readable_name(key)]


def _key_fields(key: Key) -> Document:
    fields: Document = {
        "type": key.type.value,
        "sourceType": key.source.type,
        "sourceId": key.source.id,
        "packageName": "nav",
    }
    internal = INTERNAL_TYPES.get((key.source.type, key.type.value))
    if internal:
        fields["internalType"] = fields["metaClassName"] = internal
    named = {"originalName": key.name, "parentPath": key.parent_path, "fileSystemPath": key.file_system_path}
    fields.update(to_fields(named))
    if key.parent is not None and key.type in (
        EntityType.FIELD,
        EntityType.SUB_OPERATION,
        EntityType.PARTITION,
    ):
        fields["firstClassParentId"] = key.parent.identity
    return fields


def _digest(fields: Mapping[str, Any]) -> str:
    canonical = orjson.dumps(fields, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(canonical, digest_size=12).hexdigest()
