"""The agent as one executable file (a zipapp), for hosts without navlin."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Final

from navlin.files import replaced
from navlin.forward import agent

FIRST_LINE: Final = b"#!/usr/bin/env python3\n"
_MODE: Final = 0o755
_TIME: Final = (1980, 1, 1, 0, 0, 0)
"""A fixed time, so that the same agent is the same file."""


def write(file: Path) -> None:
    """Write the agent to ``file``, executable by everybody. Raises OSError."""
    source = Path(agent.__file__).read_bytes()
    with replaced(file.absolute()) as out:
        out.write(FIRST_LINE)
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(zipfile.ZipInfo("__main__.py", _TIME), source, zipfile.ZIP_DEFLATED)
    file.chmod(_MODE)
