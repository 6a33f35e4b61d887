"""The HDFS extractor on a real NameNode: plans, rows, and deletions."""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from extractors.hdfs import Hdfs, reading, spool
from extractors.hdfs.continuity import NAMESPACE_ID
from extractors.hdfs.errors import HdfsError, HdfsNotFound
from extractors.hdfs.image import ImageError
from extractors.hdfs.plan import COMPLETE_MS, TRANSACTION, image_as_of_ms
from extractors.hdfs.splits import DescribeSplit, ImageSplit, PartSplit, TreeSplit, WalkSplit
from navlin.model.image_positions import ACCESSES, IMAGE
from navlin.model.plan import Plan, Positions
from navlin.model.records import Listing, Position
from navlin.model.source import HDFS, Estate, Source, source_id
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.support.hdfs_runs import MINUTE_MS, NOW_MS, Follower, rows_of

SOURCE = Source(source_id("cluster", "HDFS"), HDFS, "HDFS", "cluster", ("hdfs://ns1",))


@pytest.fixture
def top(hdfs_writer: Writer, request: pytest.FixtureRequest) -> str:
    # Path filters treat the path as a glob, so remove the brackets of parametrized test names.
    path = f"/extractor/{re.sub('[^a-z0-9_]', '-', request.node.name)[:60]}"
    hdfs_writer.mkdirs(path)
    return path


@pytest.fixture(scope="session")
def spooling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A spool shared by all tests, so that the Java child is compiled only once."""
    directory = tmp_path_factory.getbasetemp() / "hdfs-spool"
    directory.mkdir(exist_ok=True)
    return directory


@pytest.fixture
def extractor(hdfs: Hadoop, top: str, spooling: Path) -> Hdfs:
    """The extractor, restricted to the test's directory, with a separate source for each test."""
    source = replace(SOURCE, id=source_id("cluster", top))
    estate = Estate("cluster", (source,), spool=str(spooling))
    directory = str(hdfs.configuration_directory)
    return Hdfs(source, estate, hdfs.url, hadoop_configuration_directory=directory, include=(top,))


@pytest.fixture
def follower(extractor: Hdfs) -> Follower:
    return Follower(extractor)


# -- An image, followed by events --------------------------------------------------------------------------------------


def test_the_first_plan_reads_the_image_and_covers_everything_included(
    follower: Follower, hdfs: Hadoop, hdfs_writer: Writer, top: str
) -> None:
    hdfs_writer.create(f"{top}/f", b"123")
    hdfs_writer.create(f"{top}/.Trash/Current/g")
    hdfs.save_namespace()
    run = follower.run()

    assert "it is the first" in run.plan.note
    assert set(run.rows) == {"/", "/extractor", top, f"{top}/f"}
    assert run.rows[f"{top}/f"]["size"] == 3
    assert (
        run.is_gone(f"{top}/x")
        and not run.is_gone(f"{top}/.Trash/Current/h")
        and not run.is_gone("/elsewhere")
    )
    assert run.positions[TRANSACTION] == run.positions[IMAGE] > 0


