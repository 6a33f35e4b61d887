"""Followed log files that are moved, compressed, truncated, or replaced by something other than a file.

In each case, whole runs of the pipeline read a directory with Impala's lineage log.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
import shutil
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from pyspark.sql import SparkSession

from extractors.impala_events import ImpalaEvents
from extractors.lineage import kept_open_files, planned_files
from extractors.lineage.kept_open_files import KeptOpenFiles
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS, RUNS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.forwarded import lines_directory
from navlin.model.source import IMPALA, Estate, Source, source_id
from navlin.pipeline.run import Pipeline

SECRET = "root:$6$salt$hash:19000:0:99999:7:::"


class Impala:
    """An Impala coordinator's lineage log, and the source that follows it."""

    def __init__(self, solr: Solr, spark: Callable[[], SparkSession], folder: Path) -> None:
        self.solr = solr
        self.directory = folder / "lineage"
        self.directory.mkdir()
        self.elsewhere = folder / "elsewhere"
        self.elsewhere.mkdir()
        self.log = self.directory / "impala_lineage_log_1.0-1"
        cluster = f"cluster-{uuid.uuid4().hex[:8]}"
        self.source = Source(source_id(cluster, "IMPALA-1"), IMPALA, "IMPALA-1", cluster)
        self.extractor = ImpalaEvents(self.source, Estate(cluster, (self.source,)), str(self.directory))
        self.now_ms = time.time_ns() // 1_000_000
        self.pipeline = Pipeline(solr.address, spark, self._clock)

    def _clock(self) -> int:
        self.now_ms += 1
        return self.now_ms

    def writes(self, *names: str, to: Path | None = None) -> None:
        """Append a record for each table name, and set the file's modification time to the test's clock."""
        file = to or self.log
        with file.open("ab") as log:
            for name in names:
                log.write(record(name))
        written_ns = self._clock() * 1_000_000
        os.utime(file, ns=(written_ns, written_ns))

    def run(self) -> RunRecord:
        ended = self.pipeline.run(EXTRACTORS["impala_events"], self.extractor)
        assert ended.status in (Status.FINISHED, Status.IDLE), (ended.error, ended.failures)
        assert ended.failures == ()
        return ended

    def read(self) -> set[str]:
        """Names of the tables written by the indexed statements."""
        rows = self._rows(ELEMENTS, "type:OPERATION", "queryText")
        return {row["queryText"].rpartition(" ")[2] for row in rows}

    def rejects(self) -> list[tuple[str, str]]:
        """(reason, sample) of each reject."""
        rows = self._rows(RUNS, "kind:reject", "reason,body")
        return [(row["reason"], orjson.loads(row["body"])["sample"]) for row in rows]

    def _rows(self, core: str, kind: str, fields: str) -> list[dict[str, Any]]:
        filters = [kind, f"sourceId:{self.source.id}"]
        answer = self.solr.select(core, {"q": "*:*", "fq": filters, "fl": fields, "rows": 1_000})
        rows: list[dict[str, Any]] = answer["response"]["docs"]
        return rows


def record(name: str) -> bytes:
    graph = {
        "queryText": f"INSERT INTO s.{name}",
        "hash": uuid.uuid5(uuid.NAMESPACE_URL, name).hex,
        "user": "ana",
        "timestamp": 1_700_000_000,
        "edges": [{"sources": [1], "targets": [0], "edgeType": "PROJECTION"}],
        "vertices": [
            {"id": 0, "vertexType": "COLUMN", "vertexId": f"s.{name}.b"},
            {"id": 1, "vertexType": "COLUMN", "vertexId": "s.t.a"},
        ],
    }
    return json.dumps(graph).encode() + b"\n"


@pytest.fixture
def impala(solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path) -> Impala:
    return Impala(solr, spark, tmp_path)


