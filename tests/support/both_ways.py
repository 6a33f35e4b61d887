"""Questions that read much of the graph, asked of the index alone and of the memory of a process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from navlin.index.graph.entity import ANNOTATED
from navlin.index.graph.graph import Graph
from navlin.index.graph.remembered import answered
from navlin.index.solr.solr import Solr
from navlin.query.answer import Lineage
from navlin.query.closure import Stops
from navlin.query.column_flows import expressions_of
from navlin.query.evidence import evidence_options, upstream_evidence
from navlin.query.impact import impact_of, impact_options
from navlin.query.inherited import Origin, TagOrProperty, inherited, inherited_from
from navlin.query.lineage import UnknownEntity, lineage, lineage_of
from navlin.query.options import WalkOptions

LONG_S = 3_600
QUESTIONS = ("lineage", "impact", "evidence", "inherited", "expressions")


def question(name: str, start: str, options: WalkOptions) -> Callable[[Graph], Any]:
    """Return a question about the entity ``start``. Of the options, each question uses those that it has."""
    most = options.max_nodes

    def of_tag(graph: Graph) -> Origin:
        origin = graph.entities_of([start], ANNOTATED).get(start)
        if origin is None:
            raise UnknownEntity(start)
        word = TagOrProperty("anything")
        return inherited_from(
            graph, word, origin, frozenset(options.stops), control_flow=options.control_flow
        )

    def of_columns(graph: Graph) -> Any:
        near = replace(options, depth=1, control_flow=True)
        return expressions_of(graph, lineage_of(graph, start, near))

    return {
        "lineage": lambda graph: lineage_of(graph, start, options),
        "impact": lambda graph: impact_of(graph, start, impact_options(most, LONG_S)),
        "evidence": lambda graph: upstream_evidence(graph, start, evidence_options(most, LONG_S)),
        "inherited": of_tag,
        "expressions": of_columns,
    }[name]


def asked_both_ways(solr: Solr, start: str, options: WalkOptions) -> Lineage:
    """Return the lineage. Fail unless the index alone, a first answer and an answer from memory are the same."""
    answer = lineage(solr, start, options)
    assert lineage(solr, start, options) == answer
    assert lineage_of(Graph(solr), start, options) == answer
    return answer


def both_ways(solr: Solr, ask: Callable[[Graph], Any]) -> tuple[Any, Any]:
    """Return the answers from memory and from the index alone; for an unknown entity, the class of the error."""
    return _outcome(lambda: answered(solr, ask)), _outcome(lambda: ask(Graph(solr)))


def inherited_both_ways(solr: Solr, tag: str) -> tuple[list[Origin], list[Origin]]:
    """Return who inherits a tag, from memory and from the index alone."""
    word = TagOrProperty(tag)
    from_memory = list(inherited(solr, word))
    stops, origins = Stops.read(solr).of(tag), {each.entity.id for each in from_memory}

    def alone() -> Iterator[Origin]:
        for each in from_memory:
            whole = inherited_from(Graph(solr), word, each.entity, stops)
            yield replace(
                whole, inherited=tuple(one for one in whole.inherited if one.node.id not in origins)
            )

    return from_memory, list(alone())


def _outcome(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except UnknownEntity:
        return UnknownEntity
