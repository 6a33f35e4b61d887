"""A thousand damaged fsimages: each is refused with the error and its location, or has as many rows as the undamaged
image. Each round of a soak damages another thousand.

Without a checksum, some damage cannot be detected: a changed time or letter, and in a list of children an inode
replaced by one that exists only in a snapshot. The second happens for 7 of the 23,560 single-bit flips of `varied`. No
row may go missing in another way, because its file would be flagged deleted. With the checksum file, every change is
refused.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import shutil
import signal
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from extractors.hdfs.image import ImageError, read_part
from tests.support.image_file import Codec
from tests.support.image_trees import varied
from tests.support.read_images import every_row, prepare_image, read_rows

LONGEST_S = 10.0
MORE_MEMORY_BYTES = 3 * 1024**3
MUTATIONS = 100
"""Number of mutations for each of eleven images."""

Rows = dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Sound:
    content: bytes
    rows: Rows


FORMS: dict[str, Callable[[Path], Path]] = {
    "plain": lambda path: varied().write(path, md5=False),
    "hadoop 2": lambda path: varied(-63).write(path, md5=False),
    "sub-sections": lambda path: varied().write(path, md5=False, inodes_in_sub_section=6, order=2),
    "zlib": lambda path: varied().write(path, md5=False, codec=Codec.DEFAULT),
    "snappy": lambda path: varied().write(path, md5=False, codec=Codec.SNAPPY),
    "lz4": lambda path: varied().write(path, md5=False, codec=Codec.LZ4),
    "zstandard, sub-sections": lambda path: varied().write(
        path, md5=False, codec=Codec.ZSTANDARD, inodes_in_sub_section=6
    ),
    "bzip2": lambda path: varied().write(path, md5=False, codec=Codec.BZIP2),
}
CORPORA = ("exporter-fsimage_0001", "hfsa-fsi_small_h2x.img", "hfsa-fsi_small_h3_2.img")


def sound(path: Path) -> Sound:
    return Sound(path.read_bytes(), read_rows(path, path.with_name("scratch")))


# -- Ways to damage an image ---------------------------------------------------------------------------------------------


def cut_off(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def flipped(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def overwritten(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.choice((1, 1, 3, 20))):
        damaged[rng.randrange(len(damaged))] = rng.choice((0, 0xFF, 0x7F, 0x80, rng.randrange(256)))
    return bytes(damaged)


def blanked(content: bytes, rng: random.Random) -> bytes:
    at, length = rng.randrange(len(content)), rng.choice((4, 64, 512))
    return content[:at] + bytes(min(length, len(content) - at)) + content[at + length :]


def shortened(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content))
    return content[:at] + content[at + rng.choice((1, 2, 100)) :]


def lengthened(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.randbytes(rng.choice((1, 2, 100))) + content[at:]


def table_flipped(content: bytes, rng: random.Random) -> bytes:
    """Damage the table of sections at the end of the image, which determines the sections that are read."""
    start = len(content) - 4 - struct.unpack(">I", content[-4:])[0]
    return content[:start] + flipped(content[start:], rng)


def table_swapped(content: bytes, rng: random.Random) -> bytes:
    start = len(content) - 4 - struct.unpack(">I", content[-4:])[0]
    names = [b"NS_INFO", b"INODE", b"INODE_DIR", b"STRING_TABLE", b"SNAPSHOT", b"INODE_SUB", b"INODE_DIR_SUB"]
    one, other = rng.sample([name for name in names if _named(name) in content[start:]], 2)
    table = content[start:]
    table = (
        table.replace(_named(one), b"\0").replace(_named(other), _named(one)).replace(b"\0", _named(other))
    )
    # If the names differ in length, the length of the enclosing message is wrong too. The image must be refused either
    # way.
    return content[:start] + table


def _named(name: bytes) -> bytes:
    return b"\x0a" + bytes((len(name),)) + name


WAYS = (
    cut_off,
    flipped,
    flipped,
    flipped,
    overwritten,
    blanked,
    shortened,
    lengthened,
    table_flipped,
    table_swapped,
)


@contextmanager
def bounded() -> Iterator[None]:
    def too_long(*_: object) -> None:
        raise TimeoutError("the reader does not come to an end")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGPROF, too_long)
    resource.setrlimit(resource.RLIMIT_AS, (used + MORE_MEMORY_BYTES, hard))
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def outcome(image: Path, scratch: Path, expected: Rows) -> str:
    """Return `refused`, `same`, or `other values`; raise an error for any other outcome."""
    try:
        with bounded():
            rows = read_rows(image, scratch, inodes_in_part=10)
    except ImageError as error:
        assert image.name in str(error) and error.what, repr(error)
        return "refused"
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if rows == expected:
        return "same"
    assert len(rows) == len(expected) or as_another_child(expected, rows), f"{rows.keys() ^ expected.keys()}"
    return "other values"


def as_another_child(expected: Rows, rows: Rows) -> bool:
    """Whether a row is missing because a directory lists, instead of its own child, an inode that was not visible
    before.
    """
    return any(path not in expected for path in rows)


def damage_and_read(whole: Sound, seed: str, folder: Path) -> Counter[str]:
    rng = random.Random(seed)
    image, scratch = folder / "fsimage_0000000000000004711", folder / "of-damaged"
    outcomes: Counter[str] = Counter()
    for at in range(MUTATIONS):
        way = WAYS[at % len(WAYS)]
        damaged = way(whole.content, rng)
        image.write_bytes(damaged)
        try:
            outcomes[outcome(image, scratch, whole.rows) if damaged != whole.content else "same"] += 1
        except BaseException as error:
            error.add_note(f"{way.__name__}, mutation {at} of {seed}: {difference(whole.content, damaged)}")
            raise
    return outcomes


def difference(content: bytes, damaged: bytes) -> str:
    at = next((at for at, (a, b) in enumerate(zip(content, damaged, strict=False)) if a != b), len(damaged))
    return f"{len(content)} → {len(damaged)} bytes, first at {at}: {content[at : at + 8]!r} → {damaged[at : at + 8]!r}"


# -- Tests ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_damaged_image_is_refused_or_loses_no_row(form: str, tmp_path: Path) -> None:
    outcomes = damage_and_read(sound(FORMS[form](tmp_path / "sound")), form, tmp_path)
    assert outcomes["refused"] > MUTATIONS / 4, outcomes


@pytest.mark.parametrize("name", CORPORA)
def test_a_damaged_foreign_image_is_refused_or_loses_no_row(name: str, corpora: Path, tmp_path: Path) -> None:
    shutil.copyfile(corpora / "fsimage" / name, tmp_path / "sound")
    outcomes = damage_and_read(sound(tmp_path / "sound"), name, tmp_path)
    assert outcomes["refused"] > MUTATIONS / 4, outcomes


@pytest.mark.soak
@pytest.mark.parametrize("form", FORMS)
def test_an_image_damaged_by_another_seed_is_refused_or_loses_no_row(
    form: str, tmp_path: Path, seed: str
) -> None:
    outcomes = damage_and_read(sound(FORMS[form](tmp_path / "sound")), f"{form}, {seed}", tmp_path)
    assert outcomes["refused"] > MUTATIONS / 4, outcomes


@pytest.mark.parametrize("form", FORMS)
def test_with_a_checksum_file_every_change_is_detected(form: str, tmp_path: Path) -> None:
    content = FORMS[form](tmp_path / "sound").read_bytes()
    image, rng = tmp_path / "fsimage_1", random.Random(form)
    beside = tmp_path / "fsimage_1.md5"
    beside.write_text(f"{hashlib.md5(content, usedforsecurity=False).hexdigest()} *fsimage_1\n")
    for at in range(60):
        damaged = WAYS[at % len(WAYS)](content, rng)
        image.write_bytes(damaged)
        if damaged != content:
            with pytest.raises(ImageError, match=r"fsimage_1"):
                prepare_image(image, tmp_path / "scratch")


@pytest.mark.parametrize(
    "beside",
    [
        "",
        "\n",
        "not a sum at all",
        "0" * 31 + " *fsimage_1\n",
        "0" * 32 + " *fsimage_1\n",
        "g" * 32 + " *fsimage_1\n",
        "\udcff\udcfe",
    ],
    ids=["empty", "blank", "prose", "short", "another", "no digits", "no text"],
)
def test_an_invalid_checksum_file_is_refused(beside: str, tmp_path: Path) -> None:
    image = FORMS["plain"](tmp_path / "fsimage_1")
    image.with_name("fsimage_1.md5").write_bytes(beside.encode("utf-8", "surrogateescape"))
    with pytest.raises(ImageError, match=r"fsimage_1|md5"):
        prepare_image(image, tmp_path / "scratch")


def renamed_over(image: Path, other: bytes) -> None:
    beside = image.with_name("arriving")
    beside.write_bytes(other)
    os.replace(beside, image)


def rewritten(image: Path, other: bytes) -> None:
    image.write_bytes(other)


def cut_short(image: Path, other: bytes) -> None:
    os.truncate(image, len(other) // 2)


def removed(image: Path, _other: bytes) -> None:
    image.unlink()


@pytest.mark.parametrize(
    "change", [renamed_over, rewritten, cut_short, removed], ids=lambda change: change.__name__
)
@pytest.mark.parametrize("form", ["plain", "sub-sections", "zlib"])
def test_an_image_replaced_while_being_read_is_refused(
    change: Callable[[Path, bytes], None], form: str, tmp_path: Path
) -> None:
    image = FORMS[form](tmp_path / "fsimage_1")
    other = varied()
    other.transaction_id = 9999
    other.file("/a/new")
    content = other.write(tmp_path / "other", md5=False).read_bytes()
    prepared = prepare_image(image, tmp_path / "scratch")
    parts = prepared.parts(6)
    assert len(parts) > 2
    list(read_part(prepared, parts[0]))
    change(image, content)
    with pytest.raises(ImageError, match="fsimage_1"):
        for part in parts[1:]:
            list(read_part(prepared, part))


def test_a_replacement_of_the_same_size_is_detected(tmp_path: Path) -> None:
    image = FORMS["plain"](tmp_path / "fsimage_1")
    prepared = prepare_image(image, tmp_path / "scratch")
    status = image.stat()
    renamed_over(image, image.read_bytes().replace(b"never-read", b"never-said"))
    os.utime(image, ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ImageError, match="fsimage_1"):
        list(every_row(prepared, 1_000))
