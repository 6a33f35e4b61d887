"""Tag inheritance as stored in the index.

The closure of a tagged entity consists of the entities that inherit its tags (that the tags "reach"). It is stored in
``nav_runs``, in one document for each group of tags that reach the same entities. Tags differ in this only if users
stopped some of them. The documents also have the ids of everything on which the closure depends. The `inheritedTag` of
an entity lists the tags that reach it, except those that it has itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from navlin.index.graph.entity import ANNOTATED, StoredEntity
from navlin.index.schema.fields import ELEMENTS, INHERITED_TAG, RUNS
from navlin.index.search.print_query import to_solr
from navlin.index.search.query_tree import Query
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.index.write.rewriting import rewrite
from navlin.model.batches import in_batches

IDS_A_BATCH: Final = 1_000
_CLOSURE: Final = "reach"
_KINDS: Final = q.term("kind", _CLOSURE)
_OF_ORIGIN: Final = "source"
"""The field of a closure with the id of the tagged entity."""
_OTHERS: Final = f"{q.EVERYTHING} -{q.terms_given(_OF_ORIGIN, 'instead')}"


class TagGroup(NamedTuple):
    """Tags of one entity that reach the same ids, and those ids."""

    tags: frozenset[str]
    ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class StoredClosure:
    """The closure of one entity's tags. ``dependencies`` are the ids on which the closure depends."""

    groups: frozenset[TagGroup] = frozenset()
    dependencies: frozenset[str] = frozenset()

    @property
    def by_tag(self) -> dict[str, frozenset[str]]:
        """Tag → ids that the tag reaches."""
        return {tag: each.ids for each in self.groups for tag in each.tags}

    @property
    def ids(self) -> frozenset[str]:
        """The ids that any of the tags reaches."""
        return frozenset[str]().union(*(each.ids for each in self.groups))

    def unlike(self, other: StoredClosure) -> set[str]:
        """Return the ids that are reached by different tags in the two closures."""
        mine, others = self.by_tag, other.by_tag
        none = frozenset[str]()
        return {
            each
            for tag in mine.keys() | others.keys()
            for each in mine.get(tag, none) ^ others.get(tag, none)
        }


NOTHING: Final = StoredClosure()
Closures = Mapping[str, StoredClosure]
"""Id of the tagged entity → closure."""


# -- Closures ------------------------------------------------------------------------------------------------------------


def any_closure(solr: Solr) -> bool:
    return solr.count(RUNS, _KINDS) > 0


def origins(solr: Solr) -> Iterator[str]:
    """Yield the ids of all entities with a stored closure."""
    for document in solr.cursor(RUNS, "offset:0", f"identity,{_OF_ORIGIN}", filters=[_KINDS]):
        yield document[_OF_ORIGIN]


def depending_on(solr: Solr, ids: Sequence[str]) -> set[str]:
    """Return the ids of entities whose closure depends on one of at most a thousand ids."""
    found = solr.cursor(RUNS, q.terms("dependsOn", ids), f"identity,{_OF_ORIGIN}", filters=[_KINDS])
    return {document[_OF_ORIGIN] for document in found}


def reached_among(solr: Solr, ids: Sequence[str]) -> set[str]:
    """Return the subset of ``ids`` (at most a thousand) that some tag reaches."""
    return _reached(solr, ids, {"q": q.terms("reaches", ids), "fq": _KINDS})


def reaching(solr: Solr, identity: str, most: int) -> dict[str, list[str]]:
    """Return tag → ids of at most ``most`` entities from which the tag reaches this entity."""
    found: dict[str, list[str]] = {}
    where = {"q": q.term("reaches", identity), "fq": _KINDS}
    for tag in solr.facet(RUNS, "reaching", where):
        filters, sort = [_KINDS, q.term("reaching", tag)], "identity asc"
        documents, _ = solr.page(RUNS, where["q"], _OF_ORIGIN, filters=filters, sort=sort, rows=most)
        found[tag] = [each[_OF_ORIGIN] for each in documents]
    return found


def stored_closures(solr: Solr, of: Collection[str]) -> dict[str, StoredClosure]:
    """Return entity id → stored closure without its dependencies; entities without a stored closure are absent."""
    reached: defaultdict[str, set[TagGroup]] = defaultdict(set)
    fields = f"identity,{_OF_ORIGIN},reaching,reaches"
    for document in solr.cursor(RUNS, q.terms(_OF_ORIGIN, of), fields, filters=[_KINDS]):
        tags, ids = frozenset(document["reaching"]), frozenset(document.get("reaches", ()))
        reached[document[_OF_ORIGIN]].add(TagGroup(tags, ids))
    return {each: StoredClosure(frozenset(groups)) for each, groups in reached.items()}


def dependencies_of(solr: Solr, origin: str) -> frozenset[str]:
    """Return the ids on which an entity's stored closure depends."""
    documents = solr.cursor(RUNS, q.term(_OF_ORIGIN, origin), "identity,dependsOn", filters=[_KINDS])
    return frozenset(one for document in documents for one in document.get("dependsOn", ()))


