"""Comparison of Solr's fields with those in navlin's schema, because a core with a modified schema could still be
opened, but would not read and write the same values.

Additional fields and types in Solr are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from navlin.index.admin.schema import CORES, UnusableIndex
from navlin.index.solr.solr import Solr

_ANALYZERS: Final = {None: "analyzer", "index": "indexAnalyzer", "query": "queryAnalyzer"}
Properties = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a schema and its types, by name, in the form of Solr's Schema API with every value as a string."""

    fields: Mapping[str, Properties]
    types: Mapping[str, Properties]


@dataclass(frozen=True, slots=True)
class Difference:
    """A field of a core that differs from navlin's schema. ``found`` ("" if missing) and ``expected`` describe the
    field in words."""

    core: str
    field: str
    found: str
    expected: str

    def __str__(self) -> str:
        if not self.found:
            return f"{self.core} has no field {self.field}, and navlin needs it as {self.expected}"
        return f"{self.field} of {self.core} is {self.found}, and navlin needs {self.expected}"


def require_fields(solr: Solr, schema: Path, remedy: str) -> None:
    """Require that the four cores have the fields of navlin's schema (the shipped ``schema.xml``), each of the same
    type.

    Raises `UnusableIndex` otherwise, with ``remedy`` as advice.
    """
    wanted = shipped_fields(schema)
    for core in CORES:
        found = differences(core, wanted, fields_of(solr.answer(core, "schema")["schema"]))
        if found:
            more = f" (and {len(found) - 1} more fields differ)" if len(found) > 1 else ""
            raise UnusableIndex(f"{found[0]}{more}: {remedy}")


def differences(core: str, wanted: Fields, found: Fields) -> list[Difference]:
    """Return the wanted fields that a core lacks or defines differently."""
    differing = {name for name, kind in wanted.types.items() if found.types.get(name) != kind}
    all_differences = []
    for name, field in wanted.fields.items():
        there = found.fields.get(name)
        if there == field and field["type"] not in differing:
            continue
        said = "" if there is None else _in_words(there, found)
        expected = _in_words(field, wanted)
        if said == expected:
            said += ", analyzed or stored differently"
        all_differences.append(Difference(core, name, said, expected))
    return all_differences


def _in_words(field: Properties, among: Fields) -> str:
    kind = among.types.get(field["type"], {})
    own = [f"{name}={value}" for name, value in sorted(field.items()) if name not in ("name", "type")]
    of_kind = f"{kind.get('class', 'unknown')}".removeprefix("solr.")
    return f"of type {field['type']} ({', '.join([of_kind, *own])})"


def fields_of(schema: Mapping[str, Any]) -> Fields:
    """Read the fields from a response of the Schema API."""
    fields = [*schema["fields"], *schema["dynamicFields"]]
    return Fields(
        {field["name"]: _texts(field) for field in fields},
        {kind["name"]: _texts(kind) for kind in schema["fieldTypes"]},
    )


def _texts(value: Any) -> Any:
    match value:
        case dict():
            return {name: _texts(each) for name, each in value.items()}
        case list():
            return [_texts(each) for each in value]
        case bool():
            return str(value).lower()
    return str(value)


def shipped_fields(schema: Path) -> Fields:
    """Read the fields from a ``schema.xml``."""
    root = ElementTree.parse(schema).getroot()
    fields = [*root.iterfind("field"), *root.iterfind("dynamicField")]
    return Fields(
        {field.attrib["name"]: dict(field.attrib) for field in fields},
        {kind.attrib["name"]: _type(kind) for kind in root.iterfind("fieldType")},
    )


def _type(element: ElementTree.Element) -> Properties:
    kind: dict[str, Any] = dict(element.attrib)
    for analyzer in element.iterfind("analyzer"):
        steps: dict[str, Any] = {}
        for step in ("charFilter", "tokenizer", "filter"):
            found = [dict(each.attrib) for each in analyzer.iterfind(step)]
            if found:
                steps[step if step == "tokenizer" else step + "s"] = (
                    found[0] if step == "tokenizer" else found
                )
        kind[_ANALYZERS[analyzer.get("type")]] = steps
    return kind
