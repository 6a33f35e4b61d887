"""Reading an fsimage into rows as `tests.support.images.Tree.rows` expects them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from extractors.hdfs.image import Prepared, check_md5, prepare, read_part

MEMORY_BYTES = 64 * 1024 * 1024


def read_rows(
    image: Path, scratch: Path, *, inodes_in_part: int = 100_000, memory_bytes: int = MEMORY_BYTES
) -> dict[str, dict[str, Any]]:
    """Map each path to the attributes that have a value. Raises an AssertionError if a path occurs twice."""
    rows: dict[str, dict[str, Any]] = {}
    prepared = prepare_image(image, scratch, memory_bytes=memory_bytes)
    for row in every_row(prepared, inodes_in_part):
        path = row.pop("path")
        growing = row.pop("uc_size")
        row["size"] = row["size"] if growing is None else growing
        assert path not in rows, f"{path!r} came twice"
        rows[path] = {
            name: value
            for name, value in row.items()
            if name == "directory" or not (value is None or value == [] or value == "" or value is False)
        }
    return rows


def prepare_image(image: Path, scratch: Path, *, memory_bytes: int = MEMORY_BYTES) -> Prepared:
    """Prepare an image as an extractor does before it reads: verify the checksum, if there is one, and make the first
    pass.
    """
    scratch.mkdir(parents=True, exist_ok=True)
    if image.with_name(f"{image.name}.md5").exists():
        check_md5(image, _silent)
    return prepare(image, scratch, memory_bytes=memory_bytes, report=_silent)


def every_row(prepared: Prepared, inodes_in_part: int) -> Iterator[dict[str, Any]]:
    for part in prepared.parts(inodes_in_part):
        for batch in read_part(prepared, part):
            yield from batch.to_pylist()


def _silent(*_said: object) -> None:
    pass
