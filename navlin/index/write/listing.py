"""Conversion of a `Listing` to envelopes, column by column, because there are tens of millions of files and a Python
object for each takes too long.

The result equals `entity_envelope` of each row, byte for byte for identity and digest; a test checks this.
`entity_envelope` itself converts the few rows that need more than copying: the root, and rows with a list, or with a
text that JSON escapes or that is longer than `INDEXED_TEXT_CHARS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from navlin.index.schema.envelope import Envelope
from navlin.index.schema.envelope_schema import ENVELOPE_SCHEMA
from navlin.index.schema.fields import (
    BOOLEANS,
    DATES,
    ELEMENTS,
    FIRST_DATE_MS,
    INDEXED_TEXT_CHARS,
    INTS,
    LAST_DATE_MS,
    LONGS,
    field_name,
    is_user_field,
    names_a_secret,
)
from navlin.index.schema.stored_form import PACKAGE, class_of
from navlin.index.write.documents import digest_of_json, entity_envelope
from navlin.model.identity import identify_each
from navlin.model.keys import EntityType, listed_path_key
from navlin.model.records import Entity, Listing
from navlin.model.redaction import MASK, redact, shows
from navlin.model.source import Source

ROWS_AT_ONCE: Final = 4_000
LOOKED_AT_ONCE: Final = 500
"""Number of texts in a block that is scanned for secrets. If a block may contain a secret, each of its texts is
redacted separately."""
NOT_AS_IT_IS: Final = r'["\\\x00-\x1f]'
"""Characters that JSON escapes."""


@dataclass(frozen=True, slots=True)
class _ListedRows:
    """A few thousand rows of a listing, as Arrow arrays."""

    source: Source
    as_of_ms: int
    paths: pa.Array
    directories: pa.Array
    attributes: Mapping[str, pa.Array]
    volatile: Mapping[str, pa.Array]
    where_claimed: pa.Array


def listing_envelopes(listing: Listing) -> Iterator[pa.RecordBatch]:
    """Yield batches whose columns are the envelope's fields, at most `ROWS_AT_ONCE` rows each, in the order of the
    rows. Texts are redacted. Null and empty texts become no field. Dates are epoch ms."""
    paths = _array(listing.paths).cast(pa.string())
    directories = _array(listing.directories)
    attributes = {name: _redacted(name, _array(column)) for name, column in listing.attributes.items()}
    volatile = {name: _redacted(name, _array(column)) for name, column in listing.volatile.items()}
    nowhere: Any = pa.repeat(pa.scalar(value=False), len(paths))
    where_claimed = nowhere if listing.where_claimed is None else _array(listing.where_claimed)
    for start in range(0, len(paths), ROWS_AT_ONCE):
        rows = _ListedRows(
            listing.source,
            listing.as_of_ms,
            paths.slice(start, ROWS_AT_ONCE),
            directories.slice(start, ROWS_AT_ONCE),
            {name: column.slice(start, ROWS_AT_ONCE) for name, column in attributes.items()},
            {name: column.slice(start, ROWS_AT_ONCE) for name, column in volatile.items()},
            where_claimed.slice(start, ROWS_AT_ONCE),
        )
        yield _by_column(rows)


def _array(column: Any) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks()
    return column if isinstance(column, pa.Array) else pa.array(column)


def _redacted(name: str, column: pa.Array) -> pa.Array:
    """Redact the strings of a column; mask all values if its name is that of a secret. Other types pass unchanged;
    lists are redacted later, row by row."""
    if names_a_secret(name):
        return pc.if_else(pc.is_valid(column), MASK, None)
    if pa.types.is_dictionary(column.type):
        return pa.DictionaryArray.from_arrays(column.indices, _redacted(name, column.dictionary))
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    pieces = [column.slice(start, LOOKED_AT_ONCE) for start in range(0, len(column), LOOKED_AT_ONCE)]
    if not any(may := [_may_have_secrets(piece) for piece in pieces]):
        return column
    return pa.concat_arrays(
        [_each_redacted(piece) if so else piece for piece, so in zip(pieces, may, strict=True)]
    )


def _may_have_secrets(column: pa.Array) -> bool:
    texts = column.drop_null().cast(pa.string())
    ends = pa.array([0, len(texts)], pa.int32())
    return shows(pc.binary_join(pa.ListArray.from_arrays(ends, texts), "\n")[0].as_buffer().to_pybytes())


def _each_redacted(column: pa.Array) -> pa.Array:
    return pa.array([None if text is None else redact(text) for text in column.to_pylist()], column.type)


def _by_column(rows: _ListedRows) -> pa.RecordBatch:
    source, paths = rows.source, rows.paths
    halves = pc.split_pattern(paths, "/", max_splits=1, reverse=True).flatten()
    above = halves.take(np.arange(0, len(halves), 2))
    above = pc.if_else(pc.equal(above, ""), "/", above).dictionary_encode()
    above_ids = pa.array(identify_each(source.id, above.dictionary.to_pylist())).take(above.indices)
    kinds = pc.if_else(rows.directories, EntityType.DIRECTORY.value, EntityType.FILE.value)
    own_class = class_of(source.type, EntityType.FILE.value) or ""
    derived: dict[str, Any] = {
        "packageName": PACKAGE,
        "internalType": own_class,
        "metaClassName": own_class,
    }
    fields: dict[str, Any] = {
        "type": kinds,
        "sourceType": source.type,
        "sourceId": source.id,
        "originalName": halves.take(np.arange(1, len(halves), 2)),
        "parentPath": above,
        "fileSystemPath": paths,
    } | _as_fields(rows.attributes)
    members = _members(fields | derived)
    volatile = _members(_as_fields(rows.volatile))
    # Derived fields count for the digest, but are not stored.
    canonical = _object(members.values())
    count = len(paths)
    columns: dict[str, Any] = {
        "core": ELEMENTS,
        "identity": pa.array(identify_each(source.id, paths.to_pylist()), pa.string()),
        "writer": source.id,
        "tree_path": pc.replace_substring(paths, "%", "%25"),
        "as_of": rows.as_of_ms,
        "digest": pa.array([digest_of_json(each) for each in canonical.to_pylist()], pa.int64()),
        "document": _object(piece for name, piece in members.items() if name not in derived),
        "volatile": _without_nothing(_object(volatile.values())),
        "type": kinds,
        "source_type": source.type,
        "parent_id": above_ids,
        "parent_type": EntityType.DIRECTORY.value,
        "where_claimed": rows.where_claimed,
        "user_fields": _user_fields(members | volatile),
    }
    batch = pa.RecordBatch.from_arrays(
        [_column(each, columns.get(each.name), count) for each in ENVELOPE_SCHEMA], schema=ENVELOPE_SCHEMA
    )
    unusual = np.flatnonzero(_unusual(rows).to_numpy(zero_copy_only=False))
    return _with(batch, unusual, [_by_row(rows, at) for at in unusual.tolist()]) if len(unusual) else batch


# -- Pieces of JSON ------------------------------------------------------------------------------------------------------


def _as_fields(attributes: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    return {field_name(name): column for name, column in attributes.items()}


def _members(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return field name → JSON member ``,"name":value``, as a column or as one text for all rows, ordered by name. The
    value is null for a row without the field."""
    members: dict[str, Any] = {}
    for name in sorted(fields):
        value = fields[name]
        if isinstance(value, str):
            if value:
                members[name] = f',"{name}":{orjson.dumps(value).decode()}'
        elif pa.types.is_dictionary(value.type):
            members[name] = _member(name, value.dictionary).take(value.indices)
        else:
            members[name] = _member(name, value)
    return members