def test_the_image_and_the_namenode_agree_and_the_image_adds_content_sums(
    follower: Follower, hdfs: Hadoop, hdfs_writer: Writer, top: str
) -> None:
    hdfs_writer.create(f"{top}/ä b%c", b"1" * 2_000, block_bytes=1024)
    hdfs_writer.create(f"{top}/open", b"12", close=False)
    hdfs_writer.mkdirs(f"{top}/shared")
    hdfs_writer.chmod(f"{top}/shared", "1777")
    hdfs_writer.acl(f"{top}/shared", "user:bob:r-x,default:group:staff:r--")
    hdfs_writer.create(f"{top}/shared/inherits", b"")
    hdfs_writer.chown(f"{top}/shared/inherits", "alice", "analysts")
    hdfs_writer.touch(f"{top}/shared/inherits", 1_000, 2_000)
    hdfs_writer.mkdirs(f"{top}/coded/below")
    hdfs_writer.erasure_code(f"{top}/coded", "RS-6-3-1024k")
    hdfs.save_namespace()
    by_image = follower.run().rows
    listings = [one for one in follower.hdfs.read(TreeSplit((top,), NOW_MS)) if isinstance(one, Listing)]
    by_asking = dict(row for listing in listings for row in rows_of(listing))
    hdfs_writer.close(f"{top}/open")

    alone = {
        path: {name: value for name, value in row.items() if not name.startswith("content")}
        for path, row in by_image.items()
    }
    assert by_asking == {path: row for path, row in alone.items() if path.startswith(top)}
    below = {name: value for name, value in by_image[f"{top}/shared"].items() if name.startswith("content")}
    assert below == {
        "contentFiles": 1,
        "contentSize": 0,
        "contentSpace": 0,
        "contentModified": 2_000,
        "contentAccessed": 3_000,
    }
    assert by_image[top]["contentFiles"] == 3
    assert by_image[top]["contentSize"] >= 2_000
    assert by_image[f"{top}/shared"]["acl"]
    assert by_image[f"{top}/coded/below"]["erasureCodingPolicy"] == "RS-6-3-1024k"
    assert by_image[f"{top}/open"]["underConstruction"] is True


@pytest.mark.services
def test_unusual_names_from_events_equal_those_of_an_image(
    follower: Follower, hdfs: Hadoop, hdfs_writer: Writer, top: str
) -> None:
    hdfs.save_namespace()
    follower.run()
    texts = [
        *("[a]*?", "{a,b}", "##0123456789abcdef##", "x" * 255, "\u202egol", "\x01\x1b[31m\x7f"),
        *("🦔", "application_1_\ufffd", "\\xff", "%2F", "a\nb"),
    ]
    for text in texts:
        hdfs_writer.create(f"{top}/{text}/{text}", b"1")
    created = {f"{top}/{text}" for text in texts} | {f"{top}/{text}/{text}" for text in texts}
    by_events = follower.run()
    assert (set(by_events.rows) & created, by_events.rejects) == (created, [])

    hdfs.save_namespace()
    assert set(follower.run(complete=True).rows) >= created
    for text in texts:
        hdfs_writer.rename(f"{top}/{text}/{text}", f"{top}/{text}/y")
    renamed = follower.run()
    assert [text for text in texts if not renamed.is_gone(f"{top}/{text}/{text}")] == []
    for text in texts:
        hdfs_writer.delete(f"{top}/{text}")
    gone = follower.run()
    assert [text for text in texts if not gone.is_gone(f"{top}/{text}")] == []


def test_a_quiet_round_reads_nothing(follower: Follower) -> None:
    follower.run()
    follower.run()

    assert follower.hdfs.plan(Positions(follower.saved, follower.now_ms)) == Plan()


def test_paths_changed_by_events_are_read_in_their_current_state(
    follower: Follower, hdfs_writer: Writer, top: str
) -> None:
    hdfs_writer.create(f"{top}/kept", b"1")
    hdfs_writer.create(f"{top}/dropped", b"1")
    hdfs_writer.mkdirs(f"{top}/tree/deep")
    hdfs_writer.create(f"{top}/tree/deep/leaf", b"1")
    hdfs_writer.create(f"{top}/joined", b"12")
    hdfs_writer.create(f"{top}/joining", b"34")
    follower.run()
    follower.run()
    before = set(follower.known)
    hdfs_writer.concat(f"{top}/joined", f"{top}/joining")
    hdfs_writer.append(f"{top}/kept", b"23")
    hdfs_writer.delete(f"{top}/dropped")
    hdfs_writer.rename(f"{top}/tree", f"{top}/moved")
    hdfs_writer.create(f"{top}/moved/deep/more", b"12345")
    run = follower.run()

    assert set(run.rows) == {top, f"{top}/kept", f"{top}/joined"} | {
        f"{top}/moved{end}" for end in ("", "/deep", "/deep/leaf", "/deep/more")
    }
    assert run.rows[f"{top}/kept"]["size"] == 3
    assert run.rows[f"{top}/joined"]["size"] == 4
    assert {path for path in before if run.is_gone(path)} == {
        f"{top}/{name}" for name in ("dropped", "joining", "tree", "tree/deep", "tree/deep/leaf")
    }
    assert all(cover.reported for cover in run.covers)


