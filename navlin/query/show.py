"""Everything that the index knows of one entity."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from navlin.index.fields import (
    ELEMENTS,
    LINKER_FIELDS,
    PIPELINE_FIELDS,
    RELATIONS,
    date_ms,
    is_user_field,
    solr_date,
)
from navlin.index.presented import presented, with_end_names
from navlin.index.solr import Solr
from navlin.model.keys import RelationType
from navlin.query.hops import Thing, thing_of

LISTED: Final = 10
"""How many relations of one kind, and how many executions, are listed beside their number."""
WRITERS_LOOKED_AT: Final = 1_000

_HIDDEN: Final = frozenset({"identity", "_version_", "digest", "treePath"})
_RELATION_FIELDS: Final = (
    "identity,type,endpoint1Ids,endpoint2Ids,endpoint1Type,endpoint2Type,endpoint1Name,endpoint2Name,deleted,unlinked,"
    "unlinkedReason,unlinkedSince,claimedIds,inferred,incomplete,parsed"
)
_EXECUTION_FIELDS: Final = "identity,originalName,started,ended,principal,status,engineType"


@dataclass(frozen=True, slots=True)
class FieldGroups:
    """The fields of a document by who owns them: the extractor that read it, people, the linker, navlin's own stamps.
    ``technical`` are the extractor's properties that the model does not name (``tp_``)."""

    extractor: Mapping[str, Any]
    technical: Mapping[str, Any]
    people: Mapping[str, Any]
    linker: Mapping[str, Any]
    navlin: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Related:
    """The other end of a relation."""

    id: str
    name: str
    type: str
    deleted: bool = False
    """The relation is flagged deleted."""
    unlinked: bool = False
    reason: str = ""
    since: str = ""

    def to_json(self) -> dict[str, Any]:
        """id, name, type, deleted, unlinked, reason, since."""
        return {
            "id": self.id,
            "name": self.name,
            "type": self.type,
            "deleted": self.deleted,
            "unlinked": self.unlinked,
            "reason": self.reason or None,
            "since": self.since or None,
        }


@dataclass(frozen=True, slots=True)
class RelationGroup:
    """The relations of one type at one side: ``incoming`` are those of which the entity is the second end."""

    type: str
    incoming: bool
    count: int
    """Live ones."""
    deleted: int
    listed: tuple[Related, ...]

    def to_json(self) -> dict[str, Any]:
        """type, direction (in or out), count, deleted, listed."""
        return {
            "type": self.type,
            "direction": "in" if self.incoming else "out",
            "count": self.count,
            "deleted": self.deleted,
            "listed": [related.to_json() for related in self.listed],
        }


@dataclass(frozen=True, slots=True)
class Executions:
    """The runs of an operation, or of the operations that write a table or path. ``last`` and ``last_principal`` count
    also runs that a purge has removed. ``started`` of a listed run may be absent."""

    count: int
    operations: int
    last: str
    last_principal: str
    listed: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """count, operations, last, lastPrincipal, listed (documents of executions)."""
        return {
            "count": self.count,
            "operations": self.operations,
            "last": self.last or None,
            "lastPrincipal": self.last_principal or None,
            "listed": [dict(execution) for execution in self.listed],
        }


@dataclass(frozen=True, slots=True)
class Shown:
    """One entity: its fields, its relations, its runs, and what of it is unlinked."""

    thing: Thing
    fields: FieldGroups
    relations: tuple[RelationGroup, ...]
    executions: Executions
    unlinked_count: int
    unlinked: tuple[tuple[str, Related], ...]
    """The first of them: a relation's type and its other end, with the reason."""

    def to_json(self) -> dict[str, Any]:
        """id, name, type, sourceType, deleted, fields by owner, relations, executions, unlinked."""
        groups = self.fields
        return {
            "id": self.thing.id,
            "name": self.thing.name,
            "type": self.thing.type,
            "sourceType": self.thing.source_type,
            "deleted": self.thing.deleted,
            "fields": {
                "extractor": dict(groups.extractor),
                "technical": dict(groups.technical),
                "people": dict(groups.people),
                "linker": dict(groups.linker),
                "navlin": dict(groups.navlin),
            },
            "relations": [group.to_json() for group in self.relations],
            "executions": self.executions.to_json(),
            "unlinked": {
                "count": self.unlinked_count,
                "listed": [{"relation": kind, **related.to_json()} for kind, related in self.unlinked],
            },
        }


