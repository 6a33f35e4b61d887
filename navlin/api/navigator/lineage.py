"""``/lineage`` and ``/lineage3/export``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final

import orjson

from navlin.access.roles import Role
from navlin.api.answers import Problem
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.navigator.entity_form import EntityForm, entity_json, source_type_shown
from navlin.api.navigator.relation_form import typed_sides
from navlin.index.entity import TABLE_TYPES, WHOLE
from navlin.index.graph import Graph
from navlin.index.solr import Solr
from navlin.query import answer
from navlin.query.lineage import UnknownEntity, lineage
from navlin.query.options import Options

MOST_STARTS: Final = 100
"""Navigator's own limit of an export."""
EXPORTED_NODES: Final = 10_000
"""How many nodes an export from one entity has at most: a program reads it, and nobody looks at it."""
_OPERATIONS: Final = frozenset({"OPERATION", "OPERATION_EXECUTION"})


class ExportDirection(StrEnum):
    """As the SDK writes it."""

    UPSTREAM = "UPSTREAM"
    DOWNSTREAM = "DOWNSTREAM"


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a diagram."""

    entityIds: Annotated[tuple[str, ...], "Where it begins. Repeatable."]
    length: Annotated[int, "How many hops in each direction."] = 2
    mergeDeletedEntities: Annotated[bool, "Passes through what is deleted, and does not show it."] = True


@dataclass(frozen=True, slots=True)
class ExportParameters:
    """The parameters of an export."""

    ids: Annotated[tuple[str, ...], "Where it begins: the body, a list of up to 100."]
    direction: Annotated[ExportDirection, "Where to go."] = ExportDirection.DOWNSTREAM
    length: Annotated[int, "How many hops; -1 for all."] = -1


def _walked(solr: Solr, starts: Iterable[str], options: Options) -> Iterator[answer.Lineage]:
    for start in starts:
        try:
            yield lineage(solr, start, options)
        except UnknownEntity as error:
            raise Problem(404, str(error)) from error


def _columns(asked: Asked) -> dict[str, Any]:
    given: Parameters = asked.parameters
    options = Options(
        depth=max(1, given.length), operations=True, control_flow=True, deleted=not given.mergeDeletedEntities
    )
    answers = list(_walked(asked.solr, given.entityIds[:MOST_STARTS], options))
    nodes: dict[str, answer.Node] = {}
    edges: dict[tuple[str, str, str], answer.Edge] = {}
    for walked in answers:
        nodes.update((node.id, node) for node in walked.nodes)
        edges.update(((edge.type, edge.source, edge.target), edge) for edge in walked.edges)
    known = Graph(asked.solr).entities_of(nodes, WHOLE)
    form = EntityForm(asked.solr)
    entities = [
        form(known[each].as_presented) if each in known else _named_only(node) for each, node in nodes.items()
    ]
    for entity in entities:
        if entity["type"] in _OPERATIONS:
            entity["inputs"] = _tables(
                nodes, (edge.source for edge in edges.values() if edge.target == entity["identity"])
            )
            entity["outputs"] = _tables(
                nodes, (edge.target for edge in edges.values() if edge.source == entity["identity"])
            )
    relations = [{"type": kind, **typed_sides(kind, [source], [target])} for kind, source, target in edges]
    cut = _cut_at(answers)
    return {"entities": entities, "relations": relations, **({"truncatedAt": cut} if cut else {})}


def _cut_at(answers: Iterable[answer.Lineage]) -> list[str]:
    """The ids of the nodes at which there is more, though not because of the depth that was asked for."""
    cuts = (cut for walked in answers for cut in walked.truncated_at if cut.reason is not answer.Reason.DEPTH)
    return list(dict.fromkeys(cut.id for cut in cuts))


def _tables(nodes: dict[str, answer.Node], ids: Iterable[str]) -> list[str]:
    """The names of tables as Hue compares them: without their databases, in capitals."""
    names = (nodes[each].name.rpartition(".")[2].upper() for each in ids if nodes[each].type in TABLE_TYPES)
    return list(dict.fromkeys(names))


def _named_only(node: answer.Node) -> dict[str, Any]:
    own = {"identity": node.id, "type": node.type, "originalName": node.name.rpartition(".")[2]}
    return {**entity_json(own), "sourceType": source_type_shown(node.source_type), "sourceId": node.source_id}


def _export(asked: Asked) -> Iterator[bytes]:
    given: ExportParameters = asked.parameters
    if len(given.ids) > MOST_STARTS:
        raise Problem(400, f"an export begins at {MOST_STARTS} entities at most")
    depth = given.length if given.length > 0 else None
    upstream = given.direction is ExportDirection.UPSTREAM
    options = Options(
        answer.Direction(given.direction.lower()),
        depth,
        operations=True,
        control_flow=True,
        max_nodes=EXPORTED_NODES,
    )
    sent: set[str] = set()
    head = b"["
    for walked in _walked(asked.solr, given.ids, options):
        children: dict[str, dict[str, list[str]]] = defaultdict(dict)
        cut = set(_cut_at([walked]))
        for edge in walked.edges:
            near, far = (edge.target, edge.source) if upstream else (edge.source, edge.target)
            children[near].setdefault(str(edge.type), []).append(far)
        for node in walked.nodes:
            if node.id not in sent:
                sent.add(node.id)
                about = {"id": node.id, "children": children.get(node.id, {})}
                yield head + orjson.dumps({**about, **({"truncated": True} if node.id in cut else {})})
                head = b","
    yield b"]" if sent else b"[]"


COLUMNS = Endpoint(
    "GET",
    "/lineage",
    Role.LINEAGE_VIEWER,
    "Entities around some, and relations.",
    Parameters,
    _columns,
    lenient=True,
    walks=True,
)
EXPORT = Endpoint(
    "POST",
    "/lineage3/export",
    Role.LINEAGE_VIEWER,
    "What follows from some entities, or led to them, as a list of children.",
    ExportParameters,
    _export,
    lenient=True,
    walks=True,
)
