"""The last range of each file, noted in an extended attribute, so that it can be checked after a power failure.

A file system may then show a file with its new size, but with blocks that never reached the disk. Only the range that was
being written can be damaged so, because the ranges before it were synced. The attribute is written before the range. It
has the boot id of the machine, the offset and the length of the range in bytes, and its CRC-32. Without extended
attributes (some network file systems) nothing is noted or checked.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

ATTRIBUTE: Final = "user.navlin.range"
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Return the id that the machine has had since it was started; "" if it is unknown."""
    with suppress(OSError):
        return _BOOT_ID.read_text().strip()
    return ""


def note(descriptor: int, boot: str, offset: int, data: bytes | bytearray) -> None:
    """Note the range that is about to be written."""
    _note(descriptor, boot, offset, len(data), zlib.crc32(data))


def cut_if_damaged(descriptor: int, boot: str) -> bool:
    """Cut off the last range if the machine was started again since it was begun, and it is not whole. Return whether
    the file was cut. Raises OSError. It was not acknowledged then, so its host sends it again."""
    try:
        written_in, *numbers = os.getxattr(descriptor, ATTRIBUTE).decode().split(" ")
        offset, length_bytes, checksum = map(int, numbers)
    except (OSError, ValueError):
        return False
    if written_in == boot:
        return False
    size = os.fstat(descriptor).st_size
    damaged = offset < size <= offset + length_bytes and (
        size - offset < length_bytes or zlib.crc32(os.pread(descriptor, length_bytes, offset)) != checksum
    )
    if damaged:
        os.ftruncate(descriptor, offset)
        os.fdatasync(descriptor)
    _note(descriptor, boot, offset, length_bytes, checksum)
    return damaged


def _note(descriptor: int, boot: str, offset: int, length_bytes: int, checksum: int) -> None:
    with suppress(OSError):
        os.setxattr(descriptor, ATTRIBUTE, f"{boot} {offset} {length_bytes} {checksum}".encode())
