"""The file format of backups: a tar compressed with zstandard. The first member, ``backup.json``, describes the backup;
the last, ``sums.json``, contains the SHA-256 of all members in between, and is missing in a truncated file."""

from __future__ import annotations

import hashlib
import os
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Final, cast

import orjson
import zstandard

from navlin.files import replaced

FORMAT: Final = 1
_HEADER: Final = "backup.json"
_SUMS: Final = "sums.json"
_MEMBER = re.compile(r"[A-Za-z][A-Za-z0-9_-]*/[A-Za-z0-9_][A-Za-z0-9_.-]*")
_CHUNK_BYTES: Final = 1 << 20

Report = Callable[[int, int], None]
"""Progress callback: (bytes so far, total bytes)."""


class DamagedBackup(Exception):
    """The file is not a backup, or is incomplete or damaged."""


class NewerBackup(Exception):
    """A later version of navlin wrote the backup."""


@dataclass(frozen=True, slots=True)
class Header:
    """The description of a backup. ``schema`` is the version of the index, ``configset`` the name of the Solr configset
    of the cores, ``bytes`` the total size of all members; ``documents`` maps cores to the number of documents."""

    navlin: str
    schema: int
    configset: str
    created_ms: int
    documents: Mapping[str, int]
    bytes: int
    format: int = FORMAT


def write_backup(target: Path, header: Header, members: Mapping[str, Path], report: Report) -> int:
    """Write a backup to ``target``, which is replaced when the backup is complete. ``members`` maps names in the backup
    to files. Return the size in bytes."""
    # The backup contains the whole index, so only its owner may read it.
    with replaced(target) as file:
        packer = zstandard.ZstdCompressor(level=3, write_checksum=True)
        with (
            packer.stream_writer(file, closefd=False) as packed,
            tarfile.open(mode="w|", fileobj=cast(IO[bytes], packed)) as tar,
        ):
            _add(tar, _HEADER, orjson.dumps(asdict(header)))
            sums: dict[str, str] = {}
            done = 0
            for name, path in members.items():
                with path.open("rb") as source:
                    info = tarfile.TarInfo(name)
                    info.size = os.fstat(source.fileno()).st_size
                    hashed = _Hashed(source, partial(_report, report, done, header.bytes))
                    tar.addfile(info, cast(IO[bytes], hashed))
                sums[name] = hashed.digest()
                done += info.size
            _add(tar, _SUMS, orjson.dumps(sums))
        size = file.tell()
    sync_directory(target.parent)
    return size


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    tar.addfile(info, BytesIO(content))


def _report(report: Report, before: int, total: int, count: int) -> None:
    report(before + count, total)


class _Hashed:
    def __init__(self, file: IO[bytes], report: Callable[[int], None]) -> None:
        self._file, self._report, self._count, self._sum = file, report, 0, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        chunk = self._file.read(size)
        self._sum.update(chunk)
        self._count += len(chunk)
        self._report(self._count)
        return chunk

    def digest(self) -> str:
        return self._sum.hexdigest()


def read_header(file: Path) -> Header:
    """Read the description of a backup. Raises `DamagedBackup`, `NewerBackup` or `OSError`."""
    with _opened(file) as (tar, _):
        return _header(file, tar)


def unpack_backup(file: Path, place: Callable[[str], Path], report: Report) -> Header:
    """Write each member of a backup durably to the path that ``place`` returns for the member's name. If this function
    returns, all members match their checksums. If it raises `DamagedBackup` or `NewerBackup`, the unpacked files must
    not be used."""
    with _opened(file) as (tar, unpacked):
        header = _header(file, tar)
        found: dict[str, str] = {}
        done = 0
        sums: Any = None
        while (member := tar.next()) is not None:
            content = tar.extractfile(member) if member.isreg() else None
            if content is None or sums is not None:
                raise DamagedBackup(f"{file} is damaged: it has the unexpected member {member.name!r:.60}")
            if member.name == _SUMS:
                sums = _json(file, content.read())
                continue
            if not _MEMBER.fullmatch(member.name):
                raise DamagedBackup(f"{file} is damaged: it has the unexpected member {member.name!r:.60}")
            path = place(member.name)
            path.parent.mkdir(parents=True, exist_ok=True)
            hashed = _Hashed(content, partial(_report, report, done, header.bytes))
            with path.open("xb") as out:
                while chunk := hashed.read(_CHUNK_BYTES):
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
            found[member.name] = hashed.digest()
            done += member.size
        while unpacked.read(_CHUNK_BYTES):
            pass  # read to the end, so that the checksum of the compressed stream is verified
    if sums is None:
        raise DamagedBackup(f"{file} is damaged: its end is missing")
    if sums != found:
        wrong = sorted(name for name in {*sums, *found} if sums.get(name) != found.get(name))
        raise DamagedBackup(f"{file} is damaged: {', '.join(wrong[:3])} differs from what was written")
    return header


@contextmanager
def _opened(file: Path) -> Iterator[tuple[tarfile.TarFile, IO[bytes]]]:
    with file.open("rb") as packed:
        try:
            unpacked = cast(IO[bytes], zstandard.ZstdDecompressor().stream_reader(packed))
            with tarfile.open(mode="r|", fileobj=unpacked) as tar:
                yield tar, unpacked
        except (tarfile.TarError, zstandard.ZstdError, EOFError) as error:
            raise DamagedBackup(f"{file} is not a backup of navlin's, or is damaged: {error}") from error


def _header(file: Path, tar: tarfile.TarFile) -> Header:
    member = tar.next()
    content = tar.extractfile(member) if member is not None and member.name == _HEADER else None
    if content is None:
        raise DamagedBackup(f"{file} is not a backup of navlin's")
    about = _json(file, content.read())
    if not isinstance(about, dict) or not isinstance(about.get("format"), int):
        raise DamagedBackup(f"{file} is not a backup of navlin's")
    if about["format"] > FORMAT:
        raise NewerBackup(
            f"{file} was written by navlin {about.get('navlin')}: use that version or a later one"
        )
    try:
        return Header(**about)
    except TypeError as error:
        raise DamagedBackup(f"{file} is damaged: {error}") from error


def _json(file: Path, content: bytes) -> Any:
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise DamagedBackup(f"{file} is damaged: {error}") from error


def sync_directory(directory: Path) -> None:
    """Make the directory entries durable, so that they survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
