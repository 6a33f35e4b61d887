"""Event logs in every form and codec, while they grow, roll, are compacted, finished, truncated and damaged."""

from __future__ import annotations

import gzip
import os
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

from extractors.lineage.listed_files import NothingToFollow
from extractors.spark.codecs import Damaged, codec_of, pieces
from extractors.spark.places import LocalPlace
from extractors.spark.spark_events import SPLIT_BYTES
from navlin.model.records import Position
from tests.services.spark_jobs import CODECS
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
    write_log,
)

COPY = insert("/w/b", scan("db.a"), table="db.b")
BEGINNING = lines(log_start(), application())


@pytest.fixture(scope="session")
def plain_log(spark_logs: Path) -> Path:
    """The single, uncompressed log of the real job."""
    [path] = [path for path in (spark_logs / "plain").iterdir() if not path.name.startswith(".")]
    return path


def gz(data: bytes) -> bytes:
    return gzip.compress(data, mtime=0)


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=1).compress(data)


def frames(compress: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    """Return a compressor that writes many frames, as Spark's flushes do. Frames may end in the middle of a line."""

    def in_frames(data: bytes) -> bytes:
        return b"".join(compress(data[at : at + 7_001]) for at in range(0, len(data), 7_001))

    return in_frames


MADE_HERE: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gz,
    "gzip members": frames(gz),
    "zstd": zstd,
    "zstd frames": frames(zstd),
}


# -- Logs that have lost their beginning ------------------------------------------------------------------------------

BODY = lines(start(0, COPY), end(0), application_end())
"""A log without its beginning: it lacks the name, the id and the user of the application."""


def test_logs_without_a_beginning_are_distinguished_by_file_name(tmp_path: Path) -> None:
    for name in ("application_1_0001", "application_1_0002", "application_1_0002_2", "local-1623876083964"):
        (tmp_path / name).write_bytes(BODY)
    extracted = read_once(tmp_path)
    assert {each.key.name for each in extracted.executions} == {
        "application_1_0001-exec.0",
        "application_1_0002-exec.0",
        "application_1_0002_2-exec.0",
        "local-1623876083964-exec.0",
    }
    assert {(each.attributes["jobId"], each.attributes["attempt"]) for each in extracted.executions} == {
        ("application_1_0001", ""),
        ("application_1_0002", ""),
        ("application_1_0002", "2"),
        ("local-1623876083964", ""),
    }


