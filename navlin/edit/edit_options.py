"""Edits requested by options, the same on the command line and over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from navlin.edit.annotation_changes import (
    AnnotationChanges,
    Properties,
    Tags,
    deciding,
    properties,
    tags,
    texts,
)
from navlin.edit.managed import managed_field
from navlin.edit.models import properties_of
from navlin.edit.values import BadValue
from navlin.index.journal.edits import Edit
from navlin.index.people.editing import Author, Edited, edit_entities, show_edits
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import RefusedDocument, Solr
from navlin.index.write.rewriting import WRITE_BATCH
from navlin.model.batches import in_batches


@dataclass(frozen=True, slots=True)
class EditOptions:
    """The given options. ``property`` entries are ``KEY=VALUE``, ``managed`` entries ``NAMESPACE.NAME=VALUE``, repeated
    for several values. An empty value, name or description erases the field."""

    tag: tuple[str, ...] = ()
    remove_tag: tuple[str, ...] = ()
    name: str | None = None
    description: str | None = None
    property: tuple[str, ...] = ()
    managed: tuple[str, ...] = ()


EDITS_KEPT: Final = 1_000
"""Maximum number of edits that the response to a bulk edit contains; the history has all of them."""


@dataclass(slots=True)
class Done:
    """Result of an edit: the number of selected entities, the number changed, the first edits, and Solr's refusals."""

    dry_run: bool
    entities: int = 0
    changed: int = 0
    edits: list[Edit] = field(default_factory=list)
    refused: list[RefusedDocument] = field(default_factory=list)

    def add(self, meant: int, edited: Edited) -> None:
        """Add the result of a batch; ``meant`` is the number of entities in the batch."""
        self.entities += meant - len(edited.unknown)
        self.changed += len(edited.edits)
        self.edits.extend(edited.edits[: EDITS_KEPT - len(self.edits)])
        self.refused.extend(edited.refused)

    def to_json(self) -> dict[str, Any]:
        """dry_run, entities, changed, edits (the first thousand: entity, name, who, when, changes), refused (id, reason)."""
        return {
            "dry_run": self.dry_run,
            "entities": self.entities,
            "changed": self.changed,
            "edits": [edit.to_json() for edit in self.edits],
            "refused": [{"id": each.identity, "reason": each.reason} for each in self.refused],
        }


def changes_of(solr: Solr, options: EditOptions) -> AnnotationChanges:
    """Convert the options to checked `AnnotationChanges`. Raises `BadValue`, also if no option is given."""
    if options == EditOptions():
        raise BadValue("nothing to change: give a tag, a name, a description or a property")
    given = {"name": options.name, "description": options.description}
    pairs = dict(_pair(each, "KEY=VALUE") for each in options.property)
    managed: dict[str, list[str]] = {}
    for each in options.managed:
        name, value = _pair(each, "NAMESPACE.NAME=VALUE")
        managed.setdefault(name, []).append(value)
    registered = properties_of(solr) if managed else {}
    fields: dict[str, Any] = {}
    for name, values in managed.items():
        namespace, _, key = name.partition(".")
        fields |= managed_field(registered.get((namespace, key)), namespace, key, values)
    return AnnotationChanges(
        texts({name: value for name, value in given.items() if value is not None}),
        Tags(add=tags(options.tag), remove=tags(options.remove_tag)),
        Properties(add=properties(pairs), remove=tuple(key for key, value in pairs.items() if not value)),
        fields,
    )


def count_matching(solr: Solr, asked: str) -> int:
    """Count the entities that match a Solr query, including those written just before."""
    solr.commit(ELEMENTS, soft=True)
    return solr.count(ELEMENTS, asked)


def matching(solr: Solr, asked: str) -> Iterator[str]:
    """Yield the ids of the matching entities, each once, even if they are edited meanwhile."""
    for document in solr.cursor(ELEMENTS, asked, "identity"):
        yield document["identity"]


def edit_each(
    solr: Solr,
    ids: Iterable[str],
    changes: AnnotationChanges,
    author: Author,
    *,
    dry_run: bool,
    report: Callable[[int], None] = lambda done: None,
) -> Done:
    """Apply the same edit once to each of any number of entities. Edits of more than one entity are durable. Entities
    that no longer exist are skipped. ``report`` is called with the number of entities done."""
    done, decide = Done(dry_run), deciding(changes)
    try:
        for batch in in_batches(ids, WRITE_BATCH):
            for edited in edit_entities(solr, dict.fromkeys(batch, decide), author, dry_run=dry_run):
                done.add(len(batch), edited)
            report(done.entities)
    finally:
        if not dry_run:
            show_edits(solr, durable=done.entities > 1)
    return done


def _pair(text: str, form: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise BadValue(f"{text!r:.60} is not of the form {form}")
    return key, value
