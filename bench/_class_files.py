"""Read class files in jars: their literals, and the part that determines the printed names of plan nodes (ancestors,
methods, and strings in methods)."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

NAMING: Final = ("nodeName", "$init$", "<init>")
"""Methods that are read: ``nodeName``, and the initializers of traits and constructors, which may compute the name."""

ABSTRACT, INTERFACE, BRIDGE = 0x0400, 0x0200, 0x0040
TEXT, NUMBER, WIDE, CLASS, STRING, DYNAMIC = 1, (3, 4), (5, 6), 7, 8, 18
SIZES: Final = {3: 4, 4: 4, 5: 8, 6: 8, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Size in bytes of each kind of constant, without its tag. Strings, classes and references to strings are decoded
instead."""

LONGER: Final[Mapping[int, int]] = (
    dict.fromkeys((16, 18, *range(21, 26), *range(54, 59), 169, 188), 2)
    | dict.fromkeys((17, 19, 20, 132, *range(153, 169), *range(178, 185), 187, 189, 192, 193, 198, 199), 3)
    | {185: 5, 186: 5, 197: 4, 200: 5, 201: 5}
)
"""Opcode → length of the instruction, if longer than one byte. Switches and ``wide`` are handled in code."""


@dataclass(frozen=True, slots=True)
class ClassFile:
    """A class: the names of its ancestors, and the strings (constants and parts of concatenations) in its naming
    methods."""

    name: str
    ancestors: tuple[str, ...]
    flags: int
    methods: Mapping[str, tuple[str, ...]]

    @property
    def concrete(self) -> bool:
        return not self.flags & (ABSTRACT | INTERFACE)

    @property
    def simple_name(self) -> str:
        """The name as ``Class.getSimpleName`` returns it: a Scala object keeps its ``$``, and a nested class loses
        the outer name."""
        last = self.name.rpartition("/")[2]
        outer, dollar, inner = last.rstrip("$").rpartition("$")
        return (inner if outer and dollar else last.rstrip("$")) + ("$" if last.endswith("$") else "")


def classes_of(jar: Path) -> Iterator[ClassFile]:
    with zipfile.ZipFile(jar) as archive:
        for entry in archive.namelist():
            if entry.endswith(".class") and not entry.endswith("module-info.class"):
                yield read_class(archive.read(entry))


def read_class(data: bytes) -> ClassFile:
    constants, _, at = _constants(data)
    flags, this, parent, count = struct.unpack_from(">HHHH", data, at)
    interfaces = struct.unpack_from(f">{count}H", data, at + 8)
    _, at = _members(data, at + 8 + 2 * count)
    methods, at = _members(data, at)
    recipes = _recipes(data, at, constants)
    texts: dict[str, tuple[str, ...]] = {}
    for name, method_flags, attributes in methods:
        if method_flags & BRIDGE or constants[name] not in NAMING:
            continue
        code = next((body for key, body in attributes if constants[key] == "Code"), b"")
        texts[constants[name]] = texts.get(constants[name], ()) + tuple(_texts(code, constants, recipes))
    ancestors = tuple(constants[constants[each]] for each in (parent, *interfaces) if each)
    return ClassFile(constants[constants[this]], ancestors, flags, texts)


def literals_of(data: bytes) -> list[str]:
    """Return the string literals of a class file, in the order of its constant pool."""
    constants, literals, _ = _constants(data)
    return [constants[constants[each]] for each in literals]


def _constants(data: bytes) -> tuple[list[Any], list[int], int]:
    """Return the constant pool, the places of string literals in it, and the offset after it.

    In the pool, a text is a Python string, a class or string constant is the index of its text, and a concatenation
    is the number of its bootstrap method."""
    count = struct.unpack_from(">H", data, 8)[0]
    pool: list[Any] = [None] * count
    literals: list[int] = []
    place, at = 1, 10
    while place < count:
        tag = data[at]
        at += 1
        if tag == TEXT:
            size = struct.unpack_from(">H", data, at)[0]
            pool[place] = data[at + 2 : at + 2 + size].decode("utf-8", "replace")
            at += 2 + size
        elif tag in (CLASS, STRING):
            pool[place] = struct.unpack_from(">H", data, at)[0]
            literals += [place] if tag == STRING else []
            at += 2
        else:
            if tag == DYNAMIC:
                pool[place] = struct.unpack_from(">H", data, at)[0]
            at += SIZES[tag]
        place += 2 if tag in WIDE else 1
    return pool, literals, at


def _members(data: bytes, at: int) -> tuple[list[tuple[int, int, list[tuple[int, bytes]]]], int]:
    """Return the fields or methods as (name index, flags, attributes), and the offset after them."""
    count = struct.unpack_from(">H", data, at)[0]
    at += 2
    found = []
    for _ in range(count):
        flags, name, _ = struct.unpack_from(">HHH", data, at)
        attributes, at = _attributes(data, at + 6)
        found.append((name, flags, attributes))
    return found, at


def _attributes(data: bytes, at: int) -> tuple[list[tuple[int, bytes]], int]:
    count = struct.unpack_from(">H", data, at)[0]
    at += 2
    found = []
    for _ in range(count):
        name, size = struct.unpack_from(">HI", data, at)
        found.append((name, data[at + 6 : at + 6 + size]))
        at += 6 + size
    return found, at


def _recipes(data: bytes, at: int, constants: list[Any]) -> list[str]:
    """For each bootstrap method, return the text that it concatenates, with ``\\1`` for each variable part."""
    attributes, _ = _attributes(data, at)
    body = next((body for name, body in attributes if constants[name] == "BootstrapMethods"), None)
    found: list[str] = []
    if body is None:
        return found
    place = 2
    for _ in range(struct.unpack_from(">H", body)[0]):
        count = struct.unpack_from(">H", body, place + 2)[0]
        arguments = struct.unpack_from(f">{count}H", body, place + 4)
        text = (
            constants[constants[arguments[0]]]
            if arguments and isinstance(constants[arguments[0]], int)
            else ""
        )
        found.append(text if isinstance(text, str) else "")
        place += 4 + 2 * count
    return found


def _texts(code: bytes, constants: list[Any], recipes: list[str]) -> Iterator[str]:
    """Yield the strings that a method loads, in the order of its instructions."""
    if not code:
        return
    size = struct.unpack_from(">I", code, 4)[0]
    body, at = code[8 : 8 + size], 0
    while at < size:
        opcode = body[at]
        if opcode in (18, 19):
            place = body[at + 1] if opcode == 18 else struct.unpack_from(">H", body, at + 1)[0]
            if isinstance(constants[place], int) and isinstance(text := constants[constants[place]], str):
                yield text
        elif opcode == 186:
            yield from recipes[constants[struct.unpack_from(">H", body, at + 1)[0]]].split("\1")
        at += _length(body, at)


def _length(body: bytes, at: int) -> int:
    opcode = body[at]
    if opcode == 196:
        return 6 if body[at + 1] == 132 else 4
    if opcode in (170, 171):
        start = at + 4 - at % 4
        if opcode == 170:
            low, high = struct.unpack_from(">ii", body, start + 4)
            return int(start + 12 + 4 * (high - low + 1) - at)
        return start + 8 + 8 * int(struct.unpack_from(">i", body, start + 4)[0]) - at
    return LONGER.get(opcode, 1)