def show(solr: Solr, entity: str) -> Shown:
    """All of the entity with the id ``entity``. Raises LookupError for one that is not in the index."""
    found = _select(solr, ELEMENTS, {"q": "{!terms f=identity v=$wanted}", "wanted": entity, "fl": "*"})
    if not found["docs"]:
        raise LookupError(f"nothing in the index has the id {entity}")
    [document] = presented(solr, ELEMENTS, found["docs"])
    thing = thing_of(document)
    unlinked_count, unlinked = _unlinked(solr, entity)
    relations = tuple(_relations(solr, entity))
    return Shown(
        thing, group_fields(document), relations, _executions(solr, thing, document), unlinked_count, unlinked
    )


def group_fields(document: Mapping[str, Any]) -> FieldGroups:
    """A document's fields by their owners; what serves the index alone is left out."""
    groups: dict[str, dict[str, Any]] = {name: {} for name in FieldGroups.__dataclass_fields__}
    for name, value in sorted(document.items()):
        if name in _HIDDEN:
            continue
        if is_user_field(name):
            owner = "people"
        elif name.startswith("tp_"):
            owner = "technical"
        elif name in LINKER_FIELDS:
            owner = "linker"
        elif name in PIPELINE_FIELDS or name in ("writer", "granted"):
            owner = "navlin"
        else:
            owner = "extractor"
        groups[owner][name] = value
    return FieldGroups(**groups)


# -- Relations -------------------------------------------------------------------------------------------------------------


def _relations(solr: Solr, entity: str) -> Iterable[RelationGroup]:
    for side, incoming in ((2, True), (1, False)):
        # What is deleted is counted apart and listed last.
        at_side = {"q": f"{{!terms f=endpoint{side}Ids v=$wanted}}", "wanted": entity}
        live, deleted = (_types(solr, at_side, state) for state in ("-deleted:true", "deleted:true"))
        for kind in sorted(live.keys() | deleted.keys()):
            listing = {**at_side, "fq": f"type:{kind}", "fl": _RELATION_FIELDS, "rows": LISTED}
            listing["sort"] = "deleted asc,asOf desc,identity asc"
            documents = with_end_names(solr, _select(solr, RELATIONS, listing)["docs"])
            listed = tuple(_related(each, 3 - side) for each in documents)
            yield RelationGroup(kind, incoming, live.get(kind, 0), deleted.get(kind, 0), listed)


def _types(solr: Solr, at_side: Mapping[str, Any], state: str) -> dict[str, int]:
    params = {**at_side, "fq": state, "rows": 0, "facet": "true", "facet.field": "type", "facet.mincount": 1}
    flat = solr.select(RELATIONS, params)["facet_counts"]["facet_fields"]["type"]
    return dict(zip(flat[::2], flat[1::2], strict=True))


def _related(document: Mapping[str, Any], side: int) -> Related:
    ids = document.get(f"endpoint{side}Ids", ("",))
    return Related(
        ids[0],
        document.get(f"endpoint{side}Name", ids[0]),
        document.get(f"endpoint{side}Type", ""),
        bool(document.get("deleted")),
        bool(document.get("unlinked")),
        document.get("unlinkedReason", ""),
        document.get("unlinkedSince", ""),
    )


