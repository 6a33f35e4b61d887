"""A verdict on whether something was read, and the question that it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from navlin.index.entity import StoredEntity
from navlin.index.fields import solr_date
from navlin.index.readers import Place

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
"""The columns of the answer as CSV."""


class Verdict(StrEnum):
    """What is known of reads of something."""

    UNUSED = "unused"
    UNKNOWN = "not known"
    USED = "used"


class Of(StrEnum):
    """What is judged."""

    TABLES = "tables"
    PARTITIONS = "partitions"
    DIRECTORIES = "directories"


@dataclass(frozen=True, slots=True)
class Size:
    """What something holds: ``space_bytes`` are its bytes as often as they are kept on HDFS (0: not known), ``modified_ms``
    when a file of it was last written. ``as_of_ms`` is the time of the image that all this is of, 0 if it is summed from the
    files that the index has. Times are epoch ms."""

    size_bytes: int
    files: int
    space_bytes: int = 0
    modified_ms: int = 0
    as_of_ms: int = 0


@dataclass(frozen=True, slots=True)
class Judged:
    """A table, partition or directory, and what is known of reads of it. ``last_read_ms`` and ``last_reader`` are of the
    last read that is known (epoch ms; 0: none is)."""

    entity: StoredEntity
    verdict: Verdict
    reasons: tuple[str, ...]
    places: tuple[Place, ...] = ()
    size: Size | None = None
    last_read_ms: int = 0
    last_reader: str = ""

    @property
    def size_bytes(self) -> int:
        """How much it holds, as far as that is known."""
        return self.size.size_bytes if self.size is not None else 0

    @property
    def database(self) -> str:
        """The database of a table or partition."""
        return "" if self.entity.type == "DIRECTORY" else self.entity.database

    def to_json(self) -> dict[str, Any]:
        """id, type, name, database, owner, verdict, reasons, sizeBytes, spaceBytes and files (null if not known), sizeAsOf
        (of an image; null: as the index has the files), lastRead, lastReader, lastWritten (null if not known), locations."""
        size = self.size
        return {
            "id": self.entity.id,
            "type": self.entity.type,
            "name": self.entity.name,
            "database": self.database,
            "owner": self.entity.owner,
            "verdict": self.verdict.value,
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
class Question:
    """What is asked: nothing read for ``days``, at ``now_ms`` (epoch ms). ``without_engines`` are those of which a person
    says that nothing of them reads here; with ``despite_gaps`` a person takes it that what navlin could not read was no
    read of these. ``from_ms`` is a time from when on instead, 0 for none."""

    days: int
    now_ms: int
    without_engines: tuple[str, ...] = ()
    despite_gaps: bool = False
    from_ms: int = 0

    @property
    def since_ms(self) -> int:
        """From when on nothing was read."""
        return self.from_ms or self.now_ms - self.days * DAY_MS
