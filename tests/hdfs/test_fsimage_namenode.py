"""Images that a real NameNode writes, in each format: their rows equal the NameNode's own status of each file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from extractors.hdfs.client import FileStatus, HdfsAddress, HdfsClient, HdfsNotFound
from extractors.hdfs.image import describe_image, find_image
from extractors.hdfs.status import to_listing
from navlin.model.source import HDFS, Source, source_id
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.support.read_images import prepare_image, read_rows

pytestmark = pytest.mark.services

# NameNode settings for saving the image: (codec, whether in parallel). ZStandardCodec is missing because it needs
# Hadoop's native library, which is not in a jar.
FORMS = {
    "parallel": ("", True),
    "parallel DefaultCodec": ("DefaultCodec", True),
    "GzipCodec": ("GzipCodec", False),
    "BZip2Codec": ("BZip2Codec", False),
    "SnappyCodec": ("SnappyCodec", False),
    "Lz4Codec": ("Lz4Codec", False),
}


@dataclass(frozen=True, slots=True)
class Filled:
    """An HDFS with a file of every kind that no longer changes, and the NameNode's status of each file."""

    hadoop: Hadoop
    answered: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, hadoop_jars: Path) -> Iterator[Filled]:
    cache = hadoop_jars.parent / "hadoop-launcher"
    settings = {"dfs.image.parallel.inode.threshold": "10"}
    with Hadoop(tmp_path_factory.mktemp("namenode"), hadoop_jars, cache=cache, settings=settings) as hadoop:
        with Writer(hadoop, cache) as writer:
            _fill(writer)
        client = HdfsClient(HdfsAddress(hadoop.url, cache=str(cache)))
        try:
            yield Filled(hadoop, _answered(client))
        finally:
            client.stop()


def _fill(writer: Writer) -> None:
    writer.mkdirs("/data/wide")
    for number in range(60):
        writer.create(f"/data/wide/part-{number:05d}", b"x" * (number * 40), block_bytes=512)
    deep = "/data" + "".join(f"/level {number}" for number in range(60))
    writer.mkdirs(deep)
    writer.create(f"{deep}/größe % 100 日本", b"deep")
    writer.create("/data/empty")
    writer.chmod("/data/wide", "1777")
    writer.chmod("/data/empty", "1640")
    writer.chown("/data/empty", "alice", "analysts")
    writer.replicate("/data/empty", 3)
    writer.touch("/data/empty", 1_700_000_000_123, 1_700_000_000_456)
    writer.mkdirs("/acl")
    writer.create("/acl/file", b"1")
    writer.acl("/acl/file", "user:bob:r-x,group:staff:rw-")
    writer.acl("/acl", "user:alice:rwx,default:user:carol:r--,default:group:staff:r-x")
    writer.create("/acl/inherits", b"22")
    writer.mkdirs("/coded/replicated/below")
    writer.mkdirs("/coded/below")
    writer.erasure_code("/coded", "RS-6-3-1024k")
    writer.erasure_code("/coded/replicated", "REPLICATION")
    writer.create("/coded/replicated/file", b"333")
    writer.create("/coded/striped")
    writer.quota("/data/wide", 1_000_000)
    # Files deleted or moved after a snapshot remain in the snapshot; moved ones are stored as references.
    writer.mkdirs("/snapped/inner")
    writer.create("/snapped/inner/stays", b"4444")
    writer.create("/snapped/goes", b"5")
    writer.create("/snapped/moves", b"66")
    writer.mkdirs("/snapped/moves too/below")
    writer.create("/snapped/moves too/below/file", b"777")
    writer.snapshot("/snapped", "first")
    writer.delete("/snapped/goes")
    writer.rename("/snapped/moves", "/data/moved")
    writer.rename("/snapped/moves too", "/snapped/moved too")
    writer.append("/data/moved", b"more")
    writer.snapshot("/snapped", "second")
    writer.delete("/snapped/inner")
    writer.create("/open", b"y" * 1500, block_bytes=512, close=False)
    writer.write("/open", b"z" * 10)


@pytest.mark.parametrize(("codec", "parallel"), FORMS.values(), ids=FORMS.keys())
def test_an_image_agrees_with_its_namenode(
    codec: str, parallel: bool, filled: Filled, tmp_path: Path
) -> None:
    hadoop = filled.hadoop
    hadoop.send(f"set dfs.image.parallel.load={str(parallel).lower()}")
    hadoop.send(f"set dfs.image.compress={str(codec != '').lower()}")
    hadoop.send(f"set dfs.image.compression.codec=org.apache.hadoop.io.compress.{codec}")
    hadoop.save_namespace()
    image = find_image(hadoop.name_directory())

    assert describe_image(image).codec.rpartition(".")[2] == codec
    assert (b"INODE_SUB" in image.read_bytes()) == parallel
    prepared = prepare_image(image, tmp_path / "first")
    assert prepared.inodes > prepared.live  # the snapshots contain deleted inodes
    assert read_rows(image, tmp_path / "scratch", inodes_in_part=50) == filled.answered


def _answered(client: HdfsClient) -> dict[str, dict[str, Any]]:
    statuses, left = [status for status in client.describe(["/"]) if status], ["/"]
    while left:
        try:
            found = list(client.list(left.pop()))
        except HdfsNotFound:
            continue
        statuses += found
        left += [each.path for each in found if each.directory]
    source = Source(source_id("test", HDFS), HDFS, "HDFS", "test")
    listing = to_listing(source, 0, statuses)
    columns = {"directory": listing.directories, **listing.attributes}
    rows = {
        path: {
            name: column[row]
            for name, column in columns.items()
            if name == "directory" or column[row] not in (None, "", [])
        }
        for row, path in enumerate(listing.paths)
    }
    for name, column in listing.volatile.items():
        for path, value in zip(listing.paths, column, strict=True):
            if value is not None:
                rows[path][name] = value
    for path, row in rows.items():
        if row["directory"]:
            row |= _content([each for each in statuses if each.path.startswith(path.rstrip("/") + "/")])
    return rows


def _content(below: list[FileStatus]) -> dict[str, Any]:
    """Totals over the files below a directory. Times are rounded up to whole seconds."""
    files = [each for each in below if not each.directory and each.symlink is None]
    content = {
        "contentFiles": len(files),
        "contentSize": sum(each.size for each in files),
        "contentSpace": sum(each.size * (1 if each.ec_policy else each.replication) for each in files),
    }
    if files:
        content["contentModified"] = max(each.modified_ms // 1000 * 1000 + 1000 for each in files)
        content["contentAccessed"] = max(each.accessed_ms // 1000 * 1000 + 1000 for each in files)
    return content
