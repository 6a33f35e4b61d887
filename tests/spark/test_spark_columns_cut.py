"""Truncated plans and misleading literals: columns are known, inferred or flagged, but never guessed."""
# ruff: noqa: E501 - plans as Spark prints them

from __future__ import annotations

import pytest

from extractors.spark.columns import written as columns_written
from extractors.spark.incomplete import Incomplete
from tests.support.spark_logs import FORMATTED
from tests.support.spark_plans import (
    Op,
    counted,
    flow,
    flows,
    inserting,
    op,
    printed,
    project,
    scan,
    unary,
    where,
    written,
    written_of,
)

A_COLUMNS = "id#1L, k#2, v#3, n#4"
A = scan("d.a", A_COLUMNS)


def wide(count: int, first: int = 101, name: str = "c") -> list[str]:
    return [f"{name}{each}#{first + each}" for each in range(count)]


def names(columns: list[str]) -> str:
    return ", ".join(each.partition("#")[0] for each in columns)


def cut(columns: list[str], shown: int = 25) -> str:
    """Print a list as Spark does if it has more than ``shown`` entries."""
    return ", ".join([*columns[:shown], f"... {len(columns) - shown} more fields"])


BLOCK = "Arguments: file:/w/out, false, Parquet, [], Append, `c`.`d`.`out`, serde, [x]"
W = wide(40)
WIDE = scan("d.w", ", ".join(W))
GIVEN = ", ".join(W)


# -- Truncated lists ------------------------------------------------------------------------------------------------


def hashed(given: list[str], outputs: str, *, count: int, more: str = "") -> Op:
    columns = ", ".join(given)
    below = scan("d.w", columns)
    if more:
        below = where(more, below, columns)
    return op(
        "Project", f"{counted('Output', count, outputs)}\n{counted('Input', len(given), columns)}", below
    )


def test_truncated_arguments_of_a_row_hash_are_incomplete() -> None:
    call = f"md5(cast(concat_ws(|, {cut(W, 24)}) as binary)) AS h#500"
    query = hashed(W, f"{GIVEN}, {call}", count=41)
    columns = written(inserting(query, names([*W, "h#500"]), f"{GIVEN}, h#500"))
    column = columns.flows[-1]
    assert (len(column.data), column.inferred, column.incomplete) == (24, False, True)
    assert columns.reasons == (Incomplete.FIELDS_CUT,)


def test_columns_needed_only_by_a_truncated_expression_are_its_lost_arguments() -> None:
    query = hashed([*W, "z#400"], f"z#400, hash({', '.join(W[:25])}, ... 16 more fields) AS h#500", count=2)
    [_, column] = written(inserting(query, "z, h", "z#400, h#500")).flows
    assert {each.name for each in column.data} == {each.partition("#")[0] for each in W}
    assert (column.inferred, column.incomplete) == (True, False)


def test_a_filter_column_is_not_taken_as_a_lost_argument() -> None:
    # The truncated arguments of the hash include c39 or the filter's flag. Only the other 14 are certain.
    given = [*W[:39], "flag#400"]
    query = hashed(given, f"hash({', '.join(W[:25])}, ... 16 more fields) AS h#500", count=1, more="flag#400")
    [column] = written(inserting(query, "h", "h#500")).flows
    assert {each.name for each in column.data} == {each.partition("#")[0] for each in W[:39]}
    assert (column.inferred, column.incomplete) == (True, True)


def test_a_column_next_to_a_truncated_expression_may_be_its_argument_too() -> None:
    query = hashed(W, f"c0#101, hash({', '.join(W[1:26])}, ... 16 more fields) AS h#500", count=2)
    [_, column] = written(inserting(query, "c0, h", "c0#101, h#500")).flows
    assert {each.name for each in column.data} == {each.partition("#")[0] for each in W[1:]}
    assert (column.inferred, column.incomplete) == (True, True)


