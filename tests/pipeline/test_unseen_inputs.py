"""Sixty inputs with expected lineage from real runs, written without knowledge of the code: see
``data/unseen/README.md``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.unseen_inputs import told_of
from tests.support.unseen_judging import Judgement, judged
from tests.support.unseen_truths import DATA, index, truth_of

KNOWN = tuple(index())
TOLD_WHOLE = tuple(name for name in KNOWN if truth_of(name).complete and not truth_of(name).may_doubt)


def judgement_of(name: str, directory: Path) -> Judgement:
    return judged(told_of(name, directory), truth_of(name))


@pytest.mark.parametrize("name", KNOWN)
def test_no_edge_is_wrong_or_silently_missing(name: str, tmp_path: Path) -> None:
    judgement = judgement_of(name, tmp_path)
    assert judgement.wrong == []
    assert judgement.silent == []


@pytest.mark.parametrize("name", TOLD_WHOLE)
def test_an_input_with_complete_information_is_not_flagged(name: str, tmp_path: Path) -> None:
    assert judgement_of(name, tmp_path).needless == []


def test_each_of_the_sixty_inputs_is_judged() -> None:
    assert len(KNOWN) == 60
    assert set(KNOWN) == {path.parent.name for path in DATA.glob("*/truth.json")}
    assert {name: truth_of(name).kind for name in KNOWN} == index()


def test_a_false_edge_is_wrong_and_a_missing_one_is_silent(tmp_path: Path) -> None:
    truth = truth_of("h_multi_insert")
    told = told_of("h_multi_insert", tmp_path)
    assert judged(told, truth).verdict == "right"
    moved = ("src.cust.mail", "dst.h_all.name")
    less = judged(told, replace(truth, columns=truth.columns - {moved}))
    assert less.wrong == ["src.cust.mail → dst.h_all.name"]
    more = judged(told, replace(truth, columns=truth.columns | {("src.cust.city", "dst.h_all.name")}))
    assert more.silent == ["src.cust.city → dst.h_all.name"]
    assert judged(told, replace(truth, complete=False)).silent == ["nothing is flagged"]


def test_a_flagged_loss_is_not_silent(tmp_path: Path) -> None:
    told = told_of("a_show_tables", tmp_path)
    truth = truth_of("a_show_tables")
    path = "file:/data/unseen/files/a_show_tables"
    edges = {("src.cust", path)}, {("src.cust.id", f"{path}#namespace")}
    lacking = replace(truth, tables=frozenset(edges[0]), columns=frozenset(edges[1]))
    assert judged(told, lacking).silent == []
    assert judged(told, replace(truth, complete=True)).needless
