"""An image → listings: fetched or found, checked, prepared once, and read in parts by tasks side by side."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from extractors.hdfs import spool
from extractors.hdfs.errors import HdfsUnavailable
from extractors.hdfs.reading import Reading
from extractors.hdfs.sidecars import target_of
from extractors.hdfs.splits import DescribeSplit, ImageSplit, PartSplit
from navlin.model.records import Listing, Record

if TYPE_CHECKING:
    import pyarrow as pa

NAMENODE: Final = "namenode"
VOLATILE: Final = {"lastAccessed": "lastAccessed", "size": "uc_size"}
"""Attributes and their columns. How much there is of a file that is being written changes all the time."""
SIDECARS_IN_SPLIT: Final = 200
_SIDECARS: Final = r"/\.(?:[^/]*\.)?navigator$"
_FETCHED: Final = re.compile(r"fsimage_(\d+)")

Fetch = Callable[[Path, Callable[[int, int], None]], Path]


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """Where the image is (`NAMENODE`, a file, a directory of checkpoints), and what reading it may take."""

    place: str
    memory_bytes: int
    inodes_in_split: int


def local_transaction(place: str) -> int:
    """The transaction of the newest image at a place. Raises ImageError."""
    # pyarrow is loaded where an image is read, and nowhere before.
    from extractors.hdfs.image import describe_image, find_image

    return describe_image(find_image(place)).transaction_id


def read_image(settings: ImageSettings, split: ImageSplit, fetch: Fetch) -> Iterator[Record]:
    """Fetches (or finds) the image, compares its MD5, prepares it; yields its parts. May be called again and again.

    Raises ImageError for an image that is not sound, which is not kept.
    """
    from extractors.hdfs.image import ImageError, prepare

    directory = Path(split.directory)
    with spool.alone_in(directory):
        progress = spool.Progress(directory)
        image = _found(settings, split, directory, fetch, progress)
        try:
            prepared = prepare(image, directory, memory_bytes=settings.memory_bytes, report=progress.report)
        except ImageError:
            if settings.place == NAMENODE:
                image.unlink(missing_ok=True)
            raise
    for number, part in enumerate(prepared.parts(settings.inodes_in_split), 1):
        yield PartSplit(split.directory, prepared, part, number, split.as_of_ms)


def _found(
    settings: ImageSettings, split: ImageSplit, directory: Path, fetch: Fetch, progress: spool.Progress
) -> Path:
    from extractors.hdfs.image import check_md5, describe_image, find_image

    if settings.place == NAMENODE:
        image = _fetched(directory, split.transaction) or fetch(directory, progress.of("fetched"))
    else:
        image = find_image(settings.place)
        # Fetched ones are compared on their way.
        if image.with_name(f"{image.name}.md5").exists():
            check_md5(image, progress.of("checked"))
    if (found := describe_image(image).transaction_id) < split.transaction:
        raise HdfsUnavailable(
            f"{image} is of transaction {found}, and one of {split.transaction} was there a moment ago"
        )
    return image


def _fetched(directory: Path, transaction: int) -> Path | None:
    for file in directory.iterdir():
        if (found := _FETCHED.fullmatch(file.name)) and int(found[1]) >= transaction:
            return file
    return None


def read_image_part(reading: Reading, split: PartSplit) -> Iterator[Record]:
    """The files and directories of a part, without what is not read; and splits for the sidecars among them."""
    from extractors.hdfs.image import read_part

    sidecars: list[str] = []
    with spool.reading_in(Path(split.directory)):
        for batch in read_part(split.prepared, split.part):
            kept, beside = _kept(reading, batch)
            sidecars += beside
            if kept.num_rows:
                yield _listing(reading, kept)
    targets = sorted({target_of(path) for path in sidecars})
    for at in range(0, len(targets), SIDECARS_IN_SPLIT):
        yield DescribeSplit(tuple(targets[at : at + SIDECARS_IN_SPLIT]), reading.as_of_ms)


def _kept(reading: Reading, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[str]]:
    """What of a batch is read, and the paths of the sidecars in it."""
    import pyarrow.compute as pc

    paths, directories = batch.column("path"), batch.column("directory")
    taken = pc.invert(pc.match_substring_regex(paths, f"^{reading.filters.excluded}$"))
    if reading.filters.include != ("/",):
        taken = pc.and_(taken, pc.match_substring_regex(paths, f"^{reading.filters.included}$"))
    sidecars: list[str] = []
    if reading.sidecars:
        beside = pc.and_(pc.and_(taken, pc.invert(directories)), pc.match_substring_regex(paths, _SIDECARS))
        sidecars = paths.filter(beside).to_pylist()
    return batch.filter(taken), sidecars


def _listing(reading: Reading, batch: pa.RecordBatch) -> Listing:
    import pyarrow.compute as pc

    columns: dict[str, Any] = dict(zip(batch.schema.names, batch.columns, strict=True))
    paths, directories = columns.pop("path"), columns.pop("directory")
    volatile = {name: columns.pop(column) for name, column in VOLATILE.items()}
    where_claimed = pc.invert(directories) if reading.files_where_claimed else None
    return Listing(reading.source, reading.as_of_ms, paths, directories, columns, volatile, where_claimed)
