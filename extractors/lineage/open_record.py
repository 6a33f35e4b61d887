"""A record over several lines of a log, while its brackets do not balance."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}\[\]]')


@dataclass(slots=True)
class OpenRecord:
    """The lines of a JSON record so far; ``offset`` is that of the first, ``depth`` how many brackets they leave open."""

    offset: int
    lines: list[bytes] = field(default_factory=list)
    size_bytes: int = 0
    depth: int = 0

    @classmethod
    def beginning(cls, offset: int, text: bytes) -> OpenRecord:
        """A record whose first line this is."""
        record = cls(offset)
        record.add(text)
        return record

    def add(self, text: bytes) -> None:
        """Its next line."""
        self.lines.append(text)
        self.size_bytes += len(text)
        self.depth += _opened(text)

    @property
    def text(self) -> bytes:
        return b"\n".join(self.lines)


def _opened(text: bytes) -> int:
    """How many brackets a line leaves open, those in strings not counted."""
    tokens = _TOKEN.findall(text)
    closed = tokens.count(b"}") + tokens.count(b"]")
    return tokens.count(b"{") + tokens.count(b"[") - closed
