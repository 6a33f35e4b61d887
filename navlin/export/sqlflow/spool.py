"""Stores SQLFlow's elements on disk until all are known. In a document, objects come before relations, and an object
lists the ids of all processes that write it, which are read later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from navlin.export.scratch_database import ScratchDatabase
from navlin.export.sqlflow.model import DbObject, ObjectColumn, ObjectKind

_TABLES: Final = """
CREATE TABLE objects (id INTEGER PRIMARY KEY, server TEXT, vendor TEXT, schema TEXT, kind TEXT, name TEXT, type TEXT,
  sub_type TEXT, uri TEXT);
CREATE TABLE columns (place INTEGER PRIMARY KEY, object INTEGER, id INTEGER, name TEXT, source TEXT, UNIQUE (object, id));
CREATE TABLE writes (object INTEGER, process INTEGER, PRIMARY KEY (object, process)) WITHOUT ROWID;
CREATE TABLE texts (place INTEGER PRIMARY KEY, part TEXT, id INTEGER, text TEXT, UNIQUE (part, id));
"""


class Placed(NamedTuple):
    """An object with its server, and the vendor of the server's database."""

    server: str
    vendor: str
    object: DbObject


class Spool(ScratchDatabase):
    """Elements in a file that is removed when the spool is closed. Duplicates are stored once. If an object is added
    several times, the first version counts, but the columns and processes of all versions are kept."""

    def __init__(self) -> None:
        super().__init__(_TABLES)
        self._db.execute("BEGIN")

    def add_object(self, placed: Placed) -> None:
        """Add an object with the columns and processes known so far."""
        server, vendor, each = placed
        self._db.execute(
            "INSERT OR IGNORE INTO objects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (each.id, server, vendor, each.schema, each.kind, each.name, each.type, each.sub_type, each.uri),
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO columns (object, id, name, source) VALUES (?, ?, ?, ?)",
            ((each.id, column.id, column.name, column.source) for column in each.columns),
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO writes VALUES (?, ?)", ((each.id, process) for process in each.processes)
        )

    def add_text(self, part: str, identity: int, text: str) -> None:
        """Add the text of a process or relation to a ``part`` of the document."""
        row = (part, identity, text)
        self._db.execute("INSERT OR IGNORE INTO texts (part, id, text) VALUES (?, ?, ?)", row)

    def objects(self) -> Iterator[Placed]:
        """Yield all objects with all columns and processes, sorted by server, schema, kind and name."""
        rows = self._db.execute("SELECT * FROM objects ORDER BY server, vendor, schema, kind, name, id")
        for identity, server, vendor, schema, kind, name, type_, sub_type, uri in rows:
            columns = self._db.execute(
                "SELECT id, name, source FROM columns WHERE object = ? ORDER BY place", (identity,)
            )
            writes = self._db.execute(
                "SELECT process FROM writes WHERE object = ? ORDER BY process", (identity,)
            )
            found = DbObject(
                ObjectKind(kind),
                identity,
                name,
                type_,
                tuple(ObjectColumn(*row) for row in columns),
                sub_type,
                schema=schema,
                uri=uri,
                processes=tuple(process for (process,) in writes),
            )
            yield Placed(server, vendor, found)

    def texts(self, part: str) -> Iterator[str]:
        """Yield the texts of one part, in the order of arrival."""
        rows = self._db.execute("SELECT text FROM texts WHERE part = ? ORDER BY place", (part,))
        return (text for (text,) in rows)
