"""Files of other hosts: ranges are taken only where they continue a file, and the room of a host is bounded."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

import pytest

from navlin.forward.host_files import KEEP_S, DoesNotFollow, HostFiles, NoRoom, safe_name
from tests.openlineage.test_openlineage_door import at_most
from tests.support.other_hosts import EMPTY, digest

ONE, TWO, THREE = "a1-00000001", "a2-00000002", "a3-00000003"
SOURCE = "IMPALA-1"


class Kept:
    """A spool with a clock that a test sets, and the set of paths that count as read."""

    def __init__(self, root: Path, host_bytes: int = 1_000) -> None:
        self.now_s, self.read, self.lost = 1_700_000_000.0, set[str](), list[tuple[str, int, int]]()
        self.files = HostFiles(
            root, self._read_to_end, lambda *each: self.lost.append(each), lambda: self.now_s, host_bytes
        )
        self.top = root / "hosts" / "one" / SOURCE

    def _read_to_end(self, sizes_bytes: Mapping[str, int]) -> Collection[str]:
        return self.read & sizes_bytes.keys()

    def put(self, file_id: str, data: bytes, name: str, *, before: bytes = b"") -> None:
        self.files.append("one", SOURCE, file_id, len(before), digest(before[-4096:]), data)
        self.files.rename("one", SOURCE, file_id, name)

    def names(self) -> dict[str, bytes]:
        found = (each for each in self.top.rglob("*") if each.is_file())
        return {str(each.relative_to(self.top)): each.read_bytes() for each in found}


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_a_range_is_appended_only_at_the_end_and_after_the_same_bytes(kept: Kept) -> None:
    append = kept.files.append
    assert append("one", SOURCE, ONE, 0, EMPTY, b"hello ") == 6
    assert append("one", SOURCE, ONE, 6, digest(b"hello "), b"world") == 11
    for offset, mark in ((0, EMPTY), (6, digest(b"hello ")), (11, digest(b"other bytes")), (99, EMPTY)):
        with pytest.raises(DoesNotFollow) as refused:
            append("one", SOURCE, ONE, offset, mark, b"x")
        assert (refused.value.size, refused.value.mark) == (11, digest(b"hello world"))
    with pytest.raises(DoesNotFollow) as unknown:
        append("two", SOURCE, ONE, 11, digest(b"hello world"), b"x")
    assert (unknown.value.size, unknown.value.mark) == (0, EMPTY)
    kept.files.rename("one", SOURCE, ONE, "log")
    assert kept.names() == {"log": b"hello world"}


def test_extractors_see_a_file_only_under_the_name_that_is_told(kept: Kept) -> None:
    kept.files.append("one", SOURCE, ONE, 0, EMPTY, b"half of it")
    assert kept.names() == {}
    kept.files.rename("one", SOURCE, ONE, "eventlog_v2_app/events_1_app")
    assert kept.names() == {"eventlog_v2_app/events_1_app": b"half of it"}
    with pytest.raises(FileNotFoundError):
        kept.files.rename("one", SOURCE, TWO, "log")


def test_a_file_that_is_gone_before_its_name_is_told_is_read_under_its_id(kept: Kept) -> None:
    kept.files.append("one", SOURCE, ONE, 0, EMPTY, b"half of it")
    kept.files.gone("one", SOURCE, ONE)
    assert kept.names() == {f"n_{ONE}": b"half of it"}


def test_rotated_files_keep_their_content_under_their_new_names(kept: Kept) -> None:
    kept.put(ONE, b"first", "log")
    kept.put(TWO, b"second", "log")
    assert kept.names() == {f"log~{ONE}": b"first", "log": b"second"}
    kept.files.rename("one", SOURCE, ONE, "log.1")
    kept.put(THREE, b"third", "log")
    kept.files.rename("one", SOURCE, ONE, "log.2")
    kept.files.rename("one", SOURCE, TWO, "log.1")
    assert kept.names() == {"log.2": b"first", "log.1": b"second", "log": b"third"}


def test_a_file_is_not_overwritten_by_one_that_makes_room_for_another(kept: Kept) -> None:
    kept.put(ONE, b"first", "log")
    kept.put(TWO, b"second", f"log~{ONE}")
    kept.files.rename("one", SOURCE, TWO, "log")
    assert kept.names() == {f"log~{ONE}~2": b"first", "log": b"second"}


def test_a_file_and_a_folder_of_one_name_are_both_kept(kept: Kept) -> None:
    kept.put(ONE, b"file", "a")
    kept.put(TWO, b"inside", "a/b")
    kept.put(THREE, b"inside", "c/d")
    kept.put("a4-00000004", b"file", "c")
    assert sorted(kept.names().values()) == [b"file", b"file", b"inside", b"inside"]
    assert {"a", "c/d"} < kept.names().keys()


def test_the_list_of_files_shows_sizes_and_hashes_but_no_content(kept: Kept) -> None:
    kept.put(ONE, b"content", "log")
    kept.files.gone("one", SOURCE, ONE)
    assert kept.files.files("one") == [
        {
            "id": ONE,
            "source": SOURCE,
            "name": "log",
            "inode": 0xA1,
            "size": 7,
            "head": digest(b"content"),
            "head_bytes": 7,
            "mark": digest(b"content"),
            "gone": True,
        }
    ]
    assert kept.files.files("two") == []


@pytest.mark.parametrize(
    "name",
    [
        "../../../etc/cron.d/x", "..", ".", "", "/etc/passwd", "a/../../b", "a/b/c", "a\0b", "a\nb", "-rf", ".hidden",
        "x" * 300, "ümlaut", "con\\x", "a/", "/a", " blank", "a/.ids",
    ],
)  # fmt: skip
def test_an_unusable_name_becomes_a_hash(name: str) -> None:
    assert safe_name(name).startswith("n_")
    assert len(safe_name(name)) == 26


@pytest.mark.parametrize(
    "file_id", ["..", "a1", "a1-0000000", "zz-00000001", "../a1-00000001", "a1-00000001.gone"]
)
def test_an_invalid_id_is_refused(kept: Kept, file_id: str) -> None:
    with pytest.raises(ValueError, match="not the id of a file"):
        kept.files.append("one", SOURCE, file_id, 0, EMPTY, b"x")


def test_a_file_is_removed_a_week_after_it_was_found_gone_and_read(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("navlin.forward.host_files.RELEASED_S", 0.0)
    kept.put(ONE, b"read", "read")
    kept.put(TWO, b"unread", "unread")
    kept.put(THREE, b"still there", "there")
    kept.read = {str(kept.top / "read"), str(kept.top / "there")}
    for each in (ONE, TWO):
        kept.files.gone("one", SOURCE, each)
    kept.files.release("one")
    kept.now_s += KEEP_S - 1
    kept.files.release("one")
    assert kept.names().keys() == {"read", "unread", "there"}
    kept.now_s += 1
    kept.files.release("one")
    assert kept.names().keys() == {"unread", "there"}
    assert {each["id"] for each in kept.files.files("one")} == {TWO, THREE}
    assert kept.lost == []


def test_a_gone_file_that_grows_again_is_not_gone(kept: Kept) -> None:
    kept.put(ONE, b"one", "log")
    kept.files.gone("one", SOURCE, ONE)
    kept.put(ONE, b" more", "log", before=b"one")
    (file,) = kept.files.files("one")
    assert (file["gone"], kept.names()) == (False, {"log": b"one more"})


def test_a_host_over_its_quota_is_refused_and_others_are_not(kept: Kept) -> None:
    kept.put(ONE, b"x" * 900, "log")
    with pytest.raises(NoRoom, match="900 bytes"):
        kept.put(TWO, b"x" * 101, "more")
    kept.files.append("two", SOURCE, TWO, 0, EMPTY, b"x" * 101)
    assert kept.files.used("one") == (900, 1)
    assert kept.lost == []


def test_room_is_made_by_files_that_were_read_and_then_by_the_oldest_that_are_gone(kept: Kept) -> None:
    for number, (file_id, name) in enumerate(((ONE, "read"), (TWO, "older"), (THREE, "newer"))):
        kept.put(file_id, b"x" * 300, name)
        os.utime(kept.top / name, (number, number))
        kept.files.gone("one", SOURCE, file_id)
    kept.read = {str(kept.top / "read")}
    kept.put("a4-00000004", b"y" * 300, "first")
    assert kept.names().keys() == {"older", "newer", "first"}
    assert kept.lost == []
    kept.put("a5-00000005", b"y" * 300, "second")
    assert kept.names().keys() == {"newer", "first", "second"}
    assert kept.lost == [("one", 1, 300)]


def test_a_partly_written_range_is_rolled_back(kept: Kept) -> None:
    kept.put(ONE, b"one\n", "log")
    with at_most(10), pytest.raises(OSError, match="too large"):
        kept.files.append("one", SOURCE, ONE, 4, digest(b"one\n"), b"two and more")
    kept.put(ONE, b"two\n", "log", before=b"one\n")
    assert kept.names() == {"log": b"one\ntwo\n"}
