"""Processes that hold a lock in the index: their identity, and whether they have certainly ended.

A host name proves nothing, because two machines may share one. The proof consists of the boot id (one running kernel,
until it stops), the namespace of process ids within it (a container has its own), the process id, and the start time of
that process.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_MACHINE_ID_FILES: Final = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds a lock. "" means unknown; early versions wrote only the first three fields."""

    host: str
    """Host name, for display."""
    pid: int
    started: str
    """Start time of the process in kernel ticks, because process ids are reused."""
    machine: str = ""
    """A hash of the machine id, because machine-id(5) asks not to expose the id itself."""
    boot: str = ""
    namespace: str = ""
    """The namespace in which ``pid`` and ``started`` are valid."""

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


Lives = Callable[[Holder], bool]
"""Callback that returns whether a process may still be alive."""


def this_process() -> Holder:
    """Return the identity of this process. It is not cached, because the process may have been forked."""
    pid = os.getpid()
    shown, started = _own_stat()
    # /proc may be mounted for a namespace other than ours, and then says nothing about our process ids.
    namespace = _namespace() if shown == pid else ""
    return Holder(
        socket.gethostname(), pid, started if namespace else "", _machine(), _text(_boot_file()), namespace
    )


def may_live(holder: Holder) -> bool:
    """Return False only if the process has certainly ended. That is certain if it is missing from the process table
    that it shares with this process, or if its machine has been restarted since."""
    me = this_process()
    if not holder.boot or not me.boot:
        return True
    if holder.boot != me.boot:
        # Copies of one virtual machine often share a machine id; few of them share the name as well.
        return not holder.machine or (holder.machine, holder.host) != (me.machine, me.host)
    return not _is_ours(holder, me) or _runs(holder)


def lives(holder: Holder) -> bool:
    """Return True only if the process is certainly alive."""
    return _is_ours(holder, this_process()) and _runs(holder)


def _is_ours(holder: Holder, me: Holder) -> bool:
    return "" not in (holder.boot, holder.namespace) and (holder.boot, holder.namespace) == (
        me.boot,
        me.namespace,
    )


def _runs(holder: Holder) -> bool:
    """Whether the process is in the process table; a process that /proc hides from us counts as running."""
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        text = (_PROC / str(holder.pid) / "stat").read_text()
    except OSError:
        return True
    state, started = _state_and_start(text)
    # A dead process stays in the table, as a zombie, until its parent has waited for it.
    return state not in "ZX" and started == holder.started


def _own_stat() -> tuple[int, str]:
    try:
        text = (_PROC / "self" / "stat").read_text()
    except OSError:
        return 0, ""
    return int(text.partition(" ")[0]), _state_and_start(text)[1]


def _state_and_start(stat: str) -> tuple[str, str]:
    # Fields 3 and 22, the latter in clock ticks since boot; the name in field 2 may contain spaces and parentheses.
    state, *fields = stat.rpartition(")")[2].split()
    return state, fields[18]


def _namespace() -> str:
    # A time namespace shifts the start time of a process.
    try:
        return " ".join(os.readlink(_PROC / "self" / "ns" / name) for name in ("pid", "time"))
    except OSError:
        return ""


def _boot_file() -> Path:
    return _PROC / "sys" / "kernel" / "random" / "boot_id"


@cache
def _machine() -> str:
    for file in _MACHINE_ID_FILES:
        text = _text(file)
        # Until its first boot has finished, a machine has an empty file, or one that says "uninitialized".
        if text and text != "uninitialized":
            return hmac.new(text.encode(), b"navlin", hashlib.sha256).hexdigest()[:32]
    return ""


def _text(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""
