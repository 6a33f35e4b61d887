"""Display names of statements, which include their outputs, and fields and counts in words."""

from __future__ import annotations

import pytest

from navlin.index.graph.graph import Graph
from navlin.index.solr.solr import Solr
from navlin.model.keys import execution_key, operation_key
from navlin.model.plurals import agreeing, counted
from navlin.query.answer import Direction, Edge, Lineage, Node
from navlin.query.data_flows import STATEMENTS, between_data
from navlin.query.show import show
from navlin.query.statement_names import names_of_statements, statement_name
from navlin.render.field_words import field_words, relation_words, type_words
from tests.support.query_estate import SPARK, World


@pytest.mark.parametrize(
    ("own", "writes", "name"),
    [
        ("nightly revenue", ["shop.revenue"], "nightly revenue → shop.revenue"),
        ("nightly revenue", ["b.b", "a.a", "b.b"], "nightly revenue → a.a, b.b"),
        ("job", [f"a.t{number}" for number in range(6)], "job → a.t0, a.t1, a.t2 and 3 more"),
        ("select 1", [], "select 1"),
        ("ALTER TABLE a.b RENAME TO a.c", ["a.c"], "ALTER TABLE a.b RENAME TO a.c"),
        ("insert into a.bc", ["a.b"], "insert into a.bc → a.b"),
        ("x" * 90, ["a.b"], f"{'x' * 79}… → a.b"),
    ],
    ids=[
        "one output",
        "several, each once",
        "more than three",
        "a reader",
        "its text says it",
        "a part of another name",
        "a long text",
    ],
)
def test_a_statement_is_named_by_its_outputs(own: str, writes: list[str], name: str) -> None:
    assert statement_name(own, writes) == name


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("tp_columnIndex", "column index"),
        ("up_steward", "steward"),
        ("originalName", "name in the source"),
        ("serDeLibName", "ser de lib name"),
        ("jobID", "job ID"),
        ("gov.level", "gov.level"),
        ("cp_gov.level", "gov.level"),
        ("owner", "owner"),
    ],
)
def test_a_field_name_is_shown_in_words(field: str, words: str) -> None:
    assert field_words(field) == words


def test_types_and_relations_are_shown_in_words() -> None:
    assert [type_words(each) for each in ("FIELD", "OPERATION_EXECUTION", "SUB_OPERATION")] == [
        "column",
        "execution",
        "column expression",
    ]
    assert relation_words("DATA_FLOW", incoming=True) == "Upstream (data)"
    assert relation_words("ANOTHER", incoming=True) == "Other relations"


def test_singular_and_plural_agree() -> None:
    assert [counted(each, "entity") for each in (0, 1, 1_204)] == ["0 entities", "1 entity", "1,204 entities"]
    assert f"{counted(1, 'relation')} {agreeing(1, 'leads', 'lead')}" == "1 relation leads"
    assert f"{counted(2, 'relation')} {agreeing(2, 'leads', 'lead')}" == "2 relations lead"


def test_the_name_of_a_statement_with_many_outputs_is_shortened() -> None:
    name = statement_name("job", [f"a.t{number}" for number in range(100)], cut=True)
    assert name == "job → a.t0, a.t1, a.t10 and more than 97 more"


# -- From data to data ---------------------------------------------------------------------------------------------------

COLUMN_A, COLUMN_B = Node("a", "db.a.x", "FIELD"), Node("b", "db.b.x", "FIELD")
PART = Node("p", "b.x", "SUB_OPERATION", parent="o", label="load → db.b")
STATEMENT = Node("o", "load", "OPERATION", label="load → db.b")
LOAD = Node("o", "load → db.b", "OPERATION", label="load → db.b")


def drawn(
    start: str, nodes: list[Node], edges: list[Edge], *hidden: str
) -> list[tuple[str, str, str, list[str]]]:
    lineage = Lineage(start, Direction.BOTH, tuple(nodes), tuple(edges))
    shown = between_data(lineage, hidden or {"SUB_OPERATION"})
    names = {each.id: each.title for each in shown.nodes}
    return [
        (names[each.source], names[each.target], each.type, [hop.title for hop in each.via])
        for each in shown.edges
    ]


