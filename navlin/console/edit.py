"""``/edit``: changes the user-written fields of one entity, as sent by the form on the entity's page.

The form also sends the previous values. Only changes are written, so that two people who edit at the same time lose
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from navlin.access.roles import Role
from navlin.api.answers import HttpError, Redirect
from navlin.api.endpoint import ApiRequest
from navlin.console.page import ConsolePage
from navlin.edit.annotation_changes import (
    AnnotationChanges,
    Properties,
    Tags,
    edit_annotations,
    properties,
    tags,
    texts,
)
from navlin.edit.values import BadValue

_ESCAPED: Final = {"n": "\n", "r": "\r", ",": ",", "\\": "\\"}
_ESCAPE: Final = re.compile(r"\\([nr,\\])")
_BETWEEN_COMMAS: Final = re.compile(r"(?:\\.|[^\\,]|\\$)+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parameters:
    entity: Annotated[str, "The entity's id."]
    name: Annotated[str, "Empty for none."] = ""
    description: Annotated[str, "Empty for none."] = ""
    tags: Annotated[str, r"Comma-separated; \, is a comma inside a tag."] = ""
    properties: Annotated[str, r"One KEY=VALUE per line; \n is a line break in a value."] = ""
    was_name: Annotated[str, "Before."] = ""
    was_description: Annotated[str, "Before."] = ""
    was_tags: Annotated[str, "Before."] = ""
    was_properties: Annotated[str, "Before."] = ""


def _answer(request: ApiRequest) -> Redirect:
    identity = request.question(request.parameters).entity_id()
    changes = _changes(request.parameters)
    if changes != AnnotationChanges():
        for edited in edit_annotations(request.solr, {identity: changes}, request.author(), durable=True):
            for refused in edited.refused:
                raise HttpError(400, f"the index refused the edit: {refused.reason}")
    return Redirect("/details?" + urlencode({"entity": identity}))


def _changes(given: Parameters) -> AnnotationChanges:
    """Return the differences between the previous and the new values of the form. Raises `BadValue`."""
    single = {
        name: _lines(getattr(given, name))
        for name in ("name", "description")
        if _lines(getattr(given, name)) != _lines(getattr(given, f"was_{name}"))
    }
    old, new = _tags(given.was_tags), _tags(given.tags)
    before, after = dict[str, str](), dict[str, str]()
    if _lines(given.properties) != _lines(given.was_properties):
        before, after = dict(_pairs(given.was_properties)), dict(_pairs(given.properties))
    return AnnotationChanges(
        texts(single),
        Tags(
            add=tags([each for each in new if each not in old]),
            remove=tuple(each for each in old if each not in new),
        ),
        Properties(
            add=properties({key: value for key, value in after.items() if before.get(key) != value}),
            remove=tuple(key for key in before if not after.get(key)),
        ),
    )


def _lines(text: str) -> str:
    # Browsers send line ends as CR LF.
    return text.replace("\r\n", "\n")


def typed_tags(tags: Iterable[str]) -> str:
    """Return tags in the form's notation."""
    return ", ".join(_escaped(each).replace(",", r"\,") for each in tags)


def typed_properties(values: Mapping[str, Any]) -> str:
    """Return properties (key → value) in the form's notation."""
    return "\n".join(f"{key}={_escaped(str(value))}" for key, value in values.items())


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace("\r", r"\r")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPED[found[1]], text)


def _tags(text: str) -> list[str]:
    typed = (_unescaped(each.strip()) for each in _BETWEEN_COMMAS.findall(text))
    return list(dict.fromkeys(filter(None, typed)))


def _pairs(text: str) -> Iterable[tuple[str, str]]:
    for line in filter(None, map(str.strip, _lines(text).split("\n"))):
        key, equals, value = line.partition("=")
        if not equals:
            raise BadValue(f"a property must be KEY=VALUE, not {line[:40]!r}")
        yield key.strip(), _unescaped(value.strip())


PAGE = ConsolePage("/edit", "Edit", Parameters, _answer, Role.METADATA_ADMINISTRATOR, method="POST")
