"""Event logs in a zip archive, as the history server exports them, and archives that must not be read."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from extractors.spark import archives, spark_events
from tests.support.spark_logs import (
    NOW_MS,
    Follower,
    application,
    application_end,
    end,
    insert,
    lines,
    log_start,
    read_once,
    scan,
    start,
)

COPY = insert("/w/b", scan("db.a"), table="db.b")
BEGINNING = lines(log_start(), application())
LOG = BEGINNING + lines(start(0, COPY), end(0), application_end())
FLOWS = {("db.a", "INSERT_OVERWRITE", "db.b")}
NAME = "application_1_0001"


def zipped(members: dict[str, bytes]) -> bytes:
    """Make an archive as the history server does, with an entry for each directory."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted({f"{each.rpartition('/')[0]}/" for each in members if "/" in each}):
            archive.writestr(name, b"")
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def put(directory: Path, data: bytes, name: str = f"eventLogs-{NAME}.zip") -> Path:
    path = directory / name
    path.write_bytes(data)
    return path


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def directory_of(log: Path) -> dict[str, bytes]:
    """Map the files of a log, by their names in an archive, to their contents."""
    files = [log] if log.is_file() else [each for each in log.iterdir() if not each.name.startswith(".")]
    return {str(each.relative_to(log.parent)): each.read_bytes() for each in files}


@pytest.mark.parametrize(
    "form", ["default", "plain", "codecs/lz4", "codecs/snappy", "codecs/lzf", "codecs/zstd"]
)
def test_a_real_log_reads_the_same_inside_an_archive(form: str, spark_logs: Path, tmp_path: Path) -> None:
    [log] = [each for each in (spark_logs / form).iterdir() if not each.name.startswith(".")]
    put(tmp_path, zipped(directory_of(log)))
    found, expected = read_once(tmp_path), read_once(spark_logs / form)
    assert found.everything() == expected.everything()
    assert len(found.executions) == 18


@pytest.mark.parametrize(
    "members",
    [
        {NAME: LOG},
        {f"{NAME}.zstd": zstd(LOG)},
        {f"eventlog_v2_{NAME}/events_1_{NAME}": BEGINNING, f"eventlog_v2_{NAME}/events_2_{NAME}": LOG[len(BEGINNING):]},
        {f"eventlog_v2_{NAME}/appstatus_{NAME}": b"", f"eventlog_v2_{NAME}/events_1_{NAME}.zstd": zstd(LOG)},
        {f"{NAME}.inprogress": LOG},
    ],
)  # fmt: skip
def test_every_log_format_is_read_inside_an_archive(members: dict[str, bytes], tmp_path: Path) -> None:
    put(tmp_path, zipped(members))
    found = read_once(tmp_path)
    assert (found.flows, found.rejects) == (FLOWS, [])
    assert [each.attributes["jobId"] for each in found.executions] == [NAME]


def test_the_logs_of_all_attempts_are_read(tmp_path: Path) -> None:
    second = LOG.replace(b'"db"', b'"other"').replace(b"`db`", b"`other`").replace(b"db.", b"other.")
    put(tmp_path, zipped({f"{NAME}_1": LOG, f"{NAME}_2": second}))
    assert read_once(tmp_path).flows == FLOWS | {("other.a", "INSERT_OVERWRITE", "other.b")}


def test_an_archive_is_recognized_by_its_first_bytes(tmp_path: Path) -> None:
    put(tmp_path, zipped({NAME: LOG}), name="download")
    assert read_once(tmp_path).flows == FLOWS


def test_an_archive_is_read_once_and_again_if_replaced(tmp_path: Path) -> None:
    path = put(tmp_path, zipped({NAME: BEGINNING}))
    follower = Follower(tmp_path)
    assert follower.poll().flows == set()
    assert follower.plan() == ()
    path.write_bytes(zipped({NAME: LOG}))
    assert follower.poll().flows == FLOWS
    assert follower.plan() == ()


def test_an_archive_read_in_many_steps_gives_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_events, "SPLIT_BYTES", 1_000)
    monkeypatch.setattr("extractors.spark.codecs.PLAIN_BYTES", 500)
    executions = [event for number in range(20) for event in (start(number, COPY), end(number))]
    more = lines(start(20, COPY), end(20))
    put(tmp_path, zipped({f"{NAME}_1": BEGINNING + lines(*executions), f"{NAME}_2": BEGINNING + more}))
    follower = Follower(tmp_path)
    found = follower.poll()
    assert len(found.executions) == 21
    assert 3 < follower.splits < 12, "each read is as long as all before it"


# -- Archives that are not read ---------------------------------------------------------------------------------------


def encrypted() -> bytes:
    data = bytearray(zipped({NAME: LOG}))
    # The encryption flag is at offset 8 of the entry in the central directory.
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def of_one_name() -> bytes:
    return zipped({f"{NAME}_1": LOG, f"{NAME}_2": LOG}).replace(b"0001_2", b"0001_1")