def restart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a restart of navlin, after which no file descriptors are held."""
    monkeypatch.setattr(planned_files.plan_files, "__kwdefaults__", {"kept_open": KeptOpenFiles()})


# -- Files moved between two polls --------------------------------------------------------------------------------------


def moved_out(impala: Impala) -> None:
    impala.log.rename(impala.elsewhere / "old")


def removed(impala: Impala) -> None:
    impala.log.unlink()


def renamed_past_the_pattern(impala: Impala) -> None:
    impala.log.rename(impala.directory / "old")


def compressed(impala: Impala) -> None:
    with impala.log.open("rb") as log, gzip.open(f"{impala.log}.gz", "wb") as archive:
        shutil.copyfileobj(log, archive)
    shutil.copystat(impala.log, f"{impala.log}.gz")
    impala.log.unlink()


@pytest.mark.parametrize(
    "rotate",
    [
        moved_out,
        *(
            pytest.param(each, marks=pytest.mark.services)
            for each in (removed, renamed_past_the_pattern, compressed)
        ),
    ],
)
def test_lines_written_between_the_last_poll_and_a_rotation_are_read(
    impala: Impala, rotate: Callable[[Impala], None]
) -> None:
    impala.writes("a")
    impala.run()
    impala.writes("b")
    rotate(impala)
    impala.writes("c")  # a new file with the old name
    impala.run()
    assert impala.read() == {"s.a", "s.b", "s.c"}
    assert impala.rejects() == []
    assert impala.run().status is Status.IDLE


def test_a_file_still_written_after_being_moved_away_is_followed(impala: Impala) -> None:
    with impala.log.open("ab", buffering=0) as open_log:
        open_log.write(record("a"))
        impala.run()
        moved_out(impala)
        impala.run()
        open_log.write(record("b"))
        impala.run()
        half = record("c")
        open_log.write(half[:100])
        impala.run()
        open_log.write(half[100:])
    impala.run()
    assert impala.read() == {"s.a", "s.b", "s.c"}


def test_a_fully_read_moved_file_is_released(impala: Impala, monkeypatch: pytest.MonkeyPatch) -> None:
    held = KeptOpenFiles()
    monkeypatch.setattr(planned_files.plan_files, "__kwdefaults__", {"kept_open": held})
    impala.writes("a")
    impala.run()
    impala.log.unlink()
    scope = lines_directory("", impala.extractor.source.name)
    follower = ((str(impala.directory),), (impala.extractor.pattern,), scope)
    impala.run()
    assert len(list(held.missing(follower, set()))) == 1
    impala.now_ms += planned_files.ROTATED_MS
    impala.run()
    assert list(held.missing(follower, set())) == []


@pytest.mark.services
def test_a_log_compressed_while_navlin_was_down_is_resumed(
    impala: Impala, monkeypatch: pytest.MonkeyPatch
) -> None:
    impala.writes(*(f"a{number}" for number in range(100)))
    impala.run()
    impala.writes("b")
    compressed(impala)
    with gzip.open(impala.directory / "other.gz", "wb") as other:
        other.write(record("other") * 500)
    restart(monkeypatch)
    run = impala.run()
    assert impala.read() == {"s.b", *(f"s.a{number}" for number in range(100))}
    # Read from the saved offset, not from the start.
    assert run.counts.records < 100
    assert impala.rejects() == []
    assert impala.run().status is Status.IDLE


@pytest.mark.services
def test_a_damaged_compressed_rest_is_read_as_far_as_possible_and_rejected(
    impala: Impala, monkeypatch: pytest.MonkeyPatch
) -> None:
    impala.writes("a")
    impala.run()
    impala.writes("b", *(f"c{number}" for number in range(2_000)))
    compressed(impala)
    archive = Path(f"{impala.log}.gz")
    os.truncate(archive, archive.stat().st_size // 2)
    restart(monkeypatch)
    impala.run()
    assert {"s.a", "s.b", "s.c0"} <= impala.read()
    assert any("the compressed file is not read further" in reason for reason, _ in impala.rejects())
    assert impala.run().status is Status.IDLE


@pytest.mark.services
def test_known_losses_are_counted_in_bytes(impala: Impala, monkeypatch: pytest.MonkeyPatch) -> None:
    impala.writes("a")
    with impala.log.open("ab") as log:
        log.write(record("b")[:70])
    impala.run()
    impala.log.unlink()
    restart(monkeypatch)
    impala.run()
    (reject,) = impala.rejects()
    assert "70 of its bytes" in reject[0]
    assert impala.run().status is Status.IDLE


def test_a_file_removed_between_plan_and_read_is_still_read(impala: Impala) -> None:
    impala.writes("a")

    def step(name: str) -> None:
        if name == "read":
            impala.log.unlink()

    ended = impala.pipeline.run(EXTRACTORS["impala_events"], impala.extractor, step=step)
    assert ended.failures == ()
    assert impala.read() == {"s.a"}


def descriptors_below(directory: Path) -> list[str]:
    """Paths of open files below a directory, one for each file descriptor of this process."""
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor of this listing is already closed
            found.append(os.readlink(descriptor))
    return [each for each in found if each.startswith(f"{directory}/")]


@pytest.mark.parametrize(("sources", "each"), [(1, 64), (8, 64), (32, 16)])
def test_descriptors_are_bounded_and_every_source_has_its_share(
    tmp_path: Path, sources: int, each: int
) -> None:
    held = KeptOpenFiles()
    paths = {}
    for number in range(2 * kept_open_files.MOST_OF_A_SOURCE):
        path = tmp_path / str(number)
        path.write_text("line\n")
        os.utime(path, (number, number))
        paths[str(number)] = str(path), path.stat()
    for _ in range(2):
        for source in range(sources):
            held.keep_open(source, paths)
    # Count only descriptors below this directory: those of earlier tests may be closed at any time by garbage
    # collection.
    assert len(descriptors_below(tmp_path)) == sources * each
    for source in range(sources):
        newest = {found.key for found in held.missing(source, set())}
        assert newest == {str(len(paths) - 1 - number) for number in range(each)}


def test_unused_descriptors_are_available_to_other_sources(tmp_path: Path) -> None:
    held = KeptOpenFiles()
    paths = {}
    for number in range(kept_open_files.MOST_OF_A_SOURCE):
        path = tmp_path / str(number)
        path.write_text("line\n")
        paths[str(number)] = str(path), path.stat()
    for source in range(kept_open_files.MOST_IN_ALL - len(paths)):
        held.keep_open(source, {"0": paths["0"]})
    held.keep_open("busy", paths)
    assert {found.key for found in held.missing("busy", set())} == paths.keys()
    assert len(list(held.missing(0, set()))) == 1
    held.keep_open("one more", {"0": paths["0"]})
    assert len(list(held.missing("busy", set()))) == len(paths) - 1


def test_moved_files_leave_a_descriptor_for_the_newest(tmp_path: Path) -> None:
    held = KeptOpenFiles()
    paths = {}
    for number in range(kept_open_files.MOST_OF_A_SOURCE + 1):
        path = tmp_path / str(number)
        path.write_text("line\n")
        os.utime(path, (number, number))
        paths[f"{number:02}"] = str(path), path.stat()
    *before, newest = paths
    moved = before[-10:]
    held.keep_open("logs", {key: paths[key] for key in before})
    held.keep_open("logs", {key: paths[key] for key in (*before[:-10], newest)})
    assert {found.key for found in held.missing("logs", set())} == {*before[1:-10], *moved, newest}


def test_descriptors_of_an_abandoned_source_are_released(tmp_path: Path) -> None:
    now_s = [0.0]
    held = KeptOpenFiles(lambda: now_s[0])
    path = tmp_path / "log"
    path.write_text("line\n")
    held.keep_open("before", {"log": (str(path), path.stat())})
    now_s[0] = kept_open_files.FORGOTTEN_S + 1
    held.keep_open("now", {"log": (str(path), path.stat())})
    assert not list(held.missing("before", set()))
    assert list(held.missing("now", set()))


# -- Holes --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "size",
    [
        pytest.param(300, marks=pytest.mark.services),
        pytest.param(5 << 20, marks=pytest.mark.services),
        1 << 40,
    ],
    ids=["300 bytes", "5 MiB", "1 TiB"],
)
def test_nul_bytes_left_by_truncation_are_skipped_and_counted(impala: Impala, size: int) -> None:
    impala.writes("a")
    impala.run()
    # Truncate as logrotate's copytruncate does, while a writer continues at its old offset instead of appending.
    os.truncate(impala.log, 0)
    with impala.log.open("r+b") as log:
        log.seek(size)
        log.write(record("b") + record("c"))
    impala.run()
    assert impala.read() == {"s.a", "s.b", "s.c"}
    ((reason, _),) = impala.rejects()
    assert reason.startswith(f"{size} NUL bytes skipped")


def emptied(impala: Impala) -> None:
    os.truncate(impala.log, 0)


def test_lines_written_before_a_log_was_copied_compressed_and_truncated_are_read(impala: Impala) -> None:
    impala.writes("a")
    impala.run()
    impala.writes("b")
    Path(f"{impala.log}.1.gz").write_bytes(gzip.compress(impala.log.read_bytes()))
    emptied(impala)
    impala.writes("c")
    impala.run()
    assert impala.read() == {"s.a", "s.b", "s.c"}
    assert impala.rejects() == []
    assert impala.run().status is Status.IDLE


@pytest.mark.parametrize("seen_empty", [False, True], ids=["grown again", "seen empty"])
def test_an_unreadable_compressed_copy_is_named_as_a_possible_loss(
    impala: Impala, *, seen_empty: bool
) -> None:
    impala.writes("a")
    impala.run()
    impala.writes("b")
    archive = Path(f"{impala.log}.1.bz2")
    archive.write_bytes(bz2.compress(impala.log.read_bytes()))
    emptied(impala)
    if seen_empty:
        impala.run()
    impala.writes("c")
    impala.run()
    assert impala.read() == {"s.a", "s.c"}
    ((reason, _),) = impala.rejects()
    assert f"was emptied and compressed in a form that is not read, perhaps to {archive}" in reason


# -- Not a regular file -------------------------------------------------------------------------------------------------


def a_fifo(path: Path, impala: Impala) -> None:
    os.mkfifo(path)


def a_directory(path: Path, impala: Impala) -> None:
    path.mkdir()


def a_socket(path: Path, impala: Impala) -> None:
    os.mknod(path, 0o140644)


def a_device(path: Path, impala: Impala) -> None:
    path.symlink_to("/dev/zero")


def a_link_that_leads_out(path: Path, impala: Impala) -> None:
    secret = impala.elsewhere / "shadow"
    secret.write_text(f"{SECRET}\n")
    path.symlink_to(secret)


def a_link_to_nothing(path: Path, impala: Impala) -> None:
    path.symlink_to(impala.elsewhere / "nothing")


def a_link_to_itself(path: Path, impala: Impala) -> None:
    path.symlink_to(path)


NO_FILES = [
    a_fifo,
    a_link_that_leads_out,
    *(
        pytest.param(each, marks=pytest.mark.services)
        for each in (a_directory, a_socket, a_device, a_link_to_nothing, a_link_to_itself)
    ),
]


@pytest.mark.parametrize("put", NO_FILES)
def test_an_entry_that_is_not_a_regular_file_is_ignored(
    impala: Impala, put: Callable[[Path, Impala], None]
) -> None:
    put(impala.log, impala)
    impala.writes("a", to=impala.directory / "impala_lineage_log_1.0-2")
    impala.run()
    assert impala.read() == {"s.a"}
    assert impala.rejects() == []


@pytest.mark.parametrize("put", NO_FILES)
def test_an_irregular_file_appearing_between_plan_and_read_does_not_block_the_run(
    impala: Impala, put: Callable[[Path, Impala], None]
) -> None:
    impala.writes("a")

    def step(name: str) -> None:
        if name == "read":
            impala.log.unlink()
            put(impala.log, impala)

    ended = impala.pipeline.run(EXTRACTORS["impala_events"], impala.extractor, step=step)
    assert ended.failures == ()
    assert impala.read() == {"s.a"}
    assert not any(SECRET[:8] in sample for _, sample in impala.rejects())


def test_a_link_within_the_directory_is_followed_and_one_leading_out_is_reported(impala: Impala) -> None:
    (impala.directory / "sub").mkdir()
    impala.writes("a", to=impala.directory / "sub" / "log")
    impala.log.symlink_to("sub/log")
    a_link_that_leads_out(impala.directory / "impala_lineage_log_1.0-2", impala)
    run = impala.run()
    assert impala.read() == {"s.a"}
    assert "1 links lead out of their directory" in run.note


def test_the_configured_directory_may_be_a_link(impala: Impala) -> None:
    impala.directory.rename(impala.elsewhere / "lineage")
    impala.directory.symlink_to(impala.elsewhere / "lineage")
    impala.writes("a")
    impala.run()
    assert impala.read() == {"s.a"}


# -- Lines that are not lineage records ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", [SECRET, json.dumps({"password": SECRET}), json.dumps([SECRET]), "{" + SECRET]
)
def test_text_of_an_invalid_line_is_not_indexed(impala: Impala, line: str) -> None:
    impala.log.write_text(f"{line}\n")
    impala.run()
    ((_, sample),) = impala.rejects()
    assert sample == ""
    assert impala.solr.count(RUNS, f"sourceId:{impala.source.id}", "body:*salt*") == 0


def test_a_truncated_record_is_shown_as_sample(impala: Impala) -> None:
    impala.log.write_bytes(record("a")[:100] + b"\n")
    impala.run()
    ((_, sample),) = impala.rejects()
    assert sample.startswith('{"queryText"')
