"""Preparing an image, reusing a prepared image, choosing the image to read, and trees at the limits."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from extractors.hdfs.image import ImageError, Prepared, find_image, prepare, read_part
from tests.support.image_trees import varied
from tests.support.images import ROOT_ID, Tree
from tests.support.read_images import every_row, read_rows


def paths_of(prepared: Prepared) -> set[str]:
    return {row["path"] for row in every_row(prepared, 1000)}


def prepared_anew(image: Path, scratch: Path) -> tuple[Prepared, bool]:
    """The prepared image, and whether the call read the image instead of reusing a prepared one."""
    reported: list[str] = []
    return prepare(image, scratch, report=lambda what, done, total: reported.append(what)), bool(reported)


def test_a_prepared_image_is_reused_only_for_the_same_image(tmp_path: Path) -> None:
    image = varied().write(tmp_path / "image")
    first, went_over = prepared_anew(image, tmp_path / "scratch")
    assert went_over
    assert prepared_anew(image, tmp_path / "scratch") == (first, False)
    os.utime(image, ns=(1, 1))
    assert prepared_anew(image, tmp_path / "scratch")[1]
    tree = Tree()
    tree.file("/other")
    other, went_over = prepared_anew(tree.write(tmp_path / "image"), tmp_path / "scratch")
    assert went_over
    assert paths_of(other) == {"/", "/other"}


@pytest.mark.parametrize("damage", ["no record", "half a record", "a record of another form"])
def test_interrupted_preparation_is_repeated(damage: str, tmp_path: Path) -> None:
    tree = varied()
    image = tree.write(tmp_path / "image")
    prepare(image, tmp_path / "scratch")
    (record,) = (tmp_path / "scratch").rglob("prepared.json")
    match damage:
        case "no record":
            record.unlink()
        case "half a record":
            record.write_text(record.read_text()[:50])
        case _:
            record.write_text(record.read_text().replace('"form": ', '"form": 99'))
    for column in record.parent.iterdir():
        if column != record:
            column.write_bytes(column.read_bytes()[:7])
    prepared, went_over = prepared_anew(image, tmp_path / "scratch")
    assert went_over
    assert paths_of(prepared) == set(tree.rows())


def test_a_refused_image_leaves_no_scratch_files(tmp_path: Path) -> None:
    tree = varied()
    tree.children[ROOT_ID].append(999_999)
    kept = tmp_path / "scratch" / "of somebody else"
    kept.parent.mkdir()
    kept.write_text("stays")
    with pytest.raises(ImageError, match="999999"):
        prepare(tree.write(tmp_path / "image"), tmp_path / "scratch")
    assert [each.name for each in kept.parent.iterdir()] == [kept.name]


def test_missing_scratch_files_are_reported(tmp_path: Path) -> None:
    prepared = prepare(varied().write(tmp_path / "image"), tmp_path / "scratch")
    (part,) = prepared.parts(1_000_000)
    for column in ("parents", "frames", "paths", "path_ends"):
        file = Path(prepared.scratch, column)
        held = file.read_bytes()
        for left in (None, held[: len(held) // 2]):
            file.unlink()
            if left is not None:
                file.write_bytes(left)
            with pytest.raises(ImageError, match="cannot be read with the prepared files in"):
                list(read_part(prepared, part))
            file.write_bytes(held)
    assert sum(batch.num_rows for batch in read_part(prepared, part)) == prepared.live


@pytest.mark.parametrize("change", ["cut off", "replaced"])
def test_an_image_changed_while_being_read_is_an_error(change: str, tmp_path: Path) -> None:
    tree = Tree()
    for number in range(40_000):
        tree.file(f"/d/file-{number:06d}")
    image = tree.write(tmp_path / "image")
    prepared = prepare(image, tmp_path / "scratch")
    (part,) = prepared.parts(1_000_000)
    batches = read_part(prepared, part)
    next(batches)
    if change == "cut off":
        os.truncate(image, 100)
    else:
        Tree().write(tmp_path / "other").replace(image)
    with pytest.raises(ImageError, match=r"cut off|changed"):
        list(batches)


def test_scarce_memory_does_not_change_the_result(tmp_path: Path) -> None:
    tree = varied()
    for number in range(500):
        tree.file(f"/many/{number}", inode_id=1_000_000 + number * number)
    image = tree.write(tmp_path / "image", order=3)
    assert read_rows(image, tmp_path / "scratch", memory_bytes=1) == tree.rows()


def test_a_child_of_a_live_and_a_dead_directory_belongs_to_the_live_one(tmp_path: Path) -> None:
    """A directory that exists only in snapshots may still list children that have since been moved elsewhere."""
    tree = Tree()
    tree.file("/live/below/file")
    dead = tree.directory("/dead", only_in_snapshot=True)
    tree.children[dead] = [tree.paths[b"/live/below"], tree.paths[b"/live/below/file"]]
    image = tree.write(tmp_path / "image")
    assert set(read_rows(image, tmp_path / "scratch")) == {"/", "/live", "/live/below", "/live/below/file"}


def test_a_deep_path_is_read_and_an_excessive_one_refused(tmp_path: Path) -> None:
    tree = Tree()
    above = ROOT_ID
    for number in range(900):
        inode = tree.directory(f"/d{number}")
        if above != ROOT_ID:
            tree.children[ROOT_ID].remove(inode)
            tree.children[above] = [inode]
        tree.inodes[inode].name = b"n" * 70
        above = inode
    image = tree.write(tmp_path / "image")
    prepared = prepare(image, tmp_path / "scratch")
    assert max(map(len, paths_of(prepared))) == 900 * 71
    for each in tree.inodes.values():
        each.name = each.name * 2
    with pytest.raises(ImageError, match="126900 bytes, in 900 names"):
        prepare(tree.write(tmp_path / "image"), tmp_path / "scratch")


def test_an_error_keeps_file_section_and_offset_when_pickled(tmp_path: Path) -> None:
    tree = varied()
    tree.inodes_in_header = 3
    image = tree.write(tmp_path / "image")
    with pytest.raises(ImageError) as refused:
        prepare(image, tmp_path / "scratch")
    reported = pickle.loads(pickle.dumps(refused.value))  # noqa: S301
    assert (reported.file, reported.section) == (str(image), "INODE")
    assert str(reported) == str(refused.value)
    assert str(reported).startswith(f"{image}, section INODE, byte ")


def test_the_newest_complete_image_of_a_directory_is_found(tmp_path: Path) -> None:
    current = tmp_path / "current"
    current.mkdir()
    with pytest.raises(ImageError, match="no fsimage"):
        find_image(tmp_path)
    for name in (
        "fsimage_0000000000000000099",
        "fsimage.ckpt_0000000000000000300",
        "fsimage_rollback_7",
        "VERSION",
    ):
        (current / name).write_bytes(b"x")
    with pytest.raises(ImageError, match=r"99.*\.md5"):
        find_image(tmp_path)
    for number in (5, 40):
        (current / f"fsimage_{number:019d}").write_bytes(b"x")
        (current / f"fsimage_{number:019d}.md5").write_bytes(b"x")
    assert find_image(tmp_path) == find_image(current) == current / "fsimage_0000000000000000040"
    assert find_image(current / "VERSION") == current / "VERSION"
    with pytest.raises(ImageError, match="does not exist"):
        find_image(tmp_path / "nothing")
