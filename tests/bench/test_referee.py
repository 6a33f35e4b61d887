"""The referee for column lineage (bench/referee.py): its statements, the notation for their lineage, its judgements."""

from __future__ import annotations

import builtins
import dis
import subprocess
import sys
from pathlib import Path
from types import CodeType

import pytest

from bench._referee_edges import ANYWHERE, Extracted
from bench._referee_environments import python_of
from bench._referee_judging import Judged, judge
from bench._referee_parts import PARTS, TABLE, TPCDS, Environment, Part, Place
from bench._referee_running import statements_of
from bench._referee_statements import (
    BadStatement,
    Column,
    Edge,
    Flow,
    Statement,
    read_statements,
    read_truth,
    setup_statements,
)

LOCAL = Place("local.out.{name}", "local.out.{name}", "local.src", suffix="_there")
WITH_TRUTH = [part for part in PARTS.values() if part is not TPCDS]


def edges(*words: str) -> set[Edge]:
    """Parse ``"src.t.a out.s.b"`` into the edge from the first column to the second."""
    pairs = (each.split(" ") for each in words)
    return {Edge(*(Column(*end.rsplit(".", 1)) for end in (source, target))) for source, target in pairs}


def judged(lines: list[str], navlin: Extracted, agent: Extracted | None = None) -> Judged:
    """Judge a statement ``s`` with these lines of truth."""
    return judge(Statement("s", (), read_truth("s", iter(lines))), "", navlin, agent or Extracted())


@pytest.mark.parametrize(
    ("lines", "data"),
    [
        (["a, b = t.x", "c =", "id == t"], ["src.t.x out.s.a", "src.t.x out.s.b", "src.t.id out.s.id"]),
        (["a = t.x", "-> other", "b = t.y"], ["src.t.x out.s.a", "src.t.y out.other.b"]),
        (["c{1..2} = t.c{@+1}"], ["src.t.c2 out.s.c1", "src.t.c3 out.s.c2"]),
        (["a = other.t.x, <files/c>.z"], ["other.t.x out.s.a", "<files/c>.z out.s.a"]),
    ],
    ids=["columns", "two outputs", "a range", "other databases and paths"],
)
def test_a_line_of_truth_maps_columns_to_their_sources(lines: list[str], data: list[str]) -> None:
    assert read_truth("s", iter(lines)).data == edges(*data)


def test_brackets_mark_deciding_and_optional_sources_and_a_star_all_columns_of_the_output() -> None:
    truth = read_truth("s", iter(["a = t.x, (t.y), [t.z]", "* ~ t.x, t.k", "-> other", "b ="]))
    assert truth.data == edges("src.t.x out.s.a")
    assert truth.deciding == edges("src.t.y out.s.a")
    assert truth.optional == edges("src.t.z out.s.a")
    assert truth.control == edges("src.t.k out.s.a")
    assert {str(target) for target in truth.targets} == {"out.s.a", "out.other.b"}


def test_quoted_names_may_hold_any_character() -> None:
    truth = read_truth("s", iter(["-> <files/a, b>", "`x.y` = t.`p``q,r`"]))
    assert truth.data == {Edge(Column("src.t", "p`q,r"), Column("<files/a, b>", "x.y"))}


@pytest.mark.parametrize("line", ["a", "a = ..x", "a = t.x y", "c{1..2} = t.c{1..3}"])
def test_an_invalid_line_is_refused_with_its_location(line: str, tmp_path: Path) -> None:
    (tmp_path / "some.sql").write_text(f"--- s\n-- {line}\nSELECT 1\n")
    with pytest.raises(BadStatement, match=r"some\.sql, s"):
        read_statements(tmp_path)


def test_statements_that_vary_a_shape_have_a_row_each(tmp_path: Path) -> None:
    rows = "| of | t |\n| one | u.v |\n| two | w |\n"
    (tmp_path / "some.sql").write_text(
        f"Words.\n\n{rows}\n--- from_{{of}}\n-- a = {{t}}.x\nSELECT x FROM {{t}}\n"
    )
    found = {
        each.name: (each.sql, each.truth.data if each.truth else ()) for each in read_statements(tmp_path)
    }
    assert found == {
        "from_one": (("SELECT x FROM u.v",), edges("u.v.x out.from_one.a")),
        "from_two": (("SELECT x FROM w",), edges("src.w.x out.from_two.a")),
    }


