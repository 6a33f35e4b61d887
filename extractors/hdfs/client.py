"""HDFS by Hadoop's own client, in a small Java child: events, files as they are, their bytes, and the image.

High availability, retries, Kerberos and the true length of files that are being written come with it. An answer comes in
pages; nothing is held that was not asked for, and an iterator that is not read on leaves nothing behind.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from extractors.hdfs.child import Child
from extractors.hdfs.errors import HdfsError, HdfsNotFound, HdfsRefused, HdfsUnavailable, MissingEvents
from navlin.model.batches import in_batches

__all__ = [
    "Event",
    "Events",
    "HdfsAddress",
    "HdfsClient",
    "HdfsError",
    "HdfsNotFound",
    "HdfsRefused",
    "HdfsUnavailable",
    "MissingEvents",
    "Status",
    "hdfs",
]

DESCRIBED_AT_ONCE: Final = 500
READ_BYTES: Final = 4 << 20
_RETURNS: Final = 3


@dataclass(frozen=True, slots=True)
class HdfsAddress:
    """One HDFS and who asks it. ``namenodes`` make an HA pair of ``url`` where no configuration directory describes it."""

    url: str
    """``hdfs://ns1`` or ``hdfs://host:8020``"""
    namenodes: tuple[str, ...] = ()
    """``host:port`` of each"""
    configuration_directory: str = ""
    """with core-site.xml, hdfs-site.xml and, where TLS needs it, ssl-client.xml"""
    user: str = ""
    """for simple authentication; the process's where empty"""
    principal: str = ""
    keytab: str = ""
    """without it the ticket cache is used"""
    http: tuple[str, ...] = ()
    """``http(s)://host:9870`` of the NameNodes, where the configuration does not have them"""
    cache: str = ""
    """where the compiled child is kept; the system's temporary directory where empty"""
    timeout_s: float = 60.0
    java_home: str = ""
    java_options: tuple[str, ...] = ()
    """such as ``-Djava.security.krb5.conf=…``, ``-Djavax.net.ssl.trustStore=…``"""

    def __post_init__(self) -> None:
        if not self.url.startswith("hdfs://") or len(self.url.rstrip("/")) <= len("hdfs://"):
            raise ValueError(f"{self.url!r} is no URL of an HDFS: hdfs://nameservice or hdfs://host:port")
        if self.namenodes and ":" in self.url.removeprefix("hdfs://"):
            raise ValueError(f"{self.url}: with namenodes, the URL names their nameservice and no port")


class Event(NamedTuple):
    """One thing that happened. ``kind`` is CREATE, CLOSE, APPEND, RENAME, METADATA, UNLINK or TRUNCATE.

    A RENAME (from ``path``, over whatever was there, ``to``) or UNLINK of a directory is about all below it; only CREATE
    ``directory``: whether it is of one. ``time_ms`` is 0 where the edit has none. Names that are not UTF-8 come with U+FFFD
    for the bad bytes: the NameNode itself does not keep them in its edits.
    """

    txid: int
    kind: str
    path: str
    to: str = ""
    directory: bool = False
    time_ms: int = 0


class Status(NamedTuple):
    """A file or directory as the NameNode has it now. Each byte of the path that is no UTF-8 is spelled ``\\xNN``.

    ``size`` of a file that is being written (``under_construction``) is what the NameNode knows so far. ``ez_key``
    is on the root directory of an encryption zone only; ``ec_policy`` of a directory is the effective one.
    """

    path: str
    directory: bool
    size: int
    block_size: int
    replication: int
    owner: str
    group: str
    permissions: str
    modified_ms: int
    accessed_ms: int
    inode_id: int
    symlink: str | None
    under_construction: bool
    ez_key: str | None
    ec_policy: str | None
    acl: tuple[str, ...]


class Events:
    """Events after a transaction, in order. ``through`` is the newest transaction that was read completely so far, also
    of those that are no events: after the last one it is the position to go on from."""

    def __init__(self, child: Child, after: int, limit: int) -> None:
        self.through = after
        self._events = self._read(child, limit)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def _read(self, child: Child, limit: int) -> Iterator[Event]:
        given = 0
        while given < limit:
            page, _ = child.ask({"op": "events", "after": self.through})
            for fields in page["events"]:
                yield Event(*fields)
            given += len(page["events"])
            self.through = page["through"]
            if page["end"]:
                return


