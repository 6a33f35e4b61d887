"""The results of a search, as rows of a page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.relation import End, StoredRelation
from navlin.index.schema.fields import RELATIONS
from navlin.query.search import SearchAnswer


@dataclass(frozen=True, slots=True)
class Result:
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


def results_of(
    answer: SearchAnswer, sources: Mapping[str, str], statements: Mapping[str, str]
) -> Iterator[Result]:
    """Yield the results of one page. ``sources`` maps source ids to names, ``statements`` maps ids to the display names
    of statements."""
    for document in answer.documents:
        yield _relation(document) if answer.core == RELATIONS else _entity(document, sources, statements)


def _entity(
    document: Mapping[str, object], sources: Mapping[str, str], statements: Mapping[str, str]
) -> Result:
    entity = StoredEntity.of(document)
    words = entity.words
    tags = words.get("tags", ())
    states = (
        ("deleted",) * entity.deleted
        + ("placeholder",) * entity.granted
        + ("incomplete",) * entity.incomplete
    )
    return Result(
        entity.id,
        statements.get(entity.id, entity.name),
        entity.type,
        entity.source_type,
        sources.get(entity.source_id, entity.source_id),
        entity.owner,
        str(words.get("name", "")),
        str(words.get("description", "") or document.get("originalDescription", "")),
        tuple(map(str, tags if isinstance(tags, list | tuple) else (tags,))),
        states,
    )


def _relation(document: Mapping[str, object]) -> Result:
    relation = StoredRelation.of(document)
    states = tuple(
        each for each in ("deleted", "unlinked", "inferred", "incomplete") if getattr(relation, each)
    )
    return Result(relation.id, relation.type, relation.type, states=states, ends=(relation.ep1, relation.ep2))
