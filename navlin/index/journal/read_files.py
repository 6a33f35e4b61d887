"""Files that were read to their end, according to the saved positions."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any, Final

import orjson

from navlin.index.schema.fields import RUNS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr
from navlin.model.spooled import file_key

IN_PROGRESS: Final = ".inprogress"
KEYS_AT_ONCE: Final = 1_000


def read_to_end(solr: Solr, sizes_bytes: Mapping[str, int]) -> set[str]:
    """Return the position keys of the files that every source following them has read completely. ``sizes_bytes`` maps
    position keys to file sizes."""
    read: set[str] = set()
    behind: set[str] = set()
    filters = ["kind:position", q.terms("key", sizes_bytes)]
    for document in solr.cursor(RUNS, "*:*", "identity,key,body", filters=filters):
        key, value = document["key"], orjson.loads(document["body"])
        (read if value["offset"] >= sizes_bytes[key] else behind).add(key)
    return read - behind


def paths_read_to_end(solr: Solr, sizes_bytes: Mapping[str, int]) -> set[str]:
    """Return the paths of the files that every source following them has read completely. ``sizes_bytes`` maps paths to
    sizes. A file may be followed by itself, or as one of the parts of Spark's rolling event log."""
    keys: dict[str, tuple[str, ...]] = {}
    times_ns: dict[str, int] = {}
    for path in sizes_bytes:
        with suppress(FileNotFoundError):
            stat = os.stat(path)
            times_ns[path] = stat.st_mtime_ns
            log, folder = path.removesuffix(IN_PROGRESS), str(PurePath(path).parent)
            keys[path] = (file_key(socket.gethostname(), stat), log, folder)
    saved = _saved(solr, sorted({each for of_path in keys.values() for each in of_path}))
    read = set()
    for path, of_path in keys.items():
        size = sizes_bytes[path]
        ends = [
            _is_at_end(value, PurePath(path).name, size, times_ns[path])
            for key in of_path
            for value in saved.get(key, ())
        ]
        if not size or (ends and all(ends)):
            read.add(path)
    return read


def _is_at_end(value: Mapping[str, Any], name: str, size: int, mtime_ns: int) -> bool:
    if "offset" in value:
        return bool(value["offset"] >= size)
    if value["size"] < 0:
        return False  # the log was not read to its end
    if "sizes" not in value:
        return bool(value["size"] >= size)
    part = name.removesuffix(IN_PROGRESS)
    # A part that the log did not list has been compacted away, unless it is newer.
    return bool(
        value["sizes"].get(part, size) == size and (part in value["sizes"] or mtime_ns <= value["mtime_ns"])
    )


def _saved(solr: Solr, keys: list[str]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for at in range(0, len(keys), KEYS_AT_ONCE):
        filters = ["kind:position", q.terms("key", keys[at : at + KEYS_AT_ONCE])]
        for document in solr.cursor(RUNS, "*:*", "identity,key,body", filters=filters):
            found.setdefault(document["key"], []).append(orjson.loads(document["body"]))
    return found