def test_ten_changed_files_cause_ten_descriptions_only(
    follower: Follower, hdfs_writer: Writer, top: str
) -> None:
    for number in range(30):
        hdfs_writer.create(f"{top}/f{number}", b"1")
    follower.run()
    follower.run()
    for number in range(10):
        hdfs_writer.append(f"{top}/f{number}", b"2")
    run = follower.run()

    (split,) = run.splits
    assert isinstance(split, DescribeSplit)
    assert set(run.rows) == {f"{top}/f{number}" for number in range(10)}


def test_excluded_paths_are_neither_read_nor_deleted(
    follower: Follower, hdfs_writer: Writer, top: str
) -> None:
    follower.run()
    follower.run()
    hdfs_writer.mkdirs(f"{top}/out/_temporary/0")
    for number in range(20):
        hdfs_writer.create(f"{top}/out/_temporary/0/part-{number}", b"1")
    hdfs_writer.rename(f"{top}/out/_temporary/0/part-0", f"{top}/out/part-0")
    hdfs_writer.delete(f"{top}/out/_temporary")
    run = follower.run()

    assert set(run.rows) == {top, f"{top}/out", f"{top}/out/part-0"}
    hdfs_writer.rename(f"{top}/out/part-0", f"{top}/out/_temporary")
    assert follower.run().is_gone(f"{top}/out/part-0")
    assert not any("_temporary" in path for path in follower.known)


