"""Conversion of records to documents: the envelopes of entities and relations, and the relations that entities
imply."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import orjson

from navlin.index.graph import entity as stored_entity
from navlin.index.graph.relation import NO_TREE, End, relation_fields
from navlin.index.schema.envelope import PLACEHOLDER, Envelope
from navlin.index.schema.fields import ELEMENTS, RELATIONS, is_user_field, name_fields, to_fields
from navlin.index.schema.stored_form import PACKAGE, Document, class_of, stored
from navlin.model.identity import relation_id
from navlin.model.keys import EntityType, Key, RelationType, parent_relation
from navlin.model.records import Entity, Relation
from navlin.model.redaction import redact
from navlin.model.source import HIVE, Source

__all__ = ["Document", "digest_of"]

DIGEST_BYTES: Final = 12
"""Size of the hash; a digest uses the first eight bytes."""


def entity_envelope(entity: Entity) -> Envelope:
    key = entity.key
    fields = _key_fields(key)
    fields.update(to_fields(entity.attributes))
    if "internalType" in fields:
        fields["metaClassName"] = fields["internalType"]
    digest = digest_of(fields)
    volatile = to_fields(entity.volatile)
    return _of_entity(key, entity.as_of_ms, digest, fields, volatile)._replace(
        ages=entity.ages, renamed_from=entity.renamed_from
    )


def relation_envelope(relation: Relation, writer_id: str) -> Envelope:
    """Return the envelope of a relation that the source ``writer_id`` states."""
    identity = relation_id(relation.type, relation.ep1.identity, relation.ep2.identity, writer_id)
    fields = relation_fields(relation.type, end_of(relation.ep1), end_of(relation.ep2))
    claims = [end.identity for end in (relation.ep1, relation.ep2) if end.source.id != writer_id]
    if claims:
        fields["claimedIds"] = claims
    fields.update(to_fields(relation.attributes))
    digest = digest_of(fields)
    if any(end.source.configured for end in (relation.ep1, relation.ep2) if end.source.id != writer_id):
        fields["unlinked"] = True
    fields.update(writer=writer_id, treePath=relation.tree_path)
    return Envelope(
        RELATIONS,
        identity,
        writer_id,
        relation.tree_path,
        relation.as_of_ms,
        digest,
        orjson.dumps(fields),
        ages=relation.ages,
    )


def placeholder_envelopes(end: Key, as_of_ms: int) -> Iterator[Envelope]:
    """Yield placeholder envelopes for a claimed entity whose authority no source serves. They describe the entity, its
    ancestors, and its source.

    For a column of a path in a configured file system, yield only the envelopes of the column and the column's source,
    because the file system's source describes the path.
    """
    key: Key | None = end
    while key is not None and key.source.configured is end.source.configured:
        yield _of_entity(key, as_of_ms, PLACEHOLDER, {**_key_fields(key), "granted": True}, {})
        key = key.parent
    yield source_envelope(end.source, as_of_ms, placeholder=True)


def source_envelope(source: Source, as_of_ms: int, *, placeholder: bool = False) -> Envelope:
    fields: Document = {
        "type": EntityType.SOURCE.value,
        "sourceType": source.type,
        "sourceId": source.id,
        "packageName": PACKAGE,
        "originalName": redact(source.name),
        "clusterName": source.cluster,
        "sourceUrl": redact(source.url or source.name),
        "serves": [redact(authority) for authority in source.serves],
    }
    if source.type == HIVE and source.claimable:
        # Lets Navigator's clients distinguish the metastore's source from the sources of queries, which have the same
        # type.
        fields["sourceTemplate"] = True
    if placeholder:
        fields["granted"] = True
    digest = PLACEHOLDER if placeholder else digest_of(fields)
    document = orjson.dumps(stored(ELEMENTS, {**fields, "treePath": NO_TREE}))
    return Envelope(ELEMENTS, source.id, source.id, NO_TREE, as_of_ms, digest, document)


def implied_relation(child: Envelope) -> tuple[str, Document]:
    """Return (identity, fields) of the relation between an entity and its parent.

    A PARENT_CHILD relation gets no names, because the names of both ends are in the index.
    """
    relation_type = parent_relation(child.type)
    fields = relation_fields(
        relation_type,
        End(child.parent_id, child.parent_name, child.parent_type, child.source_type, child.writer),
        End(child.identity, child.name, child.type, child.source_type, child.writer),
    )
    fields.update(writer=child.writer, implied=True, deleted=False, asOf=child.as_of)
    return relation_id(relation_type, child.parent_id, child.identity, child.writer), fields


def end_of(key: Key) -> End:
    return End(key.identity, readable_name(key), key.type.value, key.source.type, key.source.id)


def readable_name(key: Key) -> str:
    """Return the readable name of a key, in the form of `navlin.index.graph.entity.readable_name`."""
    named = {"originalName": _redacted_name(key.name) if _has_text(key) else key.name}
    named["parentPath"] = key.parent_path or ""
    if key.file_system_path is not None:
        named |= name_fields({"fileSystemPath": key.file_system_path})
    return stored_entity.readable_name({"identity": key.identity, "type": key.type.value, **named})


def digest_of(fields: Mapping[str, Any]) -> int:
    """Return the digest of the extractor's fields of a document: a signed 64-bit number, never `PLACEHOLDER`."""
    return digest_of_json(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS))


