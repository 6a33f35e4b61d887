"""Convert NameNode statuses to listings: of single paths, of whole trees in bounded pieces, and of the attributes in
sidecars.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

from extractors.hdfs.client import FileStatus, HdfsClient
from extractors.hdfs.errors import HdfsError, HdfsNotFound, HdfsRefused, HdfsUnavailable
from extractors.hdfs.filters import PathFilters
from extractors.hdfs.sidecars import MOST_BYTES, BadSidecar, parse_sidecar, sidecar_of, target_of
from extractors.hdfs.splits import TreeSplit, WalkSplit
from extractors.hdfs.status import to_listing
from navlin.model.batches import in_batches
from navlin.model.records import Listing, Record, Reject
from navlin.model.source import Source

ROWS_IN_LISTING: Final = 5_000
ROWS_IN_WALK: Final = 20_000
"""Number of rows after which the rest of a walk is divided into new splits."""
PIECES: Final = 16
"""Maximum number of splits for the rest of a walk. The degree of parallelism grows by up to this factor in each round."""

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class HdfsReading:
    """Source and filters of a read, and its time. Attributes from a sidecar get a time one millisecond later than that
    of the path they describe.

    For ``files_where_claimed``, see `Listing.where_claimed`. Directories are always written.
    """

    source: Source
    url: str
    filters: PathFilters
    files_where_claimed: bool
    sidecars: bool
    as_of_ms: int

    def listing(self, statuses: Sequence[FileStatus], words: Sequence[Mapping[str, Any]] = ()) -> Listing:
        """Return a listing of the statuses. ``words`` holds, in the same order, the attributes in the sidecar of each
        status; it is empty for a listing without sidecars.
        """
        listing = to_listing(self.source, self.as_of_ms + bool(words), statuses)
        names = sorted({name for each in words for name in each})
        columns = {name: [each.get(name) for each in words] for name in names}
        marked = [not each.directory for each in statuses] if self.files_where_claimed else None
        return replace(listing, attributes={**listing.attributes, **columns}, where_claimed=marked)

    def listings(self, statuses: Iterable[FileStatus]) -> Iterator[Listing]:
        """Yield listings of a bounded size of the statuses that pass the filters."""
        taken = (each for each in statuses if self.filters.takes(each.path))
        for some in in_batches(taken, ROWS_IN_LISTING):
            yield self.listing(some)


def read_described(client: HdfsClient, reading: HdfsReading, paths: Sequence[str]) -> Iterator[Record]:
    """Yield listings of the current state of paths, and of the attributes in their sidecars."""
    statuses, refused = _described(client, reading, paths)
    yield from refused
    yield from reading.listings(statuses)
    yield from read_words(client, reading, statuses)


def read_trees(client: HdfsClient, reading: HdfsReading, split: TreeSplit) -> Iterator[Record]:
    """Yield listings of paths and of everything below them. Raises `HdfsNotFound` if a configured path does not exist."""
    if split.configured:
        statuses = list(zip(split.paths, client.describe(split.paths), strict=True))
        if absent := [path for path, status in statuses if status is None]:
            raise HdfsNotFound(
                f"{reading.url}: {', '.join(absent)}: there is no such directory; correct roots", absent[0]
            )
        there = [status for _, status in statuses if status is not None]
    else:
        there, refused = _described(client, reading, split.paths)
        yield from refused
    yield from reading.listings(there)
    yield from read_words(client, reading, there)
    yield from read_walk(client, reading, [status.path for status in there if status.directory])


def read_walk(client: HdfsClient, reading: HdfsReading, directories: Sequence[str]) -> Iterator[Record]:
    """Yield listings of everything below directories, up to the limit of one split, then splits for the rest.

    A directory that HDFS cannot list at the moment gets its own split, so that it fails alone.
    """
    waiting = [path for path in directories if reading.filters.takes(path)]
    rows = 0
    while waiting and rows < ROWS_IN_WALK:
        directory = waiting.pop()
        described: list[str] = []
        try:
            for some in in_batches(client.list(directory), ROWS_IN_LISTING):
                rows += len(some)
                yield from reading.listings(some)
                waiting += [each.path for each in some if each.directory and reading.filters.takes(each.path)]
                described += filter(None, (target_of(each.path) for each in some if not each.directory))
        except HdfsNotFound:  # deleted since it was listed: an event or the next listing will report that
            continue
        except HdfsUnavailable:
            if [*directories] == [directory] or not _answers(client):
                raise
            yield WalkSplit((directory,), reading.as_of_ms)
            continue
        except HdfsError as error:
            yield _rejected(client, reading, directory, error)
            continue
        if described and reading.sidecars:
            targets, refused = _described(client, reading, described)
            yield from refused
            yield from read_words(client, reading, targets)
    for piece in _dealt(waiting, PIECES):
        yield WalkSplit(piece, reading.as_of_ms)


def read_words(client: HdfsClient, reading: HdfsReading, statuses: Sequence[FileStatus]) -> Iterator[Record]:
    """Yield a second listing of the paths that have a sidecar, with the sidecar's attributes, and a `Reject` for each
    unreadable sidecar.
    """
    if not reading.sidecars:
        return
    beside = {
        sidecar_of(each.path, directory=each.directory): each
        for each in statuses
        if reading.filters.takes(each.path)
    }
    wanted = [path for path in beside if reading.filters.takes(path)]
    found, refused = _described(client, reading, wanted)
    yield from refused
    rows: list[FileStatus] = []
    words: list[dict[str, Any]] = []
    for sidecar in found:
        path = sidecar.path
        if sidecar.directory or sidecar.symlink is not None:
            continue
        try:
            words.append(parse_sidecar(b"".join(client.read(path, length=MOST_BYTES + 1))))
            rows.append(beside[path])
        except HdfsNotFound:
            continue
        except (HdfsError, BadSidecar) as error:
            if isinstance(error, HdfsUnavailable) and not _answers(client):
                raise
            yield Reject(f"{reading.url}{path}", f"a sidecar that cannot be read: {error}")
    if rows:
        yield reading.listing(rows, words)


def _described(
    client: HdfsClient, reading: HdfsReading, paths: Sequence[str]
) -> tuple[list[FileStatus], list[Reject]]:
    """Return the statuses of the existing paths, and a `Reject` for each path that cannot be described, such as a path
    from an image that the user may not see.
    """
    try:
        return [status for status in client.describe(paths) if status is not None], []
    except HdfsUnavailable:
        raise
    except HdfsError as error:
        if len(paths) == 1:
            return [], [_rejected(client, reading, paths[0], error)]
    # Halve the request, because a single path may have made the whole request fail.
    half = len(paths) // 2
    found, refused = _described(client, reading, paths[:half])
    more, also = _described(client, reading, paths[half:])
    return found + more, refused + also


def _rejected(client: HdfsClient, reading: HdfsReading, path: str, error: HdfsError) -> Reject:
    """Return a `Reject` for an unreadable path. Raises the error if this HDFS cannot be read at all."""
    if not isinstance(error, HdfsRefused) and not _answers(client):
        raise error
    return Reject(f"{reading.url}{path}", str(error), tree_path=to_tree(path))


def _answers(client: HdfsClient) -> bool:
    try:
        return any(client.describe(["/"]))
    except HdfsError:
        return False


def to_tree(path: str) -> str:
    """Convert a path to a tree path of the source."""
    return path.replace("%", "%25")


def from_tree(place: str) -> str:
    """Convert a tree path of the source to a path."""
    return place.replace("%25", "%")


def _dealt(items: Sequence[_T], piles: int) -> Iterator[tuple[_T, ...]]:
    for first in range(min(piles, len(items))):
        yield tuple(items[first::piles])
