"""The graph for questions that read much of it, with a memory of what earlier questions read.

A question reads the remembered parts of the graph from memory and the other parts from the index. It begins with one request
for the state of the index. Parts that were read or checked at the same state are current. When the answer is made, one
request for each few thousand ids asks the index for the versions of the documents behind the other remembered parts. Every
write changes the version of a document, and a document that is new or gone changes the number of versions. If the versions
are the same, the answer is as current as a search at the end of the question. Parts that have changed are read again, and if
they differ, the question is asked again. Results that are made from too many documents to compare hold only for the state at
which they were read (`PartKind.versioned`). So no answer depends on a message from a process that writes, and a Solr that
was restored, upgraded or written by another program is treated like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter
from typing import Any, Final, TypeVar

from navlin.index.graph import entity as entity_fields
from navlin.index.graph import relation as relation_fields
from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.filters import EntityFilter
from navlin.index.graph.graph import ANY_ENTITY, IDS_A_QUERY, Graph
from navlin.index.graph.memory import GraphMemory, PartKind, RememberedPart, memory_of
from navlin.index.graph.neighbours import (
    IDS_A_BATCH,
    RELATIONS_A_HOP,
    Neighbours,
    Wanted,
    first_by_id,
    neighbours,
)
from navlin.index.graph.relation import BOTH, FLOWING, IDENTIFIED, VERSION, WALKED, Side, StoredRelation
from navlin.index.graph.sources import FIELDS as SOURCE_FIELDS
from navlin.index.graph.sources import KnownSource, sources_in
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches
from navlin.model.keys import EntityType, RelationType
from navlin.model.refusal import Refusal

ROUNDS: Final = 4
"""Maximum number of times that a question is asked of a graph that changes meanwhile; then it is asked without memory."""
IDS_A_CHECK: Final = 5_000
MOST_DOCUMENTS: Final = 20_000
"""Maximum number of documents of one check whose versions are compared one by one, to find the ids that have changed."""
FLOW_TYPES: Final = frozenset({RelationType.DATA_FLOW.value, RelationType.CONTROL_FLOW.value})
_LIVE: Final = EntityFilter(deleted=False)
_SOURCE: Final = EntityType.SOURCE.value
_SOURCES: Final = PartKind(ELEMENTS, "type", (), True, SOURCE_FIELDS)
_T = TypeVar("_T")
_Found = TypeVar("_Found", bound=tuple[Any, ...])


def epochs_now(solr: Solr) -> Mapping[str, int]:
    """Return core → epoch of the present state of the index, in one request. Empty if the state is unknown."""
    return memory_of(solr).epochs(solr.visible_states())


def answered(solr: Solr, ask: Callable[[Graph], _T], epochs: Mapping[str, int] | None = None) -> _T:
    """Return what ``ask`` makes of the graph, as current as a search that begins now, or that began when ``epochs`` were
    read (`epochs_now`). ``ask`` may be called several times, must not change anything, and may read the graph in several
    threads, which must have ended when it returns."""
    read = PartsRead(solr, memory_of(solr), epochs_now(solr) if epochs is None else epochs)
    for _ in range(ROUNDS):
        try:
            answer = ask(RememberedGraph(solr, read))
        except (Refusal, LookupError):
            # The entity may have been added meanwhile, or parts read at different times do not fit.
            read.doubt()
            if read.is_current():
                raise
        else:
            if read.is_current():
                return answer
    return ask(Graph(solr))


@dataclass(slots=True)
class PartsRead:
    """The parts of the graph that one question has read. ``epochs`` maps cores to the epoch in which the question began;
    empty if it is unknown. ``current`` are the parts that were read, or found unchanged, since the question began;
    ``used`` came from memory, and are still to be checked."""

    solr: Solr
    memory: GraphMemory
    epochs: Mapping[str, int] = field(default_factory=dict)
    current: dict[PartKind, dict[str, RememberedPart]] = field(default_factory=dict)
    used: dict[PartKind, dict[str, RememberedPart]] = field(default_factory=dict)
    trusted: dict[PartKind, dict[str, RememberedPart]] = field(default_factory=dict)
    """Those of ``current`` that came from memory, with the epoch of the question."""
    absent: bool = False
    """Whether anything that the question looked for was not remembered."""

    def look(self, kind: PartKind, ids: Iterable[str]) -> tuple[dict[str, RememberedPart], list[str]]:
        """Return id → result, for the ids that were read before, and the other ids."""
        wanted = list(dict.fromkeys(ids))
        current = self.current.setdefault(kind, {})
        found = {one: current[one] for one in wanted if one in current}
        sought = wanted if not found else [one for one in wanted if one not in found]
        if remembered := self.memory.look(kind, sought):
            epoch = self.epochs.get(kind.core)
            trusted = {one: part for one, part in remembered.items() if part.epoch == epoch}
            if not kind.versioned:
                remembered = trusted
            current.update(trusted)
            self.trusted.setdefault(kind, {}).update(trusted)
            if len(trusted) < len(remembered):
                used = {one: part for one, part in remembered.items() if one not in trusted}
                self.used.setdefault(kind, {}).update(used)
            found |= remembered
        absent = [one for one in sought if one not in found]
        self.absent = self.absent or bool(absent)
        return found, absent

    def keep(self, kind: PartKind, results: Mapping[str, RememberedPart]) -> None:
        """Remember results that were read just now."""
        self._confirm(kind, results)
        self.memory.keep(kind, results)

    def doubt(self) -> None:
        """Have all parts that came from memory checked, or read again."""
        for kind, results in self.trusted.items():
            self.used.setdefault(kind, {}).update(results)
        self.trusted = {}

    def is_current(self) -> bool:
        """Whether the value of each part used is as in the index now. Those that have changed are forgotten."""
        used, self.used = self.used, {}
        unchanged = True
        for kind in [each for each in used if not each.versioned]:
            self._forget(kind, used.pop(kind))
            unchanged = False
        for core in (ELEMENTS, RELATIONS):
            groups = list(_groups({kind: results for kind, results in used.items() if kind.core == core}))
            answers = self.solr.select_each(core, [_search(group, VERSION) for group in groups])
            for group, answer in zip(groups, answers, strict=True):
                expected = {
                    each for results in group.values() for one in results.values() for each in one.versions
                }
                found = {document[VERSION] for document in answer["response"]["docs"]}
                same = answer["response"]["numFound"] == len(expected) and found == expected
                for kind, results in group.items():
                    if same:
                        self._confirm(kind, results)
                    elif not self._compare(kind, results):
                        unchanged = False
        return unchanged

    def _confirm(self, kind: PartKind, results: Mapping[str, RememberedPart]) -> None:
        epoch = self.epochs.get(kind.core, 0)
        for part in results.values():
            part.epoch = epoch
        self.current.setdefault(kind, {}).update(results)

    def _forget(self, kind: PartKind, ids: Collection[str]) -> None:
        self.memory.forget(kind, ids)
        for one in ids:
            self.current[kind].pop(one, None)

    def _compare(self, kind: PartKind, results: Mapping[str, RememberedPart]) -> bool:
        """Compare the results of one kind with the index, one by one. Return whether all their values are the same,
        though documents may have been written again."""
        search = _search({kind: results}, f"{VERSION},{kind.field}")
        response = self.solr.select(kind.core, {**search, "rows": MOST_DOCUMENTS})["response"]
        versions: dict[str, set[int]] = {one: set() for one in results}
        for document in response["docs"]:
            at = document[kind.field]
            for one in [at] if isinstance(at, str) else at:
                if one in versions:
                    versions[one].add(document[VERSION])
        whole = response["numFound"] <= MOST_DOCUMENTS
        same = {one: each for one, each in results.items() if whole and versions[one] == set(each.versions)}
        self._confirm(kind, same)
        changed = [one for one in results if one not in same]
        self._forget(kind, changed)
        RememberedGraph(self.solr, self).read_again(kind, changed)
        again = self.current[kind]
        return all(
            one in again and _compared(kind, again[one].value) == _compared(kind, each.value)
            for one, each in results.items()
            if one not in same
        )


@dataclass(frozen=True, slots=True)
class RememberedGraph(Graph):
    """The graph as one question reads it. The results are those of `Graph`; only `PartsRead.is_current` tells whether they
    are current."""

    read: PartsRead

    @property
    def at_hand(self) -> bool:
        """Whether everything that was read since the last call was in memory."""
        absent, self.read.absent = self.read.absent, False
        return not absent

    def sources(self) -> tuple[KnownSource, ...]:
        found, absent = self.read.look(_SOURCES, [_SOURCE])
        if absent:
            fields, filters = f"{SOURCE_FIELDS},{VERSION}", ["deleted:false"]
            documents = list(self.solr.cursor(ELEMENTS, f"type:{_SOURCE}", fields, filters=filters))
            versions = [document[VERSION] for document in documents]
            found = {_SOURCE: RememberedPart(sources_in(documents), versions)}
            self.read.keep(_SOURCES, found)
        sources: tuple[KnownSource, ...] = found[_SOURCE].value
        return sources

    def neighbours(self, wanted: Sequence[Wanted], fields: str = relation_fields.NAMED) -> list[Neighbours]:
        fields = IDENTIFIED if fields == FLOWING else fields
        kinds = [_kind(each, fields) for each in wanted]
        looked = [self.read.look(kind, each.ids) for kind, each in zip(kinds, wanted, strict=True)]
        sought = [
            replace(each, ids=absent) for each, (_, absent) in zip(wanted, looked, strict=True) if absent
        ]
        read = iter(neighbours(self.solr, sought, f"{fields},{VERSION}") if sought else ())
        every: list[Neighbours] = []
        for kind, (found, absent) in zip(kinds, looked, strict=True):
            here = next(read) if absent else Neighbours({})
            new = {
                one: RememberedPart(here.relations.get(one, ()), versions)
                for one, versions in here.versions.items()
            }
            self.read.keep(kind, new)
            relations = {one: result.value for one, result in found.items() if result.value}
            relations.update(here.relations)
            every.append(Neighbours(relations, here.cut))
            counts = {one: len(result.versions) for one, result in (found | new).items()}
            if not _within_hop(counts, wanted[len(every) - 1]):
                return neighbours(self.solr, wanted, fields)
        return every

    def entities_of(self, ids: Iterable[str], fields: str = entity_fields.CORE) -> dict[str, StoredEntity]:
        kind = PartKind(ELEMENTS, "identity", (), False, fields)
        found, absent = self.read.look(kind, ids)
        results = {one: RememberedPart(None, ()) for one in absent}
        for document in self._versioned(ELEMENTS, absent, fields):
            version = document.pop(VERSION)
            results[document["identity"]] = RememberedPart(StoredEntity.of(document), (version,))
        self.read.keep(kind, results)
        every = found | results
        return {one: result.value for one, result in every.items() if result.value is not None}

    def present(self, ids: Collection[str], where: EntityFilter = ANY_ENTITY) -> set[str]:
        if where != _LIVE:
            return Graph.present(self, ids, where)
        entities = self.entities_of(ids, entity_fields.NODE)
        return {one for one, entity in entities.items() if not entity.deleted}

    def children(
        self,
        parents: Iterable[str],
        where: EntityFilter,
        limit: int,
        fields: str = entity_fields.CORE,
    ) -> tuple[list[StoredEntity], bool]:
        every = list(dict.fromkeys(parents))
        children = self._children(every, where, limit, fields)
        if children is None:
            return Graph.children(self, every, where, limit, fields)
        found: list[StoredEntity] = []
        for batch in in_batches(every, IDS_A_QUERY):
            of_batch = sorted((child for one in batch for child in children[one]), key=attrgetter("id"))
            room = limit - len(found)
            found.extend(of_batch[:room])
            if len(of_batch) > room:
                return found, True
        return found, False

    def parents_among(self, ids: Iterable[str], where: EntityFilter) -> set[str]:
        every = list(dict.fromkeys(ids))
        children = self._children(every, where, MOST_DOCUMENTS, entity_fields.ID)
        if children is None:
            return Graph.parents_among(self, every, where)
        return {one for one in every if children[one]}

    def _children(
        self, parents: Sequence[str], where: EntityFilter, limit: int, fields: str
    ) -> dict[str, Sequence[StoredEntity]] | None:
        """Return parent → matching children; None if a batch has more than ``limit`` children, or ``where`` is more than
        types and a missing flag."""
        if where.deleted or where != EntityFilter(where.types, deleted=where.deleted):
            return None
        kind = PartKind(ELEMENTS, "firstClassParentId", where.types, where.deleted is False, fields)
        found, absent = self.read.look(kind, parents)
        filters, read = tuple(where.filters()), f"{fields},{kind.field},{VERSION}"
        for batch in in_batches(absent, IDS_A_QUERY):
            query = q.terms(kind.field, batch)
            documents, count = first_by_id(self.solr, ELEMENTS, query, filters, read, limit)
            if count > len(documents):
                return None
            children: dict[str, list[dict[str, Any]]] = {one: [] for one in batch}
            for document in documents:
                children[document[kind.field]].append(document)
            results = {}
            for one, of_one in children.items():
                versions = [document.pop(VERSION) for document in of_one]
                results[one] = RememberedPart(tuple(map(StoredEntity.of, of_one)), versions)
            self.read.keep(kind, results)
            found |= results
        return {one: result.value for one, result in found.items()}

    def names_of_ends(self, ids: Iterable[str]) -> dict[tuple[str, Side], str]:
        kind = PartKind(RELATIONS, "identity", (), False, relation_fields.END_NAMES)
        found, absent = self.read.look(kind, ids)
        results = {one: RememberedPart((), ()) for one in absent}
        for document in self._versioned(RELATIONS, absent, relation_fields.END_NAMES):
            names = tuple(document.get(f"endpoint{side}Name", "") for side in BOTH)
            results[document["identity"]] = RememberedPart(names, (document[VERSION],))
        self.read.keep(kind, results)
        return {
            (one, side): name
            for one, result in (found | results).items()
            for side, name in zip(BOTH, result.value, strict=False)
            if name
        }

    def of_each(
        self, kind: PartKind, ids: Iterable[str], read: Callable[[Sequence[str]], Mapping[str, _Found]]
    ) -> dict[str, _Found]:
        found, absent = self.read.look(kind, ids)
        if absent:
            results = read(absent)
            new = {one: RememberedPart(results.get(one, ()), ()) for one in absent}
            self.read.keep(kind, new)
            found |= new
        return {one: result.value for one, result in found.items() if result.value}

    def read_again(self, kind: PartKind, ids: Sequence[str]) -> None:
        """Read those of the results of one kind that are not remembered any more."""
        if kind.core == RELATIONS and kind.field == "identity":
            self.names_of_ends(ids)
        elif kind.core == RELATIONS:
            side = next(side for side in BOTH if kind.field == f"endpoint{side}Ids")
            self.neighbours([Wanted(ids, side, kind.types, kind.most)], kind.fields)
        elif kind.field == "identity":
            self.entities_of(ids, kind.fields)
        elif kind == _SOURCES:
            self.sources()
        else:
            where = EntityFilter(kind.types, deleted=False if kind.live else None)
            self._children(ids, where, MOST_DOCUMENTS, kind.fields)

    def _versioned(self, core: str, ids: Iterable[str], fields: str) -> Iterator[dict[str, Any]]:
        for batch in in_batches(ids, IDS_A_QUERY):
            yield from self._of_ids(core, batch, f"{fields},{VERSION}")


def _kind(wanted: Wanted, fields: str) -> PartKind:
    # Of flows, a walk uses no field of `WALKED` that `IDENTIFIED` lacks.
    of_flows = fields == WALKED and FLOW_TYPES.issuperset(wanted.types)
    return PartKind(
        RELATIONS, wanted.field, wanted.types, True, IDENTIFIED if of_flows else fields, wanted.fan_out
    )


def _compared(kind: PartKind, value: Any) -> Any:
    """Return what counts when two values of a part are compared. Flows that were read together with locations have more
    fields than the part's kind."""
    if isinstance(value, StoredEntity):
        return value.document
    if isinstance(value, StoredRelation):
        if kind.fields != IDENTIFIED:
            return value
        return value._replace(writer="", rule="", ep1=value.ep1._replace(source_id=""))
    return [_compared(kind, each) for each in value] if isinstance(value, tuple) else value