def test_a_place_sets_the_namespace_of_bare_names() -> None:
    lines = [
        "a = t.x, {out}.b, spark_catalog.plain.u.y",
        "-> {out_b}",
        "a = lake.deep.er.t.x",
        "-> other.{name}",
        "a = t.x",
    ]
    assert read_truth("s_there", iter(lines), LOCAL).data == edges(
        "local.src.t.x local.out.s_there.a",
        "local.out.s_there.b local.out.s_there.a",
        "plain.u.y local.out.s_there.a",
        "lake.deep.er.t.x local.out.s_there_b.a",
        "local.src.t.x other.s_there.a",
    )


@pytest.mark.parametrize(
    ("place", "sql"),
    [
        (TABLE, "INSERT INTO out.s SELECT * FROM out.s_b, x.s, '/f/s'"),
        (LOCAL, "INSERT INTO local.out.s SELECT * FROM local.out.s_b, x.s, '/f/s'"),
        (
            Place("<files/{name}>", "delta.`{dir}/files/{name}`"),
            "INSERT INTO delta.`/f/files/s` SELECT * FROM delta.`/f/files/s_b`, x.s, '/f/s'",
        ),
    ],
)
def test_a_statement_names_its_outputs_by_its_place(place: Place, sql: str) -> None:
    text = "INSERT INTO {out} SELECT * FROM {out_b}, x.{name}, '{dir}/{name}'"
    assert Statement("s", (), place=place).outputs_named(text, "/f") == sql


def test_a_line_of_truth_may_apply_to_some_parts_only() -> None:
    lines = ["a = [t.x]", "@ new newer: a = t.x", "@ old: b = t.y"]
    assert read_truth("s", iter(lines), part="newer").data == edges("src.t.x out.s.a")
    assert read_truth("s", iter(lines), part="old").data == edges("src.t.y out.s.b")
    assert not read_truth("s", iter(lines)).parts


def test_extracted_edges_are_judged_by_the_truth() -> None:
    navlin = Extracted(data=edges("src.t.x out.s.a", "src.t.k out.s.a"), control=edges("src.t.d out.s.a"))
    agent = Extracted(data=edges("src.t.x out.s.a", "src.t.y out.s.a", "src.t.q out.s.a"))
    found = judged(["a = t.x, t.y, (t.d)", "a ~ t.k"], navlin, agent)
    assert found.wrong(navlin) == edges("src.t.k out.s.a")
    assert found.missing(navlin) == edges("src.t.y out.s.a")
    assert found.differences == {
        "wrong: it only controls": edges("src.t.k out.s.a"),
        "missed": edges("src.t.y out.s.a"),
        "agent: no such flow": edges("src.t.q out.s.a"),
    }
    assert found.unsaid == {"unknown"}


@pytest.mark.parametrize(
    ("unsure", "silent"),
    [(set(), True), ({"out.other"}, True), ({"out.s"}, False), ({ANYWHERE}, False)],
)
def test_a_flag_forgives_only_misses_of_its_own_table(unsure: set[str], silent: bool) -> None:
    found = judged(["a = t.x"], Extracted(flags={"incomplete"}, unsure=unsure))
    kind = "missed" if silent else "unknown, and said so"
    assert found.differences == {kind: edges("src.t.x out.s.a")}
    assert bool(found.silent) is bool(found.unsaid) is silent
    shares = found.shares()
    assert all(bool(shares[level].silent) is silent for level in ("columns: data", "tables"))
    assert all(bool(shares[level].flagged) is not silent for level in ("columns: data", "tables"))


def test_a_deciding_column_may_be_extracted_as_data() -> None:
    extracted = Extracted(data=edges("src.t.x out.s.a", "src.t.k out.s.a", "src.t.f out.s.a"))
    found = judged(["a = t.x", "a ~ (t.k), t.f"], extracted)
    assert found.wrong(extracted) == edges("src.t.f out.s.a")
    assert not found.missing_control


@pytest.mark.parametrize("source", ["local.src.t", "<warehouse/src.db/t>", "<there/src/t>"])
def test_a_table_under_another_name_is_wrong_and_reported_as_such(source: str) -> None:
    extracted = Extracted(data=edges(f"{source}.x out.s.a"))
    assert judged(["a = t.x"], extracted).differences == {
        "wrong: named otherwise": extracted.data,
        "missed": edges("src.t.x out.s.a"),
    }


