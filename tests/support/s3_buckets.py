"""Buckets of very many objects, made as the files of a versitygw."""

from __future__ import annotations

from pathlib import Path
from typing import Final

IN_DIRECTORY: Final = 500


def fill_bucket(bucket: Path, objects: int) -> int:
    """Make empty objects ``ds=NNNN/part-NNNNN``, 500 in a directory, and return the number of directories. ``bucket`` is
    the bucket's directory.
    """
    directories = -(-objects // IN_DIRECTORY)
    for number in range(directories):
        folder = bucket / f"ds={number:04}"
        folder.mkdir()
        for part in range(min(IN_DIRECTORY, objects - number * IN_DIRECTORY)):
            (folder / f"part-{part:05}").touch()
    return directories
