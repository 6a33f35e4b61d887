"""Where the web process of a state directory answers: a small file, there as long as the process is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Final

import orjson

from navlin.index.holder import Holder, lives, this_process

FILE: Final = "web.json"


def save_web_address(state_directory: Path, url: str) -> None:
    """Writes the file, whole or not at all."""
    new = state_directory / f"{FILE}.new"
    new.write_bytes(orjson.dumps({"holder": asdict(this_process()), "url": url}))
    new.replace(state_directory / FILE)


def remove_web_address(state_directory: Path) -> None:
    """Removes it."""
    (state_directory / FILE).unlink(missing_ok=True)


def web_address(state_directory: Path) -> str:
    """The address, as people type it; "" if no process answers."""
    try:
        found = orjson.loads((state_directory / FILE).read_bytes())
        return str(found["url"]) if lives(Holder(**found["holder"])) else ""
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return ""
