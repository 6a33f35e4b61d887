"""Which entities inherit which tags, as the index keeps it, and what of that is due to be computed again.

A reach is a few documents of ``nav_runs`` for each entity that bears tags: which of its tags reach which entities (one
document, if no stop of people's makes a difference between its tags), and the ids of all that this depends on. An entity
bears what reaches it and is not its own tag in `inheritedTag`. What may have changed is due until it is computed: whoever
changes tags, flows or locations leaves a note of what, and the note goes only when all that follows is durable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from uuid import uuid4

import orjson

from navlin.index import solr_query as q
from navlin.index.entity import WORDS, StoredEntity
from navlin.index.fields import ELEMENTS, INHERITED_TAG, RUNS
from navlin.index.solr import Solr
from navlin.index.writing import rewrite
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType

IDS_A_BATCH: Final = 1_000
NOTES_AT_ONCE: Final = 500
CARRYING: Final = (RelationType.DATA_FLOW, RelationType.LOGICAL_PHYSICAL)
"""Relations by which an entity inherits."""
_REACH: Final = "reach"
_DUE: Final = "reach due"
_STATE: Final = "reach state"
_KINDS: Final = q.term("kind", _REACH)
_OF_ORIGIN: Final = "source"
"""The field of a reach that has the id of its origin."""
_OTHERS: Final = f"{q.EVERYTHING} -{q.terms_given(_OF_ORIGIN, 'instead')}"


class Reached(NamedTuple):
    """Some tags of one entity, and the ids of what they reach."""

    tags: frozenset[str]
    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class StoredReach:
    """What the tags of one entity reach. ``ground`` are the ids that this depends on."""

    reached: frozenset[Reached] = frozenset()
    ground: frozenset[str] = frozenset()

    @property
    def by_tag(self) -> dict[str, frozenset[str]]:
        """What each tag reaches."""
        return {tag: each.ids for each in self.reached for tag in each.tags}

    @property
    def ids(self) -> frozenset[str]:
        """What any of the tags reaches."""
        return frozenset[str]().union(*(each.ids for each in self.reached))

    def unlike(self, other: StoredReach) -> set[str]:
        """The ids that other tags reach than before."""
        mine, others = self.by_tag, other.by_tag
        none = frozenset[str]()
        return {
            each
            for tag in mine.keys() | others.keys()
            for each in mine.get(tag, none) ^ others.get(tag, none)
        }


NOTHING: Final = StoredReach()
Reaches = Mapping[str, StoredReach]
"""By the id of the entity that bears the tags."""


# -- What is due ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Due:
    """What may have changed since: entities by id (or ends of relations), all that these runs stamped, or everything."""

    id: str
    version: int
    ids: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    everything: bool = False


def note_due(
    solr: Solr,
    *,
    ids: Collection[str] = (),
    runs: Sequence[str] = (),
    everything: bool = False,
    again: str = "",
) -> str:
    """Leaves a note that these may have changed, and returns its id. It is found after the next commit of ``nav_runs``.

    Who changes entities notes them before the change, so that no kill loses it, and then ``again`` the same note: one that
    was taken up in between would have been taken up too early.
    """
    identity = again or f"{_DUE}:{runs[0] if runs else uuid4()}"
    body = {"ids": sorted(ids), "runs": list(runs), "everything": everything}
    solr.add_all(RUNS, [{"identity": identity, "kind": _DUE, "body": orjson.dumps(body).decode()}])
    return identity


def read_due(solr: Solr) -> list[Due]:
    """The notes that are left, some at a time."""
    query = {"q": q.term("kind", _DUE), "rows": NOTES_AT_ONCE, "fl": "identity", "sort": "identity asc"}
    found = [each["identity"] for each in solr.select(RUNS, query)["response"]["docs"]]
    return [
        Due(
            each["identity"],
            int(each["_version_"]),
            tuple(body["ids"]),
            tuple(body["runs"]),
            body["everything"],
        )
        for each in (solr.get(RUNS, found) if found else ())
        for body in [orjson.loads(each["body"])]
    ]


def count_due(solr: Solr) -> int:
    """How many notes are left."""
    return solr.count(RUNS, q.term("kind", _DUE))


def remove_due(solr: Solr, done: Iterable[Due]) -> None:
    """Removes notes; one that was left again since it was read stays."""
    solr.delete_versions(RUNS, {each.id: each.version for each in done})


def is_computed(solr: Solr) -> bool:
    """Whether inheritance was ever computed as a whole: not in an index of an earlier navlin."""
    return bool(solr.get(RUNS, [_STATE], "identity"))


def note_computed(solr: Solr) -> None:
    """Notes that it was computed as a whole."""
    solr.add_all(RUNS, [{"identity": _STATE, "kind": _STATE}])


# -- Reaches -------------------------------------------------------------------------------------------------------------


def any_reach(solr: Solr) -> bool:
    """Whether anything is kept."""
    return solr.count(RUNS, _KINDS) > 0


def origins(solr: Solr) -> Iterator[str]:
    """The ids of all entities of which a reach is kept."""
    for document in solr.cursor(RUNS, "offset:0", f"identity,{_OF_ORIGIN}", filters=[_KINDS]):
        yield document[_OF_ORIGIN]


def depending_on(solr: Solr, ids: Sequence[str]) -> set[str]:
    """The ids of those whose reach depends on one of at most a thousand ids."""
    found = solr.cursor(RUNS, q.terms("dependsOn", ids), f"identity,{_OF_ORIGIN}", filters=[_KINDS])
    return {document[_OF_ORIGIN] for document in found}


def reached_among(solr: Solr, ids: Sequence[str]) -> set[str]:
    """Those of at most a thousand ids that some tag reaches."""
    return _reached(solr, ids, {"q": q.terms("reaches", ids), "fq": _KINDS})


def reaching(solr: Solr, identity: str, most: int) -> dict[str, list[str]]:
    """The tags that reach an entity, and of each the ids of at most ``most`` entities that bear it."""
    found: dict[str, list[str]] = {}
    where = {"q": q.term("reaches", identity), "fq": _KINDS}
    for tag in solr.facet(RUNS, "reaching", where):
        params = {**where, "fq": [_KINDS, q.term("reaching", tag)], "fl": _OF_ORIGIN, "rows": most}
        documents = solr.select(RUNS, {**params, "sort": "identity asc"})["response"]["docs"]
        found[tag] = [each[_OF_ORIGIN] for each in documents]
    return found


def stored_reaches(solr: Solr, of: Collection[str]) -> dict[str, StoredReach]:
    """What is kept of these entities, by id, without the ground; of others nothing."""
    reached: defaultdict[str, set[Reached]] = defaultdict(set)
    fields = f"identity,{_OF_ORIGIN},reaching,reaches"
    for document in solr.cursor(RUNS, q.terms(_OF_ORIGIN, of), fields, filters=[_KINDS]):
        tags, ids = frozenset(document["reaching"]), frozenset(document.get("reaches", ()))
        reached[document[_OF_ORIGIN]].add(Reached(tags, ids))
    return {each: StoredReach(frozenset(groups)) for each, groups in reached.items()}


def ground_of(solr: Solr, origin: str) -> frozenset[str]:
    """What the reach that is kept of an entity depends on."""
    documents = solr.cursor(RUNS, q.term(_OF_ORIGIN, origin), "identity,dependsOn", filters=[_KINDS])
    return frozenset(one for document in documents for one in document.get("dependsOn", ()))


def save_reaches(solr: Solr, reaches: Reaches) -> None:
    """Keeps these in place of what was kept of the same entities, visible at once. `NOTHING` takes one away."""
    # Of those that another kill left half written some may not be visible.
    solr.commit(RUNS, soft=True)
    before = [
        each["identity"]
        for each in solr.cursor(RUNS, q.terms(_OF_ORIGIN, reaches), "identity", filters=[_KINDS])
    ]
    documents = [document for each, reach in reaches.items() for document in _documents(each, reach)]
    solr.add_all(RUNS, documents)
    solr.delete_ids(RUNS, set(before) - {each["identity"] for each in documents})
    solr.commit(RUNS, soft=True)


def _documents(origin: str, reach: StoredReach) -> Iterator[dict[str, Any]]:
    for number, each in enumerate(sorted(reach.reached, key=lambda each: sorted(each.tags))):
        document = {
            "identity": f"{_REACH}:{origin}:{number}",
            "kind": _REACH,
            _OF_ORIGIN: origin,
            "offset": number,
            "reaching": sorted(each.tags),
            "reaches": sorted(each.ids),
        }
        # What all of them depend on stands once.
        yield document | ({"dependsOn": sorted(reach.ground)} if number == 0 else {})


def _reached(solr: Solr, ids: Sequence[str], where: Mapping[str, Any]) -> set[str]:
    """Those of some ids that the documents which match reach."""
    escaped = ",".join(each.replace("\\", "\\\\").replace(",", "\\,") for each in ids)
    # Only these are counted, not all that the documents reach; also those that none does.
    field = "{!key=reaches terms=$ids}reaches"
    counts = solr.facet(RUNS, "reaches", {**where, "facet.field": field, "ids": escaped})
    return {each for each, count in counts.items() if count}


# -- What entities bear --------------------------------------------------------------------------------------------------


def bearing_tags(solr: Solr, *, ids: Sequence[str] = (), runs: Sequence[str] = ()) -> Iterator[StoredEntity]:
    """The entities that bear tags of their own and are not flagged deleted, with people's fields: of a thousand ids at most,
    or of those that some runs stamped, or all."""
    of = q.terms("identity", ids) if ids else q.terms("extractorRunId", runs) if runs else q.EVERYTHING
    filters = [q.present("tags"), "-deleted:true"]
    return map(StoredEntity.of, solr.cursor(ELEMENTS, of, WORDS, filters=filters))


def inheriting(solr: Solr) -> Iterator[str]:
    """The ids of all entities that bear an inherited tag."""
    for document in solr.cursor(ELEMENTS, q.present(INHERITED_TAG), "identity"):
        yield document["identity"]


def settle(solr: Solr, ids: Iterable[str], instead: Reaches) -> int:
    """Lets these entities bear what reaches them, and nothing else; returns how many were written. ``instead`` counts in
    place of what is kept of the same entities."""
    changed = 0
    for batch in in_batches(ids, IDS_A_BATCH):
        tags = _tags_reaching(solr, batch, instead)
        differing = [
            each["identity"]
            for each in solr.get(ELEMENTS, batch, f"identity,tags,{INHERITED_TAG}")
            if each.get(INHERITED_TAG, []) != _inherited(each, tags)
        ]
        changed += sum(1 for _ in rewrite(solr, ELEMENTS, differing, _settling(tags)))
    return changed


def _settling(tags: Mapping[str, set[str]]) -> Any:
    def change(document: dict[str, Any]) -> dict[str, Any] | None:
        wanted = _inherited(document, tags)
        if document.get(INHERITED_TAG, []) == wanted:
            return None
        document.pop(INHERITED_TAG, None)
        return {**document, INHERITED_TAG: wanted} if wanted else document

    return change


def _inherited(document: Mapping[str, Any], tags: Mapping[str, set[str]]) -> list[str]:
    own = {str(each).casefold() for each in document.get("tags", ())}
    return sorted(each for each in tags.get(document["identity"], ()) if each.casefold() not in own)


def _tags_reaching(solr: Solr, batch: Sequence[str], instead: Reaches) -> dict[str, set[str]]:
    tags: defaultdict[str, set[str]] = defaultdict(set)
    where = {"q": q.terms("reaches", batch), "instead": q.joined(instead)}
    filters = [_KINDS, _OTHERS] if instead else [_KINDS]
    for tag in solr.facet(RUNS, "reaching", {**where, "fq": filters}):
        for identity in _reached(solr, batch, {**where, "fq": [*filters, q.term("reaching", tag)]}):
            tags[identity].add(tag)
    sought = set(batch)
    for reach in instead.values():
        for group in reach.reached:
            for identity in sought & group.ids:
                tags[identity].update(group.tags)
    return tags
