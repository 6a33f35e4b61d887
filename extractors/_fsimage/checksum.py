"""The checksum that a NameNode writes beside each image: ``<image>.md5``, in the form of md5sum."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from extractors._fsimage.errors import ImageError

READ_BYTES: Final = 4 << 20
_LINE: Final = re.compile(r"\s*([0-9a-fA-F]{32})(?:\s+\*?(.+?))?\s*")


def checksum_file(image: Path) -> Path:
    return image.with_name(image.name + ".md5")


def check_md5(path: Path | str, report: Callable[[int, int], None] | None = None) -> None:
    """Reads the whole image and compares; ``report`` is told bytes done and bytes in all. Raises `ImageError`."""
    image = Path(path)
    beside = checksum_file(image)
    try:
        found = _LINE.fullmatch(beside.read_text(encoding="utf-8", errors="replace")[:4096])
        if found is None:
            raise ImageError(str(beside), "is no MD5 checksum")
        if found[2] and found[2] != image.name:
            raise ImageError(str(beside), f"is the checksum of {found[2]}, not of {image.name}")
        total, done = image.stat().st_size, 0
        digest = hashlib.md5(usedforsecurity=False)
        with image.open("rb") as source:
            while data := source.read(READ_BYTES):
                digest.update(data)
                done += len(data)
                if report is not None:
                    report(done, max(total, done))
    except ImageError:
        raise
    except OSError as error:
        raise ImageError(
            str(error.filename or image), f"cannot be read: {error.strerror or error}"
        ) from error
    if digest.hexdigest() != found[1].lower():
        what = f"its MD5 is {digest.hexdigest()}, and {beside.name} says {found[1].lower()}: it was damaged or is not whole"
        raise ImageError(str(image), what)
