"""Backs up the embedded index to a single file, from Solr snapshots, and restores a backup.

A restore unpacks the backup next to Solr's home directory and swaps the two directories by renaming, so that the
restore is atomic.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from navlin.index.admin.cores import CORES
from navlin.index.admin.schema import VERSION, Schema, schema_of, version_of_cores
from navlin.index.admin.snapshots import snapshots
from navlin.index.solr.solr import Solr
from navlin.service.maintenance.backup_file import (
    DamagedBackup,
    Header,
    NewerBackup,
    Report,
    read_header,
    sync_directory,
    unpack_backup,
    write_backup,
)
from navlin.solr_server import home

_CONFIGSET: Final = "configset"


class IndexThere(Exception):
    """There is an index that a restore would overwrite."""


class IndexInUse(Exception):
    """Solr is running on the home directory that a restore would replace."""


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A finished backup: the file, its size in bytes, and its header."""

    file: Path
    size: int
    header: Header


def back_up(solr: Solr, solr_home: Path, file: Path, now_ms: int, report: Report) -> BackedUp:
    """Back up the index of the embedded Solr in ``solr_home`` to ``file``. Other processes may write to the index
    meanwhile.

    If this raises `TooBusy`, `Leased` or `OSError`, an existing file is unchanged.
    """
    configset = home.used(solr_home)
    schema = schema_of(solr) or Schema(version_of_cores(solr))
    members = {
        f"{_CONFIGSET}/{path.name}": path
        for path in sorted((solr_home / "configsets" / configset / "conf").iterdir())
    }
    with snapshots(solr) as taken:
        for snapshot in taken:
            members |= {f"{snapshot.core}/{name}": snapshot.directory / name for name in snapshot.files}
        size = sum(path.stat().st_size for path in members.values())
        documents = {snapshot.core: snapshot.documents for snapshot in taken}
        header = Header(version("navlin"), schema.version, configset, now_ms, documents, size)
        return BackedUp(file, write_backup(file, header, members, report), header)


def restore(file: Path, state: Path, *, overwrite: bool, report: Report) -> Header:
    """Replace the index in a state directory by the index in a backup. The directory is created if it is missing.

    Raises `IndexThere` (unless ``overwrite``), `IndexInUse`, `DamagedBackup`, `NewerBackup` or `OSError`. In each case,
    the previous index is unchanged.
    """
    solr_home = state.absolute() / "solr"
    header = read_header(file)
    if header.schema > VERSION:
        raise NewerBackup(
            f"{file} holds an index of version {header.schema}, written by navlin {header.navlin}, and this navlin"
            f" supports versions up to {VERSION}: use navlin {header.navlin} or a later one"
        )
    state.mkdir(parents=True, exist_ok=True, mode=0o700)
    home.undo_replacement(solr_home)
    if any(solr_home.glob("*/core.properties")) and not overwrite:
        raise IndexThere(f"{solr_home} already holds an index")
    unpacked = solr_home.with_name("solr.restored")
    shutil.rmtree(unpacked, ignore_errors=True)
    unpacked.mkdir(mode=0o700)
    with _locked(unpacked):
        try:
            # Lock the home directory, so that no other process starts Solr on it while its files are replaced.
            with _locked(solr_home):
                _unpack(file, unpacked, header, report)
                home.replace(solr_home, unpacked)
        finally:
            shutil.rmtree(unpacked, ignore_errors=True)
    return header


def _unpack(file: Path, unpacked: Path, header: Header, report: Report) -> None:
    configset = unpacked / "configsets" / header.configset / "conf"
    indexes = home.lay_out(unpacked, header.configset, CORES)

    def place(name: str) -> Path:
        folder, _, member = name.partition("/")
        if folder != _CONFIGSET and folder not in indexes:
            raise DamagedBackup(f"{file} is damaged: it has the unexpected member {name!r:.60}")
        return (configset if folder == _CONFIGSET else indexes[folder]) / member

    unpack_backup(file, place, report)
    for directory, _, _ in os.walk(unpacked):
        sync_directory(Path(directory))


@contextmanager
def _locked(solr_home: Path) -> Iterator[None]:
    """Hold the lock that Solr acquires on its home directory. Do nothing if the directory does not exist. Raises
    `IndexInUse`."""
    if not solr_home.is_dir():
        yield
        return
    with (solr_home / home.LOCK_FILE).open("ab") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise IndexInUse(f"another navlin runs Solr on {solr_home}: stop it first") from error
        yield
