"""HDFS access through Hadoop's own client, in a small Java child: events, file statuses, file contents, and the image.

Hadoop's client provides high availability, retries, Kerberos and the true length of files that are being written.
Results come in pages, each fetched when needed, so an abandoned iterator leaves no state.
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
from navlin.urls import server_url

__all__ = [
    "Events",
    "FileStatus",
    "HdfsAddress",
    "HdfsClient",
    "HdfsError",
    "HdfsEvent",
    "HdfsNotFound",
    "HdfsRefused",
    "HdfsUnavailable",
    "MissingEvents",
    "hdfs",
]

DESCRIBED_AT_ONCE: Final = 500
READ_BYTES: Final = 4 << 20
_RETURNS: Final = 3


@dataclass(frozen=True, slots=True)
class HdfsAddress:
    """An HDFS and the credentials for it. ``namenodes`` are the NameNodes of the nameservice in ``url``, needed only
    if no configuration directory names them.
    """

    url: str
    """``hdfs://ns1`` or ``hdfs://host:8020``."""
    namenodes: tuple[str, ...] = ()
    """``host:port`` of each NameNode."""
    configuration_directory: str = ""
    """Directory with core-site.xml, hdfs-site.xml and, if TLS needs it, ssl-client.xml."""
    user: str = ""
    """User for simple authentication; the process's user if empty."""
    principal: str = ""
    keytab: str = ""
    """Keytab of ``principal``. If empty, the ticket cache is used."""
    http: tuple[str, ...] = ()
    """``http(s)://host:9870`` of each NameNode, if the configuration does not name it."""
    cache: str = ""
    """Directory for the compiled child; a directory in the system's temporary directory if empty."""
    timeout_s: float = 60.0
    java_home: str = ""
    java_options: tuple[str, ...] = ()
    """Options such as ``-Djava.security.krb5.conf=…`` or ``-Djavax.net.ssl.trustStore=…``."""

    def __post_init__(self) -> None:
        if not self.url.startswith("hdfs://") or server_url(self.url) is None:
            raise ValueError(
                f"{self.url!r} is not the URL of an HDFS: hdfs://nameservice or hdfs://host:port"
            )
        if self.namenodes and ":" in self.url.removeprefix("hdfs://"):
            raise ValueError(f"{self.url}: with namenodes, the URL names their nameservice and no port")


class HdfsEvent(NamedTuple):
    """One event. ``kind`` is CREATE, CLOSE, APPEND, RENAME, METADATA, UNLINK or TRUNCATE.

    A RENAME (from ``path`` to ``to``, replacing anything there) or UNLINK of a directory applies to everything below
    it. Only CREATE sets ``directory``. ``time_ms`` (epoch ms) is 0 if the edit has no time. Bytes of a name that are
    not UTF-8 arrive as U+FFFD, because the NameNode itself does not keep them in its edits.
    """

    txid: int
    kind: str
    path: str
    to: str = ""
    directory: bool = False
    time_ms: int = 0


