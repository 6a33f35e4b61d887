"""Where the web process of a state directory answers: a small file, there as long as the process is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Final

import orjson

from navlin.files import replace_content
from navlin.index.holder import Holder, lives, this_process

FILE: Final = "web.json"


def save_web_address(state_directory: Path, url: str) -> None:
    """Writes the file, whole or not at all."""
    content = orjson.dumps({"holder": asdict(this_process()), "url": url})
    replace_content(state_directory / FILE, content, durable=False)


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
