"""Relations as stored in the index. Code outside `navlin.index` does not use the names of stored fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from navlin.index.graph.entity import changed, first_text
from navlin.index.schema.fields import date_ms, solr_date
from navlin.index.schema.stamp import Stamp
from navlin.model.identity import relation_id

Side = Literal[1, 2]
BOTH: Final[tuple[Side, Side]] = (1, 2)

TYPED: Final = (
    "identity,_version_,type,writer,deleted,rule,claimedIds,unlinked,unlinkedReason,unlinkedSince,inferred,incomplete"
    ",parsed,treePath,asOf,extractorRunId"
    ",endpoint1Ids,endpoint1Type,endpoint1SourceType,endpoint1SourceId,endpoint1Name"
    ",endpoint2Ids,endpoint2Type,endpoint2SourceType,endpoint2SourceId,endpoint2Name"
)
"""The fields that make up a `StoredRelation`, except the first-seen time (`SEEN`)."""
FLOWING: Final = (
    "type,endpoint1Ids,endpoint2Ids,endpoint1Type,endpoint2Type,unlinked,inferred,incomplete,parsed"
)
"""The fields of flows that a walk needs, with the ends but without their names. For thousands of relations, each field
takes time; the identity alone would take a quarter of the total time."""
IDENTIFIED: Final = f"identity,{FLOWING}"
"""`FLOWING`, and the identity, with which the names of the ends can be requested later."""
WALKED: Final = f"{IDENTIFIED},endpoint1SourceId,writer,rule"
"""`IDENTIFIED`, and the source or rule that states the relation. A walk needs these fields of LOGICAL_PHYSICAL
relations."""
NAMED: Final = (
    f"{WALKED},endpoint1SourceType,endpoint2SourceType,endpoint2SourceId,endpoint1Name,endpoint2Name"
)
"""`WALKED`, and all fields of the ends."""
VERSION: Final = "_version_"
"""The field with the version of a document, which every write changes."""
SEEN: Final = f"{NAMED},firstSeen"
"""`NAMED`, and the time at which the relation first appeared in the index."""
END_NAMES: Final = "identity,endpoint1Name,endpoint2Name"
"""Fields needed for the names of a relation's ends."""
EXPORTED: Final = f"{TYPED},tp_tableCreateTime,tp_tableType"
"""The fields of a relation that an export needs, including those about the table at one end."""
WHOLE: Final = "*"
ENDS: Final = (
    "identity,_version_,type,treePath,writer,endpoint1Ids,endpoint2Ids,endpoint1SourceId,endpoint2SourceId"
)
NOTHING_READ: Final[Mapping[str, Any]] = {}
_new: Final = tuple.__new__


class End(NamedTuple):
    """One end of a relation: the entity's id, and its description in the relation, whether or not the index has the
    entity. In a relation that was read, ``name`` is the id if no name was read."""

    id: str
    name: str
    type: str
    source_type: str
    source_id: str


