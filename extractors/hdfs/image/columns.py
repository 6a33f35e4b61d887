"""The columns of a record batch, except the path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from extractors.hdfs.image.arrays import Flags, Ints, MessageBytes, Numbers, as_text, gather
from extractors.hdfs.image.batch_decoder import Decoded, decode
from extractors.hdfs.image.contents import NOT_KNOWN, SUMS
from extractors.hdfs.image.errors import Malformed
from extractors.hdfs.image.inodes import (
    DIRECTORY,
    DIRECTORY_FIELDS,
    FILE,
    SYMLINK,
    SYMLINK_FIELDS,
    Heads,
    decode_files,
)
from extractors.hdfs.image.prepared import NO_POLICY
from extractors.hdfs.image.strings import (
    GROUP,
    MAX_TEXT_BYTES,
    REPLICATED,
    USER,
    DirectoryAttributes,
    Strings,
    acl_texts,
    directory_attributes,
    permission_text,
)

SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("directory", pa.bool_()),
        ("size", pa.int64()),
        ("blockSize", pa.int64()),
        ("replication", pa.int64()),
        ("owner", pa.string()),
        ("group", pa.string()),
        ("permissions", pa.string()),
        ("lastModified", pa.int64()),
        ("inodeId", pa.int64()),
        ("symlinkTarget", pa.string()),
        ("underConstruction", pa.bool_()),
        ("ezKeyName", pa.string()),
        ("erasureCodingPolicy", pa.string()),
        ("acl", pa.list_(pa.string())),
        ("lastAccessed", pa.int64()),
        ("uc_size", pa.int64()),
        *((name, pa.int64()) for name in SUMS),
    ]
)
"""Columns of a record batch. ``size`` is the size of a closed file, ``uc_size`` that of a file that is still being
written. Times are epoch ms. The columns of `SUMS` are sums over a directory's contents
(`extractors.hdfs.image.contents`).
"""

_STRIPED: Final = 1
_TIMES: Final = ("contentModified", "contentAccessed")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kinds:
    """The rows of a page by inode type, and the decoded fields of each type. ``sizes`` are the sizes of the files."""

    files: Ints
    directories: Ints
    symlinks: Ints
    file: Decoded
    directory: Decoded
    symlink: Decoded
    sizes: Ints

    def numbers(self, column: str, count: int) -> Numbers:
        """Return the values of a field for all rows; 0 for rows of a type that lacks the field."""
        out = np.zeros(count, np.uint64)
        for rows, fields in (
            (self.files, self.file),
            (self.directories, self.directory),
            (self.symlinks, self.symlink),
        ):
            if column in fields.numbers:
                out[rows] = fields.numbers[column]
        return out


def read_kinds(page: MessageBytes, heads: Heads) -> Kinds:
    bodies = heads.bodies
    files, directories, symlinks = heads.of(FILE), heads.of(DIRECTORY), heads.of(SYMLINK)
    file, sizes = decode_files(page, bodies.starts["file"][files], bodies.ends["file"][files])
    directory = decode(
        page, bodies.starts["directory"][directories], bodies.ends["directory"][directories], DIRECTORY_FIELDS
    )
    symlink = decode(
        page, bodies.starts["symlink"][symlinks], bodies.ends["symlink"][symlinks], SYMLINK_FIELDS
    )
    return Kinds(files, directories, symlinks, file, directory, symlink, sizes)


def attribute_columns(
    page: MessageBytes,
    heads: Heads,
    starts: Ints,
    strings: Strings,
    inherited: NDArray[np.int16],
    policy_names: Sequence[str],
) -> dict[str, Any]:
    """Return all columns except the path, with one row for each inode of the page.

    ``inherited`` is, for each row, the number of the erasure coding policy in force in the directory above. ``starts``
    are the beginnings of the messages.
    """
    count = len(heads.ids)
    kinds = read_kinds(page, heads)
    file = kinds.file
    open_files = file.has("under_construction")
    striped = file.numbers["block_type"] == _STRIPED
    owner, group, permissions = _rights(kinds.numbers("permission", count), starts, strings)
    attributes = _attributes(page, kinds, strings)
    accessed = kinds.numbers("accessed", count)
    return {
        "directory": pa.array(heads.kinds == DIRECTORY),
        "size": _scattered(count, kinds.files, kinds.sizes, ~open_files),
        "blockSize": _scattered(count, kinds.files, file.numbers["block_size"]),
        "replication": _scattered(count, kinds.files, file.numbers["replication"], ~striped),
        "owner": owner,
        "group": group,
        "permissions": permissions,
        "lastModified": pa.array(kinds.numbers("modified", count).view(np.int64)),
        "inodeId": pa.array(heads.ids.view(np.int64)),
        "symlinkTarget": _symlink_targets(page, kinds, count),
        "underConstruction": _flags(count, kinds.files[open_files]),
        "ezKeyName": _texts(count, kinds.directories, [each.zone_key or None for each in attributes]),
        "erasureCodingPolicy": _policies(count, kinds, striped, attributes, strings, inherited, policy_names),
        "acl": _acls(page, kinds, count, strings),
        "lastAccessed": pa.array(accessed.view(np.int64), mask=accessed == 0),
        "uc_size": _scattered(count, kinds.files, kinds.sizes, open_files),
    }


def content_columns(count: int, rows: Ints, sums: Mapping[str, Ints]) -> dict[str, Any]:
    """Return one column for each sum over the contents of directories. ``rows`` are the rows of the directories."""
    some = sums["contentFiles"] > 0
    return {
        name: _scattered(count, rows, values, (some & (values != NOT_KNOWN)) if name in _TIMES else None)
        for name, values in sums.items()
    }


def _rights(permissions: Numbers, starts: Ints, strings: Strings) -> tuple[Any, Any, Any]:
    """Return three columns: owner, group and permissions as text. Each distinct value is decoded only once, because
    many rows share few values.
    """
    encoded = pa.array(permissions).dictionary_encode()
    distinct = encoded.dictionary.to_pylist()

    def named(kind: int, shift: int, what: str) -> Any:
        texts = []
        for each in distinct:
            number = each >> shift & 0xFFFFFF
            text = strings.text(kind, number)
            if text is None:
                row = int(np.argmax(permissions == each))
                reason = f"an inode of {what} {number}, which the string table does not have"
                raise Malformed(reason, int(starts[row]))
            texts.append(text or None)
        return pa.array(texts, pa.string()).take(encoded.indices)

    modes = pa.array([permission_text(each & 0xFFFF) for each in distinct], pa.string())
    return named(USER, 40, "user"), named(GROUP, 16, "group"), modes.take(encoded.indices)


def _scattered(count: int, rows: Ints, values: NDArray[Any], which: Flags | None = None) -> Any:
    """Return a column with ``values`` in ``rows`` and null elsewhere. With ``which``, only the rows that it selects
    have values.
    """
    if which is not None:
        rows, values = rows[which], values[which]
    out = np.zeros(count, np.int64)
    absent = np.ones(count, np.bool_)
    out[rows] = values.view(np.int64)
    absent[rows] = False
    return pa.array(out, mask=absent)


def _flags(count: int, rows: Ints) -> Any:
    """Return a column that is true in these rows and null elsewhere."""
    absent = np.ones(count, np.bool_)
    absent[rows] = False
    return pa.array(~absent, mask=absent)


def _spread(count: int, rows: Ints, values: Any) -> Any:
    """Return a column of ``count`` rows with the elements of ``values``, an Arrow array, in ``rows`` and null
    elsewhere.
    """
    if not len(rows):
        return pa.nulls(count, values.type)
    index = np.zeros(count, np.int32)
    absent = np.ones(count, np.bool_)
    index[rows] = np.arange(len(rows), dtype=np.int32)
    absent[rows] = False
    return values.take(pa.array(index, mask=absent))


def _texts(count: int, rows: Ints, texts: Sequence[str | None]) -> Any:
    if not any(texts):
        return pa.nulls(count, pa.string())
    return _spread(count, rows, pa.array(texts, pa.string()))


def _symlink_targets(page: MessageBytes, kinds: Kinds, count: int) -> Any:
    long = kinds.symlink.ends["target"] - kinds.symlink.starts["target"] > MAX_TEXT_BYTES
    if long.any():
        where = int(kinds.symlink.starts["target"][int(np.argmax(long))])
        raise Malformed(f"a symlink with a target of more than {MAX_TEXT_BYTES} bytes", where)
    targets = gather(page, kinds.symlink.starts["target"], kinds.symlink.ends["target"])
    return _spread(count, kinds.symlinks, as_text(targets))


def _understood(
    page: MessageBytes, starts: Ints, ends: Ints, understand: Callable[[bytes], T]
) -> tuple[Ints, list[T]]:
    """Apply ``understand`` once to each distinct byte string in these spans. Return the index of each span's result,
    and the list of results.
    """
    encoded = gather(page, starts, ends).dictionary_encode()
    index = encoded.indices.to_numpy()
    out = []
    for number, each in enumerate(encoded.dictionary.to_pylist()):
        try:
            out.append(understand(each))
        except Malformed as error:
            begin = int(starts[int(np.argmax(index == number))])
            raise Malformed(error.what, begin + error.offset) from error
    return index, out


def _attributes(page: MessageBytes, kinds: Kinds, strings: Strings) -> list[DirectoryAttributes]:
    fields = kinds.directory
    found = [DirectoryAttributes()] * len(kinds.directories)
    rows = np.flatnonzero(fields.has("attributes"))
    if len(rows):
        starts, ends = fields.starts["attributes"][rows], fields.ends["attributes"][rows]
        index, distinct = _understood(page, starts, ends, lambda each: directory_attributes(strings, each))
        for row, number in zip(rows.tolist(), index.tolist(), strict=True):
            found[row] = distinct[number]
    return found


def _acls(page: MessageBytes, kinds: Kinds, count: int, strings: Strings) -> Any:
    some: list[tuple[Ints, Ints, Ints]] = []
    for rows, fields in ((kinds.files, kinds.file), (kinds.directories, kinds.directory)):
        has = np.flatnonzero(fields.has("acl"))
        some.append((rows[has], fields.starts["acl"][has], fields.ends["acl"][has]))
    rows, starts, ends = (np.concatenate(each) for each in zip(*some, strict=True))
    if not len(rows):
        return pa.nulls(count, pa.list_(pa.string()))
    order = np.argsort(rows)
    rows, starts, ends = rows[order], starts[order], ends[order]
    index, distinct = _understood(page, starts, ends, lambda each: acl_texts(strings, each) or None)
    return _spread(count, rows, pa.array(distinct, pa.list_(pa.string())).take(pa.array(index)))


def _policies(
    count: int,
    kinds: Kinds,
    striped: Flags,
    attributes: Sequence[DirectoryAttributes],
    strings: Strings,
    inherited: NDArray[np.int16],
    policy_names: Sequence[str],
) -> Any:
    """Return a column of erasure coding policies. For a striped file, this is the file's own policy; for a directory,
    its own policy or, without one, the policy in force above it.
    """
    own = any(each.policy for each in attributes)
    if not striped.any() and not own and not len(policy_names):
        return pa.nulls(count, pa.string())
    texts: list[str | None] = [None] * count
    for row, number in zip(
        kinds.files[striped].tolist(), kinds.file.numbers["policy"][striped].tolist(), strict=True
    ):
        texts[row] = strings.policies.get(number)
    for row, number, each in zip(
        kinds.directories.tolist(), inherited[kinds.directories].tolist(), attributes, strict=True
    ):
        if each.policy:
            texts[row] = None if each.policy == REPLICATED else each.policy
        elif number != NO_POLICY:
            texts[row] = policy_names[number]
    return pa.array(texts, pa.string())
