"""Export to SQLFlow's lineage model, as the XML of reference 1.2 or as the JSON of current releases.

    TABLE, VIEW, path …    table, view, path, with columns
    OPERATION              process
    SUB_OPERATION          relations: fdd to output columns, fdr to columns or rows that are only controlled
    its expression         a result set between its inputs and its outputs
    a query's result       a result set without outgoing relations
    an external table      path → process → table

Lineage known only for whole datasets is a flow between their PseudoRows. A document has references in both directions,
so its elements are kept on disk until the last item has been read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Final

from navlin.export.sqlflow.elements import elements_of
from navlin.export.sqlflow.json import json_of, json_process, json_relation
from navlin.export.sqlflow.model import ColumnRelation, Process, TableRelation, end_to_end, table_level
from navlin.export.sqlflow.spool import Placed, Spool
from navlin.export.sqlflow.xml import FOOT, HEAD, xml_element
from navlin.export.target import Target, register
from navlin.export.values import Item

PROCESSES: Final = "processes"
RELATIONS: Final = "relations"


@dataclass(frozen=True, slots=True)
class SqlFlowOptions:
    """Options for the level of detail."""

    result_sets: Annotated[
        bool, "Write expressions, as result sets between columns; otherwise columns are related directly."
    ] = True
    table_level: Annotated[bool, "Write relations of tables and processes instead of columns."] = False


def xml_records(items: Iterable[Item], options: SqlFlowOptions) -> Iterator[bytes]:
    """Yield an XML document with all items, piece by piece."""
    with Spool() as spool:
        _fill(spool, items, options, xml_element, xml_element)
        yield HEAD.encode()
        yield from (text.encode() for text in spool.texts(PROCESSES))
        yield from (xml_element(each.object).encode() for each in _objects(spool, options))
        yield from (text.encode() for text in spool.texts(RELATIONS))
        yield FOOT.encode()


def json_records(items: Iterable[Item], options: SqlFlowOptions) -> Iterator[bytes]:
    """Yield a JSON document with all items, piece by piece."""
    with Spool() as spool:
        _fill(spool, items, options, json_process, json_relation)
        pieces = json_of(_objects(spool, options), spool.texts(RELATIONS), spool.texts(PROCESSES))
        yield from (piece.encode() for piece in pieces)


def _fill(
    spool: Spool,
    items: Iterable[Item],
    options: SqlFlowOptions,
    process_text: Callable[[Process], str],
    relation_text: Callable[[ColumnRelation | TableRelation], str],
) -> None:
    for item in items:
        made = elements_of(item)
        if made is None:
            continue
        lineage = made.lineage
        if not options.result_sets:
            lineage = replace(lineage, relations=tuple(end_to_end(lineage)))
        relations = table_level(lineage) if options.table_level else lineage.relations
        ends = {end.parent_id for each in lineage.relations for end in (each.target, *each.sources)}
        for placed in made.placed:
            # Result sets without a remaining relation are omitted; at the table level, all result sets are.
            if not placed.object.kind.intermediate or (placed.object.id in ends and not options.table_level):
                spool.add_object(placed)
        for process in lineage.processes:
            spool.add_text(PROCESSES, process.id, process_text(process))
        for relation in relations:
            spool.add_text(RELATIONS, relation.id, relation_text(relation))


def _objects(spool: Spool, options: SqlFlowOptions) -> Iterator[Placed]:
    for each in spool.objects():
        yield each._replace(object=replace(each.object, columns=())) if options.table_level else each


register(
    Target(
        "sqlflow",
        "SQLFlow, as XML of its lineage model",
        "application/xml",
        "xml",
        SqlFlowOptions,
        xml_records,
        whole=True,
    )
)
register(
    Target(
        "sqlflow-json",
        "SQLFlow, as JSON of its current releases",
        "application/json",
        "json",
        SqlFlowOptions,
        json_records,
        whole=True,
    )
)
