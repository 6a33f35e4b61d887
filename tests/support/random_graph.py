"""A graph that changes at random: tables, columns, paths, statements, their parts and executions, with flows, locations,
cycles, flags, claims, names, tags, and documents of several ids at one side."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from navlin.index.schema.fields import ELEMENTS, RELATIONS, USER_PROPERTY, solr_date
from navlin.index.solr.solr import Solr
from navlin.query.answer import Direction
from navlin.query.options import WalkOptions

TYPES = {
    "t": "TABLE",
    "o": "OPERATION",
    "p": "DIRECTORY",
    "c": "FIELD",
    "s": "SUB_OPERATION",
    "x": "OPERATION_EXECUTION",
}
PARENTS = {"c": "t", "s": "o"}


@dataclass
class RandomGraph:
    """A graph of the given number of tables and statements. Ids begin with ``world``; `change` writes and commits."""

    solr: Solr
    world: str
    rng: Random
    size: int = 14
    documents: dict[str, set[str]] = field(default_factory=lambda: {ELEMENTS: set(), RELATIONS: set()})

    def __post_init__(self) -> None:
        self._write(ELEMENTS, [self._entity(each) for each in self.ids])
        self._write(RELATIONS, [self._relation() for _ in range(self.size * 8)])

    @property
    def ids(self) -> list[str]:
        return [self._id(kind, number) for kind in TYPES for number in range(self.size)]

    def change(self) -> None:
        """Write, replace and delete some documents, or none."""
        for _ in range(self.rng.choice([0, 0, 0, 1, 1, 2, 10])):
            core = self.rng.choice([ELEMENTS, RELATIONS, RELATIONS])
            if self.rng.random() < 0.25 and self.documents[core]:
                identity = self.rng.choice(sorted(self.documents[core]))
                self.solr.delete_ids(core, [identity])
                self.documents[core].discard(identity)
                self.solr.commit(core, soft=True)
            else:
                one = self._entity(self.rng.choice(self.ids)) if core == ELEMENTS else self._relation()
                self._write(core, [one])

    def remove(self) -> None:
        """Remove the whole graph from the index."""
        for core, ids in self.documents.items():
            self.solr.delete_ids(core, sorted(ids))
            self.solr.commit(core, soft=True)

    def options(self) -> WalkOptions:
        rng = self.rng

        def often(share: float) -> bool:
            return rng.random() < share

        return WalkOptions(
            rng.choice(list(Direction)),
            depth=rng.choice([None, 1, 2]),
            columns=often(0.3),
            operations=often(0.3),
            deleted=often(0.3),
            control_flow=often(0.3),
            unlinked=often(0.2),
            readers=often(0.1),
            max_nodes=rng.choice([400, 400, 5]),
            max_fan_out=rng.choice([1_000, 1_000, 2]),
            stops=frozenset([rng.choice(self.ids)]) if often(0.1) else frozenset(),
        )

    @property
    def tag(self) -> str:
        return f"tag of {self.world}"

    def _id(self, kind: str, number: int) -> str:
        return f"{self.world}-{kind}{number}"

    def _some(self, kinds: str) -> tuple[str, str]:
        kind = self.rng.choice(kinds)
        return self._id(kind, self.rng.randrange(self.size)), kind

    def _entity(self, identity: str) -> dict[str, Any]:
        name = identity.rpartition("-")[2]
        kind, number = name[0], name[1:]
        parent = {"firstClassParentId": self._id(PARENTS[kind], int(number))} if kind in PARENTS else {}
        path = {"fileSystemPath": f"/{identity}"} if kind == "p" else {}
        rng = self.rng
        further: dict[str, Any] = {
            "owner": rng.choice(["ann", "bob"]),
            "firstSeen": _date(rng),
            "queryText": f"insert {name}",
            "tp_expression": rng.choice(["sum(a)", "a + b"]),
            "started": _date(rng),
            "principal": rng.choice(["ann", "bob"]),
            "tags": [self.tag],
            f"{USER_PROPERTY}notInherited": self.tag,
            "incomplete": True,
        }
        kept = {
            "t": ("owner", "firstSeen", "tags"),
            "p": ("owner", "firstSeen"),
            "c": ("firstSeen", "tags"),
            "o": ("queryText", "incomplete"),
            "s": ("tp_expression",),
            "x": ("started", "principal"),
        }[kind]
        if rng.random() < 0.1:
            kept = (*kept, f"{USER_PROPERTY}notInherited")
        return {
            **{each: further[each] for each in kept if rng.random() < (0.2 if each == "tags" else 0.6)},
            "identity": identity,
            "type": TYPES[kind],
            "sourceType": "HIVE",
            "sourceId": f"{self.world}-{kind}",
            "originalName": name if rng.random() < 0.7 else f"{name} renamed {rng.randrange(9)}",
            "parentPath": "/db",
            "deleted": rng.random() < 0.15,
            **parent,
            **path,
        }

    def _relation(self) -> dict[str, Any]:
        rng = self.rng
        kinds, of_type = rng.choice(
            [
                (("t", "p"), "LOGICAL_PHYSICAL"),
                (("tp", "o"), "DATA_FLOW"),
                (("o", "tp"), "DATA_FLOW"),
                (("tp", "o"), "CONTROL_FLOW"),
                (("c", "s"), "DATA_FLOW"),
                (("s", "c"), "DATA_FLOW"),
                (("t", "t"), "DATA_FLOW"),
                (("o", "o"), "DATA_FLOW"),
                (("c", "s"), "CONTROL_FLOW"),
                (("o", "x"), "INSTANCE_OF"),
            ]
        )
        document: dict[str, Any] = {
            "identity": f"{self.world}-r{rng.randrange(self.size * 9)}",
            "type": of_type,
            "writer": f"{self.world}-{rng.choice('tp')}",
            "deleted": rng.random() < 0.1,
            "unlinked": rng.random() < 0.1,
            "inferred": rng.random() < 0.2,
            "parsed": rng.random() < 0.2,
            "incomplete": rng.random() < 0.2,
            "asOf": rng.randrange(1, 1_000),
        }
        if document["unlinked"] and rng.random() < 0.5:
            document |= {"unlinkedReason": "no match", "unlinkedSince": _date(rng)}
        for side, of_side in zip((1, 2), kinds, strict=True):
            identity, kind = self._some(of_side)
            further = [self._some(kind)[0]] if rng.random() < 0.05 else []
            document[f"endpoint{side}Ids"] = list(dict.fromkeys([identity, *further]))
            document[f"endpoint{side}Type"] = TYPES[kind]
            document[f"endpoint{side}SourceType"] = "HIVE"
            document[f"endpoint{side}SourceId"] = f"{self.world}-{kind}"
            document[f"endpoint{side}Name"] = f"name of {identity}"
        return document

    def _write(self, core: str, documents: list[dict[str, Any]]) -> None:
        added = self.solr.add(core, documents)
        assert not added.refused, added.refused[0]
        self.documents[core].update(each["identity"] for each in documents)
        self.solr.commit(core, soft=True)


def _date(rng: Random) -> str:
    return solr_date(1_790_000_000_000 + 86_400_000 * rng.randrange(9))
