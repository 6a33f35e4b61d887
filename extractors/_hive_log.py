"""The lineage records among the lines of one of Hive's logs.

A record begins at the first brace that follows the logger's name or ``LINEAGE:``, or that begins a line; what other
loggers say is passed over. One that is indented goes on to the line where its braces balance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from extractors._files import FollowedFile, Line
from extractors._redact import sample
from navlin.model.records import Reject

_START = re.compile(rb"(?:^\s*|LineageLogger\S*\s+|LINEAGE:\s*)(?=\{)")
_TELLS = re.compile(rb'"(?:queryText|vertexType|edgeType)"\s*:')
"""What only a lineage record says: in a line that no record begins in, it tells that the beginning was lost."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}]')
_GOES_ON = re.compile(rb"[\s{}\[\]\"]")
"""What the lines of an indented record begin with."""
_CUT_OFF = "the record has no end"


@dataclass(slots=True)
class _Open:
    """A record whose braces do not balance yet."""

    offset: int
    lines: list[bytes]
    size_bytes: int
    depth: int

    def add(self, text: bytes) -> None:
        self.lines.append(text)
        self.size_bytes += len(text)
        self.depth += _opened(text)

    def reject(self, path: str, why: str = _CUT_OFF) -> Reject:
        return Reject(path, why, self.offset, sample(self.lines[0]))


def records_among(file: FollowedFile, *, max_bytes: int) -> Iterator[Line | Reject]:
    """The texts of the records that a followed file has next, each at the offset of its first line.

    One that has no end yet is left to a later reading; in a file that has settled, it is a `Reject`.
    """
    record: _Open | None = None
    while True:
        for line in file.lines():
            if isinstance(line, Reject):
                yield line
                record = None
                continue
            # After a crash the blocks that were not written read as NULs.
            text = line.text.strip(b"\0\r")
            start = _START.search(text)
            if start is not None and not (record is not None and text[:1].isspace()):
                if record is not None:
                    yield record.reject(file.path)
                text = text[start.end() :]
                record = _Open(line.offset, [text], len(text), _opened(text))
            elif record is not None and (_GOES_ON.match(text) or not text):
                record.add(text)
            elif record is not None:
                yield record.reject(file.path)
                record = None
            elif _TELLS.search(text):
                yield Reject(file.path, "a record without its beginning", line.offset, sample(text))
            if record is None:
                continue
            if record.depth <= 0 or (len(record.lines) == 1 and text.endswith(b"}")):
                whole = b"\n".join(record.lines)
                if _TELLS.search(whole):  # others may write JSON as well
                    yield Line(record.offset, whole)
                record = None
            elif record.size_bytes > max_bytes:
                yield record.reject(file.path, f"the record is longer than {max_bytes} bytes")
                record = None
        if record is None or file.at_end:
            break
    if record is not None:
        if file.settled:
            yield record.reject(file.path)
        else:
            file.leave(record.offset)


def _opened(text: bytes) -> int:
    """How many braces a line leaves open, those in strings not counted."""
    tokens = _TOKEN.findall(text)
    return tokens.count(b"{") - tokens.count(b"}")
