"""Cleans up after a run that reread records, because of changed settings or a newer extractor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from linker.linking import Linking
from linker.superseded import mark_unread_incomplete, remove_superseded
from navlin.index.schema.envelope import Envelope
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.model.keys import OPERATIONS, EntityType
from navlin.model.tree import tree_path
from navlin.pipeline.reconciling import GONE_REPORTED

_OF_EXECUTIONS = ("as_of", "digest", "type", "source_type", "parent_id", "parent_type", "parent_name", "name")


def remove_invented(
    linking: Linking, source_id: str, rounds: Sequence[DataFrame], outcomes: DataFrame | None, *, whole: bool
) -> int:
    """Remove results that an earlier read of the same records produced and this run did not. Return the number of
    removed documents.

    ``whole``: an older extractor produced the earlier results, and this run read everything, so operations that this
    run did not see are marked as incomplete.
    """
    removed, read_ids = 0, set[str]()
    if rounds and outcomes is not None:
        rows = reduce(DataFrame.unionAll, rounds)
        rows = rows.where((F.col("core") == ELEMENTS) & (F.col("writer") == source_id))
        root = tree_path(OPERATIONS, "")
        operations = rows.where(F.col("tree_path") == F.concat(F.lit(root), F.col("identity")))
        read_ids |= {row["identity"] for row in operations.select("identity").distinct().toLocalIterator()}
        removed = remove_superseded(
            linking,
            _executions(rows, source_id),
            read_ids,
            _gone(outcomes, ELEMENTS),
            _gone(outcomes, RELATIONS),
        )
    if whole:
        mark_unread_incomplete(linking, source_id, read_ids)
    return removed


def _executions(rows: DataFrame, source_id: str) -> Iterator[Envelope]:
    """Yield the newest envelope of each execution, with only the columns in `_OF_EXECUTIONS`."""
    newest = (
        rows.where(F.col("type") == EntityType.OPERATION_EXECUTION.value)
        .groupBy("identity")
        .agg(F.max(F.struct(*_OF_EXECUTIONS)).alias("newest"))
    )
    for row in newest.toLocalIterator():
        yield Envelope(ELEMENTS, row["identity"], source_id, **row["newest"].asDict())


def _gone(outcomes: DataFrame, core: str) -> list[str]:
    rows = outcomes.where((F.col("core") == core) & (F.col("outcome") == GONE_REPORTED))
    return [row["identity"] for row in rows.select("identity").toLocalIterator()]
