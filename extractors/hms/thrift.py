"""Declare Thrift structures and calls in plain Python, for the accelerated protocol of the ``thrift`` package.

    @struct
    class Order(Struct):
        col: str | None = at(1)
        order: I32 = at(2)

    GET_ALL_TABLES = Call("get_all_tables", (str,), list[str], throws=(MetaException,))

The declaration replaces an interface definition file: `struct` derives the ``thrift_spec`` that Thrift's own compiler
would have written. Thrift's C code then reads and writes plain slotted dataclasses. Every field may be None, as on the
wire.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from thrift.protocol.TBase import TBase
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TException, TMessageType, TType

I16 = Annotated[int | None, TType.I16]
I32 = Annotated[int | None, TType.I32]
I64 = Annotated[int | None, TType.I64]

Spec = tuple[tuple[Any, ...] | None, ...]
"""Thrift's description of a structure. Index i holds the field with id i, as (id, type, name, arguments of the type,
default).
"""


class Struct(TBase):  # type: ignore[misc]  # thrift ships no annotations
    """Base of all structures."""

    __slots__ = ()
    thrift_spec: ClassVar[Spec] = ()


class DeclaredError(Struct, TException):  # type: ignore[misc]  # thrift ships no annotations
    """An error that a call declares. ``message`` is the service's reason for refusing the call."""

    message: str | None
    __hash__ = TException.__hash__

    def __str__(self) -> str:
        return self.message or type(self).__name__


_S = TypeVar("_S", bound=Struct)
_T = TypeVar("_T")


def at(field_id: int) -> Any:
    """Declare a field of a structure by its id on the wire."""
    return field(default=None, metadata={"id": field_id})


@dataclass_transform(field_specifiers=(at,))
def struct(cls: type[_S]) -> type[_S]:
    """Convert a declaration to a dataclass with the matching ``thrift_spec``."""
    made = dataclass(slots=True)(cls)
    hints = get_type_hints(made, include_extras=True)
    by_id = {one.metadata["id"]: one.name for one in fields(made)}
    made.thrift_spec = _spec({field_id: (name, hints[name]) for field_id, name in by_id.items()})
    return made


def refusal(name: str) -> type[DeclaredError]:
    """Return an exception class for an error of the service, with a message as its only field."""
    spec = _spec({1: ("message", str)})

    def __init__(self: DeclaredError, message: str | None = None) -> None:
        TException.__init__(self, message)
        self.message = message

    return type(name, (DeclaredError,), {"thrift_spec": spec, "__init__": __init__})


class Call(Generic[_T]):
    """A call of the service: its arguments, its result (None for a call without a result), and the errors it may
    raise.
    """

    def __init__(
        self,
        name: str,
        takes: tuple[Any, ...],
        returns: type[_T],
        *,
        throws: tuple[type[DeclaredError], ...] = (),
    ) -> None:
        self.name = name
        self._takes = _spec({i: (f"a{i}", hint) for i, hint in enumerate(takes, 1)})
        self._throws = tuple(f"e{i}" for i in range(1, len(throws) + 1))
        results = {i: (f"e{i}", error) for i, error in enumerate(throws, 1)}
        self._gives = _spec(results if returns is NoneType else {0: ("success", returns), **results})

    def send(self, protocol: Any, *arguments: Any) -> None:
        """Send the call over an open protocol. The result must be received before another call is sent."""
        named = SimpleNamespace(**{f"a{i}": value for i, value in enumerate(arguments, 1)})
        protocol.writeMessageBegin(self.name, TMessageType.CALL, 0)
        if protocol._fast_encode is not None:
            protocol.trans.write(protocol._fast_encode(named, [SimpleNamespace, self._takes]))
        else:
            protocol.writeStruct(named, self._takes)
        protocol.writeMessageEnd()
        protocol.trans.flush()

    def receive(self, protocol: Any) -> _T:
        """Return the result. Raises the service's errors, a `TApplicationException` if the service does not know the
        call or gives no result, and Thrift's transport and protocol errors.
        """
        name, kind, _ = protocol.readMessageBegin()
        if kind == TMessageType.EXCEPTION:
            unknown = TApplicationException()
            unknown.read(protocol)
            protocol.readMessageEnd()
            raise unknown
        if name != self.name:
            raise TProtocolException(TProtocolException.INVALID_DATA, "it answers another call")
        given = SimpleNamespace(success=None, **dict.fromkeys(self._throws))
        if protocol._fast_decode is not None:
            protocol._fast_decode(given, protocol, [SimpleNamespace, self._gives])
        else:
            protocol.readStruct(given, self._gives)
        protocol.readMessageEnd()
        for name in self._throws:
            if (error := getattr(given, name)) is not None:
                raise error
        if given.success is None and self._gives and self._gives[0] is not None:
            raise TApplicationException(TApplicationException.MISSING_RESULT, f"{self.name} gave no result")
        result: _T = given.success
        return result


def _spec(by_id: dict[int, tuple[str, Any]]) -> Spec:
    slots: list[tuple[Any, ...] | None] = [None] * (max(by_id, default=-1) + 1)
    for field_id, (name, hint) in by_id.items():
        slots[field_id] = (field_id, *_wire(hint, name), None)
    return tuple(slots)


def _wire(hint: Any, name: str) -> tuple[Any, str, Any]:
    kind, arguments = _type(hint)
    return kind, name, arguments


def _type(hint: Any) -> tuple[int, Any]:
    if get_origin(hint) is Annotated:
        return get_args(hint)[1], None
    if get_origin(hint) is UnionType:
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    if hint is str:
        return TType.STRING, "UTF8"
    if hint is bool:
        return TType.BOOL, None
    if get_origin(hint) is list:
        return TType.LIST, (*_type(get_args(hint)[0]), False)
    if get_origin(hint) is dict:
        key, value = get_args(hint)
        return TType.MAP, (*_type(key), *_type(value), False)
    return TType.STRUCT, [hint, hint.thrift_spec]
