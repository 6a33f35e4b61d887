"""URLs of the web processes on a state directory, each in a small file that exists as long as the process."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Final

import orjson

from navlin.files import replace_content
from navlin.index.journal.holder import Holder, lives, this_process

SERVE: Final = "web.json"
"""File name for ``navlin serve``."""
ALONE: Final = "web-{pid}.json"
"""File name for a separate ``navlin web``."""


def save_web_address(state_directory: Path, url: str, *, alone: bool) -> Path:
    """Write the file with this process's URL atomically, and return its path. The caller removes the file at the
    end."""
    for file, address in _found(state_directory):
        # Remove the file of a process that was killed.
        if not address:
            file.unlink(missing_ok=True)
    holder = this_process()
    file = state_directory / (ALONE.format(pid=holder.pid) if alone else SERVE)
    replace_content(file, orjson.dumps({"holder": asdict(holder), "url": url}), durable=False)
    return file


def web_address(state_directory: Path) -> str:
    """Return the URL of ``navlin serve``, or else of another web process; "" if none runs."""
    return next(iter(web_addresses(state_directory)), "")


def web_addresses(state_directory: Path) -> list[str]:
    """Return the URLs of all running web processes, that of ``navlin serve`` first."""
    return [address for _, address in _found(state_directory) if address]


def _found(state_directory: Path) -> list[tuple[Path, str]]:
    """Return (file, URL) of each process; the URL is "" if the process has ended."""
    others = sorted(state_directory.glob(ALONE.format(pid="[0-9]*")))
    return [(file, _address(file)) for file in (state_directory / SERVE, *others)]


def _address(file: Path) -> str:
    try:
        found = orjson.loads(file.read_bytes())
        return str(found["url"]) if lives(Holder(**found["holder"])) else ""
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError):
        return ""
