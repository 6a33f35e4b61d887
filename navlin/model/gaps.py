"""Known kinds of gaps in a record, about which more is known than that something is missing."""

from __future__ import annotations

from typing import Final

READ_BY_OLDER: Final = "an older version of navlin read it, and its record was not there to be read again"
"""An operation that was not reread by a corrected reader: it may hold relations that the new reader no longer reports,
and lack those that it adds."""
READS_UNNAMED: Final = "its record does not name the tables that it reads: it reads no column of them"
"""Reason for which an operation is incomplete although its text names these tables: ``SELECT count(*) FROM t``."""
SEARCHED_CHARS: Final = 4_000
"""The index searches at least this many characters of a text."""
