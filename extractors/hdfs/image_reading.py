"""Convert an image to listings. The image is fetched or found, checked and prepared once; parallel tasks then read its
parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from extractors.hdfs import spool
from extractors.hdfs.continuity import NAMESPACE_ID, NamespaceIds, version_beside
from extractors.hdfs.errors import HdfsUnavailable
from extractors.hdfs.reading import HdfsReading
from extractors.hdfs.sidecars import target_of
from extractors.hdfs.splits import DescribeSplit, ImageSplit, PartSplit
from navlin.model.image_positions import ACCESSES
from navlin.model.records import Listing, Position, Record, Reject

if TYPE_CHECKING:
    import pyarrow as pa

NAMENODE: Final = "namenode"
VOLATILE: Final = {"lastAccessed": "lastAccessed", "size": "uc_size"}
"""Attribute → image column, for attributes that change all the time. The size here is that of a file being written."""
SIDECARS_IN_SPLIT: Final = 200
_SIDECARS: Final = r"/\.(?:[^/]*\.)?navigator$"
_FETCHED: Final = re.compile(r"fsimage_(\d+)")

Fetch = Callable[[Path, Callable[[int, int], None]], Path]


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """Location of the image (`NAMENODE`, a file, or a directory of checkpoints), and limits for reading the image."""

    place: str
    memory_bytes: int
    inodes_in_split: int


@dataclass(frozen=True, slots=True)
class OfferedImage:
    """The newest image, before it is read. ``md5`` is "" if it is unknown."""

    transaction: int
    md5: str
    namespace: NamespaceIds


def local_image(place: str) -> OfferedImage:
    """Return the newest image at a path, with the ids in its header and in the file VERSION next to it. Raises
    ImageError.
    """
    # These modules load pyarrow, so they are imported only when an image is read.
    from extractors.hdfs.image import describe_image, find_image, md5_beside

    image = find_image(place)
    described = describe_image(image)
    namespace = version_beside(image).with_known(NamespaceIds(described.namespace_id))
    return OfferedImage(described.transaction_id, md5_beside(image), namespace)


def read_image(settings: ImageSettings, split: ImageSplit, fetch: Fetch) -> Iterator[Record]:
    """Fetch or find the image, check its MD5 and prepare it. Then yield positions, a `Reject` if the image is from
    another namespace, and a `PartSplit` for each part. May be called repeatedly.

    Raises ImageError for a damaged image. If that image was fetched, it is removed.
    """
    from extractors.hdfs.image import ImageError, describe_image, prepare

    directory = Path(split.directory)
    with spool.alone_in(directory):
        progress = spool.SpoolProgress(directory)
        image = _found(settings, split, directory, fetch, progress)
        try:
            prepared = prepare(image, directory, memory_bytes=settings.memory_bytes, report=progress.report)
        except ImageError:
            if settings.place == NAMENODE:
                image.unlink(missing_ok=True)
            raise
    yield from _namespace(split, image.name, describe_image(image).namespace_id)
    # An image does not state its time, but is at least as new as its newest file.
    newest_ms = min(split.as_of_ms, prepared.changed_ns // 1_000_000, prepared.newest_s * 1000)
    weeks = list(prepared.read_weeks)
    yield Position(ACCESSES, {"image": split.transaction, "as_of_ms": newest_ms, "weeks": weeks})
    for number, part in enumerate(prepared.parts(settings.inodes_in_split), 1):
        yield PartSplit(split.directory, prepared, part, number, split.as_of_ms)


def _namespace(split: ImageSplit, name: str, found: int) -> Iterator[Record]:
    if split.namespace_id and found and found != split.namespace_id:
        yield Reject(name, f"it is of the namespace {found}, but {split.namespace_id} was followed")
    if found:
        yield Position(NAMESPACE_ID, found)


def _found(
    settings: ImageSettings, split: ImageSplit, directory: Path, fetch: Fetch, progress: spool.SpoolProgress
) -> Path:
    from extractors.hdfs.image import check_md5, describe_image, find_image

    if settings.place == NAMENODE:
        image = _fetched(directory, split) or fetch(directory, progress.of("fetched"))
    else:
        image = find_image(settings.place)
        # Fetched images have already been compared with their MD5 during the fetch.
        if image.with_name(f"{image.name}.md5").exists():
            check_md5(image, progress.of("checked"))
    if (found := describe_image(image).transaction_id) < split.transaction:
        raise HdfsUnavailable(
            f"{image} is of transaction {found}, but a moment ago there was one of {split.transaction}"
        )
    return image


def _fetched(directory: Path, split: ImageSplit) -> Path | None:
    from extractors.hdfs.image import md5_beside

    for file in directory.iterdir():
        if (found := _FETCHED.fullmatch(file.name)) and int(found[1]) >= split.transaction:
            # After a format or a restore from a backup, another image may have the same transaction.
            another = int(found[1]) == split.transaction and split.md5 and md5_beside(file) != split.md5
            return None if another else file
    return None


def read_image_part(reading: HdfsReading, split: PartSplit) -> Iterator[Record]:
    """Yield listings of the files and directories of a part, without excluded ones, and splits for the paths that
    sidecars in this part describe.
    """
    from extractors.hdfs.image import read_part

    sidecars: list[str] = []
    with spool.reading_in(Path(split.directory)):
        for batch in read_part(split.prepared, split.part):
            kept, beside = _kept(reading, batch)
            sidecars += beside
            yield from _listings(reading, kept)
    targets = sorted({target_of(path) for path in sidecars})
    for at in range(0, len(targets), SIDECARS_IN_SPLIT):
        yield DescribeSplit(tuple(targets[at : at + SIDECARS_IN_SPLIT]), reading.as_of_ms)


def _kept(reading: HdfsReading, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[str]]:
    """Return the rows of a batch that pass the filters, and the paths of the sidecars among these rows."""
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


def _listings(reading: HdfsReading, batch: pa.RecordBatch) -> Iterator[Listing]:
    """Yield one listing of the directories and one of all other rows. The latter have no columns for sums over
    contents, because empty columns cost as much as full ones.
    """
    import pyarrow.compute as pc

    from extractors.hdfs.image.contents import SUMS

    directories = batch.column("directory")
    for some in (batch.filter(directories), batch.filter(pc.invert(directories)).drop_columns(list(SUMS))):
        if some.num_rows:
            yield _listing(reading, some)


def _listing(reading: HdfsReading, batch: pa.RecordBatch) -> Listing:
    import pyarrow.compute as pc

    columns: dict[str, Any] = dict(zip(batch.schema.names, batch.columns, strict=True))
    paths, directories = columns.pop("path"), columns.pop("directory")
    volatile = {name: columns.pop(column) for name, column in VOLATILE.items()}
    where_claimed = pc.invert(directories) if reading.files_where_claimed else None
    return Listing(reading.source, reading.as_of_ms, paths, directories, columns, volatile, where_claimed)
