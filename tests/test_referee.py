"""The referee for column lineage (bench/referee.py): the notation of its truth, and how it judges."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench._referee_edges import Told, statement_of_run
from bench._referee_judging import judge
from bench._referee_statements import (
    BadStatement,
    Column,
    Edge,
    Statement,
    read_statements,
    read_truth,
    setup_statements,
)


def edges(*words: str) -> set[Edge]:
    """``"src.t.a out.s.b"`` as the edge from the one to the other."""
    pairs = (each.split(" ") for each in words)
    return {Edge(*(Column(*end.rsplit(".", 1)) for end in (source, target))) for source, target in pairs}


def test_a_line_of_truth_gives_its_columns_their_sources() -> None:
    truth = read_truth("s", iter(["a, b = t.x, u.y", "c =", "id == t"]))
    assert truth.data == edges(
        "src.t.x out.s.a", "src.u.y out.s.a", "src.t.x out.s.b", "src.u.y out.s.b", "src.t.id out.s.id"
    )
    assert {target.name for target in truth.targets} == {"a", "b", "c", "id"}


def test_control_of_all_is_of_the_columns_of_its_output_alone() -> None:
    truth = read_truth("s", iter(["a = t.x", "* ~ t.x, t.k", "-> other", "b = t.y"]))
    assert truth.control == edges("src.t.k out.s.a")
    assert truth.data == edges("src.t.x out.s.a", "src.t.y out.other.b")


def test_brackets_say_what_decides_and_what_may_be_there() -> None:
    truth = read_truth("s", iter(["a = t.x, (t.y), [t.z]"]))
    assert (truth.data, truth.deciding, truth.optional) == (
        edges("src.t.x out.s.a"),
        edges("src.t.y out.s.a"),
        edges("src.t.z out.s.a"),
    )


def test_names_may_hold_dots_commas_and_backticks_and_places_are_in_angle_brackets() -> None:
    truth = read_truth("s", iter(["-> <files/a, b>", "`x.y` = t.`p``q,r`, <files/c>.z, other.t.v"]))
    target = Column("<files/a, b>", "x.y")
    assert truth.data == {
        Edge(Column("src.t", "p`q,r"), target),
        Edge(Column("<files/c>", "z"), target),
        Edge(Column("other.t", "v"), target),
    }


def test_a_range_is_a_line_for_each_number() -> None:
    truth = read_truth("s", iter(["c{1..3} = t.c{@+1}"]))
    assert truth.data == edges("src.t.c2 out.s.c1", "src.t.c3 out.s.c2", "src.t.c4 out.s.c3")


@pytest.mark.parametrize("line", ["a", "a = ..x", "a = t.x y", "c{1..2} = t.c{1..3}"])
def test_what_is_not_of_the_notation_is_refused_with_its_place(line: str, tmp_path: Path) -> None:
    (tmp_path / "some.sql").write_text(f"--- s\n-- {line}\nSELECT 1\n")
    with pytest.raises(BadStatement, match=r"some\.sql, s"):
        read_statements(tmp_path)


def test_an_operation_is_of_the_statement_it_is_named_after_else_of_the_one_that_ran_then() -> None:
    ran = {"a": {"application": "app", "ms": [10, 20]}, "b": {"application": "app", "ms": [21, 30]}}
    assert statement_of_run("a", [("app", 25)], ran) == "a"
    assert statement_of_run("a stream's own name", [("app", 25)], ran) == "b"
    assert statement_of_run("a stream's own name", [("app", 31)], ran) == ""
    assert statement_of_run("a", [("an older session", 15)], ran) == ""


def test_statements_of_our_own_are_more_than_asked_for_and_all_have_a_truth() -> None:
    statements = read_statements()
    assert len(statements) > 150
    assert all(each.truth and each.truth.targets and each.sql for each in statements)
    assert any("c1 INT, c2 INT" in each for each in setup_statements())


def test_a_statement_is_judged_by_what_the_sql_says() -> None:
    statement = Statement("s", (), read_truth("s", iter(["a = t.x, t.y, (t.d)", "a ~ t.k"])))
    navlin = Told(data=edges("src.t.x out.s.a", "src.t.k out.s.a"), control=edges("src.t.d out.s.a"))
    agent = Told(data=edges("src.t.x out.s.a", "src.t.y out.s.a", "src.t.q out.s.a"))
    judged = judge(statement, "", navlin, agent)
    assert judged.wrong(navlin) == edges("src.t.k out.s.a")
    assert judged.missing(navlin) == edges("src.t.y out.s.a")
    assert judged.differences == {
        "wrong: it only controls": edges("src.t.k out.s.a"),
        "missed": edges("src.t.y out.s.a"),
        "agent: no such flow": edges("src.t.q out.s.a"),
    }
    assert judged.unsaid == {"unknown"}


def test_what_is_missed_is_forgiven_where_it_is_flagged() -> None:
    statement = Statement("s", (), read_truth("s", iter(["a = t.x"])))
    judged = judge(statement, "", Told(flags={"incomplete"}), Told())
    assert not judged.unsaid
    assert judged.differences == {"unknown, and said so": edges("src.t.x out.s.a")}
