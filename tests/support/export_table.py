"""The table in the manual of what becomes of each element of navlin's model in each export target."""

from __future__ import annotations

import re
from typing import Final

from tests.support.manual import page


def _rows() -> list[list[str]]:
    """Return the cells of the table, row by row. The first row has the names of the targets."""
    lines = [*page("reference/export-model").splitlines(), ""]
    first = next(n for n, line in enumerate(lines) if line.startswith("| navlin | `"))
    last = lines.index("", first)
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines[first:last]]


_HEAD, _LINE, *_BODY = _rows()

MODEL: Final = tuple(row[0] for row in _BODY)
"""Elements of navlin's model."""
FATES: Final = {
    name: {row[0]: row[column] for row in _BODY}
    for column, cell in enumerate(_HEAD)
    for name in re.findall("`(.+?)`", cell)
}
"""Target → element → ``kept: …``, ``folded: …`` (it is in another element) or ``dropped: …``."""
