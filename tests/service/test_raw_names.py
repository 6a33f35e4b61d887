"""File names that are not plain text: not UTF-8, with newlines and control characters, of the maximum length, or
resembling something else. Every extractor that follows files reads these files, recognizes them again, and forgets
them once they are removed."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from navlin.index.journal.runs import load_positions, save_positions
from navlin.index.journal.saved_values import dumps, loads
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import PUSH, Extractor
from navlin.model.plan import Positions
from navlin.model.raw_names import raw, shown, stored
from navlin.model.records import Position
from navlin.pipeline.reading import ReadSummary, read_splits, summarize
from tests.pipeline import test_extractor_contract as contract
from tests.support.shipped_extractors import SHIPPED

RAW = {
    "not UTF-8": b"_\xff",
    "a surrogate half": b"\xed\xa0\x80",
    "a newline": b"a\nb",
    "controls": b"\x01\x1b[31m\x7f",
    "a pattern": b"[a]*?",
    "an id": b"##0123456789abcdef0123456789abcdef##",
    "255 bytes": b"x" * 255,
    "a reverse": "\u202egol".encode(),
}
FOLLOWERS = [contract.CASES[name] for name, each in SHIPPED.items() if each.mode is PUSH]


def renamed(file: Path, middle: bytes) -> bytes:
    """Insert bytes before the file's extension, and truncate the name to the maximum length of a file name."""
    ending = file.suffix if file.suffix[1:].isalpha() else ""
    beginning = file.name.removesuffix(ending)
    folder, stem, suffix = (os.fsencode(part) for part in (str(file.parent), beginning, ending))
    return folder + b"/" + stem + middle[: 255 - len(stem) - len(suffix)] + suffix


def read(extractor: Extractor, positions: dict[str, Any]) -> ReadSummary:
    """Read all splits of a plan as a Spark task does. Update ``positions`` as a run saves them."""
    plan = extractor.plan(Positions(dict(positions), contract.FILES_MS))
    summary, splits = ReadSummary(), plan.splits
    while splits:
        pickled = pa.RecordBatch.from_pydict({"split": [pickle.dumps(each) for each in splits]})
        rows = [row for batch in read_splits(extractor)([pickled]) for row in batch.to_pylist()]
        found = summarize(row for row in rows if row["core"].startswith("#"))
        summary, splits = summary + found, found.splits
    for each in (*plan.positions, *summary.positions):
        positions[each.key] = each.value
    return summary


@pytest.mark.parametrize("made", FOLLOWERS, ids=lambda each: each.__name__)
def test_files_of_any_name_are_read_recognized_and_forgotten(
    tmp_path: Path, made: Callable[..., AbstractContextManager[contract.Case]]
) -> None:
    directory = tmp_path / "files"
    directory.mkdir()
    with made(None, directory) as case:
        (file,) = directory.iterdir()
        names = [renamed(file, middle) for middle in RAW.values()]
        for number, each in enumerate(names):
            # Each file begins differently, because followed files are identified by their content.
            Path(os.fsdecode(each)).write_bytes(b"\n" * (number + 1) + file.read_bytes())
        saved: dict[str, Any] = {}

        first = read(case.extractor, saved)
        assert (first.failures, first.documents > 0) == ({}, True)
        known = json.dumps(saved)
        assert [each for each in names if json.dumps(os.fsdecode(each))[1:-1] not in known] == []
        assert any("_\\xff" in reject.place for reject in first.rejects), first.rejects
        again = read(case.extractor, saved)
        assert (again.failures, again.documents, again.rejects) == ({}, 0, ())
        for each in names:
            os.unlink(each)
        assert read(case.extractor, saved).failures == {}


def test_positions_with_any_key_are_saved_and_loaded(solr: Solr) -> None:
    for name in RAW.values():
        key = os.fsdecode(b"/logs/" + name)
        save_positions(solr, "raw-names", "kind", [Position(key, {"path": key})], {})
    solr.commit(RUNS, soft=True)
    found = load_positions(solr, "raw-names", "kind").values
    keys = [os.fsdecode(b"/logs/" + name) for name in RAW.values()]
    assert found == {key: {"path": key} for key in keys}


@pytest.mark.parametrize("name", [*RAW.values(), b"plain", "ü𐍈".encode(), b"\\xff", b"\\u0000"])
def test_the_stored_form_is_text_and_reversible(name: bytes) -> None:
    text = os.fsdecode(name)
    stored(text).encode()
    assert raw(stored(text)) == text
    assert loads(dumps({"path": [text, {text: "a\0b\0dcff"}]})) == {"path": [text, {text: "a\0b\0dcff"}]}
    shown(text).encode()


def test_the_display_form_escapes_each_undecodable_byte() -> None:
    assert shown(os.fsdecode(b"application_1_\xff.log")) == "application_1_\\xff.log"
