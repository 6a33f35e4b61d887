"""CSV that a spreadsheet takes as it is meant.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula. Such a value gets an apostrophe
before it, and so does one that has apostrophes before such a sign; reading takes one away. Every text comes back as it was.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

MARK: Final = b"\xef\xbb\xbf"
"""Spreadsheets take a file without this mark for one of their own code page."""
_ACTIVE: Final = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_ESCAPED: Final = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


def passive(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + cell if _ACTIVE.match(cell) else cell


def active(cell: str) -> str:
    """The inverse of `passive`."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def csv_row(cells: Sequence[str]) -> bytes:
    """One row, every cell in quotation marks."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(cells)
    return out.getvalue().encode("utf-8", "replace")


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """A table: a heading, and a line for each row. What a row does not have, or has as None, is an empty cell."""
    yield MARK + csv_row(columns)
    for row in rows:
        yield csv_row([_cell(row.get(column)) for column in columns])


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case list() | tuple():
            return passive(", ".join(map(str, value)))
    return passive(str(value))
