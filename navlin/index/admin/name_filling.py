"""Backfill the field for searches by parts of names, in documents written before it existed. Solr derives the field
whenever a document is written, so rewriting a document is enough.

Until then, a search finds these documents only by whole words of their names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from navlin.index.graph.entity import ID
from navlin.index.schema.fields import ELEMENTS, RUNS
from navlin.index.search.name_pieces import NAME_PIECES
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.index.write.rewriting import WRITE_BATCH, rewrite
from navlin.model.batches import in_batches

_STATE: Final = "names"
_LACKING: Final = (
    f"{q.one_of('type', ('DATABASE', 'TABLE', 'VIEW', 'DATASET', 'FIELD'))} {q.present('originalDescription')}"
    f" {q.present('description')}"
)


def names_filled(solr: Solr) -> bool:
    """Whether all documents have the field for searches by parts of names."""
    return bool(solr.get(RUNS, [_STATE], ID))


def fill_names(solr: Solr, stop: Callable[[], bool] = lambda: False) -> int:
    """Rewrite the documents without the field, once per index, and return their number. ``stop`` is polled between
    batches; after a stop, the next call continues with the rest."""
    if names_filled(solr):
        return 0
    filled = 0
    for batch in in_batches(_lacking(solr), WRITE_BATCH):
        if stop():
            return filled
        filled += sum(1 for _ in rewrite(solr, ELEMENTS, batch, lambda document: document))
    if filled:
        solr.commit(ELEMENTS, soft=False)
    solr.add_all(RUNS, [{"identity": _STATE, "kind": _STATE}])
    solr.commit(RUNS, soft=False)
    return filled


def _lacking(solr: Solr) -> Iterator[str]:
    filters = (f"{q.EVERYTHING} -{q.present(NAME_PIECES)}",)
    for document in solr.cursor(ELEMENTS, _LACKING, ID, filters=filters):
        yield document["identity"]
