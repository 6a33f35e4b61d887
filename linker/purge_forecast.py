"""How many relations would go: what a dry run says. Changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final

from linker.ends import BOTH, IDS_A_QUERY, end_id, present, relations_of
from linker.linking import batched
from linker.purge_removal import Batch
from linker.purge_rules import deleted_before, parts_of
from navlin.index.solr import Solr

Forecast = Callable[[Solr, Batch, int], int]
"""(Solr, a batch, the threshold) → how many relations its removal would take along."""
_CONTAINS: Final = "type:PARENT_CHILD"
_ENDS: Final = "identity,endpoint1Ids,endpoint2Ids"


def of_directories(solr: Solr, batch: Batch, before_ms: int) -> int:
    """What they contain, and what says that a directory contains them which does not lose all it contained anyway."""
    emptied = [*batch.versions, *batch.kept]
    return _count(solr, emptied, _CONTAINS, (1,)) + of_files(solr, batch, before_ms)


def of_files(solr: Solr, batch: Batch, before_ms: int) -> int:
    """What says that a directory contains them which does not lose all it contained anyway."""
    count = 0
    for relations in batched(relations_of(solr, batch.versions, _CONTAINS, (2,), _ENDS), IDS_A_QUERY):
        parents = [end_id(relation, 1) for relation in relations]
        emptied = present(solr, set(parents), f"+type:DIRECTORY {deleted_before(before_ms)}")
        count += sum(1 for parent in parents if parent not in emptied)
    return count


def of_executions(solr: Solr, batch: Batch, _: int) -> int:
    """All relations of theirs."""
    return _count(solr, batch.versions, "*:*")


def of_operations(solr: Solr, batch: Batch, _: int) -> int:
    """All relations of theirs and of their parts; those to executions go with these."""
    parts = parts_of(solr, list(batch.versions), "identity")
    return _count(solr, [*batch.versions, *(part["identity"] for part in parts)], "*:* -type:INSTANCE_OF")


def _count(solr: Solr, ids: Collection[str], query: str, sides: Iterable[int] = BOTH) -> int:
    both = [side for side in BOTH if side in sides]
    return len({relation["identity"] for relation in relations_of(solr, ids, query, both, "identity")})
