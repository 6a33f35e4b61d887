"""Staging paths of files that engines will move or remove. Files there are not datasets, nor inputs or outputs of
jobs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple


class Staging(NamedTuple):
    """A glob for a name at any depth, or for a path from the root. ``of`` is the engine that uses it.

    ``listed`` is true if the HDFS extractor excludes the glob by default. ``ends`` is true if an input or output there
    is left out of the job's lineage. ``moved`` is true if the data is later moved to a location that no record names.
    """

    of: str
    glob: str
    listed: bool = False
    ends: bool = True
    moved: bool = False


STAGING: Final = (
    Staging("people", ".Trash", listed=True, ends=False),
    Staging("Hive", ".hive-staging*", listed=True),
    Staging("Hive", "_tmp.*"),
    Staging("Hive", "_task_tmp.*"),
    Staging("Hive", "-mr-[0-9]*"),
    Staging("Hive", "-ext-[0-9]*"),
    Staging("Hive", "-local-[0-9]*"),
    Staging("Hive", "/tmp/hive-*"),
    Staging("Impala", "_impala_insert_staging", listed=True),
    Staging("MapReduce", "_temporary", listed=True),
    Staging("Spark", ".spark-staging-*", listed=True),
    Staging("Spark", ".sparkStaging", listed=True),
    Staging("MapReduce", ".staging", listed=True),
    Staging("MapReduce", "/tmp/hadoop-yarn"),
    Staging("S3A", "__magic"),
    Staging("S3A", "__magic_job-*"),
    Staging("DistCp", ".distcp.tmp.*"),
    Staging("Tez", "_tez_session_dir"),
    Staging("Pig", "/tmp/temp-[0-9]*"),
    Staging("Pig", "/tmp/temp[0-9]*"),
    Staging("Oozie", "oozie-oozi"),
    Staging("Sqoop", "_sqoop", moved=True),
    Staging("people", "*._COPYING_", listed=True, ends=False),
    Staging("Hive", "/tmp/hive", listed=True),
    Staging("MapReduce", "/tmp/hadoop-yarn/staging", listed=True),
)


def left_out() -> tuple[str, ...]:
    """Return the globs that the HDFS extractor excludes by default."""
    globs = (each.glob for each in STAGING if each.listed)
    return tuple(glob if glob.startswith("/") else f"/**/{glob}" for glob in globs)


def is_staging(path: str) -> bool:
    """Whether a path (without its host) is a staging path of an engine."""
    return _ENDS.search(path) is not None


def is_moved(path: str) -> bool:
    """Whether files at a path will be moved to a location that no record names."""
    return _MOVED.search(path) is not None


def _matching(some: Iterable[Staging]) -> re.Pattern[str]:
    """Return a pattern that finds each glob as a name in a path, or as the beginning of a path."""
    return re.compile("|".join(_pattern(each.glob) for each in some))


def _pattern(glob: str) -> str:
    pieces = re.split(r"(\*|\[[^]]+\])", glob)
    inner = "".join(
        "[^/]*" if piece == "*" else piece if piece.startswith("[") else re.escape(piece) for piece in pieces
    )
    return f"{'^' if glob.startswith('/') else '(?:^|/)'}{inner}(?:/|$)"


_ENDS: Final = _matching(each for each in STAGING if each.ends)
_MOVED: Final = _matching(each for each in STAGING if each.moved)
