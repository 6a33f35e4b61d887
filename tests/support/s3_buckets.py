"""Buckets of very many objects, made as the files of a versitygw."""

from __future__ import annotations

from pathlib import Path
from typing import Final

DIRECTORIES: Final = 400


def fill_bucket(bucket: Path, objects: int) -> None:
    """Make empty objects ``ds=NNN/part-NNNNN``, equally many in each of the directories. ``bucket`` is the bucket's own
    directory, ``objects`` a multiple of `DIRECTORIES`.
    """
    for number in range(DIRECTORIES):
        folder = bucket / f"ds={number:03}"
        folder.mkdir()
        for part in range(objects // DIRECTORIES):
            (folder / f"part-{part:05}").touch()
