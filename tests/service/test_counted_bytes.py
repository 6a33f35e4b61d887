"""A body in very small chunks, or with long extensions of chunks, is refused before it is parsed to its end."""

from __future__ import annotations

from collections.abc import Iterator

import h11
import pytest

from navlin.service.daemon.counted_bytes import CountedConnection

CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(size: int, extension: bytes = b"") -> bytes:
    return b"%x%s\r\n%s\r\n" % (size, extension, b"[" * size)


def of_length(size: int) -> bytes:
    return b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"[" * size


def received(sent: bytes, step: int) -> Iterator[CountedConnection]:
    """Yield the connection after each ``step`` bytes, all events of which were taken."""
    connection = CountedConnection(16 << 10)
    for at in range(0, len(sent), step):
        connection.receive_data(sent[at : at + step])
        while connection.next_event() not in (h11.NEED_DATA, h11.PAUSED):
            pass
        yield connection


@pytest.mark.parametrize("step", [1_460, 1 << 18])
@pytest.mark.parametrize(
    "sent",
    [
        CHUNKED + chunk(8_192) * 500 + END,
        CHUNKED + chunk(200) * 20_000 + END,
        CHUNKED + chunk(1) * 150 + END,
        CHUNKED + chunk(8_192, b";signature=" + b"0" * 64) * 500 + END,
        of_length(4 << 20),
        of_length(9) + b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 10_000,
    ],
    ids=["chunks", "chunks of lines", "a few small chunks", "signed chunks", "a length", "requests behind a body"],
)  # fmt: skip
def test_an_ordinary_body_is_parsed_to_its_end(sent: bytes, step: int) -> None:
    *_, last = received(sent, step)
    assert not last.is_wasteful
    assert last.their_state is not h11.SEND_BODY


@pytest.mark.parametrize("step", [1_460, 1 << 18])
@pytest.mark.parametrize(
    "sent",
    [chunk(1), chunk(1, b";x=" + b"y" * 8_192), chunk(16), chunk(4_096, b";x=" + b"y" * 8_192)],
    ids=["one byte", "one byte and an extension", "sixteen bytes", "an extension longer than its chunk"],
)
def test_a_wasteful_body_ends_early(sent: bytes, step: int) -> None:
    many = CHUNKED + sent * ((4 << 20) // len(sent))
    ended = next(at for at, each in enumerate(received(many, step), 1) if each.is_wasteful)
    assert ended * step <= (1 << 20)
