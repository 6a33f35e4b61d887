"""Find the files with new data in some directories, with one ``stat`` per file. Each file is opened once, to be kept open.

A file that has left its directory is still planned if it has data that was seen and not read. So is a file whose
current name no longer matches.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from extractors.lineage.file_split import COPIED, FileSplit, goes_on_in
from extractors.lineage.kept_open_files import KEPT_OPEN, KeptOpenFiles
from extractors.lineage.listed_files import expand, list_files
from extractors.lineage.regular_files import open_regular
from navlin.model.plan import Plan, Positions
from navlin.model.records import Position

QUIET_MS: Final = 3_600_000
"""Time after which an unchanged file is not expected to grow, so that the rest after its last newline is yielded."""
FORGET_MS: Final = 7 * 86_400_000
GIVEN_UP_AFTER: Final = 32
"""Number of consecutive failures, spread over about a day, after which navlin closes a file that was moved away."""
ROTATED_MS: Final = 60_000
"""Time since the last write for which a moved file is still kept open, because its writer may still have it open."""


def plan_files(
    directories: tuple[str, ...],
    patterns: tuple[str, ...],
    positions: Positions,
    *,
    host: str,
    kept_open: KeptOpenFiles = KEPT_OPEN,
) -> Plan:
    """Return a plan with a split for every file with new data. The plan also removes the positions of files that are
    long gone.

    ``directories`` may be globs, ``patterns`` are globs for file names. Compressed files (by suffix) and links that
    lead out of their directory are left out, and counted in the note. A directory that cannot be listed is named in
    the note, and the positions of its files are kept, unless the directory was found by a glob and no longer exists.
    Raises `NothingToFollow` if no directory can be listed.
    """
    saved = positions.values
    follower = (directories, patterns)
    memory = kept_open.memory(follower)
    listed = list_files(
        *(directories, patterns, host),
        lambda: {key.rpartition(":")[2] for key in saved if key.startswith(f"{host}:")},
        memory,
    )
    look_at: Collection[str] = listed.followed
    if not positions.complete and len(saved) >= memory.positions:
        # A file that was planned before is planned again if its current state has not been saved.
        look_at = [*listed.looked_at, *(memory.planned - listed.looked_at)]
    splits: dict[str, FileSplit] = {}
    changed: dict[str, Position] = {}
    emptied: list[Position] = []
    for key in look_at:
        if key not in listed.followed:
            continue
        path, stat = listed.followed[key]
        known = saved.get(key)
        if stat.st_size == 0 and known is not None and known.get("size") != 0:
            emptied.append(Position(key, _empty(path, stat)))
            if known["head"] and not positions.complete:
                copied = _missing(key, known, positions.now_ms).copied()
                splits[copied.key] = copied
        split = _split_of(key, path, stat, None if positions.complete else known, positions.now_ms)
        if split is not None:
            splits[key] = split
    memory.planned, memory.positions = {*splits}, len(saved)
    opens = kept_open.keep_open(follower, listed.followed)
    splits = {key: replace(split, descriptor=opens.get(key, "")) for key, split in splits.items()}
    seen = set(listed.followed)
    for each in kept_open.missing(follower, seen):
        known = saved.get(each.key)
        # The ctime changed when the file lost its name.
        as_known = known and {**known, "ctime_ns": each.stat.st_ctime_ns}
        split = _split_of(each.key, each.path, each.stat, as_known, positions.now_ms)
        given_up = positions.failed.get(each.path, 0) >= GIVEN_UP_AFTER
        sought = bool(known and known.get("sought"))
        # Data reported as lost stays lost, unless the file has been written to since.
        lost = (
            known
            and sought
            and (known["size"], known["mtime_ns"]) == (each.stat.st_size, each.stat.st_mtime_ns)
        )
        if split is not None and not lost:
            # Without a descriptor, the read reports the loss.
            splits[each.key] = replace(split, descriptor="" if given_up else each.opens)
        elif lost or (not _has_rest(known) and positions.now_ms - _written_ms(each.stat) >= ROTATED_MS):
            kept_open.release(follower, each.key)
            if known is not None and not sought:
                # The file was read to its end, so a compressed copy holds nothing new.
                changed[each.key] = Position(each.key, {**known, "sought": True})
            continue
        seen.add(each.key)
    renamed = {}
    for key, path, stat in listed.renamed():
        if key not in seen and key in saved:
            renamed[key] = _split_of(key, path, stat, saved[key], positions.now_ms)
    # Only files with new data are opened. If the inode was reused, this is not the file that was followed.
    splits |= {key: split for key, split in renamed.items() if split is not None and _is_the_same(split)}
    not_seen = [saved[key] for key in saved.keys() - seen if key.startswith(f"{host}:")]
    listable = listed.directories | _removed(not_seen, listed.directories, directories)
    for key, value in saved.items():
        if key in seen or key in renamed or key in changed or not key.startswith(f"{host}:"):
            continue
        directory = str(Path(value["path"]).parent)
        if directory in listable and _may_be_archived(value, listed.archived_ns.get(directory, 0)):
            splits[key] = _missing(key, value, positions.now_ms)
    ordered = sorted(splits.values(), key=lambda split: (split.mtime_ns, split.path))
    # Positions of files that are long gone come last, because their removal takes precedence.
    gone = _forgotten(saved, seen | splits.keys(), listable, f"{host}:", positions.now_ms - FORGET_MS)
    changed |= {position.key: position for position in gone}
    return Plan(tuple(ordered), (*emptied, *changed.values()), note=listed.note())


def _removed(
    not_seen: Iterable[Mapping[str, Any]], listed: set[str], directories: tuple[str, ...]
) -> set[str]:
    """Return the directories of followed files that no longer match the globs and do not exist any more."""
    unlisted = {str(Path(value["path"]).parent) for value in not_seen} - listed
    here = set(expand(directories)) if unlisted else set()
    return {each for each in unlisted - here if not os.path.lexists(each)}


def _is_the_same(split: FileSplit) -> bool:
    """Whether a file still begins with the data that was read from it."""
    if not split.head or not split.offset:
        return False
    try:
        with open_regular(split.path, str(Path(split.path).parent)) as raw:
            return goes_on_in(raw, split)
    except OSError:
        return False


def _split_of(
    key: str, path: str, stat: os.stat_result, known: Mapping[str, Any] | None, now_ms: int
) -> FileSplit | None:
    size, mtime_ns, ctime_ns = stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
    if size == 0:
        return None
    final = now_ms - mtime_ns // 1_000_000 >= QUIET_MS
    if known is None:
        split = FileSplit(key, path, stat.st_dev, stat.st_ino, size, mtime_ns, ctime_ns=ctime_ns)
        return replace(split, final=final, planned_ms=now_ms)
    if (known["size"], known["mtime_ns"]) == (size, mtime_ns) and known.get("ctime_ns", ctime_ns) == ctime_ns:
        waiting = known["offset"] < size and not known.get("settled")
        if not (waiting and final):
            return None
    return FileSplit(
        key,
        path,
        stat.st_dev,
        stat.st_ino,
        size,
        mtime_ns,
        offset=known["offset"],
        head=known["head"],
        head_bytes=known["head_bytes"],
        mark=known["mark"],
        skipping=bool(known.get("skipping")),
        final=final,
        extra=known.get("extra"),
        planned_ms=now_ms,
        ctime_ns=ctime_ns,
        seen=_seen(known),
        seen_ns=known["mtime_ns"],
    )


def _seen(known: Mapping[str, Any]) -> int:
    """Return the size of a file when it was last read."""
    return max(int(known["size"]), int(known.get("seen", 0)), int(known["offset"]))


def _written_ms(stat: os.stat_result) -> int:
    return stat.st_mtime_ns // 1_000_000


def _has_rest(known: Mapping[str, Any] | None) -> bool:
    """Whether the file ends with a line that has no newline and has not been yielded."""
    return known is not None and known["offset"] < known["size"] and not known.get("settled")


def _may_be_archived(value: Mapping[str, Any], archived_ns: int) -> bool:
    """Whether to look for a missing file in an archive. This is the case if a part was seen and not read, or if there
    is a compressed file that is at least as new, because compression keeps a file's modification time.
    """
    if value.get("sought"):
        return False
    unread = value["size"] < 0 or _has_rest(value)
    return unread or (
        value["offset"] > 0 and archived_ns // 1_000_000_000 >= value["mtime_ns"] // 1_000_000_000
    )


def _missing(key: str, value: Mapping[str, Any], now_ms: int) -> FileSplit:
    device, inode = (-1, -1) if COPIED in key.rpartition(":")[2] else key.split(":")[-2:]
    return FileSplit(
        key,
        value["path"],
        int(device),
        int(inode),
        _seen(value),
        value["mtime_ns"],
        offset=value["offset"],
        head=value["head"],
        head_bytes=value["head_bytes"],
        mark=value["mark"],
        skipping=bool(value.get("skipping")),
        extra=value.get("extra"),
        planned_ms=now_ms,
        seen=_seen(value),
        seen_ns=value["mtime_ns"],
    )


def _empty(path: str, stat: os.stat_result) -> dict[str, Any]:
    value: dict[str, Any] = {"path": path, "offset": 0, "size": 0, "mtime_ns": stat.st_mtime_ns}
    return value | {"head": "", "head_bytes": 0, "mark": ""}


def _forgotten(
    saved: Mapping[str, Any], seen: set[str], listed: set[str], host: str, before_ms: int
) -> Iterator[Position]:
    for key in saved.keys() - seen:
        value = saved[key]
        if (
            key.startswith(host)
            and str(Path(value["path"]).parent) in listed
            and value["mtime_ns"] < before_ms * 1_000_000
        ):
            yield Position(key, None)
