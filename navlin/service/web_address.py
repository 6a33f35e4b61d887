"""The addresses of a state directory's web processes: a small file for each, which exists as long as its process."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Final

import orjson

from navlin.files import replace_content
from navlin.index.holder import Holder, lives, this_process

SERVE: Final = "web.json"
"""The file of ``navlin serve``."""
ALONE: Final = "web-{pid}.json"
"""The file of a separate ``navlin web``."""


def save_web_address(state_directory: Path, url: str, *, alone: bool) -> Path:
    """Writes the file, whole or not at all, and returns it: the caller removes it at the end."""
    for file, address in _found(state_directory):
        # Left by a process that was killed.
        if not address:
            file.unlink(missing_ok=True)
    holder = this_process()
    file = state_directory / (ALONE.format(pid=holder.pid) if alone else SERVE)
    replace_content(file, orjson.dumps({"holder": asdict(holder), "url": url}), durable=False)
    return file


def web_address(state_directory: Path) -> str:
    """The address, as people type it, of ``navlin serve``, else of another process; "" if there is none."""
    return next(iter(web_addresses(state_directory)), "")


def web_addresses(state_directory: Path) -> list[str]:
    """The addresses of all running processes, that of ``navlin serve`` first."""
    return [address for _, address in _found(state_directory) if address]


def _found(state_directory: Path) -> list[tuple[Path, str]]:
    """The files, each with its address; "" if its process has ended."""
    others = sorted(state_directory.glob(ALONE.format(pid="[0-9]*")))
    return [(file, _address(file)) for file in (state_directory / SERVE, *others)]


def _address(file: Path) -> str:
    try:
        found = orjson.loads(file.read_bytes())
        return str(found["url"]) if lives(Holder(**found["holder"])) else ""
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return ""
