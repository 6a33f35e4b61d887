"""What a record may leave out of which more is known than that something is missing."""

from __future__ import annotations

from typing import Final

READ_BY_OLDER: Final = "an older version of navlin read it, and its record was not there to be read again"
"""An operation that a mended reader did not see: it may have what that reader no longer says, and lack what it adds."""
READS_UNNAMED: Final = "its record does not name the tables that it reads: it reads no column of them"
"""Why an operation is incomplete whose text names these tables: ``SELECT count(*) FROM t``."""
SEARCHED_CHARS: Final = 4_000
"""So much of a text is searched by the index at least."""
