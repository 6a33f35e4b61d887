"""Export and import of user-written fields: conflicts, both file formats, and invalid lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from click.testing import Result
from hypothesis import given
from hypothesis import strategies as st

from navlin.cli.invocation import Exit
from navlin.edit.annotation_files import Format, read_annotations, write_annotations
from navlin.edit.annotations import Annotation
from navlin.index.schema.fields import ELEMENTS, SOURCE_ANNOTATIONS
from navlin.index.solr.solr import Solr
from navlin.model.redaction import MASK
from navlin.model.spreadsheet import active, passive
from tests.cli.test_cli import configuration, json_of, run
from tests.support.indexed_estate import World

Navlin = Callable[..., Result]

WORDS: dict[str, Any] = {
    "name": "Orders, all of them",
    "description": '=HYPERLINK("http://x") "quoted"\r\nand a second line, Größe 表 🙂',
    "tags": ["pii", "@gold", "'=quoted"],
    "up_steward": "-alice",
    "up_odd name": "'tis",
    "cp_gov.level": ["+high", "low"],
    "cpl_gov.rank": [-7],
    "cpd_gov.share": [0.5],
    "cpt_gov.since": ["2026-01-31T12:00:00Z"],
    "cpb_gov.ok": [True, False],
}
"""A value for every kind of user-written field."""


@pytest.fixture
def navlin(private_solr: Solr, tmp_path: Path) -> Navlin:
    file = configuration(private_solr, tmp_path)
    return lambda *arguments, **options: run(file, *arguments, **options)


@pytest.fixture
def world(private_solr: Solr) -> World:
    """The table shop.orders, which has user-written fields, and shop.raw, which has none."""
    world = World(private_solr, f"words-{uuid4().hex[:6]}")
    world.put(
        world.hive,
        *(world.entity(world.table(f"shop.{name}"), {"owner": "etl"}) for name in ("orders", "raw")),
    )
    write(world, "shop.orders", **WORDS)
    return world


def write(world: World, table: str, **fields: Any) -> None:
    document = stored(world, table)
    world.solr.add(ELEMENTS, [{**document, **fields}])
    world.solr.commit(ELEMENTS, soft=True)


def stored(world: World, table: str) -> dict[str, Any]:
    [document] = world.solr.get(ELEMENTS, [world.table(table).identity])
    return document


def people(world: World, table: str) -> dict[str, Any]:
    """The user-written fields of a table, as indexed."""
    document = stored(world, table)
    return {name: document[name] for name in document if name in WORDS or name.startswith(("up_", "cp"))}


def erase(world: World, table: str) -> None:
    document = {name: value for name, value in stored(world, table).items() if name not in WORDS}
    world.solr.add(ELEMENTS, [document])
    world.solr.commit(ELEMENTS, soft=True)


# -- Export and import -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["words.jsonl", "words.csv"])
def test_exported_annotations_are_restored_unchanged(
    navlin: Navlin, world: World, tmp_path: Path, name: str
) -> None:
    file = str(tmp_path / name)
    before = stored(world, "shop.orders")

    exported = json_of(navlin("annotations", "export", file, "--json"))
    erase(world, "shop.orders")
    assert people(world, "shop.orders") == {}
    tried = json_of(navlin("annotations", "import", file, "--dry-run", "--json"))
    assert people(world, "shop.orders") == {}
    done = json_of(navlin("annotations", "import", file, "--json"))
    again = json_of(navlin("annotations", "import", file, "--json"))

    assert exported["entities"] == 1, "of raw nobody wrote anything"
    assert (tried["written"], done["written"], again["written"]) == (len(WORDS), len(WORDS), 0)
    assert again["conflicts"] == []
    assert again["unchanged"] == len(WORDS)
    assert people(world, "shop.orders") == WORDS
    after = stored(world, "shop.orders")
    assert {**after, "_version_": 0} == {**before, "_version_": 0}, "nothing but people's fields was touched"


def test_only_matches_of_the_query_are_exported(navlin: Navlin, world: World, tmp_path: Path) -> None:
    write(world, "shop.raw", description="raw")
    file = tmp_path / "words.jsonl"

    assert navlin("annotations", "export", str(file), "--query", "originalName:raw").exit_code == Exit.OK
    assert [json.loads(line)["entity"] for line in file.read_text().splitlines()] == ["shop.raw"]
    assert (
        navlin("annotations", "export", str(file), "--query", "originalName:none").exit_code == Exit.NOTHING
    )
    assert navlin("annotations", "export", str(file), "--query", "(").exit_code == Exit.USAGE


def test_metadata_from_a_source_is_not_exported_and_user_metadata_overrides_it(
    navlin: Navlin, world: World, tmp_path: Path
) -> None:
    write(
        world,
        "shop.raw",
        description="from a sidecar",
        tags=["mine"],
        **{SOURCE_ANNOTATIONS: ["description"]},
    )
    file = tmp_path / "words.jsonl"
    navlin("annotations", "export", str(file), "--query", "originalName:raw")
    [line] = map(json.loads, file.read_text().splitlines())
    assert line["fields"] == {"tags": ["mine"]}

    line["fields"] = {"description": "by a person"}
    file.write_text(json.dumps(line))
    assert navlin("annotations", "import", str(file)).exit_code == Exit.OK
    assert stored(world, "shop.raw")["description"] == "by a person"
    assert SOURCE_ANNOTATIONS not in stored(world, "shop.raw")


def test_user_metadata_is_kept_when_the_table_is_read_again(world: World) -> None:
    world.put(world.hive, world.entity(world.table("shop.orders"), {"owner": "somebody else"}))

    assert stored(world, "shop.orders")["owner"] == "somebody else"
    assert people(world, "shop.orders") == WORDS


# -- Conflicts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("indexed", "in_file", "becomes", "conflict"),
    [
        ({}, {"description": "file"}, {"description": "file"}, False),
        ({"description": "same"}, {"description": "same"}, {"description": "same"}, False),
        ({"description": "index"}, {"description": "file"}, {"description": "index"}, True),
        ({"description": "index"}, {"up_a": "file"}, {"description": "index", "up_a": "file"}, False),
        ({"tags": ["a", "b"]}, {"tags": ["b", "c"]}, {"tags": ["a", "b", "c"]}, False),
        ({"tags": ["a", "b"]}, {"tags": ["b"]}, {"tags": ["a", "b"]}, False),
        ({"cp_n.k": ["a", "b"]}, {"cp_n.k": ["b"]}, {"cp_n.k": ["a", "b"]}, True),
        ({"up_a": "index"}, {"up_a": "file"}, {"up_a": "index"}, True),
    ],
    ids=str,
)
def test_existing_user_metadata_is_overwritten_only_on_request(
    navlin: Navlin,
    world: World,
    tmp_path: Path,
    indexed: dict[str, Any],
    in_file: dict[str, Any],
    becomes: dict[str, Any],
    conflict: bool,
) -> None:
    write(world, "shop.raw", **indexed)
    identity = world.table("shop.raw").identity
    file = tmp_path / "words.jsonl"
    file.write_text(json.dumps({"id": identity, "fields": in_file}))

    result = navlin("annotations", "import", str(file), "--json")
    assert result.exit_code == (Exit.FAILED if conflict else Exit.OK)
    [name] = in_file
    expected = [
        {
            "id": identity,
            "entity": "shop.raw",
            "field": name,
            "indexed": indexed.get(name),
            "given": in_file[name],
        }
    ]
    assert json_of(result)["conflicts"] == (expected if conflict else [])
    assert people(world, "shop.raw") == becomes

    over = navlin("annotations", "import", str(file), "--overwrite", "--json")
    assert over.exit_code == Exit.OK
    assert people(world, "shop.raw") == {**becomes, **in_file}
    if conflict:
        assert [each["indexed"] for each in json_of(over)["overwritten"]] == [indexed[name]]


def test_an_import_is_recorded_in_the_history(navlin: Navlin, world: World, tmp_path: Path) -> None:
    file = tmp_path / "words.jsonl"
    file.write_text(json.dumps({"id": world.table("shop.raw").identity, "fields": {"name": "Raw"}}))
    assert navlin("annotations", "import", str(file), "--dry-run").exit_code == Exit.OK
    assert navlin("edits", "shop.raw").exit_code == Exit.NOTHING
    assert navlin("annotations", "import", str(file)).exit_code == Exit.OK
    (edit,) = json_of(navlin("edits", "shop.raw", "--json"))["edits"]
    assert edit["who"]
    assert edit["changes"] == [{"field": "name", "old": None, "new": "Raw"}]


def test_unknown_entities_are_listed_and_saved_for_later(
    navlin: Navlin, world: World, tmp_path: Path
) -> None:
    file, later = tmp_path / "words.csv", tmp_path / "later.csv"
    identity = world.table("shop.later").identity
    with file.open("wb") as out:
        write_annotations(
            out,
            [
                Annotation(identity, "TABLE", "shop.later", {"description": "=1+1", "tags": ["a", "b"]}),
                Annotation(world.table("shop.raw").identity, "TABLE", "shop.raw", {"description": "known"}),
            ],
            Format.CSV,
        )

    result = navlin("annotations", "import", str(file), "--unknown", str(later))
    assert result.exit_code == Exit.FAILED
    assert f"unknown entities: 1\n  TABLE shop.later ({identity})" in result.stdout
    assert stored(world, "shop.raw")["description"] == "known"
    assert world.solr.get(ELEMENTS, [identity]) == [], "nothing is made of what is not known"

    world.put(world.hive, world.entity(world.table("shop.later")))
    assert navlin("annotations", "import", str(later)).exit_code == Exit.OK
    assert people(world, "shop.later") == {"description": "=1+1", "tags": ["a", "b"]}


def test_an_early_date_is_written_with_four_digits(navlin: Navlin, world: World, tmp_path: Path) -> None:
    file = tmp_path / "words.jsonl"
    given = {"id": world.table("shop.raw").identity, "fields": {"cpt_n.k": ["0001-01-01", "0987-06-05"]}}
    file.write_text(json.dumps(given))
    assert navlin("annotations", "import", str(file)).exit_code == Exit.OK
    dates = ["0001-01-01T00:00:00Z", "0987-06-05T00:00:00Z"]
    assert people(world, "shop.raw") == {"cpt_n.k": dates}
    assert navlin("annotations", "import", str(file)).exit_code == Exit.OK, "it is there already"


def test_an_entity_refused_by_solr_is_reported_and_the_rest_is_written(
    navlin: Navlin, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Bypass the checks, because no value is known that passes them and that Solr refuses.
    monkeypatch.setattr("navlin.edit.annotation_files.checked", lambda _, value: value)
    file = tmp_path / "words.jsonl"
    fields = {"shop.raw": [2**64 - 1], "shop.orders": [7]}
    lines = [
        {"id": world.table(name).identity, "fields": {"cpl_n.k": value}} for name, value in fields.items()
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    result = navlin("annotations", "import", str(file), "--json")

    assert result.exit_code == Exit.FAILED
    done = json_of(result)
    assert (done["entities"], done["written"], done["unknown"]) == (1, 1, [])
    assert [each["id"] for each in done["refused"]] == [world.table("shop.raw").identity]
    assert people(world, "shop.raw") == {}
    assert people(world, "shop.orders")["cpl_n.k"] == [7]
    assert "refused by the index: 1\n" in navlin("annotations", "import", str(file)).stdout


# -- Files -----------------------------------------------------------------------------------------

GOOD = "0" * 32
BAD_JSON: dict[str, bytes] = {
    "no JSON": b"{",
    "no UTF-8": b'{"id": "\xff", "fields": {"name": "a"}}',
    "no object": b"[1]",
    "no fields": b'{"id": "a"}',
    "empty fields": b'{"id": "a", "fields": {}}',
    "no id": b'{"fields": {"name": "a"}}',
    "an id that is none": b'{"id": 7, "fields": {"name": "a"}}',
    "a field of the source's": b'{"id": "a", "fields": {"owner": "root"}}',
    "a field of the linker's": b'{"id": "a", "fields": {"deleted": true}}',
    "the list of the source's words": b'{"id": "a", "fields": {"sourceWords": ["name"]}}',
    "a property without a name": b'{"id": "a", "fields": {"up_": "x"}}',
    "no text": b'{"id": "a", "fields": {"name": 7}}',
    "nothing": b'{"id": "a", "fields": {"name": null}}',
    "an empty text": b'{"id": "a", "fields": {"name": ""}}',
    "no tags": b'{"id": "a", "fields": {"tags": []}}',
    "a tag that is none": b'{"id": "a", "fields": {"tags": ["x", 1]}}',
    "a long text": b'{"id": "a", "fields": {"up_a": "' + b"x" * 8_001 + b'"}}',
    "no number": b'{"id": "a", "fields": {"cpl_n.k": ["seven"]}}',
    "a large number": b'{"id": "a", "fields": {"cpl_n.k": [9223372036854775808]}}',
    "a truth value for a number": b'{"id": "a", "fields": {"cpl_n.k": [true]}}',
    "no date": b'{"id": "a", "fields": {"cpt_n.k": ["soon"]}}',
    "no truth value": b'{"id": "a", "fields": {"cpb_n.k": ["yes"]}}',
}
BAD_CSV: dict[str, bytes] = {
    "too few cells": b'"a","TABLE"',
    "too many cells": b'"a","","","name","x","y"',
    "text behind a quotation mark": b'"a"b,"","","name","x"',
    "half a quotation mark": b'"a","","","name","x',
    "no UTF-8": b'"a","","","name","\xff"',
    "no number": b'"a","","","cpl_n.k","seven"',
    "a field of the source's": b'"a","","","owner","x"',
    "a long cell": b'"a","","","name","' + b"x" * 2_000_000 + b'"',
    "an empty value": b'"a","","","name",""',
}


@pytest.mark.parametrize("what", BAD_JSON)
def test_an_invalid_json_line_is_rejected_with_its_number_and_the_rest_is_read(what: str) -> None:
    good = [json.dumps({"id": GOOD, "fields": {name: "x"}}).encode() for name in ("name", "description")]
    content = read_annotations(io.BytesIO(b"\n".join([good[0], BAD_JSON[what], good[1]])), Format.JSONL)

    assert {each.line for each in content.rejects} == {2}
    assert content.rejects[0].reason
    assert [each.values for each in content.annotations] == [{"name": "x", "description": "x"}]


@pytest.mark.parametrize("what", BAD_CSV)
def test_an_invalid_csv_row_is_rejected_with_its_number_and_the_rest_is_read(what: str) -> None:
    rows = [
        b"id,type,entity,field,value",
        f"{GOOD},TABLE,t,name,x".encode(),
        BAD_CSV[what],
        f'"{GOOD}","TABLE","t","tags","a"'.encode(),
        f'"{GOOD}","TABLE","t","tags","b\nc"'.encode(),
    ]
    content = read_annotations(io.BytesIO(b"\n".join(rows)), Format.CSV)

    assert {each.line for each in content.rejects} == {3}
    assert [each.values for each in content.annotations] == [{"name": "x", "tags": ["a", "b\nc"]}]


def test_columns_may_be_in_any_order_and_a_file_without_them_is_refused() -> None:
    turned = f"value,comment,field,id\r\nx,mine,name,{GOOD}\r\n".encode()
    assert [each.values for each in read_annotations(io.BytesIO(turned), Format.CSV).annotations] == [
        {"name": "x"}
    ]
    content = read_annotations(io.BytesIO(b"a,b\n1,2\n3,4\n"), Format.CSV)
    assert (content.annotations, [each.line for each in content.rejects]) == ([], [1])


def test_a_second_differing_value_is_rejected() -> None:
    lines = [json.dumps({"id": GOOD, "fields": {"name": name}}).encode() for name in ("one", "one", "two")]
    content = read_annotations(io.BytesIO(b"\n".join(lines)), Format.JSONL)
    assert [each.line for each in content.rejects] == [3]
    assert [each.values for each in content.annotations] == [{"name": "one"}]


def test_a_secret_is_masked_and_reported(navlin: Navlin, world: World, tmp_path: Path) -> None:
    file = tmp_path / "words.jsonl"
    line = {"id": world.table("shop.raw").identity, "fields": {"description": "jdbc:x;password=Hunter2x"}}
    file.write_text(json.dumps(line))
    for _ in range(2):
        result = navlin("annotations", "import", str(file), "--json")
        assert result.exit_code == Exit.OK
        assert json_of(result)["redacted"] == [{"line": 1, "field": "description"}]
        assert MASK in stored(world, "shop.raw")["description"]
        assert "Hunter2x" not in stored(world, "shop.raw")["description"]


def test_the_format_is_taken_from_the_suffix_or_the_option(navlin: Navlin, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("id,field,value\n")
    assert navlin("annotations", "import", str(tmp_path / "words.txt")).exit_code == Exit.USAGE
    assert (
        navlin("annotations", "import", str(tmp_path / "words.txt"), "--format", "csv").exit_code == Exit.OK
    )
    assert navlin("annotations", "import", str(tmp_path / "none.csv")).exit_code == Exit.USAGE


ACTIVE = st.sampled_from(["=", "+", "-", "@", "'", "''", "\t", "\r", "＝", "a", '"', ",", "\n"])
TEXTS = st.lists(ACTIVE | st.text(max_size=5), min_size=1).map("".join)


@given(TEXTS)
def test_no_cell_is_a_formula_and_every_text_is_restored(text: str) -> None:
    cell = passive(text)
    assert cell[:1] not in tuple("=+-@\t\r＝＋－＠")
    assert active(cell) == text


@given(st.dictionaries(TEXTS.map(lambda text: "up_" + text), TEXTS, min_size=1), st.sampled_from(Format))
def test_every_text_survives_a_file(values: dict[str, str], form: Format) -> None:
    file = io.BytesIO()
    given_one = Annotation(GOOD, "TABLE", "=t", values)
    write_annotations(file, [given_one], form)
    file.seek(0)
    if form is Format.CSV:
        rows = list(csv.reader(io.StringIO(file.getvalue().decode("utf-8-sig"), newline="")))
        assert not [cell for row in rows for cell in row if cell.startswith(tuple("=+-@\t\r＝＋－＠"))]
    content = read_annotations(file, form)
    read = {name: value for each in content.annotations for name, value in each.values.items()}
    kept = {name: values[name] for name in read}
    assert read == kept
    refused = len(values) - len(read)
    assert len(content.rejects) == refused, "what is not read is a reject"
    assert content.annotations == ([Annotation(GOOD, "TABLE", "=t", kept)] if kept else [])
