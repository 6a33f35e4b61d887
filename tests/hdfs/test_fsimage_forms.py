"""Valid and invalid fsimages, including those that a NameNode rarely or never writes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from extractors.hdfs.image import ImageError, describe_image, read_part
from tests.support.image_file import MAGIC, Codec, delimited, nested, number, varint
from tests.support.image_trees import ACL, varied
from tests.support.images import LAYOUTS, MIB, ROOT_ID, Tree
from tests.support.large_images import write_large_image, write_wide_image
from tests.support.read_images import prepare_image, read_rows

# -- Readable images -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_rows_of_its_tree(layout: int, tmp_path: Path) -> None:
    tree = varied(layout)
    image = tree.write(tmp_path / "image")
    assert read_rows(image, tmp_path / "scratch") == tree.rows()
    summary = describe_image(image)
    assert (summary.layout, summary.transaction_id) == (layout, 4711)


@pytest.mark.parametrize("sub_sections", [0, 4], ids=["whole", "with sub-sections"])
@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_every_codec_gives_the_rows_of_its_tree(codec: Codec, sub_sections: int, tmp_path: Path) -> None:
    tree = varied()
    image = tree.write(tmp_path / "image", codec=codec, inodes_in_sub_section=sub_sections, order=3)
    assert read_rows(image, tmp_path / "scratch", inodes_in_part=5) == tree.rows()


@pytest.mark.parametrize(
    "codec",
    [
        Codec.DEFAULT,
        *(
            pytest.param(each, marks=pytest.mark.services)
            for each in (Codec.SNAPPY, Codec.LZ4, Codec.ZSTANDARD)
        ),
    ],
    ids=lambda c: c.name,
)
def test_blocks_spanning_several_chunks_are_read(codec: Codec, tmp_path: Path) -> None:
    tree = Tree()
    tree.file("/long", blocks=range(1, 60_000))
    tree.file("/next", blocks=(5,))
    image = tree.write(tmp_path / "image", codec=codec)
    assert read_rows(image, tmp_path / "scratch") == tree.rows()


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_order_of_inodes_does_not_matter(order: int, tmp_path: Path) -> None:
    tree = varied()
    image = tree.write(tmp_path / "image", order=order, inodes_in_sub_section=7)
    assert read_rows(image, tmp_path / "scratch", inodes_in_part=3) == tree.rows()


def test_single_inode_parts_give_the_same_and_can_be_pickled(tmp_path: Path) -> None:
    tree = varied()
    prepared = prepare_image(tree.write(tmp_path / "image"), tmp_path / "scratch")
    parts = prepared.parts(1)
    assert len(parts) >= len(tree.rows())
    sent = pickle.loads(pickle.dumps((prepared, parts)))  # noqa: S301
    paths = [
        row["path"] for part in sent[1] for batch in read_part(sent[0], part) for row in batch.to_pylist()
    ]
    assert sorted(paths) == sorted(tree.rows())


def test_rereading_a_part_yields_the_same(tmp_path: Path) -> None:
    prepared = prepare_image(varied().write(tmp_path / "image"), tmp_path / "scratch")
    (part,) = prepared.parts(1_000)
    first, second = (list(read_part(prepared, part)) for _ in range(2))
    assert first == second


def test_an_image_of_only_the_root_has_one_row(tmp_path: Path) -> None:
    tree = Tree()
    assert read_rows(tree.write(tmp_path / "image"), tmp_path / "scratch") == tree.rows()
    assert list(tree.rows()) == ["/"]


NAMES = {
    "latin": b"caf\xe9",
    "no start": b"\x80\xbf",
    "cut short": b"\xe2\x82",
    "surrogate": b"\xed\xa0\x80",
    "overlong": b"\xc0\xaf",
    "beyond": b"\xf5\x80\x80\x80",
    "bad among good": "ü".encode() + b"\xff" + "漢字".encode() + b"\xfe.txt",
    "spaces": b" a b ",
    "signs": b"%25 \"'\\n${x}*?[]&<>",
    "control": b"new\nline\ttab\x01\x7f",
    "emoji": "🦔.parquet".encode(),
    "zero": b"nul\x00inside",
    "long": b"x" * 8_000,
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES.keys())
def test_a_name_may_be_any_bytes(name: bytes, tmp_path: Path) -> None:
    tree = Tree()
    tree.file(b"/files/" + name)
    tree.directory(b"/directories/" + name + b"/" + name)
    tree.file(b"/directories/" + name + b"/" + name + b"/plain")
    image = tree.write(tmp_path / "image")
    assert read_rows(image, tmp_path / "scratch") == tree.rows()


def test_owners_and_groups_may_share_their_ids(tmp_path: Path) -> None:
    tree = Tree()
    for at in range(40):
        tree.file(
            f"/f{at}",
            owner=f"user{at}",
            group=f"group{39 - at}",
            acl=(f"user:group{at}:r--", f"group:user{at}:-w-"),
        )
    image = tree.write(tmp_path / "image")
    assert read_rows(image, tmp_path / "scratch") == tree.rows()


def test_a_single_string_table_is_read_at_any_layout(tmp_path: Path) -> None:
    tree = Tree(layout=-65, mask_bits=0)
    tree.file("/f", owner="same", group="same", acl=("user:same:r--", "group:other:rwx"))
    assert read_rows(tree.write(tmp_path / "image"), tmp_path / "scratch") == tree.rows()


@pytest.mark.parametrize("mask_bits", [2, 3, 4, 8])
def test_the_number_of_mask_bits_is_read_from_the_image(mask_bits: int, tmp_path: Path) -> None:
    tree = Tree(mask_bits=mask_bits)
    tree.directory("/z", owner="alice", group="staff", acl=ACL, zone_key="k")
    assert read_rows(tree.write(tmp_path / "image"), tmp_path / "scratch") == tree.rows()


def test_a_file_may_have_ten_thousand_blocks_and_sizes_beyond_32_bits(tmp_path: Path) -> None:
    tree = Tree()
    tree.file("/big", blocks=[128 * MIB] * 10_000 + [1])
    tree.file("/striped", blocks=[1024 * 1024 * MIB] * 3, striped="RS-10-4-1024k")
    assert read_rows(tree.write(tmp_path / "image"), tmp_path / "scratch") == tree.rows()


def test_a_tree_may_be_a_thousand_deep(tmp_path: Path) -> None:
    tree = Tree()
    path = "".join(f"/d{at}" for at in range(1_000))
    tree.file(f"{path}/end")
    assert read_rows(tree.write(tmp_path / "image", order=9), tmp_path / "scratch") == tree.rows()


def test_inode_ids_may_be_far_apart(tmp_path: Path) -> None:
    tree = Tree()
    for at in range(200):
        tree.directory(f"/d{at}", inode_id=(1 << 40) - at * 5_368_709_120)
        tree.file(f"/d{at}/f", inode_id=20_000 + at * 1_073_741_827)
    image = tree.write(tmp_path / "image", order=4)
    assert read_rows(image, tmp_path / "scratch", inodes_in_part=50) == tree.rows()


def test_inode_ids_may_exceed_40_bits(tmp_path: Path) -> None:
    tree = Tree()
    tree.file("/far", inode_id=(1 << 62) + 5)
    assert read_rows(tree.write(tmp_path / "image"), tmp_path / "scratch") == tree.rows()


def test_snapshot_only_inodes_are_skipped_with_everything_below(tmp_path: Path) -> None:
    tree = varied()
    gone = tree.directory("/snapshotted/gone", only_in_snapshot=True)
    below = tree.file("/snapshotted/lost", only_in_snapshot=True)
    deeper = tree.directory("/snapshotted/lost-too", only_in_snapshot=True)
    tree.children[gone] = [below, deeper]
    image = tree.write(tmp_path / "image")
    assert read_rows(image, tmp_path / "scratch", inodes_in_part=2) == tree.rows()


def test_unknown_sections_and_fields_are_skipped(tmp_path: Path) -> None:
    tree = varied()
    tree.unknown_fields = number(77, 1) + nested(78, b"later") + b"\xfd\x04abcd" + b"\xf9\x04abcdefgh"
    image = tree.write(tmp_path / "image", strange_sections=("TAGS", "INODE_TAGS"))
    assert read_rows(image, tmp_path / "scratch") == tree.rows()


@pytest.mark.parametrize("shuffled", [False, True], ids=["by number", "shuffled"])
def test_a_large_image_has_every_inode_in_little_memory(shuffled: bool, tmp_path: Path) -> None:
    large = write_large_image(tmp_path / "image", 60_000, sub_sections=5, shuffled=shuffled)
    prepared = prepare_image(large.path, tmp_path / "scratch", memory_bytes=1024 * 1024)
    seen: set[str] = set()
    file_bytes = directories = 0
    for part in prepared.parts(7_000):
        for batch in read_part(prepared, part):
            seen.update(batch.column("path").to_pylist())
            file_bytes += sum(filter(None, batch.column("size").to_pylist()))
            directories += sum(batch.column("directory").to_pylist())
    assert (len(seen), directories, file_bytes) == (large.inodes, large.directories, large.file_bytes)
    assert all(path.rpartition("/")[0] in seen or path.count("/") == 1 for path in seen)


@pytest.mark.services
def test_a_directory_may_have_a_million_children(tmp_path: Path) -> None:
    """The children occupy more bytes than a page, and more than are decoded at once."""
    first, count = 1 << 60, 950_000
    image = write_wide_image(tmp_path / "image", first, count)
    prepared = prepare_image(image, tmp_path / "scratch")
    assert (prepared.live, prepared.directories) == (count + 1, 1)
    seen = np.zeros(count, np.bool_)
    for part in prepared.parts(300_000):
        for batch in read_part(prepared, part):
            ids = batch.column("inodeId").to_numpy()
            of_files = np.flatnonzero(ids >= first)
            seen[ids[of_files] - first] = True
            last = int(of_files[-1])
            assert batch.column("path")[last].as_py() == f"/f{ids[last] - first}"
    assert seen.all()


# -- Images that must be refused -----------------------------------------------------------------------------------------


def cycle(tree: Tree) -> None:
    above, below = tree.directory("/x"), tree.directory("/x/y")
    tree.children[ROOT_ID].remove(above)
    tree.children[below] = [above]


def child_of_itself(tree: Tree) -> None:
    own = tree.directory("/x")
    tree.children[ROOT_ID].remove(own)
    tree.children[own] = [own]


def child_that_is_missing(tree: Tree) -> None:
    tree.children[tree.directory("/x")] = [999_999]


def parent_that_is_missing(tree: Tree) -> None:
    tree.children[999_999] = [tree.file("/lost", only_in_snapshot=True)]


def parent_that_is_a_file(tree: Tree) -> None:
    tree.children[tree.file("/x")] = [tree.file("/y", only_in_snapshot=True)]


def child_twice(tree: Tree) -> None:
    child = tree.file("/x/y")
    tree.children[tree.paths[b"/x"]].append(child)


def child_of_two(tree: Tree) -> None:
    tree.directory("/other")
    tree.children[tree.paths[b"/other"]] = [tree.file("/x/y")]


def root_as_child(tree: Tree) -> None:
    tree.children[tree.directory("/x")] = [ROOT_ID]


def same_number_twice(tree: Tree) -> None:
    one, other = tree.file("/x"), tree.file("/y")
    tree.children[ROOT_ID].remove(other)
    tree.inodes[other].id = one


def no_root(tree: Tree) -> None:
    del tree.inodes[ROOT_ID]


def root_that_is_a_file(tree: Tree) -> None:
    tree.inodes[ROOT_ID].kind = tree.inodes[ROOT_ID].FILE


def name_with_a_slash(tree: Tree) -> None:
    tree.inodes[tree.file("/x")].name = b"a/b"


def name_of_nothing(tree: Tree) -> None:
    tree.inodes[tree.file("/x")].name = b""


def fewer_inodes_than_said(tree: Tree) -> None:
    tree.inodes_in_header = len(tree.inodes) + 1


def more_inodes_than_said(tree: Tree) -> None:
    tree.inodes_in_header = len(tree.inodes) - 1


def reference_beyond_the_last(tree: Tree) -> None:
    tree.file("/x/y", by_reference=True)
    tree.first_reference = 5


BROKEN = (
    cycle,
    child_of_itself,
    child_that_is_missing,
    parent_that_is_missing,
    parent_that_is_a_file,
    child_twice,
    child_of_two,
    root_as_child,
    same_number_twice,
    no_root,
    root_that_is_a_file,
    name_with_a_slash,
    name_of_nothing,
    fewer_inodes_than_said,
    more_inodes_than_said,
    reference_beyond_the_last,
)


@pytest.mark.parametrize("shape", BROKEN, ids=lambda shape: shape.__name__.replace("_", " "))
@pytest.mark.parametrize("sub_sections", [0, 4], ids=["whole", "with sub-sections"])
def test_an_impossible_tree_is_refused_as_a_whole(
    shape: Callable[[Tree], None], sub_sections: int, tmp_path: Path
) -> None:
    tree = varied()
    shape(tree)
    image = tree.write(tmp_path / "image", inodes_in_sub_section=sub_sections)
    with pytest.raises(ImageError, match="image") as refused:
        read_rows(image, tmp_path / "scratch", inodes_in_part=5)
    assert refused.value.section.startswith("INODE"), str(refused.value)


@pytest.mark.parametrize(
    ("tag", "unknown"), [(b"\x12", b"\x32"), (b"\x12", b"\x52"), (b"\x1a", b"\x3a"), (b"\x1a", b"\x0a")]
)
def test_children_in_an_unknown_field_are_refused(tag: bytes, unknown: bytes, tmp_path: Path) -> None:
    """A changed bit in a tag would otherwise go unnoticed, because the image can still be parsed, and the children of a
    whole directory would be lost.
    """
    tree = varied()
    image = tree.write(tmp_path / "image", md5=False)
    entry = number(1, tree.paths[b"/d/e"]) + nested(2, varint(tree.paths[b"/d/e/f"])) + nested(3, b"\x00\x01")
    content = image.read_bytes()
    assert entry in content
    at = content.index(entry) + entry.rindex(tag)
    image.write_bytes(content[:at] + unknown + content[at + 1 :])
    with pytest.raises(ImageError, match="INODE_DIR"):
        read_rows(image, tmp_path / "scratch")


@pytest.mark.parametrize("later", [True, False], ids=["begins later", "ends earlier"])
def test_a_section_missing_its_first_or_last_message_is_refused(later: bool, tmp_path: Path) -> None:
    """The section can still be parsed, so without a check the children of a whole directory would be lost."""
    tree = varied()
    image = tree.write(tmp_path / "image", md5=False)
    content = image.read_bytes()
    section = describe_image(image).section("INODE_DIR")
    assert section is not None
    first_bytes = 1 + content[section.offset]
    last = delimited(number(1, tree.paths[b"/ec/other"]) + nested(2, varint(tree.paths[b"/ec/other/below"])))
    lost_bytes = first_bytes if later else len(last)
    assert later or content[: section.offset + section.length].endswith(last)
    reported = nested(1, section.name) + number(2, section.length) + number(3, section.offset)
    offset = section.offset + (lost_bytes if later else 0)
    damaged = nested(1, section.name) + number(2, section.length - lost_bytes) + number(3, offset)
    assert content.count(reported) == 1 and len(reported) == len(damaged)
    image.write_bytes(content.replace(reported, damaged))
    with pytest.raises(ImageError, match="begins at byte"):
        read_rows(image, tmp_path / "scratch")


def test_a_file_that_is_not_an_fsimage_is_refused_with_the_reason(tmp_path: Path) -> None:
    legacy = tmp_path / "fsimage_legacy"
    legacy.write_bytes(b"\xff\xff\xff\xd0" + bytes(1_000))
    for door in (describe_image, lambda path: prepare_image(path, tmp_path / "scratch")):
        with pytest.raises(ImageError, match=r"2\.4|legacy|HDFSIMG1"):
            door(legacy)
    for content in (b"", MAGIC, MAGIC + b"\0\0\0\0", MAGIC + b"\xff\xff\xff\xff", MAGIC[:5]):
        legacy.write_bytes(content)
        with pytest.raises(ImageError):
            describe_image(legacy)


def test_an_unknown_codec_is_named(tmp_path: Path) -> None:
    image = varied().write(tmp_path / "image", codec=Codec.DEFAULT, md5=False)
    image.write_bytes(image.read_bytes().replace(b"DefaultCodec", b"SpecialCodec"))
    with pytest.raises(ImageError, match="SpecialCodec"):
        describe_image(image)
        read_rows(image, tmp_path / "scratch")


def test_an_image_with_too_old_a_layout_number_is_refused_or_read(tmp_path: Path) -> None:
    tree = varied(-63)
    tree.layout = -50
    image = tree.write(tmp_path / "image")
    try:
        assert read_rows(image, tmp_path / "scratch") == tree.rows()
    except ImageError as error:
        assert "-50" in str(error)
