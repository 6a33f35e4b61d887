"""The promises of SECURITY.md."""

from __future__ import annotations

from pathlib import Path
from typing import Final

SECURITY: Final = Path(__file__).parents[2] / "SECURITY.md"


def promises() -> str:
    """Return the sections of SECURITY.md, without its title."""
    return SECURITY.read_text(encoding="utf-8").partition("\n")[2].strip() + "\n"
