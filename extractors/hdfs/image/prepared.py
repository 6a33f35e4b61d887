"""Output of the first pass, stored in scratch for the parts of the image: flat files of numbers and texts, and a
record that describes them.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

import numpy as np
from numpy.typing import NDArray

from extractors.hdfs.image.errors import ImageError
from extractors.hdfs.image.pages import Plain

FORM: Final = 3
"""Version of the scratch format. Increase it with every change of the format, so that older output is not reused."""
RECORD: Final = "prepared.json"

# Columns with one value for each inode, in the section's order. A parent is first the directory's number, and finally
# its rank.
FRAMES, MARKS, PARENTS = "frames", "marks", "parents"
# Files with one value for each directory, ordered by depth. A directory's position in this order is its rank.
PATHS, PATH_ENDS, POLICIES = "paths", "path_ends", "policies"
RENAMED: Final = "renamed.json"
# Files that exist only during the first pass: ids by inode, names by directory in the section's order, and all pairs
# of child and owner.
IDS, NAMES, NAME_ENDS, CHILDREN, OWNERS = "ids", "names", "name_ends", "children", "owners"

MARK_EVERY: Final = 4096
"""Number of inodes between two saved offsets. A part finds its beginning from the nearest saved offset."""
NOBODY: Final = 0xFFFFFFFF
"""Parent of an inode that no directory lists."""
ROOT: Final = NOBODY - 1
"""Final value of the parent of the root itself."""
NO_POLICY: Final = -1
CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A range of inodes in the section: index of the first inode, number of inodes, and offset of the first inode in
    the section's bytes.
    """

    first: int
    count: int
    at: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """A prepared image. ``inodes`` counts all inodes of the section, including those of snapshots; ``live`` and
    ``directories`` count the inodes and directories of the live tree.

    ``transaction_id`` is the last transaction in the image.
    """

    image: str
    scratch: str
    layout: int
    codec: str
    transaction_id: int
    inodes: int
    live: int
    directories: int
    policies: tuple[str, ...]
    bytes: int
    changed_ns: int
    file_id: int
    section: Plain
    newest_s: int = 0
    """Newest modification or access time of any file, in epoch seconds."""
    read_weeks: tuple[int, ...] = ()
    """See `extractors.hdfs.image.contents.Times`."""

    def parts(self, inodes_in_part: int) -> list[ImagePart]:
        """Split the whole image into ranges of ``inodes_in_part`` inodes."""
        marks = read_column(Path(self.scratch, MARKS), "<i8")
        parts = []
        for first in range(0, self.inodes, inodes_in_part):
            marked = first // MARK_EVERY
            sizes = read_column(Path(self.scratch, FRAMES), "<u4", marked * MARK_EVERY, first % MARK_EVERY)
            at = int(marks[marked]) + int(sizes.sum(dtype=np.int64))
            parts.append(ImagePart(first, min(inodes_in_part, self.inodes - first), at))
        return parts

    def check_unchanged(self) -> None:
        """Raise `ImageError` if the file is not the one that was prepared."""
        try:
            status = os.stat(self.image)
        except OSError as error:
            raise ImageError(self.image, f"went away while it was read: {error.strerror}") from error
        now = (status.st_size, status.st_mtime_ns, status.st_ino)
        if now != (self.bytes, self.changed_ns, self.file_id):
            raise ImageError(self.image, "was replaced or changed while it was read")

    def to_json(self) -> str:
        return json.dumps({"form": FORM} | dataclasses.asdict(self))


def prepared_from_json(text: str) -> Prepared | None:
    """Parse the output of `Prepared.to_json`. Return None if it is damaged or from another version."""
    try:
        saved: dict[str, Any] = json.loads(text)
        if saved.pop("form") != FORM:
            return None
        plain = Plain(**saved.pop("section"))
        lists = {name: tuple(saved[name]) for name in ("policies", "read_weeks")}
        return Prepared(**saved | lists, section=plain)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def write_renamed(renamed: Mapping[int, bytes], scratch: Path) -> None:
    """Write inode index in the section → name, for the few inodes whose name comes from a reference."""
    (scratch / RENAMED).write_text(json.dumps({str(inode): name.hex() for inode, name in renamed.items()}))


def read_renamed(scratch: Path) -> dict[int, bytes]:
    saved = json.loads((scratch / RENAMED).read_text())
    return {int(inode): bytes.fromhex(name) for inode, name in saved.items()}


class NumberFile:
    """A file of numbers of one type, written sequentially and only once."""

    def __init__(self, path: Path, dtype: str) -> None:
        self.path, self.dtype, self.count = path, np.dtype(dtype), 0
        self._file: BinaryIO = path.open("wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, values: NDArray[Any]) -> None:
        self._file.write(values.astype(self.dtype, copy=False).data)
        self.count += len(values)


def read_column(path: Path, dtype: str, first: int = 0, count: int = -1) -> NDArray[Any]:
    """Return ``count`` numbers from index ``first`` on, or all if ``count`` is -1. Raises OSError if there are fewer."""
    kind = np.dtype(dtype)
    values = np.fromfile(path, kind, count, offset=first * kind.itemsize)
    if len(values) < count:
        raise OSError(f"{path} has {len(values)} numbers from {first} on, and {count} are due")
    return values


def chunks(path: Path, dtype: str, count: int) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the column in chunks, each as (index of its first value, values)."""
    for first in range(0, count, CHUNK):
        yield first, read_column(path, dtype, first, min(CHUNK, count - first))


def filled(path: Path, dtype: str, count: int, value: int) -> NDArray[Any]:
    """Create a column of ``count`` times ``value``. It is memory-mapped, so that it can be changed in any order."""
    kind = np.dtype(dtype)
    chunk = np.full(min(CHUNK, count), value, kind)
    with path.open("wb") as file:
        for first in range(0, count, CHUNK):
            file.write(chunk[: count - first].data)
    return np.memmap(path, kind, "r+", shape=(count,))
