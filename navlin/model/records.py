"""Records: what reading a split yields."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from navlin.model.keys import Key, RelationType
from navlin.model.source import Source

Attributes = Mapping[str, Any]
"""Values by field name. Names are Navigator's (originalName, owner, queryText …); one that the index does not know is kept
as ``tp_<name>``. None and empty values are left out. Dates are ``datetime`` or epoch milliseconds for the date fields. A
mapping becomes one JSON text. All texts are redacted on their way into a document."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing that this source owns, as it is at ``as_of_ms`` (epoch ms, by the source's own clock).

    Its relation to ``key.parent`` is implied: it is written, removed and reconciled with the entity.
    ``volatile`` attributes (access times, statistics) change too often to count as a change: they are written along with
    another one. ``ages`` marks what purge may remove by its age alone: executions, operations without output.
    ``renamed_from`` is the identity under which people may have described it before the source renamed it: their words
    go along.
    """

    key: Key
    as_of_ms: int
    attributes: Attributes = field(default_factory=dict)
    volatile: Attributes = field(default_factory=dict)
    ages: bool = False
    renamed_from: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Many files and directories of one file system at once, as columns: as much as that many `Entity`s, at a fraction of
    the cost.

    ``paths`` are absolute; ``directories``: whether each is one. A column of ``attributes`` or ``volatile`` is a
    list, a NumPy array or an Arrow array of the same length; a row for which it is null has none. Dates are epoch ms.
    That the directory above contains each of them is implied. A row marked in ``where_claimed`` is written only where a
    relation names it, or the index has it already.
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

    ``tree_path`` is where in the *writing* source's tree the statement stands (an edge of an operation stands below that
    operation); it decides which `Covered` covers it.
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
    """Something that would not read: counted, kept with its place, and passed.

    ``place`` is a file or a URL, ``offset`` bytes into it (or -1). ``tree_path``, where known, withdraws that path from
    what its run covers: nothing below it is taken for gone.
    """

    place: str
    reason: str
    offset: int = -1
    sample: str = ""
    tree_path: str = ""
    count: int = 1


@dataclass(frozen=True, slots=True)
class Position:
    """How far something has been read. ``value`` is JSON; None forgets the key.

    `navlin status` shows it to people: the key and a number, which is a time (epoch ms) where the key ends in ``_ms``; of an
    object ``path`` (else the key), ``offset`` and ``size`` in bytes (-1: not read to its end); of others how many there are.
    """

    key: str
    value: Any


class Depth(StrEnum):
    """How far down a `Covered` reaches."""

    SELF = "self"
    CHILDREN = "children"
    """The thing itself and what stands directly below it."""
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Covered:
    """Below this path of the source's own tree, what was not yielded is gone.

    ``except_paths`` are branches that it does not cover; ``matching`` is a regular expression, and it does not cover a
    path that does not match it as a whole (what a filter leaves out, though it cannot be listed). ``as_of_ms`` is when that
    was so: what is in a newer record stays. ``reported``: the source itself reported the loss (a drop, a re-read
    statement); the plausibility guard lets such a loss through. ``proved``: what was read is known to be whole, by a
    checksum: what it does not have is not asked for by name.
    """

    path: str
    as_of_ms: int
    depth: Depth = Depth.ALL
    except_paths: Collection[str] = ()
    reported: bool = False
    matching: str = ""
    proved: bool = False


class Split:
    """A small picklable value that names one piece of work. Extractors define their own, as frozen dataclasses.

    ``name`` distinguishes splits of one source in messages and when one that fails is held back (a file's path, a batch's
    first table). ``local``: it must be read on the host where the daemon runs, because it names a file of that host;
    every other one may be read by an executor on any machine (see also `navlin.model.extractor.Extractor.local`).
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        raise TypeError(f"{type(self).__name__} gives itself no name")

    @property
    def local(self) -> bool:
        return False


Record = Entity | Listing | Relation | Reject | Position | Covered | Split
