"""What a view's text says, as relations: the tables that it reads and, where the index knows their columns, the columns
that each of its own is made of."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

from linker.added import TREE_PATH, WRITER
from linker.ends import IDS_A_QUERY
from linker.linking import among, batched
from navlin.index.documents import Document
from navlin.index.fields import CUT_NOTE, ELEMENTS
from navlin.index.relation import placed
from navlin.index.solr import Solr
from navlin.model.identity import identify, relation_id
from navlin.model.keys import EntityType, RelationType
from navlin.sql.bounded import SqlReader
from navlin.sql.reading import Answer, Made, MadeColumn, Name, Question, SourceColumn

RULE: Final = "resolve_views"
PAIRS_OF_A_VIEW: Final = 5_000
"""Columns that decide which rows there are, times the view's own. Where there are more, the linker keeps to tables for
those, and says that this is incomplete."""

VIEW_FIELDS: Final = (
    "identity,sourceId,sourceType,originalName,parentPath,queryText,queryTextFull,params,unparsedReason"
)
_TABLE_FIELDS = "identity,type,originalName,parentPath,deleted,granted,asOf"
_COLUMN_FIELDS = "identity,originalName,parentPath,firstClassParentId,tp_columnIndex,deleted,asOf"


@dataclass(frozen=True, slots=True)
class View:
    """A view of a metastore, deleted or not: its lineage stays when it goes, as that of a table does."""

    id: str
    source_id: str
    source_type: str
    name: str
    database: str
    text: str
    params: Mapping[str, Any]
    unparsed_reason: str


@dataclass(slots=True)
class Tables:
    """What the index knows of some tables and views: their documents, and their columns in their order."""

    documents: dict[str, Document] = field(default_factory=dict)
    columns: dict[str, dict[str, Document]] = field(default_factory=dict)
    """By the table's identity and the column's name in lower case. Of a table that was only ever claimed there is none:
    who claims a table names the columns that matter to him."""


UNKNOWN_COLUMNS: Final = "the columns of a table that it reads are not in the index"
ELSEWHERE: Final = "it reads files, or a table of another catalog"
UNCERTAIN: Final = "a name in it may mean more than one column, or none"
OTHER_COLUMNS: Final = "it makes other columns than the view has"
TOO_MANY: Final = "too many columns decide which rows there are"


@dataclass(frozen=True, slots=True)
class Said:
    """What the linker is to say of one view: relations by identity, and why there are none, or not all."""

    relations: dict[str, Document] = field(default_factory=dict)
    reason: str = ""


def view_of(document: Document) -> View:
    """A view's document → the view. One whose text the metastore does not tell has none."""
    return View(
        document["identity"],
        document["sourceId"],
        document["sourceType"],
        _dotted(document),
        document.get("parentPath", "/").strip("/"),
        document.get("queryTextFull") or document.get("queryText", ""),
        _parameters(document.get("params", "")),
        document.get("unparsedReason", ""),
    )


def place_of(view_id: str) -> str:
    """Where the relations of a view stand, so that they are found together."""
    return f"{TREE_PATH}/{view_id}"


def said_of(solr: Solr, reader: SqlReader, views: Iterable[View]) -> dict[str, Said]:
    """What the linker is to say of views that no engine tells of, by their identity.

    Each text is read twice: for the tables that it names, and again with what the index knows of their columns.
    """
    said: dict[str, Said] = {}
    named: dict[str, tuple[View, dict[str, Name]]] = {}
    for view in views:
        answer = _read(reader, view, {})
        if not view.text:
            said[view.id] = Said()
        elif reason := _reason(view, answer):
            said[view.id] = Said(reason=reason)
        else:
            (made,) = answer.made
            names = (*(table.name for table in made.tables), *made.perhaps)
            named[view.id] = view, {_table_id(view, name): name for name in names}
    known = load_tables(solr, sorted({each for one, (_, tables) in named.items() for each in (one, *tables)}))
    for view, tables in named.values():
        schema = {
            f"{name.database}.{name.table}".lower(): [each["originalName"] for each in columns.values()]
            for identity, name in tables.items()
            if (columns := known.columns.get(identity)) and not name.is_path
        }
        answer = _read(reader, view, schema)
        if reason := _reason(view, answer):
            said[view.id] = Said(reason=reason)
        else:
            said[view.id] = _Relations(view, answer.made[0], known).all()
    return said


