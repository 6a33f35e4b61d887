"""The parameters of a question: a frozen dataclass, filled from texts or from a JSON object, and its JSON schema.

The type of a field gives the allowed values: texts, whole numbers, booleans, dates, an enumeration, a ``Literal``, or a
tuple. A field with a default is optional. ``Annotated`` adds the description, the ``range`` of a number, and the
command-line syntax (`Typed`). A required text must not be empty.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from navlin.model.refusal import Refusal

T = TypeVar("T")
_TRUTH: Final = {"true": True, "1": True, "": True, "false": False, "0": False}
_JSON_TYPES: Final = {bool: "boolean", int: "integer", str: "string", datetime: "string"}
_WANTED: Final = {bool: "true or false", int: "a whole number", str: "a text"}
FORMS: Final = ("json", "csv", "jsonl", "html")
"""Switches that select the format of the answer; only one may be given."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Command-line syntax of a parameter: ``--name``, also ``-s`` with a ``short`` name, or positional if ``first``.
    ``here_zone``: on the command line, a
    date without a zone is in the machine's zone, not in UTC. ``past`` says why a date must not be in the future; "" if
    it may be in the future."""

    metavar: str = ""
    first: bool = False
    short: str = ""
    here_zone: bool = False
    past: str = ""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter with values of type ``kind``; with ``many``, a tuple of these values. ``choices`` are the members
    of an enumeration, or the values of a ``Literal``. ``default`` is `dataclasses.MISSING` if there is none."""

    name: str
    words: str
    kind: Any
    many: bool
    optional: bool
    choices: tuple[Any, ...]
    bounds: range | None
    default: Any
    typed: Typed

    @property
    def is_switch(self) -> bool:
        """Whether the parameter is a boolean."""
        return self.kind is bool

    @property
    def required(self) -> bool:
        """Whether the parameter has no default."""
        return self.default is MISSING

    @property
    def values(self) -> tuple[Any, ...]:
        """The choices as plain JSON values."""
        return tuple(each.value if isinstance(each, Enum) else each for each in self.choices)

    @property
    def plain_default(self) -> Any:
        """The default as plain JSON; None if the default is missing, or an empty tuple."""
        return None if self.required or self.default == () else plain(self.default)

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the parameter's values."""
        schema: dict[str, Any] = (
            {"type": "string", "enum": list(self.values)}
            if self.choices
            else {"type": _JSON_TYPES[self.kind]}
        )
        if self.bounds is not None:
            schema |= {"minimum": self.bounds[0], "maximum": self.bounds[-1]}
        if self.many:
            schema = {"type": "array", "items": schema}
        elif self.required and schema == {"type": "string"}:
            schema["minLength"] = 1
        if self.plain_default is not None:
            schema["default"] = self.plain_default
        return schema

    def of_texts(self, texts: Sequence[str]) -> Any:
        """Return the value that these texts give. The last text counts, unless ``many``. Raises `Refusal`."""
        if self.many:
            return tuple(self._of_text(each) for each in texts)
        return self._checked(self._of_text(texts[-1]))

    def of_json(self, value: Any) -> Any:
        """Return the value that plain JSON gives. Raises `Refusal`."""
        if value is None and self.optional:
            return None
        if not self.many:
            return self._checked(self._of_json(value))
        if not isinstance(value, list):
            raise self._refusal("a list")
        return tuple(map(self._of_json, value))

    def _of_text(self, text: str) -> Any:
        if self.is_switch:
            if text.lower() not in _TRUTH:
                raise self._refusal(_WANTED[bool])
            return _TRUTH[text.lower()]
        if self.kind is int:
            try:
                return int(text)
            except ValueError:
                raise self._refusal(_WANTED[int]) from None
        return self._of_json(text)

    def _of_json(self, value: Any) -> Any:
        if self.kind in (Any, Path):
            return self.kind(value) if self.kind is Path else value
        if self.choices:
            if value not in self.values:
                raise self._refusal(f"one of {', '.join(map(str, self.values))}")
            return self.kind(value)
        if self.kind is datetime:
            if value == "" and self.optional:
                return None
            try:
                date = datetime.fromisoformat(value)
            except (ValueError, TypeError):
                raise self._refusal("a date, as in 2026-01-01") from None
            return date if date.tzinfo else date.replace(tzinfo=UTC)
        # In Python a bool is an int.
        if not isinstance(value, self.kind) or (self.kind is int and isinstance(value, bool)):
            raise self._refusal(_WANTED[self.kind])
        return value

    def _checked(self, value: Any) -> Any:
        if value is None:
            return None
        if self.bounds is not None and value not in self.bounds:
            raise self._refusal(f"from {self.bounds[0]:,} to {self.bounds[-1]:,}")
        if self.typed.past and value > datetime.now(UTC):
            raise Refusal(f"{self.name} is in the future: {self.typed.past}")
        if value == "" and self.required:
            raise self._refusal("given")
        return value

    def _refusal(self, wanted: str) -> Refusal:
        return Refusal(f"{self.name} must be {wanted}")


