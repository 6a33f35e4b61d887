"""Layout of the directory with data that other hosts sent, and the host from which a file came.

Below the root, which is ``forwarded`` in the state directory:

    lines/SOURCE/events-<day>-<process>-<number>-<host>.jsonl     lines sent by a shipper (`navlin.model.spooled`)
    hosts/HOST/SOURCE/NAME, hosts/HOST/SOURCE/FOLDER/NAME         files sent by ``navlin forward``, under their own names
    hosts/HOST/.ids/SOURCE/ID                                     the same files, as hard links
    hosts/HOST/.contact                                           the last contact with the host, as JSON
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import PurePath
from typing import Final
from urllib.parse import quote, unquote

from navlin.model.keys import EntityType
from navlin.model.records import Entity, Record
from navlin.model.spooled import PREFIX, SUFFIX, part_of_sender

FORWARDED: Final = "forwarded"
"""Name of the root in the state directory."""
LINES, HOSTS = "lines", "hosts"
LINES_PATTERN: Final = f"{PREFIX}*{SUFFIX}"
"""Glob for the names of files with lines."""


def folder_name(source: str) -> str:
    """Return the name of a source's directories. No two sources have the same, and none is hidden or leads upward."""
    quoted = quote(source, safe=" ")
    return f"%2E{quoted[1:]}" if quoted.startswith(".") else quoted


def lines_directory(root: str, source: str) -> str:
    """Return the directory of a source's lines."""
    return os.path.join(root, LINES, folder_name(source))


def files_directories(root: str, source: str) -> tuple[str, ...]:
    """Return the directories with a source's files, one for each host that has sent some; none if ``root`` is "". Their
    modification times change with each append to a file directly in them."""
    if not root:
        return ()
    name, hosts = folder_name(source), os.path.join(root, HOSTS)
    try:
        named = [os.path.join(hosts, host, name) for host in sorted(os.listdir(hosts))]
    except OSError:
        return ()
    return tuple(each for each in named if os.path.isdir(each))


def host_of(root: str, path: str) -> str:
    """Return the host from which the content of a file below ``root`` came; "" for any other file."""
    if not root or not path.startswith(f"{root}/"):
        return ""
    first, *rest = PurePath(path).relative_to(root).parts
    if first == HOSTS and len(rest) > 1:
        return rest[0]
    return unquote(part_of_sender(rest[-1])) if first == LINES and rest else ""


def arrived(record: Record, host: str) -> Record:
    """Return a record with the host from which it came, if it is an execution and ``host`` is not "".

    The host counts as no change of the execution, because the same log may arrive from two hosts.
    """
    if host and isinstance(record, Entity) and record.key.type is EntityType.OPERATION_EXECUTION:
        return replace(record, volatile={**record.volatile, "arrivedFrom": host})
    return record
