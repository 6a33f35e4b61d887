"""Decode protobuf's wire format one message at a time, for headers and rare messages. For messages that come by the
million, `batch_decoder` is used instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from extractors.hdfs.image.errors import Malformed

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_VARINT_BYTES: Final = 10
MAX_NUMBER: Final = (1 << 64) - 1


class WireField(NamedTuple):
    """A field of a message. ``value`` is the value of a varint or fixed number; a field of bytes extends from
    ``start`` to ``end``.
    """

    number: int
    wire: int
    value: int
    start: int
    end: int


def read_varint(data: bytes | bytearray | memoryview, at: int, end: int) -> tuple[int, int]:
    """Return the number at ``at``, and the offset after it."""
    value = shift = 0
    for position in range(at, min(end, at + MAX_VARINT_BYTES)):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > MAX_NUMBER:
                break
            return value, position + 1
        shift += 7
    else:
        if end - at < MAX_VARINT_BYTES:
            raise Malformed("a number is cut off by the end of what contains it", at)
    raise Malformed("a number of more than 64 bits", at)


def read_fields(data: bytes | bytearray | memoryview, at: int, end: int) -> Iterator[WireField]:
    """Yield the fields of the message between ``at`` and ``end``, in the order in which they were written."""
    while at < end:
        begin = at
        tag, at = read_varint(data, at, end)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise Malformed(f"field number {number}", begin)
        match wire:
            case 0:
                value, at = read_varint(data, at, end)
                yield WireField(number, wire, value, begin, at)
                continue
            case 1:
                size = 8
            case 5:
                size = 4
            case 2:
                size, at = read_varint(data, at, end)
            case _:
                raise Malformed(f"field {number} is of wire type {wire}", begin)
        if size > end - at:
            raise Malformed(f"field {number} claims {size} bytes where {end - at} are left", begin)
        value = int.from_bytes(data[at : at + size], "little") if wire != BYTES else 0
        yield WireField(number, wire, value, at, at + size)
        at += size


def read_frames(data: bytes | memoryview, at: int = 0) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each message of a delimited sequence."""
    while at < len(data):
        size, start = read_varint(data, at, len(data))
        if size > len(data) - start:
            raise Malformed(f"a message claims {size} bytes where {len(data) - start} are left", at)
        at = start + size
        yield start, at


def fields_by_number(data: bytes, start: int, end: int) -> dict[int, int | bytes]:
    """Return field number → value of a small message, as a number or bytes. If a field occurs several times, the last
    one counts, as in protobuf.
    """
    return {
        each.number: data[each.start : each.end] if each.wire == BYTES else each.value
        for each in read_fields(data, start, end)
    }