def test_a_flow_into_a_sub_operation_passes_through_its_statement() -> None:
    edges = [Edge("a", "p", "DATA_FLOW", parsed=True), Edge("p", "b", "DATA_FLOW")]
    assert drawn("b", [COLUMN_A, COLUMN_B, PART], edges) == [
        ("db.a.x", "db.b.x", "DATA_FLOW", ["load → db.b"])
    ]


def test_a_control_flow_into_a_sub_operation_is_control_flow_to_its_column() -> None:
    edges = [Edge("a", "p", "CONTROL_FLOW"), Edge("p", "b", "DATA_FLOW")]
    assert drawn("b", [COLUMN_A, COLUMN_B, PART], edges)[0][2] == "CONTROL_FLOW"


def test_a_sub_operation_without_input_is_replaced_by_its_statement() -> None:
    assert drawn("b", [COLUMN_B, PART], [Edge("p", "b", "DATA_FLOW")]) == [
        ("load → db.b", "db.b.x", "DATA_FLOW", [])
    ]


def test_a_sub_operation_passed_by_an_edge_is_replaced_by_its_statement() -> None:
    part = Node("p", "b.x", "SUB_OPERATION", label="load → db.b", parent="o")
    edges = [Edge("a", "b", "DATA_FLOW", (part,))]
    assert drawn("b", [COLUMN_A, COLUMN_B], edges) == [("db.a.x", "db.b.x", "DATA_FLOW", ["load → db.b"])]


def test_a_self_loop_of_a_column_is_kept() -> None:
    edges = [Edge("a", "p", "DATA_FLOW"), Edge("p", "a", "DATA_FLOW")]
    assert drawn("a", [COLUMN_A, PART], edges) == [("db.a.x", "db.a.x", "DATA_FLOW", ["load → db.b"])]


def test_statements_are_collapsed_if_only_data_is_requested() -> None:
    edges = [Edge("a", "o", "DATA_FLOW"), Edge("o", "b", "DATA_FLOW", inferred=True)]
    nodes = [COLUMN_A, STATEMENT, COLUMN_B]
    assert drawn("a", nodes, edges, *STATEMENTS) == [("db.a.x", "db.b.x", "DATA_FLOW", ["load → db.b"])]
    assert len(drawn("a", nodes, edges)) == 2
    assert len(drawn("o", nodes, edges, *STATEMENTS)) == 2, "where one starts at it, it is shown"


# -- From the index ------------------------------------------------------------------------------------------------------


def test_reading_and_creating_statements_are_distinguished_and_executions_named_by_theirs(
    solr: Solr,
) -> None:
    world = World(solr, "statement-names", database="stn")
    orders, revenue = world.table("orders"), world.table("revenue")
    job = "stn job"
    writes = world.operation("w", [orders], [revenue], engine=SPARK, originalName=job)
    reads = world.operation("r", [orders], engine=SPARK, originalName=job)
    creates = world.operation(
        "c", engine=SPARK, originalName=job, operationType="CREATETABLE", outputs=["stn.fresh"]
    )
    nothing = world.operation("n", engine=SPARK, originalName=job)
    run = world.execution(writes, "stn-run-1")
    alone = world.entity(execution_key(operation_key(world.source(SPARK), "gone", ()), "stn-run-2"))
    # The statement of this execution is not in the index.
    world.relations = {each: one for each, one in world.relations.items() if alone.identity not in str(one)}
    world.index()
    kinds = dict.fromkeys((each.identity for each in (writes, reads, creates, nothing)), "OPERATION")
    kinds |= dict.fromkeys((run.identity, alone.identity), "OPERATION_EXECUTION")
    named = {each: name for each, (_, name) in names_of_statements(Graph(solr), kinds).items()}
    assert named == {
        writes.identity: "stn job → stn.revenue",
        reads.identity: "stn job ← stn.orders",
        creates.identity: "stn job: create table stn.fresh",
        nothing.identity: "stn job",
        run.identity: "stn job → stn.revenue",
    }
    assert show(solr, run.identity).title == "stn job → stn.revenue"
    listed = show(solr, revenue.identity).executions
    assert [listed.title(each) for each in listed.listed] == ["stn job → stn.revenue"]
