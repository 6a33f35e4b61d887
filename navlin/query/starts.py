"""The entities at which a lineage starts: one, or all in a database, below a directory, or with a tag."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from navlin.index.graph.filters import RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import BOTH
from navlin.index.schema.fields import INHERITED_TAG
from navlin.index.solr.solr import Solr
from navlin.index.solr.solr_query import phrase
from navlin.model.keys import RelationType
from navlin.model.refusal import Refusal
from navlin.query.answer import CutNode, CutReason, Direction, Lineage
from navlin.query.lineage import lineage, lineage_of_name
from navlin.query.names import entity_named
from navlin.query.options import WalkOptions
from navlin.query.search import search

MOST_STARTS: Final = 200
"""Maximum number of entities at which one lineage starts. There is room for as many neighbours."""
TAG: Final = "tag:"
BELOW: Final = "/*"
_TAGGED: Final = "type:(TABLE OR VIEW OR FIELD OR DATASET OR FILE OR DIRECTORY OR S3BUCKET)"
_FLOWS: Final = RelationFilter((RelationType.DATA_FLOW, RelationType.CONTROL_FLOW), deleted=False)


class NoStart(Refusal):
    """A database, a directory or a tag has no entity at which a lineage could start."""

    status = 404


@dataclass(frozen=True, slots=True)
class Starts:
    """Ids of the entities at which a lineage starts, at least one. ``more`` is True if some were left out."""

    ids: tuple[str, ...]
    more: bool = False


def lineage_named(solr: Solr, name: str, options: WalkOptions) -> Lineage:
    """Return the lineage around the entities that a name means: those with the tag for ``tag:NAME``, the paths with
    lineage below the directory for ``PATH/*``, the tables of a database that has tables, or one entity. Raises `NoStart`,
    and the same errors as `lineage_of_name`."""
    if name.startswith(TAG):
        return _lineage_from(solr, _tagged(solr, name), options)
    if name.endswith(BELOW) and len(name) > len(BELOW):
        return _lineage_from(solr, _below(solr, name), options)
    answer = lineage_of_name(solr, name, options)
    if answer.node(answer.start).type != "DATABASE":
        return answer
    try:
        # Nothing flows to or from a database itself.
        return _lineage_from(solr, _tables_of(solr, name, answer.start), options)
    except NoStart:
        return answer


def _tagged(solr: Solr, name: str) -> Starts:
    tag = phrase(name.removeprefix(TAG))
    return _found(solr, name, f"{_TAGGED} AND (tags:{tag} OR {INHERITED_TAG}:{tag})")


def _tables_of(solr: Solr, name: str, database_id: str) -> Starts:
    database = Graph(solr).entities_of([database_id])[database_id]
    path, source = phrase(f"/{database.own_name}"), phrase(database.source_id)
    return _found(solr, name, f"type:(TABLE OR VIEW) AND parentPath:{path} AND sourceId:{source}")


def _found(solr: Solr, name: str, query: str) -> Starts:
    found = search(solr, f"{query} AND -deleted:true", limit=MOST_STARTS, sort="identity asc")
    return _starts(name, tuple(entity.id for entity in found.entities), more=found.total > MOST_STARTS)


def _below(solr: Solr, name: str) -> Starts:
    graph = Graph(solr)
    directory = entity_named(solr, name.removesuffix(BELOW))
    ends: Iterator[str] = (
        each for side in BOTH for each in graph.ends_below(side, [directory], _FLOWS, MOST_STARTS + 1)
    )
    ids = sorted(graph.present(dict.fromkeys(ends)))
    return _starts(name, tuple(ids[:MOST_STARTS]), more=len(ids) > MOST_STARTS)


def _starts(name: str, ids: tuple[str, ...], *, more: bool) -> Starts:
    if not ids:
        raise NoStart(f"{name} has no table, path or column with which a lineage could start")
    return Starts(ids, more)


def _lineage_from(solr: Solr, starts: Starts, options: WalkOptions) -> Lineage:
    first, *others = starts.ids
    answer = lineage(solr, first, replace(options, starts=tuple(others)))
    if not starts.more:
        return answer
    start = answer.node(first)
    cut = CutNode(start.id, start.name, Direction.BOTH, CutReason.STARTS)
    return replace(answer, truncated_at=(*answer.truncated_at, cut))