def test_unpruned_rows_prove_nothing_about_lost_arguments() -> None:
    rdd = op("Scan ExistingRDD", f"{counted('Output', 40, GIVEN)}\nArguments: [x]")
    table = unary(
        "Window", "[row_number() windowspecdefinition(c39#140 ASC) AS n#400], [c39#140 ASC]", WIDE, GIVEN
    )
    for below in (rdd, table):
        call = f"hash({', '.join(W[:25])}, ... 16 more fields) AS h#500"
        query = op("Project", f"{counted('Output', 1, call)}\n{counted('Input', 40, GIVEN)}", below)
        [column] = written(inserting(query, "h", "h#500")).flows
        assert {each.name for each in column.data} <= {each.partition("#")[0] for each in W[:25]}
        assert column.incomplete


def test_lost_arguments_of_two_truncated_expressions_are_not_assigned() -> None:
    both = f"hash({cut(W, 25)}) AS x#500, xxhash64({cut(W[::-1], 25)}) AS y#501"
    query = op("Project", counted("Output", 2, both) + f"\n{counted('Input', 40, GIVEN)}", WIDE)
    columns = written(inserting(query, "x, y", "x#500, y#501"))
    assert all(each.incomplete and len(each.data) == 25 for each in columns.flows)
    assert columns.reasons == (Incomplete.FIELDS_CUT,)


def test_grouping_sets_after_the_cut_are_matched_by_column_name() -> None:
    sets = [*W, "k#2", "0"]
    out = [*W, "k#502", "spark_grouping_id#503L"]
    below = scan("d.w", f"{GIVEN}, k#2")
    expand = op(
        "Expand",
        f"{counted('Input', 41, f'{GIVEN}, k#2')}\nArguments: [[{cut(sets)}], [{cut(sets)}]], [{cut(out)}]",
        below,
    )
    found = flows(inserting(expand, names(out), ", ".join(out)))
    assert (found["c39"], found["k"], found["spark_grouping_id"]) == ("w.c39 |", "w.k | inferred", "|")


def test_a_wide_table_with_a_limit_and_order_keeps_all_columns() -> None:
    top = op(
        "TakeOrderedAndProject",
        f"{counted('Input', 40, GIVEN)}\nArguments: 10, [c0#101 ASC], [{cut(W)}]",
        WIDE,
    )
    found = flows(inserting(top, cut(W), GIVEN))
    assert len(found) == 40
    assert found["c39"] == "w.c39 | w.c0"


def test_a_wide_cached_table_is_matched_under_its_own_or_other_ids() -> None:
    for first, expected in ((101, "w.c39 |"), (601, "w.c39 | inferred")):
        listed = wide(40, first)
        relation = op(
            "InMemoryRelation", f"Arguments: [{cut(listed)}], StorageLevel(disk, 1 replicas)", inner=(WIDE,)
        )
        use = op("InMemoryTableScan", f"Output [1]: [{listed[39]}]", inner=(relation,))
        assert flows(inserting(use, "x", listed[39])) == {"x": expected}


def test_nonconsecutive_ids_of_a_cached_plan_are_not_extrapolated() -> None:
    listed = [*wide(20, 601), *wide(20, 701)]
    relation = op(
        "InMemoryRelation", f"Arguments: [{cut(listed)}], StorageLevel(disk, 1 replicas)", inner=(WIDE,)
    )
    use = op("InMemoryTableScan", f"Output [1]: [{listed[39]}]", inner=(relation,))
    assert flows(inserting(use, "x", listed[39])) == {"x": "| incomplete"}


def test_a_position_after_the_cut_counts_only_if_the_name_matches() -> None:
    # The cached scan has no c30, so ids after c30 are one ahead of their positions.
    listed = [each for each in wide(41, 601) if not each.startswith("c30#")]
    cached = scan("d.w", ", ".join(each for each in wide(41) if not each.startswith("c30#")))
    relation = op(
        "InMemoryRelation", f"Arguments: [{cut(listed)}], StorageLevel(disk, 1 replicas)", inner=(cached,)
    )
    for column, expected in (("c29#630", "w.c29 | inferred"), ("c31#632", "| incomplete")):
        use = op("InMemoryTableScan", f"Output [1]: [{column}]", inner=(relation,))
        assert flows(inserting(use, "x", column)) == {"x": expected}


