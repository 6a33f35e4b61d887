"""Decompress event logs, with offsets from which decompression can be resumed.

Spark writes the stream formats of Java libraries, not those of the command line tools. The first bytes of a file
identify the format.

A stream is read as `Piece`s: decompressed bytes, with the file offset from which they can be read again. A block of
lz4, snappy or lzf is decompressed by itself; a frame of zstandard or a member of gzip must be read from its start. If
the file ends within a block, frame or member, that is still being written. The available bytes of a frame or member
are yielded anyway.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Protocol

import zstandard

INPUT_BYTES: Final = 8 << 10
"""Number of compressed bytes of a frame to pass to the decompressor at once, which limits the size of the output."""
PLAIN_BYTES: Final = 1 << 20
MAX_BLOCK_BYTES: Final = 64 << 20
"""Maximum size of a block. No writer makes larger blocks (LZ4BlockOutputStream stops at 32 MiB), so a larger size
means damage.
"""
MAX_WINDOW_BYTES: Final = 128 << 20

PLAIN, GZIP, ZSTD, LZ4, SNAPPY, LZF = "plain", "gzip", "zstd", "lz4", "snappy", "lzf"

_LZ4_MAGIC: Final = b"LZ4Block"
_SNAPPY_MAGIC: Final = b"\x82SNAPPY\x00"
_MAGICS: Final = (
    (b"\x1f\x8b", GZIP),
    (b"\x28\xb5\x2f\xfd", ZSTD),
    (_LZ4_MAGIC, LZ4),
    (_SNAPPY_MAGIC, SNAPPY),
    (b"ZV", LZF),
)
MAGIC_BYTES: Final = 8


class Damaged(ValueError):
    """Compressed bytes cannot be read any further. ``offset`` is the file offset at which the block or frame begins."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.offset = offset


class Unfinished(Damaged):
    """The file ends within a frame or block. This is expected of a log that is still being written."""

    def __init__(self, offset: int) -> None:
        super().__init__("the file ends within a compressed block", offset)


@dataclass(frozen=True, slots=True)
class Piece:
    """Decompressed bytes. If the file is decompressed from the offset ``restart``, ``before`` other bytes come first,
    followed by ``data``.
    """

    restart: int
    before: int
    data: bytes


def codec_of(first: bytes) -> str:
    """Return the codec that a file's first `MAGIC_BYTES` bytes identify; `PLAIN` if they identify none."""
    return next((codec for magic, codec in _MAGICS if first.startswith(magic)), PLAIN)


def pieces(raw: BinaryIO, codec: str, restart: int, end: int) -> Iterator[Piece]:
    """Yield the decompressed pieces of a file from the offset ``restart``, at which decompression can start, to the
    offset ``end``.

    Raises `Damaged` if the bytes are not in the codec's format, and `Unfinished` if ``end`` is within a block or
    frame.
    """
    raw.seek(restart)
    source = _FilePrefix(raw, restart, end)
    match codec:
        case "zstd":
            yield from _frames(source, _ZstdFrame)
        case "gzip":
            yield from _frames(source, _GzipMember)
        case "lz4":
            yield from _lz4_blocks(source)
        case "snappy":
            yield from _snappy_chunks(source)
        case "lzf":
            yield from _lzf_chunks(source)
        case _:
            while data := source.read(PLAIN_BYTES):
                yield Piece(source.offset - len(data), 0, data)


class _FilePrefix:
    """A file that appears to end at ``end``, so that reading it again yields the same bytes."""

    def __init__(self, raw: BinaryIO, offset: int, end: int) -> None:
        self._raw, self.offset, self._end = raw, offset, end

    def read(self, count: int) -> bytes:
        wanted = min(count, self._end - self.offset)
        parts = []
        while wanted > 0 and (data := self._raw.read(wanted)):
            parts.append(data)
            self.offset += len(data)
            wanted -= len(data)
        return b"".join(parts)


# -- Frames: zstandard, gzip ----------------------------------------------------------------------------------------


class _OpenFrame(Protocol):
    """One frame that is being decompressed. ``feed`` yields the output. ``rest`` is the input after the frame's end,
    or None before the end is reached.
    """

    def feed(self, data: bytes) -> Iterator[bytes]: ...

    @property
    def rest(self) -> bytes | None: ...


class _ZstdFrame:
    def __init__(self) -> None:
        context = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES)
        self._stream = context.decompressobj()

    def feed(self, data: bytes) -> Iterator[bytes]:
        yield self._stream.decompress(data)

    @property
    def rest(self) -> bytes | None:
        return self._stream.unused_data if self._stream.eof else None


class _GzipMember:
    def __init__(self) -> None:
        self._stream = zlib.decompressobj(wbits=31)

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._stream.eof:
            yield self._stream.decompress(data, PLAIN_BYTES)
            data = self._stream.unconsumed_tail

    @property
    def rest(self) -> bytes | None:
        return self._stream.unused_data if self._stream.eof else None


