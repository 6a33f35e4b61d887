"""Converts a table in the configuration to a frozen dataclass, whose fields determine the valid names, the types and
the required keys.

This is used for navlin's own sections and for extractors, so an extractor declares its settings only by its fields.
"""

from __future__ import annotations

import difflib
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from navlin.service.settings.toml_positions import KeyPath

Complain = Callable[[KeyPath, str], None]
"""Callback for one problem: the path of the key, and a sentence with which a user can fix it."""

T = TypeVar("T")

SIZE: Final = re.compile(r"\d+[kmgKMG]")
"""A size as Java writes it, such as 512m."""


class DoesNotFit(ValueError):
    """A value has the wrong type; the message names the right type."""


def settings_of(cls: type[Any], given: Iterable[str] = ()) -> dict[str, Field[Any]]:
    """Return name → field of a dataclass for the fields that a configuration may set. The fields in ``given`` are left
    out, because navlin sets them itself."""
    return {item.name: item for item in fields(cls) if item.init and item.name not in set(given)}


def default_of(cls: type[Any], name: str) -> Any:
    """Return the default of a dataclass's field."""
    return next(item.default for item in fields(cls) if item.name == name)


def build(cls: type[T], table: Mapping[str, Any], at: KeyPath, complain: Complain, **given: Any) -> T | None:
    """Build the dataclass that ``table`` describes. If the table has problems, report all of them and return None.

    A ``ValueError`` raised by the class itself (in ``__post_init__``) is a problem of the table. A method ``problems``,
    if the class has one, yields further problems as (key, text).
    """
    allowed = settings_of(cls, given)
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    fine = True
    for key, value in table.items():
        if key not in allowed:
            complain((*at, key), f'unknown setting "{key}"{suggest(key, allowed)}')
            fine = False
            continue
        try:
            values[key] = _fit(hints[key], value)
        except DoesNotFit as error:
            complain((*at, key), f"{key} must be {error}, not {_shown(value)}")
            fine = False
    for key, item in allowed.items():
        if key not in table and item.default is MISSING and item.default_factory is MISSING:
            complain(at, f"{key} is missing")
            fine = False
    if not fine:
        return None
    try:
        built = cls(**given, **values)
    except ValueError as error:
        complain(at, str(error))
        return None
    for key, text in _own_problems(built):
        complain((*at, key) if key in table else at, text)
        fine = False
    return built if fine else None


def _own_problems(built: object) -> Iterator[tuple[str, str]]:
    check: Callable[[], Iterable[tuple[str, str]]] | None = getattr(built, "problems", None)
    if check is not None:
        yield from check()


def named_tables(
    word: str, tables: Any, complain: Complain
) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
    """Yield (path, table) for each ``[[word]]`` of a configuration. Two tables with one name are a problem."""
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        complain((word,), f"each {word} needs a section of its own: [[{word}]]")
        return
    names: set[str] = set()
    for place, table in enumerate(tables):
        name = table.get("name")
        if isinstance(name, str):
            if name in names:
                complain(
                    (word, place, "name"), f'duplicate {word} "{name}"; each {word} needs a name of its own'
                )
            names.add(name)
        yield (word, place), table


def beside(directory: Path, settings: T) -> T:
    """Return a copy of a dataclass, with relative paths resolved against a directory."""
    built: Any = settings
    paths = {
        item.name: directory / value
        for item in fields(built)
        if isinstance(value := getattr(built, item.name), Path)
    }
    copy: T = replace(built, **paths)
    return copy


def suggest(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean "port"?`` with the closest known word, or ""."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f'; did you mean "{close[0]}"?' if close else ""


def _fit(hint: Any, value: Any) -> Any:
    """Convert ``value`` to the type ``hint``. Raises `DoesNotFit` with the name of that type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _fit_one_of(arguments, value)
    if origin is Literal:
        if value in arguments:
            return value
        raise DoesNotFit(_one_of(arguments))
    if origin is tuple:
        if not isinstance(value, list):
            raise DoesNotFit(f"an array of {_word(arguments[0])}")
        try:
            return tuple(_fit(arguments[0], item) for item in value)
        except DoesNotFit:
            raise DoesNotFit(f"an array of {_word(arguments[0])}") from None
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, dict):
            raise DoesNotFit("a table")
        return {str(key): _fit(arguments[1], item) for key, item in value.items()}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        if isinstance(value, str) and value in list(hint):
            return hint(value)
        raise DoesNotFit(_one_of(item.value for item in hint))
    if hint is Path and isinstance(value, str) and value:
        return Path(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and type(value) is hint:
        return value
    raise DoesNotFit(_word(hint))


def _fit_one_of(hints: tuple[Any, ...], value: Any) -> Any:
    wanted = [hint for hint in hints if hint is not types.NoneType]
    for hint in wanted[:-1]:
        try:
            return _fit(hint, value)
        except DoesNotFit:
            continue
    return _fit(wanted[-1], value)


_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
}


def _word(hint: Any) -> str:
    return _WORDS.get(hint, getattr(hint, "__name__", str(hint)))


def _one_of(values: Iterable[Any]) -> str:
    return "one of " + ", ".join(f'"{value}"' for value in values)


def _shown(value: Any) -> str:
    # A text value is not repeated, because it may be a password in the wrong place.
    match value:
        case bool():
            return "true or false"
        case str():
            return "text"
        case int() | float():
            return str(value)
        case list():
            return "an array of other values"
        case dict():
            return "a table"
    return type(value).__name__


_VARIABLE = re.compile(r"\$\{([A-Z_][A-Z0-9_]*)\}")


def expand(value: Any, environment: Mapping[str, str], at: KeyPath, complain: Complain) -> Any:
    """Replace ``${NAME}`` in every text in ``value`` by the environment variable. An unset variable is a problem."""
    match value:
        case str():

            def look_up(found: re.Match[str]) -> str:
                if found[1] not in environment:
                    complain(at, f"the environment variable {found[1]} is not set")
                return environment.get(found[1], "")

            return _VARIABLE.sub(look_up, value)
        case list():
            return [expand(item, environment, (*at, place), complain) for place, item in enumerate(value)]
        case dict():
            return {key: expand(item, environment, (*at, key), complain) for key, item in value.items()}
    return value
