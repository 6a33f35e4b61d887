"""Damaged records for every extractor: each is either still valid or becomes a reject with its location. None makes the
extractor crash or hang.

`make soak` damages 50,000 records per round, differently in each round, so that twenty rounds make a million.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from tests.support.damage import OF_BYTES, OF_VALUES
from tests.support.damaged.line_logs import of_its_case
from tests.support.damaged.readers import READERS
from tests.support.damaged.tallies import Outcome
from tests.support.shipped_extractors import SHIPPED
from tests.support.soaked import Soaked

A_FEW, A_ROUND = 2_000, 50_000
"""Total number of records over all extractors: in `make test`, and in each round of `make soak`."""
CORPORA = [folder for folder in [REPOSITORY.parent / "shared" / "corpora"] if folder.is_dir()]
"""Directory of real records from other projects next to the checkout, if present; they are damaged as well."""


def test_every_extractor_has_records_to_damage() -> None:
    assert set(READERS) == set(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_a_damaged_record_is_valid_or_rejected_with_its_place(name: str, tmp_path: Path) -> None:
    tally = READERS[name](tmp_path / name, random.Random(name), A_FEW // len(SHIPPED), ())

    assert tally.total >= A_FEW // len(SHIPPED)
    assert tally.of(Outcome.VALID)
    assert tally.of(Outcome.REJECTED), str(tally)


def test_a_follower_of_lines_without_a_reader_of_its_own_has_its_case_damaged(tmp_path: Path) -> None:
    tally = of_its_case("impala_events")(tmp_path, random.Random(1), 20, ())

    assert tally.of(Outcome.VALID)
    assert tally.of(Outcome.REJECTED), str(tally)


@pytest.mark.soak
@pytest.mark.parametrize("name", SHIPPED)
def test_each_of_a_million_damaged_records_is_valid_or_rejected_with_its_place(
    name: str, tmp_path: Path, seed: str, soaked: Soaked, capsys: pytest.CaptureFixture[str]
) -> None:
    count = -(-A_ROUND // len(SHIPPED))
    tally = READERS[name](tmp_path / name, random.Random(f"{name}, {seed}"), count, CORPORA)

    soaked.damaged_records += tally.total
    with capsys.disabled():
        sys.stdout.write(f"\n{name}: {tally}\n")
    assert tally.total >= count


def test_each_kind_of_damage_changes_a_record() -> None:
    chance = random.Random(1)
    record = {"name": "a", "many": [1, {"text": "b"}, [2]], "of": {"x": 1, "y": "z"}}
    for of_bytes in OF_BYTES:
        text = b'{"name":"a","text":"bcd"}'
        assert any(of_bytes(text, chance) != text for _ in range(5)), of_bytes
    for of_value in OF_VALUES:
        assert any(of_value(record, chance) != record for _ in range(20)), of_value
