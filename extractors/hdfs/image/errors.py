"""Errors in images, with the file, section and byte."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ImageError(OSError):
    """An image that cannot be read or trusted.

    ``section`` is the section's name, "" for the file as a whole; ``offset`` counts bytes of the file, or of the
    section's decompressed bytes if the image is compressed, and is -1 if there is no single place.
    """

    def __init__(self, file: str, what: str, section: str = "", offset: int = -1) -> None:
        super().__init__(file, what, section, offset)
        self.file, self.what, self.section, self.offset = file, what, section, offset

    def __str__(self) -> str:
        place = [self.file]
        if self.section:
            place.append(f"section {self.section}")
        if self.offset >= 0:
            place.append(f"byte {self.offset}")
        return f"{', '.join(place)}: {self.what}"


class Malformed(ValueError):
    """Bytes that are not the expected message; ``offset`` counts from the start of the bytes given."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.what, self.offset = what, offset


@contextmanager
def placed(file: Path | str, section: str, base: int) -> Iterator[None]:
    """Turn `Malformed` into an `ImageError`; ``base`` is the offset of the first byte read."""
    try:
        yield
    except Malformed as error:
        raise ImageError(str(file), error.what, section, base + error.offset) from error
