"""Damaged inodes, images and directory listings of HDFS."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from extractors.hdfs import Hdfs
from extractors.hdfs.child import Child
from navlin.model.plan import Positions
from navlin.model.source import HDFS, Estate, Source, source_id
from navlin.pipeline.reading import ReadSummary
from tests.support import damage
from tests.support.damaged.tallies import (
    TEXTS_ON_THE_WIRE,
    Damaged,
    Outcome,
    Tally,
    Task,
    in_a_task,
    in_time,
)
from tests.support.image_trees import varied
from tests.support.images import Tree

IMAGES_SHARE: Final = 0.01
"""Proportion of images among the damaged items; it is small because reading an image takes some ten milliseconds. The
other items are sidecars, rows and inodes.
"""
FILES_A_LISTING: Final = 300


def hdfs(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    """Damage the NameNode's responses (unusual values), sidecars, inodes in images (unusual values), and whole images."""
    tally = Tally()
    folder.mkdir(parents=True, exist_ok=True)
    while tally.total < count:
        _damage_listing(tally, chance, min(FILES_A_LISTING, count - tally.total))
        if tally.total < count:
            _damage_inodes(folder, tally, chance, min(FILES_A_LISTING, count - tally.total))
        for _ in range(min(int(2 * FILES_A_LISTING * IMAGES_SHARE), count - tally.total)):
            _damage_image(folder, tally, chance)
    return tally


_SIDECAR: Final = {
    "name": "n",
    "description": "what it is",
    "tags": ["a", "b"],
    "properties": {"owner": "ana"},
}


def _hdfs_extractor(folder: Path, **settings: Any) -> Hdfs:
    source = Source(source_id("damaged", "HDFS-1"), HDFS, "HDFS-1", "damaged", ("hdfs://ns1",))
    return Hdfs(source, Estate("damaged", (source,), spool=f"{folder}-spool"), "hdfs://ns1", **settings)


def _damage_listing(tally: Tally, chance: random.Random, count: int) -> None:
    namenode = _NameNode()
    ways: dict[str, str] = {}
    for number in range(count):
        path = f"/d/f{number:04d}"
        if chance.random() < 0.5:
            row = _row(path.rpartition("/")[2])
            at, other = chance.choice(_ROWS)
            row[at] = chance.choice(other)
            ways[path] = f"a row with another {_ROW_NAMES[at]}"
            namenode.rows[path] = row
        else:
            way, text = damage.damaged_json(_SIDECAR, chance)
            namenode.rows[path] = _row(path.rpartition("/")[2])
            sidecar = f"/d/.f{number:04d}.navigator"
            namenode.rows[sidecar] = _row(sidecar.rpartition("/")[2])
            namenode.contents[sidecar] = text
            ways[path] = f"a sidecar, {way}"
    namenode.rows["/d/sound"] = _row("sound")
    extractor = _hdfs_extractor(Path("/nowhere"), image="namenode", roots=("/d",))
    with namenode.answers():
        plan = extractor.plan(Positions(now_ms=1))
        with in_time("a listing"):
            task = in_a_task(extractor, *plan.splits)
    if task.summary.failures:
        raise Damaged(f"a listing failed: {task.summary.failures}")
    paths = {each["fileSystemPath"] for each in task.documents if "fileSystemPath" in each}
    rejected = {reject.place.removeprefix("hdfs://ns1") for reject in task.summary.rejects}
    if lost := {*ways, "/d/sound"} - paths:
        raise Damaged(f"{len(lost)} files are lost: {sorted(lost)[:5]}")
    for path, way in ways.items():
        beside = f"/d/.{path.rpartition('/')[2]}.navigator"
        tally.add(way, Outcome.REJECTED if {path, beside} & rejected else Outcome.VALID)


_ROW_NAMES: Final = (
    *(
        "name",
        "directory",
        "size",
        "block size",
        "replication",
        "owner",
        "group",
        "permissions",
        "modified_ms",
    ),
    *("accessed_ms", "inode", "symlink", "under construction", "zone", "policy", "acl"),
)
_NUMBERS: Final = (0, -1, (1 << 31) - 1, (1 << 63) - 1, -(1 << 63))
_NAMES: Final = (*TEXTS_ON_THE_WIRE[:-1], None)
_ROWS: Final[tuple[tuple[int, Sequence[Any]], ...]] = (
    *((at, _NUMBERS) for at in (2, 3, 8, 9, 10)),
    (4, (0, -1, 32_767)),
    *((at, _NAMES) for at in (5, 6, 7, 11, 13, 14)),
    (12, (True,)),
    (15, ([], [""], ["user:\0:rwx"] * 500)),
)


def _row(name: str) -> list[Any]:
    """A file as the Java child reports it in a listing, with the name as its first element."""
    return [name, False, 3, 1024, 3, "etl", "users", "rw-r--r--", 1, 1, 17, None, False, None, None, []]


