"""What a record may leave out of which more is known than that something is missing."""

from __future__ import annotations

from typing import Final

READS_UNNAMED: Final = "its record does not name the tables that it reads: it reads no column of them"
"""Why an operation is incomplete whose text names these tables: ``SELECT count(*) FROM t``."""
SEARCHED_CHARS: Final = 4_000
"""So much of a text is searched by the index at least."""