def _frames(source: _FilePrefix, make: Callable[[], _OpenFrame]) -> Iterator[Piece]:
    start, given = source.offset, 0
    frame = make()
    left, begun = b"", False
    while data := left or source.read(INPUT_BYTES):
        left, begun = b"", True
        try:
            for out in frame.feed(data):
                if out:
                    yield Piece(start, given, out)
                    given += len(out)
            rest = frame.rest
        except (zstandard.ZstdError, zlib.error) as error:
            raise Damaged(str(error), start) from error
        if rest is not None:
            left = rest
            start, given = source.offset - len(rest), 0
            frame, begun = make(), False
    if begun:
        raise Unfinished(start)


# -- Blocks: lz4, snappy, lzf ---------------------------------------------------------------------------------------


def _lz4_blocks(source: _FilePrefix) -> Iterator[Piece]:
    """Yield the blocks of an LZ4BlockOutputStream. Each block consists of magic, token, compressed length,
    decompressed length and checksum (little endian), followed by the bytes.
    """
    while True:
        start = source.offset
        head = source.read(21)
        if len(head) < 21:
            _ends(head, start)
            return
        packed, plain = int.from_bytes(head[9:13], "little"), int.from_bytes(head[13:17], "little")
        if not head.startswith(_LZ4_MAGIC) or max(packed, plain) > MAX_BLOCK_BYTES:
            raise Damaged("not a block of LZ4BlockOutputStream", start)
        body = source.read(packed)
        if len(body) < packed:
            raise Unfinished(start)
        if not plain:
            continue  # end-of-stream mark; another stream may follow
        if head[8] & 0xF0 == 0x10:
            yield Piece(start, 0, body)
            continue
        yield Piece(start, 0, _unpack("lz4", body, plain, start))


def _ends(head: bytes, start: int) -> None:
    if head:
        raise Unfinished(start)


def _snappy_chunks(source: _FilePrefix) -> Iterator[Piece]:
    """Yield the blocks of a SnappyOutputStream. The stream has a header of 16 bytes, then for each block a length (big
    endian) and the bytes.
    """
    while True:
        start = source.offset
        head = source.read(4)
        if len(head) < 4:
            _ends(head, start)
            return
        if head == _SNAPPY_MAGIC[:4]:
            if len(source.read(12)) < 12:
                raise Unfinished(start)
            continue
        packed = int.from_bytes(head, "big")
        if packed > MAX_BLOCK_BYTES:
            raise Damaged("not a block of SnappyOutputStream", start)
        body = source.read(packed)
        if len(body) < packed:
            raise Unfinished(start)
        plain = _varint(body)
        if plain > MAX_BLOCK_BYTES:
            raise Damaged("not a block of SnappyOutputStream", start)
        yield Piece(start, 0, _unpack("snappy", body, plain, start))


def _varint(body: bytes) -> int:
    value = 0
    for position, byte in enumerate(body[:5]):
        value |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            break
    return value


def _unpack(codec: str, body: bytes, plain: int, start: int) -> bytes:
    # cramjam is imported only when needed, because most logs are plain or zstandard.
    import cramjam

    try:
        if codec == "lz4":
            data = bytes(cramjam.lz4.decompress_block(body, output_len=plain))
        else:
            data = bytes(cramjam.snappy.decompress_raw(body))
    except cramjam.DecompressionError as error:
        raise Damaged(f"{codec}: {error}", start) from error
    if len(data) != plain:
        raise Damaged(f"{codec}: {len(data)} bytes came out of a block of {plain}", start)
    return data


def _lzf_chunks(source: _FilePrefix) -> Iterator[Piece]:
    """Yield LZF chunks. Each chunk consists of ``ZV``, a type and lengths (two bytes each, big endian), followed by
    the bytes.
    """
    while True:
        start = source.offset
        head = source.read(5)
        if len(head) < 5:
            _ends(head, start)
            return
        if head[:2] != b"ZV" or head[2] > 1:
            raise Damaged("not a chunk of LZF", start)
        length = int.from_bytes(head[3:5], "big")
        packed = head[2] == 1
        plain_head = source.read(2) if packed else b""
        body = source.read(length)
        if len(body) < length or (packed and len(plain_head) < 2):
            raise Unfinished(start)
        if not packed:
            yield Piece(start, 0, body)
            continue
        data = _lzf_unpack(body, start)
        if len(data) != int.from_bytes(plain_head, "big"):
            raise Damaged(f"lzf: {len(data)} bytes came out of a chunk", start)
        yield Piece(start, 0, data)


def _lzf_unpack(body: bytes, start: int) -> bytes:
    out = bytearray()
    position, size = 0, len(body)
    try:
        while position < size:
            control = body[position]
            position += 1
            if control < 32:
                out += body[position : position + control + 1]
                position += control + 1
                continue
            length = control >> 5
            if length == 7:
                length += body[position]
                position += 1
            distance = ((control & 0x1F) << 8) + body[position] + 1
            position += 1
            begin = len(out) - distance
            if begin < 0:
                raise Damaged("lzf: a reference to before the chunk", start)
            length += 2
            if distance >= length:
                out += out[begin : begin + length]
            else:  # the run repeats its own output
                run = bytes(out[begin:])
                out += (run * (length // distance + 1))[:length]
    except IndexError as error:
        raise Damaged("lzf: a chunk ends within a reference", start) from error
    return bytes(out)
