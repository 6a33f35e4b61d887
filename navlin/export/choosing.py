"""Selects the items to export, by id: the results of a query, everything, or the changes. An item is always exported as
a whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from navlin.export.id_set import IdSet
from navlin.export.name_patterns import NamePattern
from navlin.export.names import LINEAGE_TYPES
from navlin.export.reading import FLOWS
from navlin.index.graph.entity import CORE, PATH_TYPES, StoredEntity
from navlin.index.graph.filters import EntityFilter, RelationFilter
from navlin.index.graph.graph import Graph
from navlin.index.graph.relation import ENDS, NAMED, StoredRelation
from navlin.index.graph.sources import known_sources
from navlin.index.journal.removals import Changes, Removal, changed_since, changed_since_ms
from navlin.index.schema.fields import ELEMENTS
from navlin.model.batches import in_batches
from navlin.model.keys import RelationType
from navlin.model.refusal import Refusal
from navlin.query.search import core_for, every_entity, parsed_query

IDS_A_LOOK: Final = 1_000
KINDS: Final = ("renames", "databases", "datasets", "operations")
"""Kinds of items. ``renames`` are operations that a metastore reported, and are also among ``operations``."""
_ANY_FLOW: Final = RelationFilter(FLOWS)
_INTO_OPERATIONS: Final = RelationFilter(FLOWS, deleted=False, end_types=("OPERATION",))
_NAMED: Final = EntityFilter(("DATABASE", "TABLE", "VIEW"))
_INSTANCES: Final = RelationFilter((RelationType.INSTANCE_OF,))


class NotExportable(Refusal):
    """The query finds relations, but only entities can be exported. The relations of an exported entity are included
    anyway."""


@dataclass(frozen=True, slots=True)
class Selection:
    """A selection of items: the results of a query, or everything without a query; with ``since_run`` or
    ``since_ms``, only the changes.

    A column or partition found by the query selects its table; a sub-operation or execution selects its operation. An
    operation includes its inputs and outputs. ``since_run`` is the id of a run, ``since_ms`` a time (epoch ms): only
    changes since then are exported, including deletions. ``tables_only``: no columns; ``texts``: with query texts and
    expressions; ``all_executions``: not only the last execution; ``placeholders``: also ends that are not in the index.
    ``named``: only databases and tables that match one of these patterns.
    """

    query: str = ""
    filters: tuple[str, ...] = ()
    since_run: str = ""
    since_ms: int = 0
    all_executions: bool = False
    tables_only: bool = False
    texts: bool = True
    placeholders: bool = False
    named: tuple[NamePattern, ...] = ()

    @property
    def follows(self) -> bool:
        """Whether only changes are exported."""
        return bool(self.since_run or self.since_ms)


def since(text: str) -> tuple[str, int]:
    """Parse the value of ``--since``, the id of a run or a date. Return (id of the run, 0) or ("", epoch ms). A date
    without a time zone is in this machine's time zone. Raises `Refusal`."""
    if "##" in text or not text:
        return text, 0
    try:
        return "", round(datetime.fromisoformat(text).astimezone().timestamp() * 1000)
    except ValueError:
        raise Refusal(f"{text!r} is neither the id of a run nor a date such as 2026-01-31") from None


@dataclass(slots=True)
class Chosen:
    """The selected items. ``ids`` maps each of `KINDS` to the ids to export; None: everything. ``gone`` are the ids of
    entities, including columns, deleted since the run or time from which changes are read; ``edited`` are the ids of
    entities that users edited since then."""

    ids: Mapping[str, IdSet] | None = None
    gone: IdSet | None = None
    edited: IdSet | None = None
    removed: Iterator[Removal] = field(default_factory=lambda: iter(()))

    def of(self, kind: str) -> IdSet | None:
        """Return the ids of one kind; None if all entities of this kind are exported."""
        return None if self.ids is None else self.ids[kind]


def choose(graph: Graph, selection: Selection, open_sets: ExitStack) -> Chosen:
    """Return the ids of a selection, in sets that ``open_sets`` closes. Raises `QueryError`, `NotExportable`,
    `UnknownRun`."""
    found: Mapping[str, IdSet] | None = None
    if selection.query or selection.filters:
        queried = _CollectedIds(graph, open_sets)
        queried.add_query(selection.query, selection.filters)
        found = queried.ids
    if selection.named:
        named = _CollectedIds(graph, open_sets)
        named.add_named(selection.named)
        found = named.ids if found is None else _in_both(named.ids, found, open_sets)
    if not selection.follows:
        return Chosen(found)
    changes = (
        changed_since(graph.solr, selection.since_run)
        if selection.since_run
        else changed_since_ms(graph.solr, selection.since_ms)
    )
    gone, edited = (open_sets.enter_context(IdSet()) for _ in range(2))
    changed = _CollectedIds(graph, open_sets, gone, edited)
    changed.add_changes(changes)
    # Only the id of a removed entity is known, so the query cannot be applied to it.
    ids = changed.ids if found is None else _in_both(changed.ids, found, open_sets)
    return Chosen(ids, gone, edited, changes.removed)


