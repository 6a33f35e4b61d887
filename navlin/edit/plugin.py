"""Writes that programs send through Cloudera's SDK: edits of entities, the programs' own entities, and relations.

Each object is independent: an error in one is reported with its position, and the others are written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from navlin.edit.annotation_changes import deciding
from navlin.edit.as_navigator import changes_of_put, changes_of_sdk
from navlin.edit.entity_resolver import NAMES, EntityResolver
from navlin.edit.models import properties_of
from navlin.edit.own import Own, own_entity
from navlin.edit.relations import Drawn, count_ends, draw, drawn_of, link_arrived
from navlin.edit.values import BadValue
from navlin.index.graph.entity import StoredEntity
from navlin.index.people.editing import Author, Decide, Document, edit_entities, show_edits
from navlin.index.people.user_entities import (
    SDK,
    awaited_entity,
    require_sdk_source,
    require_sources,
    user_entity,
)
from navlin.index.solr.solr import Solr
from navlin.model.keys import Key, RelationType
from navlin.model.source import Source

MOST: Final = 10_000
"""Maximum number of objects in one request."""
MOST_ENDS: Final = 50_000
"""Maximum number of ends that the relations of one request may name. Each end may have to be looked up."""
MOST_PAIRS_TOGETHER: Final = 100_000
"""Maximum number of relations written for one request, one for each pair of ends."""


@dataclass(slots=True)
class Taken:
    """Result for the objects of one kind: the number accepted, and position → error message for those rejected."""

    count: int = 0
    errors: dict[int, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return ``count`` and ``errors`` ("position : message"). The SDK's reader fails on any other key."""
        return {
            "count": self.count,
            "errors": [f"{position} : {reason}" for position, reason in sorted(self.errors.items())],
        }


@dataclass(frozen=True, slots=True)
class _Wanted:
    """One entity to be written: its initial document if it may be missing in the index, and the function that decides
    on the changes."""

    position: int
    id: str
    decide: Decide
    new: Document | None
    claimed: Source | None = None
    """The entity's source, if the index lacks it as well."""


def write_objects(
    solr: Solr, entities: Sequence[Any], relations: Sequence[Any], author: Author
) -> tuple[Taken, Taken]:
    """Write entities and then relations, each a JSON object in the SDK's form. Return the result for the entities and
    the result for the relations. All are visible when this returns. Raises `BadValue` if the relations name too many
    ends."""
    if sum(map(count_ends, relations)) > MOST_ENDS:
        raise BadValue(f"the relations of one request may have at most {MOST_ENDS:,} ends")
    names, about = EntityResolver(solr), (Taken(), Taken())
    drawn: list[Drawn] = []
    pairs = 0
    for position, given in enumerate(relations):
        try:
            one = drawn_of(names, position, given)
            if pairs + one.pairs > MOST_PAIRS_TOGETHER:
                raise BadValue(f"the request has more than {MOST_PAIRS_TOGETHER:,} pairs of ends")
            pairs += one.pairs
            drawn.append(one)
        except BadValue as error:
            about[1].errors[position] = str(error)
    parents = {
        child: each.sides[0].ids[0]
        for each in drawn
        if each.type == RelationType.PARENT_CHILD and each.sides[0].ids
        for child in each.sides[1].ids
    }
    wanted = []
    registered = properties_of(solr)
    for position, given in enumerate(entities):
        try:
            if not isinstance(given, Mapping):
                raise BadValue("it is not an object")
            decide_fields = deciding(changes_of_sdk(registered, given))
            wanted.append(_wanted(names, position, given, decide_fields, parents, author))
        except BadValue as error:
            about[0].errors[position] = str(error)
    if drawn or any(each.new and each.new["sourceType"] == SDK for each in wanted):
        require_sdk_source(solr, author.now_ms)
    _write(solr, wanted, author, about[0])
    draw(solr, drawn, author.now_ms)
    about[1].count = len(drawn)
    show_edits(solr, relations=True)
    return about


def register_entity(solr: Solr, given: Any, author: Author) -> str:
    """Edit one entity, even if its source has not reported it yet, and return the id. ``given`` is the JSON of a PUT
    plus the names of the entity. Raises `BadValue`."""
    decide_fields = deciding(changes_of_put(properties_of(solr), given))
    names = EntityResolver(solr)
    meant = names.meant(names.with_names(given))
    wanted = (
        _awaited(names, 0, meant, decide_fields, author)
        if isinstance(meant, Key)
        else _Wanted(0, meant, decide_fields, None)
    )
    taken = Taken()
    _write(solr, [wanted], author, taken)
    for reason in taken.errors.values():
        raise BadValue(reason)
    show_edits(solr, relations=True)
    return wanted.id


def _wanted(
    names: EntityResolver,
    position: int,
    given: Mapping[str, Any],
    decide_fields: Decide,
    parents: Mapping[str, str],
    author: Author,
) -> _Wanted:
    identity = given.get("identity")
    if given.get("sourceType") == SDK:
        own = own_entity(given, parents)
        new = user_entity(own.id, own.type, own.namespace, author.now_ms)
        return _Wanted(position, own.id, _deciding_own(own, decide_fields), new)
    if identity:
        if not isinstance(identity, str):
            raise BadValue(f"identity must be a text, not {identity!r:.40}")
        if str(given.get("sourceId")) not in names.sources or not any(given.get(name) for name in NAMES):
            return _Wanted(position, identity, decide_fields, None)
    meant = names.meant(given)
    if identity and identity != (meant.identity if isinstance(meant, Key) else meant):
        # The index may have this entity under the client's id; its names would lead to a different one.
        return _Wanted(position, identity, decide_fields, None)
    if isinstance(meant, Key):
        return _awaited(names, position, meant, decide_fields, author)
    return _Wanted(position, meant, decide_fields, None)


def _awaited(
    names: EntityResolver, position: int, key: Key, decide_fields: Decide, author: Author
) -> _Wanted:
    claimed = key.source if key.source.id not in names.sources else None
    return _Wanted(position, key.identity, decide_fields, awaited_entity(key, author.now_ms), claimed)


def _deciding_own(own: Own, decide_fields: Decide) -> Decide:
    def decide(entity: StoredEntity) -> dict[str, Any]:
        # A program can change only user-written fields of an extracted entity.
        said = own.fields if entity.as_indexed.get("sourceType") == SDK else {}
        changed = {name: value for name, value in said.items() if entity.as_indexed.get(name) != value}
        return {**changed, **decide_fields(entity)}

    return decide


def _write(solr: Solr, wanted: Sequence[_Wanted], author: Author, taken: Taken) -> None:
    left = list(wanted)
    require_sources(solr, {each.claimed for each in wanted if each.claimed is not None}, author.now_ms)
    while left:
        # An entity that is named twice is written twice, in the order of the objects.
        round_of = {each.id: each for each in reversed(left)}
        left = [each for each in left if round_of[each.id] is not each]
        asked = {identity: each.decide for identity, each in round_of.items()}
        new = {identity: each.new for identity, each in round_of.items() if each.new is not None}
        for edited in edit_entities(solr, asked, author, new=new):
            for refused in edited.refused:
                taken.errors[round_of.pop(refused.identity).position] = refused.reason
            for identity in edited.unknown:
                each = round_of.pop(identity)
                taken.errors[each.position] = f"there is no entity {identity}"
        taken.count += len(round_of)
    if made := {each.id for each in wanted if each.new is not None}:
        link_arrived(solr, made, author.now_ms)
