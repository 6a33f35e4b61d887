"""SQL texts as a source of lineage: the tables and columns read from them, and the limits on time and memory."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from navlin.sql.bounded import SqlReader
from navlin.sql.reading import ParsedStatement, TextToRead
from tests.support.sql_texts import Pair, cases, columns_of, read, tables_of

SCHEMA: Mapping[str, Sequence[str]] = {
    "db.t": ("a", "b", "c", "m", "xs"),
    "db.u": ("id", "a", "x"),
    "db.s": ("id", "d"),
    "db.nested": ("id", "st", "arr"),
    "other.t": ("z",),
}


@pytest.fixture(scope="module")
def reader() -> Iterator[SqlReader]:
    with SqlReader() as reader:
        yield reader


def made(reader: SqlReader, text: str, *, schema: Mapping[str, Sequence[str]] = SCHEMA) -> ParsedStatement:
    answer = reader.read(TextToRead(text, schema, "db"))
    assert answer.problem == ""
    (only,) = answer.made
    return only


def columns(made: ParsedStatement) -> list[str]:
    """Return ``name: data, data ~ control`` for each column, followed by ``?`` if the column is incomplete."""
    reported = []
    for column in made.columns:
        data, control = (
            ", ".join(f"{each.table.table}.{each.column}" for each in sources)
            for sources in (column.data, column.control)
        )
        reported.append(
            f"{column.name}: {data}{' ~ ' + control if control else ''}{'' if column.complete else '?'}"
        )
    return reported


def tables(made: ParsedStatement) -> set[str]:
    """Return ``db.table`` for each table, prefixed with ``~`` if the table only controls."""
    return {("~" if table.control else "") + str(table.name) for table in made.tables}


def deciding(made: ParsedStatement) -> set[str]:
    return {f"{each.table.table}.{each.column}" for each in made.control}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a, b + c AS d FROM t", ["a: t.a", "d: t.b, t.c"]),
        ("SELECT * FROM s", ["id: s.id", "d: s.d"]),
        ("SELECT y.*, d FROM s JOIN (SELECT x FROM u) y", ["x: u.x", "d: s.d"]),
        ("SELECT * EXCEPT (id) FROM s", ["d: s.d"]),
        ("SELECT * FROM u JOIN s USING (id)", ["id: u.id", "a: u.a", "x: u.x", "d: s.d"]),
        ("SELECT * FROM u FULL JOIN s USING (id)", ["id: s.id, u.id", "a: u.a", "x: u.x", "d: s.d"]),
        ("SELECT * FROM s LEFT SEMI JOIN u ON s.id = u.id", ["id: s.id", "d: s.d"]),
        ("SELECT z FROM other.t", ["z: t.z"]),
        ("SELECT t.z, db.t.a FROM other.t, db.t", ["z: t.z", "a: t.a"]),
        ("SELECT T.A, t2.b FROM Db.T, db.t t2", ["A: T.a", "b: T.b"]),
        ("SELECT t.z, t.nothing FROM other.t, db.t", ["z: t.z", "nothing: ?"]),
        ("SELECT m.f.g AS f, xs[0].h AS h, t.m.k AS k FROM t", ["f: t.m", "h: t.xs", "k: t.m"]),
        ("SELECT CASE WHEN a > 0 THEN b ELSE c END AS d FROM t", ["d: t.a, t.b, t.c"]),
        ("SELECT transform(xs, v -> v.f + a) AS ys FROM t", ["ys: t.a, t.xs"]),
        ("SELECT m:f.g::string AS f, xs:[0].h AS h FROM t", ["f: t.m", "h: t.xs"]),
        ("SELECT _metadata.file_name AS f, a FROM t", ["f: ", "a: t.a"]),
        (
            "WITH RECURSIVE r (n) MAX RECURSION LEVEL 9 AS (SELECT a FROM t UNION ALL SELECT n + x FROM r, u)"
            " SELECT n FROM r",
            ["n: t.a, u.x"],
        ),
        ("SELECT sum(a) OVER (PARTITION BY b ORDER BY c) AS s FROM t", ["s: t.a ~ t.b, t.c"]),
        ("SELECT sum(a) OVER w AS s FROM t WINDOW w AS (PARTITION BY b)", ["s: t.a ~ t.b"]),
        (
            "SELECT sum(c) OVER w2 AS s FROM t WINDOW w AS (PARTITION BY a), w2 AS (w ORDER BY b)",
            ["s: t.c ~ t.a, t.b"],
        ),
        ("SELECT sum(c) OVER w AS s FROM t WINDOW w AS (v PARTITION BY a), v AS w", ["s: t.c ~ t.a"]),
        ("SELECT count(*) FILTER (WHERE a > 0) AS n FROM t", ["n:  ~ t.a"]),
        (
            "SELECT sum(c) OVER v AS s FROM t WINDOW w AS (PARTITION BY a), v AS (w ORDER BY b)",
            ["s: t.c ~ t.a, t.b"],
        ),
        ("SELECT count(k.*) AS n FROM s k", ["n: s.d, s.id"]),
        ("SELECT count(st.*) AS n FROM nested", ["n: nested.st"]),
        ("SELECT date_trunc(MONTH, c) AS e, trunc(c, 'MM') AS f FROM t", ["e: t.c", "f: t.c"]),
        (
            "SELECT stack(2, a, sum(b) OVER w) AS (k) FROM t WINDOW w AS (PARTITION BY c)",
            ["k: t.a, t.b ~ t.c"],
        ),
        ("SELECT date_trunc(b, c) AS e, trunc(a, b) AS f FROM t", ["e: t.b, t.c", "f: t.a, t.b"]),
        ("SELECT percentile(DISTINCT a, 0.5, c) AS p FROM t", ["p: t.a, t.c"]),
        # The columns merged by the last join come first.
        (
            "SELECT * FROM u JOIN s USING (id) JOIN t USING (a)",
            ["a: u.a", "id: u.id", "x: u.x", "d: s.d", "b: t.b", "c: t.c", "m: t.m", "xs: t.xs"],
        ),
        # posexplode makes three columns if xs is a map, and two if xs is an array.
        ("SELECT q.b FROM (SELECT posexplode(xs), c FROM t) q (a, b, c)", ["b: ?"]),
        ("SELECT q.x, q.a FROM (SELECT inline(xs), a FROM t) q", ["x: t.xs", "a: t.a"]),
        ("SELECT q.r FROM (SELECT inline(xs) FROM t) q (p, r)", ["r: t.xs"]),
        ("SELECT json_tuple(a, 'x', 'y'), b FROM t", ["c0: t.a", "c1: t.a", "b: t.b"]),
        ("SELECT a, b FROM t UNION ALL SELECT posexplode(xs) FROM t", ["a: t.a?", "b: t.b?"]),
        ("SELECT a, b FROM t UNION ALL SELECT a FROM t", ["a: t.a?", "b: t.b?"]),
        ("SELECT k, v FROM t LATERAL VIEW stack(2, 'b', b, 'c', c) q AS k, v", ["k: ", "v: t.b, t.c"]),
        ("SELECT stack(2, a, b, c) AS (k, v) FROM t", ["k: t.a, t.c", "v: t.b"]),
        ("SELECT stack(2, a, b, c) FROM t", ["col0: t.a, t.c", "col1: t.b"]),
        ("SELECT a, ${hivevar:more} AS v, b = ${b} AS w FROM t", ["a: t.a", "v: ?", "w: t.b"]),
        ("SELECT m[shuffle] AS v FROM t", ["v: t.m?"]),
        ("SELECT i.item FROM nested.arr i", ["item: nested.arr"]),
        ("SELECT nested.id, arr.item FROM nested, nested.arr", ["id: nested.id", "item: nested.arr"]),
        ("SELECT (SELECT max(x) FROM u WHERE u.id = t.a) AS top FROM t", ["top: u.x ~ t.a, u.id"]),
        ("SELECT EXISTS (SELECT 1 FROM s WHERE s.id = t.a) AS e FROM t", ["e:  ~ s.id, t.a"]),
        ("SELECT a FROM t UNION ALL SELECT id FROM s", ["a: s.id, t.a"]),
        ("SELECT a FROM t EXCEPT SELECT id FROM s", ["a: t.a"]),
        ("SELECT k, v FROM t LATERAL VIEW explode(m) e AS k, v", ["k: t.m", "v: t.m"]),
        ("SELECT i.item, i.f AS f FROM t, t.xs i", ["item: t.xs", "f: t.xs"]),
        ("SELECT TRANSFORM (a, b) USING 'cat' AS (p, q) FROM t", ["p: t.a, t.b", "q: t.a, t.b"]),
        ("SELECT a AS n, n + 1 AS o FROM t", ["n: t.a", "o: t.a"]),
        ("SELECT a AS b, b + 1 AS c FROM t", ["b: t.a", "c: t.b"]),
        ("SELECT v.q FROM VALUES (1, 2) AS v (p, q)", ["q: "]),
        ("WITH t AS (SELECT x AS a FROM u) SELECT a FROM t", ["a: u.x"]),
        ("WITH c AS (WITH d AS (SELECT a FROM t) SELECT a FROM d) SELECT a FROM c", ["a: t.a"]),
        (
            "WITH RECURSIVE r AS (SELECT a, b FROM t UNION ALL SELECT u.x, r.a FROM r JOIN u ON r.a = u.id)"
            " SELECT * FROM r",
            ["a: t.a, u.x", "b: t.a, t.b, u.x"],
        ),
        ("SELECT STRAIGHT_JOIN t.a FROM t JOIN [SHUFFLE] s ON t.b = s.id", ["a: t.a"]),
        ("SELECT t.a AS `straight_join` FROM t WHERE t.b = 'x [SHUFFLE]'", ["straight_join: t.a"]),
        ("SELECT INPUT__FILE__NAME AS f, a FROM t", ["f: ", "a: t.a"]),
        ("SELECT a FROM (t JOIN s ON t.b = s.id) JOIN u ON u.x = s.d WHERE t.a = 1", ["a: ?"]),
        ("SELECT nowhere FROM t", ["nowhere: ?"]),
        ("SELECT `(a|b)?+.+` FROM t", ["(a|b)?+.+: ?"]),
        ("SELECT * FROM t PIVOT (sum(a) FOR b IN (1, 2))", []),
    ],
)
def test_columns_have_their_sources(reader: SqlReader, text: str, expected: list[str]) -> None:
    assert columns(made(reader, text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM t WHERE b > 0", {"t.b"}),
        ("SELECT a FROM t JOIN s ON t.b = s.id", {"t.b", "s.id"}),
        ("SELECT a, count(*) FROM t GROUP BY 1 HAVING max(b) > 0 ORDER BY c", {"t.a", "t.b", "t.c"}),
        ("SELECT a FROM t WHERE b IN (SELECT id FROM s WHERE d = 1)", {"t.b", "s.id", "s.d"}),
        ("SELECT x FROM (SELECT a AS x FROM t WHERE b > 0) y ORDER BY x", {"t.a", "t.b"}),
        ("SELECT a FROM t INTERSECT SELECT id FROM s WHERE d = 1", {"s.id", "s.d"}),
        ("SELECT a FROM t DISTRIBUTE BY b SORT BY c", {"t.b", "t.c"}),
        ("SELECT a FROM t LIMIT 1", set()),
        ("SELECT b, percentile(a, 0.5) AS p FROM t GROUP BY ALL", {"t.b"}),
        # The control sources of a step apply to the columns that exist before the step.
        ("FROM t |> ORDER BY a |> LIMIT 3 |> ORDER BY b |> SELECT c", {"t.a", "t.b"}),
        ("FROM t |> ORDER BY a |> LIMIT 3 |> SELECT b AS a", {"t.a"}),
        ("FROM t |> ORDER BY a |> SELECT t.b", {"t.a"}),
        ("FROM t |> ORDER BY a |> AGGREGATE sum(b) AS a", {"t.a"}),
        ("FROM t |> ORDER BY a |> SET a = b |> SELECT c", {"t.a"}),
        ("FROM t JOIN s ON t.a = s.id |> WHERE b = 1 |> SELECT t.c AS b", {"t.a", "t.b", "s.id"}),
        ("FROM t JOIN s ON t.a = s.id |> ORDER BY t.b |> SELECT t.c, s.d", {"t.a", "t.b", "s.id"}),
        ("FROM t |> WHERE a = 1 |> JOIN s ON t.b = s.id |> SELECT c", {"t.a", "t.b", "s.id"}),
        ("FROM no |> WHERE a = 1 |> JOIN t ON no.k = t.b |> SELECT t.c", {"no.a", "no.k", "t.b"}),
    ],
)
def test_rows_are_controlled_by_conditions(reader: SqlReader, text: str, expected: set[str]) -> None:
    assert deciding(made(reader, text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT a FROM t JOIN s ON t.b = s.id", {"db.t", "~db.s"}),
        ("SELECT count(*) FROM t JOIN s ON t.b = s.id", {"db.t", "db.s"}),
        ("SELECT a FROM t, s", {"db.t", "db.s"}),
        ("SELECT a FROM t WHERE EXISTS (SELECT 1 FROM s)", {"db.t", "~db.s"}),
        ("SELECT (SELECT max(d) FROM s) FROM t", {"db.t", "db.s"}),
        ("SELECT * FROM unknown JOIN spark_catalog.other.t", {"db.unknown", "other.t"}),
        ("SELECT * FROM elsewhere.other.t", {"elsewhere.other.t"}),
        ("WITH c AS (SELECT * FROM t) SELECT * FROM c", {"db.t"}),
        ("SELECT * FROM parquet.`/data/x`", {"/data/x"}),
        ("SELECT i.item FROM unknown k, k.xs i", {"db.unknown"}),
        ("TABLE t", {"db.t"}),
        ("UPDATE k SET d = t.a FROM s k JOIN t ON k.id = t.b", {"db.t"}),
        ("UPDATE db.s SET d = t.a FROM s JOIN t ON s.id = t.b", {"db.t"}),
        ("UPDATE s SET d = t.a FROM db.s JOIN t ON s.id = t.b", {"db.t"}),
        ("ALTER TABLE n EXCHANGE PARTITION (day = 1) WITH TABLE unknown", {"db.unknown"}),
        ("COPY INTO s FROM '/in'", {"/in"}),
        ("CREATE TEMPORARY VIEW v USING csv OPTIONS (path '/in')", {"/in"}),
        ("SELECT t.a FROM t, spark_catalog.other.t", {"db.t", "other.t"}),
        ("SELECT x FROM f(TABLE(t), 1) AS k (x)", {"db.t"}),
        ("SELECT x FROM f(TABLE(SELECT a FROM other.t)) k", {"other.t"}),
        ("SELECT a FROM table_changes('s', 1, 2)", {"db.s"}),
        ("SELECT a FROM read_files('/in', format => 'csv')", {"/in"}),
        ("SELECT x FROM t, LATERAL read_files('/in') k (x)", {"db.t", "/in"}),
        ("SELECT x FROM t, LATERAL f(TABLE(s)) k (x)", {"db.t", "db.s"}),
        ("SELECT x FROM f(rows => TABLE(t)) k (x)", {"db.t"}),
        ("SELECT a FROM one.two.three.t", {"one.two.three.t"}),
        ("SELECT a FROM IDENTIFIER('one.two').three.IDENTIFIER('t')", {"one.two.three.t"}),
        ("TABLE `a.b`", {"db.a.b"}),
        ("(TABLE s UNION TABLE u)", {"db.s", "db.u"}),
        ("CREATE TABLE n (table STRING, b INT)", set()),
        ("SELECT a FROM xml.`/in`", {"/in"}),
        # A join with nested data has no condition, so items is a table in the database sales.
        (
            "SELECT i.x FROM sales.sales JOIN sales.items i ON sales.id = i.id",
            {"~sales.sales", "sales.items"},
        ),
        ("SELECT i.x FROM stage.sales JOIN sales.items i USING (id)", {"~stage.sales", "sales.items"}),
        # Impala's syntax for nested data: without a condition, the parser adds ON TRUE.
        ("SELECT n.id, a.item FROM no n LEFT JOIN n.arr a", {"db.no"}),
        ("SELECT id FROM spark_catalog.nested.arr", {"nested.arr"}),
    ],
)
def test_tables_are_read_as_data_or_control(reader: SqlReader, text: str, expected: set[str]) -> None:
    assert tables(made(reader, text)) == expected


def test_columns_of_an_unknown_table_are_not_guessed(reader: SqlReader) -> None:
    starred = made(reader, "SELECT * FROM unknown")
    assert (starred.whole, starred.complete, columns(starred)) == (False, False, [])
    # Either table might have the column.
    assert columns(made(reader, "SELECT k FROM unknown JOIN further")) == ["k: ?"]
    # Only the unknown table can have the column: this follows from the text, not from a schema.
    (column,) = made(reader, "SELECT k, a FROM unknown JOIN t").columns[:1]
    assert [(source.table.table, source.known) for source in column.data] == [("unknown", False)]


@pytest.mark.parametrize(
    ("text", "target", "expected"),
    [
        ("CREATE VIEW v (p, q) AS SELECT a, b FROM t", "db.v", ["p: t.a", "q: t.b"]),
        ("CREATE TABLE n AS SELECT a AS p FROM t", "db.n", ["p: t.a"]),
        ("INSERT INTO s SELECT a, b FROM t", "db.s", ["id: t.a", "d: t.b"]),
        ("INSERT INTO s (d, id) SELECT a, b FROM t", "db.s", ["d: t.a", "id: t.b"]),
        ("INSERT OVERWRITE TABLE u PARTITION (x = '1') SELECT a, b FROM t", "db.u", ["id: t.a", "a: t.b"]),
        (
            "INSERT OVERWRITE TABLE u PARTITION (x) SELECT a, b, c FROM t",
            "db.u",
            ["id: t.a", "a: t.b", "x: t.c"],
        ),
        ("INSERT INTO unknown SELECT a FROM t", "db.unknown", [": t.a"]),
        ("INSERT OVERWRITE DIRECTORY '/out' SELECT a FROM t", "/out", ["a: t.a"]),
        ("MERGE INTO s USING u ON s.id = u.id WHEN MATCHED THEN UPDATE SET d = u.x", "db.s", ["d: u.x"]),
        # The only form in Hive: values in the order of the target's columns.
        (
            "MERGE INTO s USING t ON s.id = t.a WHEN MATCHED THEN UPDATE SET d = t.c"
            " WHEN NOT MATCHED THEN INSERT VALUES (t.a, t.b)",
            "db.s",
            ["d: t.b, t.c", "id: t.a"],
        ),
        (
            "MERGE INTO unknown k USING t ON k.a = t.a WHEN NOT MATCHED THEN INSERT VALUES (t.a, t.b)",
            "db.unknown",
            [": t.a", ": t.b"],
        ),
        (
            "MERGE INTO s k USING (SELECT *, 1 AS op FROM u) q ON k.id = q.id WHEN MATCHED THEN UPDATE SET *"
            " WHEN NOT MATCHED THEN INSERT *",
            "db.s",
            ["id: u.id"],
        ),
        (
            "MERGE INTO nested k USING u ON k.id = u.id WHEN MATCHED THEN UPDATE SET k.st.f = u.x"
            " WHEN NOT MATCHED THEN INSERT (id) VALUES (u.id)",
            "db.nested",
            ["st: nested.st, u.x", "id: u.id"],
        ),
        (
            "UPDATE nested SET st.f = id, nested.st.g = arr",
            "db.nested",
            ["st: nested.arr, nested.id, nested.st"],
        ),
        ("UPDATE nested k SET k.id = st.id", "db.nested", ["id: nested.st"]),
        (
            "UPDATE k SET st.f = t.a FROM nested k JOIN t ON k.id = t.b",
            "db.nested",
            ["st: nested.st, t.a"],
        ),
        ("UPDATE nested SET k.id = t.a FROM nested k JOIN t ON k.id = t.b", "db.nested", ["id: t.a"]),
        ("UPDATE s SET d = t.a FROM t LEFT SEMI JOIN s ON s.id = t.b", "db.s", ["d: t.a"]),
        ("INSERT INTO s[SHUFFLE] SELECT a, b FROM t", "db.s", ["id: t.a", "d: t.b"]),
        ("UPDATE s SET d = d + 1 WHERE id = 1", "db.s", ["d: s.d"]),
        ("UPDATE k SET d = t.a FROM s k JOIN t ON k.id = t.b", "db.s", ["d: t.a"]),
        ("UPDATE s SET d = s.d + t.a FROM t JOIN s ON s.id = t.b", "db.s", ["d: s.d, t.a"]),
        ("INSERT INTO IDENTIFIER('db.s') SELECT a, b FROM IDENTIFIER('t') k", "db.s", ["id: t.a", "d: t.b"]),
        (
            "ALTER TABLE n EXCHANGE PARTITION (day = '1)', hour = 2) WITH TABLE `db`.s",
            "db.n",
            ["id: s.id", "d: s.d"],
        ),
        (
            "ALTER TABLE IDENTIFIER('n') EXCHANGE PARTITION (day = 1) WITH TABLE s",
            "db.n",
            ["id: s.id", "d: s.d"],
        ),
        ("ALTER MATERIALIZED VIEW n REBUILD", "db.n", []),
        ("INSERT INTO s ()", "db.s", []),
        ("UPSERT INTO s (d, id) SELECT a, b FROM t", "db.s", ["d: t.a", "id: t.b"]),
        ("WITH k AS (SELECT a, c FROM t) UPSERT INTO TABLE s SELECT * FROM k", "db.s", ["id: t.a", "d: t.c"]),
        # Impala has the column list before the partition, whose columns come last; Hive has it after the partition.
        (
            "INSERT INTO db.u (a, id) PARTITION (x) SELECT a, b, c FROM t",
            "db.u",
            ["a: t.a", "id: t.b", "x: t.c"],
        ),
        ("INSERT INTO u (a) PARTITION (x = 1, id = 2) SELECT c FROM t", "db.u", ["a: t.c"]),
        (
            "INSERT INTO TABLE u PARTITION (x) (x, a, id) SELECT a, b, c FROM t",
            "db.u",
            ["x: t.a", "a: t.b", "id: t.c"],
        ),
        (
            "INSERT OVERWRITE TABLE u PARTITION (x = ') IF NOT EXISTS') IF NOT EXISTS SELECT a, b FROM t",
            "db.u",
            ["id: t.a", "a: t.b"],
        ),
        ("INSERT OVERWRITE TABLE s IF NOT EXISTS SELECT a, b FROM t", "db.s", ["id: t.a", "d: t.b"]),
        ("CREATE VIEW v (p, q) PARTITIONED ON (q) AS SELECT a, b FROM t", "db.v", ["p: t.a", "q: t.b"]),
        ("CREATE OR REPLACE VIEW v DEFAULT COLLATION UNICODE AS SELECT a FROM t", "db.v", ["a: t.a"]),
        (
            "CREATE MATERIALIZED VIEW v CLUSTERED ON (a) STORED AS ORC AS WITH k AS (SELECT * FROM s) SELECT d FROM k",
            "db.v",
            ["d: s.d"],
        ),
        ("CREATE TRANSACTIONAL TABLE n STORED AS ORC AS SELECT a FROM t", "db.n", ["a: t.a"]),
        (
            "CREATE TABLE IF NOT EXISTS n PRIMARY KEY (a) PARTITION BY RANGE (a) (PARTITION 0 <= VALUES < 9)"
            " COMMENT 'AS SELECT b' STORED AS KUDU AS (SELECT a, b FROM t)",
            "db.n",
            ["a: t.a", "b: t.b"],
        ),
        ("CREATE TABLE n SORT BY ZORDER (a, b) AS SELECT a, b FROM t", "db.n", ["a: t.a", "b: t.b"]),
        ("COPY INTO s FROM '/in'", "db.s", []),
    ],
)
def test_written_columns_have_the_targets_names(
    reader: SqlReader, text: str, target: str, expected: list[str]
) -> None:
    written = made(reader, text)

    assert (str(written.target), columns(written)) == (target, expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f(TABLE(s))", "x: s.d, s.id"),
        ("t, LATERAL f(t.b)", "x: t.b"),
        ("f(rows => TABLE(s))", "x: s.d, s.id"),
        ("f(TABLE(SELECT a FROM t WHERE b > 1), 2)", "x: t.a"),
        ("range(3)", "x: "),
        ("f(1)", "x: ?"),
        ("f(TABLE(unknown))", "x: ?"),
        ("table_changes('t', 1)", "x: ?"),
        ("read_files('/in')", "x: ?"),
    ],
)
def test_a_table_functions_column_has_its_arguments_as_sources_or_is_incomplete(
    reader: SqlReader, source: str, expected: str
) -> None:
    text = " ".join(("SELECT x FROM", source, "AS k (x)"))

    assert columns(made(reader, text)) == [expected]


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("SELECT t.a FROM t, f(1)", False),
        ("SELECT t.a FROM t, range(3)", True),
        ("SELECT x FROM t, LATERAL f(t.a) k (x)", True),
        ("SELECT x FROM t LATERAL VIEW f(a) k AS x", True),
        ("SELECT count(*) FROM read_files('/in')", True),
        ("CREATE TEMPORARY VIEW v USING parquet", False),
    ],
)
def test_an_unknown_function_or_source_makes_the_result_incomplete(
    reader: SqlReader, text: str, *, complete: bool
) -> None:
    assert made(reader, text).complete is complete


def test_an_identifier_clause_names_a_column(reader: SqlReader) -> None:
    assert columns(made(reader, "SELECT IDENTIFIER('t.a'), IDENTIFIER('b') + 1 AS x FROM t")) == [
        "a: t.a",
        "x: t.b",
    ]


def test_an_alter_with_many_spaces_is_read_in_linear_time(reader: SqlReader) -> None:
    for head in ("ALTER TABLE x", "ALTER MATERIALIZED VIEW x"):
        answer = reader.read(TextToRead(head + " " * 200_000 + "y", SCHEMA, "db"))
        assert (answer.problem, len(answer.made)) == ("", 1)


def test_every_spark_table_function_is_known(reader: SqlReader, spark: Callable[[], SparkSession]) -> None:
    """An unknown function would be flagged incomplete, even with constant arguments."""
    found: Any = spark()._jvm.org.apache.spark.sql.catalyst.analysis.TableFunctionRegistry  # type: ignore[union-attr]
    names = found.builtin().listFunction()
    functions = [names.apply(at).funcName() for at in range(names.size())]

    assert len(functions) > 10
    for function in functions:
        text = " ".join(("SELECT x FROM", function, "(1) AS k (x)"))
        assert columns(made(reader, text)) == ["x: "], function


def test_several_statements_are_read_in_sequence(reader: SqlReader) -> None:
    text = "FROM t INSERT OVERWRITE TABLE s SELECT a, b INSERT INTO TABLE n SELECT c; CREATE TABLE p AS SELECT * FROM s"

    answer = reader.read(TextToRead(text, SCHEMA, "db"))

    assert [str(each.target) for each in answer.made] == ["db.s", "db.n", "db.p"]
    assert columns(answer.made[2]) == ["id: s.id", "d: s.d"]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("USE other", "other.t db.s db.u"),
        ("USE spark_catalog.other", "other.t db.s db.u"),
        ("USE ice.other", "ice.other.t ice.db.s db.u"),
        ("USE ice.one; USE two", "ice.two.t ice.db.s db.u"),
        ("USE ice.one; USE spark_catalog.two", "two.t db.s db.u"),
        ("USE CATALOG ice", "ice.default.t ice.db.s db.u"),
        ("SET CATALOG ice", "ice.default.t ice.db.s db.u"),
        ("SET catalog = ice", "db.t db.s db.u"),
        ("SET CATALOG `ice`", "ice.default.t ice.db.s db.u"),
        ("SET CATALOG /* lake */ ice", "ice.default.t ice.db.s db.u"),
        # If the current catalog is set again, its current database does not change.
        ("SET CATALOG spark_catalog", "db.t db.s db.u"),
        ("USE ice.one; SET CATALOG ice", "ice.one.t ice.db.s db.u"),
        ("USE ice.one; USE spark_catalog", "default.t db.s db.u"),
        ("USE NAMESPACE other", "other.t db.s db.u"),
    ],
)
def test_use_sets_the_database_and_catalog_of_later_tables(
    reader: SqlReader, chosen: str, expected: str
) -> None:
    text = "; ".join((chosen, "SELECT 1 FROM t, db.s, spark_catalog.db.u"))
    answer = reader.read(TextToRead(text, SCHEMA, "db"))

    assert tables(answer.made[-1]) == set(expected.split())


def test_a_table_created_like_another_has_its_columns(reader: SqlReader) -> None:
    text = "CREATE TABLE n LIKE s; INSERT INTO n SELECT a, b FROM t"

    copied, written = reader.read(TextToRead(text, SCHEMA, "db")).made

    assert (tables(copied), columns(written)) == (set(), ["id: t.a", "d: t.b"])


@pytest.mark.parametrize(
    ("before", "query", "expected", "read"),
    [
        ("CREATE TEMP VIEW t AS SELECT id AS a FROM s", "SELECT a FROM t", "a: s.id", "db.s"),
        ("CREATE TEMP VIEW v (k) AS SELECT a FROM t; USE other", "SELECT w.k FROM v w", "k: t.a", "db.t"),
        (
            "CREATE GLOBAL TEMPORARY VIEW v AS SELECT a FROM t",
            "SELECT a FROM global_temp.v",
            "a: t.a",
            "db.t",
        ),
        ("CACHE TABLE v AS SELECT a FROM t", "SELECT a FROM v", "a: t.a", "db.t"),
        ("CREATE TEMP VIEW v USING csv OPTIONS (path '/in')", "SELECT a FROM v", "a: /in.a", "/in"),
        ("CREATE TEMP VIEW t AS SELECT id AS a FROM s", "SELECT a FROM db.t", "a: t.a", "db.t"),
        (
            "CREATE TEMP VIEW v AS SELECT a FROM t",
            "WITH v AS (SELECT d FROM s) SELECT d FROM v",
            "d: s.d",
            "db.s",
        ),
        ("CREATE TEMP VIEW v USING csv", "SELECT a FROM v", "a: ?", ""),
        ("CREATE TEMP VIEW v (p INT) USING csv OPTIONS (path '/in')", "SELECT * FROM v", "p: /in.p", "/in"),
        ("CREATE TEMP VIEW t AS SELECT id AS a FROM s; DROP VIEW t", "SELECT a FROM t", "a: t.a", "db.t"),
        (
            "CREATE TEMP VIEW v AS SELECT a FROM t; ALTER VIEW v AS SELECT d FROM s",
            "SELECT * FROM v",
            "d: s.d",
            "db.s",
        ),
        ("CREATE TEMP VIEW `db.t` AS SELECT id AS a FROM s", "SELECT a FROM db.t", "a: t.a", "db.t"),
        (
            "CREATE GLOBAL TEMP VIEW v AS SELECT a AS k FROM t",
            "SELECT global_temp.v.k FROM global_temp.v",
            "k: t.a",
            "db.t",
        ),
    ],
)
def test_a_temporary_view_has_no_database_and_resolves_to_its_sources(
    reader: SqlReader, before: str, query: str, expected: str, read: str
) -> None:
    view, *_, queried = reader.read(TextToRead(f"{before}; {query}", SCHEMA, "db")).made

    assert view.target is None
    assert (columns(queried), tables(queried)) == ([expected], {read} - {""})


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("CREATE TABLE n (a INT) PARTITIONED BY (ds STRING)", ["a: t.a", "ds: t.b"]),
        ("CREATE TABLE n (a INT, ds STRING) USING orc PARTITIONED BY (a)", ["a: t.a", "ds: t.b"]),
        ("CREATE TABLE IF NOT EXISTS n (c INT, d INT)", ["c: t.a", "d: t.b"]),
        ("DROP TABLE IF EXISTS n; CREATE TABLE IF NOT EXISTS n (c INT, d INT)", ["c: t.a", "d: t.b"]),
        ("CREATE TABLE n (a INT, b INT); DROP TABLE n; CREATE TABLE n (c INT, d INT)", ["c: t.a", "d: t.b"]),
        # The existing table keeps its own columns.
        ("CREATE TABLE IF NOT EXISTS s (d INT, id INT); CREATE TABLE n LIKE s", ["id: t.a", "d: t.b"]),
    ],
)
def test_a_later_statement_knows_the_columns_of_a_created_table(
    reader: SqlReader, before: str, expected: list[str]
) -> None:
    text = "; ".join((before, "INSERT INTO n SELECT a, b FROM t"))

    assert columns(reader.read(TextToRead(text, SCHEMA, "db")).made[-1]) == expected


def test_a_procedure_is_read_as_its_statements(reader: SqlReader) -> None:
    body = "BEGIN INSERT INTO s (id) SELECT a FROM t; INSERT INTO u (x) SELECT id FROM s; END"
    for dialect, head in (("tsql", "AS"), ("bigquery", "()")):
        text = " ".join(("CREATE PROCEDURE p", head, body))
        answer = reader.read(TextToRead(text, SCHEMA, "db", (dialect,)))
        written = [(str(each.target), *columns(each)) for each in answer.made if each.target is not None]
        assert written == [("db.s", "id: t.a"), ("db.u", "x: s.id")]
        alone = reader.read(TextToRead(body, SCHEMA, "db", (dialect,)))
        assert [str(each.target) for each in alone.made if each.target is not None] == ["db.s", "db.u"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT a FROM ${db}.t", "is a variable"),
        ("INSERT INTO ${hiveconf:db}.t SELECT a FROM t", "is a variable"),
        ("SELECT a FROM ${name}", "is a variable"),
        ("SELECT a FROM IDENTIFIER(:name)", "is computed"),
        ("INSERT INTO s SELECT a, b FROM IDENTIFIER('d' || 'b.t')", "is computed"),
        ("INSERT INTO IDENTIFIER(:name) SELECT a FROM t", "is computed"),
        ("SELECT IDENTIFIER(:name) FROM t", "is computed"),
        ("SELECT IDENTIFIER('max')(a) FROM t", "is computed"),
        ("SET CATALOG IDENTIFIER('ice')", "is computed"),
        ("TABLE ${name}", "is a variable"),
        ("ALTER TABLE ${name} EXCHANGE PARTITION (day = 1) WITH TABLE s", "is a variable"),
        ("SELECT a FROM `db`.`t_${day}`", "is a variable"),
        ("INSERT OVERWRITE DIRECTORY '/out/${day}' SELECT a FROM t", "is a variable"),
        ("EXECUTE IMMEDIATE 'INSERT INTO s SELECT a, b FROM t'", "EXECUTE is not understood"),
        ("COPY INTO s FROM (SELECT a FROM t)", "COPY is not understood"),
        (
            "FROM t |> JOIN LATERAL (SELECT d FROM s WHERE s.id = t.a) |> SELECT d",
            "Unsupported pipe JOIN at line 1, column 69",
        ),
        ("FROM t |> AGGREGATE sum(a) GROUP BY 1", "Unsupported pipe AGGREGATE at line 1, column 37"),
        ("FROM t |> DISTRIBUTE BY a", "Unsupported pipe DISTRIBUTE BY at line 1, column 23"),
    ],
)
def test_a_text_with_computed_table_names_is_refused_with_the_reason(
    reader: SqlReader, text: str, reason: str
) -> None:
    answer = reader.read(TextToRead(text, SCHEMA, "db", ("spark", "hive")))

    assert (answer.problem.endswith(reason), answer.made) == (True, ())


def test_an_unparsable_text_gives_only_a_problem(reader: SqlReader) -> None:
    for text in ("SELECT FROM WHERE", "SELECT 'open", "CREATE WOMBAT x AS SELECT 1"):
        answer = reader.read(TextToRead(text, SCHEMA, "db"))
        assert answer.problem
        assert answer.made == ()
    assert reader.read(TextToRead("-- nothing", SCHEMA, "db")).made == ()


# -- Bounds --------------------------------------------------------------------------------------------------------------


def chained(links: int, query: str) -> str:
    steps = (f"c{at} AS ({query.format(before=f'c{at - 1}')})" for at in range(1, links))
    return " ".join(["WITH c0 AS (SELECT a, b FROM t),", ", ".join(steps), "SELECT * FROM", f"c{links - 1}"])


def test_a_chain_of_common_table_expressions_takes_linear_time(reader: SqlReader) -> None:
    text = chained(60, "SELECT x.a, y.b FROM {before} x JOIN {before} y ON x.a = y.b")

    assert columns(made(reader, text)) == ["a: t.a", "b: t.b"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "SELECT " + "(" * 5_000 + "a" + ")" * 5_000 + " FROM t", "nested too deeply", id="brackets"
        ),
        pytest.param(
            "SELECT * FROM " + "(SELECT * FROM " * 2_000 + "t" + ") x" * 2_000,
            "nested too deeply",
            id="queries",
        ),
        pytest.param(
            chained(60, "SELECT x.*, y.* FROM {before} x, {before} y"), "columns in total", id="doubling"
        ),
        pytest.param(
            "SELECT " + "struct(" * 400 + "a" + ")" * 400 + " FROM t", "more than 1 s", id="backtracking"
        ),
        pytest.param(
            " ".join(["INSERT INTO s VALUES (1, 'abc')", *[", (1, 'abc')"] * 450_000]),
            "longer than",
            id="5 MB",
        ),
    ],
)
def test_an_explosive_text_is_given_up_and_the_next_is_read(text: str, expected: str) -> None:
    with SqlReader(cpu_s=1) as reader:
        assert expected in reader.read(TextToRead(text, SCHEMA, "db", ("spark",))).problem
        assert columns(made(reader, "SELECT a FROM t")) == ["a: t.a"]


def test_a_text_exceeding_the_memory_limit_is_given_up() -> None:
    with SqlReader(memory_bytes=64 << 20, cpu_s=20) as reader:
        wide = " ".join(["SELECT a", *(f", a + {at}" for at in range(20_000)), "FROM t"])
        assert reader.read(TextToRead(wide, SCHEMA, "db", ("spark",))).problem in (
            "it takes too much memory",
            "it crashes the parser",
        )
        assert columns(made(reader, "SELECT a FROM t")) == ["a: t.a"]


def test_a_killed_parser_is_restarted() -> None:
    with SqlReader() as reader:
        assert columns(made(reader, "SELECT a FROM t")) == ["a: t.a"]
        child = reader._child
        assert child is not None
        child.kill()
        assert reader.read(TextToRead("SELECT a FROM t", SCHEMA)).problem == "it crashes the parser"
        assert columns(made(reader, "SELECT a FROM t")) == ["a: t.a"]
    assert child.poll() is not None


def test_the_parser_is_loaded_only_in_the_child() -> None:
    loads = "import sys, linker; sys.exit('sqlglot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loads], check=False).returncode == 0


# -- Other people's texts ------------------------------------------------------------------------------------------------


def test_most_corpus_texts_are_read_as_expected_and_none_wrongly(corpora: Path, reader: SqlReader) -> None:
    file = corpora / "sql" / "cases.jsonl"
    if not file.exists():
        pytest.skip("the corpora hold no SQL texts")
    right: Counter[str] = Counter()
    beyond: list[Pair] = []
    for case in cases(file):
        answer = read(reader, case, case.implied_schema)
        if case.columns is None:
            right["tables"] += tables_of(answer) == case.tables
        else:
            found, expected = columns_of(answer), frozenset(case.columns)
            right["columns"] += found == expected
            beyond.extend(found - expected)
    assert right["tables"] >= 96
    assert right["columns"] >= 54
    assert beyond == []