def test_a_self_loop_of_a_column_is_neither_missed_nor_wrong() -> None:
    extracted = Extracted(data=edges("src.t.x out.s.a", "out.s.b out.s.b"))
    found = judged(["a = t.x, out.s.a", "b ="], extracted)
    assert not found.wrong(extracted)
    assert not found.missing(extracted)


def test_table_flows_include_column_flows_and_explicit_ones() -> None:
    lines = ["a = t.x", "b = [u.y]", "<- v, [w]", "* ~ t.k, out.s.a, z.k"]
    extracted = Extracted(tables={Flow(f"src.{name}", "out.s") for name in "tuwx"} | {Flow("out.s", "out.s")})
    tables = judged(lines, extracted).shares()["tables"]
    assert tables.right == {"src.t -> out.s"}
    assert tables.wrong == {"src.x -> out.s"}
    assert tables.silent == {"src.v -> out.s", "src.z -> out.s"}


@pytest.mark.parametrize("part", WITH_TRUTH, ids=lambda part: part.name)
def test_each_part_has_enough_statements_and_each_has_a_truth(part: Part) -> None:
    statements = statements_of(part, Path())
    assert len(statements) >= (64 if part.name == "crossed" else 150)
    assert len({each.name for each in statements}) == len(statements)
    assert all(each.truth and (each.sql or each.program) for each in statements)
    assert part.name != "own" or all(each.truth and each.truth.targets for each in statements if each.sql)


def test_a_list_in_sql_is_written_out() -> None:
    assert any("c1 INT, c2 INT" in each for each in setup_statements())


@pytest.mark.parametrize("part", WITH_TRUTH, ids=lambda part: part.name)
def test_programs_use_no_names_but_those_they_are_given(part: Part) -> None:
    given = {"spark", "out", "files", "form", "F", "Window", *dir(builtins)}
    unknown = {
        statement.name: names
        for statement in statements_of(part, Path())
        if statement.program and (names := names_used(statement.program.code) - given)
    }
    assert unknown == {}


def names_used(code: CodeType) -> set[str]:
    """Return the names that the code and its functions read and that the code does not define."""
    read, defined = set(), set()
    for each in dis.get_instructions(code):
        if each.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            read.add(str(each.argval))
        elif each.opname == "STORE_NAME":
            defined.add(str(each.argval))
    for inner in (each for each in code.co_consts if isinstance(each, CodeType)):
        read |= names_used(inner)
    return read - defined


@pytest.mark.parametrize(("one", "other"), [("delta-3.3", "delta-4"), ("iceberg-1.9", "iceberg-1.12")])
def test_format_versions_differ_only_in_statements_marked_by_part(one: str, other: str) -> None:
    of_one, of_other = (
        {each.name: each for each in statements_of(PARTS[part], Path())} for part in (one, other)
    )
    for name in of_one.keys() ^ of_other.keys():
        truth = (of_one.get(name) or of_other[name]).truth
        assert truth
        assert truth.parts


@pytest.mark.services
def test_an_environment_is_built_once_and_rebuilt_if_its_packages_change(tmp_path: Path) -> None:
    python = python_of(Environment("some", ()), tmp_path)
    assert python.is_file()
    (left := tmp_path / "some" / "left").touch()
    assert python_of(Environment("some", ()), tmp_path) == python
    assert left.exists()
    (tmp_path / "some" / "packages.txt").write_text("another==1\n")
    assert python_of(Environment("some", ()), tmp_path) == python
    assert not left.exists()


def test_a_session_needs_no_package_but_pyspark() -> None:
    without_packages = [sys.executable, "-S", "-c", "import bench._referee_running, bench.every_node"]
    subprocess.run(without_packages, cwd=Path(__file__).parents[2], check=True)


def test_parts_that_share_an_environment_pin_the_same_packages() -> None:
    pins = {part.environment.name: part.environment.packages for part in PARTS.values() if part.environment}
    for part in PARTS.values():
        if part.environment:
            assert part.environment.packages == pins[part.environment.name]
            assert all("==" in package for package in part.environment.packages)