def test_window_functions_after_the_cut_are_incomplete() -> None:
    spec = (
        "windowspecdefinition(c0#101, specifiedwindowframe(RowFrame, unboundedpreceding$(), currentrow$()))"
    )
    out = wide(30, 700, "s")
    calls = [f"sum(c{each}#{101 + each}) {spec} AS {column}" for each, column in enumerate(out)]
    window = op("Window", f"{counted('Input', 40, GIVEN)}\nArguments: [{cut(calls)}], [c0#101]", WIDE)
    found = flows(inserting(window, names([*W, *out]), ", ".join((*W, *out))))
    assert (found["s24"], found["s25"], found["c30"]) == ("w.c24 | w.c0", "| incomplete", "w.c30 |")


def test_python_functions_after_the_cut_are_incomplete() -> None:
    out = wide(30, 700, "p")
    calls = [f"f(c{each}#{101 + each})#{900 + each}" for each in range(30)]
    python = op(
        "ArrowEvalPython",
        f"{counted('Input', 40, GIVEN)}\nArguments: [{cut(calls)}], [{cut(out)}], 101",
        WIDE,
    )
    query = project(", ".join(out), python, f"{GIVEN}, {', '.join(out)}")
    found = flows(inserting(query, names(out), ", ".join(out)))
    assert (found["p24"], found["p25"]) == ("w.c24 |", "| incomplete")


def test_columns_after_the_cut_of_a_logical_plan_are_flagged() -> None:
    relation = op("LogicalRelation", f"Arguments: parquet, [{cut(W)}], `spark_catalog`.`d`.`w`, serde, false")
    query = op("Project", f"Arguments: [{cut(W)}]", relation)
    root = op(
        "Execute CreateViewCommand",
        "Output: []",
        inner=(
            op(
                "CreateViewCommand",
                "Arguments: `c`.`d`.`v`, select 1, false, false, PersistedView, X",
                inner=(query,),
            ),
        ),
    )
    assert not written(root).complete
    few = op("Project", "Arguments: [c39#140 AS x#500, c0#101]", relation)
    root = op(
        "Execute CreateViewCommand",
        "Output: []",
        inner=(
            op(
                "CreateViewCommand",
                "Arguments: `c`.`d`.`v`, select 1, false, false, PersistedView, X",
                inner=(few,),
            ),
        ),
    )
    assert flows(root) == {"x": "w.c39 | inferred", "c0": "w.c0 |"}


def view_over(query: Op, columns: str = "") -> Op:
    arguments = f"Arguments: `c`.`d`.`v`, {columns}select 1, false, false, PersistedView, X"
    view = op("CreateViewCommand", arguments, inner=(query,))
    return op("Execute CreateViewCommand", "Output: []", inner=(view,))


BROAD = op("LogicalRelation", f"Arguments: parquet, [{cut(W)}], `spark_catalog`.`d`.`w`, serde, false")


def test_a_view_over_a_wide_table_has_its_shown_columns_and_is_incomplete() -> None:
    columns = written(view_over(op("Project", f"Arguments: [{cut(W)}]", BROAD)))
    found = {
        each.output: [f"{source.end.readable}.{source.name}" for source in each.data]
        for each in columns.flows
    }
    assert found == {f"c{each}": [f"d.w.c{each}"] for each in range(25)}
    assert columns.reasons == (Incomplete.FIELDS_CUT,)


def test_a_view_column_not_shown_by_its_table_is_inferred() -> None:
    shifted = [W[39], *W[:30]]
    columns = written(view_over(op("Project", f"Arguments: [{cut(shifted)}]", BROAD)))
    [column, *_] = columns.flows
    assert (column.output, [each.name for each in column.data]) == ("c39", ["c39"])
    assert (column.inferred, column.incomplete) == (True, False)


def test_a_duplicated_view_column_makes_later_positions_uncertain() -> None:
    columns = written(view_over(op("Project", f"Arguments: [{cut([W[0], *W])}]", BROAD)))
    assert (columns.flows, columns.reasons) == ((), (Incomplete.NO_COLUMNS,))


UNPIVOTED = [[W[0], f"c{each}", W[each]] for each in range(1, 40)]


