"""A set of ids on disk: what an export has to remember may be as much as the index holds."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Final, Self

IDS_A_READ: Final = 5_000


class IdSet:
    """Ids, in a file that is gone with it. Iterates by id; what is added meanwhile may or may not be met. To be closed."""

    def __init__(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="navlin-export-")
        # One that a web request reads is handed from thread to thread, never used by two at once.
        self._db = sqlite3.connect(
            Path(self._directory.name, "ids"), isolation_level=None, check_same_thread=False
        )
        # A crash loses the file anyway.
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.execute("CREATE TABLE ids (id TEXT PRIMARY KEY) WITHOUT ROWID")

    def add(self, ids: Iterable[str]) -> None:
        """Adds ids; those that are there already stay."""
        with closing(self._db.cursor()) as cursor:
            cursor.execute("BEGIN")
            cursor.executemany("INSERT OR IGNORE INTO ids VALUES (?)", ((each,) for each in ids))
            cursor.execute("COMMIT")

    def without(self, ids: Iterable[str]) -> list[str]:
        """Those of these ids that are not in the set, each once, in their order."""
        return [each for each in dict.fromkeys(ids) if each not in self]

    def after(self, after: str = "") -> Iterator[str]:
        """The ids that come after one, by id."""
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

    def close(self) -> None:
        """Removes the file."""
        self._db.close()
        self._directory.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
