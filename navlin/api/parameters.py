"""The parameters of an endpoint: a frozen dataclass, filled from a query string or from a JSON object, and its JSON
schema.

The type of a field determines its values (text, whole numbers, truth values, an enumeration, several of one); its
default, whether it is optional; ``Annotated``, its description and the ``range`` of a number. A required text must not
be empty.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields
from enum import Enum
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin, get_type_hints
from urllib.parse import unquote, unquote_plus

from navlin.api.answers import Problem

T = TypeVar("T")
MOST_FIELDS: Final = 20_000
"""Navigator's clients send ten thousand ids, each as a value of its own."""
_TRUTH: Final = {"true": True, "1": True, "": True, "false": False, "0": False}


def texts_of(query_string: str, *, lenient: bool = False) -> list[tuple[str, str]]:
    """The names and values of a query string, or of a form. With ``lenient``, a plus in a value that also has ``%20`` is
    a plus: Hue encodes in this way. Raises `Problem` (413) if there are too many."""
    if query_string.count("&") >= MOST_FIELDS:
        raise Problem(413, f"at most {MOST_FIELDS:,} names and values are taken")
    pairs = []
    for part in filter(None, query_string.split("&")):
        name, _, value = part.partition("=")
        plain = unquote if lenient and "%20" in value else unquote_plus
        pairs.append((unquote_plus(name), plain(value)))
    return pairs


def from_query(cls: type[T], given: Sequence[tuple[str, str]]) -> T:
    """The parameters from a query string. Unknown ones are ignored, as in Navigator: clients send one set of parameters
    everywhere. Raises `Problem` with all errors."""
    return _filled(cls, _gathered(given))


def from_json(cls: type[T], given: Any) -> T:
    """The parameters from a JSON object. Raises `Problem` with all errors; an unknown name is an error."""
    if not isinstance(given, dict):
        raise Problem(400, "the body must be a JSON object")
    known = {each.name for each in fields(cls)}  # type: ignore[arg-type]  # dataclasses all
    if unknown := sorted(given.keys() - known):
        raise Problem(
            400, f"there is no parameter {', '.join(unknown):.200}; there are {', '.join(sorted(known))}"
        )
    return _filled(cls, given)


def from_both(cls: type[T], given: Sequence[tuple[str, str]], body: Any) -> T:
    """The parameters from a query string and a JSON body; the body takes precedence. As in Navigator, unknown ones are
    ignored, null counts as not given, and a list is the parameter ``ids``. Raises `Problem`."""
    if isinstance(body, list):
        body = {"ids": body}
    if not isinstance(body, dict):
        raise Problem(400, "the body must be a JSON object")
    values = _gathered(given)
    values.update((name, value) for name, value in body.items() if value is not None)
    return _filled(cls, values)


def schema(cls: type[Any]) -> list[dict[str, Any]]:
    """name, description, required, schema of each parameter, as in OpenAPI."""
    hints = get_type_hints(cls, include_extras=True)
    return [_described(item, hints[item.name]) for item in fields(cls)]


# -- Inside ------------------------------------------------------------------------------------------------------------


class _Unfit(ValueError):
    """A value of the wrong type, or out of range; the text names the right one."""


class _Texts(list[str]):
    """The values of one parameter of a query string."""


def _gathered(given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, text in given:
        values.setdefault(name, _Texts()).append(text)
    return values


def _filled(cls: type[T], given: Mapping[str, Any]) -> T:
    hints = get_type_hints(cls, include_extras=True)
    values, wrong = {}, []
    for item in fields(cls):  # type: ignore[arg-type]  # dataclasses all
        if item.name in given:
            value = given[item.name]
            fit = _of_texts if isinstance(value, _Texts) else _of_json
            try:
                values[item.name] = _within(item, hints[item.name], fit(_bare(hints[item.name]), value))
            except _Unfit as unfit:
                wrong.append(f"{item.name} must be {unfit}")
        elif _required(item):
            wrong.append(f"{item.name} is missing")
    if wrong:
        raise Problem(400, "; ".join(wrong))
    return cls(**values)


def _required(item: Field[Any]) -> bool:
    return item.default is MISSING and item.default_factory is MISSING


def _bare(hint: Any) -> Any:
    """The type without ``Annotated``."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _range(hint: Any) -> range | None:
    return next((each for each in get_args(hint) if isinstance(each, range)), None)


def _within(item: Field[Any], hint: Any, value: Any) -> Any:
    allowed = _range(hint)
    if allowed is not None and value is not None and value not in allowed:
        raise _Unfit(f"from {allowed[0]:,} to {allowed[-1]:,}")
    if value == "" and _required(item):
        raise _Unfit("given")
    return value


def _plain(hint: Any) -> Any:
    """The type without None."""
    if get_origin(hint) in (Union, types.UnionType):
        (hint,) = (each for each in get_args(hint) if each is not types.NoneType)
    return hint


def _of_texts(hint: Any, texts: list[str]) -> Any:
    hint = _plain(hint)
    if get_origin(hint) is tuple:
        return tuple(_of_texts(get_args(hint)[0], [text]) for text in texts)
    text = texts[-1]
    if hint is bool:
        if text.lower() not in _TRUTH:
            raise _Unfit("true or false")
        return _TRUTH[text.lower()]
    if hint is int:
        try:
            return int(text)
        except ValueError:
            raise _Unfit("a whole number") from None
    return _of_json(hint, text)


def _of_json(hint: Any, value: Any) -> Any:
    if value is None and hint is not _plain(hint):
        return None
    hint = _plain(hint)
    if hint is Any:
        return value
    if get_origin(hint) is tuple:
        if not isinstance(value, list):
            raise _Unfit("a list")
        return tuple(_of_json(get_args(hint)[0], each) for each in value)
    if isinstance(hint, type) and issubclass(hint, Enum):
        try:
            return hint(value)
        except ValueError:
            raise _Unfit("one of " + ", ".join(str(each.value) for each in hint)) from None
    if hint is bool and not isinstance(value, bool):
        raise _Unfit("true or false")
    if hint is int and (not isinstance(value, int) or isinstance(value, bool)):
        raise _Unfit("a whole number")
    if hint is str and not isinstance(value, str):
        raise _Unfit("a text")
    return value


def _described(item: Field[Any], hint: Any) -> dict[str, Any]:
    words = ""
    if get_origin(hint) is Annotated:
        words = get_args(hint)[1]
    kind = _type(_bare(hint))
    if (allowed := _range(hint)) is not None:
        kind |= {"minimum": allowed[0], "maximum": allowed[-1]}
    if kind == {"type": "string"} and _required(item):
        kind["minLength"] = 1
    described: dict[str, Any] = {
        "name": item.name,
        "description": words,
        "required": _required(item),
        "schema": kind,
    }
    if not _required(item) and item.default not in (None, ()):
        default = item.default
        described["schema"]["default"] = default.value if isinstance(default, Enum) else default
    return described


def _type(hint: Any) -> dict[str, Any]:
    hint = _plain(hint)
    if get_origin(hint) is tuple:
        return {"type": "array", "items": _type(get_args(hint)[0])}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"type": "string", "enum": [each.value for each in hint]}
    return {"type": {bool: "boolean", int: "integer", str: "string"}[hint]}
