"""SQLFlow's lineage model: elements, effects, positions, and whole documents."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from navlin.export.batches import read
from navlin.export.choosing import Selection
from navlin.export.sqlflow.model import (
    DbObject,
    ObjectColumn,
    ObjectKind,
)
from navlin.export.sqlflow.statements import STATEMENTS, clause_of, coordinate_of
from navlin.export.values import DatasetEnd as OperationEnd
from navlin.export.values import FlowRole as ItemFlow
from navlin.index.graph.details import ExecutionDetails
from navlin.index.journal.removals import Removal
from navlin.index.solr.solr import Solr
from navlin.model.keys import RelationType, sub_operation_key
from navlin.model.source import IMPALA
from tests.support.exported import (
    AT_MS,
    database,
    dataset,
    described,
    operation,
    part,
    predicate,
    run,
)
from tests.support.query_estate import World
from tests.support.sqlflow_examples import EXAMPLES, arrows, elements, tree, xml, xml_of
from tests.support.statement_kinds import HIVE_STATEMENTS, IMPALA_STATEMENTS, rows


# -- Elements, effects, positions -----------------------------------------------------------------------------------------
def test_elements_absent_from_navlins_graph_can_be_written() -> None:
    """The model can write the reference's other examples, although navlin's graph has none of their elements."""
    nowhere = "[-1,-1,0],[-1,-1,0]"
    written = xml_of(
        [
            DbObject(ObjectKind.TABLE, 2, "employee", "table", alias="a"),
            DbObject(
                ObjectKind.TABLE,
                11,
                "pseudo_table_include_orphan_column",
                "pseudoTable",
                (ObjectColumn(12, "a"),),
            ),
            DbObject(
                ObjectKind.TABLE, 3, "W.dbo.fn", "table", sub_type="function", database="W", schema="dbo"
            ),
            DbObject(
                ObjectKind.VARIABLE,
                25,
                "rec_dal_acbal",
                "variable",
                (ObjectColumn(26, "*"),),
                sub_type="record",
            ),
            DbObject(
                ObjectKind.VARIABLE, 14, "dname", "variable", (ObjectColumn(15, "dname"),), sub_type="scalar"
            ),
        ]
    )

    assert [tree(each) for each in ElementTree.fromstring(written)] == [
        ("table", {"id": "2", "name": "employee", "alias": "a", "type": "table", "coordinate": nowhere}, []),
        (
            "table",
            {
                "id": "11",
                "name": "pseudo_table_include_orphan_column",
                "type": "pseudoTable",
                "coordinate": nowhere,
            },
            [("column", {"id": "12", "name": "a", "coordinate": nowhere}, [])],
        ),
        (
            "table",
            {
                "id": "3",
                "database": "W",
                "schema": "dbo",
                "name": "W.dbo.fn",
                "type": "table",
                "subType": "function",
                "coordinate": nowhere,
            },
            [],
        ),
        (
            "variable",
            {
                "id": "25",
                "name": "rec_dal_acbal",
                "type": "variable",
                "subType": "record",
                "coordinate": nowhere,
            },
            [("column", {"id": "26", "name": "*", "coordinate": nowhere}, [])],
        ),
        (
            "variable",
            {"id": "14", "name": "dname", "type": "variable", "subType": "scalar", "coordinate": nowhere},
            [("column", {"id": "15", "name": "dname", "coordinate": nowhere}, [])],
        ),
    ]


SPARK_KINDS = (
    "INSERT_INTO INSERT_OVERWRITE INSERT_OVERWRITE_DIRECTORY CREATETABLE_AS_SELECT CREATEVIEW ALTERVIEW_AS"
    " CREATE_TEMPORARY_VIEW CLONE LOAD MERGE UPDATE DELETE SELECT"
)


def test_every_kind_of_statement_with_data_flow_has_an_effect_type() -> None:
    tables = (*rows(HIVE_STATEMENTS), *rows(IMPALA_STATEMENTS))
    moving = {each.kind for each in tables if each.outcome in ("table", "files", "both", "result")} - {""}
    renames = {"ALTERTABLE_RENAME", "ALTERVIEW_RENAME"}

    assert moving | renames | set(SPARK_KINDS.split()) <= set(STATEMENTS)


@pytest.mark.parametrize(
    ("kind", "effect"),
    [
        ("SELECT", "select"),
        ("INSERT", "insert"),
        ("UPDATE", "update"),
        ("MERGE", "merge"),
        ("CREATEVIEW", "create_view"),
        ("CREATETABLE_AS_SELECT", "create_table"),
        ("ALTERTABLE_RENAME", "rename_table"),
        ("STREAM", "insert"),
        ("", "insert"),
    ],
)
def test_the_effect_type_is_the_kind_of_statement(kind: str, effect: str) -> None:
    (relation,) = elements(xml([operation("…", kind, part(["a.t.x"], ["a.s.x"]))])).iter("relation")

    assert relation.attrib["effectType"] == effect


def test_a_process_that_is_not_a_statement_has_its_own_name_and_type() -> None:
    job = operation("nightly load", "STREAM", reads=["/in"], writes=["/out"], engine="SPARK")
    (process,) = elements(xml([job])).iter("process")

    assert (process.attrib["name"], process.attrib["type"]) == ("nightly load", "STREAM")


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("select a from t where b > 1", "where"),
        ("insert into u select a from t, s where t.k = s.k", "where"),
        ("select a from t join s on t.k = s.k where b > 1", ""),
        ("select a, count(*) from t where b > 1 group by a", ""),
        ("select 'group by' from t where b > 1 -- having", "where"),
        ("select a from t", ""),
        ("", ""),
    ],
)
def test_a_clause_is_named_only_if_it_is_the_only_one(text: str, clause: str) -> None:
    assert clause_of(text) == clause

    lineage = [part(["u.a"], ["t.a"]), predicate(["u.a"], ["t.b"])]
    relations = list(elements(xml([operation(text, "INSERT", *lineage)])).iter("relation"))
    (decides,) = (each for each in relations if each.attrib["type"] == "fdr")

    assert [each.attrib.get("clauseType", "") for each in decides.iter("source")] == [clause]


def test_only_a_statement_has_coordinates_in_its_own_text() -> None:
    assert [place[:2] for place in coordinate_of("create view v1 as select f1 from t2;")] == [(1, 1), (1, 37)]
    assert [place[:2] for place in coordinate_of("insert into t\n select 1")] == [(1, 1), (2, 10)]

    root = elements(xml([operation("insert into t select 1", "INSERT", part(["t.a"], ["s.a"]))]))
    places = {each.tag: each.attrib["coordinate"] for each in root.iter() if "coordinate" in each.attrib}

    assert re.fullmatch(r"\[1,1,[0-9a-f]{32}\],\[1,23,[0-9a-f]{32}\]", places.pop("process"))
    assert set(places.values()) == {"[-1,-1,0],[-1,-1,0]"}
    assert set(places) == {"table", "column", "target", "source"}


# -- The document ---------------------------------------------------------------------------------------------------------
def test_a_table_written_by_two_statements_has_both_and_each_column_once() -> None:
    orders = dataset("sales.orders")
    text = xml(
        [
            described(orders, [("id", "int"), ("amount", "double")]),
            operation("insert 1", "INSERT", part(["sales.orders.id"], ["raw.a.id"])),
            operation("insert 2", "INSERT", part(["sales.orders.added"], ["raw.b.x"])),
            described(orders, [("id", "int"), ("amount", "double")]),
        ]
    )
    root = elements(text)
    (table,) = (each for each in root.iter("table") if each.attrib["name"] == "sales.orders")
    processes = {each.attrib["id"] for each in root.iter("process")}

    assert [each.attrib["name"] for each in table] == ["id", "amount", "added"]
    assert set(table.attrib["processIds"].split()) == processes and len(processes) == 2
    assert table.attrib["schema"] == "sales"


def test_output_is_deterministic_and_ids_are_stable_across_documents() -> None:
    items = EXAMPLES["2 create a view, rename a table"].items
    (whole, again, of_view) = (xml(items), xml(items), xml(items[:1]))

    assert whole == again
    ids = {each.attrib["name"]: each.attrib["id"] for each in elements(whole).iter("table")}
    assert {each.attrib["name"]: each.attrib["id"] for each in elements(of_view).iter("table")} == {
        "t2": ids["t2"]
    }


def test_deleted_and_unrepresentable_items_are_left_out() -> None:
    gone = OperationEnd(dataset("a.gone"), deleted=True)
    writes = operation("insert", "INSERT", reads=["a.s", gone], writes=["a.t"])
    text = xml(
        [
            described(database("a")),
            described(dataset("a.dropped"), deleted=True),
            operation("dropped", "INSERT", reads=["a.s"], writes=["a.t"], deleted=True),
            operation("drop table a.s", ""),
            operation("of what is gone", "INSERT", writes=[gone]),
            writes,
            run(writes, ExecutionDetails("run", AT_MS)),
            Removal("entity", "1"),
        ]
    )

    assert arrows(text) == {"a.s.PseudoRows -> fdd -> a.t.PseudoRows"}
    assert {each.attrib["name"] for each in elements(text) if each.tag != "relation"} == {
        "Query Insert",
        "a.s",
        "a.t",
    }


def test_a_rename_shows_the_old_name() -> None:
    before = OperationEnd(dataset("t2"), deleted=True)
    rename = operation("ALTER TABLE t2 RENAME TO t3", "ALTERTABLE_RENAME", reads=[before], writes=["t3"])

    assert arrows(xml([rename])) == {"t2.PseudoRows -> fdd -> t3.PseudoRows"}


def test_a_statement_that_writes_its_input_is_kept() -> None:
    items = [operation("insert", "INSERT", part(["a.t.x"], ["a.t.x"]))]

    assert arrows(xml(items)) == {"a.t.x -> fdd -> a.t.x"}
    assert arrows(xml(items, table_level=True)) == {
        "a.t -> fdd -> Query Insert",
        "Query Insert -> fdd -> a.t",
    }


def test_a_statement_without_input_appears_at_table_level() -> None:
    items = [operation("insert into a.t values (1)", "INSERT", writes=["a.t"])]

    assert arrows(xml(items)) == set()
    assert arrows(xml(items, table_level=True)) == {"Query Insert -> fdd -> a.t"}


def test_control_only_tables_are_linked_at_table_level() -> None:
    decides = OperationEnd(dataset("a.d"), ItemFlow.CONTROL)
    items = [operation("insert", "INSERT", part(["a.t.x"], ["a.s.x"]), reads=[decides])]

    assert arrows(xml(items)) == {"a.s.x -> fdd -> a.t.x", "a.d.PseudoRows -> fdr -> a.t.PseudoRows"}


def test_a_path_adds_the_tables_located_there() -> None:
    path = OperationEnd(dataset("/warehouse/t"), tables=(OperationEnd(dataset("a.t")),))
    items = [operation("job", "STREAM", reads=["a.s"], writes=[path])]

    assert arrows(xml(items, table_level=True)) == {
        "a.s -> fdd -> job",
        "job -> fdd -> hdfs://ns1/warehouse/t",
        "job -> fdd -> a.t",
    }


def test_a_parsed_view_is_a_statement() -> None:
    shared = ["a.s.sal"]
    view = operation(
        "SELECT name, sum(x) total FROM a.s WHERE sal > 1",
        "CREATEVIEW",
        part(["a.v.name"], ["a.s.name"], shared, kind="", into="VIEW"),
        part(["a.v.total"], ["a.s.x"], [*shared, "a.s.name"], kind="", into="VIEW"),
        derived=True,
    )

    assert arrows(xml([view])) == {
        "a.s.name -> fdd -> a.v.name",
        "a.s.x -> fdd -> a.v.total",
        "a.s.name -> fdr -> a.v.total",
        "a.s.sal -> fdr -> a.v.PseudoRows",
    }
    (process,) = elements(xml([view])).iter("process")
    assert process.attrib["name"] == "Query Create View"


def test_characters_invalid_in_xml_are_replaced() -> None:
    odd = 'a.t"<&\x00'
    text = xml([described(dataset(odd), [("x\x1f", "int")])])
    (table,) = elements(text).iter("table")

    assert table.attrib["name"] == 'a.t"<&�'
    assert [each.attrib["name"] for each in table] == ["x�"]


# -- A real index ---------------------------------------------------------------------------------------------------------
def test_an_index_gives_the_expected_document(solr: Solr) -> None:
    world = World(solr, "sqlflow-index")
    raw, orders = world.table("raw", "x", "k"), world.table("orders", "amount")
    insert = world.operation(
        "insert into db.orders select f(x) from db.raw where k > 1", [raw], [orders], operationType="INSERT"
    )
    select = world.operation("select f(x) y from db.raw", [raw], operationType="SELECT")
    flow, control = RelationType.DATA_FLOW, RelationType.CONTROL_FLOW
    computes = world.entity(sub_operation_key(insert, "1"), edgeType="PROJECTION", expression="f(x)")
    decides = world.entity(sub_operation_key(insert, "2"), edgeType="PREDICATE", expression="k > 1")
    shows = world.entity(sub_operation_key(select, "3", name="y"), edgeType="PROJECTION", expression="f(x)")
    for kind, one, other in (
        (flow, world.column("raw.x"), computes),
        (flow, computes, world.column("orders.amount")),
        (control, world.column("raw.k"), decides),
        (flow, decides, world.column("orders.amount")),
        (flow, world.column("raw.x"), shows),
    ):
        world.relate(kind, one, other, writer=IMPALA)
    world.index()
    query = f"sourceId:({' '.join(source.id for source in world.sources.values())})"
    found = [item for batch in read(solr, Selection(query)) for item in batch.items]
    without_texts = [item for batch in read(solr, Selection(query, texts=False)) for item in batch.items]

    assert arrows(xml(found)) == {
        "db.raw.x -> fdd -> RS.f(x)",
        "RS.f(x) -> fdd -> db.orders.amount",
        "db.raw.k -> fdr -> db.orders.PseudoRows",
        "RS.f(x) -> fdd -> RS.y",
    }
    clauses = {each.attrib.get("clauseType") for each in elements(xml(found)).iter("source")}
    assert clauses == {None, "where"}
    assert arrows(xml(without_texts)) == {
        "db.raw.x -> fdd -> db.orders.amount",
        "db.raw.k -> fdr -> db.orders.PseudoRows",
        "db.raw.x -> fdd -> RS.PseudoRows",
    }
