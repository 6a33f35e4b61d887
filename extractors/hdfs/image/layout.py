"""The structure of an image: magic number, sections and summary. Only some kilobytes are read, whatever the image's
size.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from extractors.hdfs.image.codecs import UnknownCodec, decompress
from extractors.hdfs.image.errors import ImageError, Malformed, placed
from extractors.hdfs.image.wire import VARINT, read_fields, read_varint

MAGIC: Final = b"HDFSIMG1"
ONDISK_VERSION: Final = 1
MAX_SUMMARY_BYTES: Final = 1 << 20
MAX_EMPTY_STREAM_BYTES: Final = 64
MAX_SMALL_BYTES: Final = 256 << 20
"""Maximum size of a section held in memory (string table, erasure coding policies). No real image exceeds it."""

NS_INFO, INODE, INODE_DIR = "NS_INFO", "INODE", "INODE_DIR"
INODE_REFERENCE, STRING_TABLE, ERASURE_CODING = "INODE_REFERENCE", "STRING_TABLE", "ERASURE_CODING"
NEEDED: Final = (NS_INFO, INODE, INODE_DIR, STRING_TABLE)
_PART_OF: Final = "_SUB"
"""Suffix of the names of sections that are parts of INODE or INODE_DIR, in a parallel image."""


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class ImageSummary:
    """The summary of an image. ``codec`` is the name of Hadoop's class, "" if the image is not compressed.
    ``sections`` are in the file's order, without the parts of parallel images. ``namespace_id`` is 0 if the image has
    none. ``changed_ns`` and ``file_id`` (the file's own inode) identify the file.
    """

    path: str
    layout: int
    codec: str
    sections: tuple[Section, ...]
    transaction_id: int
    inodes: int
    bytes: int
    changed_ns: int
    file_id: int
    namespace_id: int = 0

    def section(self, name: str) -> Section | None:
        return next((each for each in self.sections if each.name == name), None)


def describe_image(path: Path | str) -> ImageSummary:
    """Return the summary and the headers of an image. Raises `ImageError` if the file is not an image, or not
    complete.
    """
    file = str(path)
    try:
        with open(path, "rb") as source:
            return _describe(file, source)
    except ImageError:
        raise
    except OSError as error:
        raise ImageError(file, f"cannot be read: {error.strerror or error}") from error


def _describe(file: str, source: BinaryIO) -> ImageSummary:
    status = os.fstat(source.fileno())
    size = status.st_size
    head = source.read(len(MAGIC))
    if head != MAGIC:
        raise ImageError(file, _not_an_image(head, size), offset=0)
    if size < len(MAGIC) + 4:
        raise ImageError(
            file, "ends before its summary: it was cut off, or is still being written", offset=size
        )
    source.seek(size - 4)
    length = int.from_bytes(source.read(4), "big")
    begin = size - 4 - length
    if not 0 < length <= MAX_SUMMARY_BYTES or begin < len(MAGIC):
        what = f"its last four bytes claim a summary of {length} bytes: it was cut off, or is still being written"
        raise ImageError(file, what, offset=size - 4)
    source.seek(begin)
    data = source.read(length)
    with placed(file, "summary", begin):
        layout, codec, sections = _read_summary(data)
    # The device is left out, because it differs between machines that mount the same file.
    file_id = status.st_ino
    summary = ImageSummary(
        file,
        layout,
        codec,
        _checked(file, sections, begin, compressed=codec != ""),
        0,
        0,
        size,
        status.st_mtime_ns,
        file_id,
    )
    transaction_id = _header(summary, source, NS_INFO, 6)
    inodes = _header(summary, source, INODE, 2)
    namespace_id = _header(summary, source, NS_INFO, 1)
    return dataclasses.replace(
        summary, transaction_id=transaction_id, inodes=inodes, namespace_id=namespace_id
    )


def _not_an_image(head: bytes, size: int) -> str:
    if not size:
        return "is empty"
    layout = int.from_bytes(head[:4], "big", signed=True)
    if len(head) == 8 and -100 < layout < 0:
        return f"is an image of a Hadoop before 2.4 (layout {layout}), which has no sections; a later NameNode's is needed"
    return "is not an fsimage: it does not begin with HDFSIMG1"


def _read_summary(data: bytes) -> tuple[int, str, list[Section]]:
    length, at = read_varint(data, 0, len(data))
    if at + length != len(data):
        raise Malformed(f"the summary claims {length} bytes where there are {len(data) - at}", 0)
    layout: int | None = None
    version, codec = 0, ""
    sections = []
    for field in read_fields(data, at, len(data)):
        match field.number, field.wire:
            case 1, 0:
                version = field.value
            case 2, 0:
                layout = (field.value & 0xFFFFFFFF) - (1 << 32)
            case 3, 2:
                codec = data[field.start : field.end].decode("utf-8", "backslashreplace")
            case 4, 2:
                sections.append(_read_section(data, field.start, field.end))
    if version != ONDISK_VERSION:
        raise Malformed(f"the file's version is {version}, and only {ONDISK_VERSION} is known", 0)
    if layout is None:
        raise Malformed("the summary does not say the layout version", 0)
    return layout, codec, sections


def _read_section(data: bytes, start: int, end: int) -> Section:
    name, length, offset = "", 0, 0
    for field in read_fields(data, start, end):
        match field.number, field.wire:
            case 1, 2:
                name = data[field.start : field.end].decode("utf-8", "backslashreplace")
            case 2, 0:
                length = field.value
            case 3, 0:
                offset = field.value
    return Section(name, offset, length)


def _checked(file: str, sections: list[Section], end: int, *, compressed: bool) -> tuple[Section, ...]:
    """Return the sections, without parts of sections. Raises ImageError unless the sections follow one another without
    gaps from the magic number to the summary.
    """
    for each in sections:
        if each.length > end or each.offset < len(MAGIC) or each.offset + each.length > end:
            what = f"the section claims bytes {each.offset} to {each.offset + each.length}, and the summary begins at {end}"
            raise ImageError(file, what, each.name, end)
    whole = sorted(
        (each for each in sections if not each.name.endswith(_PART_OF)),
        key=lambda each: (each.offset, each.length),
    )
    at = len(MAGIC)
    names: set[str] = set()
    for each in whole:
        if each.offset != at:
            raise ImageError(
                file,
                f"the section begins at byte {each.offset}, the one before it ends at {at}",
                each.name,
                at,
            )
        if each.name in names:
            raise ImageError(file, "the section occurs twice", each.name, each.offset)
        names.add(each.name)
        at += each.length
    # A compressing NameNode opens a stream for a section that it never writes, and ends the stream before it writes
    # the summary.
    if not end - (MAX_EMPTY_STREAM_BYTES if compressed else 0) <= at <= end:
        what = f"the last section ends at byte {at}, and the summary begins at {end}"
        raise ImageError(file, what, "summary", at)
    for name in NEEDED:
        if name not in names:
            raise ImageError(file, "the section is missing", name)
    return tuple(whole)


def _header(summary: ImageSummary, source: BinaryIO, name: str, number: int) -> int:
    """Return field ``number`` of the message at the beginning of a section; 0 if the field is not set."""
    section = summary.section(name)
    if section is None:
        raise ImageError(summary.path, "the section is missing", name)
    data = b""
    for piece in read_section(summary, section, source):
        data += piece
        if len(data) >= 1024:
            break
    with placed(summary.path, name, 0 if summary.codec else section.offset):
        length, at = read_varint(data, 0, len(data))
        if length > len(data) - at:
            raise Malformed(f"the header claims {length} bytes", 0)
        return next(
            (each.value for each in read_fields(data, at, at + length) if each[:2] == (number, VARINT)), 0
        )


def read_section(summary: ImageSummary, section: Section, source: BinaryIO) -> Iterator[bytes]:
    """Yield the section's bytes, decompressed, piece by piece."""
    source.seek(section.offset)
    if summary.codec:
        try:
            pieces = decompress(summary.codec, source, section.length)
            with placed(summary.path, section.name, section.offset):
                yield from pieces
        except UnknownCodec as error:
            raise ImageError(summary.path, str(error), section.name, section.offset) from error
        return
    left = section.length
    while left:
        data = source.read(min(left, 1 << 20))
        if not data:
            what = f"the file ends {left} bytes before the section does"
            raise ImageError(summary.path, what, section.name, section.offset + section.length - left)
        left -= len(data)
        yield data


def small_section(summary: ImageSummary, name: str) -> bytes:
    """Return a whole section that fits into memory, decompressed; b"" if the image does not have it."""
    section = summary.section(name)
    if section is None:
        return b""
    content = bytearray()
    with open(summary.path, "rb") as source:
        for piece in read_section(summary, section, source):
            content += piece
            if len(content) > MAX_SMALL_BYTES:
                raise ImageError(
                    summary.path, f"holds more than {MAX_SMALL_BYTES} bytes", name, section.offset
                )
    return bytes(content)