@pytest.mark.services
def test_a_walk_is_bounded_and_leaves_the_rest_to_further_splits(
    follower: Follower, hdfs_writer: Writer, top: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ROWS_IN_WALK", 10)
    monkeypatch.setattr(reading, "ROWS_IN_LISTING", 3)
    follower.run()
    follower.run()
    for name in "abcdefgh":
        for number in range(4):
            hdfs_writer.create(f"{top}/in/{name}/{name}/f{number}", b"1")
    hdfs_writer.rename(f"{top}/in", f"{top}/moved")
    run = follower.run()

    assert len({path for path in run.rows if path.startswith(f"{top}/moved")}) == 1 + 8 * 6
    assert len([split for split in run.splits if isinstance(split, WalkSplit)]) > 3
    assert max(len(listing.paths) for listing in run.listings) <= 3


# -- Complete plans ----------------------------------------------------------------------------------------------------


def test_a_complete_plan_is_made_on_request_and_when_overdue(
    follower: Follower, hdfs: Hadoop, hdfs_writer: Writer, top: str
) -> None:
    follower.run()

    assert "requested" in follower.run(complete=True).plan.note
    hdfs_writer.mkdirs(f"{top}/d")
    week_ms = follower.hdfs.complete_every_s * 1000
    assert f"{top}/d" in follower.run(later_ms=week_ms).rows, (
        "without a newer image, events are followed all the same"
    )
    hdfs.save_namespace()
    overdue = follower.run(later_ms=week_ms)
    assert "more than 604800 s old" in overdue.plan.note
    assert overdue.positions[COMPLETE_MS] == follower.now_ms


def test_an_image_older_than_the_events_has_an_earlier_time(
    follower: Follower, hdfs: Hadoop, hdfs_writer: Writer, top: str
) -> None:
    hdfs_writer.create(f"{top}/old", b"1")
    hdfs.save_namespace()
    follower.run()
    hdfs_writer.delete(f"{top}/old")
    followed_ms = follower.now_ms + MINUTE_MS
    assert follower.run().is_gone(f"{top}/old")
    run = follower.run(complete=True, later_ms=10 * MINUTE_MS)

    assert f"{top}/old" in run.rows, "that is what the image says"
    assert (
        {listing.as_of_ms for listing in run.listings}
        == {followed_ms - 2}
        == {cover.as_of_ms for cover in run.covers}
    )
    assert follower.run().is_gone(f"{top}/old"), "and what happened since is followed once more"


@pytest.mark.parametrize(
    ("rounds", "transaction", "as_of_ms"),
    [
        ([], 50, 9_000),
        ([(40, 1_000), (50, 2_000)], 50, 9_000),
        ([(40, 1_000), (60, 2_000), (70, 3_000)], 50, 1_998),
        ([(60, 1_000), (70, 2_000)], 50, 998),
    ],
)
def test_an_image_is_dated_between_the_rounds_around_its_transaction(
    rounds: list[tuple[int, int]], transaction: int, as_of_ms: int
) -> None:
    assert image_as_of_ms(rounds, transaction, 9_000) == as_of_ms


def test_a_restored_namenode_is_read_completely(follower: Follower) -> None:
    follower.run()
    follower.saved |= {TRANSACTION: follower.saved[TRANSACTION] + 1_000_000, "rounds": [[10**9, 5]]}
    run = follower.run()

    assert "was restored" in run.plan.note
    assert {listing.as_of_ms for listing in run.listings} == {follower.now_ms}


# -- Images from elsewhere, and unusable images ------------------------------------------------------------------------


@pytest.fixture
def checkpoints(hdfs: Hadoop, tmp_path: Path) -> Path:
    """A checkpoint directory like that of a standby NameNode."""
    hdfs.save_namespace()
    directory = tmp_path / "checkpoints"
    shutil.copytree(hdfs.name_directory(), directory / "current")
    return directory


def test_an_image_may_be_taken_from_a_checkpoint_directory(
    follower: Follower, checkpoints: Path, top: str
) -> None:
    (checkpoints / "current" / "fsimage.ckpt_0000000000099999999").write_bytes(b"half of one")
    follower.hdfs = replace(follower.hdfs, image=str(checkpoints))

    assert top in follower.run().rows
    assert not list(spool_of(follower).rglob("fsimage_*")), "it is read where it lies"


def test_without_events_every_newer_image_is_a_complete_plan(
    follower: Follower, hdfs: Hadoop, hdfs_writer: Writer, top: str
) -> None:
    hdfs_writer.create(f"{top}/f")
    hdfs.save_namespace()
    follower.hdfs = replace(follower.hdfs, events=False)
    assert f"{top}/f" in follower.run().rows
    hdfs_writer.delete(f"{top}/f")

    assert follower.run().splits == []
    hdfs.save_namespace()
    assert follower.run().is_gone(f"{top}/f")
    assert follower.run().plan == Plan(note=follower.run().plan.note)


def test_a_truncated_image_covers_nothing_and_is_reported(follower: Follower, checkpoints: Path) -> None:
    follower.hdfs = replace(follower.hdfs, image=str(checkpoints))
    follower.run()
    newest = max((checkpoints / "current").glob(f"fsimage_{'?' * 19}"))
    newest.write_bytes(newest.read_bytes()[:-40])

    with pytest.raises(ImageError, match=newest.name):
        follower.run(complete=True)


def test_an_image_with_a_wrong_md5_fails_its_split(follower: Follower, checkpoints: Path) -> None:
    follower.hdfs = replace(follower.hdfs, image=str(checkpoints))
    newest = max((checkpoints / "current").glob(f"fsimage_{'?' * 19}"))
    newest.with_name(f"{newest.name}.md5").write_text(f"{'0' * 32} *{newest.name}\n")

    with pytest.raises(ImageError, match="MD5"):
        follower.run()


# -- The spool ---------------------------------------------------------------------------------------------------------


def spool_of(follower: Follower) -> Path:
    return Path(follower.hdfs.estate.spool, follower.hdfs.source.id)


def spooled(follower: Follower) -> list[str]:
    directory = spool_of(follower)
    return sorted(each.name for each in directory.iterdir()) if directory.exists() else []


def test_an_image_stays_in_the_spool_until_the_next_plan(follower: Follower) -> None:
    run = follower.run()

    assert spooled(follower) == [str(run.positions[IMAGE])]
    progress = spool_of(follower) / str(run.positions[IMAGE]) / "progress"
    assert "bytes" in progress.read_text()
    follower.run()
    assert spooled(follower) == []


def test_an_image_in_use_is_not_removed(follower: Follower) -> None:
    run = follower.run()
    with spool.reading_in(spool_of(follower) / str(run.positions[IMAGE])):
        follower.run()
        assert len(spooled(follower)) == 1
    follower.run()
    assert spooled(follower) == []


def test_an_image_split_may_be_read_again(follower: Follower, hdfs: Hadoop) -> None:
    hdfs.save_namespace()
    run = follower.run()
    (split,) = (one for one in run.splits if isinstance(one, ImageSplit))
    parts = [one for one in run.splits if isinstance(one, PartSplit)]

    again = list(follower.hdfs.read(split))
    assert [one for one in again if isinstance(one, PartSplit)] == parts
    assert [one.key for one in again if isinstance(one, Position)] == [NAMESPACE_ID, ACCESSES]
    (listing,) = (one for one in follower.hdfs.read(parts[0]) if not isinstance(one, DescribeSplit))
    assert len(listing.paths) == 3  # type: ignore[union-attr]  # a part without sidecars has only a listing


# -- Permissions -------------------------------------------------------------------------------------------------------


class Forbidden(BaseHTTPRequestHandler):
    """A NameNode's web server that refuses requests for its image."""

    def do_GET(self) -> None:
        self.send_error(403, "Only Namenode, Secondary Namenode, and administrators may access this servlet")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def forbidden() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Forbidden) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.services