def _reason(view: View, answer: Answer) -> str:
    """Why a view's text tells nothing; "" where it does."""
    if view.text.endswith(CUT_NOTE):
        return "its text is longer than the index keeps"
    if answer.problem:
        return answer.problem
    return "" if [each.kind for each in answer.made] == ["SELECT"] else "it is not one query"


def load_tables(solr: Solr, ids: Iterable[str]) -> Tables:
    """What the index knows of tables and their columns. Those of a deleted table are the ones that went with it."""
    known = Tables()
    for batch in batched(ids, IDS_A_QUERY):
        filters = [among("identity", batch)]
        for document in solr.cursor(ELEMENTS, "type:(TABLE OR VIEW)", _TABLE_FIELDS, filters=filters):
            known.documents[document["identity"]] = document
    own = [each for each, document in known.documents.items() if not document.get("granted")]
    found: dict[str, list[Document]] = {}
    for batch in batched(own, IDS_A_QUERY):
        for column in solr.cursor(
            ELEMENTS, "type:FIELD", _COLUMN_FIELDS, filters=[among("firstClassParentId", batch)]
        ):
            table = known.documents[column["firstClassParentId"]]
            # A column that went before its table did was no part of it any more.
            if not column["deleted"] or (table["deleted"] and column["asOf"] >= table["asOf"]):
                found.setdefault(table["identity"], []).append(column)
    for table_id, columns in found.items():
        ordered = sorted(columns, key=_position)
        known.columns[table_id] = {each["originalName"].lower(): each for each in ordered}
    return known


def _read(reader: SqlReader, view: View, schema: Mapping[str, Sequence[str]]) -> Answer:
    spark = any(key.startswith(("view.", "spark.sql.")) for key in view.params)
    dialects = ("spark", "hive") if spark else ("hive", "spark")
    return reader.read(Question(view.text, schema, _default_database(view), dialects))


def _default_database(view: View) -> str:
    """Where a table without a database is. Hive and Impala write databases into a view's text; Spark keeps beside it what
    the session's was."""
    parts = int(view.params.get("view.catalogAndNamespace.numParts", 0))
    last = view.params.get(f"view.catalogAndNamespace.part.{parts - 1}", "")
    return last or view.params.get("view.default.database", "") or view.database


def _table_id(view: View, name: Name) -> str:
    return identify(view.source_id, name.database.upper(), name.table.upper())


def _parameters(text: str) -> Mapping[str, Any]:
    try:
        parameters = json.loads(text) if text else {}
    except ValueError:  # cut, because longer than the index keeps
        return {}
    return parameters if isinstance(parameters, dict) else {}


def _position(column: Document) -> tuple[int, str]:
    index = str(next(iter(column.get("tp_columnIndex", ())), ""))
    return (int(index) if index.isdecimal() else 1 << 30, column["originalName"])


def _dotted(document: Document) -> str:
    above = str(document.get("parentPath", "")).strip("/").replace("/", ".")
    return f"{above}.{document['originalName']}" if above else str(document["originalName"])


