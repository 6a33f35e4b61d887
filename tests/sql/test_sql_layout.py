"""Layout of statements for display: line breaks, and the guarantee that only whitespace changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navlin.render import sql
from navlin.render.sql import MOST_CHARS, WIDTH_CHARS, laid_out

LONG = "-- " + "x" * WIDTH_CHARS
"""A line that exceeds the display width."""

LAID_OUT = {
    "clauses and conditions": (
        "insert into t select a, b from s where a > 1 and b between 2 and 3 or c = 'x, y' group by a order by a limit 5",
        """insert into t
        select a,
          b
        from s
        where a > 1
          and b between 2 and 3
          or c = 'x, y'
        group by a
        order by a
        limit 5""",
    ),
    "joins": (
        "select * from a left outer join b on a.x = b.x and a.y = b.y cross join c lateral view explode(d) e as f",
        """select *
        from a
        left outer join b on a.x = b.x
          and a.y = b.y
        cross join c
        lateral view explode(d) e as f""",
    ),
    "queries inside": (
        "with a as (select 1 from t), b as (select 2 from a) select * from (select x from b) c where x in (1, 2)",
        """with a as (
          select 1
          from t
        ),
        b as (
          select 2
          from a
        )
        select *
        from (
          select x
          from b
        ) c
        where x in (1, 2)""",
    ),
    "cases and windows in a line": (
        "select case when a = 1 and b = 2 then 3 end, sum(x) over (partition by y order by z), left(a, 2) from t",
        """select case when a = 1 and b = 2 then 3 end,
          sum(x) over (partition by y order by z),
          left(a, 2)
        from t""",
    ),
    "merge": (
        "merge into t using s on t.a = s.a when matched then update set b = 1 when not matched then insert values (1)",
        """merge into t
        using s on t.a = s.a
        when matched then update set b = 1
        when not matched then insert values (1)""",
    ),
    "columns with the names of clauses": (
        "select a.from, `where` from t.select",
        "select a.from,\n`where`\nfrom t.select",
    ),
    "distinct from": (
        "select 1 from t where a is not distinct from b",
        "select 1\nfrom t\nwhere a is not distinct from b",
    ),
    "a union": ("select 1 union all select 2", "select 1\nunion all\nselect 2"),
    "an open quote": ("select 'a from  b", "select 'a from  b"),
    "an open comment": ("select /* a  from b", "select /* a  from b"),
    "more closed than opened": ("select 1) from t", "select 1)\nfrom t"),
    "no SQL": ("spark-submit  --class a.B  x.jar", "spark-submit --class a.B  x.jar"),
    "nothing": ("", ""),
}


def lines(text: str) -> list[str]:
    return [each.strip() for each in text.splitlines()]


@pytest.mark.parametrize("case", LAID_OUT)
def test_a_one_line_statement_is_broken_into_lines(case: str) -> None:
    given_text, expected = LAID_OUT[case]
    assert lines(laid_out(f"{LONG}\n{given_text}"))[1:] == lines(expected)


def test_nested_clauses_are_indented() -> None:
    text = "select * from t where exists (select 1 from s where a and b)"
    found = laid_out(f"{LONG}\n{text}").splitlines()[1:]
    assert [len(each) - len(each.lstrip()) for each in found] == [0, 0, 0, 2, 2, 2, 4, 0]


def test_a_formatted_or_very_long_text_is_unchanged() -> None:
    own = "select a\n     , b\n  from t"
    assert laid_out(own) == own
    long = "select 1 from t where " + "a  =  1 and " * (MOST_CHARS // 10)
    assert laid_out(long) == long.strip()


SIGNS = "( ) , ; . ' \" ` \\ -- /* */ x 1 \n ="
KEYWORDS = "select from where and or between case when end join left on with as group by order"
WORDS = st.sampled_from(f"{KEYWORDS} {SIGNS}".split(" "))


def parts(text: str) -> list[tuple[str, str]]:
    return [(each.kind, each.text.rstrip()) for each in sql._tokens(text.strip())]


@given(st.lists(WORDS, max_size=60), st.sampled_from(["", " ", "  "]))
def test_only_whitespace_changes(words: list[str], between: str) -> None:
    text = f"{LONG}\n{between.join(words)}"
    assert parts(laid_out(text)) == parts(text)
    assert re.sub(r"\s", "", laid_out(text)) == re.sub(r"\s", "", text)