def test_a_user_without_events_reads_images(
    follower: Follower, hdfs: Hadoop, hdfs_writer: Writer, top: str
) -> None:
    follower.hdfs = replace(follower.hdfs, user="alice")
    run = follower.run()

    assert (
        "alice is not a superuser" in run.plan.note
        and "every newer image is read as a whole" in run.plan.note
    )
    hdfs_writer.mkdirs(f"{top}/d")
    assert follower.run().splits == []
    for name in ("closed", "open"):
        hdfs_writer.create(f"{top}/{name}/f", b"1")
        hdfs_writer.create(f"{top}/{name}/.f.navigator", WORDS)
    hdfs_writer.chmod(f"{top}/closed", "0700")
    hdfs.save_namespace()
    run = follower.run()
    assert {f"{top}/d", f"{top}/closed/f"} <= set(run.rows)
    (reject,) = run.rejects
    assert reject.place.endswith("/closed/f") and "alice may not" in reject.reason
    assert words_of(follower, f"{top}/open/f") == SAID

    # Changing the user keeps the saved positions. A user that may follow events starts with a complete plan, which
    # includes the files hidden from alice.
    follower.hdfs = replace(follower.hdfs, user="")
    assert "it is the first" in follower.run().plan.note
    assert words_of(follower, f"{top}/closed/f") == SAID
    assert follower.run().plan == Plan()


def test_a_user_without_events_and_images_lists_the_roots(
    follower: Follower, hdfs_writer: Writer, top: str, forbidden: str
) -> None:
    hdfs_writer.create(f"{top}/a/f", b"1")
    hdfs_writer.create(f"{top}/closed/g", b"1")
    hdfs_writer.chmod(f"{top}/closed", "0700")
    follower.hdfs = replace(follower.hdfs, user="alice", http=(forbidden,), roots=(top,))
    run = follower.run()

    assert "is listed at every run" in run.plan.note and "administrators" in run.plan.note
    assert set(run.rows) == {top, f"{top}/a", f"{top}/a/f", f"{top}/closed"}
    (reject,) = run.rejects
    assert reject.tree_path == f"{top}/closed" and "alice" in reject.reason
    hdfs_writer.delete(f"{top}/a")
    assert follower.run().is_gone(f"{top}/a/f")
    follower.hdfs = replace(follower.hdfs, roots=(f"{top}/none",))
    with pytest.raises(HdfsNotFound, match="correct roots"):
        follower.run()


