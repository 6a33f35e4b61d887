"""The query clause for a field whose stored form differs from the form in which users query it."""

from __future__ import annotations

import pytest

from navlin.index.search.query_fields import clause, value_of

VIEWS = "(+sourceType:HIVE +type:(VIEW) -internalType:[* TO *])"
FILES = "(+sourceType:HDFS +type:(FILE DIRECTORY) -internalType:[* TO *])"


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("internalType", "hv_view", f"(internalType:hv_view {VIEWS})"),
        ("internalType", '"hv_view"', f'(internalType:"hv_view" {VIEWS})'),
        ("internalType", "HV_VIEW", "(internalType:HV_VIEW)"),
        ("internalType", "hv_vie?", f"(internalType:hv_vie? {VIEWS})"),
        ("internalType", "fs*", f"(internalType:fs* {FILES})"),
        ("internalType", "hv_\\*", "(internalType:hv_\\*)"),
        ("internalType", "[f TO g]", f"(internalType:[f TO g] {FILES})"),
        ("internalType", "{fselement TO g]", "(internalType:{fselement TO g])"),
        ("metaClassName", "fselement", f"(metaClassName:fselement internalType:fselement {FILES})"),
        ("packageName", "nav", "(packageName:nav (*:* -packageName:[* TO *]))"),
        ("packageName", "n*", "(packageName:n* (*:* -packageName:[* TO *]))"),
        ("packageName", "[* TO *]", "(packageName:[* TO *] (*:* -packageName:[* TO *]))"),
        ("packageName", "other", "packageName:other"),
        ("writer", "a1", "(writer:a1 sourceId:a1)"),
        ("", "*", None),
        ("", "[a TO b]", None),
        ("owner", "ann", None),
    ],
)
def test_an_unstored_field_value_becomes_a_clause(field: str, value: str, expected: str | None) -> None:
    assert clause(field, value) == expected


@pytest.mark.parametrize(
    ("value", "parts", "constant"),
    [
        ("table", 'anyText:"table"', "type:TABLE"),
        ("a\\-b", 'anyText:"a\\-b"', "type:A\\-B"),
        ("ta*", "anyText:ta*", "type:TA*"),
        ("table~1", "anyText:table~1", "type:TABLE~1"),
        ('"a b"', 'anyText:"a b"', 'type:"A B"'),
    ],
)
def test_a_bare_word_is_searched_in_every_word_field(value: str, parts: str, constant: str) -> None:
    asked = clause("", value)
    assert asked is not None
    assert asked.startswith(f"({parts} originalName:{value} ")
    assert asked.endswith(f" {constant})")


def test_values_of_uppercase_fields_are_uppercased() -> None:
    assert value_of("sourceType", "hive") == "HIVE"
    assert value_of("owner", "Ann") == "Ann"