class FileStatus(NamedTuple):
    """Current status of a file or directory, from the NameNode. Each byte of the path that is not UTF-8 is written
    ``\\xNN``.

    For a file that is being written (``under_construction``), ``size`` is the size known to the NameNode so far.
    ``ez_key`` is set only on the root directory of an encryption zone. For a directory, ``ec_policy`` is the effective
    policy.
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
    """Events after a transaction, in order. ``through`` is the newest transaction that was read completely, including
    transactions without events. After the last event it is the position from which to continue.
    """

    def __init__(self, child: Child, after: int, limit: int) -> None:
        self.through = after
        self._events = self._read(child, limit)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> HdfsEvent:
        return next(self._events)

    def _read(self, child: Child, limit: int) -> Iterator[HdfsEvent]:
        given = 0
        while given < limit:
            page, _ = child.ask({"op": "events", "after": self.through})
            for fields in page["events"]:
                yield HdfsEvent(*fields)
            given += len(page["events"])
            self.through = page["through"]
            if page["end"]:
                return


class HdfsClient:
    """Client for one HDFS, obtained from `hdfs`. Thread-safe. All methods may raise `HdfsError`."""

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
        """Process id of the Java child; None if no child is running."""
        return self._child.pid

    def stop(self) -> None:
        """End the Java child. The next request starts another."""
        self._child.stop()

    def transaction(self) -> int:
        """Return the newest transaction that the NameNode has written; -1 while the NameNode is becoming active. The
        transaction may not be readable yet: ``through`` of `Events` is the last one read. Superusers only.
        """
        answer, _ = self._child.ask({"op": "transaction"})
        newest: int = answer["transaction"]
        return newest

    def events(self, after: int, limit: int = 100_000) -> Events:
        """Return an iterator over the events after a transaction. It ends when no events are left, or at the end of
        the page that reaches ``limit``.

        Transactions are never split. Iteration may raise `MissingEvents`. Superusers only.
        """
        return Events(self._child, after, limit)

    def describe(self, paths: Sequence[str]) -> Iterator[FileStatus | None]:
        """Yield the current status of each path, in the given order; None for a missing path. Symlinks are not
        followed.
        """
        for some in in_batches(paths, DESCRIBED_AT_ONCE):
            answer, _ = self._child.ask({"op": "describe", "paths": some})
            for path, row in zip(some, answer["rows"], strict=True):
                yield None if row is None else _to_status(path, row)

    def list(self, directory: str) -> Iterator[FileStatus]:
        """Yield the contents of a directory in byte order of the names, fetched in pages whose size the NameNode
        determines.

        Raises `HdfsNotFound` if the path is not a directory. If the directory changes meanwhile, the listing may match
        no single state.
        """
        start: str | None = ""
        above = directory.rstrip("/")
        while start is not None:
            page, _ = self._child.ask({"op": "list", "path": directory, "start": start})
            for row in page["rows"]:
                yield _to_status(f"{above}/{row[0]}", row)
            start = page.get("next")

    def lengths(self, paths: Sequence[str]) -> Iterator[int]:
        """Yield the current readable length of each file in bytes, even for a file that is being written; 0 for an
        unreadable file.
        """
        for some in in_batches(paths, DESCRIBED_AT_ONCE):
            answer, _ = self._child.ask({"op": "lengths", "paths": some})
            yield from answer["lengths"]

    def read(self, path: str, offset: int = 0, length: int = -1) -> Iterator[bytes]:
        """Yield a file's bytes from an offset on, some MiB at a time. For a file that is being written, they end at
        the last flush.
        """
        with HdfsFile(self._child, path) as file:
            end = file.length if length < 0 else min(file.length, offset + length)
            while offset < end and (data := file.read_at(offset, end - offset)):
                offset += len(data)
                yield data

    def open(self, path: str) -> HdfsFile:
        """Open a file for reading at any offset, with its length at the time of opening."""
        return HdfsFile(self._child, path)

    def namespace(self) -> tuple[str, str]:
        """Return (cluster id, block pool id) from a NameNode's JMX, which everyone may read. Both are "" if no
        NameNode responds.
        """
        answer, _ = self._child.ask({"op": "namespace"})
        return answer["cluster"], answer["pool"]

    def offered_image(self) -> tuple[int, str]:
        """Return the transaction of the image that `fetch_image` would fetch now, and the image's MD5 ("" if not
        given). The image itself is not read.
        """
        answer, _ = self._child.ask({"op": "offered"})
        return answer["transaction"], answer["md5"]

    def fetch_image(
        self, into: Path, report: Callable[[int, int], None] = lambda done_bytes, total_bytes: None
    ) -> Path:
        """Fetch the newest image that any NameNode offers into the directory ``into``, as ``fsimage_<txid>``. Return
        the path of the file. A standby is preferred to the active NameNode. If the NameNode sends the image's MD5, it
        is checked and saved next to the image (``.md5``).

        ``report`` receives the number of bytes so far and in total (-1 if unknown), several times a second. An
        interrupted fetch leaves no file, except a hidden ``.fsimage_<txid>.part`` if this process is killed.
        """
        answer, _ = self._child.ask({"op": "image", "into": str(into.absolute())}, report)
        return Path(answer["image"])


class HdfsFile:
    """An open file. If the Java child has been replaced, the next read reopens the file."""

    def __init__(self, child: Child, path: str) -> None:
        self.path = path
        self._child = child
        self._file = 0
        self.length = self._open()
        """Number of readable bytes when the file was opened, even if the file is being written."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Does nothing if the file is already closed."""
        # A new child does not know the file, and no child should be started just to close it.
        if self._child.pid == self._pid:
            self._child.ask({"op": "close", "file": self._file})

    def read_at(self, offset: int, length: int) -> bytes:
        """Return up to ``length`` bytes, limited to `READ_BYTES`; empty only at the end of the file."""
        for _ in range(_RETURNS):
            if self._child.pid == self._pid:
                request = {"op": "read", "path": self.path, "file": self._file, "offset": offset}
                answer, data = self._child.ask({**request, "length": min(length, READ_BYTES)})
                if "closed" not in answer:
                    return data
            self._open()
        raise HdfsUnavailable(f"{self.path}: Hadoop's client kept ending", self.path)

    def _open(self) -> int:
        answer, _ = self._child.ask({"op": "open", "path": self.path})
        self._pid = self._child.pid
        self._file = answer["file"]
        length: int = answer["length"]
        return length


def _to_status(path: str, row: list[Any]) -> FileStatus:
    return FileStatus._make((path, *row[1:-1], tuple(row[-1])))


_clients: dict[tuple[int, HdfsAddress], HdfsClient] = {}
_clients_lock = threading.Lock()


def hdfs(address: HdfsAddress) -> HdfsClient:
    """Return this process's client for an address. The client's Java child starts at the first request. It ends with
    this process, or after ten minutes without a request.
    """
    # A forked process must not use its parent's connection.
    with _clients_lock:
        return _clients.setdefault((os.getpid(), address), HdfsClient(address))
