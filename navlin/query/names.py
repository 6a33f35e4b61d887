"""Resolving a name to an entity: an id, ``db.table``, ``db.table.column``, ``db``, a path, a URI, or an entity's own
name.

Most names are converted to ids by the rule for keys (`navlin.model.keys`), for every source that could have such an
entity. The index is then queried by id, so the spelling and the size of the index do not matter. Hive names are
case-insensitive, paths case-sensitive.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from navlin.index.graph.entity import TABLE_TYPES, StoredEntity
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.sources import KnownSource, known_sources
from navlin.index.solr.solr import Solr
from navlin.model.keys import (
    Key,
    column_key,
    database_key,
    partition_key,
    path_column_id,
    path_key,
    split_location,
    table_key,
)
from navlin.model.refusal import Refusal
from navlin.model.source import HDFS, HIVE, LOCAL, S3, Source, normal_authority

SUGGESTIONS: Final = 5
LOOKED_AT: Final = 200
"""Maximum number of similar names compared for a suggestion."""
CANDIDATES: Final = 100
COLUMNS_LOOKED_AT: Final = 1_000
"""Maximum number of columns of one name that are compared if more than `CANDIDATES` tables may have a table's name."""
DOTS: Final = 4
"""Maximum number of dots, counted from the end of a name, that are tried as the separator between a parent and its
column."""

_FILE_SYSTEMS: Final = frozenset({HDFS, LOCAL, S3})
_NAMED: Final = EntityFilter(
    ("DATABASE", "TABLE", "VIEW", "DATASET", "OPERATION", "OPERATION_EXECUTION", "SOURCE")
)
_PATHS: Final = EntityFilter(("FILE", "DIRECTORY", "S3BUCKET"))
_WITH_COLUMNS: Final = EntityFilter(("TABLE", "VIEW", "DATASET"))
_COLUMNS: Final = EntityFilter(("FIELD",))
_LIVE_PATHS: Final = EntityFilter(("FILE", "DIRECTORY", "S3BUCKET"), deleted=False)
_LIVE_DATA: Final = EntityFilter(("DATABASE", "TABLE", "VIEW", "FIELD"), deleted=False)
_WORD = re.compile(r"[^\W_]{2,}")
_WORD_CHARS: Final = 60
_ID: Final = re.compile(r"[0-9a-f]{32}")


class UnknownName(Refusal):
    """No entity in the index has this name. ``suggestions`` are the entities with the nearest names, best first."""

    status = 404

    def __init__(self, name: str, suggestions: Sequence[StoredEntity]) -> None:
        near = ", ".join(each.name for each in suggestions)
        super().__init__(f'no entity named "{name}"' + (f"; did you mean {near}?" if near else ""))
        self.suggestions, self.more = tuple(suggestions), {"suggestions": list(map(_shown, suggestions))}


class AmbiguousName(Refusal):
    """Several entities have this name. ``candidates`` are these entities; each can be named by its id. With ``more``,
    further columns may have the name."""

    status = 409

    def __init__(self, name: str, candidates: Sequence[StoredEntity], *, more: bool = False) -> None:
        among = f"any of {len(candidates)} entities"
        if more:
            among = "a column of any of very many tables"
        short = more or all(each.name.casefold() != name.casefold() for each in candidates)
        how = f"write its database, as in {_example(name, candidates)}, or " if short else ""
        super().__init__(f"{name} may be {among}: {how}give its id")
        self.candidates, self.more = tuple(candidates), {"candidates": list(map(_shown, candidates))}


def _example(name: str, candidates: Sequence[StoredEntity]) -> str:
    return candidates[0].name if candidates else f"database.{name}"


def _shown(entity: StoredEntity) -> dict[str, Any]:
    return {
        "id": entity.id,
        "name": entity.name,
        "type": entity.type,
        "sourceType": entity.source_type,
        "deleted": entity.deleted,
    }


def entity_named(solr: Solr, name: str) -> StoredEntity:
    """Return the one entity that ``name`` means. Raises `UnknownName`, `AmbiguousName`."""
    candidates, more = candidates_for(solr, name)
    if more or len(candidates) > 1:
        raise AmbiguousName(name, candidates, more=more)
    if candidates:
        return candidates[0]
    raise UnknownName(name, suggestions_for(solr, name))


