"""The stored graph: entities and relations, read as values.

All queries of the graph go through `Graph`, and all changes through `navlin.index.write.graph_changes`; only
`navlin.index` knows the cores and the names of fields. Methods read the state of the last commit, except those with
"now" in their names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeVar

from navlin.index.graph import entity as entity_fields
from navlin.index.graph import relation as relation_fields
from navlin.index.graph.entity import StoredEntity
from navlin.index.graph.filters import NOT_OF_USERS, EntityFilter, RelationFilter
from navlin.index.graph.memory import PartKind
from navlin.index.graph.neighbours import Neighbours, Wanted, first_by_id, in_parts, neighbours, parts_of
from navlin.index.graph.presentation import with_end_names
from navlin.index.graph.relation import BOTH, End, Side, StoredRelation
from navlin.index.graph.sources import KnownSource, known_sources
from navlin.index.schema.fields import ELEMENTS, RELATIONS, date_ms, solr_date
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType

IDS_A_QUERY: Final = 1_000
CLAUSES_A_QUERY: Final = 200
TEXT_CHARS: Final = 1_000
OPERATIONS_OF_TEXT: Final = 100
ENDS_KEPT: Final = 20_000
"""Maximum number of ends whose entities are kept, because walks meet the same ends again."""
ANY_ENTITY: Final = EntityFilter()
ANY_RELATION: Final = RelationFilter()
_Found = TypeVar("_Found", bound=tuple[Any, ...])


@dataclass(frozen=True, slots=True)
class Graph:
    """Entities and relations of one Solr."""

    solr: Solr

    @property
    def at_hand(self) -> bool:
        """Whether everything read recently was in memory, so that reading ahead would not save any requests."""
        return False

    def sources(self) -> tuple[KnownSource, ...]:
        """Return every live source in the index, ordered by id."""
        return known_sources(self.solr)

    # -- Entities --------------------------------------------------------------------------------------------------------

    def entities(
        self,
        where: EntityFilter = ANY_ENTITY,
        *,
        ids: Iterable[str] | None = None,
        fields: str = entity_fields.CORE,
        rows: int = 5_000,
    ) -> Iterator[StoredEntity]:
        """Yield the matching entities, ordered by id. With ``ids``, yield only the entities with these ids, ordered
        within each batch. ``fields`` is a constant of `navlin.index.graph.entity`; ``rows`` is the page size."""
        for query in _by_ids("identity", ids):
            for document in self.solr.cursor(
                ELEMENTS, query, fields, filters=tuple(where.filters()), rows=rows
            ):
                yield StoredEntity.of(document)

    def entities_now(self, ids: Iterable[str], fields: str = entity_fields.CORE) -> dict[str, StoredEntity]:
        """Return id → entity in its current state, committed or not."""
        found = map(StoredEntity.of, self.solr.get(ELEMENTS, ids, fields))
        return {entity.id: entity for entity in found}

    def present(self, ids: Collection[str], where: EntityFilter = ANY_ENTITY) -> set[str]:
        """Return the ids of matching entities, including deleted ones unless ``where`` excludes them. Cheapest if all
        match."""
        found: set[str] = set()
        for batch in in_batches(sorted(ids), IDS_A_QUERY):
            query, filters = q.terms("identity", batch), tuple(where.filters())
            # Counting costs a fraction of fetching the ids.
            if self.solr.count(ELEMENTS, query, *filters) == len(batch):
                found.update(batch)
            else:
                read, _ = self.solr.page(ELEMENTS, query, entity_fields.ID, filters=filters, rows=IDS_A_QUERY)
                found.update(document["identity"] for document in read)
        return found

    def present_now(self, ids: Iterable[str]) -> set[str]:
        """Return the subset of ``ids`` that exist as entities now, committed or not."""
        return {document["identity"] for document in self.solr.get(ELEMENTS, ids, entity_fields.ID)}

    def count_entities(self, where: EntityFilter = ANY_ENTITY) -> int:
        return self.solr.count(ELEMENTS, q.EVERYTHING, *where.filters())

    def newest_told_ms(self, until_ms: int) -> int:
        """Return the newest time up to ``until_ms`` of an execution or modification that a source reported, epoch ms; 0
        if there is none.

        The result is independent of navlin's own clocks.
        """
        newest = 0
        for name in ("started", "ended", "lastModified"):
            told, sort = q.in_range(name, "*", solr_date(until_ms)), f"{name} desc"
            found, _ = self.solr.page(ELEMENTS, told, name, filters=NOT_OF_USERS, sort=sort, rows=1)
            newest = max([newest, *(date_ms(document[name]) for document in found)])
        return newest

    def entities_by_source(self, where: EntityFilter) -> dict[str, int]:
        """Return source id → number of matching entities."""
        return self.solr.facet(ELEMENTS, "sourceId", {"fq": tuple(where.filters())})

    def entities_of(self, ids: Iterable[str], fields: str = entity_fields.CORE) -> dict[str, StoredEntity]:
        """Return id → entity for the ids that exist, in no order. Cheaper than `entities`."""
        found: dict[str, StoredEntity] = {}
        for batch in in_batches(dict.fromkeys(ids), IDS_A_QUERY):
            for entity in map(StoredEntity.of, self._of_ids(ELEMENTS, batch, fields)):
                found[entity.id] = entity
        return found

    def children(
        self, parents: Iterable[str], where: EntityFilter, limit: int, fields: str = entity_fields.CORE
    ) -> tuple[list[StoredEntity], bool]:
        """Return at most ``limit`` matching entities with one of these parents, and whether there are more."""
        found: list[StoredEntity] = []
        filters = tuple(where.filters())
        for batch in in_batches(dict.fromkeys(parents), IDS_A_QUERY):
            query, rows = q.terms("firstClassParentId", batch), limit - len(found)
            documents, count = first_by_id(self.solr, ELEMENTS, query, filters, fields, rows)
            found.extend(map(StoredEntity.of, documents))
            if count > len(documents):
                return found, True
        return found, False

    def parents_among(self, ids: Iterable[str], where: EntityFilter) -> set[str]:
        """Return the subset of ``ids`` that are parents of matching entities."""
        filters = tuple(where.filters())
        batches = in_batches(dict.fromkeys(ids), IDS_A_QUERY)
        return set[str]().union(
            *(self._values_among(ELEMENTS, "firstClassParentId", batch, filters) for batch in batches)
        )

    def entities_at(self, path: str, where: EntityFilter, rows: int) -> list[StoredEntity]:
        return self._best(f"fileSystemPath:{q.phrase(path)}", where, rows)

    def entities_called(self, name: str, where: EntityFilter, rows: int) -> list[StoredEntity]:
        """Return the matching entities whose own name is or contains this name, best first."""
        # The index splits a word into parts, each with its own position, so allow that distance between words.
        apart = f"~{len(name)}" if len(name.split()) > 1 else ""
        return self._best(f"originalName:{q.phrase(name)}{apart}", where, rows)

    def operations_of_text(self, text: str, sources: Sequence[str]) -> list[StoredEntity]:
        """Return the operations with this text (redacted; whitespace is ignored) in the sources with these ids. They
        are sorted by source in the given order, then by id; those that no source has reported come last."""
        found: list[StoredEntity] = []
        # The beginning of the text is selective enough; the whole text is compared below.
        query = f"queryText:{q.phrase(' '.join(text[:TEXT_CHARS].split()))}"
        for source_id in sources:
            filters = (*EntityFilter(("OPERATION",)).filters(), q.term("sourceId", source_id))
            read, _ = self.solr.page(
                ELEMENTS, query, entity_fields.VIEW, filters=filters, rows=OPERATIONS_OF_TEXT
            )
            found += map(StoredEntity.of, read)
        same = [each for each in found if each.text.split() == text.split()]
        return sorted(same, key=lambda each: (each.placeholder, sources.index(each.source_id), each.id))

    def named_in_texts(self, names: Iterable[str], where: EntityFilter) -> set[str]:
        """Return the subset of ``names``, which are table names, that occur in the text of a matching operation."""
        found: set[str] = set()
        filters = tuple(where.filters())
        for batch in in_batches(dict.fromkeys(names), CLAUSES_A_QUERY):
            named = [f"{{!field f=queryText key={place}}}{name}" for place, name in enumerate(batch)]
            asked = {"q": q.EVERYTHING, "fq": filters, "rows": 0, "facet": "true", "facet.query": named}
            counts = self.solr.select(ELEMENTS, asked)["facet_counts"]["facet_queries"]
            found.update(name for place, name in enumerate(batch) if counts[str(place)])
        return found

    def entities_starting(self, start: str, where: EntityFilter, rows: int) -> list[StoredEntity]:
        """Return the matching entities with a name that begins with ``start`` or has a word that does; databases,
        tables and views first."""
        text = q.literal(start)
        return self._best(f"+(originalName:{text}* name:{text}*) type:(DATABASE TABLE VIEW)", where, rows)

    def entities_like(
        self, name: str, words: Sequence[str], where: EntityFilter, rows: int
    ) -> list[StoredEntity]:
        """Return the matching entities whose own name is similar to ``name`` or to one of its ``words``; best first."""
        similar = [f"{q.literal(name)}~2", *(f"{q.literal(word)}~1" for word in words)]
        similar.append(f"*{q.literal(max(words, key=len))}*")
        return self._best(" ".join(f"originalName:{each}" for each in similar), where, rows)

    # -- Relations -------------------------------------------------------------------------------------------------------

    def relations(
        self,
        where: RelationFilter = ANY_RELATION,
        *,
        of: Iterable[str] | None = None,
        sides: Iterable[Side] = BOTH,
        fields: str = relation_fields.TYPED,
    ) -> Iterator[StoredRelation]:
        """Yield the matching relations. With ``of``, yield only those with one of these ids at one of ``sides``; a
        relation with one of the ids at each side is yielded twice. ``fields`` is a constant of
        `navlin.index.graph.relation`."""
        filters = tuple(where.filters())
        if of is None:
            yield from self._relations(q.EVERYTHING, filters, fields)
            return
        for batch in in_batches(of, IDS_A_QUERY):
            for side in sides:
                yield from self._relations(q.terms(f"endpoint{side}Ids", batch), filters, fields)

    def relations_now(
        self, ids: Iterable[str], fields: str = relation_fields.TYPED
    ) -> dict[str, StoredRelation]:
        """Return id → relation in its current state, committed or not."""
        found = map(StoredRelation.of, self.solr.get(RELATIONS, ids, fields))
        return {relation.id: relation for relation in found}

    def names_of_ends(self, ids: Iterable[str]) -> dict[tuple[str, Side], str]:
        """Return (relation id, side) → name of the relation's end on that side, in no order. Ends without a recorded
        name are absent."""
        names: dict[tuple[str, Side], str] = {}
        for batch in in_batches(dict.fromkeys(ids), IDS_A_QUERY):
            for document in self._of_ids(RELATIONS, batch, relation_fields.END_NAMES):
                for side in BOTH:
                    if name := document.get(f"endpoint{side}Name"):
                        names[document["identity"], side] = name
        return names

    def count_relations(self, where: RelationFilter = ANY_RELATION) -> int:
        return self.solr.count(RELATIONS, q.EVERYTHING, *where.filters())

    def ends_among(self, ids: Iterable[str], where: RelationFilter, sides: Iterable[Side] = BOTH) -> set[str]:
        """Return the subset of ``ids`` that are ends of matching relations."""
        found: set[str] = set()
        filters = tuple(where.filters())
        for batch in in_batches(ids, IDS_A_QUERY):
            for side in sides:
                sought = [identity for identity in batch if identity not in found]
                found |= self._values_among(RELATIONS, f"endpoint{side}Ids", sought, filters)
        return found

    def relations_below(
        self, side: Side, source_id: str, directories: Iterable[str], where: RelationFilter
    ) -> Iterator[StoredRelation]:
        """Yield the matching relations whose end at this side is a path at or below one of these directories."""
        for batch in in_batches(directories, CLAUSES_A_QUERY):
            query = " ".join(q.at_or_below(f"endpoint{side}Name", directory) for directory in batch)
            filters = (*where.filters(), q.term(f"endpoint{side}SourceId", source_id))
            yield from self._relations(query, filters, relation_fields.TYPED)

    def neighbours(self, wanted: Sequence[Wanted], fields: str = relation_fields.NAMED) -> list[Neighbours]:
        """Return the relations found for each request; ``fields`` is `NAMED`, `WALKED`, `IDENTIFIED` or `FLOWING`."""
        return neighbours(self.solr, wanted, fields)

    def likely_ahead(
        self, ids: Collection[str], side: Side, types: Sequence[str], hops: int, most: int
    ) -> set[str]:
        """Return ids that live relations of these types lead to, in at most so many ``hops``, from these ids at
        ``side``; none if there are more than ``most`` relations.

        A hint for what to read soon, never an answer: Solr follows the relations of each shard by themselves.
        """
        near, far = f"endpoint{side}Ids", f"endpoint{3 - side}Ids"
        chained = f"{{!graph from={near} to={far} maxDepth={hops} traversalFilter=$through v=$begin}}"
        params = {
            "q": chained,
            "begin": q.terms(near, ids),
            "through": f"+{q.one_of('type', types)} -deleted:true",
            "fq": tuple(RelationFilter(tuple(types), deleted=False).filters()),
            "fl": far,
            "rows": most,
        }
        response = self.solr.select(RELATIONS, params)["response"]
        if response["numFound"] > most:
            return set()
        return {each for document in response["docs"] for each in document[far]}

    def of_each(
        self, kind: PartKind, ids: Iterable[str], read: Callable[[Sequence[str]], Mapping[str, _Found]]
    ) -> dict[str, _Found]:
        """Return id → what ``read`` makes of the id, unless that is empty. ``read`` may use only documents of the kind's
        core, and its result for an id may not depend on the other ids. ``kind`` is not versioned, and different for each
        ``read``."""
        return {one: found for one, found in read(list(dict.fromkeys(ids))).items() if found}

    def latest_relations(
        self, of: Iterable[str], side: Side, where: RelationFilter, rows: int
    ) -> tuple[list[StoredRelation], int]:
        """Return the first ``rows`` matching relations of these ids, and the total number of matches. Relations are
        sorted by their source's time, newest first, with those flagged deleted last."""
        ends, filters = q.terms(f"endpoint{side}Ids", of), tuple(where.filters())
        sort = "" if where.deleted is False else "deleted asc,"
        sort += "asOf desc,identity asc"
        read, total = self.solr.page(
            RELATIONS, ends, relation_fields.TYPED, filters=filters, sort=sort, rows=rows
        )
        documents = with_end_names(self.solr, read)
        return [relation for document in documents for relation in StoredRelation.each_of(document)], total

    def relations_by_type(self, identity: str, side: Side, where: RelationFilter) -> dict[str, int]:
        """Return type → number of matching relations of one entity."""
        params = {"q": q.terms(f"endpoint{side}Ids", [identity]), "fq": tuple(where.filters())}
        return self.solr.facet(RELATIONS, "type", params)

    def unlinked_relations(self, identity: str, rows: int) -> tuple[list[StoredRelation], int]:
        """Return the first unlinked relations of one entity, ordered by id, and the total number of its unlinked
        relations."""
        at_ends = " ".join(f"endpoint{side}Ids:{q.phrase(identity)}" for side in BOTH)
        filters = tuple(RelationFilter(unlinked=True, deleted=False).filters())
        documents, count = first_by_id(self.solr, RELATIONS, at_ends, filters, relation_fields.TYPED, rows)
        return list(map(StoredRelation.of, documents)), count

    def ends_below(
        self, side: Side, directories: Iterable[StoredEntity], where: RelationFilter, limit: int
    ) -> list[str]:
        """Return the ids of entities that are below one of these directories and at side ``side`` of a matching
        relation; at most ``limit`` for every 200 directories."""
        return self._ends_matching(side, [_below(side, each) for each in directories], where, limit)

    def partitions_outside(
        self, tables: Iterable[tuple[StoredEntity, Iterable[StoredEntity]]], limit: int
    ) -> list[str]:
        """Return the ids of partition locations that are below none of the directories given with the partition's
        table; at most ``limit`` for every 200 tables."""
        outside = [
            f"(+endpoint1SourceId:{q.phrase(table.source_id)} +{q.starting('endpoint1Name', table.name + '.')}"
            f" {' '.join(f'-{_below(2, each)}' for each in directories)})"
            for table, directories in tables
        ]
        partitions = RelationFilter((RelationType.LOGICAL_PHYSICAL,), deleted=False, ep1_types=("PARTITION",))
        return self._ends_matching(2, outside, partitions, limit)

    # -- Internal ------------------------------------------------------------------------------------------------------

    def _relations(self, query: str, filters: Sequence[str], fields: str) -> Iterator[StoredRelation]:
        return map(StoredRelation.of, self.solr.cursor(RELATIONS, query, fields, filters=filters))

    def _best(self, query: str, where: EntityFilter, rows: int) -> list[StoredEntity]:
        filters, sort = tuple(where.filters()), "score desc,identity asc"
        found, _ = self.solr.page(ELEMENTS, query, entity_fields.CORE, filters=filters, sort=sort, rows=rows)
        return list(map(StoredEntity.of, found))

    def _values_among(self, core: str, field: str, values: Sequence[str], filters: Sequence[str]) -> set[str]:
        """Return the subset of ``values`` (at most a thousand) that occurs in the field of a matching document.

        Read a thousand documents at a time, and search on only for the values not yet found, so that a value in a
        million documents costs as much as a value in a thousand.
        """
        found: set[str] = set()
        sought = list(values)
        while sought:
            wanted = q.terms(field, sought)
            documents, _ = self.solr.page(core, wanted, field, filters=filters, rows=IDS_A_QUERY)
            for value in (document[field] for document in documents):
                found.update([value] if isinstance(value, str) else value)
            if len(documents) < IDS_A_QUERY:
                break
            sought = [each for each in sought if each not in found]
        return found.intersection(values)

    def _ends_matching(
        self, side: Side, clauses: Sequence[str], where: RelationFilter, limit: int
    ) -> list[str]:
        field, filters = f"endpoint{side}Ids", tuple(where.filters())
        found: dict[str, None] = {}
        for batch in in_batches(clauses, CLAUSES_A_QUERY):
            params = {"q": " ".join(batch), "fq": filters, "facet.limit": limit}
            found.update(dict.fromkeys(self.solr.facet(RELATIONS, field, params)))
        return list(found)

    def _of_ids(self, core: str, ids: Sequence[str], fields: str) -> Iterator[dict[str, Any]]:
        searches = [
            {"q": q.terms("identity", part), "fl": fields, "rows": IDS_A_QUERY}
            for part in in_parts(ids, parts_of(len(ids)))
        ]
        for answer in self.solr.select_each(core, searches):
            yield from answer["response"]["docs"]


def end_of(entity: StoredEntity) -> End:
    return End(entity.id, entity.name, entity.type, entity.source_type, entity.source_id)


@lru_cache(maxsize=ENDS_KEPT)
def entity_of(end: End) -> StoredEntity:
    """Create an entity from a relation's end. Fields that an end does not have keep their defaults."""
    return StoredEntity(end.id, end.name, end.type, end.source_type, end.source_id)


def _below(side: Side, directory: StoredEntity) -> str:
    name = q.below(f"endpoint{side}Name", directory.name)
    return f"(+endpoint{side}SourceId:{q.phrase(directory.source_id)} +{name})"


def _by_ids(field: str, ids: Iterable[str] | None) -> Iterator[str]:
    if ids is None:
        yield q.EVERYTHING
    else:
        for batch in in_batches(ids, IDS_A_QUERY):
            yield q.terms(field, batch)
