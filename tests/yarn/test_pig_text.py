"""The text of a Pig script is stored without the secrets that only Pig writes in such a form."""

from __future__ import annotations

import time

import pytest

from extractors.yarn import pig_text
from extractors.yarn.pig_text import without_secrets

MASKED = "'********'"


@pytest.mark.parametrize(
    ("script", "shown"),
    [
        ("%declare PASSWORD 'hunter2'\nx", f"%declare PASSWORD {MASKED}\nx"),
        ("%default db_password hunter2\nx", f"%default db_password {MASKED}\nx"),
        ("%declare pw `cat hunter2`\nx", f"%declare pw {MASKED}\nx"),
        ("a = b; set fs.s3a.secret.key hunter2; c", f"a = b; set fs.s3a.secret.key {MASKED}; c"),
        ("SET mapreduce.jdbc.password 'hun;ter2';", f"SET mapreduce.jdbc.password {MASKED};"),
        (
            "STORE x INTO 'd' USING a.b.DBStorage('com.D', 'jdbc:mysql://h/d', 'root', 'hunter2', 'INSERT');",
            f"STORE x INTO 'd' USING a.b.DBStorage({MASKED}, {MASKED}, {MASKED}, {MASKED}, {MASKED});",
        ),
        ("DEFINE J com.acme.J('root',\n 'hunter2\\'s');", f"DEFINE J com.acme.J({MASKED},\n {MASKED});"),
        ("a = LOAD 's3n://AK:hunter2@b/x';", "a = LOAD 's3n://AK:********@b/x';"),
        ("a = LOAD 'mongodb://u:hunter2@h/d.c';", "a = LOAD 'mongodb://u:********@h/d.c';"),
    ],
)
def test_a_secret_is_masked(script: str, shown: str) -> None:
    assert without_secrets(script) == shown


@pytest.mark.parametrize(
    "script",
    [
        "a = LOAD 'x' USING PigStorage(',') AS (name:chararray, password:chararray);",
        "a = LOAD 'hbase://t' USING org.apache.pig.backend.hadoop.hbase.HBaseStorage('f:a f:b', '-loadKey true');",
        "STORE a INTO 'db.t' USING org.apache.hive.hcatalog.pig.HCatStorer('ds=2026-01-01');",
        "set job.name 'daily 2026-01-01';\n%declare day '2026-01-01'\nb = FILTER a BY day == '$day';",
        "b = FOREACH a GENERATE CONCAT('x', 'y'), SUM(amount);",
    ],
)
def test_a_script_without_secrets_stays_as_it_is(script: str) -> None:
    assert without_secrets(script) == script


def test_a_long_script_is_cut_between_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pig_text, "MAX_READ_CHARS", 40)
    assert (
        without_secrets("a = LOAD 'x';\nset my.password 'hunter2 and more and more';")
        == "a = LOAD 'x'; … [cut]"
    )


@pytest.mark.parametrize(
    "piece", ["f(", "f('", "set a '", "a", "\n", "f('a',", " ", ";set secret 'x'", "a.b("]
)
def test_a_text_that_begins_a_form_again_and_again_is_read_within_seconds(piece: str) -> None:
    begun_s = time.process_time()
    without_secrets(piece * (40_000 // len(piece)))
    assert time.process_time() - begun_s < 20
