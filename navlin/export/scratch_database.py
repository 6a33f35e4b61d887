"""A temporary database for one export, on disk because an export may have to remember as much as the index holds."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self


class ScratchDatabase:
    """A SQLite database in its own directory below the system's temporary directory. The caller must close it; after a
    crash, the file remains."""

    def __init__(self, schema: str) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="navlin-export-")
        # The export of a web request moves from thread to thread, but two threads never use the database at the same
        # time.
        path = Path(self._directory.name, "export.sqlite")
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        # There need not be a journal, because the database is useless after a crash.
        self._db.execute("PRAGMA journal_mode = OFF")
        self._db.execute("PRAGMA synchronous = OFF")
        self._db.executescript(schema)

    def close(self) -> None:
        """Close the database and remove the file."""
        self._db.close()
        self._directory.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
