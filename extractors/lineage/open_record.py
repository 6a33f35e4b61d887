"""A record that spans several lines of a log, until its brackets balance."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}\[\]]')


@dataclass(slots=True)
class OpenRecord:
    """The lines of a JSON record so far. ``offset`` is the first line's offset, ``depth`` the number of unclosed
    brackets.
    """

    offset: int
    lines: list[bytes] = field(default_factory=list)
    size_bytes: int = 0
    depth: int = 0

    @classmethod
    def beginning(cls, offset: int, text: bytes) -> OpenRecord:
        record = cls(offset)
        record.add(text)
        return record

    def add(self, text: bytes) -> None:
        self.lines.append(text)
        self.size_bytes += len(text)
        self.depth += _opened(text)

    @property
    def text(self) -> bytes:
        return b"\n".join(self.lines)


def _opened(text: bytes) -> int:
    """Return the number of opening brackets minus the number of closing ones, ignoring brackets in strings."""
    tokens = _TOKEN.findall(text)
    closed = tokens.count(b"}") + tokens.count(b"]")
    return tokens.count(b"{") + tokens.count(b"[") - closed
