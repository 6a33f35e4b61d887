"""Configurations of Pig's jobs: captured ones, and values as Pig serialises them."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

SALES: Final = tuple(f"job_1795726916337_{number:04d}" for number in (12, 13, 14, 16, 18))
"""The captured jobs of one run of ``pg/sales.pig`` by Pig 0.18, in their order."""
OLDER: Final = "pig-0.17"
"""The captured job of ``pg/s17.pig`` by Pig 0.17."""


def captured(corpora: Path, name: str) -> dict[str, Any]:
    """Return the properties of a captured job: names as in `SALES`, or `OLDER`."""
    text = (corpora / "seed-systems" / "pig" / f"conf-{name}.json").read_bytes()
    return {each["name"]: each["value"] for each in orjson.loads(text)["conf"]["property"]}


@dataclass
class Written:
    """An object to serialise: its class, its fields as (type code and name → value), and what its class writes."""

    class_name: str
    fields: dict[str, Any] = field(default_factory=dict)
    items: Sequence[Any] | None = None


def serialised(value: Any) -> bytes:
    """Serialise a text, None, a `Written` or a list, without references, as Java does."""
    return b"\xac\xed\x00\x05" + _content(value)


def encoded(value: Any) -> str:
    """Serialise, compress and encode a value as Pig does."""
    return base64.b64encode(zlib.compress(serialised(value))).decode()


def a_list(items: Iterable[Any]) -> Written:
    return Written("java.util.ArrayList", {}, list(items))


def a_store(
    name: str,
    function: str,
    *columns: tuple[str, int],
    temporary: bool = False,
    arguments: Sequence[str] = (),
) -> Written:
    """A store of a plan; ``columns`` are pairs of a name and a type code."""
    fields = [Written("FieldSchema", {"Lalias": column, "Btype": kind}) for column, kind in columns]
    schema = Written("Schema", {"LmFields": a_list(fields)}) if columns else None
    return Written(
        "org.apache.pig.POStore",
        {
            "ZisTmpStore": temporary,
            "Lalias": "x",
            "LsFile": a_file(name, function, arguments),
            "Lschema": schema,
        },
    )


def a_file(name: str, function: str, arguments: Sequence[str] = ()) -> Written:
    of_function = Written("org.apache.pig.FuncSpec", {"LclassName": function, "[ctorArgs": list(arguments)})
    return Written("org.apache.pig.impl.io.FileSpec", {"LfileName": name, "LfuncSpec": of_function})


def _content(value: Any) -> bytes:
    match value:
        case None:
            return b"\x70"
        case str():
            return b"\x74" + _text(value)
        case list():
            of_class = b"\x72" + _text("[Ljava.lang.String;") + bytes(8) + b"\x02" + bytes(2) + b"\x78\x70"
            return b"\x75" + of_class + struct.pack(">I", len(value)) + b"".join(map(_content, value))
        case Written():
            return _object(value)
    raise TypeError(f"{value!r} cannot be serialised")


def _object(value: Written) -> bytes:
    described = b"".join(
        code[0].encode() + _text(code[1:]) + (b"\x74" + _text("Lx;") if code[0] in "L[" else b"")
        for code in value.fields
    )
    flags = b"\x02" if value.items is None else b"\x03"
    of_class = b"\x72" + _text(value.class_name) + bytes(8) + flags + struct.pack(">H", len(value.fields))
    fields = b"".join(
        struct.pack(f">{'?' if code[0] == 'Z' else 'b'}", each) if code[0] in "ZB" else _content(each)
        for code, each in value.fields.items()
    )
    rest = (
        b"" if value.items is None else b"\x77\x04\0\0\0\0" + b"".join(map(_content, value.items)) + b"\x78"
    )
    return b"\x73" + of_class + described + b"\x78\x70" + fields + rest


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">H", len(data)) + data