def walked_id(solr: Solr, name: str, *, unlinked: bool) -> str:
    """Return the id of the one entity that ``name`` means. With ``unlinked``, ``name`` may also be an id that only
    relations contain. Raises the same errors as `entity_named`."""
    if unlinked and _ID.fullmatch(name) and Graph(solr).ends_among([name], RelationFilter(deleted=False)):
        return name
    return entity_named(solr, name).id


class Candidates(NamedTuple):
    """Entities that a name may mean. With ``more``, so many tables have the name's first part that further columns may
    be meant."""

    found: list[StoredEntity]
    more: bool = False


def candidates_for(solr: Solr, name: str) -> Candidates:
    """Return all entities that ``name`` may mean, including deleted ones. Ids take precedence over paths, and paths
    over other names. Blanks around a name belong to it if an entity has that name."""
    called = Candidates([])
    for spelled in dict.fromkeys((name, name.strip())):
        if spelled.strip() and any(called := _called(solr, spelled)):
            break
    return called


def _called(solr: Solr, name: str) -> Candidates:
    graph = Graph(solr)
    ids = ids_of(sources_of(solr), name)
    found = {entity.id: entity for entity in graph.entities(ids=ids)}
    exact = [found[each] for each in (name, name.lower()) if each in found]
    if exact:
        return Candidates(exact[:1])
    if found:
        return Candidates(list(found.values()))
    if is_path(name):
        # Search by path, because a source may not say which authorities it serves.
        at = graph.entities_at(split_location(name)[2], _PATHS, CANDIDATES)
        return Candidates(at) if at else columns_called(graph, name)
    # Search by the own name only: an application, a query, a source, a table without its database.
    called = graph.entities_called(name, _NAMED, CANDIDATES)
    own = [entity for entity in called if _own(entity).casefold() == name.casefold()]
    return Candidates(own) if own else columns_called(graph, name)


def _own(entity: StoredEntity) -> str:
    return entity.name.rpartition(".")[2] if entity.type in TABLE_TYPES else entity.name


# -- From a name to keys ---------------------------------------------------------------------------------------------------


def sources_of(solr: Solr) -> list[Source]:
    return _as_sources(known_sources(solr))


def _as_sources(known: Iterable[KnownSource]) -> list[Source]:
    return [Source(each.id, each.type, each.name, each.cluster, each.serves) for each in known]


def walk_start(graph: Graph, name: str, *, unlinked: bool) -> str:
    """Return the same id as `walked_id`, or raise the same errors. Names that the rule for keys converts to one id are
    looked up in ``graph``, which may remember them; all others are searched for."""
    found = graph.entities_of(ids_of(_as_sources(graph.sources()), name))
    if len(found) == 1 and name.strip():
        return next(iter(found))
    return walked_id(graph.solr, name, unlinked=unlinked)


def ids_of(sources: Sequence[Source], name: str) -> list[str]:
    """Return the ids that a name may mean by the rule for keys, whether or not the index has them. The name itself
    comes first, because it may be an id."""
    ids = list(dict.fromkeys((name, name.lower())))
    keys = _keys_of_path(name, sources) if is_path(name) else _keys_of_name(name, sources)
    for key in keys:
        ids.append(key.identity)
    return list(dict.fromkeys(ids))


def is_path(name: str) -> bool:
    """Whether the name is a path or a URI."""
    return name.startswith("/") or re.match(r"[A-Za-z][\w+.-]*:/", name) is not None


def _keys_of_path(name: str, sources: Iterable[Source]) -> Iterator[Key]:
    source_type, authority, path = split_location(name)
    for source in sources:
        served = {normal_authority(each) for each in source.serves}
        if name.startswith("/"):
            # Without a scheme, the path may belong to any file system, or be a place in a metastore, as Navigator
            # writes parentPath.
            if source.type == HIVE:
                yield from _hive_keys(source, [part for part in name.split("/") if part])
            elif source.type in _FILE_SYSTEMS or any("://" in each for each in served):
                yield path_key(source, path)
        elif source.type == source_type and (not authority or normal_authority(authority) in served):
            yield path_key(source, path)