def _in_both(
    one: Mapping[str, IdSet], other: Mapping[str, IdSet], open_sets: ExitStack
) -> Mapping[str, IdSet]:
    both = {kind: open_sets.enter_context(IdSet()) for kind in KINDS}
    for kind, ids in both.items():
        ids.add(each for each in one[kind].after() if each in other[kind])
    return both


class _CollectedIds:
    """Collects the ids of the items to export from entities and relations that were found or changed."""

    def __init__(
        self, graph: Graph, open_sets: ExitStack, gone: IdSet | None = None, edited: IdSet | None = None
    ) -> None:
        self._graph = graph
        self._metastores = {source.id for source in known_sources(graph.solr) if source.metastore}
        self.ids = {kind: open_sets.enter_context(IdSet()) for kind in KINDS}
        self._gone, self._edited = gone, edited

    def add_query(self, query: str, filters: Iterable[str]) -> None:
        parsed = parsed_query(query or "*")
        if core_for(parsed) != ELEMENTS:
            raise NotExportable(
                "this query finds relations; ask for entities: they are exported with their relations"
            )
        for entities in in_batches(every_entity(self._graph.solr, parsed, [*filters]), IDS_A_LOOK):
            self._add_entities(entities)

    def add_named(self, named: Iterable[NamePattern]) -> None:
        """Add the databases and tables that match a pattern."""
        patterns = tuple(named)
        for entities in in_batches(self._graph.entities(_NAMED), IDS_A_LOOK):
            self._add_entities(
                each
                for each in entities
                if any(
                    pattern.admits_database(each.own_name)
                    if each.type == "DATABASE"
                    else pattern.admits(each.database, each.own_name)
                    for pattern in patterns
                )
            )

    def add_changes(self, changes: Changes) -> None:
        """Add changed items. Record the ids of deleted and of edited entities in ``gone`` and ``edited``."""
        assert self._gone is not None
        assert self._edited is not None
        for entities in in_batches(changes.entities, IDS_A_LOOK):
            self._gone.add(each.id for each in entities if each.deleted)
            # Millions of files may change; only files that an operation reads or writes are exported.
            paths = [each.id for each in entities if each.type in PATH_TYPES]
            named = self._graph.ends_among(paths, _ANY_FLOW) if paths else set()
            self._add_entities(
                [
                    each
                    for each in entities
                    # A partition's own properties are not exported.
                    if each.type != "PARTITION" and (each.type not in PATH_TYPES or each.id in named)
                ]
            )
        for ids in in_batches(changes.edited, IDS_A_LOOK):
            self._edited.add(ids)
            self._add_entities(self._graph.entities_of(ids, CORE).values())
        for relations in in_batches(changes.relations, IDS_A_LOOK):
            self._add_relations(relations)

    def _add_entities(self, entities: Iterable[StoredEntity]) -> None:
        executions: list[str] = []
        by_kind: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for each in entities:
            if each.type == "DATABASE":
                by_kind["databases"].append(each.id)
            elif each.type in LINEAGE_TYPES:
                by_kind["datasets"].append(each.id)
            elif each.type in ("FIELD", "PARTITION"):
                by_kind["datasets"].append(each.parent_id)
            elif each.type == "OPERATION":
                by_kind["operations"].append(each.id)
                if each.source_id in self._metastores:
                    by_kind["renames"].append(each.id)
            elif each.type == "SUB_OPERATION":
                by_kind["operations"].append(each.parent_id)
            elif each.type == "OPERATION_EXECUTION":
                executions.append(each.id)
        for kind, ids in by_kind.items():
            self.ids[kind].add(ids)
        self._add_operations_of(executions)

    def _add_relations(self, relations: Iterable[StoredRelation]) -> None:
        ends: list[str] = []
        executions: list[str] = []
        paths: list[str] = []
        for one in relations:
            for each in one.pairs():
                if each.type in FLOWS:
                    process = next((end for end in (each.ep1, each.ep2) if "OPERATION" in end.type), None)
                    ends.append((process or each.ep2).id)
                elif each.type == RelationType.INSTANCE_OF:
                    ends.append(each.ep1.id)
                elif each.type == RelationType.LOGICAL_PHYSICAL:
                    if each.ep1.type in LINEAGE_TYPES:
                        ends.append(each.ep1.id)
                        paths.append(each.ep2.id)
                    else:
                        executions += [each.ep1.id, each.ep2.id]
        self._add_entities(self._graph.entities_of(ends, CORE).values())
        self._add_operations_of(executions)
        # Data written to such a path is now written to the table at that location.
        if paths:
            at_paths = self._graph.relations(_INTO_OPERATIONS, of=paths, fields=ENDS)
            far = {end.id for each in at_paths for end in (each.ep1, each.ep2)} - set(paths)
            self._add_entities(self._graph.entities_of(far, CORE).values())

    def _add_operations_of(self, executions: Iterable[str]) -> None:
        for batch in in_batches(executions, IDS_A_LOOK):
            found = self._graph.relations(_INSTANCES, of=batch, sides=(2,), fields=NAMED)
            operations = [each.ep1 for each in found if each.ep1.type == "OPERATION"]
            self.ids["operations"].add(each.id for each in operations)
            self.ids["renames"].add(each.id for each in operations if each.source_id in self._metastores)
