"""The serialised values in the configurations of Pig's jobs: the script's text, the loads and the stores."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path

import pytest

from extractors.yarn import pig_plans
from extractors.yarn.pig_plans import PlannedEnd, loads, script, stores
from tests.support.pig_jobs import (
    OLDER,
    SALES,
    Written,
    a_file,
    a_list,
    a_store,
    captured,
    encoded,
    serialised,
)

TEMPORARY = "hdfs://localhost:19820/tmp/temp750979212"
BETWEEN = "org.apache.pig.impl.io.InterStorage"
S17 = """-- daily totals
orders = LOAD '/data/pig/orders' USING PigStorage(',') AS (id:int, customer:int, amount:double, day:chararray);
big = FILTER orders BY amount > 5.0;
grouped = GROUP big BY customer;
totals = FOREACH grouped GENERATE group AS name, SUM(big.amount) AS total;
STORE totals INTO '/data/pig/out17/totals' USING PigStorage('\\t');
"""


def letters(data: bytes) -> str:
    """Encode bytes as Pig did before 0.13."""
    return "".join(chr(97 + (byte >> 4)) + chr(97 + (byte & 15)) for byte in data)


@pytest.mark.parametrize(
    ("job", "phase", "expected"),
    [
        (
            SALES[0],
            "map",
            [
                PlannedEnd(
                    "/data/pig/out/big",
                    "org.apache.pig.builtin.PigStorage",
                    alias="big",
                    columns=(("id", "int"), ("customer", "int"), ("amount", "double"), ("day", "chararray")),
                ),
                PlannedEnd(f"{TEMPORARY}/tmp1337354162", BETWEEN, temporary=True),
            ],
        ),
        (SALES[0], "reduce", []),
        (SALES[1], "map", []),
        (SALES[1], "reduce", [PlannedEnd(f"{TEMPORARY}/tmp2132801706", BETWEEN, temporary=True)]),
        (SALES[2], "reduce", [PlannedEnd(f"{TEMPORARY}/tmp-1981522518", BETWEEN, temporary=True)]),
        (SALES[3], "reduce", [PlannedEnd(f"{TEMPORARY}/tmp1746233996", BETWEEN, temporary=True)]),
        (
            SALES[4],
            "reduce",
            [
                PlannedEnd(
                    "/data/pig/out/totals",
                    "PigStorage",
                    alias="ordered",
                    columns=(("name", "chararray"), ("total", "double")),
                )
            ],
        ),
        (
            OLDER,
            "reduce",
            [
                PlannedEnd(
                    "/data/pig/out17/totals", "PigStorage", alias="totals", columns=(("name", "int"), ("total", "double"))
                )
            ],
        ),
    ],
)  # fmt: skip
def test_the_stores_of_captured_jobs_have_their_functions_and_columns(
    corpora: Path, job: str, phase: str, expected: list[PlannedEnd]
) -> None:
    found = stores(captured(corpora, job)[f"pig.{phase}.stores"])
    assert found == tuple(expected)


def test_the_loads_of_pig_0_17_are_read(corpora: Path) -> None:
    assert loads(captured(corpora, OLDER)["pig.inputs"]) == (PlannedEnd("/data/pig/orders", "PigStorage"),)


def test_the_loads_of_later_releases_are_read_without_the_clients_settings() -> None:
    context = Written("PigContext", {"Lproperties": a_list(["my.password", "hunter2"])})
    load = Written(
        "POLoad", {"Lpc": context, "LlFile": a_file("db.t", "org.apache.hive.hcatalog.pig.HCatLoader")}
    )
    found = loads(encoded(a_list([load])))
    assert found == (PlannedEnd("db.t", "org.apache.hive.hcatalog.pig.HCatLoader"),)


def test_the_script_of_a_captured_job_is_its_text(corpora: Path) -> None:
    assert script(captured(corpora, OLDER)["pig.script"]) == S17
    whole = script(captured(corpora, SALES[3])["pig.script"])
    assert whole.startswith("-- daily totals\norders = LOAD '/data/pig/orders'")
    assert whole.endswith("STORE big INTO '/data/pig/out/big';\n")


@pytest.mark.parametrize(
    "value",
    [
        base64.b64encode(b"a = LOAD 'x';").decode(),
        base64.b64encode(zlib.compress(serialised("a = LOAD 'x';"))).decode(),
        base64.urlsafe_b64encode(zlib.compress(serialised("a = LOAD 'x';"))).decode(),
        base64.encodebytes(zlib.compress(serialised("a = LOAD 'x';"))).decode(),
        letters(zlib.compress(serialised("a = LOAD 'x';"))),
    ],
)
def test_every_encoding_of_pigs_releases_is_read(value: str) -> None:
    assert script(value) == "a = LOAD 'x';"


def test_a_script_that_begins_like_compressed_data_is_read() -> None:
    assert script(base64.b64encode(b"x = LOAD 'y';").decode()) == "x = LOAD 'y';"


def test_a_script_longer_than_10_240_characters_is_whole() -> None:
    text = "-- comment\n" * 2_000
    assert script(encoded(text)) == text


BOMB = base64.b64encode(zlib.compress(bytes(64 << 20))).decode()
TRUNCATED = base64.b64encode(zlib.compress(serialised("a" * 1_000))[:-20]).decode()


HOSTILE = {
    "nothing": "",
    "no base64": "not base64!",
    "padding": "====",
    "one letter": "a",
    "letters beyond ASCII": "é" * 40,
    "64 MiB in 64 KiB": BOMB,
    "half of it": TRUNCATED,
    "null": encoded(None),
    "5 MiB": "A" * (5 << 20),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_other_values_are_neither_a_plan_nor_a_script(kind: str) -> None:
    assert stores(HOSTILE[kind]) is None
    assert loads(HOSTILE[kind]) is None
    assert script(HOSTILE[kind]) == ""


def test_a_plan_is_not_read_as_a_script_nor_a_script_as_a_plan() -> None:
    assert script(encoded(a_list([]))) == ""
    assert stores(encoded("text")) is None


def test_an_unexpected_object_among_the_stores_makes_the_plan_unknown() -> None:
    whole = [a_store("/a", "PigStorage"), a_store("/b", "PigStorage")]
    found = stores(encoded(a_list(whole)))
    assert found is not None
    assert [each.name for each in found] == ["/a", "/b"]
    assert stores(encoded(a_list([*whole, "text"]))) is None
    assert stores(encoded(a_list([*whole, None]))) is None


def test_stores_columns_and_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pig_plans, "MAX_COLUMNS", 3)
    monkeypatch.setattr(pig_plans, "MAX_STORES", 2)
    wide = a_store("/a", "F" * 60_000, *((f"{n}" * 2_000, 10) for n in range(9)))
    found = stores(encoded(a_list([wide])))
    assert found is not None
    assert [len(name) for name, _ in found[0].columns] == [1_000] * 3
    assert len(found[0].function) == 1_000
    assert stores(encoded(a_list([wide, wide, wide]))) is None
