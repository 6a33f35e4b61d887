"""The few inodes whose name stands in the reference that leads to them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

RENAMED: Final = "renamed.json"


def write_renamed(renamed: Mapping[int, bytes], scratch: Path) -> None:
    """``renamed``: names by the inode's number in its section."""
    (scratch / RENAMED).write_text(json.dumps({str(inode): name.hex() for inode, name in renamed.items()}))


def read_renamed(scratch: Path) -> dict[int, bytes]:
    held = json.loads((scratch / RENAMED).read_text())
    return {int(inode): bytes.fromhex(name) for inode, name in held.items()}
