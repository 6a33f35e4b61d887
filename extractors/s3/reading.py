"""Convert a range of a bucket's keys to listings, and divide what is left of a long range among further splits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from extractors.path_filters import PathFilters
from extractors.s3.details import WantedDetails, details_of
from extractors.s3.errors import S3Error, S3Refused
from extractors.s3.pages import S3Object
from extractors.s3.ranges import boundaries, position
from extractors.s3.service import Bucket
from extractors.s3.splits import BucketSplit, RangeSplit
from extractors.s3.tree import KeyPlace, KeyTree, is_beyond
from navlin.model.keys import EntityType, path_key
from navlin.model.raw_names import shown
from navlin.model.records import Entity, Listing, Record, Reject
from navlin.model.source import Source

ROWS_IN_LISTING: Final = 5_000
ROWS_WITH_DETAILS: Final = 200
"""Number of rows in a listing with user metadata, each name of which is a column."""
PIECES: Final = 4
"""Maximum number of splits for the rest of a range."""
MOST_OBJECTS: Final = 2_000_000_000
"""Number of objects in a range, with those that follow it, after which a listing is given up, because a service could
send ever more.
"""
NO_PATH: Final = (
    "its key is not a path: it has an empty name, . or .., which Hadoop's client leaves out of paths, or is not"
    " UTF-8"
)
NOT_READABLE: Final = "its size, or the time of its last change, is not readable"


@dataclass(frozen=True, slots=True)
class BucketReading:
    """Settings of a read. ``files_where_claimed``: see `Listing.where_claimed`. ``asked`` are the details to request for
    each object; ``objects_in_split`` is the number of objects after which a range is divided.
    """

    source: Source
    bucket: str
    filters: PathFilters
    files_where_claimed: bool
    asked: WantedDetails
    objects_in_split: int

    def taken(self, places: Sequence[KeyPlace]) -> Sequence[KeyPlace]:
        """Return the places that pass the filters."""
        # Loads Arrow, which many commands do not need.
        import pyarrow as pa

        taken = self.filters.taken(pa.array([place.path for place in places], pa.string())).to_pylist()
        return [place for place, take in zip(places, taken, strict=True) if take]

    def listing(self, places: Sequence[KeyPlace], region: str, as_of_ms: int, details: Any = None) -> Listing:
        """Return a listing of places. ``details`` are further columns."""
        objects = [place.object for place in places]
        count = len(places)
        attributes = {
            "bucketName": [self.bucket] * count,
            "region": [region or None] * count,
            "implicit": [place.object is None if place.directory else None for place in places],
            "depth": [place.path.count("/") for place in places],
            "size": [_size_of(place) for place in places],
            "lastModified": [each and each.modified_ms for each in objects],
            "eTag": [each and each.e_tag for each in objects],
            "storageClass": [each and each.storage_class for each in objects],
            "ownerId": [each and each.owner for each in objects],
        }
        return Listing(
            self.source,
            as_of_ms,
            [place.path for place in places],
            [place.directory for place in places],
            {**attributes, **(details or {})},
            where_claimed=[not place.directory for place in places] if self.files_where_claimed else None,
        )


def read_bucket(reading: BucketReading, place: str, split: BucketSplit) -> Iterator[Record]:
    """Yield the bucket, and a `Reject` for each prefix that may not be listed, which withdraws that prefix."""
    attributes = {"bucketName": reading.bucket, "region": split.region}
    yield Entity(path_key(reading.source, "/", EntityType.S3BUCKET), split.as_of_ms, attributes)
    for prefix, words in split.refused:
        yield refusal(place, prefix, words)


def refusal(place: str, prefix: str, words: str) -> Reject:
    """Return the reject of a prefix that may not be listed. Nothing at or below its path counts as deleted."""
    path = "/" + prefix.rstrip("/")
    return Reject(f"{place}{shown(path)}", words, tree_path=path.replace("%", "%25"))


def read_range(bucket: Bucket, reading: BucketReading, split: RangeSplit) -> Iterator[Record]:
    """Yield the files and directories of a range of keys, and splits for the rest of a range with too many keys.

    A prefix that may not be listed any more is a reject. Raises any other `S3Error`, so that the range is read again.
    """
    read = _RangeReading(bucket, reading, split)
    try:
        yield from read.records()
    except S3Refused as error:
        if not split.prefix:
            raise
        yield refusal(bucket.place, split.prefix, str(error))


class _RangeReading:
    """Reads one range once."""

    def __init__(self, bucket: Bucket, reading: BucketReading, split: RangeSplit) -> None:
        self._bucket, self._reading, self._split = bucket, reading, split
        self._places: list[KeyPlace] = []
        self._later: list[KeyPlace] = []
        self._count = self._unreadable = 0
        self._last = split.after

    def records(self) -> Iterator[Record]:
        split = self._split
        until = split.until
        tree = KeyTree(self._bucket.first, split.prefix, split.after, until)
        whole, size = True, self._size()
        for page in self._bucket.pages(split.prefix, split.after):
            objects: Sequence[S3Object] = page.objects
            if until and is_beyond(objects[-1].key, until):
                objects = [each for each in objects if not is_beyond(each.key, until)]
                page = replace(page, truncated=False)
            for listed in objects:
                for place in tree.add(listed):
                    self._take(place)
            self._unreadable += sum(each.size_bytes is None or each.modified_ms is None for each in objects)
            self._count += len(objects)
            if objects:
                self._last = objects[-1].key
            if len(self._places) >= size:
                yield from self._listings()
            if not page.truncated:
                break
            if self._count >= self._reading.objects_in_split * 3 // 2:
                whole = False
                break
        pieces = () if whole else self._pieces()
        # What follows is read by other splits, so this range ends here.
        tree.until = until if whole else self._last
        for place in tree.end():
            self._take(place)
        yield from self._listings()
        yield from self._rejects(tree)
        yield position(split.prefix, split.after, self._count)
        yield from pieces

    def _size(self) -> int:
        return ROWS_WITH_DETAILS if self._reading.asked else ROWS_IN_LISTING

    def _take(self, place: KeyPlace) -> None:
        (self._later if place.later else self._places).append(place)

    def _listings(self) -> Iterator[Record]:
        split, reading, size = self._split, self._reading, self._size()
        for found, as_of_ms in ((self._places, split.as_of_ms), (self._later, split.as_of_ms + 1)):
            places = reading.taken(found)
            for start in range(0, len(places), size):
                some = places[start : start + size]
                columns, rejects = details_of(self._bucket, reading.asked, some)
                yield reading.listing(some, split.region, as_of_ms, columns)
                yield from rejects
        self._places, self._later = [], []

    def _pieces(self) -> Sequence[RangeSplit]:
        """Return the splits for the rest of the range, divided at directories if there are any."""
        split = self._split
        before = split.before + self._count
        if before > MOST_OBJECTS:
            raise S3Error(
                f"{self._bucket.place}: the listing has more than {MOST_OBJECTS:,} objects, and goes on"
            )
        starts = (self._last, *boundaries(self._bucket, split.prefix, self._last, split.until, PIECES))
        ends = (*starts[1:], split.until)
        return [
            replace(split, after=start, until=end, before=before)
            for start, end in zip(starts, ends, strict=True)
        ]

    def _rejects(self, tree: KeyTree) -> Iterator[Reject]:
        place = self._bucket.place
        if tree.odd:
            yield Reject(place, NO_PATH, sample=shown(tree.odd_key), count=tree.odd)
        if self._unreadable:
            yield Reject(place, NOT_READABLE, count=self._unreadable)


def _size_of(place: KeyPlace) -> int | None:
    """Return the size in bytes of a file, or of an object with the path of a directory; None for an empty marker."""
    size_bytes = place.object.size_bytes if place.object is not None else None
    return size_bytes or None if place.directory else size_bytes
