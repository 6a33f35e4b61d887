"""navlin's own Java programs: the first process of a program writes its class data archive."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from navlin.java import RECORD_S, JavaProgram

PROGRAM = "class Waiting { public static void main(String[] given) { System.out.println(given.length); } }"


@pytest.fixture
def program(tmp_path: Path) -> JavaProgram:
    source = tmp_path / "Waiting.java"
    source.write_text(PROGRAM)
    return JavaProgram(source, (), tmp_path / "cache")


def flags(program: JavaProgram) -> list[str]:
    command = program.command((), (), archive_classes=True)
    return [each.partition("=")[0] for each in command if each.startswith("-XX:") and "=" in each]


def test_the_first_process_writes_the_class_archive_and_later_ones_use_it(
    program: JavaProgram,
) -> None:
    assert flags(program) == ["-XX:ArchiveClassesAtExit"]
    assert flags(program) == []
    program.archive().touch()
    assert flags(program) == ["-XX:SharedArchiveFile"]


def test_an_archive_never_written_is_written_by_a_later_process(program: JavaProgram) -> None:
    assert flags(program) == ["-XX:ArchiveClassesAtExit"]
    [mark] = program.archive().parent.glob("*.recording")
    long_ago_s = time.time() - RECORD_S - 1
    os.utime(mark, (long_ago_s, long_ago_s))
    assert flags(program) == ["-XX:ArchiveClassesAtExit"]
    assert flags(program) == []
