"""Open files that others can replace. Only regular files are opened, and none outside the configured directory.

A FIFO would wait for its writer forever, a device can act when it is opened, and a link can lead to any file that
navlin may read. So a path is first opened without touching its target (``O_PATH``) and examined; only a regular file
is then opened for reading. The kernel reports the location of the opened file, so that nobody can exchange a link in
between.

A link is followed to a file in its own directory or below, because such links name current logs. A configured
directory may itself be a link. A hard link cannot be distinguished from a file of the directory.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


class NotFollowed(OSError):
    """A path is not that of a regular file, or leads out of its directory. Nothing was read."""


def open_regular(path: str, directory: str) -> BinaryIO:
    """Open a regular file in ``directory`` or below it, unbuffered, without blocking.

    Raises `NotFollowed` for anything else, and OSError.
    """
    try:
        seen = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotFollowed(f"{path} is a broken link") from error
        raise
    try:
        if not stat.S_ISREG(os.fstat(seen).st_mode):
            raise NotFollowed(f"{path} is not a regular file")
        if not _within(Path(f"/proc/self/fd/{seen}").readlink(), directory):
            raise NotFollowed(f"{path} is a link that leads out of {directory}")
        return open_descriptor(f"/proc/self/fd/{seen}")
    finally:
        os.close(seen)


def open_descriptor(path: str) -> BinaryIO:
    """Open the file of a descriptor by its path in ``/proc``. The file was examined when it was first opened."""
    opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    return os.fdopen(opened, "rb", buffering=0)


def leads_out(path: str, directory: str) -> bool:
    """Whether a link currently leads out of its directory."""
    return not _within(Path(os.path.realpath(path)), directory)


def _within(path: Path, directory: str) -> bool:
    return path.is_relative_to(os.path.realpath(directory))
