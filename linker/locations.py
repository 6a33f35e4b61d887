"""Where tables and partitions lie, and which of them a path lies in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from linker.added import TREE_PATH, WRITER
from linker.ends import BOTH, END_FIELDS, Side, end_id, present, relations_of
from linker.linking import among, batched
from navlin.index.documents import Document
from navlin.index.fields import RELATIONS
from navlin.index.relation import placed
from navlin.index.solr import Solr
from navlin.model.identity import identify, relation_id
from navlin.model.keys import RelationType, surely_of_table
from navlin.model.tree import ROOT, upward

RULE = "add_locations"

STATEMENTS = "+type:LOGICAL_PHYSICAL +endpoint1Type:(TABLE OR PARTITION) +endpoint2Type:(DIRECTORY OR FILE) -rule:[* TO *]"
"""What extractors say of where a table or partition lies, or lay."""
LIVE_STATEMENTS = STATEMENTS + " +deleted:false"
ADDED = f"+type:LOGICAL_PHYSICAL +rule:{RULE}"
FLOWS = "+type:(DATA_FLOW OR CONTROL_FLOW)"
PATH_FLOWS = FLOWS + " +(endpoint1Type:(DIRECTORY OR FILE) endpoint2Type:(DIRECTORY OR FILE))"
_PATH_TYPES = frozenset({"DIRECTORY", "FILE"})


@dataclass(frozen=True, slots=True)
class Path:
    """A file or directory that is an end of some relation, whether or not the index has it as an entity."""

    id: str
    path: str
    type: str
    source_id: str
    source_type: str


def path_ends(relation: Document) -> Iterator[Path]:
    """The ends of a relation that are paths.

    One whose name does not make its identity is passed over (cut, because longer than the index keeps, or not UTF-8):
    where it lies cannot be told.
    """
    for side in BOTH:
        if relation[f"endpoint{side}Type"] in _PATH_TYPES and (path := path_end(relation, side)):
            yield path


def path_end(relation: Document, side: Side) -> Path | None:
    """The path at one end of a relation, or None where its name does not make its identity."""
    source_id, name = relation[f"endpoint{side}SourceId"], relation.get(f"endpoint{side}Name", "")
    if identify(source_id, name) != end_id(relation, side):
        return None
    source_type = relation[f"endpoint{side}SourceType"]
    return Path(end_id(relation, side), name, relation[f"endpoint{side}Type"], source_id, source_type)


class Located(NamedTuple):
    """Statements on locations by the id of their directory: those of tables that are there, and of dropped ones."""

    live: dict[str, list[Document]]
    past: dict[str, list[Document]]


def locations_above(solr: Solr, paths: Iterable[Path]) -> Located:
    """What lies, or lay, at these paths and at all that contain them.

    A table's own source knows best where it lies: where that has ever said so, the hints of others (an engine that met
    the table in a query) do not count, also once the table is gone.
    """
    directories = {identify(path.source_id, up) for path in paths for up in upward(path.path)}
    stated = list(relations_of(solr, sorted(directories), LIVE_STATEMENTS, (2,)))
    spoken_for = owners_have_said(solr, {end_id(s, 1) for s in stated if not _owners(s)})
    dropped = present(solr, {end_id(s, 1) for s in stated}, "deleted:true")
    located = Located({}, {})
    for statement in stated:
        table_id = end_id(statement, 1)
        if _owners(statement) or table_id not in spoken_for:
            among_its_like = located.past if table_id in dropped else located.live
            among_its_like.setdefault(end_id(statement, 2), []).append(statement)
    return located


def owners_have_said(solr: Solr, table_ids: Iterable[str]) -> set[str]:
    """Those tables and partitions of which their own source has ever said where they lie."""
    statements = relations_of(solr, sorted(table_ids), STATEMENTS, (1,))
    return {end_id(statement, 1) for statement in statements if _owners(statement)}


def statements_on(solr: Solr, table_ids: Iterable[str]) -> Iterator[Document]:
    """What anybody says of where these tables and partitions lie."""
    return relations_of(solr, table_ids, LIVE_STATEMENTS, (1,))


def _owners(statement: Document) -> bool:
    owner: str = statement["endpoint1SourceId"]
    return bool(statement["writer"] == owner)


def wanted_relations(path: Path, located: Located) -> dict[str, Document]:
    """What the linker is to say of one path, by identity: LOGICAL_PHYSICAL from every table or partition at the longest
    location that contains it. At a location itself the extractors have said all there is to say.

    A dropped table keeps what flowed through its location until a table that is there contains it.
    """
    for locations in located:
        for location in upward(path.path):
            statements = locations.get(identify(path.source_id, location))
            if statements:
                return _from_each(statements, path, location) if location != path.path else {}
    return {}


def _from_each(statements: Iterable[Document], path: Path, location: str) -> dict[str, Document]:
    # Of several statements on one table the one with the smallest id names it: the same at every pass.
    by_table = {end_id(s, 1): s for s in sorted(statements, key=_identity, reverse=True)}
    added = (_added(statement, path, location) for statement in by_table.values())
    return {relation["identity"]: relation for relation in added}


def _identity(relation: Document) -> str:
    identity: str = relation["identity"]
    return identity


def _added(statement: Document, path: Path, location: str) -> Document:
    table_id = end_id(statement, 1)
    relation: Document = {
        "identity": relation_id(RelationType.LOGICAL_PHYSICAL, table_id, path.id, WRITER),
        "type": RelationType.LOGICAL_PHYSICAL.value,
        **{name: value for name, value in statement.items() if name.startswith("endpoint1")},
        "endpoint2Ids": [path.id],
        "endpoint2Type": path.type,
        "endpoint2SourceType": path.source_type,
        "endpoint2SourceId": path.source_id,
        "endpoint2Name": path.path,
        "claimedIds": sorted({table_id, path.id}),
        "rule": RULE,
        "deleted": False,
    }
    if not surely_of_table(location, path.path):
        relation["inferred"] = True
    return placed(relation, WRITER, TREE_PATH)


def flows_below(solr: Solr, directories: Iterable[Path]) -> Iterator[Path]:
    """The paths at and below these directories that data flows from or to; one may come more than once."""
    for batch in batched(_outermost(directories), _PREFIXES_A_QUERY):
        for source_id in {directory.source_id for directory in batch}:
            names = [directory.path for directory in batch if directory.source_id == source_id]
            for side in BOTH:
                below = " ".join(_at_or_below(f"endpoint{side}Name", name) for name in names)
                filters = [
                    among(f"endpoint{side}SourceId", [source_id]),
                    f"endpoint{side}Type:(DIRECTORY OR FILE)",
                    "deleted:false",
                ]
                for relation in solr.cursor(RELATIONS, f"{FLOWS} +({below})", END_FIELDS, filters=filters):
                    if path := path_end(relation, side):
                        yield path


_PREFIXES_A_QUERY = 200


def _outermost(directories: Iterable[Path]) -> list[Path]:
    by_place = {(directory.source_id, directory.path): directory for directory in directories}
    return [
        directory
        for (source_id, path), directory in sorted(by_place.items())
        if not any((source_id, up) in by_place for up in upward(path) if up != path)
    ]


def _at_or_below(field: str, path: str) -> str:
    if path == ROOT:
        return f"{field}:[* TO *]"
    escaped = re.sub(r"(\W)", r"\\\1", path, flags=re.ASCII)
    return f"{field}:{escaped} {field}:{escaped}\\/*"
