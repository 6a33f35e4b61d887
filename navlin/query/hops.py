"""One hop of a walk: relations by the ids of one of their ends, and the entities at the other.

Ids go to Solr in batches of a thousand, as ``{!terms}``, which is right on any number of shards. A node with very many
relations does not crowd out its neighbours: past a page, the heavy ones are found by a facet and asked for one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from navlin.index.fields import ELEMENTS, RELATIONS
from navlin.index.solr import Solr

IDS_A_BATCH: Final = 1_000
ROWS_A_BATCH: Final = 10_000
CLAUSES_A_REQUEST: Final = 200
ROWS_A_HOP: Final = 50_000
"""How many relations a batch of ids may bring in all: what is past it is cut, and said so."""

_RELATION_FIELDS: Final = (
    "identity,type,endpoint1Ids,endpoint2Ids,endpoint1Type,endpoint2Type,endpoint1SourceType,endpoint2SourceType,"
    "endpoint1SourceId,endpoint2SourceId,endpoint1Name,endpoint2Name,unlinked,inferred,incomplete,parsed,writer,rule"
)
ENTITY_FIELDS: Final = (
    "identity,type,sourceType,sourceId,originalName,parentPath,fileSystemPath,firstClassParentId,deleted"
    ",granted,partitionColNames"
)
PATH_TYPES: Final = frozenset({"FILE", "DIRECTORY", "S3BUCKET"})


@dataclass(frozen=True, slots=True)
class Thing:
    """An entity as a walk knows it: from its own document, or from what a relation says of its end."""

    id: str
    name: str
    type: str
    source_type: str = ""
    source_id: str = ""
    deleted: bool = False
    placeholder: bool = False
    granted: bool = False
    parent: str = ""
    partitioned: bool = False
    own_name: str = ""
    """Its originalName; empty where only a relation tells of it."""

    @property
    def physical(self) -> bool:
        """Whether it is a path, or a column of the data at a path: what may stand for a table, or a table's column."""
        return self.type in PATH_TYPES or (self.type == "FIELD" and self.name.startswith("/"))


@dataclass(frozen=True, slots=True)
class Arc:
    """A relation between two things."""

    type: str
    ep1: Thing
    ep2: Thing
    unlinked: bool = False
    inferred: bool = False
    incomplete: bool = False
    parsed: bool = False
    first_hand: bool = True
    """Stated by the source that owns endpoint 1, or found out by the linker; else it is somebody's hint."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes two statements the same edge, whichever source makes them."""
        return (self.type, self.ep1.id, self.ep2.id)

    def end(self, side: int) -> Thing:
        """Endpoint 1 or 2."""
        return self.ep1 if side == 1 else self.ep2

    def merged(self, other: Arc) -> Arc:
        """The same edge, stated twice: certain and linked if either says so, incomplete if either is."""
        return replace(
            self,
            unlinked=self.unlinked and other.unlinked,
            inferred=self.inferred and other.inferred,
            incomplete=self.incomplete or other.incomplete,
            parsed=self.parsed and other.parsed,
            first_hand=self.first_hand or other.first_hand,
        )


@dataclass(frozen=True, slots=True)
class Fetched:
    """The relations of some ids, by id, and the ids that have more than were fetched."""

    arcs: Mapping[str, Sequence[Arc]]
    cut: frozenset[str] = frozenset()


