"""Find the events in the lines of a followed file. There may be one event per line or per file, events in an array, or
several in a row, and each may be indented over several lines.

A file that holds one event need not end with a newline. The text after the last newline is used as soon as it is a
complete event.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

import orjson

from extractors.lineage.followed_files import FollowedFile, Line
from extractors.lineage.open_record import OpenRecord
from extractors.openlineage.events import NotAnOpenLineageEvent, sample_of
from navlin.model.records import Reject

_EVENT: Final = re.compile(
    rb'[\[{]\s*\{?\s*"(?:eventTime|eventType|schemaURL|producer|run|job|dataset|inputs|outputs)"'
)
"""Beginning of an event on one line."""
EVENT_START: Final = re.compile(rb'\{"event(?:Time|Type)"')
"""Beginning of an event that follows a truncated one on the same line."""
_CUT_OFF: Final = "the event has no end"
_BETWEEN: Final = re.compile(r"[\s,\[\]\0\x1e\ufeff]*", re.ASCII)
"""Separators between the events of an array or of a sequence of JSON values."""
_DECODER: Final = json.JSONDecoder()


def events_among(file: FollowedFile, *, max_bytes: int) -> Iterator[Line | Reject]:
    """Yield the text of each further event of a followed file, with its offset.

    An incomplete event is left to a later read, or becomes a `Reject` if the file has been quiet for long.
    """
    open_record: OpenRecord | None = None
    while True:
        for line in file.lines():
            if isinstance(line, Reject):
                yield line
                open_record = None
                continue
            text = line.text.strip(b"\0\r")
            if open_record is not None and _EVENT.match(text):
                # The earlier text may be the beginning of an array with one event per line.
                reads = side_by_side(open_record.text)[1] == len(open_record.text)
                behind, at_end = file.offset, file.at_end
                # A caller that stops after the earlier text continues with this line.
                file.stand(line.offset, at_end=False)
                yield (
                    Line(open_record.offset, open_record.text) if reads else _rejected(open_record, file.path)
                )
                file.stand(behind, at_end=at_end)
                open_record = None
            if open_record is not None:
                open_record.add(text)
            elif not text.strip():
                continue
            elif text[-1:] in b"}]":
                yield Line(line.offset, text)
                continue
            else:
                open_record = OpenRecord.beginning(line.offset, text)
            if open_record.depth <= 0:
                yield Line(open_record.offset, open_record.text)
                open_record = None
            elif open_record.size_bytes > max_bytes:
                yield _rejected(open_record, file.path, f"the event is longer than {max_bytes} bytes")
                open_record = None
        if open_record is None or file.at_end:
            break
    if file.at_end and (whole := _rest(file, open_record, max_bytes)) is not None:
        yield whole
        return
    if open_record is not None:
        if file.quiet:
            yield _rejected(open_record, file.path)
        else:
            file.leave(open_record.offset)


def _rejected(open_record: OpenRecord, path: str, why: str = _CUT_OFF) -> Reject:
    return Reject(path, why, open_record.offset, sample_of(open_record.text))


def _rest(file: FollowedFile, open_record: OpenRecord | None, max_bytes: int) -> Line | None:
    """Return the text after the last newline if it completes an event; None otherwise. The returned text counts as
    read.
    """
    if file.archived or not 0 < file.end - file.offset <= max_bytes:
        return None
    file.raw.seek(file.offset)
    rest = file.raw.read(file.end - file.offset)
    offset, text = (
        (open_record.offset, open_record.text + b"\n" + rest)
        if open_record is not None
        else (file.offset, rest)
    )
    try:
        if not isinstance(parse(text), dict | list):
            return None
    except NotAnOpenLineageEvent:
        found, ends = side_by_side(text)
        if not found or ends < len(text):
            return None
    file.leave(file.end)
    return Line(offset, text)


def parse(data: bytes) -> Any:
    """Parse a text as one JSON value. Raises `NotAnOpenLineageEvent`."""
    try:
        return orjson.loads(data.removeprefix(b"\xef\xbb\xbf").strip(b"\0 \t\r\n"))
    except orjson.JSONDecodeError as error:
        raise NotAnOpenLineageEvent(f"the text is not JSON: {error}") from None


def side_by_side(data: bytes) -> tuple[list[Any], int]:
    """Return the objects in a text that is not one JSON value, and the offset in bytes of the part that cannot be
    parsed.

    The text may have several objects on one line, or one object on a line of an array. It may contain numbers that
    Python writes although JSON does not allow them (``NaN``).
    """
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return [], 0
    found: list[Any] = []
    at = _begins(text, 0)
    while text.startswith("{", at):
        try:
            value, ends = _DECODER.raw_decode(text, at)
            json.dumps(value, ensure_ascii=False).encode()  # a lone surrogate cannot be encoded
        except (ValueError, RecursionError):
            break
        found.append(value)
        at = _begins(text, ends)
    return found, len(text[:at].encode()) if found or at == len(text) else 0


def _begins(text: str, at: int) -> int:
    """Return the offset at or after ``at`` where the next value begins."""
    between = _BETWEEN.match(text, at)
    return between.end() if between else at
