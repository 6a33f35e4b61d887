"""Decode tens of thousands of protobuf messages at a time, in parallel.

A `MessageBytes` holds many messages, and each message has a cursor. A step takes the lowest field tag at any cursor, and
decodes that field with array operations in all messages whose cursor is at this tag. Writers put fields in ascending
order, so messages of one kind need the same steps. Any other order is decoded as well, in more steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Final

import numpy as np

from extractors.hdfs.image import wire
from extractors.hdfs.image.arrays import Flags, Ints, MessageBytes, Numbers, varints
from extractors.hdfs.image.errors import Malformed

FEW_ROWS: Final = 24
STEPS_IN_COMMON: Final = 24
"""Number of steps after which the remaining fields are read message by message if fewer than `FEW_ROWS` messages have
the next field. A step costs the same for one row as for a hundred, and a single file may have a hundred thousand
blocks.
"""

_DONE: Final = 0xFFFF


class FieldKind(Enum):
    NUMBER = auto()
    """A varint. It gives one column of numbers, 0 if absent."""
    FIXED64 = auto()
    SPAN = auto()
    """Bytes or a nested message. It gives two columns, start and end, both 0 if absent."""
    EACH = auto()
    """A nested message that may occur many times, available from `Decoded.spans`."""


@dataclass(frozen=True, slots=True)
class WantedField:
    """A wanted field: the name of its column, and its kind."""

    column: str
    kind: FieldKind


Shape = Mapping[int, WantedField]
"""Tag as written (``number << 3 | wire type``) → wanted field. All other fields are skipped."""


def tag(number: int, wire_type: int) -> int:
    return number << 3 | wire_type


@dataclass(slots=True)
class Decoded:
    """Columns with one row for each message."""

    numbers: dict[str, Numbers] = field(default_factory=dict)
    starts: dict[str, Ints] = field(default_factory=dict)
    ends: dict[str, Ints] = field(default_factory=dict)
    each: dict[str, list[tuple[Ints, Ints, Ints]]] = field(default_factory=dict)

    def has(self, column: str) -> Flags:
        """Return a mask of the rows in which this SPAN is present."""
        return self.ends[column] > 0

    def spans(self, column: str) -> tuple[Ints, Ints, Ints]:
        """Return three arrays: row, start and end of each message of an EACH field. They are ordered only within a
        row.
        """
        if not self.each[column]:
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows, starts, ends = (np.concatenate(parts) for parts in zip(*self.each[column], strict=True))
        return rows, starts, ends


def decode(page: MessageBytes, start: Ints, end: Ints, shape: Shape, *, strict: bool = False) -> Decoded:
    """Decode the messages between ``start`` and ``end``. Raises `Malformed`; with ``strict``, also for a field that is
    not in ``shape``.
    """
    count = len(start)
    out = Decoded()
    for known in shape.values():
        match known.kind:
            case FieldKind.SPAN:
                out.starts[known.column] = np.zeros(count, np.int64)
                out.ends[known.column] = np.zeros(count, np.int64)
            case FieldKind.EACH:
                out.each[known.column] = []
            case _:
                out.numbers[known.column] = np.zeros(count, np.uint64)
    cursor = start.copy()
    tags = page.bytes[cursor].astype(np.uint16)
    tags[cursor >= end] = _DONE
    steps = 0
    while (lowest := int(tags.min(initial=_DONE))) != _DONE:
        here = np.flatnonzero(tags == lowest)
        steps += 1
        if len(here) < FEW_ROWS and steps > STEPS_IN_COMMON:
            for row in here.tolist():
                _one_by_one(page, out, row, int(cursor[row]), int(end[row]), shape, strict=strict)
            tags[here] = _DONE
            continue
        if strict and lowest not in shape:
            raise Malformed(f"tag {lowest} is not of a field of this message", int(cursor[here[0]]))
        rows: Any = slice(None) if len(here) == count else here
        _step(page, out, rows, cursor, end, lowest, shape)
        behind = cursor[rows]
        after = page.bytes[behind].astype(np.uint16)
        after[behind >= end[rows]] = _DONE
        tags[rows] = after
    return out


def _step(
    page: MessageBytes, out: Decoded, rows: Any, cursor: Ints, end: Ints, lowest: int, shape: Shape
) -> None:
    """Decode the field with this tag in these rows, and move the cursors of these rows past the field."""
    begin = cursor[rows]
    limit = end[rows]
    if lowest >= 0x80 or lowest < 8:
        tags, lengths = varints(page, begin)
        _check(begin + lengths, limit, begin, "a tag is cut off by the end of the message")
        _check_tags(tags, begin)
        cursor[rows] = _skip_each(page, begin + lengths, limit, begin, tags & np.uint64(7))
        return
    known = shape.get(lowest)
    at = begin + 1
    if known is None:
        cursor[rows] = _skip(page, at, limit, begin, lowest & 7)
        return
    match known.kind:
        case FieldKind.NUMBER:
            numbers, lengths = varints(page, at)
            behind = at + lengths
            _check(behind, limit, begin, "a number is cut off by the end of the message")
            out.numbers[known.column][rows] = numbers
        case FieldKind.FIXED64:
            behind = at + 8
            _check(behind, limit, begin, "a number is cut off by the end of the message")
            out.numbers[known.column][rows] = page.words[at]
        case FieldKind.SPAN:
            first, behind = _span(page, at, limit, begin)
            out.starts[known.column][rows] = first
            out.ends[known.column][rows] = behind
        case _:
            first, behind = _span(page, at, limit, begin)
            numbers_of = np.arange(len(cursor)) if isinstance(rows, slice) else rows
            out.each[known.column].append((numbers_of, first, behind))
    cursor[rows] = behind


def _skip_each(page: MessageBytes, at: Ints, limit: Ints, begin: Ints, wires: Numbers) -> Ints:
    behind = at.copy()
    for wire_type in np.unique(wires):
        of = np.flatnonzero(wires == wire_type)
        behind[of] = _skip(page, at[of], limit[of], begin[of], int(wire_type))
    return behind


def _skip(page: MessageBytes, at: Ints, limit: Ints, begin: Ints, wire_type: int) -> Ints:
    match wire_type:
        case 0:
            behind = at + varints(page, at)[1]
        case 1:
            behind = at + 8
        case 2:
            return _span(page, at, limit, begin)[1]
        case 5:
            behind = at + 4
        case _:
            raise Malformed(f"a field is of wire type {wire_type}", int(begin[0]))
    _check(behind, limit, begin, "a field is cut off by the end of the message")
    return behind


def _span(page: MessageBytes, at: Ints, limit: Ints, begin: Ints) -> tuple[Ints, Ints]:
    sizes, lengths = varints(page, at)
    first = at + lengths
    room = limit - first
    bad = (room < 0) | (sizes > np.maximum(room, 0).astype(np.uint64))
    if bad.any():
        row = int(np.argmax(bad))
        raise Malformed(
            f"a field claims {sizes[row]} bytes where {max(room[row], 0)} are left", int(begin[row])
        )
    return first, first + sizes.astype(np.int64)


def _check(behind: Ints, limit: Ints, begin: Ints, what: str) -> None:
    bad = behind > limit
    if bad.any():
        raise Malformed(what, int(begin[int(np.argmax(bad))]))


def _check_tags(tags: Numbers, begin: Ints) -> None:
    # A tag of two bytes that would fit into one byte is invalid, because it would hide a known field from the columns.
    bad = (tags < 0x80) | (tags >= 1 << 32)
    if bad.any():
        row = int(np.argmax(bad))
        raise Malformed(f"{tags[row]} is not the tag of a field here", int(begin[row]))


def _one_by_one(
    page: MessageBytes, out: Decoded, row: int, at: int, end: int, shape: Shape, *, strict: bool
) -> None:
    many: dict[str, list[tuple[int, int]]] = {}
    for found in wire.read_fields(page.data, at, end):
        known = shape.get(found.number << 3 | found.wire)
        if known is None:
            if strict:
                raise Malformed(f"field {found.number} does not belong to this message", found.start)
            continue
        match known.kind:
            case FieldKind.SPAN:
                out.starts[known.column][row] = found.start
                out.ends[known.column][row] = found.end
            case FieldKind.EACH:
                many.setdefault(known.column, []).append((found.start, found.end))
            case _:
                out.numbers[known.column][row] = found.value
    for column, spans in many.items():
        pairs = np.array(spans, np.int64)
        rows = np.full(len(spans), row, np.int64)
        out.each[column].append((rows, pairs[:, 0].copy(), pairs[:, 1].copy()))