@dataclass(slots=True)
class Hops:
    """Asks Solr; remembers nothing."""

    solr: Solr

    def relations(self, ids: Iterable[str], side: int, types: Sequence[str], fan_out: int) -> Fetched:
        """The live relations whose endpoint ``side`` is one of ``ids``; at most ``fan_out`` of each id."""
        found: dict[str, dict[tuple[str, str, str], Arc]] = {}
        cut: set[str] = set()
        end = f"endpoint{side}Ids"
        # What stands in a filter is kept by Solr between two hops.
        filters = [f"type:({' OR '.join(types)})", "-deleted:true"]
        for batch in _batches(list(dict.fromkeys(ids))):
            for document in self._page(batch, end, filters, fan_out, cut):
                for arc in arcs_of(document):
                    one = arc.end(side).id
                    known = found.setdefault(one, {})
                    if arc.key in known:
                        known[arc.key] = known[arc.key].merged(arc)
                    elif len(known) < fan_out:
                        known[arc.key] = arc
                    else:
                        cut.add(one)
        return Fetched({one: tuple(arcs.values()) for one, arcs in found.items()}, frozenset(cut))

    def _page(
        self, batch: list[str], end: str, filters: list[str], fan_out: int, cut: set[str]
    ) -> Iterator[dict[str, Any]]:
        params = {
            "q": f"{{!terms f={end} v=$wanted}}",
            "wanted": ",".join(batch),
            "fq": filters,
            "fl": _RELATION_FIELDS,
            "sort": "identity asc",
        }
        answer = self.solr.select(RELATIONS, {**params, "rows": ROWS_A_BATCH})
        if answer["response"]["numFound"] <= ROWS_A_BATCH:
            yield from answer["response"]["docs"]
            return
        counts = self._counts(params, end, set(batch))
        heavy = sorted(one for one, count in counts.items() if count > fan_out)
        cut.update(heavy)
        groups = [*_packed(counts, fan_out), *([one] for one in heavy)]
        spent = 0
        for group in groups:
            # A few more than the fan-out: two sources may state one edge.
            rows = min(sum(counts[one] for one in group), fan_out * 2 if group[0] in cut else ROWS_A_BATCH)
            if spent + rows > ROWS_A_HOP:
                cut.update(group)
                continue
            spent += rows
            yield from self.solr.select(RELATIONS, {**params, "wanted": ",".join(group), "rows": rows})[
                "response"
            ]["docs"]

    def _counts(self, params: Mapping[str, Any], end: str, wanted: set[str]) -> dict[str, int]:
        facets = {"facet": "true", "facet.field": end, "facet.mincount": 1, "facet.limit": -1, "rows": 0}
        flat = self.solr.select(RELATIONS, {**params, **facets})["facet_counts"]["facet_fields"][end]
        return {one: count for one, count in zip(flat[::2], flat[1::2], strict=True) if one in wanted}

    def ends_matching(
        self, clauses: Sequence[str], filters: Sequence[str], side: int, limit: int
    ) -> list[str]:
        """The ids at one side of the live relations that match any of ``clauses``, at most ``limit`` for each request."""
        found: dict[str, None] = {}
        end = f"endpoint{side}Ids"
        for start in range(0, len(clauses), CLAUSES_A_REQUEST):
            params = {
                "q": " ".join(clauses[start : start + CLAUSES_A_REQUEST]),
                "fq": [*filters, "-deleted:true"],
                "rows": 0,
                "facet": "true",
                "facet.field": end,
                "facet.mincount": 1,
                "facet.limit": limit,
            }
            found.update(
                dict.fromkeys(self.solr.select(RELATIONS, params)["facet_counts"]["facet_fields"][end][::2])
            )
        return list(found)

    def with_parts(self, operations: Iterable[str]) -> set[str]:
        """Those of these operations that have sub-operations."""
        found: set[str] = set()
        for batch in _batches(list(operations)):
            params = {
                "q": "{!terms f=firstClassParentId v=$wanted}",
                "wanted": ",".join(batch),
                "fq": ["type:SUB_OPERATION", "-deleted:true"],
                "rows": 0,
                "facet": "true",
                "facet.field": "firstClassParentId",
                "facet.mincount": 1,
                "facet.limit": -1,
            }
            answer = self.solr.select(ELEMENTS, params)["facet_counts"]["facet_fields"]
            found.update(answer["firstClassParentId"][::2])
        return found

    def latest(self, one: str, side: int, relation_type: str, rows: int) -> tuple[list[Arc], int]:
        """The newest relations of one id, by their source's own time, and how many there are in all."""
        params = {
            "q": f"{{!terms f=endpoint{side}Ids v=$wanted}}",
            "wanted": one,
            "fq": [f"type:{relation_type}", "-deleted:true"],
            "fl": _RELATION_FIELDS,
            "sort": "asOf desc,identity asc",
            "rows": rows,
        }
        response = self.solr.select(RELATIONS, params)["response"]
        return [arc for document in response["docs"] for arc in arcs_of(document)], int(response["numFound"])

    def entities(self, ids: Iterable[str]) -> dict[str, Thing]:
        """The entities of these ids that are indexed."""
        found: dict[str, Thing] = {}
        for batch in _batches(list(dict.fromkeys(ids))):
            params = {
                "q": "{!terms f=identity v=$wanted}",
                "wanted": ",".join(batch),
                "fl": ENTITY_FIELDS,
                "rows": len(batch),
            }
            for document in self.solr.select(ELEMENTS, params)["response"]["docs"]:
                found[document["identity"]] = thing_of(document)
        return found

    def children(
        self, parents: Iterable[str], entity_type: str, limit: int, *, deleted: bool = False
    ) -> tuple[list[Thing], bool]:
        """Entities of a type whose parent is one of these, at most ``limit``; and whether there are more. Live ones, unless
        ``deleted`` asks for the others too."""
        found: list[Thing] = []
        for batch in _batches(list(dict.fromkeys(parents))):
            params = {
                "q": "{!terms f=firstClassParentId v=$wanted}",
                "wanted": ",".join(batch),
                "fq": [f"type:{entity_type}", *([] if deleted else ["-deleted:true"])],
                "fl": ENTITY_FIELDS,
                "sort": "identity asc",
                "rows": limit - len(found),
            }
            response = self.solr.select(ELEMENTS, params)["response"]
            found.extend(thing_of(document) for document in response["docs"])
            if response["numFound"] > len(response["docs"]):
                return found, True
        return found, False