def _member(name: str, column: pa.Array) -> pa.Array:
    if pa.types.is_null(column.type) or pa.types.is_list(column.type):  # lists are converted row by row
        return pa.nulls(len(column), pa.string())
    if name in DATES:
        text, quote = _dates(column), '"'
    elif name in LONGS or name in INTS or name in BOOLEANS:
        text, quote = pc.cast(column, pa.string()), ""
    else:
        text, quote = pc.cast(column, pa.string()), '"'
        text = pc.if_else(pc.equal(text, ""), None, text)
    return pc.binary_join_element_wise(f',"{name}":{quote}', text, quote, "", null_handling="emit_null")


def _dates(column: pa.Array) -> pa.Array:
    moments_ms = pc.cast(column, pa.int64())
    moments_ms = pc.if_else(_is_date(moments_ms), moments_ms, None)
    filled = pc.fill_null(moments_ms, 0).to_numpy(zero_copy_only=False).astype("datetime64[ms]")
    text = pa.array(np.datetime_as_string(filled, unit="ms", timezone="UTC"), pa.string())
    return pc.if_else(pc.is_null(moments_ms), None, text)


def _is_date(moments_ms: pa.Array) -> Any:
    return pc.and_(pc.greater_equal(moments_ms, FIRST_DATE_MS), pc.less_equal(moments_ms, LAST_DATE_MS))


