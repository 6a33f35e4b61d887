"""Ways of keeping a graph at hand for walks: time of a walk and of an update, size, start, and readers beside a writer.

    python -m bench graph_candidates [--relations 209000] [--walks 200] [--changed 20000] [--seconds 10]

Statements derive each table from one to four tables. The relations are made directly, without Solr. Each way keeps, for
an entity and a side, the entities at the other ends, and answers the same plain walk to 400 tables in both directions.
Then the relations of some entities change, and two readers walk while a writer repeats that change: as processes if the
way has a file, else as threads. A way whose library is not installed (lmdb, duckdb) is left out.
"""

from __future__ import annotations

import hashlib
import importlib
import multiprocessing
import random
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from queue import Empty
from typing import Any, Final, Protocol

import numpy as np
from rich.console import Console

from bench._machine import load_of_machine, resident_mib
from bench._options import options
from bench._shown import percentile, table_of

TABLES: Final = 400
NEAR: Final = 2_000
ID: Final = 16
OPERATION: Final = 1
"""The mark of an end that is a statement; a table's mark is 0."""
Lists = Iterable[tuple[bytes, bytes]]
"""(id and side, packed ends): an end is an id and a mark."""


def identity(kind: str, number: int) -> bytes:
    return hashlib.md5(f"{kind}{number}".encode(), usedforsecurity=False).digest()


