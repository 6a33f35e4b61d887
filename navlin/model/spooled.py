"""Names of the files in which navlin keeps what is sent to it: a file's name says who sent what is in it."""

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
    """The name of a file of one sender's, the ``number``-th that a process begins."""
    return f"{PREFIX}{day}-{process}-{number}-{in_name(sender)}{SUFFIX}"


def in_name(sender: str) -> str:
    """The part of a file's name that is the sender's; a hash for one whose name is long."""
    quoted = quote(sender, safe="", errors="replace")
    if len(quoted) <= _MOST_BYTES:
        return quoted
    return hashlib.sha256(sender.encode("utf-8", "replace")).hexdigest()


def part_of_sender(name: str) -> str:
    """The part of a file's name that is the sender's; "" if it is no file of those."""
    found = _SPOOLED.fullmatch(name)
    return found[1] if found else ""


def sender_of(path: str) -> str:
    """The sender of what is in a file, in words: a user, or whoever writes into its directory."""
    file = PurePath(path)
    if sender := part_of_sender(file.name):
        return f"the user {unquote(sender)}"
    return str(file.parent)


def file_key(host: str, stat: os.stat_result) -> str:
    """The key of the position of a file that is followed on a host: logs are renamed, an inode stays."""
    return f"{host}:{stat.st_dev}:{stat.st_ino}"
