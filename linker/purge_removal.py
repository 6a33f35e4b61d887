"""How each kind of thing is removed: by id and version, what came back meanwhile stays.

Everything here may be cut off at any point and called again with the same `Batch`: what is gone already counts as removed,
what was written since counts as come back. Entities go before their relations. The other way round, one that comes back in
between would find its relations gone, and nobody would write them anew; in this order a batch that was cut off leaves
relations without an end, and the batch, which was recorded first, tells whose.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import astuple, dataclass, field
from itertools import chain
from typing import Any, Final

from linker.add_locations import settle
from linker.ends import BOTH, end_id, present_now, relations_of
from linker.linking import Linking, batched
from linker.locations import Path, path_ends
from linker.purge_rules import (
    EXECUTED_SINCE,
    HAS_OUTPUT,
    executed_ms,
    parts_of,
)
from linker.resolve_endpoints import Reason, unlink
from navlin.index.documents import Document
from navlin.index.fields import ELEMENTS, RELATIONS, date_ms, solr_date
from navlin.index.writing import WRITE_BATCH, rewrite

_CONTAINS: Final = "type:PARENT_CHILD"
_FIELDS: Final = "identity,_version_,type,endpoint1Ids,endpoint2Ids"


@dataclass(frozen=True, slots=True)
class Batch:
    """What is to be removed next, as plain JSON, recorded before the first of it goes.

    ``versions`` are the entities that go, ``kept`` those that stay but lose what they contained, both with the
    ``_version_`` that was read; ``executions`` and ``operations`` are what operations keep of their executions;
    ``paths`` those whose flows go.
    """

    versions: Mapping[str, int]
    kept: Mapping[str, int] = field(default_factory=dict)
    executions: Mapping[str, tuple[str, int, str]] = field(default_factory=dict)
    """id → (operation's id, when executed (epoch ms), by whom)"""
    operations: Mapping[str, tuple[int, int, str]] = field(default_factory=dict)
    """id → what it kept before this batch: (how many, last executed (epoch ms), by whom)"""
    paths: tuple[tuple[str, str, str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """What became of a batch."""

    entities: int
    relations: int
    unlinked: int
    came_back: tuple[str, ...]


Prepare = Callable[[Linking, list[Document], list[Document]], Batch]
"""(linking, what goes, what stays) → the batch. Changes nothing."""
Remove = Callable[[Linking, Batch, int, Callable[[Batch], None]], Removed]
"""(linking, the batch, the threshold, record a batch that grew) → what became of it."""


def _remove_entities(linking: Linking, versions: Mapping[str, int]) -> tuple[list[str], tuple[str, ...]]:
    """Removes entities that are as they were read. Returns the ids that are gone now, and those that came back."""
    stayed = linking.solr.delete_versions(ELEMENTS, versions) if versions else ()
    came_back = present_now(linking.solr, stayed) if stayed else set()
    return [each for each in versions if each not in came_back], tuple(sorted(came_back))


def _remove_relations(linking: Linking, relations: Iterable[Document]) -> int:
    removed = 0
    for batch in batched(relations, WRITE_BATCH):
        versions = {relation["identity"]: relation["_version_"] for relation in batch}
        removed += len(versions) - len(linking.solr.delete_versions(RELATIONS, versions))
    return removed


def _versions(documents: Iterable[Document]) -> dict[str, int]:
    return {document["identity"]: document["_version_"] for document in documents}


# -- Directories and files -----------------------------------------------------------------------------------------------


def prepare_directories(_: Linking, going: list[Document], staying: list[Document]) -> Batch:
    """A directory loses what it contained even where it has to stay itself."""
    return Batch(_versions(going), kept=_versions(staying))


def prepare_files(_: Linking, going: list[Document], __: list[Document]) -> Batch:
    """Files just go."""
    return Batch(_versions(going))


def remove_paths(linking: Linking, batch: Batch, _: int, __: Callable[[Batch], None]) -> Removed:
    """Removes files and directories, their PARENT_CHILD, and unlinks what else named them."""
    solr = linking.solr
    gone, came_back = _remove_entities(linking, batch.versions)
    unchanged = {
        each["identity"]: each["_version_"] for each in solr.get(ELEMENTS, batch.kept, "identity,_version_")
    }
    emptied = [each for each, version in batch.kept.items() if unchanged.get(each) == version]
    relations = _remove_relations(linking, relations_of(solr, emptied, _CONTAINS, (1,), _FIELDS))
    for side in BOTH:
        relations += _remove_relations(linking, relations_of(solr, gone, _CONTAINS, (side,), _FIELDS))
    unlinked = unlink(linking, gone, Reason.PURGED, f"*:* -{_CONTAINS}")
    came_back += tuple(sorted(batch.kept.keys() - set(emptied)))
    return Removed(len(gone), relations, unlinked, came_back)


# -- Executions ----------------------------------------------------------------------------------------------------------


def prepare_executions(linking: Linking, going: list[Document], _: list[Document]) -> Batch:
    """Notes for each execution its operation, and for each operation what it kept so far."""
    by_id = {execution["identity"]: execution for execution in going}
    templates = relations_of(linking.solr, by_id, "type:INSTANCE_OF", (2,), _FIELDS)
    executions = {
        end_id(relation, 2): (end_id(relation, 1), executed_ms(execution), execution.get("principal", ""))
        for relation in templates
        if (execution := by_id[end_id(relation, 2)])
    }
    kept = "identity,purgedExecutions,lastExecuted,lastPrincipal"
    operations = {
        operation["identity"]: (
            int(operation.get("purgedExecutions", 0)),
            date_ms(operation["lastExecuted"]) if "lastExecuted" in operation else 0,
            operation.get("lastPrincipal", ""),
        )
        for operation in linking.solr.get(
            ELEMENTS, {operation for operation, _, _ in executions.values()}, kept
        )
    }
    return Batch(_versions(going), executions=executions, operations=operations)


def remove_executions(linking: Linking, batch: Batch, _: int, __: Callable[[Batch], None]) -> Removed:
    """Has the operations keep what is worth keeping, then removes executions with all their relations."""
    solr = linking.solr
    now = {
        each["identity"]: each["_version_"]
        for each in solr.get(ELEMENTS, batch.versions, "identity,_version_")
    }
    changed = {each for each, version in now.items() if version != batch.versions[each]}
    _keep(linking, batch, without=changed)
    going = {each: version for each, version in batch.versions.items() if each not in changed}
    gone, came_back = _remove_entities(linking, going)
    if came_back:
        _keep(linking, batch, without=changed | set(came_back))
    relations = list({r["identity"]: r for r in relations_of(solr, gone, "*:*", fields=_FIELDS)}.values())
    removed = _remove_relations(linking, relations)
    unlinked = unlink(linking, gone, Reason.PURGED) if removed < len(relations) else 0
    return Removed(len(gone), removed, unlinked, tuple(sorted(changed.union(came_back))))


def _keep(linking: Linking, batch: Batch, *, without: Collection[str]) -> None:
    kept = dict(batch.operations)
    for execution, (operation, when_ms, who) in sorted(batch.executions.items()):
        if operation in kept and execution not in without:
            count, last_ms, last_who = kept[operation]
            kept[operation] = (count + 1, *max((last_ms, last_who), (when_ms, who), key=lambda last: last[0]))

    def change(operation: Document) -> Document | None:
        count, last_ms, who = kept[operation["identity"]]
        words: dict[str, Any] = {
            "purgedExecutions": count,
            "lastExecuted": solr_date(last_ms),
            "lastPrincipal": who,
        }
        words = {name: value for name, value in words.items() if count and value}
        if all(operation.get(name) == words.get(name) for name in _WORDS):
            return None
        others = {name: value for name, value in operation.items() if name not in _WORDS}
        return {**others, **words, "extractorRunId": linking.run_id}

    for _ in rewrite(linking.solr, ELEMENTS, kept, change):
        pass


_WORDS: Final = ("purgedExecutions", "lastExecuted", "lastPrincipal")


# -- Operations ----------------------------------------------------------------------------------------------------------


def prepare_operations(_: Linking, going: list[Document], __: list[Document]) -> Batch:
    """Their parts and relations are looked up when they are gone: nothing can be added to them then."""
    return Batch(_versions(going))


def remove_operations(
    linking: Linking, batch: Batch, before_ms: int, record: Callable[[Batch], None]
) -> Removed:
    """Removes operations with their sub-operations and all their relations.

    An execution that arrived meanwhile does not change its operation's document: where one shows once the operation is
    gone, the operation is put back.
    """
    solr = linking.solr
    documents = {document["identity"]: document for document in solr.get(ELEMENTS, batch.versions)}
    gone, came_back = _remove_entities(linking, batch.versions)
    solr.commit(ELEMENTS, soft=True)
    candidates = [{"identity": identity} for identity in gone]
    needed = HAS_OUTPUT.check(solr, candidates, before_ms) | EXECUTED_SINCE.check(solr, candidates, before_ms)
    solr.add(ELEMENTS, [{**documents[each], "_version_": -1} for each in sorted(needed) if each in documents])
    gone = [each for each in gone if each not in needed]

    parts = _versions(parts_of(solr, gone, "identity,_version_"))
    ids = [*gone, *parts]
    relations = {relation["identity"]: relation for relation in relations_of(solr, ids, "*:*")}
    paths = {path for relation in relations.values() for path in path_ends(relation)}
    paths.update(Path(*path) for path in batch.paths)
    if paths:
        record(Batch(batch.versions, paths=tuple(astuple(path) for path in paths)))
    if parts:
        solr.delete_versions(ELEMENTS, parts)
    removed = _remove_relations(linking, relations.values())
    unlinked = unlink(linking, ids, Reason.PURGED) if removed < len(relations) else 0
    solr.commit(RELATIONS, soft=True)
    # A path that nothing flows through any more lies in no table: what the linker said of it goes as well.
    settle(linking, paths)
    return Removed(len(gone), removed, unlinked, tuple(sorted(chain(came_back, needed))))
