"""The pulse of a running daemon: a small file by which ``navlin status`` sees that it lives, and what is due when.

Nothing depends on it. What must be remembered is in the index; this is gone when the daemon is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import orjson

from navlin.index.runs import Holder
from navlin.pipeline.lease import lives, this_process

PULSE_FILE = "daemon.json"


@dataclass(frozen=True, slots=True)
class SourcePulse:
    """How the last look at a source went, one that found nothing new included. Times are epoch ms.

    ``more``: there was more to read at once, and the next look follows.
    """

    started_ms: int
    ended_ms: int
    status: str
    error: str = ""
    more: bool = False


@dataclass(frozen=True, slots=True)
class Pulse:
    """The daemon's own view. ``due_s`` has, by source, when it runs next (epoch s), or None while it runs."""

    since_ms: int
    due_s: Mapping[str, float | None] = field(default_factory=dict)
    sources: Mapping[str, SourcePulse] = field(default_factory=dict)
    pid: int = 0


def save_pulse(state_directory: Path, pulse: Pulse) -> None:
    """Writes the file, whole or not at all."""
    file = state_directory / PULSE_FILE
    new = file.with_suffix(".new")
    new.write_bytes(orjson.dumps({"holder": asdict(this_process()), **asdict(pulse)}))
    new.replace(file)


def forget_pulse(state_directory: Path) -> None:
    """Removes the file if it is this process's."""
    if (found := _read(state_directory)) is not None and found["holder"]["pid"] == os.getpid():
        (state_directory / PULSE_FILE).unlink(missing_ok=True)


def pulse_of(state_directory: Path) -> Pulse | None:
    """The pulse of the daemon that runs on this state directory, None if there is none."""
    found = _read(state_directory)
    if found is None or not lives(Holder(**found["holder"])):
        return None
    sources = {name: SourcePulse(**source) for name, source in found["sources"].items()}
    return Pulse(found["since_ms"], found["due_s"], sources, found["holder"]["pid"])


def _read(state_directory: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = orjson.loads((state_directory / PULSE_FILE).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return found