def _keys_of_name(name: str, sources: Iterable[Source]) -> Iterator[Key]:
    # A quotation mark may be SQL syntax, or a character of the name.
    readings = {tuple(parts_of(name)), tuple(name.split("."))}
    for source in sources:
        if source.type == HIVE:
            for parts in sorted(readings):
                if all(parts):
                    yield from _hive_keys(source, parts)


def _hive_keys(source: Source, parts: Sequence[str]) -> Iterator[Key]:
    match parts:
        case [database]:
            yield database_key(source, database)
        case [database, table]:
            yield table_key(source, database, table)
        case [database, table, *rest]:
            yield column_key(table_key(source, database, table), ".".join(rest))
            if "=" in rest[0]:
                yield partition_key(table_key(source, database, table), ".".join(rest))


_PART = re.compile(r"(?:`([^`]+)`|\"([^\"]+)\"|([^.]+))(?:\.|$)")


def parts_of(name: str) -> list[str]:
    """Split ``db.table.column`` at its dots; text between backticks or quotation marks stays whole."""
    return [next(filter(None, found.groups()), "") for found in _PART.finditer(name)]


# -- Columns of a named parent -------------------------------------------------------------------------------------------


def columns_called(graph: Graph, name: str) -> Candidates:
    """Return the columns that ``name`` may mean, if a dot separates the table, dataset or path from the column."""
    more = False
    places = [place for place, char in enumerate(name) if char == "." and 0 < place < len(name) - 1]
    for place in reversed(places[-DOTS:]):
        called = _columns(graph, name[:place], name[place + 1 :].strip('`"'))
        if called.found:
            return called
        more = more or called.more
    return Candidates([], more)


def _columns(graph: Graph, above: str, column: str) -> Candidates:
    if is_path(above):
        paths = graph.entities_at(split_location(above)[2], _PATHS, CANDIDATES)
        return Candidates(list(graph.entities(ids=[path_column_id(each.id, column) for each in paths])))
    above = above.strip('`"')
    called = graph.entities_called(above, _WITH_COLUMNS, CANDIDATES)
    parents = [
        each.id for each in called if above.casefold() in (each.own_name.casefold(), each.name.casefold())
    ]
    columns = graph.entities(EntityFilter(("FIELD",), parents=tuple(parents))) if parents else ()
    found = {each.id: each for each in columns if each.own_name.casefold() == column.casefold()}
    if len(called) < CANDIDATES:
        return Candidates(list(found.values())[:CANDIDATES])
    # Further tables may have the name, so search by the column's name, too.
    same = graph.entities_called(column, _COLUMNS, COLUMNS_LOOKED_AT)
    ending = f".{above}.{column}".casefold()
    found |= {each.id: each for each in same if f".{each.name}".casefold().endswith(ending)}
    return Candidates(list(found.values())[:CANDIDATES], len(same) == COLUMNS_LOOKED_AT)


# -- Suggestions -------------------------------------------------------------------------------------------------------


def suggestions_for(solr: Solr, name: str) -> list[StoredEntity]:
    """Return the entities whose names are nearest to a name that no entity has."""
    asked = split_location(name)[2] if is_path(name) else ".".join(parts_of(name))
    last = re.split(r"[./]", asked.rstrip("./"))[-1][:_WORD_CHARS]
    words = _WORD.findall(last)[:5]
    if not words:
        return []
    where = _LIVE_PATHS if is_path(name) else _LIVE_DATA
    found = Graph(solr).entities_like(last, words, where, LOOKED_AT)
    by_name = {entity.name: entity for entity in found}
    lowered = {each.casefold(): each for each in by_name}
    whole = "." in asked or "/" in asked
    near: list[str] = []
    for folded in difflib.get_close_matches(asked.casefold(), lowered, n=SUGGESTIONS, cutoff=0.5):
        near.append(lowered[folded])
    if not whole or not near:
        own = {each.rpartition("." if "/" not in each else "/")[2].casefold(): each for each in by_name}
        near.extend(
            own[each] for each in difflib.get_close_matches(last.casefold(), own, n=SUGGESTIONS, cutoff=0.6)
        )
    return [by_name[each] for each in dict.fromkeys(near)][:SUGGESTIONS]
