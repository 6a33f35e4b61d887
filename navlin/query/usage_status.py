"""The question whether entities were read, and the usage status of one entity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from navlin.index.graph.entity import StoredEntity
from navlin.index.schema.fields import solr_date
from navlin.index.usage.readers import LocationPath

DAY_MS: Final = 86_400_000
COLUMNS: Final = (
    "verdict",
    "type",
    "database",
    "name",
    "owner",
    "sizeBytes",
    "spaceBytes",
    "files",
    "sizeAsOf",
    "lastRead",
    "lastReader",
    "lastWritten",
    "locations",
    "reasons",
    "id",
)
"""Columns of the CSV output."""


class UsageStatus(StrEnum):
    """Whether an entity was read. JSON shows the status as ``verdict``."""

    UNUSED = "unused"
    UNKNOWN = "not known"
    USED = "used"


class JudgedKind(StrEnum):
    """Kind of entity judged."""

    TABLES = "tables"
    PARTITIONS = "partitions"
    DIRECTORIES = "directories"


@dataclass(frozen=True, slots=True)
class Size:
    """Size of an entity. ``space_bytes`` includes all copies on HDFS (0: unknown), ``modified_ms`` is the last write to
    one of the entity's files. ``as_of_ms`` is the time of the image from which these values come, 0 if they are summed
    from the files in the index; ``space_bytes`` comes from the image even then. Times are epoch ms."""

    size_bytes: int
    files: int
    space_bytes: int = 0
    modified_ms: int = 0
    as_of_ms: int = 0


@dataclass(frozen=True, slots=True)
class EntityUsage:
    """A table, partition or directory, and the status of its reads.

    ``reasons`` describe the read if USED, the evidence if UNUSED, and why reads are unknown if UNKNOWN. ``places`` and
    ``size`` are not looked up for a table with a recent recorded read. ``last_read_ms`` is the time of the last known read
    (epoch ms; 0: none, or an execution that reads the entity is running), ``last_reader`` its user, "" if only the time is
    known."""

    entity: StoredEntity
    status: UsageStatus
    reasons: tuple[str, ...]
    places: tuple[LocationPath, ...] = ()
    size: Size | None = None
    last_read_ms: int = 0
    last_reader: str = ""

    @property
    def size_bytes(self) -> int:
        """Size in bytes; 0 if unknown."""
        return self.size.size_bytes if self.size is not None else 0

    @property
    def database(self) -> str:
        """The database of a table or partition; "" for a directory."""
        return "" if self.entity.type == "DIRECTORY" else self.entity.database

    def to_json(self) -> dict[str, Any]:
        """JSON keys: id, type, name, database, owner, verdict, reasons, sizeBytes, spaceBytes and files (null if not
        known), sizeAsOf (of an image; null: summed from the files in the index), lastRead, lastReader, lastWritten
        (null if not known), locations."""
        size = self.size
        return {
            "id": self.entity.id,
            "type": self.entity.type,
            "name": self.entity.name,
            "database": self.database,
            "owner": self.entity.owner,
            "verdict": self.status.value,
            "reasons": list(self.reasons),
            "sizeBytes": size.size_bytes if size else None,
            "spaceBytes": (size.space_bytes or None) if size else None,
            "files": size.files if size else None,
            "sizeAsOf": _date(size.as_of_ms) if size else None,
            "lastRead": _date(self.last_read_ms),
            "lastReader": self.last_reader or None,
            "lastWritten": _date(size.modified_ms) if size else None,
            "locations": [place.path for place in self.places],
        }


def _date(moment_ms: int) -> str | None:
    return solr_date(moment_ms) if moment_ms else None


@dataclass(frozen=True, slots=True)
class UsageQuestion:
    """The question whether entities were read in the ``days`` before ``now_ms`` (epoch ms).

    ``without_engines`` are engines that, as a person vouches, read nothing here; case is ignored. ``despite_gaps``: a person
    vouches that no read of these entities was in records or files that could not be read, in operations or views known
    incompletely, in silent weeks, or in statements whose records do not name the tables that they read. ``from_ms`` is a
    start time to use instead of ``days``, 0 for none; it is set only to judge the tables of partitions."""

    days: int
    now_ms: int
    without_engines: tuple[str, ...] = ()
    despite_gaps: bool = False
    from_ms: int = 0

    @property
    def since_ms(self) -> int:
        """Start of the period in question (epoch ms)."""
        return self.from_ms or self.now_ms - self.days * DAY_MS