def digest_of_json(canonical: bytes) -> int:
    """Return the digest (see `digest_of`) of fields serialised as JSON with sorted keys."""
    return digest_of_hash(hashlib.blake2b(canonical, digest_size=DIGEST_BYTES).digest())


def digest_of_hash(hashed: bytes) -> int:
    """Return the digest (see `digest_of`) for a hash of the serialised fields."""
    return int.from_bytes(hashed[:8], "big", signed=True) or 1


def _of_entity(key: Key, as_of_ms: int, digest: int, fields: Document, volatile: Document) -> Envelope:
    content = stored(ELEMENTS, {**fields, "treePath": key.tree_path})
    envelope = Envelope(
        ELEMENTS,
        key.identity,
        key.source.id,
        key.tree_path,
        as_of_ms,
        digest,
        # Leave volatile fields out: a name in both parts would be a duplicate key in the combined JSON.
        orjson.dumps({name: content[name] for name in content if name not in volatile}),
        orjson.dumps(volatile) if volatile else b"",
        user_fields=",".join(sorted(filter(is_user_field, (*fields, *volatile)))),
    )
    if key.parent is None:
        return envelope
    instance = parent_relation(key.type) is RelationType.INSTANCE_OF
    return envelope._replace(
        type=key.type.value,
        source_type=key.source.type,
        parent_id=key.parent.identity,
        parent_type=key.parent.type.value,
        parent_name=readable_name(key.parent) if instance else "",
        name=readable_name(key) if instance else "",
    )


def _key_fields(key: Key) -> Document:
    fields: Document = {
        "type": key.type.value,
        "sourceType": key.source.type,
        "sourceId": key.source.id,
        "packageName": PACKAGE,
    }
    if own := class_of(key.source.type, key.type.value):
        fields["internalType"] = fields["metaClassName"] = own
    named = {"originalName": key.name, "parentPath": key.parent_path, "fileSystemPath": key.file_system_path}
    fields.update(to_fields(named) if _has_text(key) else name_fields(named))
    if key.parent is not None and key.type in (
        EntityType.FIELD,
        EntityType.SUB_OPERATION,
        EntityType.PARTITION,
    ):
        fields["firstClassParentId"] = key.parent.identity
    return fields


def _has_text(key: Key) -> bool:
    """Whether the entity is named by its text, as statements and jobs are."""
    return key.type in (EntityType.OPERATION, EntityType.SUB_OPERATION, EntityType.OPERATION_EXECUTION)


@lru_cache(maxsize=64)
def _redacted_name(name: str) -> str:
    # Cached, because every relation of an operation needs the operation's name.
    return redact(name)
