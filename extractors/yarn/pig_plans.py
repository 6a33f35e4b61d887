"""Decode the values that Pig serialises into its jobs' configurations: the script, the loads and the stores.

Pig serialises an object, compresses it with zlib, and encodes the bytes as base64; releases before 0.13 encode each
byte as two letters from a to p, and the script as base64 of its text. Only names and types are taken from a load or a
store, because the objects also contain all settings of the client, including passwords.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from extractors.yarn.java_serialised import MAGIC, JavaObject, NotSerialised, read

MAX_ENCODED_CHARS: Final = 4 << 20
MAX_DECODED_BYTES: Final = 8 << 20
MAX_STORES: Final = 1_000
MAX_COLUMNS: Final = 1_000
"""Maximum number of columns taken from one store."""
MAX_NAME_CHARS: Final = 1_000
"""Maximum length of the name of a column, a function or an alias."""

_TYPES: Final[Mapping[int, str]] = {
    5: "boolean", 10: "int", 15: "long", 20: "float", 25: "double", 30: "datetime", 50: "bytearray",
    55: "chararray", 65: "biginteger", 70: "bigdecimal", 100: "map", 110: "tuple", 120: "bag",
}  # fmt: skip
"""Type codes of `org.apache.pig.data.DataType`."""
_LETTERS: Final = re.compile(r"(?:[a-p]{2})+\Z")


@dataclass(frozen=True, slots=True)
class PlannedEnd:
    """A load or a store of a job's plan. ``name`` is the path or table as the script writes it, ``function`` the class
    that reads or writes it. ``temporary`` is true if only another job of the script reads it. ``columns`` are pairs of
    (name, type).
    """

    name: str
    function: str = ""
    temporary: bool = False
    alias: str = ""
    columns: tuple[tuple[str, str], ...] = ()


def stores(value: str) -> tuple[PlannedEnd, ...] | None:
    """Return the stores in ``pig.map.stores`` or ``pig.reduce.stores``; None if the value cannot be decoded."""
    return _ends(value, "sFile")


def loads(value: str) -> tuple[PlannedEnd, ...] | None:
    """Return the loads in ``pig.loads`` or, before Pig 0.18, ``pig.inputs``; None if the value cannot be decoded."""
    return _ends(value, "lFile")


def script(value: str) -> str:
    """Return the text of ``pig.script``; "" if it cannot be decoded."""
    data = _bytes_of(value)
    if data.startswith(MAGIC):
        found = _object_of(data)
        return found if isinstance(found, str) else ""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def _ends(value: str, of_file: str) -> tuple[PlannedEnd, ...] | None:
    found = _object_of(_bytes_of(value))
    if not isinstance(found, JavaObject) or len(found.items) > MAX_STORES:
        return None
    ends = [_end(each, of_file) for each in found.items]
    return tuple(each for each in ends if each is not None) if all(ends) else None


def _end(found: Any, of_file: str) -> PlannedEnd | None:
    if not isinstance(found, JavaObject):
        return None
    # Before Pig 0.18, the list of loads contains the files themselves.
    file = found if "fileName" in found.fields else found.fields.get(of_file)
    if not isinstance(file, JavaObject):
        return None
    name, function = file.fields.get("fileName"), file.fields.get("funcSpec")
    if not isinstance(name, str):
        return None
    return PlannedEnd(
        name,
        _name(function.fields.get("className")) if isinstance(function, JavaObject) else "",
        found.fields.get("isTmpStore") is True,
        _name(found.fields.get("alias")),
        tuple(_columns(found.fields.get("schema"))),
    )


def _columns(schema: Any) -> Iterator[tuple[str, str]]:
    listed = schema.fields.get("mFields") if isinstance(schema, JavaObject) else None
    for each in listed.items[:MAX_COLUMNS] if isinstance(listed, JavaObject) else ():
        if isinstance(each, JavaObject):
            code = each.fields.get("type")
            yield _name(each.fields.get("alias")), _TYPES.get(code, "") if isinstance(code, int) else ""


def _name(value: Any) -> str:
    return value[:MAX_NAME_CHARS] if isinstance(value, str) else ""


def _object_of(data: bytes) -> Any:
    try:
        return read(data)
    except (NotSerialised, RecursionError):
        return None


def _bytes_of(value: str) -> bytes:
    """Return the decoded bytes, decompressed if they are compressed; b"" if that fails or is too large."""
    if len(value) > MAX_ENCODED_CHARS:
        return b""
    if _LETTERS.match(value):
        data = bytes(
            (ord(high) - 97) << 4 | (ord(low) - 97) for high, low in zip(value[::2], value[1::2], strict=True)
        )
        return _decompressed(data)
    try:
        data = base64.b64decode("".join(value.split()).translate(_OF_URLS), validate=True)
    except (binascii.Error, ValueError):
        return b""
    return _decompressed(data)


_OF_URLS: Final = str.maketrans("-_", "+/")


def _decompressed(data: bytes) -> bytes:
    if data[:1] != b"\x78":
        return data
    decompressing = zlib.decompressobj()
    try:
        found = decompressing.decompress(data, MAX_DECODED_BYTES)
    except zlib.error:
        # An uncompressed script may begin with an x.
        return data
    return found if decompressing.eof else b""