def relations(count: int, seed: int = 7) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield (end 1, end 2, mark of end 1). One of the two ends is a statement."""
    rng, made, number = random.Random(seed), 0, 0
    tables = table_count(count)
    while made < count:
        target, operation = rng.randrange(50, tables), identity("o", number)
        for source in {rng.randrange(max(0, target - NEAR), target) for _ in range(rng.randint(1, 4))}:
            yield identity("t", source), operation, 0
            made += 1
        yield operation, identity("t", target), OPERATION
        made, number = made + 1, number + 1


def table_count(count: int) -> int:
    return max(100, count // 7)


def lists(count: int) -> dict[bytes, bytes]:
    packed: dict[bytes, bytearray] = {}
    for one, other, mark in relations(count):
        packed.setdefault(one + b"1", bytearray()).extend(other + bytes([OPERATION - mark]))
        packed.setdefault(other + b"2", bytearray()).extend(one + bytes([mark]))
    return {key: bytes(value) for key, value in packed.items()}


def unpacked(packed: bytes) -> list[tuple[bytes, int]]:
    return [(packed[at : at + ID], packed[at + ID]) for at in range(0, len(packed), ID + 1)]


# -- The candidates --------------------------------------------------------------------------------------------------------


class Kept(Protocol):
    """A way of keeping the lists below a directory. ``shared``: other processes open the same file."""

    shared: bool

    def __init__(self, home: Path) -> None: ...
    def fill(self, every: Lists) -> None: ...
    def update(self, changed: Lists) -> None: ...
    def ends(self, one: bytes, side: bytes) -> list[tuple[bytes, int]]: ...


class InMemory:
    """Lists of tuples in the process that walks: what a read-through cache holds once it is warm."""

    shared = False

    def __init__(self, home: Path) -> None:
        self._lists: dict[bytes, list[tuple[bytes, int]]] = {}

    def fill(self, every: Lists) -> None:
        self._lists = {key: unpacked(packed) for key, packed in every}

    def update(self, changed: Lists) -> None:
        self._lists.update((key, unpacked(packed)) for key, packed in changed)

    def ends(self, one: bytes, side: bytes) -> list[tuple[bytes, int]]:
        return self._lists.get(one + side, [])


class Arrays:
    """Arrays of numpy: sorted keys, offsets and ends, with what changed in a dictionary."""

    shared = False

    def __init__(self, home: Path) -> None:
        self._delta: dict[bytes, bytes] = {}

    def fill(self, every: Lists) -> None:
        ordered = sorted(every)
        self._keys = np.array([key.hex() for key, _ in ordered], dtype=f"S{2 * (ID + 1)}")
        self._offsets = np.cumsum([0, *(len(packed) for _, packed in ordered)])
        self._ends = np.frombuffer(b"".join(packed for _, packed in ordered), dtype=np.uint8)

    def update(self, changed: Lists) -> None:
        self._delta.update(changed)

    def ends(self, one: bytes, side: bytes) -> list[tuple[bytes, int]]:
        key = one + side
        if key in self._delta:
            return unpacked(self._delta[key])
        sought = key.hex().encode()
        at = int(np.searchsorted(self._keys, np.bytes_(sought)))
        if at == len(self._keys) or self._keys[at] != sought:
            return []
        return unpacked(self._ends[self._offsets[at] : self._offsets[at + 1]].tobytes())


class Lmdb:
    """LMDB: memory-mapped pages, copied on write."""

    shared = True

    def __init__(self, home: Path) -> None:
        self._environment: Any = importlib.import_module("lmdb").open(str(home / "lmdb"), map_size=8 << 30)

    def fill(self, every: Lists) -> None:
        with self._environment.begin(write=True) as transaction:
            for key, packed in sorted(every):
                transaction.put(key, packed, append=True)

    def update(self, changed: Lists) -> None:
        with self._environment.begin(write=True) as transaction:
            for key, packed in changed:
                transaction.put(key, packed)

    def ends(self, one: bytes, side: bytes) -> list[tuple[bytes, int]]:
        with self._environment.begin(buffers=False) as transaction:
            return unpacked(transaction.get(one + side, b""))


class Sqlite:
    """SQLite: a table by key, with a write-ahead log."""

    shared = True

    def __init__(self, home: Path) -> None:
        self._connection = sqlite3.connect(home / "graph.sqlite", check_same_thread=False, timeout=60)
        self._connection.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA mmap_size=8589934592;"
            "CREATE TABLE IF NOT EXISTS lists (key BLOB PRIMARY KEY, packed BLOB) WITHOUT ROWID;"
        )

    def fill(self, every: Lists) -> None:
        self.update(sorted(every))

    def update(self, changed: Lists) -> None:
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO lists VALUES (?, ?)", changed)

    def ends(self, one: bytes, side: bytes) -> list[tuple[bytes, int]]:
        found = self._connection.execute("SELECT packed FROM lists WHERE key = ?", (one + side,)).fetchone()
        return unpacked(found[0]) if found else []


class Duckdb:
    """DuckDB: columns with an index. One process at a time may open a file that is written."""

    shared = False

    def __init__(self, home: Path) -> None:
        self._connection: Any = importlib.import_module("duckdb").connect(str(home / "graph.duckdb"))
        self._connection.execute("CREATE TABLE IF NOT EXISTS lists (key BLOB PRIMARY KEY, packed BLOB)")

    def fill(self, every: Lists) -> None:
        keys, values = zip(*every, strict=True)
        self._insert(list(keys), list(values))

    def update(self, changed: Lists) -> None:
        keys, values = zip(*changed, strict=True)
        self._insert(list(keys), list(values))

    def ends(self, one: bytes, side: bytes) -> list[tuple[bytes, int]]:
        # A cursor for each question, because threads may not share a result.
        found = (
            self._connection.cursor()
            .execute("SELECT packed FROM lists WHERE key = ?", [one + side])
            .fetchone()
        )
        return unpacked(found[0]) if found else []

    def _insert(self, keys: list[bytes], values: list[bytes]) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO lists SELECT unnest(?::BLOB[]), unnest(?::BLOB[])", [keys, values]
        )


CANDIDATES: Final[dict[str, tuple[type[Kept], str]]] = {
    "memory": (InMemory, "builtins"),
    "numpy": (Arrays, "numpy"),
    "LMDB": (Lmdb, "lmdb"),
    "SQLite": (Sqlite, "sqlite3"),
    "DuckDB": (Duckdb, "duckdb"),
}

# -- Measuring -------------------------------------------------------------------------------------------------------------


def walk(ends: Callable[[bytes, bytes], list[tuple[bytes, int]]], start: bytes) -> int:
    """Walk in both directions in turns, to 400 tables in all. Return the number of relations read."""
    tables, read = {start}, 0
    fronts, seen = {b"1": [start], b"2": [start]}, {b"1": {start}, b"2": {start}}
    while any(fronts.values()) and len(tables) < TABLES:
        for side, front in fronts.items():
            onward = []
            for one in front:
                found = ends(one, side)
                read += len(found)
                for other, mark in found:
                    if other not in seen[side]:
                        seen[side].add(other)
                        onward.append(other)
                        if mark != OPERATION:
                            tables.add(other)
            fronts[side] = onward if len(tables) < TABLES else []
    return read


def walk_for(kept: Kept, starts: list[bytes], seconds: float) -> list[float]:
    """Walk for some seconds, at least once. Return the seconds of each walk."""
    taken: list[float] = []
    until_s = time.monotonic() + seconds
    while not taken or time.monotonic() < until_s:
        begun_s = time.perf_counter()
        walk(kept.ends, starts[len(taken) % len(starts)])
        taken.append(time.perf_counter() - begun_s)
    return taken


def _reader(kind: type[Kept], home: Path, starts: list[bytes], seconds: float, answers: Any) -> None:
    answers.put(walk_for(kind(home), starts, seconds))


def _first_walk(kind: type[Kept], home: Path, start: bytes, answers: Any) -> None:
    begun_s = time.perf_counter()
    walk(kind(home).ends, start)
    answers.put(time.perf_counter() - begun_s)


def started_s(kind: type[Kept], home: Path, start: bytes) -> float:
    """Return the seconds that another process takes to open the file and to walk for the first time."""
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    process = context.Process(target=_first_walk, args=(kind, home, start, answers))
    process.start()
    seconds: float = answers.get()
    process.join()
    return seconds


def beside_writer(
    kind: type[Kept], kept: Kept, home: Path, starts: list[bytes], changed: Lists, seconds: float
) -> tuple[list[float], int]:
    """Return the seconds of the walks of two readers, and how often the writer has written meanwhile."""
    taken: list[float] = []
    readers: list[Any]
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    if kind.shared:
        readers = [
            context.Process(target=_reader, args=(kind, home, starts, seconds, answers)) for _ in range(2)
        ]
    else:
        readers = [
            threading.Thread(target=lambda: answers.put(walk_for(kept, starts, seconds))) for _ in range(2)
        ]
    for reader in readers:
        reader.start()
    writes, waiting = 0, len(readers)
    while waiting:
        kept.update(changed)
        writes += 1
        try:
            taken += answers.get(timeout=0.1)
            waiting -= 1
        except Empty:
            continue
    for reader in readers:
        reader.join()
    return taken, writes


def measure(
    kind: type[Kept],
    every: dict[bytes, bytes],
    count: int,
    starts: list[bytes],
    changed: Lists,
    seconds: float,
) -> list[str]:
    with tempfile.TemporaryDirectory() as name:
        home, own_mib = Path(name), resident_mib(multiprocessing.current_process().pid or 0)
        kept = kind(home)
        begun_s = time.perf_counter()
        kept.fill(every.items())
        filled_s = time.perf_counter() - begun_s
        on_disk = sum(file.stat().st_blocks * 512 for file in home.rglob("*") if file.is_file())
        in_memory = (resident_mib(multiprocessing.current_process().pid or 0) - own_mib) * (1 << 20)
        start_ms = (
            f"{started_s(kind, home, starts[0]) * 1000:.1f}"
            if kind.shared
            else f"{filled_s * 1000:.0f} (fill)"
        )
        taken = []
        for start in starts:
            begun_s = time.perf_counter()
            walk(kept.ends, start)
            taken.append(time.perf_counter() - begun_s)
        begun_s = time.perf_counter()
        kept.update(changed)
        updated_s = time.perf_counter() - begun_s
        beside, writes = beside_writer(kind, kept, home, starts, changed, seconds)
        return [
            f"{filled_s:.1f}",
            f"{(on_disk or in_memory) / count:.0f}{'' if on_disk else ' (memory)'}",
            start_ms,
            f"{percentile(taken, 0.5) * 1000:.1f}",
            f"{percentile(taken, 0.95) * 1000:.1f}",
            f"{updated_s * 1000:.0f}",
            f"{percentile(beside, 0.5) * 1000:.1f}",
            f"{percentile(beside, 0.95) * 1000:.1f}",
            f"{writes}",
        ]


def main() -> None:
    parser = options(__doc__, relations=209_000, walks=200, changed=20_000, seconds=10.0)
    parser.add_argument("--only", choices=CANDIDATES, help="measure one way only")
    asked = parser.parse_args()
    every = lists(asked.relations)
    rng = random.Random(11)
    starts = [identity("t", rng.randrange(table_count(asked.relations))) for _ in range(asked.walks)]
    changed = [(key, every[key]) for key in rng.sample(sorted(every), min(asked.changed, len(every)))]
    begun = load_of_machine()
    read = percentile(
        [walk(lambda one, side: unpacked(every.get(one + side, b"")), each) for each in starts], 0.5
    )
    table = table_of(
        "way",
        figures=(
            "fill s",
            "bytes a relation",
            "start and first walk ms",
            "walk p50 ms",
            "p95 ms",
            "update ms",
            "beside a writer p50 ms",
            "p95 ms",
            "writes",
        ),
        title=f"{asked.relations:,} relations, {len(changed):,} changed entities, {read:.0f} relations a walk",
    )
    for name, (kind, library) in CANDIDATES.items():
        if asked.only in (None, name) and find_spec(library) is not None:
            table.add_row(name, *measure(kind, every, asked.relations, starts, changed, asked.seconds))
    table.caption = f"load of the machine {begun} to {load_of_machine()}"
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
