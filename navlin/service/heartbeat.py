"""The heartbeat of a running daemon: a small file with its process and the due times of its sources.

Nothing depends on it. Lasting state is in the index; the file is removed when the daemon ends.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from navlin.files import replace_content
from navlin.index.holder import Holder, lives, this_process

HEARTBEAT_FILE = "daemon.json"


@dataclass(frozen=True, slots=True)
class LastRun:
    """The result of the daemon's last run of a source, even one that found nothing new. Times are epoch ms.

    ``more``: there was more to read at once, and the next run follows.
    """

    started_ms: int
    ended_ms: int
    status: str
    error: str = ""
    more: bool = False


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The daemon's own view. ``due_s`` has, by source, the time of its next run (epoch s), or None while it runs."""

    since_ms: int
    due_s: Mapping[str, float | None] = field(default_factory=dict)
    sources: Mapping[str, LastRun] = field(default_factory=dict)
    pid: int = 0
    clock_jump_ms: int = 0
    """The jump of this machine's clock, if it is so large that sources are not pulled."""


def save_heartbeat(state_directory: Path, heartbeat: Heartbeat) -> None:
    """Writes the file, whole or not at all."""
    content = orjson.dumps({"holder": asdict(this_process()), **asdict(heartbeat)})
    replace_content(state_directory / HEARTBEAT_FILE, content, durable=False)


def remove_heartbeat(state_directory: Path) -> None:
    """Removes the file if it is this process's."""
    if (found := _read(state_directory)) is not None and found["holder"]["pid"] == os.getpid():
        (state_directory / HEARTBEAT_FILE).unlink(missing_ok=True)


def read_heartbeat(state_directory: Path) -> Heartbeat | None:
    """The heartbeat of the daemon that runs on this state directory; None if there is none."""
    found = _read(state_directory)
    if found is None or not lives(Holder(**found["holder"])):
        return None
    sources = {name: LastRun(**source) for name, source in found["sources"].items()}
    return Heartbeat(
        found["since_ms"], found["due_s"], sources, found["holder"]["pid"], found.get("clock_jump_ms", 0)
    )


def _read(state_directory: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = orjson.loads((state_directory / HEARTBEAT_FILE).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return found
