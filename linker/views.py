"""Convert a view's text to relations. They lead from the tables that the text reads to the view and, if the index
knows the columns, from the source columns to each column of the view.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from navlin.index.graph.entity import COLUMN, TABLE_TYPES, StoredEntity
from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import Graph, end_of
from navlin.index.graph.relation import LINKER_TREE, End, StoredRelation
from navlin.index.schema.fields import CUT_NOTE
from navlin.model.batches import in_batches
from navlin.model.identity import identify
from navlin.model.keys import EntityType, RelationType
from navlin.sql.bounded import SqlReader
from navlin.sql.reading import (
    METASTORES,
    MadeColumn,
    Name,
    ParsedStatement,
    ReadText,
    SourceColumn,
    TextToRead,
)

RULE: Final = "resolve_views"
TABLES_A_QUERY: Final = 1_000
PAIRS_OF_A_VIEW: Final = 5_000
"""Maximum product of the number of columns that only decide which rows exist and the number of the view's columns.
Beyond it, the linker records only tables for the deciding columns, and marks the view incomplete.
"""


@dataclass(slots=True)
class Tables:
    """Data from the index on some tables and views: id → entity, and the columns in order."""

    entities: dict[str, StoredEntity] = field(default_factory=dict)
    columns: dict[str, dict[str, StoredEntity]] = field(default_factory=dict)
    """Table id → lower-case column name → column. A placeholder table has no entry, because only the columns that were
    used are known.
    """


UNKNOWN_COLUMNS: Final = "the columns of a table that it reads are not in the index"
ELSEWHERE: Final = "it reads files, or a table of another catalog"
UNCERTAIN: Final = "a name in it may mean more than one column, or none"
OTHER_COLUMNS: Final = "it makes other columns than the view has"
TOO_MANY: Final = "too many columns decide which rows there are"


@dataclass(frozen=True, slots=True)
class ViewLineage:
    """Relation id → the linker's relation to one view. ``reason`` explains why relations are missing; "" if none are."""

    relations: dict[str, StoredRelation] = field(default_factory=dict)
    reason: str = ""


def tree_path_of(view_id: str) -> str:
    """Return the tree path that all the linker's relations to a view share."""
    return f"{LINKER_TREE}/{view_id}"


def view_id_in(relation: StoredRelation) -> str:
    """Return the id of the view to which a relation of this rule leads."""
    return relation.tree_path.rpartition("/")[2]


def lineage_of(graph: Graph, reader: SqlReader, views: Iterable[StoredEntity]) -> dict[str, ViewLineage]:
    """Return view id → lineage of views that no engine recorded.

    Each text is parsed twice: first to find the tables, then again with the columns that the index has for these
    tables.
    """
    lineage: dict[str, ViewLineage] = {}
    named: dict[str, tuple[StoredEntity, dict[str, Name]]] = {}
    for view in views:
        if not view.text:
            lineage[view.id] = ViewLineage()
            continue
        answer = _read(reader, view, {})
        if reason := _reason(view, answer):
            lineage[view.id] = ViewLineage(reason=reason)
        else:
            (made,) = answer.made
            names = (*(table.name for table in made.tables), *made.maybe_nested)
            named[view.id] = view, {_table_id(view, name): name for name in names}
    known = load_tables(
        graph, sorted({each for one, (_, tables) in named.items() for each in (one, *tables)})
    )
    for view, tables in named.values():
        schema = {
            f"{name.database}.{name.table}".lower(): [column.own_name for column in columns.values()]
            for identity, name in tables.items()
            if (columns := known.columns.get(identity)) and not name.is_path
        }
        answer = _read(reader, view, schema)
        if reason := _reason(view, answer):
            lineage[view.id] = ViewLineage(reason=reason)
        else:
            lineage[view.id] = _Relations(view, answer.made[0], known).all()
    return lineage


def _reason(view: StoredEntity, answer: ReadText) -> str:
    """Return the reason why a view's text gives no lineage; "" if it gives lineage."""
    if view.text.endswith(CUT_NOTE):
        return "its text is longer than the index keeps"
    if answer.problem:
        return answer.problem
    return "" if [each.kind for each in answer.made] == ["SELECT"] else "it is not one query"


def load_tables(graph: Graph, ids: Iterable[str]) -> Tables:
    """Return the index's data on tables and their columns. A deleted table has the columns that were deleted with it."""
    known = Tables()
    tables = EntityFilter(types=tuple(sorted(TABLE_TYPES)))
    known.entities = {table.id: table for table in graph.entities(tables, ids=ids, fields=COLUMN)}
    own = [each for each, table in known.entities.items() if not table.placeholder]
    found: dict[str, list[StoredEntity]] = {}
    for batch in in_batches(own, TABLES_A_QUERY):
        of_tables = EntityFilter(types=("FIELD",), parents=tuple(batch))
        for column in graph.entities(of_tables, fields=COLUMN):
            table = known.entities[column.parent_id]
            # A column deleted before its table was no longer part of the table.
            if not column.deleted or (table.deleted and column.as_of_ms >= table.as_of_ms):
                found.setdefault(table.id, []).append(column)
    for table_id, columns in found.items():
        known.columns[table_id] = {each.own_name.lower(): each for each in sorted(columns, key=_position)}
    return known


def _read(reader: SqlReader, view: StoredEntity, schema: Mapping[str, Sequence[str]]) -> ReadText:
    spark = any(key.startswith(("view.", "spark.sql.")) for key in view.parameters)
    dialects = ("spark", "hive") if spark else ("hive", "spark")
    return reader.read(TextToRead(view.text, schema, _default_database(view), dialects))