def test_a_user_with_events_but_without_image_lists_once(
    follower: Follower, hdfs_writer: Writer, top: str, forbidden: str
) -> None:
    hdfs_writer.create(f"{top}/f", b"1")
    follower.hdfs = replace(follower.hdfs, http=(forbidden,), roots=(top,))
    run = follower.run()
    assert "it is the first" in run.plan.note and f"so {top} is listed" in run.plan.note
    assert set(run.rows) == {top, f"{top}/f"}
    hdfs_writer.create(f"{top}/g", b"1")
    hdfs_writer.delete(f"{top}/f")

    run = follower.run()
    assert run.plan.note == "" and set(run.rows) == {top, f"{top}/g"} and run.is_gone(f"{top}/f")
    overdue = follower.run(later_ms=follower.hdfs.complete_every_s * 1000)
    assert f"so {top} is listed" in overdue.plan.note


@pytest.mark.services
def test_check_shows_what_the_user_may_do(extractor: Hdfs, forbidden: str) -> None:
    events, image = extractor.check()
    assert "events may be followed" in events and "newest image is of transaction" in image

    events, image = replace(extractor, user="alice", http=(forbidden,)).check()
    assert "events may not be followed" in events and "alice is not a superuser" in events
    assert "/ is listed instead" in image

    with pytest.raises(HdfsNotFound, match="correct roots"):
        list(replace(extractor, user="alice", http=(forbidden,), roots=("/none",)).check())
    with pytest.raises(HdfsError, match=r"127\.0\.0\.1:1"):
        list(replace(extractor, url="hdfs://127.0.0.1:1", hadoop_configuration_directory="").check())


# -- Sidecars ----------------------------------------------------------------------------------------------------------

WORDS = b'{"name": "Orders", "tags": ["pii"], "properties": {"steward": "ann"}}'


def words_of(follower: Follower, path: str) -> dict[str, Any]:
    return {
        name: value for name, value in follower.known[path].items() if name in ("name", "tags", "up_steward")
    }


SAID = {"name": "Orders", "tags": ["pii"], "up_steward": "ann"}


@pytest.mark.parametrize("how", ["by the image", "by events", "by a rename"])
def test_sidecar_metadata_is_read_with_its_file(
    follower: Follower, hdfs: Hadoop, hdfs_writer: Writer, top: str, how: str
) -> None:
    if how != "by the image":
        follower.run()
    hdfs_writer.create(f"{top}/d/f.txt", b"1")
    hdfs_writer.create(f"{top}/d/.f.txt.navigator", WORDS)
    hdfs_writer.create(f"{top}/d/.navigator", WORDS)
    hdfs_writer.create(f"{top}/d/.other.navigator", WORDS)
    match how:
        case "by the image":
            hdfs.save_namespace()
        case "by a rename":
            follower.run()
            hdfs_writer.rename(f"{top}/d", f"{top}/e")
    directory = f"{top}/e" if how == "by a rename" else f"{top}/d"
    run = follower.run()

    assert words_of(follower, f"{directory}/f.txt") == words_of(follower, directory) == SAID
    assert run.rejects == []
    hdfs_writer.append(f"{directory}/f.txt", b"2")
    follower.run()
    assert words_of(follower, f"{directory}/f.txt") == SAID, "also when only the file has changed"
    hdfs_writer.delete(f"{directory}/.f.txt.navigator")
    follower.run()
    assert words_of(follower, f"{directory}/f.txt") == {}
    assert words_of(follower, directory) == SAID