def save_closures(solr: Solr, closures: Closures) -> None:
    """Replace the stored closures of these entities, visible at once. `NOTHING` removes the closure of an entity."""
    # Documents written by a killed process may not be visible yet.
    solr.commit(RUNS, soft=True)
    before = [
        each["identity"]
        for each in solr.cursor(RUNS, q.terms(_OF_ORIGIN, closures), "identity", filters=[_KINDS])
    ]
    documents = [document for each, closure in closures.items() for document in _documents(each, closure)]
    solr.add_all(RUNS, documents)
    solr.delete_ids(RUNS, set(before) - {each["identity"] for each in documents})
    solr.commit(RUNS, soft=True)


def _documents(origin: str, closure: StoredClosure) -> Iterator[dict[str, Any]]:
    for number, each in enumerate(sorted(closure.groups, key=lambda each: sorted(each.tags))):
        document = {
            "identity": f"{_CLOSURE}:{origin}:{number}",
            "kind": _CLOSURE,
            _OF_ORIGIN: origin,
            "offset": number,
            "reaching": sorted(each.tags),
            "reaches": sorted(each.ids),
        }
        # The common dependencies are stored only once.
        yield document | ({"dependsOn": sorted(closure.dependencies)} if number == 0 else {})


def _reached(solr: Solr, ids: Sequence[str], where: Mapping[str, Any]) -> set[str]:
    escaped = ",".join(each.replace("\\", "\\\\").replace(",", "\\,") for each in ids)
    # Count only these ids, instead of all that the documents reach. The response includes ids with a count of zero.
    field = "{!key=reaches terms=$ids}reaches"
    counts = solr.facet(RUNS, "reaches", {**where, "facet.field": field, "ids": escaped})
    return {each for each, count in counts.items() if count}


# -- Tags of entities ----------------------------------------------------------------------------------------------------


def tagged_entities(
    solr: Solr, *, ids: Sequence[str] = (), runs: Sequence[str] = ()
) -> Iterator[StoredEntity]:
    """Yield the live entities that have tags of their own, with their user fields. ``ids`` (at most a thousand) or
    ``runs`` limits them to entities with these ids or stamped by these runs."""
    of = q.terms("identity", ids) if ids else q.terms("extractorRunId", runs) if runs else q.EVERYTHING
    filters = [q.present("tags"), "-deleted:true"]
    return map(StoredEntity.of, solr.cursor(ELEMENTS, of, ANNOTATED, filters=filters))


def annotated_entities(solr: Solr, query: Query) -> Iterator[StoredEntity]:
    """Yield the live entities that match, ordered by id, with user fields."""
    # Include recent edits.
    solr.commit(ELEMENTS, soft=True)
    for document in solr.cursor(ELEMENTS, to_solr(query), ANNOTATED, filters=["-deleted:true"]):
        yield StoredEntity.of(document)


def with_property(solr: Solr, field: str) -> Iterator[StoredEntity]:
    """Yield the entities with this user field, deleted or not, ordered by id, with all user fields."""
    for document in solr.cursor(ELEMENTS, q.EVERYTHING, ANNOTATED, filters=[q.present(field)]):
        yield StoredEntity.of(document)


def inheriting(solr: Solr) -> Iterator[str]:
    """Yield the ids of all entities with an inherited tag."""
    for document in solr.cursor(ELEMENTS, q.present(INHERITED_TAG), "identity"):
        yield document["identity"]


def apply_inherited(solr: Solr, ids: Iterable[str], instead: Closures) -> int:
    """Set the inherited tags of these entities, and return the number of entities written. ``instead`` maps the ids of
    some tagged entities to closures that replace the stored ones."""
    changed = 0
    for batch in in_batches(ids, IDS_A_BATCH):
        tags = _tags_reaching(solr, batch, instead)
        differing = [
            each["identity"]
            for each in solr.get(ELEMENTS, batch, f"identity,tags,{INHERITED_TAG}")
            if each.get(INHERITED_TAG, []) != _inherited(each, tags)
        ]
        changed += sum(1 for _ in rewrite(solr, ELEMENTS, differing, _with_inherited(tags)))
    return changed


def _with_inherited(tags: Mapping[str, set[str]]) -> Any:
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


def _tags_reaching(solr: Solr, batch: Sequence[str], instead: Closures) -> dict[str, set[str]]:
    tags: defaultdict[str, set[str]] = defaultdict(set)
    where = {"q": q.terms("reaches", batch), "instead": q.joined(instead)}
    filters = [_KINDS, _OTHERS] if instead else [_KINDS]
    for tag in solr.facet(RUNS, "reaching", {**where, "fq": filters}):
        for identity in _reached(solr, batch, {**where, "fq": [*filters, q.term("reaching", tag)]}):
            tags[identity].add(tag)
    sought = set(batch)
    for closure in instead.values():
        for group in closure.groups:
            for identity in sought & group.ids:
                tags[identity].update(group.tags)
    return tags
