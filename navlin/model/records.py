"""The records that reading a split yields."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from navlin.model.keys import Key, RelationType
from navlin.model.source import Source

Attributes = Mapping[str, Any]
"""Field name → value. Names are Navigator's (originalName, owner, queryText …), all of which are in
`navlin.index.schema.fields.KNOWN`; any other name is kept as ``tp_<name>``. None and empty values are left out. Date
fields take ``datetime`` or epoch ms. A mapping becomes one JSON text. All texts are redacted on their way into a
document."""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity that this source owns, as it is at ``as_of_ms`` (epoch ms, by the source's own clock).

    Its relation to ``key.parent`` is implied: it is written, removed and reconciled with the entity. ``volatile``
    attributes (access times, statistics) change too often to count as a change, and are written only together with
    another change. ``ages`` marks entities that purge may remove by age alone: executions, operations without output.
    ``renamed_from`` is the identity under which users may have described the entity before the source renamed it, so
    that their metadata moves along.
    """

    key: Key
    as_of_ms: int
    attributes: Attributes = field(default_factory=dict)
    volatile: Attributes = field(default_factory=dict)
    ages: bool = False
    renamed_from: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Many files and directories of one file system as columns: the same content as that many `Entity` records, at a
    fraction of the cost.

    ``paths`` are absolute; ``directories`` tells for each path whether it is a directory. A column of ``attributes`` or
    ``volatile`` is a list, a NumPy array or an Arrow array of the same length; null means that the row has no value.
    Dates are epoch ms. The relation to the parent directory is implied. A row marked in ``where_claimed`` is written
    only if a relation names it, or the index has it already.
    """

    source: Source
    as_of_ms: int
    paths: Sequence[str]
    directories: Sequence[bool]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    volatile: Mapping[str, Any] = field(default_factory=dict)
    where_claimed: Sequence[bool] | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed edge between two keys. An end whose source is not the writing one is a claim.

    ``tree_path`` is the relation's path in the *writing* source's tree (an edge of an operation is below that
    operation); it decides which `Covered` applies to the relation.
    """

    type: RelationType
    ep1: Key
    ep2: Key
    tree_path: str
    as_of_ms: int
    attributes: Attributes = field(default_factory=dict)
    ages: bool = False


@dataclass(frozen=True, slots=True)
class Reject:
    """An unreadable record: counted, kept with its place, and skipped.

    ``place`` is a file or a URL, ``offset`` in bytes (or -1). ``tree_path``, if known, withdraws that path from the
    run's coverage, so that nothing below it is treated as deleted.
    """

    place: str
    reason: str
    offset: int = -1
    sample: str = ""
    tree_path: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Position:
    """The progress of reading. ``value`` is JSON; None deletes the key.

    `navlin status` shows positions to users. It shows a number with its key, as a time (epoch ms) if the key ends in
    ``_ms``. For an object it shows ``path`` (else the key), ``offset`` and ``size`` in bytes (-1: not read to the end);
    for other values, the number of items.
    """

    key: str
    value: Any


class Depth(StrEnum):
    """Depth of the paths to which a `Covered` applies."""

    SELF = "self"
    CHILDREN = "children"
    """The path itself and its direct children."""
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Covered:
    """Declaration that everything below this path of the source's own tree that was not yielded is gone.

    ``except_paths`` are branches that are not covered; ``matching`` is a regular expression, and paths that do not
    match it as a whole are not covered (a filter excludes them, and they cannot be listed). ``as_of_ms`` is the time of
    this state: entities in newer records stay. ``reported``: whether the source itself reported the loss (a drop, a
    re-read statement), so that the plausibility guard lets it through. ``proved``: whether a checksum shows that
    everything was read, so that missing paths need not be looked up by name.
    """

    path: str
    as_of_ms: int
    depth: Depth = Depth.ALL
    except_paths: Collection[str] = ()
    reported: bool = False
    matching: str = ""
    proved: bool = False


class Split:
    """A small picklable value that identifies one piece of work. Extractors define their own, as frozen dataclasses.

    ``name`` distinguishes the splits of one source in messages and for backoff after failures (a file's path, a batch's
    first table). ``local``: whether it must be read on the daemon's host, because it names a file of that host; any
    other split may be read by an executor on any machine (see also `navlin.model.extractor.Extractor.local`).
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        raise TypeError(f"{type(self).__name__} gives itself no name")

    @property
    def local(self) -> bool:
        return False


def first_of(names: Sequence[object]) -> str:
    """Return the first of some names and the number of the others, for the name of a split."""
    return f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else str(names[0])


Record = Entity | Listing | Relation | Reject | Position | Covered | Split
