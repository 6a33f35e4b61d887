"""Read data from Java's serialisation, without any of its classes.

The format is that of the Java Object Serialization Specification (chapter 6). An object becomes its class's name, the
values of its fields, and the further objects that its class wrote. Bytes that a class wrote in a form of its own are
left out. Data may come from anyone, so its depth and its number of objects are bounded, and no class is ever made.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAX_DEPTH: Final = 100
MAX_OBJECTS: Final = 100_000
MAX_ELEMENTS: Final = 1_000_000
"""Maximum number of values in all arrays of primitive types together."""

MAGIC: Final = b"\xac\xed\x00\x05"
_NUMBERS: Final[Mapping[str, str]] = {
    "B": ">b", "C": ">H", "D": ">d", "F": ">f", "I": ">i", "J": ">q", "S": ">h", "Z": ">?",
}  # fmt: skip
_FIRST_HANDLE: Final = 0x7E0000
_WRITES, _SERIALIZABLE, _EXTERNALIZABLE, _BLOCKS = 1, 2, 4, 8
"""Flags of a class: it writes further data, is Serializable, is Externalizable, writes its data as blocks."""


class NotSerialised(ValueError):
    """The bytes are not serialised data, or exceed a limit."""


@dataclass(slots=True)
class JavaObject:
    """An object as data. ``fields`` has the fields of its class and those above. ``items`` are the objects that its
    classes wrote beyond the fields, such as the elements of a list.
    """

    class_name: str
    fields: dict[str, Any] = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class _Class:
    name: str
    flags: int = 0
    fields: list[tuple[str, str]] = field(default_factory=list)
    """(type code, name) of each field."""
    above: _Class | None = None

    def from_the_top(self) -> list[_Class]:
        """Return the classes whose data an object has, in their order."""
        found: list[_Class] = []
        at: _Class | None = self
        while at is not None:
            if len(found) >= MAX_DEPTH:
                raise NotSerialised("a class has too many classes above it")
            found.append(at)
            at = at.above
        return found[::-1]


class _End:
    """The end of the data that a class wrote itself."""


def read(data: bytes) -> Any:
    """Return the first object: a `JavaObject`, a string, a list for an array, or None. Raises `NotSerialised`."""
    if not data.startswith(MAGIC):
        raise NotSerialised("the data does not begin as serialised data does")
    return _ObjectReader(data).content()


class _ObjectReader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, len(MAGIC)
        self._handles: list[Any] = []
        self._depth = self._elements = 0
        self._read: Mapping[int, Callable[[], Any]] = {
            0x70: lambda: None,
            0x71: self._reference,
            0x72: self._class,
            0x73: self._object,
            0x74: lambda: self._known(self._text(self._unsigned(2))),
            0x75: self._array,
            0x76: lambda: self._known(self._class_of_object()),
            0x7C: lambda: self._known(self._text(self._unsigned(8))),
            0x7D: self._proxy,
            0x7E: self._enum,
        }

    def content(self) -> Any:
        """Return the next object."""
        found = self._next()
        if isinstance(found, _End):
            raise NotSerialised("the data of an object ends too early")
        return found

    def _next(self) -> Any:
        """Return the next object, without blocks of bytes before it; `_End` at the end of a class's own data."""
        while True:
            code = self._unsigned(1)
            if code == 0x77:
                self._bytes(self._unsigned(1))
            elif code == 0x7A:
                self._bytes(self._unsigned(4))
            elif code == 0x78:
                return _End()
            elif code in self._read:
                break
            else:
                raise NotSerialised(f"0x{code:02x} at byte {self._at - 1} begins no object")
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise NotSerialised(f"objects are more than {MAX_DEPTH} deep")
        found = self._read[code]()
        self._depth -= 1
        return found

    # -- Objects -------------------------------------------------------------------------------------------------------

    def _object(self) -> JavaObject:
        of_class = self._class_of_object()
        made = JavaObject(of_class.name if of_class else "")
        self._known(made)
        for each in of_class.from_the_top() if of_class else ():
            if each.flags & _SERIALIZABLE:
                for code, name in each.fields:
                    made.fields[name] = self._value(code)
                if each.flags & _WRITES:
                    self._rest(made.items)
            elif each.flags & _EXTERNALIZABLE:
                if not each.flags & _BLOCKS:
                    raise NotSerialised(f"the class {each.name:.100} has a form that only itself can read")
                self._rest(made.items)
        return made

    def _class(self) -> _Class:
        made = _Class(self._text(self._unsigned(2)))
        self._bytes(8)  # the version of the class
        self._known(made)
        made.flags = self._unsigned(1)
        for _ in range(self._unsigned(2)):
            code = chr(self._unsigned(1))
            name = self._text(self._unsigned(2))
            if code in "[L":
                self.content()  # the name of the field's class
            elif code not in _NUMBERS:
                raise NotSerialised(f"{code!r} is not the type of a field")
            made.fields.append((code, name))
        self._rest([])
        made.above = self._class_of_object()
        return made

    def _proxy(self) -> _Class:
        made = _Class("", _SERIALIZABLE)
        self._known(made)
        for _ in range(self._unsigned(4)):
            self._text(self._unsigned(2))
        self._rest([])
        made.above = self._class_of_object()
        return made

    def _class_of_object(self) -> _Class | None:
        found = self.content()
        if found is None or isinstance(found, _Class):
            return found
        raise NotSerialised("a class is described by something else")

    def _array(self) -> list[Any]:
        of_class = self._class_of_object()
        made: list[Any] = self._known([])
        code = of_class.name[1:2] if of_class else ""
        count = self._unsigned(4)
        if code in ("L", "["):
            made.extend(self.content() for _ in range(count))
        elif code in _NUMBERS:
            self._elements += count
            if self._elements > MAX_ELEMENTS:
                raise NotSerialised(f"arrays have more than {MAX_ELEMENTS} values")
            made.extend(self._value(code) for _ in range(count))
        else:
            raise NotSerialised("an array has an unknown type")
        return made

    def _enum(self) -> Any:
        self._class_of_object()
        place = len(self._handles)
        self._known(None)
        self._handles[place] = name = self.content()
        return name

    def _reference(self) -> Any:
        place = self._unsigned(4) - _FIRST_HANDLE
        if not 0 <= place < len(self._handles):
            raise NotSerialised("a reference leads nowhere")
        return self._handles[place]

    def _rest(self, items: list[Any]) -> None:
        """Add the objects that a class wrote beyond its fields, up to their end."""
        while not isinstance(found := self._next(), _End):
            items.append(found)

    def _known(self, made: Any) -> Any:
        if len(self._handles) >= MAX_OBJECTS:
            raise NotSerialised(f"there are more than {MAX_OBJECTS} objects")
        self._handles.append(made)
        return made

    # -- Bytes ---------------------------------------------------------------------------------------------------------

    def _value(self, code: str) -> Any:
        if code in "[L":
            return self.content()
        form = _NUMBERS[code]
        return struct.unpack(form, self._bytes(struct.calcsize(form)))[0]

    def _unsigned(self, size_bytes: int) -> int:
        return int.from_bytes(self._bytes(size_bytes))

    def _bytes(self, size_bytes: int) -> bytes:
        end = self._at + size_bytes
        if end > len(self._data):
            raise NotSerialised("the data ends too early")
        found = self._data[self._at : end]
        self._at = end
        return found

    def _text(self, size_bytes: int) -> str:
        """Return a text in Java's variant of UTF-8, which encodes NUL as two bytes and a pair of surrogates as six."""
        raw = self._bytes(size_bytes).replace(b"\xc0\x80", b"\0")
        try:
            text = raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            text = raw.decode("utf-8", "replace")
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
