"""The documents that the index would keep for records, without an index."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from navlin.index.journal.rejects import reject_documents
from navlin.index.write.documents import entity_envelope, placeholder_envelopes, relation_envelope
from navlin.index.write.listing import listing_envelopes
from navlin.model.records import Entity, Listing, Record, Reject, Relation


def stored(records: Iterable[Record]) -> str:
    """Return as text the envelopes of entities, listings, relations and granted entities, and the documents of rejects."""
    return repr([kept for record in records for kept in _kept(record)])


def _kept(record: Record) -> Iterator[Any]:
    match record:
        case Entity():
            yield entity_envelope(record)
        case Listing():
            for batch in listing_envelopes(record):
                yield from batch.to_pylist()
        case Relation():
            yield relation_envelope(record, "")
            for end in (record.ep1, record.ep2):
                if not end.source.configured:
                    yield from placeholder_envelopes(end, record.as_of_ms)
        case Reject():
            yield from reject_documents("S-1", "", "run", 0, [record])
