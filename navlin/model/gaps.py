"""Reasons for incompleteness that queries distinguish, and the number of characters searched in a text."""

from __future__ import annotations

from typing import Final

READ_BY_OLDER: Final = "an older version of navlin read it, and its record was not there to be read again"
"""Reason for an operation that a corrected reader could not read again. Such an operation may have relations that the
new reader would not report, and lack those that the new reader would add."""
READS_UNNAMED: Final = "its record does not name the tables that it reads: it reads no column of them"
"""Reason for an operation that is incomplete although its text names the tables read, such as ``SELECT count(*) FROM
t``."""
SEARCHED_CHARS: Final = 4_000
"""Minimum number of characters of a text that the index searches."""