def test_an_unreadable_sidecar_is_rejected_and_its_file_is_read(
    follower: Follower, hdfs_writer: Writer, top: str
) -> None:
    follower.run()
    hdfs_writer.create(f"{top}/f", b"1")
    hdfs_writer.create(f"{top}/.f.navigator", b"no JSON")
    run = follower.run()

    assert f"{top}/f" in run.rows
    (reject,) = run.rejects
    assert reject.place.endswith(f"{top}/.f.navigator") and "JSON" in reject.reason


# -- Settings ----------------------------------------------------------------------------------------------------------


def test_files_relevant_only_if_claimed_are_marked(
    follower: Follower, hdfs: Hadoop, hdfs_writer: Writer, top: str
) -> None:
    hdfs_writer.create(f"{top}/d/f", b"1")
    hdfs.save_namespace()
    follower.hdfs = replace(follower.hdfs, entries="directories")
    by_image = follower.run()
    hdfs_writer.rename(f"{top}/d", f"{top}/e")
    by_events = follower.run()

    for run in (by_image, by_events):
        for listing in run.listings:
            assert listing.where_claimed is not None
            assert [bool(one) for one in listing.directories] == [
                not one for one in map(bool, listing.where_claimed)
            ]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"url": "hdfs:/ns1"}, "url"),
        ({"url": "hdfs://ns1:8020", "namenodes": ("a:8020",)}, "url"),
        ({"include": ("data",)}, "include"),
        ({"include": ()}, "include"),
        ({"include": ("/a/**/b",)}, "include"),
        ({"exclude": ("/a/x**",)}, "exclude"),
        ({"roots": ("data",)}, "roots"),
        ({"roots": ()}, "roots"),
        ({"image": "checkpoints"}, "image"),
        ({"keytab": "/etc/navlin.keytab"}, "keytab"),
        ({"complete_every_s": 0}, "complete_every_s"),
        ({"inodes_in_split": 0}, "inodes_in_split"),
        ({"timeout_s": 0.0}, "timeout_s"),
        ({"image_memory_bytes": 1}, "image_memory_bytes"),
    ],
)
def test_an_invalid_setting_is_reported(settings: dict[str, Any], named: str) -> None:
    found = list(Hdfs(SOURCE, Estate("cluster"), **({"url": "hdfs://ns1"} | settings)).problems())

    assert [name for name, _ in found] == [named]


@pytest.mark.parametrize(
    ("settings", "served"),
    [
        (
            {"url": "hdfs://ns1", "namenodes": ["a:8020", "b:9000"]},
            {"hdfs://ns1", "hdfs://a", "hdfs://a:8020", "hdfs://b:9000"},
        ),
        ({"url": "hdfs://nn:8020/"}, {"hdfs://nn", "hdfs://nn:8020"}),
        ({"url": "hdfs://nn"}, {"hdfs://nn", "hdfs://nn:8020"}),
        ({"url": "hdfs://nn:9000"}, {"hdfs://nn:9000"}),
        ({}, set()),
    ],
)
def test_a_source_serves_its_url_and_its_namenodes(settings: dict[str, Any], served: set[str]) -> None:
    assert set(Hdfs.serves(settings)) == served


def test_namenodes_are_also_read_from_the_configuration_directory(tmp_path: Path) -> None:
    properties = {
        "dfs.ha.namenodes.ns1": "nn1, nn2",
        "dfs.namenode.rpc-address.ns1.nn1": "a:8020",
        "dfs.namenode.rpc-address.ns1.nn2": "b:8021",
    }
    lines = [
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in properties.items()
    ]
    (tmp_path / "hdfs-site.xml").write_text(f"<configuration>{''.join(lines)}</configuration>")
    settings = {"url": "hdfs://ns1", "hadoop_configuration_directory": str(tmp_path)}

    assert set(Hdfs.serves(settings)) == {"hdfs://ns1", "hdfs://a", "hdfs://a:8020", "hdfs://b:8021"}