def parameters_of(cls: type[Any]) -> tuple[Parameter, ...]:
    """Return the parameters that a dataclass declares, in the order of its fields."""
    hints = get_type_hints(cls, include_extras=True)
    return tuple(
        _parameter(
            each.name,
            hints[each.name],
            each.default if each.default_factory is MISSING else each.default_factory(),
        )
        for each in fields(cls)
    )


def from_query(cls: type[T], given: Sequence[tuple[str, str]]) -> T:
    """Build the dataclass from (name, text) pairs, as in a query string or on a command line. Unknown names are
    ignored, as in Navigator, because clients send the same parameters to all endpoints. Raises one `Refusal` that lists
    all errors."""
    return _filled(cls, gathered(given))


def from_json(cls: type[T], given: Any) -> T:
    """Build the dataclass from a JSON object. Raises `Refusal` for unknown names; if all names are known, raises one
    `Refusal` that lists all errors."""
    if not isinstance(given, dict):
        raise Refusal("the body must be a JSON object")
    known = sorted(each.name for each in parameters_of(cls))
    if unknown := sorted(given.keys() - {*known}):
        raise Refusal(f"unknown parameter {', '.join(unknown):.200}; known: {', '.join(known)}")
    return _filled(cls, given)


def from_both(cls: type[T], given: Sequence[tuple[str, str]], body: Any) -> T:
    """Build the dataclass from a query string and a JSON body, which takes precedence. As in Navigator, unknown names
    are ignored, null counts as not given, and a list is the parameter ``ids``. Raises `Refusal`."""
    if isinstance(body, list):
        body = {"ids": body}
    if not isinstance(body, dict):
        raise Refusal("the body must be a JSON object")
    return _filled(cls, gathered(given) | {name: value for name, value in body.items() if value is not None})


def one_form(given: Sequence[str]) -> None:
    """Raise `Refusal` if more than one format of the answer is given."""
    if len(given) > 1:
        raise Refusal(f"{' or '.join(given)}, not both" if len(given) == 2 else f"one of {', '.join(given)}")


def schema(cls: type[Any]) -> list[dict[str, Any]]:
    """Return the name, description, required flag and schema of each parameter, as OpenAPI defines them."""
    return [
        {"name": each.name, "description": each.words, "required": each.required, "schema": each.schema()}
        for each in parameters_of(cls)
    ]


def plain(value: Any) -> Any:
    """Return a parameter's value as plain JSON."""
    match value:
        case tuple():
            return list(map(plain, value))
        case Enum():
            return value.value
        case datetime():
            return value.isoformat()
    return value


class _Texts(list[str]):
    """Texts of one parameter in a query string, as opposed to a list in a JSON body."""


def gathered(given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return name → texts."""
    values: dict[str, Any] = {}
    for name, text in given:
        values.setdefault(name, _Texts()).append(text)
    return values


def _filled(cls: type[T], given: Mapping[str, Any]) -> T:
    values, wrong = {}, []
    for each in parameters_of(cls):
        try:
            if each.name in given:
                value = given[each.name]
                read = each.of_texts if isinstance(value, _Texts) else each.of_json
                values[each.name] = read(value)
            elif each.required:
                words = each.words.removesuffix(".")
                wrong.append(
                    f"{each.name} is missing" + (f": {words[0].lower()}{words[1:]}" if words else "")
                )
        except Refusal as refusal:
            wrong.append(str(refusal))
    if wrong:
        raise Refusal("; ".join(wrong))
    one_form([name for name in FORMS if values.get(name) is True])
    return cls(**values)


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    words, bounds, typed = "", None, Typed()
    if get_origin(hint) is Annotated:
        hint, *said = get_args(hint)
        words = next((each for each in said if isinstance(each, str)), "")
        bounds = next((each for each in said if isinstance(each, range)), None)
        typed = next((each for each in said if isinstance(each, Typed)), typed)
    plain = _plain(hint)
    many = get_origin(plain) is tuple
    kind = get_args(plain)[0] if many else plain
    choices: tuple[Any, ...] = ()
    if get_origin(kind) is Literal:
        kind, choices = str, get_args(kind)
    elif isinstance(kind, type) and issubclass(kind, Enum):
        choices = tuple(kind)
    return Parameter(name, words, kind, many, plain is not hint, choices, bounds, default, typed)


def _plain(hint: Any) -> Any:
    """Return the hint of an optional field without None; any other hint unchanged."""
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (each for each in get_args(hint) if each is not types.NoneType)
    return hint
