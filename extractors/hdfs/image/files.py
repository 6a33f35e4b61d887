"""Find the image to read, and check that it is complete. A NameNode writes the MD5 of an image next to it, in md5sum's
format, after everything else.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from extractors.hdfs.image.errors import ImageError

# Excluded are fsimage.ckpt_* (being written), fsimage_rollback_* (of an upgrade), and the checksums.
_NAME: Final = re.compile(r"fsimage_([0-9]+)")


def find_image(place: Path | str) -> Path:
    """Return the newest image. ``place`` is an image, or a directory with images, possibly in its subdirectory
    ``current``.

    In a directory, a file counts as an image only if it is named ``fsimage_<transaction id>`` and has an ``.md5``
    file, because a NameNode writes that last. Raises `ImageError` if no image is found.
    """
    path = Path(place)
    try:
        if not path.is_dir():
            if not path.exists():
                raise ImageError(str(path), "does not exist")
            return path
        below = path / "current"
        directories = [path, below] if below.is_dir() else [path]
        named = [
            (int(found[1]), each)
            for directory in directories
            for each in directory.iterdir()
            if (found := _NAME.fullmatch(each.name)) and each.is_file()
        ]
        whole = [(transaction, each) for transaction, each in named if checksum_file(each).is_file()]
    except ImageError:
        raise
    except OSError as error:
        raise ImageError(str(error.filename or path), f"cannot be read: {error.strerror or error}") from error
    if not whole:
        if named:
            raise ImageError(
                str(path),
                f"has {max(named)[1].name} but not its .md5: it is still being written, or was left",
            )
        raise ImageError(
            str(path), "has no fsimage_<transaction id>: is this a NameNode's or standby's directory?"
        )
    return max(whole)[1]


def md5_beside(image: Path) -> str:
    """Return the MD5 recorded for an image; "" if none is recorded."""
    try:
        found = _LINE.fullmatch(checksum_file(image).read_text(encoding="utf-8", errors="replace")[:4096])
    except OSError:
        return ""
    return found[1].lower() if found else ""


READ_BYTES: Final = 4 << 20
_LINE: Final = re.compile(r"\s*([0-9a-fA-F]{32})(?:\s+\*?(.+?))?\s*")


def checksum_file(image: Path) -> Path:
    return image.with_name(image.name + ".md5")


def check_md5(path: Path | str, report: Callable[[int, int], None] | None = None) -> None:
    """Read the whole image and compare its MD5 with the recorded one. ``report`` receives the bytes done and in total.
    Raises `ImageError`.
    """
    image = Path(path)
    beside = checksum_file(image)
    try:
        found = _LINE.fullmatch(beside.read_text(encoding="utf-8", errors="replace")[:4096])
        if found is None:
            raise ImageError(str(beside), "is not an MD5 checksum")
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
        what = f"its MD5 is {digest.hexdigest()}, and {beside.name} says {found[1].lower()}: it is damaged or incomplete"
        raise ImageError(str(image), what)
