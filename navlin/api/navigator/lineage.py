"""``/lineage`` and ``/lineage3/export``: lineage as entities with relations, and as a list of nodes with their
children."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final

import orjson

from navlin.access.roles import Role
from navlin.api.answers import HttpError
from navlin.api.bodies import QUERY_BYTES
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.navigator.entity_form import EntityForm, entity_json, source_type_shown
from navlin.api.navigator.relation_form import typed_sides
from navlin.index.graph.entity import TABLE_TYPES, WHOLE
from navlin.index.graph.graph import Graph
from navlin.index.solr.solr import Solr
from navlin.query import answer
from navlin.query.lineage import lineage
from navlin.query.options import WalkOptions

MOST_STARTS: Final = 100
"""Maximum number of start entities, as in Navigator."""
EXPORTED_NODES: Final = 10_000
"""Maximum number of nodes of an export from one entity. It is high because exports are for programs, not for
display."""
_OPERATIONS: Final = frozenset({"OPERATION", "OPERATION_EXECUTION"})


class ExportDirection(StrEnum):
    """Directions in the spelling of the SDK."""

    UPSTREAM = "UPSTREAM"
    DOWNSTREAM = "DOWNSTREAM"


@dataclass(frozen=True, slots=True)
class Parameters:
    entityIds: Annotated[tuple[str, ...], "Identity of a start entity. Repeatable."]
    length: Annotated[int, "Number of hops in each direction."] = 2
    mergeDeletedEntities: Annotated[bool, "Follow paths through deleted entities without showing them."] = (
        True
    )


@dataclass(frozen=True, slots=True)
class ExportParameters:
    ids: Annotated[tuple[str, ...], "Identities of the start entities: the body, a list of up to 100."]
    direction: Annotated[ExportDirection, "Direction."] = ExportDirection.DOWNSTREAM
    length: Annotated[int, "Number of hops; -1 for all."] = -1


def _columns(request: ApiRequest) -> dict[str, Any]:
    given: Parameters = request.parameters
    if len(given.entityIds) > MOST_STARTS:
        raise HttpError(400, f"a diagram may start at {MOST_STARTS} entities at most")
    options = WalkOptions(
        depth=max(1, given.length), operations=True, control_flow=True, deleted=not given.mergeDeletedEntities
    )
    answers = [lineage(request.solr, each, options) for each in given.entityIds]
    nodes: dict[str, answer.Node] = {}
    edges: dict[tuple[str, str, str], answer.Edge] = {}
    for walked in answers:
        nodes.update((node.id, node) for node in walked.nodes)
        edges.update(((edge.type, edge.source, edge.target), edge) for edge in walked.edges)
    known = Graph(request.solr).entities_of(nodes, WHOLE)
    form = EntityForm(request.solr)
    entities = [
        form(known[each].as_presented) if each in known else _named_only(node) for each, node in nodes.items()
    ]
    sources, targets = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for _, source, target in edges:
        sources[target].append(source)
        targets[source].append(target)
    for entity in entities:
        if entity["type"] in _OPERATIONS:
            entity["inputs"] = _tables(nodes, sources[entity["identity"]])
            entity["outputs"] = _tables(nodes, targets[entity["identity"]])
    relations = [{"type": kind, **typed_sides(kind, [source], [target])} for kind, source, target in edges]
    cut = _cut_at(answers)
    return {"entities": entities, "relations": relations, **({"truncatedAt": cut} if cut else {})}


def _cut_at(answers: Iterable[answer.Lineage]) -> list[str]:
    """Return the ids of the nodes at which the lineage was cut off, not counting those at the requested depth."""
    cuts = (
        cut for walked in answers for cut in walked.truncated_at if cut.reason is not answer.CutReason.DEPTH
    )
    return list(dict.fromkeys(cut.id for cut in cuts))


def _tables(nodes: dict[str, answer.Node], ids: Iterable[str]) -> list[str]:
    """Return the names of tables in the form that Hue compares: without database, in capitals."""
    names = (nodes[each].name.rpartition(".")[2].upper() for each in ids if nodes[each].type in TABLE_TYPES)
    return list(dict.fromkeys(names))


def _named_only(node: answer.Node) -> dict[str, Any]:
    own = {"identity": node.id, "type": node.type, "originalName": node.name.rpartition(".")[2]}
    return {**entity_json(own), "sourceType": source_type_shown(node.source_type), "sourceId": node.source_id}


def _export(request: ApiRequest) -> Iterator[bytes]:
    given: ExportParameters = request.parameters
    if len(given.ids) > MOST_STARTS:
        raise HttpError(400, f"an export may start at {MOST_STARTS} entities at most")
    depth = given.length if given.length > 0 else None
    upstream = given.direction is ExportDirection.UPSTREAM
    options = WalkOptions(
        answer.Direction(given.direction.lower()),
        depth,
        operations=True,
        control_flow=True,
        max_nodes=EXPORTED_NODES,
    )
    # Errors must occur before the first piece, after which the status cannot change.
    if unknown := set(given.ids) - Graph(request.solr).present(given.ids):
        raise HttpError(404, f"nothing in the index has the id {', '.join(sorted(unknown)[:10])}")
    head = b"["
    for listed in _listed(request.solr, list(dict.fromkeys(given.ids)), options, upstream=upstream):
        yield head + orjson.dumps(listed.to_json())
        head = b","
    yield b"]" if head == b"," else b"[]"


@dataclass(slots=True)
class _Listed:
    """A node of an export. ``children`` maps relation types to the ids of the children, each once."""

    id: str
    children: dict[str, dict[str, None]] = field(default_factory=dict)
    truncated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return ``id`` and ``children``, and ``truncated`` if the node has more children."""
        about = {"id": self.id, "children": {kind: list(ids) for kind, ids in self.children.items()}}
        return {**about, **({"truncated": True} if self.truncated else {})}


def _listed(solr: Solr, starts: list[str], options: WalkOptions, *, upstream: bool) -> Iterator[_Listed]:
    """Yield the nodes of all walks, each once, as soon as a walk has found all its children. A node must wait if it is
    at the end of every walk so far, or if a later walk starts from it, because that walk may add children."""
    later, sent, waiting = dict.fromkeys(starts), set[str](), dict[str, _Listed]()
    for walked in (lineage(solr, start, options) for start in starts):
        later.pop(walked.start, None)
        children: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for edge in walked.edges:
            near, far = (edge.target, edge.source) if upstream else (edge.source, edge.target)
            children[near].append((str(edge.type), far))
        ended, cut = {each.id for each in walked.truncated_at}, set(_cut_at([walked]))
        for node in walked.nodes:
            if node.id in sent:
                continue
            listed = waiting.setdefault(node.id, _Listed(node.id))
            for kind, far in children.get(node.id, ()):
                listed.children.setdefault(kind, {})[far] = None
            listed.truncated |= node.id in cut
            if node.id not in ended and node.id not in later:
                listed.truncated = False
                sent.add(node.id)
                yield waiting.pop(node.id)
    yield from waiting.values()


COLUMNS = Endpoint(
    "GET",
    "/lineage",
    Role.LINEAGE_VIEWER,
    "Get the lineage around entities, with its relations.",
    Parameters,
    _columns,
    lenient=True,
    walks=True,
)
EXPORT = Endpoint(
    "POST",
    "/lineage3/export",
    Role.LINEAGE_VIEWER,
    "Export the upstream or downstream of entities, as lists of children.",
    ExportParameters,
    _export,
    lenient=True,
    most_bytes=QUERY_BYTES,
    walks=True,
)
