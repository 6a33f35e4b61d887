"""Convert NameNode file statuses to records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from extractors.hdfs.client import FileStatus
from navlin.model.records import Listing
from navlin.model.source import Source


def to_listing(source: Source, as_of_ms: int, statuses: Iterable[FileStatus]) -> Listing:
    """Convert statuses of files and directories to a listing, with the same attributes as from an image."""
    rows = list(statuses)

    def column(value_of: Any) -> list[Any]:
        return [value_of(row) for row in rows]

    return Listing(
        source,
        as_of_ms,
        paths=column(lambda row: row.path),
        directories=column(lambda row: row.directory),
        attributes={
            "size": column(lambda row: row.size if _is_finished(row) else None),
            "blockSize": column(lambda row: row.block_size if _is_file(row) else None),
            "replication": column(
                lambda row: row.replication if _is_file(row) and not row.ec_policy else None
            ),
            "owner": column(lambda row: row.owner),
            "group": column(lambda row: row.group),
            "permissions": column(lambda row: row.permissions),
            "lastModified": column(lambda row: row.modified_ms),
            "inodeId": column(lambda row: row.inode_id),
            "symlinkTarget": column(lambda row: row.symlink),
            "underConstruction": column(lambda row: row.under_construction or None),
            "ezKeyName": column(lambda row: row.ez_key),
            "erasureCodingPolicy": column(lambda row: row.ec_policy),
            "acl": column(lambda row: list(row.acl) or None),
        },
        volatile={
            "size": column(lambda row: row.size if row.under_construction else None),
            "lastAccessed": column(lambda row: (not row.directory and row.accessed_ms) or None),
        },
    )


def _is_file(row: FileStatus) -> bool:
    return not row.directory and row.symlink is None


def _is_finished(row: FileStatus) -> bool:
    return _is_file(row) and not row.under_construction
