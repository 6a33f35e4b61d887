"""Transfer of user metadata, and of the times of first appearance and last read, when a source renames entities.

Ids follow names, and renames come in sequences, for example if two tables swap names by way of a third. Therefore the
indexed state of all affected names is read before anything is written, and saved in the index. If the run is
interrupted, its repetition reads the original state from there. If an entity is dropped, its user metadata waits under
its name for an entity that is created there, or that is renamed to it and has no user metadata.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from navlin.index.graph.state import LOOKUP_PATHS, count_stored, documents_below
from navlin.index.schema.fields import (
    CONTENT_FIELDS,
    ELEMENTS,
    LAST_READ_FIELDS,
    LINKER_FIELDS,
    RUNS,
    SOURCE_ANNOTATIONS,
    is_user_field,
)
from navlin.index.solr.solr import Solr
from navlin.index.write.documents import Document
from navlin.index.write.rewriting import rewrite
from navlin.model.batches import in_batches
from navlin.model.tree import ROOT, contains, upward

MOST_DOCUMENTS: Final = 100_000
"""Maximum number of documents below the names of one run's renames, because they are held in memory."""
FieldValues = Mapping[str, Any]
_OF_THE_THING: Final = LAST_READ_FIELDS | CONTENT_FIELDS | {"firstSeen", "recreated"}
_OF_THE_PLACE: Final = LINKER_FIELDS - LAST_READ_FIELDS


@dataclass(frozen=True, slots=True)
class RenamedValues:
    """Result of renames. ``values`` maps tree paths to the values that belong there after all renames; an affected path
    without an entry has no values. ``run_id`` is set if the run is being repeated, so that documents already stamped
    with it keep their values. ``note`` is the reason if nothing was moved."""

    paths: frozenset[str] = frozenset()
    values: Mapping[str, FieldValues] = field(default_factory=dict)
    run_id: str = ""
    note: str = ""

    def concerns(self, tree_path: str) -> bool:
        return (
            bool(self.paths)
            and tree_path.startswith(ROOT)
            and any(path in self.paths for path in upward(tree_path))
        )

    def at(self, tree_path: str, before: Document | None) -> FieldValues | None:
        """Return the values for a document written at a path; None if the values of ``before`` stay."""
        if not self.concerns(tree_path) or (before and before.get("extractorRunId") == self.run_id):
            return None
        linked = {name: before[name] for name in _OF_THE_PLACE & before.keys()} if before else {}
        return {**linked, **self.values.get(tree_path, {})}


def read_renames(solr: Solr, source_id: str, run_id: str, moves: Sequence[tuple[str, str]]) -> RenamedValues:
    """Read the state at the names of ``moves`` ((before, after), in order) as it was before this run's first write, and
    apply the renames."""
    kept = next(iter(solr.get(RUNS, [_identity(source_id)])), None)
    before = orjson.loads(kept["body"]) if kept is not None else {}
    repeats = kept is not None and kept["key"] == run_id
    known: dict[str, FieldValues] = dict(before.get("words" if repeats else "waiting", {}))
    if not moves and not known:
        return RenamedValues()
    paths = frozenset(path for move in moves for path in move) | known.keys()
    batches = in_batches(sorted(paths), LOOKUP_PATHS)
    below = sum(count_stored(solr, ELEMENTS, source_id, below=batch) for batch in batches)
    if below > MOST_DOCUMENTS:
        return RenamedValues(
            note=f"{below} entities were renamed at once, too many to follow: user metadata stays with the names"
        )
    written = frozenset(before["paths"]) if repeats else frozenset()
    for path, document in documents_below(solr, source_id, sorted(paths)):
        # Ignore anything that the repeated run may have written.
        if not any(each in written for each in upward(path)):
            known[path] = _of_thing(document)
    listed_moves = [list(move) for move in moves]
    body = {"paths": sorted(paths), "words": known, "moves": listed_moves, "waiting": {}}
    _keep(solr, source_id, run_id, body)
    same = repeats and before["moves"] == listed_moves
    return RenamedValues(paths, values_after(known, moves), run_id if same else "")


def _identity(source_id: str) -> str:
    return f"moved##{source_id}"


def _keep(solr: Solr, source_id: str, run_id: str, body: Mapping[str, Any]) -> None:
    text = orjson.dumps(body).decode()
    identity = _identity(source_id)
    solr.add_all(
        RUNS, [{"identity": identity, "kind": "moved", "sourceId": source_id, "key": run_id, "body": text}]
    )


def values_after(
    known: Mapping[str, FieldValues], moves: Sequence[tuple[str, str]]
) -> dict[str, FieldValues]:
    """Apply the moves (path before, path after) to ``known`` (path → values), and return the resulting path →
    values."""
    slots = _Slots(known, frozenset(path for move in moves for path in move))
    for before, after in moves:
        taken = {after + path.removeprefix(before): values for path, values in slots.take(before)}
        waiting = dict(slots.take(after))
        described = any(map(_written, taken.values()))
        if not described:
            for path, values in waiting.items():
                slots.put(path, _written(values))
        for path, values in taken.items():
            slots.put(path, values if described else {**values, **_written(waiting.get(path, {}))})
    return slots.values


def put_where_nothing_is(solr: Solr, source_id: str, run_id: str, renamed: RenamedValues) -> None:
    """Write the values that wait at a path to the document flagged deleted there. Call this after all other documents
    were written and flagged.

    If there is no document at all (because the renamed entity was dropped before it was read), the values are kept for
    the next run.
    """
    if not renamed.paths:
        return

    def change(document: Document) -> Document | None:
        values = _written(renamed.values.get(by_id[document["identity"]], {}))
        if not document.get("deleted") or _written(document) == values:
            return None
        of_source = document.get(SOURCE_ANNOTATIONS, ())
        left = {k: v for k, v in document.items() if not is_user_field(k) or k in of_source}
        return {**left, **values}

    found = dict(documents_below(solr, source_id, sorted(renamed.paths)))
    by_id = {document["identity"]: path for path, document in found.items() if document.get("deleted")}
    list(rewrite(solr, ELEMENTS, list(by_id), change))
    waiting = {
        path: values for path, values in renamed.values.items() if path not in found and _written(values)
    }
    (kept,) = solr.get(RUNS, [_identity(source_id)])
    _keep(solr, source_id, run_id, {**orjson.loads(kept["body"]), "waiting": waiting})


def _of_thing(document: Document) -> FieldValues:
    when = {name: document[name] for name in _OF_THE_THING & document.keys()}
    return {**when, **_written(document)}


def _written(document: FieldValues) -> dict[str, Any]:
    """Return the user fields of a document, without those filled from its source."""
    of_source = document.get(SOURCE_ANNOTATIONS, ())
    return {name: value for name, value in document.items() if is_user_field(name) and name not in of_source}


class _Slots:
    """Path → values, indexed by the renamed paths above each path."""

    def __init__(self, known: Mapping[str, FieldValues], named: frozenset[str]) -> None:
        self.values: dict[str, FieldValues] = {}
        self._named = named
        self._below: dict[str, set[str]] = {}
        for path, values in known.items():
            self.put(path, values)

    def put(self, path: str, values: FieldValues) -> None:
        self.values[path] = values
        for each in upward(path):
            if each in self._named:
                self._below.setdefault(each, set()).add(path)

    def take(self, top: str) -> Iterator[tuple[str, FieldValues]]:
        for path in sorted(self._below.get(top, ())):
            if contains(top, path):
                for each in upward(path):
                    self._below.get(each, set()).discard(path)
                yield path, self.values.pop(path)
