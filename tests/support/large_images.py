"""Large fsimages as a data warehouse's NameNode has them. Equal numbers of inodes give equal images. Some hundred
thousand inodes are written per second, with a few numbers per inode in memory.

One inode in thirteen is a directory: databases, tables and their partitions (`ds=2026-01-01`, some by hour), home
directories with chains forty levels deep, and one directory that holds a fiftieth of all files. Files are named as by
Spark, Hive and Flume. Their sizes are around 8 MiB with a long tail, and they have the corresponding blocks. Siblings
have inode numbers near each other but not consecutive.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tests.support.image_file import Codec, ImageFile, delimited, fixed64, nested, number, varint
from tests.support.image_strings import Strings
from tests.support.images import MIB, MODIFIED_MS, ROOT_ID

Numbers = npt.NDArray[np.int64]

_AT_ONCE: Final = 100_000
_BLOCK_SIZE: Final = 128 * MIB
_FIRST_BLOCK: Final = 1_073_741_825
_DEPTH: Final = 40
_SCHEMES: Final = (
    b"part-%05d-%s-c000.snappy.parquet",
    b"part-%05d-%s.c000.zstd.parquet",
    b"%06d_0_%.8s.orc",
    b"events-%07d.%.13s.avro.gz",
)


@dataclass(frozen=True, slots=True)
class LargeImage:
    """Path and totals of the image written, for comparison with the totals read."""

    path: Path
    inodes: int
    files: int
    directories: int
    file_bytes: int
    image_bytes: int


@dataclass(frozen=True, slots=True)
class _Estate:
    """Inodes are numbered from 0, the root: first all directories, then all files."""

    names: list[bytes]
    """Names of the directories."""
    parents: Numbers
    ordinals: Numbers
    """Position of each file within its directory."""
    sizes: Numbers
    first_blocks: Numbers
    ids: Numbers


def write_large_image(
    path: Path,
    inodes: int,
    *,
    sub_sections: int = 0,
    shuffled: bool = False,
    codec: Codec = Codec.NONE,
    layout: int = -66,
) -> LargeImage:
    """Write the image and its checksum file. `sub_sections` corresponds to the setting
    `dfs.image.parallel.target.sections`.
    """
    rng = np.random.default_rng(inodes)
    estate = _lay_out(inodes, rng)
    directories, count = len(estate.names), len(estate.parents)
    strings = Strings(3 if layout <= -65 else 0)
    permissions = [
        strings.permission(f"etl_{at % 200:03}", f"team_{at % 40:02}", 0o640) for at in range(1_000)
    ]
    order = np.argsort(estate.ids, kind="stable")
    if shuffled:
        rng.shuffle(order)
    per_section = -(-count // sub_sections) if sub_sections else 0
    with ImageFile(path, layout=layout, codec=codec) as image:
        section = number(1, 1_234_567) + number(2, 1000) + number(3, 2000) + number(4, 0)
        section += number(5, _FIRST_BLOCK + int(estate.first_blocks[-1])) + number(6, 90_000_000)
        image.write(delimited(section))
        image.end_section("NS_INFO")
        image.write(delimited(number(1, int(estate.ids.max())) + number(2, count)))
        step = per_section or _AT_ONCE
        for start in range(0, count, step):
            for at in range(start, min(start + step, count), _AT_ONCE):
                some = order[at : min(at + _AT_ONCE, start + step)]
                image.write(b"".join(_inodes(estate, some, permissions, strings)))
            if sub_sections:
                image.end_sub_section("INODE_SUB")
        image.end_section("INODE")
        _write_children(image, estate, per_section)
        image.end_section("INODE_DIR")
        for name, messages in (
            ("FILES_UNDERCONSTRUCTION", []),
            ("SNAPSHOT", [number(1, 0) + number(3, 0)]),
            ("INODE_REFERENCE", []),
            ("SECRET_MANAGER", [number(1, 1) + number(2, 0) + number(3, 0) + number(4, 0)]),
            ("CACHE_MANAGER", [number(1, 1) + number(2, 0) + number(3, 0)]),
            ("STRING_TABLE", strings.section()),
        ):
            image.write(b"".join(map(delimited, messages)))
            image.end_section(name)
    files = count - directories
    return LargeImage(path, count, files, directories, int(estate.sizes.sum()), path.stat().st_size)


def write_wide_image(path: Path, first_id: int, files: int) -> Path:
    """Write an image with ``files`` empty files in the root, named from `f0`. The inode number of `f0` is ``first_id``."""
    permission = fixed64(4, 0o755)
    content = nested(4, number(1, 1) + fixed64(5, 0o644))
    with ImageFile(path) as image:
        image.write(delimited(number(6, 7)))
        image.end_section("NS_INFO")
        image.write(delimited(number(1, first_id + files) + number(2, files + 1)))
        image.write(delimited(number(1, 2) + number(2, ROOT_ID) + nested(3, b"") + nested(5, permission)))
        ids = [varint(first_id + at) for at in range(files)]
        for at in range(0, files, _AT_ONCE):
            image.write(
                b"".join(_empty_file(ids[each], each, content) for each in range(files)[at : at + _AT_ONCE])
            )
        image.end_section("INODE")
        image.write(delimited(number(1, ROOT_ID) + nested(2, b"".join(ids))))
        image.end_section("INODE_DIR")
        image.write(delimited(b""))
        image.end_section("STRING_TABLE")
    return path


# -- The tree ------------------------------------------------------------------------------------------------------------


def _lay_out(inodes: int, rng: np.random.Generator) -> _Estate:
    names, above, leaves = _directories(max(100, inodes // 13), rng)
    files = inodes - len(names)
    wide = files // 50
    weights = rng.lognormal(0, 1.2, len(leaves))
    counts = rng.multinomial(files - wide, weights / weights.sum())
    counts[0] += wide
    parents = np.concatenate([np.array(above, np.int64), np.repeat(np.array(leaves, np.int64), counts)])
    ordinals = np.arange(files) - np.repeat(np.cumsum(counts) - counts, counts)
    sizes = np.minimum(rng.lognormal(np.log(8 * MIB), 1.8, files), 20_000 * MIB).astype(np.int64)
    blocks = -(-sizes // _BLOCK_SIZE)
    # Files are created while neighbouring directories are being filled, so inode numbers of siblings are not
    # consecutive.
    born = np.concatenate([np.arange(len(names)), parents[len(names) :] + 1 + 50 * rng.random(files)])
    ids = np.empty(inodes, np.int64)
    ids[np.argsort(born, kind="stable")] = ROOT_ID + np.arange(inodes)
    return _Estate(names, parents, ordinals, sizes, np.concatenate([[0], np.cumsum(blocks)]), ids)


def _directories(count: int, rng: np.random.Generator) -> tuple[list[bytes], list[int], list[int]]:
    """Return the names of directories, their parents, and the directories that hold files. The first of the latter
    holds a fiftieth of all files.
    """
    names, above, leaves = [b""], [-1], []

    def add(name: bytes, parent: int) -> int:
        names.append(name)
        above.append(parent)
        return len(names) - 1

    # Siblings must be in the order of their names, because a NameNode that reads the image relies on it.
    leaves.append(add(b"incoming", add(b"flume", add(b"data", 0))))
    homes = add(b"home", 0)
    warehouse = add(b"warehouse", add(b"hive", add(b"user", 0)))
    tables = max(2, int(count**0.5))
    databases = [add(b"db_%03d.db" % at, warehouse) for at in range(max(1, tables // 12))]
    for at in range(max(1, count // 20 // _DEPTH)):
        parent = homes
        for depth in range(_DEPTH):
            parent = add((b"user_%04d" % at, b"stage_%02d" % depth)[depth > 0], parent)
        leaves.append(parent)
    shares = rng.pareto(1.1, tables) + 0.05
    shares /= shares.sum()
    first_day = date(2020, 1, 1)
    for at, share in enumerate(shares):
        if len(names) >= count:
            break
        name = b"fact_%05d_%s" % (at, (b"sales", b"clicks", b"orders")[at % 3])
        table = add(name, databases[at % len(databases)])
        wanted = min(count - len(names), int(share * count))
        days = (b"ds=%s" % (first_day + timedelta(day)).isoformat().encode() for day in itertools.count())
        if at % 10 == 0:
            for day in itertools.islice(days, wanted // 25):
                partition = add(day, table)
                leaves += [add(b"hour=%02d" % hour, partition) for hour in range(24)]
        else:
            leaves += [add(day, table) for day in itertools.islice(days, wanted)]
        if not wanted:
            leaves.append(table)
    return names, above, leaves


# -- Messages ------------------------------------------------------------------------------------------------------------


def _inodes(
    estate: _Estate, some: npt.NDArray[Any], permissions: list[int], strings: Strings
) -> Iterator[bytes]:
    directories = len(estate.names)
    ids = estate.ids[some]
    modified = MODIFIED_MS - 60_000 * 24 * (ids[::-1] % 1_000_000) + ids % 1_000
    for at, inode_id, modified_ms in zip(some.tolist(), ids.tolist(), modified.tolist(), strict=True):
        if at < directories:
            yield _directory(at, estate.names[at], inode_id, modified_ms, strings)
            continue
        parent = int(estate.parents[at])
        ordinal, size = int(estate.ordinals[at - directories]), int(estate.sizes[at - directories])
        name = _SCHEMES[parent % len(_SCHEMES)] % (ordinal, _job(parent))
        time = varint(modified_ms)
        # The field tags and lengths are literal bytes for speed, because this line runs for every file.
        content = b"\x08\x03\x10%b\x18%b\x20\x80\x80\x80\x40\x29%b%b\x50\x00\x58\x00" % (
            time,
            time,
            struct.pack("<Q", permissions[parent % 1_000]),
            _blocks(int(estate.first_blocks[at - directories]), size),
        )
        head = b"\x08\x01\x10%b\x1a%c%b\x22%b" % (varint(inode_id), len(name), name, varint(len(content)))
        yield b"%b%b%b" % (varint(len(head) + len(content)), head, content)


def _job(directory: int) -> bytes:
    """A UUID derived from the directory, for the job that wrote its files."""
    digits = b"%016x%016x" % (
        directory * 0x9E3779B97F4A7C15 & 0xFFFF_FFFF_FFFF_FFFF,
        directory * 0xC2B2AE3D27D4EB4F & 0xFFFF_FFFF_FFFF_FFFF,
    )
    return b"%b-%b-4%b-9%b-%b" % (digits[:8], digits[8:12], digits[13:16], digits[17:20], digits[20:])


_FULL: Final = b"\x10\xea\x07\x18\x80\x80\x80\x40"


def _empty_file(inode_id: bytes, ordinal: int, content: bytes) -> bytes:
    name = b"f%d" % ordinal
    message = b"\x08\x01\x10%b\x1a%c%b%b" % (inode_id, len(name), name, content)
    return b"%c%b" % (len(message), message)


def _blocks(first: int, size: int) -> bytes:
    whole, rest = divmod(size, _BLOCK_SIZE)
    blocks = b""
    for at in range(whole):
        block_id = varint(_FIRST_BLOCK + first + at)
        blocks += b"\x32%c\x08%b%b" % (1 + len(block_id) + len(_FULL), block_id, _FULL)
    if rest:
        last = b"\x08%b\x10\xea\x07\x18%b" % (varint(_FIRST_BLOCK + first + whole), varint(rest))
        blocks += b"\x32%c%b" % (len(last), last)
    return blocks


def _directory(at: int, name: bytes, inode_id: int, modified_ms: int, strings: Strings) -> bytes:
    content = number(1, modified_ms) + number(2, -1) + number(3, -1)
    content += fixed64(4, strings.permission(f"etl_{at % 200:03}", f"team_{at % 40:02}", 0o750))
    if at % 97 == 0 and at:
        entries = [strings.acl("user:impala:r-x"), strings.acl("group::r-x"), strings.acl("group:audit:r-x")]
        content += nested(5, nested(2, struct.pack("<3I", *entries)))
    return delimited(number(1, 2) + number(2, inode_id) + nested(3, name) + nested(5, content))


def _write_children(image: ImageFile, estate: _Estate, per_section: int) -> None:
    by_parent = np.argsort(estate.parents, kind="stable")[1:]  # leaves out the root
    parents = estate.parents[by_parent]
    starts = np.flatnonzero(np.r_[True, parents[1:] != parents[:-1]])
    ends = np.r_[starts[1:], len(parents)]
    written = 0
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        children = b"".join(map(varint, estate.ids[by_parent[start:end]].tolist()))
        image.write(delimited(number(1, int(estate.ids[parents[start]])) + nested(2, children)))
        written += end - start
        if per_section and written >= per_section:
            written = 0
            image.end_sub_section("INODE_DIR_SUB")
    if per_section:
        image.end_sub_section("INODE_DIR_SUB")
