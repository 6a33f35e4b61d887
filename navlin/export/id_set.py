"""A set of ids on disk, because an export may have to remember as many ids as the index has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Final

from navlin.export.scratch_database import ScratchDatabase

IDS_A_READ: Final = 5_000


class IdSet(ScratchDatabase):
    """Ids in a file. The set must be closed, which removes the file."""

    def __init__(self) -> None:
        super().__init__("CREATE TABLE ids (id TEXT PRIMARY KEY) WITHOUT ROWID")

    def add(self, ids: Iterable[str]) -> None:
        """Add ids; those already in the set are ignored."""
        with closing(self._db.cursor()) as cursor:
            cursor.execute("BEGIN")
            cursor.executemany("INSERT OR IGNORE INTO ids VALUES (?)", ((each,) for each in ids))
            cursor.execute("COMMIT")

    def without(self, ids: Iterable[str]) -> list[str]:
        """Return the given ids that are not in the set, each once, in the given order."""
        return [each for each in dict.fromkeys(ids) if each not in self]

    def after(self, after: str = "") -> Iterator[str]:
        """Yield the ids greater than ``after``, in order. Ids added meanwhile may or may not be included."""
        while rows := self._db.execute(
            "SELECT id FROM ids WHERE id > ? ORDER BY id LIMIT ?", (after, IDS_A_READ)
        ).fetchall():
            yield from (row[0] for row in rows)
            after = rows[-1][0]

    def __contains__(self, identity: object) -> bool:
        return self._db.execute("SELECT 1 FROM ids WHERE id = ?", (identity,)).fetchone() is not None

    def __len__(self) -> int:
        count: int = self._db.execute("SELECT count(*) FROM ids").fetchone()[0]
        return count
