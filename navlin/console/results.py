"""The results of a search, as rows of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from navlin.index.graph.details import Annotations
from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.relation import End, StoredRelation
from navlin.index.schema.fields import RELATIONS
from navlin.query.search import SearchAnswer
from navlin.render.field_words import STATE_WORDS


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An entity, or a relation with its two ``ends``. ``people`` is the user-written name; ``source`` is the name of
    the source."""

    id: str
    name: str
    type: str
    source_type: str = ""
    source: str = ""
    owner: str = ""
    people: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    ends: tuple[End, ...] = ()

    @property
    def deleted(self) -> bool:
        return "deleted" in self.states


def results_of(answer: SearchAnswer, sources: Mapping[str, str]) -> Iterator[FoundItem]:
    """Yield the results of one page. ``sources`` maps source ids to names."""
    if answer.core == RELATIONS:
        yield from map(_relation, answer.relations)
    else:
        yield from (_entity(each, sources, answer.statements) for each in answer.entities)


def _entity(entity: StoredEntity, sources: Mapping[str, str], statements: Mapping[str, str]) -> FoundItem:
    annotations = Annotations.of(entity)
    states = (
        ("deleted",) * entity.deleted
        + ("placeholder",) * entity.placeholder
        + ("incomplete",) * entity.incomplete
    )
    return FoundItem(
        entity.id,
        statements.get(entity.id, entity.name),
        entity.type,
        entity.source_type,
        sources.get(entity.source_id, entity.source_id),
        entity.owner,
        annotations.name,
        annotations.description or entity.comment,
        annotations.tags,
        states,
    )


def _relation(relation: StoredRelation) -> FoundItem:
    states = tuple(
        STATE_WORDS.get(each, each)
        for each in ("deleted", "unlinked", "inferred", "incomplete")
        if getattr(relation, each)
    )
    return FoundItem(
        relation.id, relation.type, relation.type, states=states, ends=(relation.ep1, relation.ep2)
    )
