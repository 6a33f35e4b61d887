"""Following files that grow, rotate, shrink and disappear, with `plan_files` and `follow`."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from extractors.lineage import file_split, followed_files, listed_files, planned_files, remembered_files
from extractors.lineage.file_split import FileSplit
from extractors.lineage.followed_files import Line, follow, sought
from extractors.lineage.kept_open_files import KeptOpenFiles
from extractors.lineage.listed_files import NothingToFollow
from extractors.lineage.moved_files import FileWentAway
from extractors.lineage.planned_files import plan_files
from navlin.model.plan import Plan, Positions
from navlin.model.records import Position, Reject

NOW_MS = 1_000_000_000_000
"""Earlier than the modification time of any file here, so that only files made quiet by a test count as quiet."""


class Reader:
    """Plans and reads a directory as the pipeline does: positions are stored as JSON, and saved after the last split of
    a chain.
    """

    def __init__(self, *directories: Path | str, pattern: str = "*", max_line_bytes: int = 1 << 20) -> None:
        self.directories = tuple(str(directory) for directory in directories)
        self.pattern = pattern
        self.max_line_bytes = max_line_bytes
        self.saved: dict[str, Any] = {}
        self.held = KeptOpenFiles()
        self.max_lines = 5_000
        self.rejects: list[Reject] = []
        self.rests: list[bytes] = []

    def plan(self, *, now_ms: int = NOW_MS, complete: bool = False) -> Plan:
        values = json.loads(json.dumps(self.saved))
        positions = Positions(values, now_ms=now_ms, complete=complete)
        return plan_files(self.directories, (self.pattern,), positions, host="host-1", kept_open=self.held)

    def restart(self) -> None:
        """Simulate a new process, which holds no file descriptors."""
        self.held = KeptOpenFiles()

    def read(self, plan: Plan | None = None, *, now_ms: int = NOW_MS, rounds: int = 1_000) -> list[bytes]:
        plan = plan or self.plan(now_ms=now_ms)
        lines: list[bytes] = []
        for position in plan.positions:
            self._save(position)
        for split in plan.splits:
            assert isinstance(split, FileSplit)
            try:
                lines += self._chain(split, rounds)
            except FileWentAway:
                continue
        return lines

    def _chain(self, split: FileSplit, rounds: int) -> Iterator[bytes]:
        found: list[Position] = []
        chain = [split]
        for part in chain:
            sent = pickle.loads(pickle.dumps(part))  # noqa: S301 (what Spark does with it)
            try:
                items = read_split(sent, self.max_line_bytes, self.max_lines)
            except FileWentAway:
                if not sent.of_copy:
                    raise
                items = [sought(sent)]
            for item in items:
                match item:
                    case Line(whole=True):
                        yield item.text
                    case Line():
                        self.rests.append(item.text)
                    case Reject():
                        self.rejects.append(item)
                    case Position():
                        found.append(item)
                    case FileSplit() if len(chain) < rounds:
                        chain.append(item)
        for position in {each.key: each for each in found}.values():
            self._save(position)

    def _save(self, position: Position) -> None:
        if position.value is None:
            del self.saved[position.key]
        else:
            self.saved[position.key] = position.value


def read_split(
    split: FileSplit, max_line_bytes: int, max_lines: int
) -> list[Line | Reject | Position | FileSplit]:
    with follow(split, max_line_bytes=max_line_bytes) as file:
        return [*file.lines(max_lines=max_lines), *file.done()]


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


# -- Very many files ----------------------------------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Reader]:
    """A directory with 200 old files. A poll may examine only the ten newest, and twenty of the others in turn."""
    monkeypatch.setattr(remembered_files, "MOST_LOOKED_AT", 10)
    monkeypatch.setattr(listed_files, "MOST_LOOKED_AT", 10)
    monkeypatch.setattr(remembered_files, "IN_TURN", 20)
    directory, reader = tmp_path / "many", Reader(tmp_path / "many")
    directory.mkdir()
    for number in range(200):
        file = directory / f"{number:03d}"
        file.write_bytes(b"one\n")
        os.utime(file, (NOW_MS / 1000 + number,) * 2)
    os.utime(directory, (NOW_MS / 1000,) * 2)
    assert len(reader.read()) == 200
    assert reader.read() == []
    return directory, reader


def written(file: Path, data: bytes) -> None:
    """Append data, and set a modification time in the past."""
    before = file.stat().st_mtime_ns
    append(file, data)
    os.utime(file, ns=(before + 1_000_000,) * 2)


def test_polling_many_idle_files_checks_only_a_few(
    many: tuple[Path, Reader], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, reader = many
    looks: list[str] = []
    stat = os.stat

    def counted(path: Any, *more: Any, **options: Any) -> os.stat_result:
        looks.append(str(path))
        return stat(path, *more, **options)

    monkeypatch.setattr(os, "stat", counted)
    monkeypatch.delattr(os, "scandir")
    assert reader.plan().splits == ()
    assert 30 <= len(looks) < 40


def test_among_many_files_the_newest_are_read_at_once_and_old_ones_in_turn(
    many: tuple[Path, Reader],
) -> None:
    directory, reader = many
    written(directory / "199", b"new\n")
    assert reader.read() == [b"new"]
    written(directory / "003", b"old\n")
    read = [reader.read() for _ in range(12)]
    assert [*chain(*read)] == [b"old"]
    written(directory / "003", b"again\n")
    assert [b"again"] in [reader.read() for _ in range(12)]


def test_among_many_files_a_new_or_renamed_one_is_seen_at_once(many: tuple[Path, Reader]) -> None:
    directory, reader = many
    (directory / "new").write_bytes(b"new\n")
    assert reader.read() == [b"new"]
    (directory / "new").rename(directory / "newer")
    append(directory / "newer", b"more\n")
    assert reader.read() == [b"more"]


def test_among_many_files_one_without_a_saved_position_is_planned_again(many: tuple[Path, Reader]) -> None:
    directory, reader = many
    written(directory / "199", b"new\n")
    assert len(reader.plan().splits) == 1
    assert len(reader.plan().splits) == 1
    reader.saved.clear()
    assert len(reader.plan().splits) == 200


# -- Other content in the same file ------------------------------------------------------------------------------------


def in_gzip(log: Path) -> None:
    log.with_name("log.1.gz").write_bytes(gzip.compress(log.read_bytes()))


def as_it_is(log: Path) -> None:
    shutil.copyfile(log, log.with_name("log.1"))


@pytest.mark.parametrize("copy", [in_gzip, as_it_is])
@pytest.mark.parametrize("seen_empty", [False, True], ids=["grown again", "seen empty"])
def test_the_rest_of_a_copied_and_truncated_file_is_read_from_the_copy(
    tmp_path: Path, copy: Callable[[Path], None], *, seen_empty: bool
) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path, pattern="log")
    log.write_bytes(b"one\n" * 5_000)
    reader.read()
    append(log, b"two\nthree")
    copy(log)
    os.truncate(log, 0)
    lines = reader.read() if seen_empty else []
    append(log, b"four\n" * 6_000)

    lines += reader.read()

    assert sorted(lines) == [b"four"] * 6_000 + [b"two"]
    assert reader.rejects == []
    assert reader.read() == []


def test_a_copy_is_read_in_steps_and_resumed_after_a_failure(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path, pattern="log")
    log.write_bytes(b"one\n")
    reader.read()
    append(log, b"".join(b"%d\n" % number for number in range(100)))
    as_it_is(log)
    log.write_bytes(b"new\n")
    reader.max_lines = 10

    first = reader.read(rounds=2)

    assert first == [b"new", *(b"%d" % number for number in range(10))]
    assert reader.read() == [b"%d" % number for number in range(10, 100)]
    assert reader.read() == []


def test_a_file_rewritten_with_its_old_size_and_time_is_read_again(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\ntwo\n")
    before = log.stat()
    assert reader.read() == [b"one", b"two"]

    log.write_bytes(b"ten\nsix\n")
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert reader.read() == [b"ten", b"six"]
    assert reader.plan().splits == ()


def test_a_file_with_only_changed_permissions_is_not_read_again(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\ntwo\n")
    reader.read()
    log.chmod(0o640)
    assert reader.read() == []
    assert reader.plan().splits == ()


# -- Named cases ------------------------------------------------------------------------------------------------------


def test_only_appended_lines_are_read(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\ntwo\n")
    assert reader.read() == [b"one", b"two"]
    append(log, b"three\n")
    assert reader.read() == [b"three"]
    assert reader.read() == []


def test_a_partial_line_waits_for_its_rest(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\ntw")
    assert reader.read() == [b"one"]
    append(log, b"o")
    assert reader.read() == []
    append(log, b"\nthr")
    assert reader.read() == [b"two"]


def test_a_renamed_file_is_continued_and_not_read_again(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\n")
    reader.read()
    log.rename(tmp_path / "log.1")
    log.write_bytes(b"new\n")
    append(tmp_path / "log.1", b"two\n")
    assert sorted(reader.read()) == [b"new", b"two"]


@pytest.mark.parametrize("more", [b"", b"c\nd\n"])
def test_a_file_renamed_during_a_restart_is_read_to_its_end_whatever_its_name(
    tmp_path: Path, more: bytes
) -> None:
    log = tmp_path / "lineage.log"
    log.write_bytes(b"a\nb\n")
    reader = Reader(tmp_path, pattern="lineage.log")
    assert reader.read() == [b"a", b"b"]
    reader.restart()
    append(log, more)
    log.rename(tmp_path / "old-1")
    log.write_bytes(b"e\n")
    assert sorted(reader.read()) == sorted([*more.splitlines(), b"e"])
    assert reader.plan().splits == ()
    append(tmp_path / "old-1", b"f\n")
    assert reader.read() == [b"f"]


def test_a_different_file_on_a_reused_inode_with_an_unmatched_name_is_not_read(tmp_path: Path) -> None:
    log = tmp_path / "lineage.log"
    log.write_bytes(b"a\nb\n")
    reader = Reader(tmp_path, pattern="lineage.log")
    reader.read()
    reader.restart()
    log.write_bytes(b"what somebody else wrote\n")
    log.rename(tmp_path / "other.txt")
    assert reader.plan().splits == ()


@pytest.mark.parametrize("suffix", ["bz2", "xz", "zst"])
@pytest.mark.parametrize("restarted", [True, False])
def test_a_file_compressed_unreadably_may_have_lost_lines_unless_held_open(
    tmp_path: Path, suffix: str, restarted: bool
) -> None:
    log = tmp_path / "lineage.log.1"
    log.write_bytes(b"a\nb\n")
    reader = Reader(tmp_path)
    reader.read()
    if restarted:
        reader.restart()
    archive = tmp_path / f"lineage.log.2.{suffix}"
    archive.write_bytes(b"whatever it holds")
    log.unlink()
    later_ms = archive.stat().st_mtime_ns // 1_000_000 + 120_000
    gone = []
    for split in reader.plan(now_ms=later_ms).splits:
        assert isinstance(split, FileSplit)
        with pytest.raises(FileWentAway, match="from byte 4 on is not read") as away, follow(split):
            pass
        gone.append(away.value.loses)
    assert gone == ([True] if restarted else [])


def test_the_rest_of_a_compressed_file_is_not_decompressed_repeatedly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed_files, "CHUNK_BYTES", 1 << 10)
    lines = [b"%0198d" % number for number in range(4_000)]
    log = tmp_path / "lineage.log"
    log.write_bytes(b"".join(line + b"\n" for line in lines[:1_000]))
    reader = Reader(tmp_path, pattern="lineage.log")
    read = reader.read()
    reader.restart()
    append(log, b"".join(line + b"\n" for line in lines[1_000:]))
    (tmp_path / "lineage.log.gz").write_bytes(gzip.compress(log.read_bytes()))
    log.unlink()
    rewound = 0
    rewind = gzip._GzipReader._rewind  # type: ignore[attr-defined]

    def counted(file: Any) -> None:
        nonlocal rewound
        rewound += 1
        rewind(file)

    monkeypatch.setattr("gzip._GzipReader._rewind", counted)
    reader.max_lines = 100
    assert read + reader.read() == lines
    assert rewound <= 5


def test_a_record_partly_written_at_rotation_is_read_whole(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\nha")
    reader.read()
    log.rename(tmp_path / "log.1")
    log.write_bytes(b"")
    append(tmp_path / "log.1", b"lf\n")
    assert reader.read() == [b"half"]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(b"x\n", id="to a shorter one"),
        pytest.param(
            b"first\nthis is longer than it was before\n", id="to a longer one with the same first line"
        ),
        pytest.param(b"first\nthat\n", id="to one of the same size"),
        pytest.param(b"other beginning, and longer than it was\n", id="to a longer one"),
    ],
)
def test_a_truncated_file_is_read_from_its_beginning(tmp_path: Path, after: bytes) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"first\nthis\n")
    os.utime(log, ns=(1, 1))
    reader.read()
    inode = log.stat().st_ino
    log.write_bytes(after)
    assert log.stat().st_ino == inode
    assert reader.read() == after.splitlines()


BIG = b"x" * (2 * file_split.HEAD_BYTES) + b"\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(BIG + b"one\n", BIG + b"two\nthree\n", id="with the same beginning"),
        pytest.param(
            b"one\n" + BIG, b"two\n" + BIG + b"three\n", id="with the same bytes before the position"
        ),
    ],
)
def test_a_large_file_rewritten_longer_is_read_from_its_beginning(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(before)
    reader.read()
    log.write_bytes(after)
    assert reader.read() == after.splitlines()


def test_a_file_truncated_to_zero_and_regrown_is_read_from_its_beginning(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"same\n" * 3)
    reader.read()
    log.write_bytes(b"")
    reader.read()
    log.write_bytes(b"same\n" * 4)
    assert reader.read() == [b"same"] * 4


def test_a_replaced_file_is_a_new_one(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\ntwo\n")
    reader.read()
    (tmp_path / "new").write_bytes(b"one\ntwo\n")
    os.replace(tmp_path / "new", log)
    assert reader.read() == [b"one", b"two"]


def test_a_reused_inode_with_different_content_is_read_from_its_beginning(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"banner\none\n")
    reader.read()
    (key,) = reader.saved
    other = tmp_path / "other"
    other.write_bytes(b"banner\nxyz\nmore\n")
    stat = other.stat()
    reader.saved = {f"host-1:{stat.st_dev}:{stat.st_ino}": reader.saved[key]}
    log.unlink()
    reader.restart()
    assert reader.read() == [b"banner", b"xyz", b"more"]


def test_files_with_the_same_content_are_both_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"same\n")
    (tmp_path / "b").write_bytes(b"same\n")
    assert Reader(tmp_path).read() == [b"same", b"same"]


def test_two_names_of_one_file_are_read_once(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\n")
    os.link(tmp_path / "a", tmp_path / "b")
    assert Reader(tmp_path).read() == [b"one"]


def test_a_file_rotated_between_plan_and_read_is_found_under_its_new_name(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\n")
    plan = reader.plan()
    log.rename(tmp_path / "log.1")
    log.write_bytes(b"new\n")
    assert reader.read(plan) == [b"one"]
    assert reader.read() == [b"new"]


def test_a_file_removed_between_plan_and_read_fails_with_its_name_and_the_loss(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\n")
    (split,) = reader.plan().splits
    assert isinstance(split, FileSplit)
    log.unlink()
    reader.restart()
    with pytest.raises(FileWentAway, match=r"log was rotated out of .* or removed .* byte 0 to 4"):
        read_split(split, 100, 100)


def test_a_split_reads_the_same_after_the_file_has_grown(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\ntw")
    (split,) = reader.plan().splits
    assert isinstance(split, FileSplit)
    first = read_split(split, 100, 100)
    append(log, b"o\nthree\n")
    assert read_split(split, 100, 100) == first
    reader.read(Plan((split,)))
    assert reader.read() == [b"two", b"three"]


def test_a_long_file_is_read_in_several_splits(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    lines = [b"%d" % number for number in range(25)]
    log.write_bytes(b"\n".join(lines) + b"\n")
    reader.max_lines = 10
    (split,) = reader.plan().splits
    assert isinstance(split, FileSplit)
    *first, position, further = read_split(split, 100, 10)
    assert len(first) == 10
    assert isinstance(position, Position)
    assert isinstance(further, FileSplit)
    assert reader.read() == lines
    assert reader.read() == []


def test_a_position_saved_midway_does_not_look_finished(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\ntwo\nthree\n")
    (split,) = reader.plan().splits
    assert isinstance(split, FileSplit)
    position = next(item for item in read_split(split, 100, 1) if isinstance(item, Position))
    reader.saved = {position.key: position.value}
    assert reader.read() == [b"two", b"three"]


def test_lines_longer_than_a_chunk_are_read_whole(tmp_path: Path) -> None:
    lines = [
        b"a" * (followed_files.CHUNK_BYTES * 2 + 1),
        b"b",
        b"c" * followed_files.CHUNK_BYTES,
        b"d" * (followed_files.CHUNK_BYTES - 1),
    ]
    (tmp_path / "log").write_bytes(b"\n".join(lines) + b"\n")
    assert Reader(tmp_path, max_line_bytes=8 << 20).read() == lines


@pytest.mark.parametrize("length", [101, followed_files.CHUNK_BYTES * 3])
def test_a_line_over_the_limit_is_rejected_with_its_offset_and_skipped(tmp_path: Path, length: int) -> None:
    reader = Reader(tmp_path, max_line_bytes=100)
    (tmp_path / "log").write_bytes(b"one\n" + b"x" * length + b"\ntwo\n" + b"y" * 100 + b"\n")
    assert reader.read() == [b"one", b"two", b"y" * 100]
    (reject,) = reader.rejects
    assert (reject.offset, reject.reason) == (4, "the line is longer than 100 bytes")


def test_a_growing_line_over_the_limit_is_rejected_once(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path, max_line_bytes=100)
    log.write_bytes(b"x" * 200)
    for _ in range(3):
        assert reader.read() == []
        append(log, b"x" * 200)
    append(log, b"\ntwo\n")
    assert reader.read() == [b"two"]
    assert len(reader.rejects) == 1


def test_the_partial_line_of_a_quiet_file_is_delivered_once(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\nrest")
    os.utime(log, ns=(NOW_MS * 1_000_000,) * 2)
    assert reader.read() == [b"one"]
    assert reader.read(now_ms=NOW_MS + planned_files.QUIET_MS - 1) == []
    assert reader.rests == []
    for _ in range(3):
        assert reader.read(now_ms=NOW_MS + planned_files.QUIET_MS) == []
    assert reader.rests == [b"rest"]
    append(log, b" and more\n")
    assert reader.read() == [b"rest and more"]


def test_a_file_changed_within_a_clock_tick_is_noticed_by_its_size(tmp_path: Path) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)
    log.write_bytes(b"one\n")
    os.utime(log, ns=(5, 5))
    reader.read()
    append(log, b"two\n")
    os.utime(log, ns=(5, 5))
    assert reader.read() == [b"two"]


def test_a_quiet_plan_opens_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = Reader(tmp_path)
    for number in range(20):
        (tmp_path / str(number)).write_bytes(b"one\n")
    reader.read()

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("a quiet plan opened a file")

    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(io, "open", opened)
    assert reader.plan() == Plan()


def test_a_complete_plan_reads_everything_again(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"one\n")
    reader = Reader(tmp_path)
    reader.read()
    assert reader.read(reader.plan(complete=True)) == [b"one"]


def test_an_empty_file_yields_no_split(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"")
    assert Reader(tmp_path).plan() == Plan()


def test_directories_unmatched_names_and_compressed_files_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "lineage-1").write_bytes(b"one\n")
    (tmp_path / "lineage-0.gz").write_bytes(b"\x1f\x8b")
    (tmp_path / "lineage-dir").mkdir()
    (tmp_path / "other").write_bytes(b"two\n")
    reader = Reader(tmp_path, pattern="lineage-*")
    assert reader.plan().note == "1 compressed files are not read"
    assert reader.read() == [b"one"]


def test_directories_may_be_globs(tmp_path: Path) -> None:
    for name in ("impalad-1", "impalad-2", "other"):
        (tmp_path / name / "lineage").mkdir(parents=True)
        (tmp_path / name / "lineage" / "log").write_bytes(name.encode() + b"\n")
    assert sorted(Reader(tmp_path / "impalad-*" / "lineage").read()) == [b"impalad-1", b"impalad-2"]


def test_one_unlistable_directory_is_noted_and_the_others_are_read(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"one\n")
    reader = Reader(tmp_path / "missing", tmp_path)
    assert "missing: No such file or directory" in reader.plan().note
    assert reader.read() == [b"one"]


def test_having_no_listable_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NothingToFollow, match="missing: No such file"):
        Reader(tmp_path / "missing").plan()


def _gone_for_days(reader: Reader, log: Path) -> Plan:
    log.write_bytes(b"one\n")
    os.utime(log, ns=(NOW_MS * 1_000_000,) * 2)
    reader.read()
    log.unlink()
    return reader.plan(now_ms=NOW_MS + planned_files.FORGET_MS + 1)


def test_a_file_removed_days_ago_is_forgotten(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    (position,) = _gone_for_days(reader, tmp_path / "log").positions
    assert position == Position(next(iter(reader.saved)), None)


def test_a_file_removed_recently_is_not_forgotten(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    _gone_for_days(reader, tmp_path / "log")
    assert reader.plan(now_ms=NOW_MS + planned_files.FORGET_MS - 1).positions == ()


def test_nothing_of_an_unlistable_directory_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    (tmp_path / "other").mkdir()
    reader = Reader(tmp_path / "mount", tmp_path / "other")
    _gone_for_days(reader, tmp_path / "mount" / "log")
    (tmp_path / "mount").rmdir()
    assert reader.plan(now_ms=NOW_MS + 2 * planned_files.FORGET_MS).positions == ()


def test_nothing_is_forgotten_of_another_host(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    _gone_for_days(reader, tmp_path / "log")
    reader.saved = {key.replace("host-1", "host-2"): value for key, value in reader.saved.items()}
    assert reader.plan(now_ms=NOW_MS + 2 * planned_files.FORGET_MS).positions == ()


def test_the_extractors_state_is_returned_with_the_position_and_dropped_with_the_file(
    tmp_path: Path,
) -> None:
    log, reader = tmp_path / "log", Reader(tmp_path)

    def read_with(extra: dict[str, int]) -> Any:
        (split,) = reader.plan().splits
        assert isinstance(split, FileSplit)
        with follow(split) as file:
            before = file.extra
            list(file.lines())
            for record in file.done(extra):
                if isinstance(record, Position):
                    reader.saved[record.key] = record.value
        return before

    log.write_bytes(b"one\n")
    assert read_with({"open": 1}) is None
    append(log, b"two\n")
    assert read_with({"open": 2}) == {"open": 1}
    log.write_bytes(b"an\nother\nfile\n")
    assert read_with({"open": 3}) is None


def test_a_caller_may_stop_at_any_line_and_resume_with_a_further_split(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"one\ntwo\n")
    (split,) = Reader(tmp_path).plan().splits
    assert isinstance(split, FileSplit)
    with follow(split) as file:
        for line in file.lines():
            assert isinstance(line, Line)
            break
        _, further = file.done()
    assert isinstance(further, FileSplit)
    assert [item.text for item in read_split(further, 100, 100) if isinstance(item, Line)] == [b"two"]


# -- Random actions -------------------------------------------------------------------------------------------------


class Following(RuleBasedStateMachine):
    """Writes, rotates, deletes, truncates, reads, pauses (a plan is read later) and restarts in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="following-"))
        # Make the hashes cover less than the whole of these small files.
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(file_split, "HEAD_BYTES", 24)
        self.patch.setattr(file_split, "MARK_BYTES", 16)
        self.log = self.directory / "log"
        self.count = 0
        self.rotated = 0
        self.mtime_ns = NOW_MS * 1_000_000
        self.reader = Reader(self.directory, max_line_bytes=60)
        self.reader.max_lines = 3
        self.yielded: set[bytes] = set()
        self.ever_whole: set[bytes] = set()
        self.plans: list[Plan] = []

    def teardown(self) -> None:
        self.patch.undo()
        shutil.rmtree(self.directory)

    def _touched(self, path: Path) -> None:
        # Advance the time at each action, because the file system's clock may not advance during a test.
        self.mtime_ns += 1_000_000
        os.utime(path, ns=(self.mtime_ns, self.mtime_ns))
        *whole, _ = path.read_bytes().split(b"\n")
        self.ever_whole.update(whole)

    @rule(lines=st.integers(1, 5), half=st.integers(0, 8), padding=st.sampled_from([0, 0, 0, 50, 80]))
    def write(self, lines: int, half: int, padding: int) -> None:
        data = b"" if self.log.exists() else b"the same first line\n"
        for _ in range(lines):
            self.count += 1
            # Repeat the number in the line: two lines with the same mark would make the test itself wrong.
            data += b"line %06d %s\n" % (self.count, (b"%06d." % self.count) * (padding // 7))
        append(self.log, data[: len(data) - half])
        self._touched(self.log)

    @precondition(lambda self: self.log.exists())
    @rule()
    def rotate(self) -> None:
        self.rotated += 1
        self.log.rename(self.directory / f"log.{self.rotated}")

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        if paths := sorted(self.directory.iterdir()):
            data.draw(st.sampled_from(paths)).unlink()

    @precondition(lambda self: self.log.exists())
    @rule(share=st.sampled_from([0.0, 0.3, 0.9]))
    def truncate(self, share: float) -> None:
        os.truncate(self.log, int(self.log.stat().st_size * share))
        self._touched(self.log)

    @rule()
    def read(self) -> None:
        self.yielded.update(self.reader.read(now_ms=self._now_ms()))
        for path in self.directory.iterdir():
            *whole, _ = path.read_bytes().split(b"\n")
            missed = {line for line in whole if len(line) <= 60} - self.yielded
            assert not missed, f"{path.name}: {missed}"

    @rule(rounds=st.integers(1, 2))
    def read_a_little(self, rounds: int) -> None:
        self.yielded.update(self.reader.read(now_ms=self._now_ms(), rounds=rounds))

    @rule()
    def pause(self) -> None:
        self.plans.append(self.reader.plan(now_ms=self._now_ms()))

    @precondition(lambda self: self.plans)
    @rule()
    def go_on(self) -> None:
        self.yielded.update(self.reader.read(self.plans.pop(0)))
        # Discard the other pending plans: runs of a source never overlap, so no plan may be older than the saved positions.
        self.plans.clear()

    @rule(saved=st.booleans())
    def restart(self, *, saved: bool) -> None:
        """End the process after it has read, with or without saving its positions."""
        before = dict(self.reader.saved)
        self.read()
        if not saved:
            self.reader.saved = before
        self.reader.restart()

    def _now_ms(self) -> int:
        return self.mtime_ns // 1_000_000

    @invariant()
    def every_line_that_was_yielded_stood_there_whole(self) -> None:
        assert self.yielded <= self.ever_whole

    @invariant()
    def no_rest_was_handed_out_while_the_file_is_young(self) -> None:
        assert not self.reader.rests


@pytest.mark.soak
def test_in_any_sequence_of_operations_every_whole_line_is_read(seed: str) -> None:
    class More(Following):
        """A state machine to run with another seed."""

    many = settings(max_examples=1_000, stateful_step_count=60, deadline=None)
    run_state_machine_as_test(hypothesis.seed(seed)(More), settings=many)


Following.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestWhateverIsDoneEveryWholeLineIsReadAndNeverHalfOfOne = Following.TestCase
