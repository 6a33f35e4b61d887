"""CSV that spreadsheets read as intended.

A spreadsheet takes a cell that begins with ``=``, ``+``, ``-`` or ``@`` for a formula. Such a value gets an apostrophe
in front, as does a value with apostrophes in front of such a sign; reading removes one apostrophe. Every text
round-trips.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

MARK: Final = b"\xef\xbb\xbf"
"""UTF-8 byte order mark. Without this mark, spreadsheets read a file in their own code page."""
_ACTIVE: Final = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_ESCAPED: Final = re.compile(r"'+[=+\-@\t\r\n＝＋－＠]")


def passive(cell: str) -> str:
    """Return the cell escaped so that no spreadsheet takes it for a formula."""
    return "'" + cell if _ACTIVE.match(cell) else cell


def active(cell: str) -> str:
    """Remove the escape that `passive` added."""
    return cell[1:] if _ESCAPED.match(cell) else cell


def csv_row(cells: Sequence[str]) -> bytes:
    """Return one row, every cell quoted."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerow(cells)
    return out.getvalue().encode("utf-8", "replace")


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield the lines of a table: a header, and a line for each row. A missing or None value is an empty cell."""
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