def expanded(given: list[str], sets: list[list[str]]) -> Op:
    lists = cut([f"[{', '.join(each)}]" for each in sets])
    out = "c0#101, name#800, value#801"
    below = scan("d.w", ", ".join(given))
    block = f"{counted('Input', len(given), ', '.join(given))}\nArguments: [{lists}], [{out}]"
    return inserting(op("Expand", block, below), "c0, name, value", out)


def test_a_truncated_unpivot_has_the_columns_passed_to_it() -> None:
    [_, _, value] = written(expanded(W, UNPIVOTED)).flows
    assert {each.name for each in value.data} == {f"c{each}" for each in range(1, 40)}
    assert (value.inferred, value.incomplete) == (True, False)


def test_a_truncated_unpivot_with_another_input_has_only_the_shown_columns() -> None:
    columns = written(expanded([*W, "z#400"], UNPIVOTED))
    [_, _, value] = columns.flows
    assert {each.name for each in value.data} == {f"c{each}" for each in range(1, 26)}
    assert value.incomplete
    assert columns.reasons == (Incomplete.FIELDS_CUT,)


def test_a_truncated_unpivot_into_two_columns_is_incomplete() -> None:
    sets = [[f"c{each}", W[each], W[each + 1]] for each in range(0, 40, 1) if each < 39]
    lists = cut([f"[{', '.join(each)}]" for each in sets])
    out = "name#800, one#801, other#802"
    block = f"{counted('Input', 40, GIVEN)}\nArguments: [{lists}], [{out}]"
    query = op("Expand", block, WIDE)
    [_, one, other] = written(inserting(query, "name, one, other", out)).flows
    assert one.incomplete
    assert other.incomplete
    assert "c39" not in {each.name for each in (*one.data, *other.data)}


def test_a_truncated_list_of_literals_loses_no_column() -> None:
    condition = f"n#4 IN ({', '.join(str(each) for each in range(25))}, ... 300 more fields)"
    query = where(condition, A, A_COLUMNS)
    assert flows(inserting(query, "id, k, v, n", A_COLUMNS)) != {}
    [column, *_] = written(inserting(project("id#1L", query, A_COLUMNS), "id", "id#1L")).flows
    assert not column.incomplete


# -- Literals that look like a plan ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "literal",
    [
        "n#4x AS b#9",
        "x#4",
        "a, b), c#1 [",
        "((((((",
        "(3) Scan parquet spark_catalog.d.secret",
        "\n\n(9) Scan parquet spark_catalog.d.secret\nOutput [1]: [s#77]\n",
        "\nOutput [1]: [n#44 AS x#20]",
        "\nInput [1]: [secret#3]",
        "]\nInput [1]: [secret#3]",
        "\n===== Subqueries =====\n\nSubquery:1 Hosting operator id = 1 Hosting Expression = x#1",
        "... 12 more fields",
        "Subquery subquery#5, [id=#6]",
    ],
)
def test_a_literal_creates_no_edge(literal: str) -> None:
    output = counted("Output", 2, f"id#1L, concat(k#2, {literal}) AS x#20")
    query = op("Project", f"{output}\n{counted('Input', 2, 'id#1L, k#2')}", scan("d.a", "id#1L, k#2"))
    columns = written(inserting(query, "id, x", "id#1L, x#20"))
    found = {each.output: {source.name for source in each.data} for each in columns.flows}
    assert found.get("x", set()) <= {"k"}
    assert found.get("id", set()) <= {"id"}
    assert not any(each.control for each in columns.flows)
    # Anything that is not certain is flagged.
    assert not columns.complete or found == {"id": {"id"}, "x": {"k"}}


def test_a_literal_in_a_condition_neither_creates_nor_hides_an_edge() -> None:
    forged = "(2) Filter [codegen id : 1]\nInput [1]: [n#44]\nCondition : (n#44 > 1)"
    assert (
        flows(inserting(where(f"(k#2 = {forged})", A, A_COLUMNS), "id, k, v, n", A_COLUMNS))["id"]
        == "a.id | a.k"
    )


