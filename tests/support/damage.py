"""Random damage to a record: to its bytes, or to a value in it."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Mapping
from typing import Any, Final

OfBytes = Callable[[bytes, random.Random], bytes]
OfValue = Callable[[Any, random.Random], Any]

# -- Bytes ---------------------------------------------------------------------------------------------------------------


def cut(record: bytes, chance: random.Random) -> bytes:
    return record[: chance.randrange(len(record))]


def beheaded(record: bytes, chance: random.Random) -> bytes:
    return record[chance.randrange(1, len(record)) :]


def flipped(record: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(record)
    for _ in range(chance.choice((1, 1, 1, 4, 30))):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def overwritten(record: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(record)
    for _ in range(chance.choice((1, 3, 20))):
        damaged[chance.randrange(len(damaged))] = chance.choice((0, 0x22, 0x5C, 0x7B, 0x7D, 0x7F, 0x80, 0xFF))
    return bytes(damaged)


def with_nuls(record: bytes, chance: random.Random) -> bytes:
    at, count = chance.randrange(len(record)), chance.choice((1, 7, 512))
    return record[:at] + bytes(min(count, len(record) - at)) + record[at + count :]


def nothing_but_nuls(record: bytes, chance: random.Random) -> bytes:
    return bytes(len(record))


def not_utf_8(record: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(record) + 1)
    other = chance.choice((b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xc0\xaf", b"\xe9"))
    return record[:at] + other + record[at:]


def without_a_piece(record: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(record))
    return record[:at] + record[at + chance.choice((1, 2, 40, 400)) :]


def with_a_piece_more(record: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(record) + 1)
    return record[:at] + chance.randbytes(chance.choice((1, 2, 40))) + record[at:]


def with_a_newline(record: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(record) + 1)
    return record[:at] + chance.choice((b"\n", b"\r\n", b"\r", b"\n\n\n", b"\xe2\x80\xa8")) + record[at:]


def twice_on_a_line(record: bytes, chance: random.Random) -> bytes:
    return record + chance.choice((b"", b" ", b",")) + record


def cut_and_followed_by_another(record: bytes, chance: random.Random) -> bytes:
    """Simulates a full disk: a record is cut, and the next one follows on the same line."""
    return cut(record, chance) + record


def in_utf_16(record: bytes, chance: random.Random) -> bytes:
    return record.decode("utf-8", "replace").encode("utf-16")


def behind_a_mark(record: bytes, chance: random.Random) -> bytes:
    return b"\xef\xbb\xbf" + record


def compressed(record: bytes, chance: random.Random) -> bytes:
    return gzip.compress(record, 1, mtime=0)


def compressed_and_cut(record: bytes, chance: random.Random) -> bytes:
    return cut(gzip.compress(record, 1, mtime=0), chance)


def noise(record: bytes, chance: random.Random) -> bytes:
    return chance.randbytes(chance.choice((1, 20, 2_000)))


def blank(record: bytes, chance: random.Random) -> bytes:
    return chance.choice((b"", b" ", b"\t\t", b"\r"))


def of_another_kind(record: bytes, chance: random.Random) -> bytes:
    return chance.choice(
        (b"null", b"[]", b"{}", b"0", b'"text"', b"NaN", b"<html>Bad Gateway</html>", b"{" * 90)
    )


OF_BYTES: Final[tuple[OfBytes, ...]] = (
    cut,
    beheaded,
    flipped,
    overwritten,
    with_nuls,
    nothing_but_nuls,
    not_utf_8,
    without_a_piece,
    with_a_piece_more,
    with_a_newline,
    twice_on_a_line,
    cut_and_followed_by_another,
    in_utf_16,
    behind_a_mark,
    compressed,
    compressed_and_cut,
    noise,
    blank,
    of_another_kind,
)


# -- Values --------------------------------------------------------------------------------------------------------------

ODD_TEXTS: Final = (
    "",
    " ",
    "\0",
    "a\0b",
    "\n",
    "\x1b[31m",
    "##",
    "/",
    "//",
    "%2F",
    "..",
    "a" * 70_000,
    "é" * 40_000,
    "\u202e",
    "\U0001f600",
    "\ud800",
    "a\udc00b",
    "\ufffd",
    "'\"`\\",
    "{!func}x",
    "hdfs://[::1",
    "hdfs://nn:99999999/x",
    "s3a://u:p@/x",
    "file:///",
    "-1",
    "NaN",
    "1e999",
    "١٢٣",
)
ODD_NUMBERS: Final = (
    0,
    -1,
    (1 << 31) - 1,
    -(1 << 31),
    (1 << 53) + 1,
    (1 << 63) - 1,
    1 << 63,
    -(1 << 63) - 1,
    (1 << 64) - 1,
    10**30,
    10**5_000,
    0.5,
    -0.0,
    1e308,
    float("nan"),
    float("inf"),
)
_OTHERS: Final[tuple[Any, ...]] = (
    None,
    True,
    False,
    0,
    1.5,
    "text",
    [],
    {},
    [None],
    {"a": 1},
    [[1], [2]],
    [{"a": []}],
)


def replaced(value: Any, chance: random.Random, other: Callable[[Any], Any]) -> Any:
    """Return a copy of ``value`` in which one random value, at any depth, is replaced by the result of ``other``."""
    match value:
        case dict() if value and chance.random() < 0.9:
            name = chance.choice(list(value))
            return {**value, name: replaced(value[name], chance, other)}
        case list() if value and chance.random() < 0.9:
            at = chance.randrange(len(value))
            return [*value[:at], replaced(value[at], chance, other), *value[at + 1 :]]
    return other(value)


def of_another_type(value: Any, chance: random.Random) -> Any:
    return replaced(value, chance, lambda _: chance.choice(_OTHERS))


def with_an_odd_text(value: Any, chance: random.Random) -> Any:
    return replaced(value, chance, lambda _: chance.choice(ODD_TEXTS))


def with_an_odd_number(value: Any, chance: random.Random) -> Any:
    return replaced(value, chance, lambda _: chance.choice(ODD_NUMBERS))


def nested_deep(value: Any, chance: random.Random) -> Any:
    """The result must be written with `to_json`, because no JSON library can write values nested this deeply."""
    depth = chance.choice((50, 500, 1_100, 20_000))
    return replaced(value, chance, lambda inner: Nested(inner, depth, as_object=chance.random() < 0.5))


def without_a_field(value: Any, chance: random.Random) -> Any:
    def without(inner: Any) -> Any:
        if isinstance(inner, dict) and inner:
            left_out = chance.choice(list(inner))
            return {name: each for name, each in inner.items() if name != left_out}
        return None

    return _of_an_object(value, chance, without)


def with_fields_swapped(value: Any, chance: random.Random) -> Any:
    def swapped(inner: Any) -> Any:
        if isinstance(inner, dict) and len(inner) > 1:
            one, other = chance.sample(list(inner), 2)
            return {**inner, one: inner[other], other: inner[one]}
        return inner

    return _of_an_object(value, chance, swapped)


def with_a_field_renamed(value: Any, chance: random.Random) -> Any:
    def renamed(inner: Any) -> Any:
        if isinstance(inner, dict) and inner:
            one = chance.choice(list(inner))
            name = chance.choice((one.upper(), one + " ", "", one[:-1], "__class__"))
            return {name if each == one else each: inner[each] for each in inner}
        return inner

    return _of_an_object(value, chance, renamed)


def with_a_field_twice(value: Any, chance: random.Random) -> Any:
    """JSON allows duplicate names; the later value counts."""

    def twice(inner: Any) -> Any:
        if isinstance(inner, dict) and inner:
            return Twice(inner, chance.choice(list(inner)), chance.choice(_OTHERS))
        return inner

    return _of_an_object(value, chance, twice)


def with_a_list_many_times(value: Any, chance: random.Random) -> Any:
    return replaced(value, chance, lambda inner: (inner if isinstance(inner, list) else [inner]) * 300)


def _of_an_object(value: Any, chance: random.Random, change: Callable[[Any], Any]) -> Any:
    """Apply ``change`` to a random object in the value, possibly to the value itself."""
    if isinstance(value, dict) and value and chance.random() < 0.6:
        inner = [name for name, each in value.items() if isinstance(each, dict | list) and each]
        if inner:
            name = chance.choice(inner)
            return {**value, name: _of_an_object(value[name], chance, change)}
    if isinstance(value, list) and value:
        at = chance.randrange(len(value))
        return [*value[:at], _of_an_object(value[at], chance, change), *value[at + 1 :]]
    return change(value)


OF_VALUES: Final[tuple[OfValue, ...]] = (
    of_another_type,
    with_an_odd_text,
    with_an_odd_number,
    nested_deep,
    without_a_field,
    with_fields_swapped,
    with_a_field_renamed,
    with_a_field_twice,
    with_a_list_many_times,
)


# -- As JSON -------------------------------------------------------------------------------------------------------------


class Nested:
    """A value enclosed in ``depth`` lists or objects."""

    def __init__(self, inner: Any, depth: int, *, as_object: bool) -> None:
        self.inner, self.depth, self.as_object = inner, depth, as_object


class Twice:
    """An object in which one name occurs twice; the extra one comes first."""

    def __init__(self, inner: Mapping[str, Any], name: str, other: Any) -> None:
        self.inner, self.name, self.other = inner, name, other


def to_json(value: Any) -> str:
    """Return compact JSON, even for damaged values: half surrogate pairs are escaped, and large numbers keep all
    digits.
    """
    match value:
        case Nested(inner=inner, depth=depth, as_object=as_object):
            opened, closed = ('{"a":', "}") if as_object else ("[", "]")
            return opened * depth + to_json(inner) + closed * depth
        case Twice(inner=inner, name=name, other=other):
            return f"{{{json.dumps(name)}:{to_json(other)},{to_json(inner)[1:]}"
        case dict():
            return "{" + ",".join(f"{json.dumps(name)}:{to_json(each)}" for name, each in value.items()) + "}"
        case list():
            return "[" + ",".join(map(to_json, value)) + "]"
        case int() if not isinstance(value, bool) and abs(value) > 1 << 80:
            return "-" * (value < 0) + "1" + "0" * (5_000 if abs(value) > 10**100 else 30)
    return json.dumps(value)


def damaged_json(record: Any, chance: random.Random) -> tuple[str, bytes]:
    """Damage one record, either its bytes or a value in it. Return the name of the damage and the damaged bytes."""
    if chance.random() < len(OF_BYTES) / (len(OF_BYTES) + len(OF_VALUES)):
        of_bytes = chance.choice(OF_BYTES)
        return of_bytes.__name__, of_bytes(to_json(record).encode(), chance)
    of_value = chance.choice(OF_VALUES)
    return of_value.__name__, to_json(of_value(record, chance)).encode()
