"""Decompression of request bodies, bounded in size and in the number of gzip members."""

from __future__ import annotations

import zlib
from typing import Final

from navlin.api.answers import HttpError
from navlin.api.json_bounds import Octets

MOST_BYTES: Final = 32 << 20
"""Maximum size of a body after decompression."""
MOST_MEMBERS: Final = 10_000
"""Maximum number of members of one gzip file."""
_PIECE_BYTES: Final = 64 << 10
_UNPACKED_BYTES: Final = 256 << 10


def plain_body(body: Octets, encoding: str) -> Octets:
    """Return the decompressed body. Raises `HttpError`."""
    match encoding.strip().lower():
        case "" | "identity":
            return body
        case "gzip" | "x-gzip":
            return _unpacked(body)
    raise HttpError(
        415, f"the encoding {encoding[:40]!r} is not supported: send the body as gzip, or without an encoding"
    )


def _unpacked(body: Octets) -> bytearray:
    """Decompress a gzip file of one or more members, because some clients write one member for each event. Raises
    `HttpError`."""
    plain, at, members = bytearray(), 0, 0
    while at < len(body) or not members:
        member, members = zlib.decompressobj(wbits=31), members + 1
        if members > MOST_MEMBERS:
            raise HttpError(413, f"a gzip body may have at most {MOST_MEMBERS:,} members")
        while not member.eof:
            piece = body[at : at + _PIECE_BYTES]
            if not piece:
                raise HttpError(400, "the body is not valid gzip: its end is missing")
            at += len(piece)
            while piece and not member.eof:
                try:
                    # Small pieces, because copying holds the GIL.
                    plain += member.decompress(piece, _UNPACKED_BYTES)
                except zlib.error as error:
                    raise HttpError(400, f"the body is not valid gzip: {error}") from None
                if len(plain) > MOST_BYTES:
                    raise HttpError(
                        413, f"the body is too large: at most {MOST_BYTES >> 20} MiB are accepted"
                    )
                piece = member.unconsumed_tail
        at -= len(member.unused_data)
    return plain
