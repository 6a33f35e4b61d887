"""Files that are written whole or not at all, and directories that survive a power failure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replaced(file: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Open a new file, readable only by its owner, that replaces ``file`` when it is complete. After any error ``file``
    is unchanged, and the partial file is removed. With ``durable``, either the old or the new content survives a power
    failure."""
    unfinished = file.with_name(file.name + ".new")
    unfinished.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            yield out
            out.flush()
            if durable:
                os.fsync(out.fileno())
        unfinished.replace(file)
    except BaseException:
        # The disk may be full, so the partial file must not remain.
        with suppress(OSError):
            unfinished.unlink()
        raise


def replace_content(file: Path, content: bytes, *, durable: bool = True) -> None:
    """Replace a file's content as `replaced` does."""
    with replaced(file, durable=durable) as out:
        out.write(content)


def make_directory(directory: Path) -> None:
    """Create a directory with its parents, accessible only by their owner, unless it is there. A directory created here
    survives a power failure."""
    missing = []
    while not directory.is_dir():
        missing.append(directory)
        directory = directory.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        sync_directory(each.parent)


def sync_directory(directory: Path) -> None:
    """Wait until the entries of a directory are on the disk. Raises OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
