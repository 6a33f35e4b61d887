"""Which entity a person means: by its id, ``db.table``, ``db.table.column``, ``db``, a path, a URI, or an own name.

Most names become ids by the keys' own rule (`navlin.model.keys`), for every source that could have such a thing, so the
question to the index is for ids: right in any spelling, whatever the index's size. Names of Hive count in any case, paths
as they are spelled.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from navlin.index.fields import ELEMENTS
from navlin.index.solr import Solr
from navlin.model.keys import (
    Key,
    column_key,
    database_key,
    partition_key,
    path_key,
    split_location,
    table_key,
)
from navlin.model.source import HDFS, HIVE, LOCAL, S3, Source, normal_authority
from navlin.query.hops import ENTITY_FIELDS, Thing, thing_of

SUGGESTIONS: Final = 5
LOOKED_AT: Final = 200
"""How many similar names are compared for a suggestion."""
CANDIDATES: Final = 100

_FILE_SYSTEMS: Final = frozenset({HDFS, LOCAL, S3})
_OWN_NAMES: Final = (
    "type:(DATABASE OR TABLE OR VIEW OR DATASET OR OPERATION OR OPERATION_EXECUTION OR SOURCE)"
)
_WORD = re.compile(r"[^\W_]{2,}")
_WORD_CHARS: Final = 60


class UnclearName(LookupError):
    """A name that does not mean exactly one entity."""


class UnknownName(UnclearName):
    """A name that nothing in the index bears; ``suggestions`` are the nearest, best first."""

    def __init__(self, name: str, suggestions: Sequence[Thing]) -> None:
        super().__init__(name, suggestions)
        self.name, self.suggestions = name, tuple(suggestions)

    def __str__(self) -> str:
        if not self.suggestions:
            return f"nothing is called {self.name}"
        near = ", ".join(thing.name for thing in self.suggestions)
        return f"nothing is called {self.name}; near to it: {near}"


class AmbiguousName(UnclearName):
    """A name that several entities bear: each of ``candidates`` can be named by its id."""

    def __init__(self, name: str, candidates: Sequence[Thing]) -> None:
        super().__init__(name, candidates)
        self.name, self.candidates = name, tuple(candidates)

    def __str__(self) -> str:
        which = "; ".join(describe(thing) for thing in self.candidates)
        return f"{self.name} may be any of {len(self.candidates)}: {which}"


def describe(thing: Thing) -> str:
    """One line that tells an entity from others of its name."""
    deleted = ", deleted" if thing.deleted else ""
    return f"{thing.type} {thing.name} of {thing.source_type}{deleted}, id {thing.id}"


def entity_named(solr: Solr, name: str) -> Thing:
    """The one entity that ``name`` means. Raises `UnknownName`, `AmbiguousName`."""
    candidates = candidates_for(solr, name)
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise AmbiguousName(name, candidates)
    raise UnknownName(name, suggestions_for(solr, name))


def candidates_for(solr: Solr, name: str) -> list[Thing]:
    """All entities that ``name`` may mean, deleted ones too. An id goes before a path, a path before other names."""
    name = name.strip()
    if not name:
        return []
    sources = _sources(solr)
    keys = _keys_of_path(name, sources) if _is_path(name) else _keys_of_name(name, sources)
    found = _entities(solr, [name, name.lower(), *(key.identity for key in keys)])
    exact = [found[each] for each in (name, name.lower()) if each in found]
    if exact:
        return exact[:1]
    if found:
        return list(found.values())
    return _of_path(solr, name) if _is_path(name) else _of_own_name(solr, name)


# -- From a name to keys ---------------------------------------------------------------------------------------------------


def _sources(solr: Solr) -> list[Source]:
    documents = solr.cursor(ELEMENTS, "type:SOURCE", "identity,sourceType,originalName,clusterName,serves")
    return [
        Source(
            document["identity"],
            document["sourceType"],
            document.get("originalName", ""),
            document.get("clusterName", ""),
            tuple(document.get("serves", ())),
        )
        for document in documents
    ]


def _is_path(name: str) -> bool:
    return name.startswith("/") or re.match(r"[A-Za-z][\w+.-]*:/", name) is not None


def _keys_of_path(name: str, sources: Iterable[Source]) -> Iterator[Key]:
    source_type, authority, path = split_location(name)
    for source in sources:
        served = {normal_authority(each) for each in source.serves}
        if name.startswith("/"):
            # Without a scheme it may be of any file system, or a place in a metastore, as Navigator writes parentPath.
            if source.type == HIVE:
                yield from _hive_keys(source, [part for part in name.split("/") if part])
            elif source.type in _FILE_SYSTEMS or any("://" in each for each in served):
                yield path_key(source, path)
        elif source.type == source_type and (not authority or normal_authority(authority) in served):
            yield path_key(source, path)


def _keys_of_name(name: str, sources: Iterable[Source]) -> Iterator[Key]:
    parts = _parts(name)
    for source in sources:
        if source.type == HIVE:
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


def _parts(name: str) -> list[str]:
    """``db.table.column`` at its dots; what stands between backticks or quotation marks stays whole."""
    return [quoted or plain for quoted, plain in re.findall(r"[`\"]([^`\"]*)[`\"]|([^.`\"]+)", name)]


# -- From the index --------------------------------------------------------------------------------------------------------


def _entities(solr: Solr, ids: Iterable[str]) -> dict[str, Thing]:
    wanted = list(dict.fromkeys(ids))
    params = {
        "q": "{!terms f=identity v=$wanted separator='\t'}",
        "wanted": "\t".join(wanted),
        "fl": ENTITY_FIELDS,
    }
    documents = solr.select(ELEMENTS, {**params, "rows": len(wanted), "sort": "identity asc"})["response"][
        "docs"
    ]
    return {document["identity"]: thing_of(document) for document in documents}


def _of_path(solr: Solr, name: str) -> list[Thing]:
    """Files and directories whose source does not say which authorities it serves."""
    path = split_location(name)[2]
    return _search(solr, f'fileSystemPath:"{_escaped(path)}"', "type:(FILE OR DIRECTORY OR S3BUCKET)")


def _of_own_name(solr: Solr, name: str) -> list[Thing]:
    """Things by the name alone: an application, a query, a source, a table whose database was left out."""
    found = _search(solr, f'originalName:"{_escaped(name)}"', _OWN_NAMES)
    return [thing for thing in found if _own(thing).casefold() == name.casefold()]


def _own(thing: Thing) -> str:
    return thing.name.rpartition(".")[2] if thing.type in ("TABLE", "VIEW") else thing.name


def _search(solr: Solr, query: str, *filters: str, rows: int = CANDIDATES) -> list[Thing]:
    params: Mapping[str, Any] = {
        "q": query,
        "fq": filters,
        "fl": ENTITY_FIELDS,
        "rows": rows,
        "sort": "score desc,identity asc",
    }
    return [thing_of(document) for document in solr.select(ELEMENTS, params)["response"]["docs"]]


def suggestions_for(solr: Solr, name: str) -> list[Thing]:
    """The entities whose names are nearest to a name that nothing bears."""
    asked = split_location(name)[2] if _is_path(name) else ".".join(_parts(name))
    last = re.split(r"[./]", asked.rstrip("./"))[-1][:_WORD_CHARS]
    words = _WORD.findall(last)[:5]
    if not words:
        return []
    kinds = "type:(FILE OR DIRECTORY)" if _is_path(name) else "type:(DATABASE OR TABLE OR VIEW OR FIELD)"
    similar = [f"originalName:{_escaped(last)}~2", *(f"originalName:{word}~1" for word in words)]
    similar.append(f"originalName:*{_escaped(max(words, key=len))}*")
    found = _search(solr, " OR ".join(similar), kinds, "-deleted:true", rows=LOOKED_AT)
    by_name = {thing.name: thing for thing in found}
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


def _escaped(text: str) -> str:
    return re.sub(r'([+\-!(){}\[\]^"~*?:\\/&|\s])', r"\\\1", text)
