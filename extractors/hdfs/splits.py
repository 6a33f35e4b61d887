"""The splits of the HDFS extractor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from navlin.model.records import Split

if TYPE_CHECKING:
    from extractors.hdfs.image import ImagePart, Prepared


@dataclass(frozen=True, slots=True)
class ImageSplit(Split):
    """A whole image, to be fetched, checked and prepared; it yields a split for each part.

    The image is of ``transaction`` or newer. ``directory`` holds the image and the files prepared from it.
    ``namespace_id`` is that of the followed namespace, 0 if unknown; ``md5`` is that of the offered image, "" if unknown.
    """

    directory: str
    transaction: int
    as_of_ms: int
    namespace_id: int = 0
    md5: str = ""

    @property
    def name(self) -> str:
        return "image"

    @property
    def local(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class PartSplit(Split):
    """A range of an image's inodes. ``directory`` is that of the `ImageSplit`; ``number`` counts the parts from 1."""

    directory: str
    prepared: Prepared
    part: ImagePart
    number: int
    as_of_ms: int

    @property
    def name(self) -> str:
        return f"part {self.number} of the image"

    @property
    def local(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class DescribeSplit(Split):
    """Single paths, read in their current state with their sidecars; missing ones are skipped."""

    paths: tuple[str, ...]
    as_of_ms: int

    @property
    def name(self) -> str:
        return _first_of("", self.paths)


@dataclass(frozen=True, slots=True)
class TreeSplit(Split):
    """Paths, read with everything below them. A missing one is an error if they are ``configured``."""

    paths: tuple[str, ...]
    as_of_ms: int
    configured: bool = False

    @property
    def name(self) -> str:
        return _first_of("all below ", self.paths)


@dataclass(frozen=True, slots=True)
class WalkSplit(Split):
    """Directories that have been read themselves; everything below them is still to be read."""

    directories: tuple[str, ...]
    as_of_ms: int

    @property
    def name(self) -> str:
        return _first_of("the rest below ", self.directories)


def _first_of(what: str, paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return f"{what}{paths[0]}{more}"