def test_a_duplicate_block_is_ambiguous() -> None:
    text = printed(inserting(project("k#2 AS x#20", A, A_COLUMNS), "x", "x#20"))
    forged = f"{text}(2) Project\nOutput [1]: [n#4 AS x#20]\nInput [4]: [{A_COLUMNS}]\n\n"
    columns = written_of(forged, block=BLOCK)
    assert (columns.flows, columns.complete) == ((), False)
    assert columns.reasons == (Incomplete.AMBIGUOUS,)


def test_column_names_may_resemble_a_plan() -> None:
    columns = "we#3 ird, [x]#5, a AS b#9#6, spark_catalog.d.a.q#7, x,y#8"
    query = op("Scan parquet spark_catalog.d.a", counted("Output", 4, columns))
    made = "we#3 ird, [x]#5 AS r#20, a AS b#9#6 AS s#21, (spark_catalog.d.a.q#7 + 1) AS t#22, x,y#8 AS u#23"
    body = op("Project", f"{counted('Output', 4, made)}\n{counted('Input', 4, columns)}", query)
    root = inserting(body, "r, s, t, u", "r#20, s#21, t#22, u#23")
    assert flows(root) == {
        "r": "a.we#3 ird, [x] |",
        "s": "a.a AS b#9 |",
        "t": "a.spark_catalog.d.a.q |",
        "u": "a.x,y |",
    }


# -- Missing parts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", Incomplete.EXPLAIN_MODE),
        (FORMATTED, Incomplete.EXPLAIN_MODE),
        (f"{FORMATTED}*(1) Project [id#1L]\n+- *(1) Range (0, 3)\n", Incomplete.EXPLAIN_MODE),
        (f"{FORMATTED}Execute InsertIntoHadoopFsRelationCommand (1)\n\n\n", Incomplete.NO_COLUMNS),
        ("== Parsed Logical Plan ==\n...\n", Incomplete.EXPLAIN_MODE),
    ],
)
def test_a_text_without_the_plan_gives_the_reason(text: str, reason: Incomplete) -> None:
    columns = written_of(text, block=BLOCK)
    assert (columns.flows, columns.reasons) == ((), (reason,))


def test_a_truncated_text_is_not_read() -> None:
    text = printed(inserting(project("k#2 AS x#20", A, A_COLUMNS), "x", "x#20"))
    columns = written_of(f"{text[:-40]}... 1439 more characters", block=BLOCK)
    assert (columns.flows, columns.reasons) == ((), (Incomplete.PLAN_CUT,))


def test_a_cached_adaptive_plan_is_read_by_its_initial_plan() -> None:
    text = f"""{FORMATTED}Execute InsertIntoHadoopFsRelationCommand (9)
+- InMemoryTableScan (1)
      +- InMemoryRelation (2)
            +- AdaptiveSparkPlan (8)
               +- == Final Plan ==
                  ResultQueryStage (4)
                  +- EmptyRelation (3)
               +- == Initial Plan ==
                  Project (7)
                  +- InMemoryTableScan (6)
                        +- InMemoryRelation (5)
                              +- AdaptiveSparkPlan (12)
         +- == Final Plan ==
            EmptyRelation (10)
         +- == Initial Plan ==
            Scan parquet spark_catalog.d.a (11)


(1) InMemoryTableScan
Output [1]: [y#40]

(2) InMemoryRelation
Arguments: [y#40], StorageLevel(disk, 1 replicas)

(3) EmptyRelation
Output [1]: [x#20]

(4) ResultQueryStage
Output [1]: [x#20]

(5) InMemoryRelation
Arguments: [k#30], StorageLevel(disk, 1 replicas)

(6) InMemoryTableScan
Output [1]: [k#30]

(7) Project
Output [1]: [upper(k#30) AS x#20]
Input [1]: [k#30]

(8) AdaptiveSparkPlan
Output [1]: [x#20]

(9) Execute InsertIntoHadoopFsRelationCommand
Input: []
Arguments: file:/w, false, Parquet, [path=file:/w], Append, [out]

(10) EmptyRelation
Output [1]: [k#2]

(11) Scan parquet spark_catalog.d.a
Output [1]: [k#2]

(12) AdaptiveSparkPlan
Output [1]: [k#2]

"""
    block = "Arguments: file:/w, false, Parquet, [path=file:/w], Append, [out]"
    [column] = written_of(text, block=block).flows
    assert (column.output, [each.name for each in column.data], column.incomplete) == ("out", ["k"], False)