def claiming(size: int) -> bytes:
    """Return an archive whose end record claims another size of the central directory."""
    data = bytearray(zipped({NAME: LOG}))
    at = data.rindex(b"PK\x05\x06") + 12
    data[at : at + 4] = size.to_bytes(4, "little")
    return bytes(data)


UNREADABLE: dict[str, tuple[Callable[[], bytes], str]] = {
    "truncated": (lambda: zipped({NAME: LOG})[:-30], "not read as a zip archive: File is not a zip file"),
    "of something else": (lambda: LOG, "not read as a zip archive: File is not a zip file"),
    "of no bytes": (lambda: b"", "not read as a zip archive: File is not a zip file"),
    "empty": (lambda: zipped({}), "a zip archive without an event log"),
    "of another thing": (lambda: zipped({"a/b/c.txt": b"x"}), "a zip archive without an event log"),
    "with a way out": (lambda: zipped({f"../{NAME}": LOG}), "lies outside of it"),
    "with an absolute name": (lambda: zipped({f"/etc/{NAME}": LOG}), "lies outside of it"),
    "nested": (lambda: zipped({"inner.zip": zipped({NAME: LOG})}), "within a zip archive, inner.zip: take it out"),
    "encrypted": (encrypted, f"whose file {NAME} is encrypted"),
    "of one name twice": (of_one_name, "a zip archive with two files of one name"),
    "of many files": (lambda: zipped({f"app_{each}": b"" for each in range(10_001)}), "of 10001 files: 10000 at most"),
    "a bomb": (lambda: zipped({NAME: b"\0" * 300_000_000}), "out of which 300000000 would come"),
    "a large table of contents": (lambda: b"\0" * 9_000_000 + claiming(8_999_999), "contents has 8999999 bytes"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREADABLE)
def test_an_unreadable_archive_is_one_reject_with_the_reason(name: str, tmp_path: Path) -> None:
    make, reason = UNREADABLE[name]
    path = put(tmp_path, make())
    put(tmp_path, LOG, name="application_1_0002")
    follower = Follower(tmp_path)
    found = follower.poll()
    [reject] = found.rejects
    assert (reject.place, reject.offset) == (str(path), -1)
    assert reason in reject.reason
    assert found.flows == FLOWS, "the log next to it"
    assert follower.plan() == (), "it is not read again and again"


def test_an_incomplete_download_is_waited_for(tmp_path: Path) -> None:
    data = zipped({NAME: LOG})
    path = put(tmp_path, data[:-30])
    os.utime(path, (NOW_MS / 1000, NOW_MS / 1000))
    follower = Follower(tmp_path)
    assert follower.poll(NOW_MS + 1_000).rejects == []
    path.write_bytes(data)
    os.utime(path, (NOW_MS / 1000 + 2, NOW_MS / 1000 + 2))
    found = follower.poll(NOW_MS + 3_000)
    assert (found.flows, found.rejects) == (FLOWS, [])


def test_a_truncated_download_is_rejected_after_a_minute(tmp_path: Path) -> None:
    path = put(tmp_path, zipped({NAME: LOG})[:-30])
    os.utime(path, (NOW_MS / 1000, NOW_MS / 1000))
    follower = Follower(tmp_path)
    follower.poll(NOW_MS + 59_000)
    assert len(follower.poll(NOW_MS + 60_000).rejects) == 1


@pytest.mark.parametrize("at", [60, -400])
def test_a_damaged_member_is_rejected_and_the_next_is_read(at: int, tmp_path: Path) -> None:
    data = bytearray(zipped({f"{NAME}_1": LOG, f"{NAME}_2": LOG}))
    first = data.index(b"PK\x03\x04", 4)  # start of the second entry
    place = at if at > 0 else first + at
    data[place : place + 40] = bytes(40)
    put(tmp_path, bytes(data))
    found = read_once(tmp_path)
    assert len([each for each in found.rejects if each.reason.startswith("damaged: ")]) == 1
    assert found.flows == FLOWS


def test_a_changed_member_is_detected_by_its_checksum(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(NAME, LOG)
    put(tmp_path, made.getvalue().replace(b"SQLExecutionEnd", b"SQLExecutionNed"))
    [reject] = read_once(tmp_path).rejects
    assert reject.reason == f"damaged: Bad CRC-32 for file '{NAME}'"


def test_overlapping_members_are_refused_by_their_total_size() -> None:
    members = [zipfile.ZipInfo(f"app_{each}") for each in range(10)]
    for each in members:
        each.compress_size, each.file_size = 1_000_000, 99_000_000
    with pytest.raises(archives.NotReadable, match="out of which 990000000 would come"):
        archives.check(members, archive_bytes=1_000_100)
