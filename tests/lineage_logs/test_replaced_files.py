"""A file is written completely or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from navlin.files import replace_content, replaced


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "kept.json"
    file.write_bytes(b"before")
    return file


def test_a_complete_file_replaces_the_old_one(file: Path) -> None:
    with replaced(file) as out:
        out.write(b"after")
        out.flush()
        assert file.read_bytes() == b"before"

    assert file.read_bytes() == b"after"
    assert os.listdir(file.parent) == [file.name]


def test_only_the_owner_may_read_it(file: Path) -> None:
    file.chmod(0o644)
    replace_content(file, b"after")

    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_an_error_midway_leaves_only_the_old_file(file: Path, error: BaseException) -> None:
    with pytest.raises(type(error)), replaced(file) as out:
        out.write(b"half")
        out.flush()
        raise error

    assert file.read_bytes() == b"before"
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize(("owner", "call"), [(os, "fsync"), (Path, "replace")], ids=["fsync", "rename"])
def test_a_disk_failure_at_the_end_leaves_only_the_old_file(
    file: Path, monkeypatch: pytest.MonkeyPatch, owner: object, call: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(owner, call, fail)
    with pytest.raises(OSError, match="Input/output error"):
        replace_content(file, b"after")

    assert file.read_bytes() == b"before"
    assert os.listdir(file.parent) == [file.name]


def test_a_half_written_file_of_a_killed_process_is_overwritten(file: Path) -> None:
    file.with_name(file.name + ".new").write_bytes(b"half, and longer than what follows")
    replace_content(file, b"after", durable=False)

    assert file.read_bytes() == b"after"
    assert os.listdir(file.parent) == [file.name]