class HdfsClient:
    """One HDFS. Safe to be used by several threads; get it from `hdfs`. All methods raise `HdfsError`."""

    def __init__(self, address: HdfsAddress) -> None:
        self.address = address
        self._child = Child(
            address.url.rstrip("/"),
            {
                "url": address.url.rstrip("/"),
                "namenodes": ",".join(address.namenodes),
                "configuration_directory": address.configuration_directory,
                "user": address.user,
                "principal": address.principal,
                "keytab": address.keytab,
                "http": ",".join(each.rstrip("/") for each in address.http),
                "http_timeout_ms": str(int(address.timeout_s * 1000)),
            },
            cache=address.cache,
            java_home=address.java_home,
            java_options=address.java_options,
            timeout_s=address.timeout_s,
        )

    @property
    def pid(self) -> int | None:
        """Process id of the Java child, None where there is none at present."""
        return self._child.pid

    def stop(self) -> None:
        """Ends the Java child. The next request starts another."""
        self._child.stop()

    def transaction(self) -> int:
        """The newest transaction that the NameNode has written (not all of them need be readable yet: what `Events` has
        read is in its ``through``); -1 while it becomes active. Superusers only."""
        answer, _ = self._child.ask({"op": "transaction"})
        newest: int = answer["transaction"]
        return newest

    def events(self, after: int, limit: int = 100_000) -> Events:
        """What happened after a transaction, until none is left, or somewhat more than ``limit`` were given.

        Nothing of one transaction is left out. Raises `MissingEvents`. Superusers only.
        """
        return Events(self._child, after, limit)

    def describe(self, paths: Sequence[str]) -> Iterator[Status | None]:
        """Each path as it is now, in the same order; None for one that is not there. Symlinks are not followed."""
        for some in in_batches(paths, DESCRIBED_AT_ONCE):
            answer, _ = self._child.ask({"op": "describe", "paths": some})
            for path, row in zip(some, answer["rows"], strict=True):
                yield None if row is None else _to_status(path, row)

    def list(self, directory: str) -> Iterator[Status]:
        """What stands in a directory, in the order of the names' bytes, by pages of the NameNode's choosing.

        Raises `HdfsNotFound` where it is none. A directory that changes meanwhile is listed neither before nor after.
        """
        start: str | None = ""
        above = directory.rstrip("/")
        while start is not None:
            page, _ = self._child.ask({"op": "list", "path": directory, "start": start})
            for row in page["rows"]:
                yield _to_status(f"{above}/{row[0]}", row)
            start = page.get("next")

    def lengths(self, paths: Sequence[str]) -> Iterator[int]:
        """How many bytes of each file can be read by now, also of files that are being written; 0 of one that cannot."""
        for some in in_batches(paths, DESCRIBED_AT_ONCE):
            answer, _ = self._child.ask({"op": "lengths", "paths": some})
            yield from answer["lengths"]

    def read(self, path: str, offset: int = 0, length: int = -1) -> Iterator[bytes]:
        """A file's bytes from an offset, some MiB at a time; of a file that is being written, up to what was flushed."""
        with HdfsFile(self._child, path) as file:
            end = file.length if length < 0 else min(file.length, offset + length)
            while offset < end and (data := file.read_at(offset, end - offset)):
                offset += len(data)
                yield data

    def open(self, path: str) -> HdfsFile:
        """A file to be read at any place, as long as it was when it was opened."""
        return HdfsFile(self._child, path)

    def namespace(self) -> tuple[str, str]:
        """The cluster's id and the block pool's, as a NameNode's JMX shows them to everyone; empty if it cannot be asked."""
        answer, _ = self._child.ask({"op": "namespace"})
        return answer["cluster"], answer["pool"]

    def offered_image(self) -> tuple[int, str]:
        """The transaction of the image that `fetch_image` would fetch now, and its MD5 ("" if that is not given); none of
        it is read."""
        answer, _ = self._child.ask({"op": "offered"})
        return answer["transaction"], answer["md5"]

    def fetch_image(
        self, into: Path, report: Callable[[int, int], None] = lambda done_bytes, total_bytes: None
    ) -> Path:
        """The newest image that any NameNode has, as ``fsimage_<txid>`` in ``into``; a standby is asked to send it before
        the active one. Its MD5 is checked and kept beside it (``.md5``), unless the NameNode does not give it.

        ``report`` gets bytes so far, and of how many (-1 if unknown), some times a second. A fetch that breaks off leaves
        nothing behind but, if this process is killed, one hidden file ``.fsimage_<txid>.part``.
        """
        answer, _ = self._child.ask({"op": "image", "into": str(into.absolute())}, report)
        return Path(answer["image"])


class HdfsFile:
    """An open file. If the Java child was replaced meanwhile, it is opened again at the next read."""

    def __init__(self, child: Child, path: str) -> None:
        self.path = path
        self._child = child
        self._file = 0
        self.length = self._open()
        """bytes that can be read, also of a file that is being written: what it had when it was opened"""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of it. Harmless where that was done."""
        # A child that was started anew knows nothing of the file, and should not be started for that.
        if self._child.pid == self._pid:
            self._child.ask({"op": "close", "file": self._file})

    def read_at(self, offset: int, length: int) -> bytes:
        """At most ``length`` bytes, and no more than some MiB; empty at the end only."""
        for _ in range(_RETURNS):
            if self._child.pid == self._pid:
                request = {"op": "read", "path": self.path, "file": self._file, "offset": offset}
                answer, data = self._child.ask({**request, "length": min(length, READ_BYTES)})
                if "closed" not in answer:
                    return data
            self._open()
        raise HdfsUnavailable(f"{self.path}: Hadoop's client ended again and again", self.path)

    def _open(self) -> int:
        answer, _ = self._child.ask({"op": "open", "path": self.path})
        self._pid = self._child.pid
        self._file = answer["file"]
        length: int = answer["length"]
        return length


def _to_status(path: str, row: list[Any]) -> Status:
    return Status._make((path, *row[1:-1], tuple(row[-1])))


_clients: dict[tuple[int, HdfsAddress], HdfsClient] = {}
_clients_lock = threading.Lock()


def hdfs(address: HdfsAddress) -> HdfsClient:
    """This process's client of an address. Its Java child starts with the first request, and ends when this process does,
    or after ten minutes without a request."""
    # A forked process must not talk on its parent's line.
    with _clients_lock:
        return _clients.setdefault((os.getpid(), address), HdfsClient(address))