def arcs_of(document: Mapping[str, Any]) -> Iterator[Arc]:
    """A relation's document → its arcs: one, unless somebody wrote several ids to a side."""
    for ep1 in document.get("endpoint1Ids", ()):
        for ep2 in document.get("endpoint2Ids", ()):
            yield Arc(
                document["type"],
                _end(document, 1, ep1),
                _end(document, 2, ep2),
                bool(document.get("unlinked")),
                bool(document.get("inferred")),
                bool(document.get("incomplete")),
                bool(document.get("parsed")),
                "rule" in document or document.get("writer") == document.get("endpoint1SourceId"),
            )


def _end(document: Mapping[str, Any], side: int, identity: str) -> Thing:
    prefix = f"endpoint{side}"
    return Thing(
        identity,
        document.get(f"{prefix}Name", identity),
        document.get(f"{prefix}Type", ""),
        document.get(f"{prefix}SourceType", ""),
        document.get(f"{prefix}SourceId", ""),
    )


def thing_of(document: Mapping[str, Any]) -> Thing:
    """An entity's document → what a walk needs of it."""
    return Thing(
        document["identity"],
        name_of(document),
        document.get("type", ""),
        document.get("sourceType", ""),
        document.get("sourceId", ""),
        deleted=bool(document.get("deleted")),
        granted=bool(document.get("granted")),
        parent=document.get("firstClassParentId", ""),
        partitioned=bool(document.get("partitionColNames")),
        own_name=str(document.get("originalName", "")),
    )


def name_of(document: Mapping[str, Any]) -> str:
    """What a person calls an entity: ``db.table.column``, a path, ``/path.column``, an operation's own name on one line."""
    own = str(document.get("originalName", document["identity"]))
    kind = document.get("type")
    if kind in PATH_TYPES:
        return str(document.get("fileSystemPath", own))
    if kind == "FIELD" and "fileSystemPath" in document:
        return f"{document['fileSystemPath']}.{own}"
    if kind in ("OPERATION", "SUB_OPERATION", "OPERATION_EXECUTION"):
        return " ".join(own[:200].split())
    above = str(document.get("parentPath", "")).strip("/").replace("/", ".")
    return f"{above}.{own}" if above else own


def _batches(ids: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), IDS_A_BATCH):
        yield ids[start : start + IDS_A_BATCH]


def _packed(counts: Mapping[str, int], fan_out: int) -> Iterator[list[str]]:
    """The ids that have no more than ``fan_out`` relations, in groups that fit a page."""
    group: list[str] = []
    rows = 0
    for one, count in sorted(counts.items()):
        if count > fan_out:
            continue
        if group and rows + count > ROWS_A_BATCH:
            yield group
            group, rows = [], 0
        group.append(one)
        rows += count
    if group:
        yield group
