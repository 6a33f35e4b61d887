"""Decompress a section with the codec whose class name Hadoop wrote into the summary.

A section may consist of several consecutive streams, because parallel images write one for each part of the section.
They are read as one sequence of bytes. Snappy and LZ4 use the blocks of Hadoop's BlockCompressorStream: the length of
the plain bytes (four bytes, big endian), then for each chunk of them the length of the compressed bytes, followed by
these bytes.
"""

from __future__ import annotations

import bz2
import zlib
from collections.abc import Callable, Iterator
from typing import BinaryIO, Final, Protocol

import cramjam
import zstandard

from extractors.hdfs.image.errors import Malformed

INPUT_BYTES: Final = 64 << 10
OUTPUT_BYTES: Final = 1 << 20
MAX_BLOCK_BYTES: Final = 64 << 20
"""Maximum size of a block. Hadoop's buffer is 256 KiB unless it is configured to be larger, so a larger block means
damage.
"""
MAX_WINDOW_BYTES: Final = 128 << 20

Pieces = Iterator[bytes]


class UnknownCodec(ValueError):
    """The summary names a codec that Hadoop does not ship."""


class _Stream(Protocol):
    """A compressed stream that is being read. After its end, ``rest`` is the unused input."""

    ended: bool
    rest: bytes

    def give(self, data: bytes) -> Pieces: ...


def decompress(codec: str, source: BinaryIO, size: int) -> Pieces:
    """Yield the plain bytes of the next ``size`` compressed bytes in ``source``, piece by piece.

    Raises `Malformed` (with the offset in the compressed bytes) and `UnknownCodec`.
    """
    name = codec.rpartition(".")[2]
    if name in ("SnappyCodec", "Lz4Codec"):
        return _blocks(name, source, size)
    if name not in _STREAMS:
        raise UnknownCodec(f"an unknown codec, {codec}")
    return _streams(_STREAMS[name], name, source, size)


def _streams(make: Callable[[], _Stream], name: str, source: BinaryIO, size: int) -> Pieces:
    done = 0
    stream: _Stream | None = None
    left = b""
    while left or done < size:
        if not left:
            left = source.read(min(INPUT_BYTES, size - done))
            if not left:
                raise Malformed(f"the file ends {size - done} bytes before the section does", done)
            done += len(left)
        at = done - len(left)
        stream = stream or make()
        try:
            yield from stream.give(left)
        except (zlib.error, OSError, zstandard.ZstdError) as error:
            raise Malformed(f"{name}: {error}", at) from error
        left = stream.rest if stream.ended else b""
        if stream.ended:
            stream = None
    if stream is not None:
        raise Malformed(f"{name}: the section ends within a compressed stream", size)


class _Zlib:
    def __init__(self, window_bits: int) -> None:
        self._stream = zlib.decompressobj(wbits=window_bits)
        self.ended, self.rest = False, b""

    def give(self, data: bytes) -> Pieces:
        while True:
            yield self._stream.decompress(data, OUTPUT_BYTES)
            data = self._stream.unconsumed_tail
            if self._stream.eof or not data:
                break
        self.ended, self.rest = self._stream.eof, self._stream.unused_data


class _Bzip2:
    def __init__(self) -> None:
        self._stream = bz2.BZ2Decompressor()
        self.ended, self.rest = False, b""

    def give(self, data: bytes) -> Pieces:
        yield self._stream.decompress(data, OUTPUT_BYTES)
        while not self._stream.eof and not self._stream.needs_input:
            yield self._stream.decompress(b"", OUTPUT_BYTES)
        self.ended, self.rest = self._stream.eof, self._stream.unused_data


class _Zstandard:
    # Small inputs limit the output of one call, because a zstandard block has at most 128 KiB.
    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW_BYTES).decompressobj()
        self.ended, self.rest = False, b""

    def give(self, data: bytes) -> Pieces:
        for begin in range(0, len(data), 4096):
            yield self._stream.decompress(data[begin : begin + 4096])
            if self._stream.eof:
                self.ended, self.rest = True, self._stream.unused_data + data[begin + 4096 :]
                return


_STREAMS: Final[dict[str, Callable[[], _Stream]]] = {
    "DefaultCodec": lambda: _Zlib(15),
    "DeflateCodec": lambda: _Zlib(15),
    "GzipCodec": lambda: _Zlib(31),
    "BZip2Codec": _Bzip2,
    "ZStandardCodec": _Zstandard,
}


def _blocks(name: str, source: BinaryIO, size: int) -> Pieces:
    done = 0

    def take(count: int) -> bytes:
        nonlocal done
        if count > size - done:
            raise Malformed(f"{name}: the section ends within a block", done)
        data = source.read(count)
        if len(data) < count:
            raise Malformed(f"the file ends {size - done - len(data)} bytes before the section does", done)
        done += count
        return data

    while done < size:
        begin = done
        left = int.from_bytes(take(4), "big")
        if left > MAX_BLOCK_BYTES:
            raise Malformed(f"{name}: a block claims {left} bytes", begin)
        while left:
            begin = done
            packed = int.from_bytes(take(4), "big")
            if packed > MAX_BLOCK_BYTES:
                raise Malformed(f"{name}: a chunk claims {packed} bytes", begin)
            plain = _unpack(name, take(packed), left, begin)
            if not 0 < len(plain) <= left:
                raise Malformed(f"{name}: a chunk holds {len(plain)} bytes where {left} are due", begin)
            left -= len(plain)
            yield plain


def _unpack(name: str, packed: bytes, room: int, begin: int) -> bytes:
    try:
        if name == "Lz4Codec":
            plain = bytearray(room)
            return bytes(plain[: cramjam.lz4.decompress_block_into(packed, plain, output_len=room)])
        claimed = cramjam.snappy.decompress_raw_len(packed)
        if claimed > room:
            raise Malformed(f"{name}: a chunk claims {claimed} bytes where {room} are due", begin)
        return bytes(cramjam.snappy.decompress_raw(packed))
    except (cramjam.DecompressionError, ValueError) as error:
        if isinstance(error, Malformed):
            raise
        raise Malformed(f"{name}: {error}", begin) from error
