"""Flags entities and relations as deleted. This runs in Spark tasks, because a deleted tree may contain millions of
them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from linker.flag_deletions import flag_relations
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.index.write.graph_changes import GraphChanges
from navlin.model.tree import excepted

FLAGGED_IN_TASK: Final = 10_000
FLAGGED_COLUMNS: Final = "flagged long"

_FLAG: Final[Mapping[str, Callable[[GraphChanges, Mapping[str, int], Stamp], int]]] = {
    ELEMENTS: GraphChanges.flag_entities,
    RELATIONS: flag_relations,
}


@dataclass(frozen=True, slots=True)
class Flagging:
    """Parameters of a flagging task, pickled for Spark."""

    address: SolrAddress
    core: str
    stamp: Stamp
    spared: frozenset[str] = frozenset()
    """Paths in the source's tree at and below which nothing is flagged."""


def flag(task: Flagging) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that a Spark task applies to batches of rows (identity, as_of, tree path). The function flags
    these documents as deleted, and yields the number flagged per batch. It is idempotent."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with Solr(task.address) as solr:
            for batch in batches:
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                gone = {identity: as_of for identity, as_of, path in rows if not excepted(path, task.spared)}
                flagged = _FLAG[task.core](GraphChanges(solr), gone, task.stamp)
                yield pa.RecordBatch.from_pydict({"flagged": [flagged]})

    return run
