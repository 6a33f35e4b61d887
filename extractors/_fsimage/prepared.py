"""An image that parts can be read of."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from extractors._fsimage.errors import ImageError
from extractors._fsimage.pages import Plain
from extractors._fsimage.scan import FRAMES, MARK_EVERY, MARKS
from extractors._fsimage.scratch import read_column

FORM: Final = 2
"""Of what lies in scratch. Raised when that changes, so that nothing older is taken up."""
RECORD: Final = "prepared.json"


@dataclass(frozen=True, slots=True)
class ImagePart:
    """A run of inodes of the section: the number of the first, how many, and where the first one stands in its bytes."""

    first: int
    count: int
    at: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """``inodes`` are those of the section, those of snapshots among them; ``files`` and ``directories`` of the live tree.

    ``transaction_id`` is the last transaction that the image holds.
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
    begin: int

    def parts(self, inodes_in_part: int) -> list[ImagePart]:
        """The whole image in runs of so many inodes."""
        marks = read_column(Path(self.scratch, MARKS), "<i8")
        parts = []
        for first in range(0, self.inodes, inodes_in_part):
            marked = first // MARK_EVERY
            sizes = read_column(Path(self.scratch, FRAMES), "<u4", marked * MARK_EVERY, first % MARK_EVERY)
            at = int(marks[marked]) + int(sizes.sum(dtype=np.int64))
            parts.append(ImagePart(first, min(inodes_in_part, self.inodes - first), at))
        return parts

    def check_unchanged(self) -> None:
        """Raises `ImageError` where the file is no longer the one that was prepared."""
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
    """What `Prepared.to_json` wrote, or None where it is of another form."""
    try:
        held: dict[str, Any] = json.loads(text)
        if held.pop("form") != FORM:
            return None
        plain = Plain(**held.pop("section"))
        return Prepared(**held | {"policies": tuple(held["policies"])}, section=plain)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
