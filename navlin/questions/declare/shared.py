"""Parameters that several questions share, with the same limits and help texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.query.bounds import LIMIT, MOST, MOST_OFFSET
from navlin.questions.declare.parameters import Typed

Entity = Annotated[str, "db.table, db.table.column, a path, or an id.", Typed(first=True)]
Query = Annotated[str, "A name, words, or Solr's syntax as users of Navigator typed it.", Typed(first=True)]
Saved = Annotated[str, "Use this saved search instead of QUERY: NAME, or OWNER/NAME.", Typed("NAME")]
Filter = Annotated[tuple[str, ...], "A further query that results must match. Repeatable.", Typed("QUERY")]
Source = Annotated[str, "Only for the source with this name.", Typed("NAME")]
Reason = Annotated[str, "Only for this reason, as `navlin status` shows it.", Typed("TEXT")]
Limit = Annotated[int, "Maximum number of results.", range(1, MOST + 1)]
Offset = Annotated[int, "Number of results to skip.", range(MOST_OFFSET + 1)]
Csv = Annotated[bool, "The answer as CSV, for spreadsheets."]


@dataclass(frozen=True, slots=True)
class OfReason:
    """Parameters of a list that is filtered by source and reason."""

    source: Source = ""
    reason: Reason = ""
    limit: Limit = LIMIT
    offset: Offset = 0


@dataclass(frozen=True, slots=True)
class Nothing:
    """No parameters."""
