"""Finding unused partitions and directories from the last complete image and the engines' reads, with the correct
verdicts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

from navlin.cli.invocation import Exit
from navlin.index.journal.runs import save_positions
from navlin.index.schema.fields import RUNS, solr_date
from navlin.index.solr.solr import Solr
from navlin.index.usage.contents import WEEK_MS
from navlin.model.image_positions import ACCESSES, IMAGE
from navlin.model.keys import Key, RelationType, partition_key, path_key
from navlin.model.records import Position
from navlin.query.read_coverage import ReadCoverage
from navlin.query.unused_places import usages_of
from navlin.query.usage_status import EntityUsage, JudgedKind, UsageQuestion, UsageStatus
from tests.cli.test_cli import configuration, run
from tests.query.test_unused import DAY_MS, DAYS, LONG_AGO_MS, NOW_MS, SINCE_MS, Estate
from tests.support.query_estate import HDFS, HIVE, SPARK

IMAGE_MS = NOW_MS - 2 * DAY_MS
AFTER_IMAGE_MS = NOW_MS - DAY_MS
UNUSED, USED, UNKNOWN = UsageStatus.UNUSED, UsageStatus.USED, UsageStatus.UNKNOWN
WEEKS = range((LONG_AGO_MS - 7 * DAY_MS) // WEEK_MS, IMAGE_MS // WEEK_MS + 1)


class Imaged(Estate):
    """An estate whose HDFS was read as a complete image two days ago. ``ds`` is the partition under test."""

    def __init__(self, solr: Solr) -> None:
        super().__init__(solr)
        self.image_ms, self.weeks, self.image = IMAGE_MS, set(WEEKS), 7
        self.elements[self.old.identity]["partitionColNames"] = ["ds"]
        self.ds = self.entity(partition_key(self.old, "ds=1"))
        self.place = self.directory("/data/old/ds=1")
        self.located(self.ds, self.place)

    def directory(
        self, path: str, *, accessed_ms: int = LONG_AGO_MS, modified_ms: int = LONG_AGO_MS, files: int = 2
    ) -> Key:
        key = self.path(path, owner="ann")
        content = {"contentFiles": files, "contentSize": 500 * files, "contentSpace": 1_500 * files}
        if modified_ms:
            content["contentModified"] = solr_date(modified_ms)  # type: ignore[assignment]
        if accessed_ms:
            content["contentAccessed"] = solr_date(accessed_ms)  # type: ignore[assignment]
        self.elements[key.identity].update(content)
        return key

    def ask(
        self, of: JudgedKind, question: UsageQuestion | None = None
    ) -> tuple[ReadCoverage, dict[str, EntityUsage]]:
        self.write()
        if self.image_ms:
            said = {"image": 7, "as_of_ms": self.image_ms, "weeks": sorted(self.weeks)}
            positions = [Position(ACCESSES, said), Position(IMAGE, self.image)]
            save_positions(self.solr, self.source(HDFS).id, "f", positions, {})
            self.solr.commit(RUNS, soft=True)
        known, judged = usages_of(self.solr, question or UsageQuestion(DAYS, NOW_MS), of)
        return known, {each.entity.path or each.entity.own_name: each for each in judged}


@pytest.fixture
def estate(private_solr: Solr) -> Imaged:
    return Imaged(private_solr)


# -- Partitions ----------------------------------------------------------------------------------------------------------


def nothing(_: Imaged) -> None:
    """Change nothing: no file of the partition was accessed or written, and its table was not read since the image."""


def a_file_was_accessed(estate: Imaged) -> None:
    estate.directory("/data/old/ds=1", accessed_ms=SINCE_MS)


def a_file_was_written(estate: Imaged) -> None:
    estate.directory("/data/old/ds=1", accessed_ms=SINCE_MS, modified_ms=SINCE_MS)


def a_file_was_accessed_just_before(estate: Imaged) -> None:
    estate.directory("/data/old/ds=1", accessed_ms=NOW_MS - DAYS * DAY_MS - 3_600_000)


def it_holds_no_file(estate: Imaged) -> None:
    estate.directory("/data/old/ds=1", accessed_ms=0, modified_ms=0, files=0)


def of_a_file_no_access_time_is_kept(estate: Imaged) -> None:
    estate.directory("/data/old/ds=1", accessed_ms=0)


def the_image_does_not_have_it(estate: Imaged) -> None:
    del estate.elements[estate.place.identity]


def it_is_not_known_where_it_lies(estate: Imaged) -> None:
    for identity, relation in list(estate.relations.items()):
        if estate.ds.identity in relation["endpoint1Ids"] and relation["type"] == "LOGICAL_PHYSICAL":
            del estate.relations[identity]


def the_image_is_old(estate: Imaged) -> None:
    estate.image_ms = NOW_MS - 20 * DAY_MS


def no_image_was_read(estate: Imaged) -> None:
    estate.image_ms = 0


def a_part_of_the_image_could_not_be_read(estate: Imaged) -> None:
    # The position in the plan is still that of the previous image.
    estate.image = 6


def access_times_were_not_kept_in_one_week(estate: Imaged) -> None:
    estate.weeks.remove((NOW_MS - 30 * DAY_MS) // WEEK_MS)


def access_times_are_not_kept(estate: Imaged) -> None:
    estate.weeks.clear()


def its_table_was_read_before_the_image(estate: Imaged) -> None:
    estate.read(estate.old, SINCE_MS)


def its_table_was_read_since_the_image(estate: Imaged) -> None:
    estate.read(estate.old, AFTER_IMAGE_MS)


def its_path_was_read_before_the_image(estate: Imaged) -> None:
    estate.read(estate.place, SINCE_MS, engine=SPARK)


def its_path_was_read_since_the_image(estate: Imaged) -> None:
    estate.read(estate.place, AFTER_IMAGE_MS, engine=SPARK)


def the_partition_beside_it_was_accessed(estate: Imaged) -> None:
    estate.located(
        estate.entity(partition_key(estate.old, "ds=2")),
        estate.directory("/data/old/ds=2", accessed_ms=SINCE_MS),
    )


def an_engine_fails_since_the_image(estate: Imaged) -> None:
    for identity, document in list(estate.elements.items()):
        if document["sourceId"] == estate.source(SPARK).id and document["type"] == "OPERATION_EXECUTION":
            del estate.elements[identity]


def another_table_lies_there(estate: Imaged) -> None:
    estate.located(estate.table("other", created=LONG_AGO_MS), estate.place)


PARTITIONS: list[tuple[Callable[[Imaged], None], UsageStatus, str]] = [
    (nothing, UNUSED, f"the last whole image, of {solr_date(IMAGE_MS)}"),
    (a_file_was_accessed, USED, "accessed since"),
    (a_file_was_written, UNKNOWN, "written since"),
    (a_file_was_accessed_just_before, UNKNOWN, "the day before"),
    (it_holds_no_file, UNKNOWN, "no file"),
    (of_a_file_no_access_time_is_kept, UNKNOWN, "have no access time"),
    (the_image_does_not_have_it, UNKNOWN, "nothing there"),
    (it_is_not_known_where_it_lies, UNKNOWN, "its location is unknown"),
    (the_image_is_old, UNKNOWN, f"the last whole image is from {solr_date(NOW_MS - 20 * DAY_MS)}"),
    (no_image_was_read, UNKNOWN, "no whole image"),
    (a_part_of_the_image_could_not_be_read, UNKNOWN, "no whole image"),
    (access_times_were_not_kept_in_one_week, UNKNOWN, "every week"),
    (access_times_are_not_kept, UNKNOWN, "every week"),
    (its_table_was_read_before_the_image, UNUSED, "no access to it"),
    (its_table_was_read_since_the_image, UNKNOWN, "no engine records which partition"),
    (its_path_was_read_before_the_image, USED, "its path was read"),
    (its_path_was_read_since_the_image, UNKNOWN, "its table was read since"),
    (the_partition_beside_it_was_accessed, UNUSED, ""),
    (an_engine_fails_since_the_image, UNKNOWN, "no source records reads by Spark"),
    (another_table_lies_there, UNKNOWN, "db.other"),
]


@pytest.mark.parametrize(
    ("happened", "verdict", "words"), PARTITIONS, ids=lambda each: getattr(each, "__name__", "")
)
def test_the_verdict_on_a_partition_is_correct(
    estate: Imaged, happened: Callable[[Imaged], None], verdict: UsageStatus, words: str
) -> None:
    happened(estate)
    judged = estate.ask(JudgedKind.PARTITIONS)[1]["ds=1"]
    reasons = "; ".join(judged.reasons)
    assert judged.status == verdict, reasons
    assert words in reasons


def test_a_partitions_size_is_that_of_the_image(estate: Imaged) -> None:
    shown = estate.ask(JudgedKind.PARTITIONS)[1]["ds=1"].to_json()
    assert (shown["sizeBytes"], shown["spaceBytes"], shown["files"]) == (1_000, 3_000, 2)
    assert (shown["sizeAsOf"], shown["database"]) == (solr_date(IMAGE_MS), "db")


def test_a_table_without_indexed_files_has_the_size_of_the_image(estate: Imaged) -> None:
    estate.entries = "directories"
    estate.directory("/data/old", files=7)
    judged = estate.ask(JudgedKind.TABLES)[1]["old"]
    assert judged.status == UNKNOWN
    shown = judged.to_json()
    assert (shown["sizeBytes"], shown["files"], shown["sizeAsOf"]) == (3_500, 7, solr_date(IMAGE_MS))


def test_a_table_without_indexed_files_is_used_if_the_image_shows_an_access(
    estate: Imaged,
) -> None:
    estate.entries = "directories"
    estate.directory("/data/old", accessed_ms=SINCE_MS)
    assert estate.ask(JudgedKind.TABLES)[1]["old"].status == USED


# -- Directories ---------------------------------------------------------------------------------------------------------


class Directories(NamedTuple):
    """The listed directories, each with its verdict."""

    listed: dict[str, UsageStatus]
    reasons: str


def directories(estate: Imaged) -> Directories:
    known, judged = estate.ask(JudgedKind.DIRECTORIES)
    return Directories({path: each.status for path, each in judged.items()}, "; ".join(known.reasons))


def many(estate: Imaged, paths: Iterable[str], **content: int) -> None:
    for path in paths:
        estate.directory(path, **content)


def test_only_the_outermost_unused_directories_are_listed(estate: Imaged) -> None:
    many(estate, ("/", "/user", "/user/ann"), accessed_ms=SINCE_MS)
    many(estate, ("/user/ann/past", "/user/ann/past/deep", "/user/ann/past/deep/er", "/user/ann/older"))
    many(estate, ("/user/ann/present",), accessed_ms=SINCE_MS)
    many(estate, ("/user/ann/log",), modified_ms=SINCE_MS)
    many(estate, ("/user/ann/empty",), files=0, accessed_ms=0, modified_ms=0)
    assert directories(estate) == Directories({"/user/ann/past": UNUSED, "/user/ann/older": UNUSED}, "")


def test_only_directories_without_a_table_inside_are_listed(estate: Imaged) -> None:
    many(estate, ("/", "/data", "/data/old", "/data/old/inside", "/data/free", "/data/free/in"))
    assert directories(estate).listed == {"/data/free": UNUSED}


def test_a_directory_with_a_partition_of_a_table_elsewhere_is_unknown(estate: Imaged) -> None:
    many(estate, ("/else", "/else/ds=7"))
    estate.located(estate.entity(partition_key(estate.old, "ds=7")), estate.path("/else/ds=7"))
    assert directories(estate).listed == {"/else": UNKNOWN}


@pytest.mark.parametrize("read", ["/free", "/free/in/file", "/"])
@pytest.mark.parametrize("at_ms", [SINCE_MS, AFTER_IMAGE_MS], ids=["before the image", "after it"])
def test_a_directory_read_by_path_is_used(estate: Imaged, read: str, at_ms: int) -> None:
    estate.directory("/free")
    estate.read(path_key(estate.source(HDFS), read), at_ms, engine=SPARK)
    assert directories(estate).listed == {"/free": USED}


def test_a_directory_read_by_a_stream_is_used(estate: Imaged) -> None:
    operation = estate.read(estate.directory("/free"), LONG_AGO_MS, engine=SPARK)
    before = {*estate.elements, *estate.relations}
    estate.execution(operation, "stream", started=LONG_AGO_MS, status="RUNNING")
    estate.recorded(before, LONG_AGO_MS)
    assert directories(estate).listed == {"/free": USED}


@pytest.mark.parametrize("happened", [the_image_is_old, no_image_was_read, access_times_are_not_kept])
def test_an_inconclusive_image_lists_no_directory_and_gives_the_reason(
    estate: Imaged, happened: Callable[[Imaged], None]
) -> None:
    estate.directory("/free")
    happened(estate)
    listed, reasons = directories(estate)
    assert listed == {}
    assert "image" in reasons


def test_an_engine_not_followed_since_the_image_makes_directories_unknown(
    estate: Imaged,
) -> None:
    estate.directory("/free")
    an_engine_fails_since_the_image(estate)
    assert directories(estate).listed == {"/free": UNKNOWN}


def test_the_command_judges_the_requested_kind(estate: Imaged, tmp_path: Path) -> None:
    estate.directory("/free")
    estate.relate(RelationType.PARENT_CHILD, estate.old, estate.ds, writer=HIVE)
    estate.ask(JudgedKind.PARTITIONS)
    file = configuration(estate.solr, tmp_path)
    # The image is old by the command's clock.
    answer = json.loads(run(file, "unused", "--days", "90", "--of", "partitions", "--json").stdout)
    assert [each["name"] for each in answer["partitions"]] == ["db.old.ds=1"]
    assert answer["totals"]["not known"] == {"partitions": 1, "sizeBytes": 1_000}
    shown = run(file, "unused", "--days", "90", "--of", "directories")
    assert (shown.exit_code, "Why some answers are unknown" in shown.stdout) == (Exit.NOTHING, True)
