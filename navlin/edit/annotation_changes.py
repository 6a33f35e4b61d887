"""Edits of user-written fields, as requested by commands, programs and Navigator's clients.

All of them use this module. `AnnotationChanges` checks nothing: its values come from `texts`, `tags`, `properties` and
`navlin.edit.managed`, which check them. Every change is recorded in the history.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from navlin.edit.values import BadValue, checked
from navlin.index.graph.entity import StoredEntity
from navlin.index.people.editing import Author, Decide, Edited, edit_entities, show_edits
from navlin.index.schema.fields import USER_PROPERTY
from navlin.index.solr.solr import Solr


@dataclass(frozen=True, slots=True)
class Tags:
    """A change of tags: start with ``only`` (None: the present tags), add ``add``, then remove ``remove``."""

    only: tuple[str, ...] | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Properties:
    """A change of user properties: start with ``only`` (None: the present properties), add ``add``, then remove the
    keys in ``remove``."""

    only: Mapping[str, str] | None = None
    add: Mapping[str, str] = field(default_factory=dict)
    remove: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnnotationChanges:
    """Changes to the user-written fields of one entity; fields that are not named are left unchanged. Values must be in
    stored form.

    ``texts`` maps ``name`` and ``description`` to new texts, ``managed`` maps fields of managed properties
    (`navlin.edit.managed`) to new values. None erases a field.
    """

    texts: Mapping[str, str | None] = field(default_factory=dict)
    tags: Tags = Tags()
    properties: Properties = Properties()
    managed: Mapping[str, Sequence[Any] | None] = field(default_factory=dict)


def texts(given: Mapping[str, Any]) -> dict[str, str | None]:
    """Return name and description in stored form; None for an empty one, which is erased. Raises `BadValue`."""
    return {name: None if value in (None, "") else checked(name, value) for name, value in given.items()}


def tags(given: Any) -> tuple[str, ...]:
    """Return a list of tags in stored form, each once. Raises `BadValue`."""
    if not isinstance(given, list | tuple):
        raise BadValue(f"tags must be a list of texts, not {given!r:.40}")
    return tuple(dict.fromkeys(checked("tags", list(given)))) if given else ()


def properties(given: Any) -> dict[str, str]:
    """Return a mapping from key to value, in stored form. Numbers and booleans become texts; properties without a value
    are left out. Raises `BadValue`."""
    if not isinstance(given, Mapping):
        raise BadValue(f"properties must be an object, not {given!r:.40}")
    return {
        key: checked(USER_PROPERTY + str(key), _text(value))
        for key, value in given.items()
        if value not in (None, "")
    }


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def edit_annotations(
    solr: Solr,
    asked: Mapping[str, AnnotationChanges],
    author: Author,
    *,
    dry_run: bool = False,
    durable: bool = False,
) -> Iterator[Edited]:
    """Edit entities by id, and yield the result of each batch. All edits are visible when the last is done, or when one
    fails. ``dry_run`` writes nothing."""
    try:
        yield from edit_entities(
            solr, {each: deciding(changes) for each, changes in asked.items()}, author, dry_run=dry_run
        )
    finally:
        if not dry_run:
            show_edits(solr, durable=durable)


def deciding(changes: AnnotationChanges) -> Decide:
    """Return a function that, given an entity, returns the fields that ``changes`` change."""
    return partial(_fields, changes)


def _fields(changes: AnnotationChanges, entity: StoredEntity) -> dict[str, Any]:
    there = entity.as_indexed
    wanted: dict[str, Any] = {**changes.texts, **changes.managed}
    if changes.tags != Tags():
        wanted["tags"] = _tags(changes.tags, there.get("tags", ()))
    if changes.properties != Properties():
        wanted |= _properties(changes.properties, there)
    # A client that sends back the values it read must change nothing: values from the source keep following the source.
    return {name: value for name, value in wanted.items() if there.get(name) != value}


def _tags(change: Tags, there: Sequence[str]) -> list[str] | None:
    begun = there if change.only is None else change.only
    left = [tag for tag in dict.fromkeys((*begun, *change.add)) if tag not in change.remove]
    if set(left) == set(there):
        return list(there) or None
    return left or None


def _properties(change: Properties, there: Mapping[str, Any]) -> dict[str, str | None]:
    wanted: dict[str, str | None] = {USER_PROPERTY + key: value for key, value in change.add.items()}
    if change.only is not None:
        own = (name for name in there if name.startswith(USER_PROPERTY))
        wanted = {
            **dict.fromkeys(own),
            **{USER_PROPERTY + key: value for key, value in change.only.items()},
            **wanted,
        }
    return wanted | dict.fromkeys(USER_PROPERTY + key for key in change.remove)
