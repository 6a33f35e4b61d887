"""Settings of the configuration file. Names, types and defaults come from the classes, the meaning from the comments in
``conf/navlin.toml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from docs.from_code.markdown import code, prose, table
from navlin.export.target import targets
from navlin.model.extractor import GIVEN, Registration
from navlin.service.loader import load_extractors
from navlin.service.settings.configuration import SECTIONS, SourceKeys
from navlin.service.settings.export_settings import ExportKeys
from navlin.service.settings.typed import settings_of
from navlin.shipped import CONF

EXAMPLE: Final = CONF / "navlin.toml"
_HEADING: Final = re.compile(r"^\[+([\w.]+)\]+$")
_KEY: Final = re.compile(r'^#?"?([\w.]+)"? = ')
_LISTED: Final = re.compile(r"^#   ((?:\w+, )*\w+)\s{2,}(\S.*)$")
_COMMON: Final = {"# For every source:": "source", "# What is sent to other catalogues": "export"}
"""Beginning of the comment above a list of keys → the section of these keys."""
_EXTRACTOR: Final = re.compile(r'^extractor = "(\w+)"$')


@cache
def explained() -> Mapping[tuple[str, str], str]:
    """Return (section or extractor, key) → meaning, from the comments above the keys in the example configuration.
    Keys below one comment share its text."""
    found: dict[tuple[str, str], str] = {}
    place, words, after_key, common = "", list[str](), False, ""
    for line in EXAMPLE.read_text(encoding="utf-8").splitlines():
        common = next((section for begin, section in _COMMON.items() if line.startswith(begin)), common)
        if common and (listed := _LISTED.match(line)):
            for name in listed[1].split(", "):
                found.setdefault((common, name), listed[2])
        elif heading := _HEADING.match(line):
            place, _, table_in_section = heading[1].partition(".")
            if table_in_section:
                found[place, table_in_section] = " ".join(words)
            words, after_key = [], True
        elif registered := _EXTRACTOR.match(line):
            place = registered[1]
        elif key := _KEY.match(line):
            found.setdefault((place, key[1]), " ".join(words).strip())
            after_key = True
        elif line.startswith("#"):
            if after_key:
                words, after_key = [], False
            words.append(line.lstrip("# "))
        else:
            words = []
    return found


def built_in() -> dict[str, Registration]:
    """Return the extractors that ship with navlin."""
    return {
        name: each
        for name, each in load_extractors().items()
        if each.make.__module__.startswith("extractors.")
    }


def sections() -> str:
    """Return a table for each section of the configuration, and those of sources and exports."""
    parts = []
    for name, cls in SECTIONS.items():
        parts.append(f"### `[{name}]`\n\n" + _keys(cls, settings_of(cls).items(), name))
    common = settings_of(SourceKeys)
    parts.append(
        "### `[[source]]`\n\nThe keys of every source. An extractor's own keys are in the"
        " [list of extractors](extractors.md).\n\n" + _keys(SourceKeys, common.items(), "source")
    )
    parts.append("### `[[export]]`\n\n" + exports())
    return "\n".join(parts)


def exports() -> str:
    """Return the keys of an export, and the options of each target."""
    parts = ["The keys of every export:\n", _keys(ExportKeys, settings_of(ExportKeys).items(), "export")]
    for name, target in targets().items():
        options = settings_of(target.options)
        parts += [f"Options of the target `{name}`:\n", _keys(target.options, options.items(), "export")]
    return "\n".join(parts)


def extractors() -> str:
    """Return a table for each extractor."""
    parts = []
    for name, each in built_in().items():
        own = settings_of(each.make, GIVEN)
        parts.append(
            f"### `{name}`\n\nType of its sources: {each.source_type}. Mode: {each.mode.value}.\n\n"
            + _keys(each.make, own.items(), name)
        )
    return "\n".join(parts)


def _keys(cls: type[Any], keys: Iterable[tuple[str, Field[Any]]], place: str) -> str:
    return table(("key", "type", "default", "meaning"), _rows(cls, keys, place))


def _rows(cls: type[Any], keys: Iterable[tuple[str, Field[Any]]], place: str) -> Iterator[tuple[str, ...]]:
    hints = get_type_hints(cls)
    for name, item in keys:
        yield code(name), _type(hints[name]), _default(item), prose(meaning(cls, place, name))


def meaning(cls: type[Any], place: str, name: str) -> str:
    """Return the meaning of a key; "" if there is none."""
    return explained().get((place, name), "") or words_of(cls, name)


def words_of(cls: type[Any], name: str) -> str:
    """Return the text of an annotated field; "" if it has none."""
    extras = getattr(get_type_hints(cls, include_extras=True)[name], "__metadata__", ())
    return next((each for each in extras if isinstance(each, str)), "")


def _type(hint: Any) -> str:
    text = hint.__name__ if isinstance(hint, type) and not getattr(hint, "__args__", ()) else str(hint)
    if get_origin(hint) is Literal:
        return " or ".join(code(f'"{each}"') for each in get_args(hint))
    text = re.sub(r"\b(?:\w+\.)+(\w)", r"\1", text).replace(" | None", "")
    words = {
        "str": "text",
        "int": "integer",
        "float": "number",
        "bool": "boolean",
        "tuple[str, ...]": "list of texts",
        "Mapping[str, str]": "table",
    }
    return code(words.get(text, text.replace("Path", "path")))


def _default(item: Field[Any]) -> str:
    if item.default_factory is not MISSING:
        return ""
    if item.default is MISSING:
        return "required"
    value = item.default
    match value:
        case None:
            return ""
        case bool():
            return code(str(value).lower())
        case tuple():
            return code("[" + ", ".join(f'"{each}"' for each in value) + "]")
        case str() | Path():
            return code(f'"{value}"')
    return code(value)
