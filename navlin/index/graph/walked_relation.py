"""Relations in the form for walks.

A walk reads and keeps thousands of relations, so they are tuples, and Solr's documents are not retained.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from navlin.index.graph.relation import End

_new: Final = tuple.__new__


class WalkedRelation(NamedTuple):
    """A relation with one id at each end; the fields are those of `StoredRelation`. Fields that were not requested have
    their defaults."""

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

    @classmethod
    def each_of(cls, document: Mapping[str, Any]) -> list[WalkedRelation]:
        """Return a relation for each pair of ends, because a program may write several ids to one side.

        Inlined, because a walk calls this thousands of times, and `StoredRelation.each_of` takes three times as long.
        """
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
        )
        relations = []
        for one in get("endpoint1Ids", ()):
            ep1 = _new(End, (one, get("endpoint1Name", one), *of_1))
            for other in get("endpoint2Ids", ()):
                ep2 = _new(End, (other, get("endpoint2Name", other), *of_2))
                relations.append(_new(cls, (identity, kind, ep1, ep2, *rest)))
        return relations

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


def merged(one: WalkedRelation, other: WalkedRelation) -> WalkedRelation:
    """Merge two statements of an edge. The result is certain if either statement is certain, linked if either is
    linked, and incomplete if either is incomplete."""
    # Take writer and rule from the first-hand statement, if there is one.
    stated = one if one.first_hand else other
    return one._replace(
        unlinked=one.unlinked and other.unlinked,
        inferred=one.inferred and other.inferred,
        incomplete=one.incomplete or other.incomplete,
        parsed=one.parsed and other.parsed,
        writer=stated.writer,
        rule=stated.rule,
    )