class StoredRelation(NamedTuple):
    """A relation of the index. It is a tuple, because a walk reads and keeps many thousands of them. Fields that were not
    requested have their defaults. If the name of an end was not requested or is not recorded, the end's id takes its
    place.

    ``writer`` is the id of the source that states the relation, or the linker; ``rule`` names the linker's rule.
    """

    id: str
    type: str
    ep1: End
    ep2: End
    unlinked: bool = False
    inferred: bool = False
    incomplete: bool = False
    parsed: bool = False
    writer: str = ""
    rule: str = ""
    document: Mapping[str, Any] = NOTHING_READ
    """The fields as read. Only for `navlin.index`. A walk's relations do not keep them, so the properties that read them
    have their defaults."""

    @property
    def claims(self) -> tuple[str, ...]:
        """The ids of those ends that another source owns."""
        return tuple(self.document.get("claimedIds", ()))

    @property
    def deleted(self) -> bool:
        """Whether the relation is flagged deleted."""
        return bool(self.document.get("deleted"))

    @property
    def unlinked_reason(self) -> str:
        """The reason why the relation is unlinked; "" if the linker has stated none."""
        return str(self.document.get("unlinkedReason", ""))

    @property
    def unlinked_since(self) -> str:
        """The date in Solr's format since which the relation is unlinked; "" if the linker has stated none."""
        return str(self.document.get("unlinkedSince", ""))

    @property
    def tree_path(self) -> str:
        """The relation's place in the tree of the source that states it."""
        return str(self.document.get("treePath", ""))

    @property
    def version(self) -> int:
        """The ``_version_`` that must be unchanged when a change is written."""
        return int(self.document.get("_version_", 0))

    @property
    def as_of_ms(self) -> int:
        """The time of the record that states the relation, epoch ms."""
        return int(self.document.get("asOf", 0))

    @property
    def first_seen_ms(self) -> int:
        """Time at which the relation first appeared in the index, epoch ms; 0 if unknown."""
        return date_ms(self.document["firstSeen"]) if "firstSeen" in self.document else 0

    @property
    def table_created_ms(self) -> int:
        """The creation time that the engine recorded for the table at a flow's end (epoch ms); 0 if not recorded."""
        stated = first_text(self.document.get("tp_tableCreateTime"))
        return int(stated) if stated.isdecimal() else 0

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> StoredRelation:
        """Create a relation from a document, with the first id of each side."""
        ones, others = (document.get(f"endpoint{side}Ids", ())[:1] or ("",) for side in BOTH)
        [relation] = cls._between(document, ones, others, document)
        return relation

    @classmethod
    def each_of(cls, document: Mapping[str, Any], *, keep: bool = True) -> list[StoredRelation]:
        """Return a relation for each pair of ends, because a program may write several ids to one side. Without
        ``keep``, the relations do not keep the document."""
        ones, others = document.get("endpoint1Ids", ()), document.get("endpoint2Ids", ())
        return cls._between(document, ones, others, document if keep else NOTHING_READ)

    @classmethod
    def _between(
        cls, document: Mapping[str, Any], ones: Sequence[str], others: Sequence[str], kept: Mapping[str, Any]
    ) -> list[StoredRelation]:
        # Inlined, because a walk calls this thousands of times.
        get = document.get
        identity, kind = get("identity", ""), get("type", "")
        of_1 = (get("endpoint1Type", ""), get("endpoint1SourceType", ""), get("endpoint1SourceId", ""))
        of_2 = (get("endpoint2Type", ""), get("endpoint2SourceType", ""), get("endpoint2SourceId", ""))
        rest = (
            get("unlinked", False),
            get("inferred", False),
            get("incomplete", False),
            get("parsed", False),
            get("writer", ""),
            get("rule", ""),
            kept,
        )
        relations = []
        for one in ones:
            ep1 = _new(End, (one, get("endpoint1Name", one), *of_1))
            for other in others:
                ep2 = _new(End, (other, get("endpoint2Name", other), *of_2))
                relations.append(_new(cls, (identity, kind, ep1, ep2, *rest)))
        return relations

    @property
    def as_presented(self) -> Mapping[str, Any]:
        """All fields of a relation that was read whole."""
        return self.document

    def pairs(self) -> list[StoredRelation]:
        """Return a relation for each pair of ends of this relation, which has only the first."""
        return self.each_of(self.document)

    @classmethod
    def by_rule(
        cls,
        rule: str,
        relation_type: str,
        ep1: End,
        ep2: End,
        tree_path: str,
        *,
        inferred: bool = False,
        incomplete: bool = False,
        parsed: bool = False,
    ) -> StoredRelation:
        """Create a relation that a rule of the linker adds; both its ends are claims."""
        fields: dict[str, Any] = {
            "identity": relation_id(relation_type, ep1.id, ep2.id, LINKER),
            **relation_fields(relation_type, ep1, ep2),
            "claimedIds": sorted({ep1.id, ep2.id}),
            "rule": rule,
            "deleted": False,
        }
        marks = {"inferred": inferred, "incomplete": incomplete, "parsed": parsed}
        fields.update((name, True) for name, value in marks.items() if value)
        return cls.of(placed(fields, LINKER, tree_path))

    def end(self, side: int) -> End:
        """Return endpoint 1 or 2."""
        return self.ep1 if side == 1 else self.ep2

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity of an edge, whichever source states it."""
        return (self.type, self.ep1.id, self.ep2.id)

    @property
    def first_hand(self) -> bool:
        """Whether the relation is stated by the source that owns endpoint 1, or by a rule of the linker; otherwise it
        is another source's hint."""
        return bool(self.rule) or self.writer == self.ep1.source_id

    def same_edge(self, other: StoredRelation) -> bool:
        """Whether both relations have equal ends, including names, and equal marks (inferred, incomplete)."""
        return (self.ep1, self.ep2, self.inferred, self.incomplete) == (
            other.ep1,
            other.ep2,
            other.inferred,
            other.incomplete,
        )

    def linked(self, reason: str | None, stamp: Stamp) -> StoredRelation:
        """Return the relation stamped by a run: linked if ``reason`` is None, else unlinked, with the reason and
        date. A relation that was already unlinked keeps its date."""
        waits = reason is not None
        since = (self.unlinked_since or solr_date(stamp.now_ms)) if waits else ""
        fields = {
            "unlinked": waits,
            "unlinkedReason": reason,
            "unlinkedSince": since or None,
            "extractorRunId": stamp.run_id,
        }
        return self._replace(unlinked=waits, document=changed(self.document, fields))

    def in_place_of(self, stored: StoredRelation | None, stamp: Stamp) -> StoredRelation:
        """Return the relation with the version that Solr must find when the relation is written: that of ``stored``,
        or -1 (must not exist) without ``stored``. From ``stored``, which must be read with `WHOLE`, the relation takes
        the time at which it was first seen, and the linker's reason and date."""
        fields: dict[str, Any] = {"firstSeen": solr_date(stamp.now_ms), "_version_": -1}
        if stored is not None:
            kept = ("unlinkedReason", "unlinkedSince", "firstSeen", "_version_")
            fields = {name: stored.document[name] for name in kept if name in stored.document}
        return self._replace(document=changed(self.document, fields))

    def merged(self, other: StoredRelation) -> StoredRelation:
        """Merge two statements of an edge. The result is certain if either statement is certain, linked if either is
        linked, and incomplete if either is incomplete."""
        # Take writer and rule from the first-hand statement, if there is one.
        stated = self if self.first_hand else other
        return self._replace(
            unlinked=self.unlinked and other.unlinked,
            inferred=self.inferred and other.inferred,
            incomplete=self.incomplete or other.incomplete,
            parsed=self.parsed and other.parsed,
            writer=stated.writer,
            rule=stated.rule,
        )


LINKER: Final = "linker"
"""The writer of the linker's own relations."""
LINKER_TREE: Final = "#linker"
"""Tree path of the linker's relations. It is in no source's tree, so no `Covered` applies to these relations."""
NO_TREE: Final = "#source"
"""Tree path of a SOURCE document. It is in no source's tree."""


def relation_fields(relation_type: str, ep1: End, ep2: End) -> dict[str, Any]:
    """Return the fields for a relation's type and ends; an empty name has no field."""
    fields: dict[str, Any] = {"type": str(relation_type)}
    for side, end in ((1, ep1), (2, ep2)):
        fields[f"endpoint{side}Ids"] = [end.id]
        fields[f"endpoint{side}Type"] = end.type
        fields[f"endpoint{side}SourceType"] = end.source_type
        fields[f"endpoint{side}SourceId"] = end.source_id
        if end.name:
            fields[f"endpoint{side}Name"] = end.name
    return fields


def placed(fields: dict[str, Any], writer: str, tree_path: str) -> dict[str, Any]:
    """Add a relation's writer and tree path to its fields, in place."""
    fields["writer"] = writer
    fields["treePath"] = tree_path
    return fields