def _default_database(view: StoredEntity) -> str:
    """Return the database of tables that are named without one in the text. Hive and Impala write databases into a
    view's text; Spark stores the session's database and catalog with the view.
    """
    number = str(view.parameters.get("view.catalogAndNamespace.numParts", ""))
    if number.isascii() and number.isdigit() and len(number) <= 2:
        parts = [
            str(view.parameters.get(f"view.catalogAndNamespace.part.{at}", "")) for at in range(int(number))
        ]
        if parts and all(parts) and parts[0].lower() not in METASTORES:
            # The first part is the catalog. It is the only part if the session has not chosen a database in that
            # catalog.
            return ".".join(parts if len(parts) > 1 else (*parts, "default"))
        if parts and parts[-1]:
            return parts[-1]
    return view.parameters.get("view.default.database", "") or view.parent_path.strip("/")


def _table_id(view: StoredEntity, name: Name) -> str:
    return identify(view.source_id, name.database.upper(), name.table.upper())


def _position(column: StoredEntity) -> tuple[int, str]:
    index = column.column_index
    return (1 << 30 if index is None else index, column.own_name)


class _Relations:
    def __init__(self, view: StoredEntity, made: ParsedStatement, known: Tables) -> None:
        self.view, self.made, self.known = view, made, known
        self.own = known.columns.get(view.id, {})

    def all(self) -> ViewLineage:
        """Return the flows from tables and columns. A column that is a data source of a view's column is not also its
        control source.
        """
        pairs = list(self._matched())
        shared = self.made.control
        too_many = len(shared) * len(self.own) > PAIRS_OF_A_VIEW
        reason = self._reason(pairs) or (TOO_MANY if too_many else "")
        relations = list(self._of_columns(pairs, () if too_many else shared))
        complete = not reason and len(pairs) == len(self.own) > 0
        complete = complete and not any(each.incomplete for each in relations)
        relations += self._of_tables(complete=complete)
        return ViewLineage({each.id: each for each in relations}, reason)

    def _reason(self, pairs: Collection[tuple[StoredEntity, MadeColumn]]) -> str:
        """Return the reason why the view's lineage is incomplete; "" if it is complete."""
        names = [each.name for each in self.made.tables]
        sources = (*self.made.control, *chain(*((*made.data, *made.control) for _, made in pairs)))
        if any(name.is_path or "." in name.database for name in names):
            return ELSEWHERE
        if not self.made.whole or not all(source.known for source in sources):
            unknown = any(_table_id(self.view, name) not in self.known.columns for name in names)
            return UNKNOWN_COLUMNS if unknown else UNCERTAIN
        if self.own and len(pairs) < len(self.own):
            return OTHER_COLUMNS
        return "" if self.made.complete else UNCERTAIN

    def _of_columns(
        self, pairs: Iterable[tuple[StoredEntity, MadeColumn]], shared: Iterable[SourceColumn]
    ) -> Iterator[StoredRelation]:
        for column, made in pairs:
            data = {source.id: source for source in self._sources(made.data)}
            control = {source.id: source for source in self._sources(chain(made.control, shared))}
            missing = not made.complete or len(data) < len(set(made.data))
            for source in data.values():
                yield self._flow(RelationType.DATA_FLOW, end_of(source), end_of(column), incomplete=missing)
            for identity, source in control.items():
                if identity not in data:
                    yield self._flow(RelationType.CONTROL_FLOW, end_of(source), end_of(column))

    def _of_tables(self, *, complete: bool) -> Iterator[StoredRelation]:
        for table in self.made.tables:
            identity = _table_id(self.view, table.name)
            if table.name.is_path or "." in table.name.database or identity == self.view.id:
                continue
            kind = RelationType.CONTROL_FLOW if table.control else RelationType.DATA_FLOW
            end = self._table_end(identity, table.name)
            yield self._flow(kind, end, end_of(self.view), incomplete=not complete)

    def _matched(self) -> Iterator[tuple[StoredEntity, MadeColumn]]:
        """Yield (column of the view, corresponding column of the text). Columns are matched by position or by the
        output names that Spark stores, because Spark's views stay valid when the tables that they read change.
        """
        outputs = {each.output.lower(): each for each in self.made.columns}
        count, parameters = len(self.own), self.view.parameters
        names = [str(parameters.get(f"view.query.out.col.{at}", "")).lower() for at in range(count)]
        if all(names) and "" not in outputs and len(outputs) == len(self.made.columns):
            yield from (
                (column, outputs[name])
                for column, name in zip(self.own.values(), names, strict=True)
                if name in outputs
            )
        elif self.made.whole and len(self.made.columns) == count:
            # An expression has no name in the text, but has one in the view, given by the engine.
            spelled = (each.output.lower() for each in self.made.columns)
            if not all(names) or all(out in ("", name) for out, name in zip(spelled, names, strict=True)):
                yield from zip(self.own.values(), self.made.columns, strict=True)

    def _sources(self, sources: Iterable[SourceColumn]) -> Iterator[StoredEntity]:
        for source in sources:
            identity = _table_id(self.view, source.table)
            table = self.known.columns.get(identity, {})
            if source.column.lower() in table and identity != self.view.id:
                yield table[source.column.lower()]

    def _table_end(self, identity: str, name: Name) -> End:
        known = self.known.entities.get(identity)
        if known is not None:
            return end_of(known)
        return End(identity, str(name), EntityType.TABLE, self.view.source_type, self.view.source_id)

    def _flow(self, kind: RelationType, ep1: End, ep2: End, *, incomplete: bool = False) -> StoredRelation:
        tree_path = tree_path_of(self.view.id)
        return StoredRelation.by_rule(RULE, kind, ep1, ep2, tree_path, incomplete=incomplete, parsed=True)