def _within_hop(counts: Mapping[str, int], wanted: Wanted) -> bool:
    """Whether no id is left out because of the number of relations of the other ids (`RELATIONS_A_HOP`). ``counts`` are the
    numbers of documents; an id without a number has at least the fan-out."""
    return all(
        sum(min(counts.get(one, wanted.fan_out), wanted.fan_out) for one in batch) <= RELATIONS_A_HOP
        for batch in in_batches(dict.fromkeys(wanted.ids), IDS_A_BATCH)
    )


def _groups(
    used: Mapping[PartKind, dict[str, RememberedPart]],
) -> Iterator[dict[PartKind, dict[str, RememberedPart]]]:
    """Yield results that can be checked in one request: no document can be among the results of two ids."""
    groups: list[dict[PartKind, dict[str, RememberedPart]]] = []
    for kind, results in used.items():
        items = iter(results.items())
        while part := dict(islice(items, IDS_A_CHECK)):
            for group in groups:
                size = sum(map(len, group.values())) + len(part)
                if size <= IDS_A_CHECK and all(_apart(kind, part, *each) for each in group.items()):
                    group[kind] = part
                    break
            else:
                groups.append({kind: part})
    return iter(groups)


def _apart(
    kind: PartKind,
    results: Mapping[str, RememberedPart],
    other: PartKind,
    others: Mapping[str, RememberedPart],
) -> bool:
    if kind.field != other.field or kind == other:
        return False
    of_other_types = kind.types and other.types and set(kind.types).isdisjoint(other.types)
    return bool(of_other_types) or results.keys().isdisjoint(others.keys())


def _search(group: Mapping[PartKind, Mapping[str, RememberedPart]], fields: str) -> dict[str, Any]:
    params, clauses = {}, []
    for number, (kind, results) in enumerate(group.items()):
        params[f"ids{number}"] = q.joined(results)
        clause = [f"+{q.terms_given(kind.field, f'ids{number}')}"]
        if kind.types:
            clause.append(f"+filter({q.one_of('type', kind.types)})")
        if kind.live:
            clause.append("-deleted:true")
        clauses.append(f"({' '.join(clause)})")
    rows = 1 + sum(len(one.versions) for results in group.values() for one in results.values())
    return {**params, "q": " ".join(clauses), "fl": fields, "rows": rows}
