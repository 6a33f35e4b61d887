"""The heartbeat of a running daemon: a small file with the process id and the due times of sources.

The file is removed when the daemon ends, so it also shows whether a daemon runs. Lasting state is in the index.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from navlin.files import replace_content
from navlin.index.journal.holder import Holder, lives, this_process

HEARTBEAT_FILE = "daemon.json"


@dataclass(frozen=True, slots=True)
class LastRun:
    """The result of the daemon's last run of a source, even one that found nothing new. Times are epoch ms.

    ``more``: there was more to read, and the next run follows at once.
    """

    started_ms: int
    ended_ms: int
    status: str
    error: str = ""
    more: bool = False


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The state of the daemon. ``due_s`` maps source names to the time of the next run (epoch s), or None during a run;
    ``sources`` maps source names to the last run."""

    since_ms: int
    due_s: Mapping[str, float | None] = field(default_factory=dict)
    sources: Mapping[str, LastRun] = field(default_factory=dict)
    pid: int = 0
    clock_jump_ms: int = 0
    """Jump of this machine's clock in ms, if the jump is too large for sources to be pulled; otherwise 0."""


def save_heartbeat(state_directory: Path, heartbeat: Heartbeat) -> None:
    """Write the heartbeat file atomically."""
    content = orjson.dumps({"holder": asdict(this_process()), **asdict(heartbeat)})
    replace_content(state_directory / HEARTBEAT_FILE, content, durable=False)


def remove_heartbeat(state_directory: Path) -> None:
    """Remove the heartbeat file if this process wrote it."""
    if (found := _read(state_directory)) is not None and found["holder"]["pid"] == os.getpid():
        (state_directory / HEARTBEAT_FILE).unlink(missing_ok=True)


def read_heartbeat(state_directory: Path) -> Heartbeat | None:
    """Return the heartbeat of the daemon that runs on this state directory; None if no daemon runs."""
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
