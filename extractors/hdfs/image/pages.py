"""Read the messages of a section, one page at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from extractors.hdfs.image.arrays import PAD_BYTES, Ints, MessageBytes, varints
from extractors.hdfs.image.errors import ImageError, Malformed, placed
from extractors.hdfs.image.wire import read_varint

PAGE_BYTES: Final = 4 << 20
PAGE_MESSAGES: Final = 32 << 10
MAX_MESSAGE_BYTES: Final = 256 << 20
"""Maximum size of a message. Even a file of ten million blocks or a directory of forty million children stays below
it.
"""


@dataclass(frozen=True, slots=True)
class Plain:
    """Location of the plain bytes of a section: in the image itself, or in a scratch file to which the section was
    decompressed. ``image``, ``section`` and ``base`` (the offset to report for the first byte) are for error messages.
    """

    image: str
    section: str
    file: str
    offset: int
    length: int
    base: int


class PlainFile:
    """Opened `Plain` bytes. They are read, not memory-mapped, so that a file that is cut off meanwhile raises an error
    instead of killing the process.
    """

    def __init__(self, plain: Plain) -> None:
        self.plain = plain
        try:
            self._descriptor = os.open(plain.file, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise ImageError(plain.file, f"cannot be read: {error.strerror}") from error

    def __enter__(self) -> PlainFile:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def read(self, at: int, size: int, kept: bytes | memoryview = b"") -> MessageBytes:
        """Return a page that consists of the bytes ``kept`` from the previous page and of ``size`` bytes of the
        section from ``at`` on.
        """
        data = bytearray(len(kept) + size + PAD_BYTES)
        data[: len(kept)] = kept
        into, done = memoryview(data)[len(kept) : len(kept) + size], 0
        while done < size:
            try:
                got = os.preadv(self._descriptor, [into[done:]], self.plain.offset + at + done)
            except OSError as error:
                raise self.error(f"cannot be read: {error.strerror}", at + done) from error
            if not got:
                raise self.error(
                    "the file ends before the section does: it was cut off while it was read", at + done
                )
            done += got
        return MessageBytes(data, len(kept) + size)

    def error(self, what: str, at: int) -> ImageError:
        return ImageError(self.plain.image, what, self.plain.section, self.plain.base + at)


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a page. Message i extends from ``frames[i]`` (with its length prefix) or ``starts[i]`` (without)
    to ``ends[i]``. ``at`` is the offset of the page in the section.
    """

    page: MessageBytes
    at: int
    frames: Ints
    starts: Ints
    ends: Ints


def frame_ends(data: bytes | bytearray, size: int, most: int) -> list[int]:
    """Return the end of each complete message of a delimited sequence, for up to ``most`` messages.

    After the ``size`` bytes, ``data`` must have more zeros than a number has bytes.
    """
    ends: list[int] = []
    add = ends.append
    at = 0
    try:
        for _ in range(most):
            length = data[at]
            if length < 0x80:
                at += length + 1
            elif (more := data[at + 1]) < 0x80:
                at += (length & 0x7F | more << 7) + 2
            else:
                length, start = read_varint(data, at, len(data))
                at = start + length
            add(at)
    except IndexError:  # an incomplete message
        pass
    while ends and ends[-1] > size:
        ends.pop()
    return ends


def read_messages(source: PlainFile, at: int) -> Iterator[Messages]:
    """Yield all messages from offset ``at`` to the end of the section, one page at a time."""
    plain = source.plain
    kept: bytes | memoryview = b""
    wanted = PAGE_BYTES
    while at < plain.length:
        fresh = min(max(wanted - len(kept), 0), plain.length - at - len(kept))
        page = source.read(at + len(kept), fresh, kept)
        with placed(plain.image, plain.section, plain.base + at):
            ends = frame_ends(page.data, page.size, PAGE_MESSAGES)
            if not ends:
                wanted = _whole(page, plain.length - at)
                kept = memoryview(page.data)[: page.size]
                continue
        wanted = PAGE_BYTES
        last = ends[-1]
        yield framed(source, page, at, np.array(ends, np.int64))
        kept = memoryview(page.data)[last : page.size]
        at += last


def _whole(page: MessageBytes, left: int) -> int:
    """Return the size that a page needs in order to hold its first message."""
    if page.size == left or page.size >= 16:
        size, start = read_varint(page.data, 0, page.size)
        if size > min(left - start, MAX_MESSAGE_BYTES):
            raise Malformed(f"a message claims {size} bytes where {left - start} are left in the section", 0)
        return start + size
    return PAGE_BYTES


def framed(source: PlainFile, page: MessageBytes, at: int, ends: Ints) -> Messages:
    """Return the messages of a page, which end at ``ends``. Raises `ImageError` if a message's length prefix does not
    match its end.
    """
    frames = np.empty_like(ends)
    frames[0] = 0
    frames[1:] = ends[:-1]
    sizes, lengths = varints(page, frames)
    starts = frames + lengths
    if not np.array_equal(starts + sizes.astype(np.int64), ends):
        row = int(np.argmax(starts + sizes.astype(np.int64) != ends))
        raise source.error("a message has moved: the file changed while it was read", at + int(frames[row]))
    return Messages(page, at, frames, starts, ends)
