from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from navlin.model.records import Split, first_of

if TYPE_CHECKING:
    from extractors.hdfs.image import ImagePart, Prepared


@dataclass(frozen=True, slots=True)
class ImageSplit(Split):
    """A whole image to fetch, check and prepare. Reading it yields a split for each part.

    The image is of ``transaction`` or newer. ``directory`` holds the image and the files prepared from it.
    ``namespace_id`` is the id of the followed namespace, 0 if unknown. ``md5`` is the MD5 of the offered image, "" if
    unknown.
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
    """A range of an image's inodes. ``directory`` is the same as in the `ImageSplit`; ``number`` counts the parts from
    1.
    """

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
    """Single paths to read in their current state, with their sidecars. Missing paths are skipped."""

    paths: tuple[str, ...]
    as_of_ms: int

    @property
    def name(self) -> str:
        return first_of(self.paths)


@dataclass(frozen=True, slots=True)
class TreeSplit(Split):
    """Paths to read with everything below them. If they are ``configured``, a missing path is an error."""

    paths: tuple[str, ...]
    as_of_ms: int
    configured: bool = False

    @property
    def name(self) -> str:
        return f"all below {first_of(self.paths)}"


@dataclass(frozen=True, slots=True)
class WalkSplit(Split):
    """Directories that have already been read, and below which everything is still to be read."""

    directories: tuple[str, ...]
    as_of_ms: int

    @property
    def name(self) -> str:
        return f"the rest below {first_of(self.directories)}"
