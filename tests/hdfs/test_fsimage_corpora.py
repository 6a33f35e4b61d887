"""Images written by real NameNodes of Hadoop 2 and 3: all files and directories are read as other tools read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from extractors.hdfs.image import describe_image
from tests.support.read_images import prepare_image, read_rows

IMAGES = ("exporter-fsimage_0001", "hfsa-fsi_small_h2x.img", "hfsa-fsi_small_h3_2.img")


@pytest.fixture
def expected(corpora: Path) -> dict[str, Any]:
    folder = corpora / "fsimage"
    if not folder.is_dir():
        pytest.skip(f"{folder} is missing")
    reported: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return reported


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("inodes_in_part", [7, 100_000])
def test_a_foreign_image_has_the_expected_rows(
    name: str, inodes_in_part: int, corpora: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    image = corpora / "fsimage" / name
    reported = expected[name]

    rows = read_rows(image, tmp_path, inodes_in_part=inodes_in_part)

    assert [_listed(path, rows[path]) for path in sorted(rows)] == sorted(
        reported["listing"], key=lambda each: each["path"]
    )
    files = [row for row in rows.values() if not row["directory"]]
    assert (len(rows), len(files)) == (reported["numInodes"], reported["files"] + reported["symlinks"])
    assert sum(row.get("size", 0) for row in files) == reported["sumFileSize"]
    assert sorted({row["owner"] for row in rows.values()}) == reported["users"]
    assert {row["group"] for row in rows.values()} <= set(reported["groups"])


@pytest.mark.parametrize("name", IMAGES)
def test_a_foreign_image_has_the_expected_summary(
    name: str, corpora: Path, expected: dict[str, Any], tmp_path: Path
) -> None:
    reported = expected[name]
    summary = describe_image(corpora / "fsimage" / name)
    assert (summary.layout, summary.codec or None) == (reported["layoutVersion"], reported["codec"])
    assert (summary.transaction_id, summary.inodes) == (reported["transactionId"], reported["numInodes"])
    prepared = prepare_image(corpora / "fsimage" / name, tmp_path)
    assert (prepared.live, prepared.directories) == (reported["numInodes"], reported["dirs"])


def _listed(path: str, row: dict[str, Any]) -> dict[str, Any]:
    """A row in the format of expected.json."""
    permissions = row["permissions"]
    bits = "".join("0" if each == "-" else "1" for each in permissions)
    return {
        "path": path,
        "type": "DIRECTORY" if row["directory"] else "FILE",
        "owner": row["owner"],
        "group": row["group"],
        "perm": oct(int(bits, 2)),
        "length": row.get("size", 0),
        "mtime": row["lastModified"],
        "replication": row.get("replication"),
        "inode": row["inodeId"],
    }