class _Relations:
    """The relations of one view."""

    def __init__(self, view: View, made: Made, known: Tables) -> None:
        self.view, self.made, self.known = view, made, known
        self.own = known.columns.get(view.id, {})

    def all(self) -> Said:
        """Tables and columns, each pair once: what is data to a column is not also its control."""
        pairs = list(self._matched())
        shared = self.made.control
        too_many = len(shared) * len(self.own) > PAIRS_OF_A_VIEW
        reason = self._reason(pairs) or (TOO_MANY if too_many else "")
        relations = list(self._between_columns(pairs, () if too_many else shared))
        complete = not reason and len(pairs) == len(self.own) > 0
        complete = complete and not any(each.get("incomplete") for each in relations)
        relations += self._between_tables(complete=complete)
        return Said({each["identity"]: each for each in relations}, reason)

    def _reason(self, pairs: Collection[tuple[Document, MadeColumn]]) -> str:
        """Why not all that the view is made of is known; "" where it is."""
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

    def _between_columns(
        self, pairs: Iterable[tuple[Document, MadeColumn]], shared: Iterable[SourceColumn]
    ) -> Iterator[Document]:
        for column, made in pairs:
            data = {end["identity"]: end for end in self._ends(made.data)}
            control = {end["identity"]: end for end in self._ends(chain(made.control, shared))}
            missing = not made.complete or len(data) < len(set(made.data))
            for end in data.values():
                yield self._flow(RelationType.DATA_FLOW, end, column, incomplete=missing)
            for identity, end in control.items():
                if identity not in data:
                    yield self._flow(RelationType.CONTROL_FLOW, end, column)

    def _between_tables(self, *, complete: bool) -> Iterator[Document]:
        for table in self.made.tables:
            identity = _table_id(self.view, table.name)
            if table.name.is_path or "." in table.name.database or identity == self.view.id:
                continue
            kind = RelationType.CONTROL_FLOW if table.control else RelationType.DATA_FLOW
            end = self._table_end(identity, table.name)
            yield self._flow(kind, end, self._view_end(), incomplete=not complete)

    def _matched(self) -> Iterator[tuple[Document, MadeColumn]]:
        """The view's columns, each with what its text makes it of: by position, or by the names that Spark keeps of the
        text's columns, for its views outlive a change of their tables."""
        outputs = {each.output.lower(): each for each in self.made.columns}
        count = len(self.own)
        names = [str(self.view.params.get(f"view.query.out.col.{at}", "")).lower() for at in range(count)]
        if all(names) and "" not in outputs and len(outputs) == len(self.made.columns):
            yield from (
                (column, outputs[name])
                for column, name in zip(self.own.values(), names, strict=True)
                if name in outputs
            )
        elif self.made.whole and len(self.made.columns) == count:
            # An expression has no name in the text, and the engine's in the view.
            spelled = (each.output.lower() for each in self.made.columns)
            if not all(names) or all(out in ("", name) for out, name in zip(spelled, names, strict=True)):
                yield from zip(self.own.values(), self.made.columns, strict=True)

    def _ends(self, sources: Iterable[SourceColumn]) -> Iterator[Document]:
        for source in sources:
            identity = _table_id(self.view, source.table)
            table = self.known.columns.get(identity, {})
            if source.column.lower() in table and identity != self.view.id:
                yield table[source.column.lower()]

    def _view_end(self) -> Document:
        return {"identity": self.view.id, "type": EntityType.VIEW.value, "dotted": self.view.name}

    def _table_end(self, identity: str, name: Name) -> Document:
        known = self.known.documents.get(identity)
        if known is None:
            return {"identity": identity, "type": EntityType.TABLE.value, "dotted": str(name)}
        return {"identity": identity, "type": known["type"], "dotted": _dotted(known)}

    def _flow(
        self, kind: RelationType, ep1: Document, ep2: Document, *, incomplete: bool = False
    ) -> Document:
        relation: Document = {
            "identity": relation_id(kind, ep1["identity"], ep2["identity"], WRITER),
            "type": kind.value,
            "claimedIds": sorted({ep1["identity"], ep2["identity"]}),
            "rule": RULE,
            "parsed": True,
            "deleted": False,
        }
        for side, end in ((1, ep1), (2, ep2)):
            relation[f"endpoint{side}Ids"] = [end["identity"]]
            relation[f"endpoint{side}Type"] = end.get("type", EntityType.FIELD.value)
            relation[f"endpoint{side}SourceType"] = self.view.source_type
            relation[f"endpoint{side}SourceId"] = self.view.source_id
            relation[f"endpoint{side}Name"] = end.get("dotted") or _dotted(end)
        if incomplete:
            relation["incomplete"] = True
        return placed(relation, WRITER, place_of(self.view.id))