def odd_dates_of(listing: Listing) -> Iterator[tuple[str, str, int]]:
    """Yield (path, column name and value, count) for each column of a listing with dates outside `FIRST_DATE_MS` to
    `LAST_DATE_MS`, which `listing_envelopes` leaves out. Path and value are those of the first such date; ``count`` is
    the number of them."""
    for name, values in {**listing.volatile, **listing.attributes}.items():
        if name not in DATES:
            continue
        moments_ms = pc.cast(_array(values), pa.int64())
        odd = pc.fill_null(pc.invert(_is_date(moments_ms)), fill_value=False)
        if count := pc.sum(odd).as_py():
            at = pc.index(odd, value=True).as_py()
            yield str(_array(listing.paths)[at]), f"{name} {moments_ms[at]}", count


def _object(members: Iterable[Any]) -> Any:
    """Join the members of each row to a JSON object."""
    pieces = list(members)
    if not pieces:
        return pa.scalar(b"{}")
    return pc.binary_join_element_wise(b"{", pc.cast(_listed(pieces), pa.binary()), b"}", b"")


def _user_fields(members: Mapping[str, Any]) -> Any:
    """Return for each row the names of its user fields, joined by commas."""
    names = [name for name in sorted(members) if is_user_field(name)]
    pieces = [pc.if_else(pc.is_valid(members[name]), f",{name}", None) for name in names]
    return _listed(pieces) if pieces else ""


def _listed(pieces: Sequence[Any]) -> pa.Array:
    """Join pieces that each begin with a comma, and drop the first comma; null pieces are left out."""
    joined = pc.binary_join_element_wise(*pieces, "", null_handling="replace", null_replacement="")
    # Without an explicit end, Arrow's kernel fails ("negative buffer resize").
    return pc.cast(pc.binary_slice(pc.cast(joined, pa.binary()), 1, 2**31 - 1), pa.string())


def _without_nothing(objects: Any) -> Any:
    return pc.if_else(pc.equal(objects, b"{}"), b"", objects)


def _column(column: pa.Field, values: Any, count: int) -> pa.Array:
    """Return a column of the envelope from an array, or a single value for all rows; None means the column's
    default."""
    if isinstance(values, pa.Array):
        return values.cast(column.type)
    value = Envelope._field_defaults[column.name] if values is None else values
    return pa.repeat(value if isinstance(value, pa.Scalar) else pa.scalar(value, column.type), count)


# -- Unusual rows --------------------------------------------------------------------------------------------------------


def _unusual(rows: _ListedRows) -> pa.Array:
    paths = rows.paths
    unusual = pc.or_(_hard(paths), pc.equal(paths, "/"))
    for column in (*rows.attributes.values(), *rows.volatile.values()):
        values = column.dictionary if pa.types.is_dictionary(column.type) else column
        if pa.types.is_list(values.type):
            hard = pc.is_valid(column)
        elif pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
            hard = _hard(values)
            if values is not column:
                hard = hard.take(column.indices)
        else:
            continue
        unusual = pc.or_(unusual, pc.fill_null(hard, fill_value=False))
    return unusual


def _hard(texts: pa.Array) -> pa.Array:
    return pc.or_(
        pc.match_substring_regex(texts, NOT_AS_IT_IS), pc.greater(pc.utf8_length(texts), INDEXED_TEXT_CHARS)
    )


def _by_row(rows: _ListedRows, at: int) -> Envelope:
    kind = EntityType.DIRECTORY if rows.directories[at].as_py() else EntityType.FILE
    envelope = entity_envelope(
        Entity(
            listed_path_key(rows.source, rows.paths[at].as_py(), kind),
            rows.as_of_ms,
            {name: column[at].as_py() for name, column in rows.attributes.items()},
            {name: column[at].as_py() for name, column in rows.volatile.items()},
        )
    )
    return envelope._replace(where_claimed=rows.where_claimed[at].as_py())


def _with(
    batch: pa.RecordBatch, places: np.ndarray[Any, Any], envelopes: Iterable[Envelope]
) -> pa.RecordBatch:
    """Return the batch with ``envelopes`` in place of the rows whose numbers are ``places``."""
    mask = np.zeros(len(batch), dtype=bool)
    mask[places] = True
    rows = zip(*envelopes, strict=True)
    columns = [
        pc.replace_with_mask(column, mask, pa.array(values, column.type))
        for column, values in zip(batch.columns, rows, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)
