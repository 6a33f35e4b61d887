"""The container format of an fsimage: magic, sections, summary and checksum file. With a codec, each section is a
separate compressed stream.

Written for tests and benchmarks only, from fsimage.proto and the behaviour of Hadoop's FSImageFormatProtobuf.Saver:

- With a codec, an empty stream that belongs to no section precedes the summary.
- A sub-section lies inside its section, and precedes the section in the table of sections. Up to Hadoop 3.4 an image
  has either a codec or sub-sections. Hadoop 3.5 writes both, and then each sub-section is a separate stream.
"""

from __future__ import annotations

import bz2
import hashlib
import struct
import zlib
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import cramjam
import zstandard

MAGIC = b"HDFSIMG1"


class Codec(StrEnum):
    """Values of the field `codec` in the summary."""

    NONE = ""
    DEFAULT = "org.apache.hadoop.io.compress.DefaultCodec"
    GZIP = "org.apache.hadoop.io.compress.GzipCodec"
    BZIP2 = "org.apache.hadoop.io.compress.BZip2Codec"
    SNAPPY = "org.apache.hadoop.io.compress.SnappyCodec"
    LZ4 = "org.apache.hadoop.io.compress.Lz4Codec"
    ZSTANDARD = "org.apache.hadoop.io.compress.ZStandardCodec"


def varint(value: int) -> bytes:
    """Encode a protobuf varint; a negative number takes ten bytes."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    if value < 0x80:
        return bytes((value,))
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<Q", value)


def fixed32(field: int, value: int) -> bytes:
    return varint(field << 3 | 5) + struct.pack("<I", value)


def nested(field: int, content: bytes | str) -> bytes:
    """Encode a length-delimited field: a message, a string, bytes, or packed numbers."""
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def delimited(message: bytes) -> bytes:
    return varint(len(message)) + message


class ImageFile:
    """Writes an image sequentially without keeping it in memory. Leaving the `with` block without an error completes
    the image.
    """

    def __init__(self, path: Path, *, layout: int = -66, codec: Codec = Codec.NONE, md5: bool = True) -> None:
        self.path = path
        self._layout, self._codec, self._md5 = layout, codec, md5
        self._sum = hashlib.md5(usedforsecurity=False)
        self._offset = 0
        self._sections = b""

    def __enter__(self) -> Self:
        self._file = self.path.open("wb")
        self._put(MAGIC)
        self._section = self._sub_section = self._offset
        self._stream = _stream(self._codec)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._put(self._stream.finish())
            self._put_summary()
        self._file.close()
        if kind is None and self._md5:
            beside = self.path.with_name(f"{self.path.name}.md5")
            beside.write_text(f"{self._sum.hexdigest()} *{self.path.name}\n")

    def write(self, data: bytes) -> None:
        self._put(self._stream.write(data))

    def end_sub_section(self, name: str) -> None:
        """End a sub-section, which consists of everything written since the previous one. An empty sub-section is not
        listed.
        """
        self._put(self._stream.finish())
        self._stream = _stream(self._codec)
        if self._offset > self._sub_section:
            self._list(name, self._sub_section)
            self._sub_section = self._offset

    def end_section(self, name: str) -> None:
        """End a section, which consists of everything written since the previous one. If it ends together with a
        sub-section, the stream has already been finished.
        """
        if self._sub_section == self._section or self._offset > self._sub_section:
            self._put(self._stream.finish())
        self._stream = _stream(self._codec)
        self._list(name, self._section)
        self._section = self._sub_section = self._offset

    def _list(self, name: str, since: int) -> None:
        section = nested(1, name) + number(2, self._offset - since) + number(3, since)
        self._sections += nested(4, section)

    def _put_summary(self) -> None:
        summary = number(1, 1) + number(2, self._layout & 0xFFFF_FFFF)
        summary += nested(3, self._codec.value) if self._codec else b""
        trailer = delimited(summary + self._sections)
        self._put(trailer + struct.pack(">I", len(trailer)))

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._sum.update(data)
        self._offset += len(data)


class _Stream(Protocol):
    def write(self, data: bytes) -> bytes: ...

    def finish(self) -> bytes: ...


class _Plain:
    def write(self, data: bytes) -> bytes:
        return data

    def finish(self) -> bytes:
        return b""


class _Compressor(Protocol):
    def compress(self, data: bytes, /) -> bytes: ...

    def flush(self) -> bytes: ...


class _Streamed:
    """A codec with its own stream format."""

    def __init__(self, compressor: _Compressor) -> None:
        self._compressor = compressor

    def write(self, data: bytes) -> bytes:
        return self._compressor.compress(data)

    def finish(self) -> bytes:
        return self._compressor.flush()


class _Blocks:
    """The format of Hadoop's BlockCompressorStream. Its buffer of 256 KiB is reduced by the codec's maximum overhead.

    A block consists of its uncompressed length and of chunks, each preceded by its compressed length; lengths are
    big-endian. A write larger than the buffer becomes one block of several chunks. A stream without further data ends
    with an empty block.
    """

    BUFFER_BYTES = 256 * 1024

    def __init__(self, compress: Callable[[bytes], bytes], overhead_bytes: int) -> None:
        self._compress = compress
        self._room = self.BUFFER_BYTES - overhead_bytes
        self._held: list[bytes] = []
        self._held_bytes = 0

    def write(self, data: bytes) -> bytes:
        done = b""
        if self._held_bytes and self._held_bytes + len(data) > self._room:
            done = self.finish()
        if len(data) > self._room:
            chunks = (data[at : at + self._room] for at in range(0, len(data), self._room))
            return done + struct.pack(">I", len(data)) + b"".join(map(self._chunk, chunks))
        self._held.append(data)
        self._held_bytes += len(data)
        return done

    def finish(self) -> bytes:
        whole, length = b"".join(self._held), struct.pack(">I", self._held_bytes)
        self._held, self._held_bytes = [], 0
        return length + (self._chunk(whole) if whole else b"")

    def _chunk(self, data: bytes) -> bytes:
        compressed = self._compress(data)
        return struct.pack(">I", len(compressed)) + compressed


def _stream(codec: Codec) -> _Stream:
    match codec:
        case Codec.NONE:
            return _Plain()
        case Codec.DEFAULT:
            return _Streamed(zlib.compressobj())
        case Codec.GZIP:
            return _Streamed(zlib.compressobj(wbits=31))
        case Codec.BZIP2:
            return _Streamed(bz2.BZ2Compressor())
        case Codec.ZSTANDARD:
            return _Streamed(zstandard.ZstdCompressor().compressobj())
        case Codec.SNAPPY:
            overhead_bytes = _Blocks.BUFFER_BYTES // 6 + 32
            return _Blocks(lambda data: bytes(cramjam.snappy.compress_raw(data)), overhead_bytes)
        case Codec.LZ4:
            overhead_bytes = _Blocks.BUFFER_BYTES // 255 + 16
            return _Blocks(
                lambda data: bytes(cramjam.lz4.compress_block(data, store_size=False)), overhead_bytes
            )