def _put(data: bytes, *path: str) -> Callable[[Path], None]:
    def put(folder: Path) -> None:
        target = folder.joinpath(*path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    return put


ONE_LOG: dict[str, tuple[str, list[Callable[[Path], None]]]] = {
    # form → (the run that all of its file names identify, functions that each write one of the files)
    "a single log, running, finished and compressed": (
        "application_1_0001_2",
        [
            _put(BODY, "application_1_0001_2.inprogress"),
            _put(BODY, "application_1_0001_2"),
            _put(zstd(BODY), "application_1_0001_2.zstd"),
            _put(zstd(BODY), "application_1_0001_2.zstd.inprogress"),
            _put(gz(BODY), "application_1_0001_2.gz"),
            _put(BODY, "application_1_0001_2.lz4"),
        ],
    ),
    "a rolling log": (
        "application_1_0001",
        [
            _put(BODY, "eventlog_v2_application_1_0001", "events_1_application_1_0001"),
            _put(zstd(BODY), "eventlog_v2_application_1_0001", "events_1_application_1_0001.zstd"),
            _put(BODY, "eventlog_v2_application_1_0001", "events_2_application_1_0001"),
            _put(BODY, "eventlog_v2_application_1_0001", "events_2_application_1_0001.compact"),
            _put(BODY, "application_1_0001"),
        ],
    ),
    "Databricks' files": (
        "7853927343461467",
        [
            _put(BODY, "7853927343461467", "eventlog"),
            _put(gz(BODY), "7853927343461467", "eventlog-2026-01-01--00-00.gz"),
        ],
    ),
    "a name that says nothing": ("driver", [_put(BODY, "driver.inprogress"), _put(gz(BODY), "driver.gz")]),
}


@pytest.mark.parametrize("form", ONE_LOG)
def test_a_log_without_a_beginning_keeps_its_execution_under_all_its_names(tmp_path: Path, form: str) -> None:
    run, names = ONE_LOG[form]
    follower = Follower(tmp_path)
    for number, put in enumerate(names):
        put(tmp_path)
        extracted = follower.poll()
        assert {each.key.name for each in extracted.executions} == {f"{run}-exec.0"}, number
        assert len({each.key.identity for each in extracted.executions}) == 1
        for path in tmp_path.iterdir():
            if path.is_file() and number % 2:
                path.unlink()


def test_logs_with_meaningless_names_are_distinguished_by_path(tmp_path: Path) -> None:
    for folder in ("blue", "green"):
        _put(BODY, folder, "eventlog")(tmp_path)
    _put(BODY, "driver")(tmp_path)
    names = {each.key.name for each in read_once(tmp_path).executions}
    assert names == {"blue/eventlog-exec.0", "green/eventlog-exec.0", "driver-exec.0"}
    # The location of the directory does not affect the names.
    tmp_path.rename(moved := tmp_path.with_name("moved"))
    assert {each.key.name for each in read_once(moved).executions} == names


def test_the_application_id_in_a_log_takes_precedence_over_its_file_name(tmp_path: Path) -> None:
    write_log(tmp_path, log_start(), application(attempt="3"), start(0, COPY), end(0), name="kept_7.zstd")
    [execution] = read_once(tmp_path).executions
    assert execution.key.name == "application_1_0001_3-exec.0"


def test_an_application_without_an_id_is_named_by_its_log(tmp_path: Path) -> None:
    unnamed = {key: value for key, value in application().items() if key != "App ID"}
    write_log(tmp_path, log_start(), unnamed, start(0, COPY), end(0), name="application_1_0009_2")
    [execution] = read_once(tmp_path).executions
    assert execution.key.name == "application_1_0009_2-exec.0"
    assert execution.attributes["operation"] == "nightly"


# -- All forms give the same result -----------------------------------------------------------------------------------


def test_sparks_default_format_and_a_plain_log_read_the_same(spark_logs: Path) -> None:
    assert next((spark_logs / "default").iterdir()).name.startswith("eventlog_v2_")
    assert read_once(spark_logs / "default").lineage() == read_once(spark_logs / "plain").lineage()


@pytest.mark.parametrize("codec", CODECS)
def test_every_spark_codec_reads_the_same(spark_logs: Path, codec: str) -> None:
    [path] = (spark_logs / "codecs" / codec).iterdir()
    assert codec_of(path.read_bytes()[:8]) == codec
    extracted = read_once(path.parent)
    assert extracted.everything() == read_once(spark_logs / "plain").everything()
    assert not extracted.rejects


@pytest.mark.parametrize("form", MADE_HERE)
def test_the_codec_is_detected_from_the_bytes_not_the_name(
    plain_log: Path, tmp_path: Path, form: str
) -> None:
    (tmp_path / "app-1.lz4").write_bytes(MADE_HERE[form](plain_log.read_bytes()))
    assert read_once(tmp_path).everything() == read_once(plain_log.parent).everything()


def rolled(folder: Path, data: bytes, parts: int, compress: Callable[[bytes], bytes] = bytes) -> list[Path]:
    """Write a finished rolling log that consists of ``parts`` files of whole lines. Return the paths of the files."""
    folder = folder / "eventlog_v2_app-1"
    folder.mkdir(parents=True)
    (folder / "appstatus_app-1").touch()
    each = data.splitlines(keepends=True)
    size = -(-len(each) // parts)
    paths = []
    for number in range(parts):
        path = folder / f"events_{number + 1}_app-1"
        path.write_bytes(compress(b"".join(each[number * size : (number + 1) * size])))
        (folder / f".{path.name}.crc").write_bytes(b"crc\0")
        paths.append(path)
    return paths


@pytest.mark.parametrize("compress", [bytes, zstd])
def test_a_rolled_log_is_read_in_numeric_order(
    plain_log: Path, tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    rolled(tmp_path, plain_log.read_bytes(), 12, compress)
    assert read_once(tmp_path).everything() == read_once(plain_log.parent).everything()


def test_a_compacted_part_replaces_all_up_to_its_number(tmp_path: Path) -> None:
    first, second, third = rolled(
        tmp_path, BEGINNING + lines(start(0, COPY), end(0), start(1, COPY), end(1)), 3
    )
    compact = BEGINNING + lines(start(1, COPY))
    second.with_name(f"{second.name}.compact").write_bytes(compact)
    extracted = read_once(tmp_path)
    assert [each.key.name for each in extracted.executions] == ["application_1_0001-exec.1"]
    assert not extracted.rejects
    first.unlink()
    second.unlink()
    assert read_once(tmp_path).everything() == extracted.everything()
    assert third.exists()


def test_a_log_compacted_while_followed_loses_nothing(tmp_path: Path) -> None:
    data = BEGINNING + lines(start(0, COPY), end(0), start(1, COPY))
    paths = rolled(tmp_path, data, 2)
    status = paths[0].with_name("appstatus_app-1")
    status.rename(running := status.with_name("appstatus_app-1.inprogress"))
    follower = Follower(tmp_path)
    assert len(follower.poll().executions) == 1
    paths[1].with_name(f"{paths[1].name}.compact").write_bytes(BEGINNING + lines(start(1, COPY)))
    for path in paths:
        path.unlink()
    paths[1].with_name("events_3_app-1").write_bytes(lines(end(1), application_end()))
    running.rename(status)
    extracted = follower.poll()
    assert {each.key.name: each.attributes["status"] for each in extracted.executions} == {
        "application_1_0001-exec.0": "SUCCEEDED",
        "application_1_0001-exec.1": "SUCCEEDED",
    }
    assert not extracted.rejects


def test_a_databricks_folder_is_one_log_with_the_bare_name_last(plain_log: Path, tmp_path: Path) -> None:
    each = plain_log.read_bytes().splitlines(keepends=True)
    folder = tmp_path / "cluster-1"
    folder.mkdir()
    (folder / "eventlog-2024-02-13--19-00.gz").write_bytes(gz(b"".join(each[:50])))
    (folder / "eventlog-2024-02-13--20-00.gz").write_bytes(gz(b"".join(each[50:100])))
    (folder / "eventlog").write_bytes(b"".join(each[100:]))
    assert read_once(tmp_path).everything() == read_once(plain_log.parent).everything()


def test_files_that_are_not_event_logs_are_ignored(tmp_path: Path) -> None:
    write_log(tmp_path, log_start(), application(), start(0, COPY), end(0))
    (tmp_path / ".application_1_0001.crc").write_bytes(b"crc\0")
    (tmp_path / "application_1_0002.inprogress").touch()
    (tmp_path / "some directory").mkdir()
    extracted = read_once(tmp_path)
    assert len(extracted.executions) == 1
    assert not extracted.rejects


def test_an_unlistable_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(NothingToFollow, match=r"cannot list the event logs: .*nowhere"):
        Follower(tmp_path / "nowhere").plan()


# -- Following --------------------------------------------------------------------------------------------------------


def followed(
    folder: Path, data: bytes, chance: random.Random, step_bytes: tuple[int, ...], **settings: Any
) -> Follower:
    """Poll a growing ``.inprogress`` log after each step, and again once the log is finished."""
    folder.mkdir()
    path = folder / "app-1.inprogress"
    follower = Follower(folder, **settings)
    at, now_ms = 0, NOW_MS
    with path.open("ab", buffering=0) as log:
        while at < len(data):
            step = chance.choice(step_bytes)
            log.write(data[at : at + step])
            at += step
            now_ms += 60_000
            follower.poll(now_ms)
    path.rename(folder / "app-1")
    follower.poll(now_ms)
    assert not follower.plan(now_ms)
    return follower


def _compressed(spark_logs: Path, plain_log: Path) -> Iterator[tuple[str, bytes]]:
    for codec in CODECS:
        yield codec, next((spark_logs / "codecs" / codec).iterdir()).read_bytes()
    for form, compress in MADE_HERE.items():
        yield form, compress(plain_log.read_bytes())


def test_a_growing_log_reads_the_same_in_any_steps(spark_logs: Path, plain_log: Path, tmp_path: Path) -> None:
    whole = read_once(spark_logs / "plain").everything()
    for form, data in _compressed(spark_logs, plain_log):
        for seed in range(3):
            folder = tmp_path / f"{form} {seed}"
            follower = followed(folder, data, random.Random(seed), (1, 37, 4_000, 50_000, 200_000))
            assert follower.extracted.everything() == whole, (form, seed)
            shutil.rmtree(folder)


def test_a_rolling_log_may_grow_and_roll_between_polls(plain_log: Path, tmp_path: Path) -> None:
    whole = read_once(plain_log.parent).everything()
    data = plain_log.read_bytes()
    for seed in range(4):
        chance = random.Random(seed)
        folder = tmp_path / str(seed) / "eventlog_v2_app-1"
        folder.mkdir(parents=True)
        status = folder / "appstatus_app-1.inprogress"
        status.touch()
        follower, number, at = Follower(folder.parent), 1, 0
        while at < len(data):
            stop = at + chance.choice([100, 9_000, 60_000])
            if roll := chance.random() < 0.2:
                stop = data.find(b"\n", stop) + 1 or len(data)
            with (folder / f"events_{number}_app-1").open("ab") as log:
                log.write(data[at:stop])
            at, number = stop, number + roll
            follower.poll()
        status.rename(folder / "appstatus_app-1")
        assert follower.poll().everything() == whole
        assert not follower.plan()


def test_a_poll_reads_only_new_bytes_and_the_starts_of_ended_executions(tmp_path: Path) -> None:
    padding = lines({"Event": "SparkListenerTaskEnd", "x": "y" * 100_000})
    path = write_log(tmp_path, log_start(), application(), start(0, COPY), name="app.inprogress")
    with path.open("ab") as log:
        log.write(padding)
    follower = Follower(tmp_path)
    follower.poll()
    size = path.stat().st_size
    # The overwritten range is after the bytes that identify the log and contains no start of an open execution, so
    # it is not read again.
    with path.open("r+b") as log:
        log.seek(size - 10_000)
        log.write(b"\n" * 10_000)
        log.write(lines(end(0)))
    extracted = follower.poll()
    assert len(extracted.executions) == 1
    [value] = follower.saved.values()
    assert value["mark"] == ["app", size + len(lines(end(0))), 0]


def test_an_open_execution_is_stored_as_an_offset_not_as_its_plan(tmp_path: Path) -> None:
    large = insert("/w/b", *(scan(f"db.t{number}") for number in range(500)), table="db.b")
    write_log(tmp_path, log_start(), application(), start(0, large), name="app.inprogress")
    follower = Follower(tmp_path)
    follower.poll()
    [value] = follower.saved.values()
    assert len(str(value)) < 1_000


def test_a_poll_without_changes_opens_no_file(
    spark_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, path in enumerate(sorted((spark_logs / "codecs").glob("*/*"))):
        shutil.copy2(path, tmp_path / f"app-{number}")
    shutil.copytree(next((spark_logs / "default").iterdir()), tmp_path / "eventlog_v2_app-9")
    follower = Follower(tmp_path)
    assert len(follower.poll().executions) > 10
    monkeypatch.delattr(LocalPlace, "open")
    assert follower.plan() == ()


def test_a_complete_plan_reads_everything_again(tmp_path: Path) -> None:
    write_log(tmp_path, log_start(), application(), start(0, COPY), end(0))
    follower = Follower(tmp_path)
    follower.poll()
    assert not follower.plan()
    assert len(follower.plan(complete=True)) == 1


def test_a_different_log_of_the_same_name_is_read_from_its_beginning(tmp_path: Path) -> None:
    write_log(tmp_path, log_start(), application("one"), start(0, COPY), end(0))
    follower = Follower(tmp_path)
    follower.poll()
    write_log(tmp_path, log_start(), application("two"), start(0, COPY), end(0), start(1, COPY), end(1))
    extracted = follower.poll()
    assert {each.attributes["originalName"] for each in extracted.operations} == {"one", "two"}


def test_a_log_renamed_as_finished_between_plan_and_read_is_read(tmp_path: Path) -> None:
    path = write_log(tmp_path, log_start(), application(), start(0, COPY), end(0), name="app.inprogress")
    follower = Follower(tmp_path)
    [split] = follower.plan()
    path.rename(tmp_path / "app")
    assert len(list(follower.extractor.read(split))) > 3


def test_positions_of_removed_logs_are_forgotten_after_a_week(tmp_path: Path) -> None:
    path = write_log(tmp_path, log_start(), application(), start(0, COPY), end(0))
    follower = Follower(tmp_path)
    follower.poll()
    modified_ms = path.stat().st_mtime_ns // 1_000_000
    path.unlink()
    follower.plan(modified_ms + 86_400_000)
    assert follower.saved
    follower.plan(modified_ms + 8 * 86_400_000)
    assert not follower.saved


def test_a_long_unfinished_frame_is_polled_less_often(tmp_path: Path) -> None:
    path = tmp_path / "app.inprogress"
    compressor = zstandard.ZstdCompressor().compressobj()
    padding = lines({"Event": "SparkListenerTaskEnd", "x": "y" * 1000}) * 40_000
    path.write_bytes(
        compressor.compress(BEGINNING + padding + lines(start(0, COPY)))
        + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK)
    )
    follower = Follower(tmp_path)
    follower.poll(NOW_MS)
    with path.open("ab") as log:
        log.write(compressor.compress(lines(end(0))) + compressor.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK))
    assert not follower.plan(NOW_MS + 500)
    assert len(follower.poll(NOW_MS + 1_000).executions) == 1


# -- Bounds -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compress", [bytes, zstd])
def test_a_large_log_read_in_several_splits_gives_the_same(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    padding = lines({"Event": "SparkListenerTaskEnd", "x": "y" * 4_000}) * (SPLIT_BYTES * 2 // 3 // 4_000)
    data = b"".join(
        (
            BEGINNING,
            lines(start(0, COPY)),
            padding,
            lines(start(1, COPY)),
            padding,
            lines(end(1), end(0)),
            padding,
        )
    )
    (tmp_path / "app").write_bytes(compress(data))
    follower = Follower(tmp_path)
    extracted = follower.poll()
    assert follower.splits > 1
    assert {each.key.name[-1] for each in extracted.executions} == {"0", "1"}
    assert extracted.flows == {("db.a", "INSERT_OVERWRITE", "db.b")}
    assert not extracted.rejects


def test_a_partly_read_log_is_planned_again(tmp_path: Path) -> None:
    padding = lines({"Event": "SparkListenerTaskEnd", "x": "y" * 4_000}) * (SPLIT_BYTES // 3_000)
    (tmp_path / "app").write_bytes(BEGINNING + padding + lines(start(0, COPY), end(0)))
    follower = Follower(tmp_path)
    [split] = follower.plan()
    [position] = [each for each in follower.extractor.read(split) if isinstance(each, Position)]
    follower.saved[position.key] = position.value
    assert len(follower.poll().executions) == 1


def test_a_line_beyond_the_limit_is_skipped_and_rejected_with_its_offset(tmp_path: Path) -> None:
    long = lines(start(0, scan("db.a"), details="x" * 3_000_000))
    (tmp_path / "app").write_bytes(BEGINNING + long + lines(start(1, COPY), end(1)))
    extracted = read_once(tmp_path, max_line_bytes=1_000_000)
    assert [(each.reason, each.offset) for each in extracted.rejects] == [
        ("the line is longer than 1000000 bytes", len(BEGINNING))
    ]
    assert [each.key.name[-1] for each in extracted.executions] == ["1"]


def test_a_line_beyond_the_limit_may_grow_over_many_polls(tmp_path: Path) -> None:
    long = lines(start(0, scan("db.a"), details="x" * 600_000))
    follower = followed(
        tmp_path / "logs",
        BEGINNING + long + lines(start(1, COPY), end(1)),
        random.Random(1),
        (50_000,),
        max_line_bytes=100_000,
    )
    assert [each.reason for each in follower.extracted.rejects] == ["the line is longer than 100000 bytes"]
    assert [each.key.name[-1] for each in follower.extracted.executions] == ["1"]


# -- Truncated and damaged --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compress", [zstd, gz])
def test_a_truncated_compressed_log_is_rejected_once_it_is_finished(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    """While the log is being written, an incomplete frame is normal and nothing is lost."""
    packed = compress(BEGINNING + BODY)
    running = tmp_path / "application_1_0001.zstd.inprogress"
    running.write_bytes(packed[: len(packed) // 2])
    follower = Follower(tmp_path)
    assert follower.poll().rejects == []
    running.rename(tmp_path / "application_1_0001.zstd")
    reasons = [each.reason for each in follower.poll().rejects]
    assert "damaged: the file ends within a compressed block" in reasons
    (tmp_path / "application_1_0001.zstd").write_bytes(packed)
    assert len(follower.poll().executions) == 1


def test_a_partial_last_line_waits_and_is_rejected_once_the_log_is_finished(
    tmp_path: Path,
) -> None:
    path = tmp_path / "app.inprogress"
    path.write_bytes(BEGINNING + lines(start(0, COPY), end(0))[:-20])
    follower = Follower(tmp_path)
    assert not follower.poll().rejects
    path.rename(tmp_path / "app")
    extracted = follower.poll()
    assert len(extracted.rejects) == 1
    assert "the log ends within this line" in extracted.rejects[0].reason
    assert [each.attributes["status"] for each in extracted.executions] == ["UNKNOWN"]
    assert not follower.plan()


def test_a_last_line_without_a_newline_counts_once_the_log_is_finished(tmp_path: Path) -> None:
    (tmp_path / "app").write_bytes((BEGINNING + lines(start(0, COPY), end(0))).rstrip(b"\n"))
    assert len(read_once(tmp_path).executions) == 1


@pytest.mark.parametrize(
    "line", [b'{"Event":""rg.apache.spark"', b'{"Event":""}', b'{"Event":"', b'{"Event":1}']
)
def test_an_event_without_a_name_is_rejected_with_its_offset(line: bytes, tmp_path: Path) -> None:
    (tmp_path / "app").write_bytes(BEGINNING + line + b"\n" + lines(start(1, COPY), end(1)))
    extracted = read_once(tmp_path)
    assert [(each.reason, each.offset) for each in extracted.rejects] == [
        ("not a line of an event log", len(BEGINNING))
    ]
    assert [each.key.name[-1] for each in extracted.executions] == ["1"]


def test_a_compressed_log_cut_anywhere_loses_only_the_missing_part(
    spark_logs: Path, plain_log: Path, tmp_path: Path
) -> None:
    chance = random.Random(3)
    for form, data in _compressed(spark_logs, plain_log):
        counts = []
        for keep in sorted(chance.randrange(1, len(data)) for _ in range(8)):
            shutil.rmtree(tmp_path / "cut", ignore_errors=True)
            (tmp_path / "cut").mkdir()
            (tmp_path / "cut" / "app-1.inprogress").write_bytes(data[:keep])
            extracted = read_once(tmp_path / "cut")
            assert not extracted.rejects, form
            counts.append(len(extracted.executions))
        assert counts == sorted(counts)


@pytest.mark.parametrize("codec", CODECS)
def test_a_damaged_compressed_part_is_rejected_with_its_offset_and_the_next_is_read(
    spark_logs: Path, tmp_path: Path, codec: str
) -> None:
    [log] = (spark_logs / "codecs" / codec).iterdir()
    data = bytearray(log.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 3_000] = b"\xff" * 3_000
    paths = rolled(tmp_path, lines(log_start()) * 3, 3)
    paths[0].write_bytes(data)
    paths[1].write_bytes(BEGINNING + lines(start(900, COPY), end(900)))
    extracted = read_once(tmp_path)
    damages = [each for each in extracted.rejects if each.reason.startswith("damaged")]
    assert [each.place for each in damages] == [str(paths[0])]
    assert 0 <= damages[0].offset <= middle
    assert any(re.search(r"-exec\.900$", each.key.name) for each in extracted.executions)


def test_random_damage_raises_nothing(spark_logs: Path, plain_log: Path, tmp_path: Path) -> None:
    damage_and_read(spark_logs, plain_log, tmp_path, random.Random(11))


@pytest.mark.soak
def test_random_damage_of_another_seed_raises_nothing(
    spark_logs: Path, plain_log: Path, tmp_path: Path, seed: str
) -> None:
    damage_and_read(spark_logs, plain_log, tmp_path, random.Random(seed))


def damage_and_read(spark_logs: Path, plain_log: Path, tmp_path: Path, chance: random.Random) -> None:
    forms = list(_compressed(spark_logs, plain_log))
    folder = tmp_path / "logs"
    folder.mkdir()
    for _ in range(300):
        _, data = chance.choice(forms)
        damaged = bytearray(data)
        for _ in range(chance.choice([1, 5, 100])):
            at = chance.randrange(len(damaged))
            match chance.randrange(4):
                case 0:
                    damaged[at] = chance.randrange(256)
                case 1:
                    damaged[at : at + 1] = chance.choice([b'"', b"\n", b"[", b"{", b"\\", b"`", b"null", b""])
                case 2:
                    del damaged[at : at + chance.choice([1, 500])]
                case _:
                    damaged[at:at] = damaged[at : at + chance.choice([1, 500])]
            if not damaged:
                break
        (folder / "app-1").write_bytes(damaged or b"x")
        read_once(folder)


def test_lines_in_any_order_raise_nothing(plain_log: Path, tmp_path: Path) -> None:
    each = plain_log.read_bytes().splitlines(keepends=True)
    for seed in range(10):
        random.Random(seed).shuffle(each)
        (tmp_path / "app-1").write_bytes(b"".join(each))
        read_once(tmp_path)


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        ("lz4", b"LZ4Block\x25" + b"\xff" * 12),
        ("lz4", b"LZ4Block\x25" + (4).to_bytes(4, "little") + (1 << 20).to_bytes(4, "little") + b"\0" * 8),
        ("snappy", b"\x82SNAPPY\x00" + b"\0" * 8 + b"\x7f\xff\xff\xff"),
        ("snappy", b"\x82SNAPPY\x00" + b"\0" * 8 + b"\0\0\0\x05\xff\xff\xff\xff\x7f"),
        ("lzf", b"ZV\x01\x00\x03\x00\x09\xe0\xff\xff"),
        ("lzf", b"ZV\x07\x00\x03abc"),
    ],
)
def test_an_impossible_block_raises_only_damaged(tmp_path: Path, codec: str, data: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    with path.open("rb") as raw, pytest.raises(Damaged):
        list(pieces(raw, codec, 0, len(data)))


# -- Another log in the same file --------------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, zstd], ids=["plain", "zstd"])
@pytest.mark.parametrize("longer", [False, True], ids=["the same size and time", "longer"])
def test_a_log_overwritten_by_one_with_the_same_beginning_is_read_again(
    tmp_path: Path, pack: Callable[[bytes], bytes], *, longer: bool
) -> None:
    noise = lines({"Event": "SparkListenerBlockManagerAdded", "x": random.Random(1).randbytes(40_000).hex()})
    log = tmp_path / "app-1"

    def content(*tables: str) -> bytes:
        runs = (
            lines(start(number, insert("/w/b", scan("db.a"), table=table)), end(number))
            for number, table in enumerate(tables)
        )
        return pack(BEGINNING + noise) + b"".join(map(pack, runs))

    log.write_bytes(content("db.b"))
    before = log.stat()
    follower = Follower(tmp_path)
    follower.poll()
    new = ("db.c", "db.d") if longer else ("db.c",)
    log.write_bytes(content(*new))
    if not longer:
        assert log.stat().st_size == before.st_size
        os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))

    extracted = follower.poll()

    assert {output for _, _, output in extracted.flows} == {"db.b", *new}
    assert follower.plan() == ()