# -- Older forms ----------------------------------------------------------------------------------------------------

EXTENDED = """== Parsed Logical Plan ==
'InsertIntoStatement
== Analyzed Logical Plan ==
whatever
== Optimized Logical Plan ==
InsertIntoHadoopFsRelationCommand file:/w/out, false, Parquet, Map(), Append, `d`.`out`, serde, InMemoryFileIndex(file:/w/out), [id, s]
+- Project [id#1L, (v#3 + v#13) AS s#20]
   +- Join Inner, (id#1L = id#11L)
      :- Filter (n#4 > 1)
      :  +- Relation d.a[id#1L,k#2,v#3,n#4] parquet
      +- Relation[id#11L,v#13] parquet

== Physical Plan ==
Execute InsertIntoHadoopFsRelationCommand
"""


def test_the_optimized_part_of_an_extended_plan_is_read() -> None:
    block = "Arguments: file:/w/out, false, Parquet, Map(), Append, `d`.`out`, serde, [id, s]"
    [column, added] = written_of(EXTENDED, block=block).flows
    assert (column.output, [each.name for each in column.data]) == ("id", ["id"])
    # The text has no path for a relation without a table name, but the tree may have it.
    assert (added.output, added.incomplete) == ("s", True)


def test_a_chain_of_thousands_of_operators_is_read() -> None:
    query: Op = A
    for _ in range(3_000):
        query = unary("Sample", "0.0, 0.1, false", query, A_COLUMNS)
    text = _deep(query)
    assert len(written_of(text).flows) == 4


def _deep(query: Op) -> str:
    """Print a plan without recursion."""
    chain: list[Op] = []
    while True:
        chain.append(query)
        if not query.children:
            break
        query = query.children[0]
    numbered = list(enumerate(reversed(chain), 1))
    count = len(numbered) + 1
    tree = [f"Execute InsertIntoHadoopFsRelationCommand ({count})"]
    tree += [
        f"{'   ' * depth}+- {each.name} ({number})" for depth, (number, each) in enumerate(reversed(numbered))
    ]
    blocks = "".join(f"({number}) {each.name}\n{each.block}\n\n" for number, each in numbered)
    last = f"({count}) Execute InsertIntoHadoopFsRelationCommand\nInput: []\nArguments: file:/w, false, Parquet, [], Append, `c`.`d`.`o`, [id, k, v, n]\n"
    return f"{FORMATTED}{chr(10).join(tree)}\n\n\n{blocks}{last}"


# -- Too much for one write ------------------------------------------------------------------------------------------

WINDOW = "windowspecdefinition(k#2, n#4 ASC NULLS FIRST, specifiedwindowframe(RowFrame, unboundedpreceding$(), currentrow$()))"
WINDOWED = f"[rank(n#4) {WINDOW} AS w#9, lag(v#3, -1, null) {WINDOW} AS x#10], [k#2], [n#4 ASC NULLS FIRST]"


@pytest.mark.parametrize("limit", [4, 3])
def test_more_control_sources_than_the_limit_leave_the_shared_ones_and_are_flagged(
    monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(columns_written, "MAX_SOURCES", limit)
    filtered = where("(id#1L > 5)", scan("d.a", "id#1L, k#2, v#3, n#4"), "id#1L, k#2, v#3, n#4")
    query = unary("Window", WINDOWED, filtered, "id#1L, k#2, v#3, n#4")

    found = written(inserting(query, "v, w, x", "v#3, w#9, x#10"))

    if limit == 4:
        assert found.reasons == ()
        assert [flow(each) for each in found.flows] == [
            "a.v | a.id",
            "| a.id, a.k, a.n",
            "a.v | a.id, a.k, a.n",
        ]
    else:
        assert found.reasons == (Incomplete.TOO_MANY,)
        assert [flow(each) for each in found.flows] == [
            "a.v | a.id incomplete",
            "| a.id incomplete",
            "a.v | a.id incomplete",
        ]
