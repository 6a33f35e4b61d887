"""Names of the files that store received events. A name contains the sender."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import PurePath
from typing import Final
from urllib.parse import quote, unquote

PREFIX, SUFFIX = "events-", ".jsonl"
_MOST_BYTES: Final = 120
_SPOOLED: Final = re.compile(rf"{PREFIX}\d{{8}}-\d+-\d+-(.+){re.escape(SUFFIX)}", re.DOTALL)


def spooled_name(day: str, process: int, number: int, sender: str) -> str:
    """Return the name of a file with a sender's events. ``number`` counts the files that a process begins."""
    return f"{PREFIX}{day}-{process}-{number}-{in_name(sender)}{SUFFIX}"


def in_name(sender: str) -> str:
    """Return the sender's part of a file name; a hash if the name is long."""
    quoted = quote(sender, safe="", errors="replace")
    if len(quoted) <= _MOST_BYTES:
        return quoted
    return hashlib.sha256(sender.encode("utf-8", "replace")).hexdigest()


def part_of_sender(name: str) -> str:
    """Return the sender's part of a file name; "" if ``name`` does not have the form of `spooled_name`."""
    found = _SPOOLED.fullmatch(name)
    return found[1] if found else ""


def sender_of(path: str) -> str:
    """Return the sender of a file's content as text: a user, or the file's directory."""
    file = PurePath(path)
    if sender := part_of_sender(file.name):
        return f"the user {unquote(sender)}"
    return str(file.parent)


def file_key(host: str, stat: os.stat_result) -> str:
    """Return the position key of a followed file on a host. The key has the inode instead of the path, because logs are
    renamed but keep their inode."""
    return f"{host}:{stat.st_dev}:{stat.st_ino}"