class _NameNode:
    """A fake Java child that responds for a directory ``/d`` with files."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}
        self.contents: dict[str, bytes] = {}
        self._open: list[bytes] = []

    @contextmanager
    def answers(self) -> Iterator[None]:
        """Replace `Child.ask`, so that every Java child responds with this data."""
        ask = Child.ask
        Child.ask = lambda child, request, *_: self._answer(request)  # type: ignore[method-assign]
        try:
            yield
        finally:
            Child.ask = ask  # type: ignore[method-assign]

    def _answer(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        match request:
            case {"op": "list"}:
                return {"rows": list(self.rows.values())}, b""
            case {"op": "describe", "paths": paths}:
                top = ["", True, 0, 0, 0, "hdfs", "users", "rwxr-xr-x", 1, 0, 16, None, False, None, None, []]
                return {"rows": [top if path == "/d" else self.rows.get(path) for path in paths]}, b""
            case {"op": "open", "path": path}:
                self._open.append(self.contents[path])
                return {"file": len(self._open) - 1, "length": len(self._open[-1])}, b""
            case {"op": "read", "file": file, "offset": offset, "length": length}:
                return {}, self._open[file][offset : offset + length]
            case {"op": "transaction"}:
                return {"transaction": 7}, b""
            case {"op": "namespace"}:
                return {"cluster": "c", "pool": "p"}, b""
            case {"op": "events"}:
                return {"events": [], "through": request["after"], "end": True}, b""
            case {"op": "offered"}:
                from extractors.hdfs.errors import HdfsRefused

                raise HdfsRefused("images are for superusers")
        return {}, b""


def _damage_inodes(folder: Path, tally: Tally, chance: random.Random, count: int) -> None:
    """Check that a valid image with unusual inodes loses none of them."""
    tree = Tree(transaction_id=chance.randrange(1, 1 << 40))
    names: dict[str, str] = {}
    for number in range(count):
        name = f"f{number:04d}"
        odd = chance.choice(_INODES)
        names[name] = f"an inode with another {odd[0]}"
        path: bytes = f"/d/{name}".encode()
        if odd[0] == "name":
            path += chance.choice(odd[1])
            tree.file(path)
        else:
            tree.file(path, **{odd[0]: chance.choice(odd[1])})
    image = tree.write(folder / "fsimage_0000000000000000001")
    task = _read_image(_hdfs_extractor(folder, image=str(image), events=False, sidecars=False))
    if task.summary.failures:
        raise Damaged(f"an image with odd inodes failed: {task.summary.failures}")
    read = {
        each["fileSystemPath"].rpartition("/")[2][:5] for each in task.documents if "fileSystemPath" in each
    }
    if lost := names.keys() - read:
        raise Damaged(f"inodes are lost: {sorted(lost)[:5]}")
    for way in names.values():
        tally.add(way, Outcome.VALID)


_INODES: Final[tuple[tuple[str, Sequence[Any]], ...]] = (
    (
        "name",
        (b"\xff\xfe", b"\xed\xa0\x80", b"\x00", b"\n", b"%", b"##", b"x" * 8_000, "é".encode(), b"\x1b[31m"),
    ),
    ("owner", [each for each in TEXTS_ON_THE_WIRE if len(each) < 100]),
    ("group", [each for each in TEXTS_ON_THE_WIRE if len(each) < 100]),
    ("mode", (0, 0o7777, 0o1000)),
    ("modified_ms", (0, (1 << 63) - 1, 253_402_300_800_000)),
    ("accessed_ms", (0, (1 << 63) - 1)),
    ("blocks", ((), (0,), ((1 << 40),) * 3, (1,) * 500)),
    ("replication", (0, 1, 512)),
    ("block_size", (0, 1, 1 << 40)),
)


def _damage_image(folder: Path, tally: Tally, chance: random.Random) -> None:
    tree = varied()
    sound = tree.rows()
    image = tree.write(folder / "fsimage_0000000000000004711", md5=chance.random() < 0.5)
    content = image.read_bytes()
    of_bytes = chance.choice(damage.OF_BYTES)
    image.write_bytes(of_bytes(content, chance))
    task = Task((), ReadSummary())
    message = ""
    try:
        task = _read_image(_hdfs_extractor(folder, image=str(image), events=False, sidecars=False))
    except Damaged:
        raise
    except Exception as error:
        message = f"{error}"
    message += " ".join(task.summary.failures.values())
    if message and image.name not in message:
        raise Damaged(f"a damaged image is not named: {message}")
    read = sum("fileSystemPath" in each for each in task.documents)
    # Without a checksum, a flipped byte may only change a letter of a name, which still gives a row.
    if not message and read < len(sound):
        raise Damaged(f"{of_bytes.__name__}: of {len(sound)} rows {read} are read, without a failure")
    tally.add(f"an image, {of_bytes.__name__}", Outcome.WHOLE if message else Outcome.VALID)


def _read_image(extractor: Hdfs) -> Task:
    shutil.rmtree(extractor.estate.spool, ignore_errors=True)
    with in_time("an image"):
        plan = extractor.plan(Positions(now_ms=1))
        return in_a_task(extractor, *plan.splits)