def _unlinked(solr: Solr, entity: str) -> tuple[int, tuple[tuple[str, Related], ...]]:
    params = {
        # In parentheses: local parameters at the very beginning of a query would be all of it.
        "q": "({!terms f=endpoint1Ids v=$wanted}) OR ({!terms f=endpoint2Ids v=$wanted})",
        "wanted": entity,
        "fq": ["unlinked:true", "-deleted:true"],
        "fl": _RELATION_FIELDS,
        "rows": LISTED,
        "sort": "identity asc",
    }
    found = _select(solr, RELATIONS, params)
    listed = []
    for document in found["docs"]:
        side = 2 if entity in document.get("endpoint1Ids", ()) else 1
        listed.append((str(document["type"]), _related(document, side)))
    return int(found["numFound"]), tuple(listed)


# -- Executions ------------------------------------------------------------------------------------------------------------


def _executions(solr: Solr, thing: Thing, document: Mapping[str, Any]) -> Executions:
    if thing.type == "OPERATION":
        operations = [thing.id]
        purged: Sequence[Mapping[str, Any]] = [document]
    elif thing.type in ("TABLE", "VIEW", "FILE", "DIRECTORY", "DATASET"):
        operations = _writers(solr, thing.id)
        purged = _purged(solr, operations)
    else:
        return Executions(0, 0, "", "", ())
    if not operations:
        return Executions(0, 0, "", "", ())
    params = {
        "q": "{!terms f=endpoint1Ids v=$wanted}",
        "wanted": ",".join(operations),
        "fq": [f"type:{RelationType.INSTANCE_OF}", "-deleted:true"],
        "fl": "endpoint2Ids",
        "rows": LISTED,
        "sort": "asOf desc,identity asc",
    }
    found = _select(solr, RELATIONS, params)
    ids = [each for relation in found["docs"] for each in relation["endpoint2Ids"]]
    wanted = {
        "q": "{!terms f=identity v=$wanted}",
        "wanted": ",".join(ids),
        "fl": _EXECUTION_FIELDS,
        "rows": LISTED,
    }
    documents = _select(solr, ELEMENTS, wanted)["docs"] if ids else []
    listed = sorted(documents, key=_started_ms, reverse=True)
    last_ms, principal = max(
        (
            *((_started_ms(each), each.get("principal", "")) for each in listed),
            *map(_purged_run, purged),
            (0, ""),
        )
    )
    return Executions(
        int(found["numFound"]) + sum(int(each.get("purgedExecutions", 0)) for each in purged),
        len(operations),
        solr_date(last_ms) if last_ms else "",
        principal,
        tuple(listed),
    )


def _writers(solr: Solr, entity: str) -> list[str]:
    params = {
        "q": "{!terms f=endpoint2Ids v=$wanted}",
        "wanted": entity,
        "fq": [f"type:{RelationType.DATA_FLOW}", "endpoint1Type:OPERATION", "-deleted:true"],
        "fl": "endpoint1Ids",
        "rows": WRITERS_LOOKED_AT,
        "sort": "asOf desc,identity asc",
    }
    documents = _select(solr, RELATIONS, params)["docs"]
    return list(dict.fromkeys(each for document in documents for each in document["endpoint1Ids"]))


def _purged(solr: Solr, operations: list[str]) -> list[dict[str, Any]]:
    params = {
        "q": "{!terms f=identity v=$wanted}",
        "wanted": ",".join(operations),
        "fq": "lastExecuted:[* TO *]",
        "fl": "identity,lastExecuted,lastPrincipal,purgedExecutions",
        "rows": len(operations),
    }
    return list(_select(solr, ELEMENTS, params)["docs"]) if operations else []


def _started_ms(document: Mapping[str, Any]) -> int:
    return date_ms(document["started"]) if "started" in document else 0


def _purged_run(document: Mapping[str, Any]) -> tuple[int, str]:
    if "lastExecuted" not in document:
        return 0, ""
    return date_ms(document["lastExecuted"]), document.get("lastPrincipal", "")


def _select(solr: Solr, core: str, params: Mapping[str, Any]) -> dict[str, Any]:
    response: dict[str, Any] = solr.select(core, params)["response"]
    return response
