"""Errors in images, with the location: file, section and byte."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class ImageError(OSError):
    """An image cannot be read or trusted.

    ``section`` is the section's name, or "" for the file as a whole. ``offset`` counts bytes of the file or, if the
    image is compressed, of the decompressed section; it is -1 if the error has no single location.
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
    """Bytes are not the expected message. ``offset`` counts from the beginning of these bytes."""

    def __init__(self, what: str, offset: int) -> None:
        super().__init__(what)
        self.what, self.offset = what, offset


@contextmanager
def placed(file: Path | str, section: str, base: int) -> Iterator[None]:
    """Convert `Malformed` to an `ImageError`. ``base`` is the offset of the first byte that was read."""
    try:
        yield
    except Malformed as error:
        raise ImageError(str(file), error.what, section, base + error.offset) from error
