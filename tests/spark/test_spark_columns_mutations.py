"""Damaged plans never stop the reader. It returns lineage or a flag, in bounded time, and never a column that is
not read."""

from __future__ import annotations

import time
from itertools import islice

import pytest

from tests.support.spark_mutations import monsters, mutations, plans
from tests.support.spark_plans import written_of

PLANS = plans()
SIZE = 400_000
SECONDS = 4.0
"""Time limit for one plan under load. Each takes a fraction of a second on an idle machine."""


@pytest.mark.parametrize("plan", range(len(PLANS)))
def test_damaged_plans_give_lineage_or_a_flag(plan: int) -> None:
    damage_and_read(plan, plan, 800)


@pytest.mark.soak
def test_plans_damaged_by_another_seed_give_lineage_or_a_flag(seed: str) -> None:
    for plan in range(len(PLANS)):
        damage_and_read(plan, f"{plan}, {seed}", 800)


def damage_and_read(plan: int, seed: int | str, times: int) -> None:
    text, arguments = PLANS[plan]
    command = (
        "Execute CreateViewCommand" if "CreateView" in text else "Execute InsertIntoHadoopFsRelationCommand"
    )
    block = f"Arguments: {arguments}" if arguments else ""
    assert written_of(text, command, block).flows
    for damaged in islice(mutations([text], seed), times):
        columns = written_of(damaged, command, block)
        assert columns.flows or not columns.complete or command == "Execute CreateViewCommand"
        for each in columns.flows:
            assert not {*each.data} & {*each.control}
        assert columns.complete == (not columns.reasons)


@pytest.mark.parametrize("name", list(monsters(1_000)))
def test_large_plans_take_proportional_time(name: str) -> None:
    started = time.process_time()
    written_of(
        monsters(SIZE)[name], block="Arguments: file:/w, false, Parquet, [], Append, `c`.`d`.`o`, serde, [x]"
    )
    assert time.process_time() - started < SECONDS
