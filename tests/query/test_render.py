"""Output on a terminal of 80 columns."""

from __future__ import annotations

import io
import textwrap

import pytest
from rich.console import Console, RenderableType

from navlin.index.solr.solr import Solr
from navlin.model.keys import Key, execution_key
from navlin.model.plurals import counted
from navlin.model.refusal import with_entities
from navlin.query.answer import CutNode, CutReason, Direction, Edge, Lineage, Node
from navlin.query.lineage import lineage
from navlin.query.names import AmbiguousName, UnknownName, entity_named
from navlin.query.options import WalkOptions
from navlin.query.search import search
from navlin.query.show import show
from navlin.render.entity import show_view
from navlin.render.found import search_view
from navlin.render.graph import lineage_view
from navlin.render.text import plain_table
from tests.support.query_estate import AS_OF_MS, HDFS, SPARK, World


def seen(view: RenderableType, *, terminal: bool = False) -> str:
    out = io.StringIO()
    Console(
        file=out, width=80, force_terminal=terminal, color_system="truecolor" if terminal else None
    ).print(view)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert max(map(len, lines)) <= 80 or terminal
    return "\n".join(lines).strip("\n") + "\n"


def page(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


@pytest.fixture
def world(solr: Solr, request: pytest.FixtureRequest) -> World:
    return World(solr, request.node.name)


@pytest.fixture
def total(world: World) -> Key:
    """total is derived from orders and filtered by customers, with a deleted table and a location in between.
    report is derived from total."""
    orders, customers = world.table("orders", "amount", owner="ann"), world.table("customers", "region")
    total, report = world.table("total", "amount"), world.table("report", "total")
    dropped = world.table("dropped", deleted=True)
    location = world.path("/warehouse/total")
    world.located(total, location)
    operation = world.operation(
        "insert into total table orders",
        [orders],
        [total],
        steered_by=[customers],
        parts={"total.amount": ["orders.amount"]},
        steering_columns=["customers.region"],
    )
    world.operation(
        "insert into report table total", [total], [report], parts={"report.total": ["total.amount"]}
    )
    world.operation("make dropped", [report], [dropped])
    world.operation("make orders", [dropped], [orders])
    world.operation("insert into total table ghost", [world.named("ghost")], [total])
    world.operation("job", [world.path("/landing")], [location], engine=SPARK)
    for number in range(3):
        world.execution(
            operation, f"query {number}", started=AS_OF_MS + number, principal="etl", status="FINISHED"
        )
    world.index()
    return total


def operation_named(world: World, text: str) -> Key:
    (found,) = [key for key in world.operations if key.name == text]
    return found


def test_lineage_is_printed_as_two_trees(world: World, total: Key) -> None:
    view = seen(lineage_view(lineage(world.solr, total.identity)))
    upstream, downstream = view.split("Downstream\n")
    assert upstream.startswith("db.total (Hive table)\n\nUpstream\ndb.total\n")
    assert "── <-- /landing  via /warehouse/total\n" in upstream
    assert (
        page(
            """
            <-- db.orders
            │   └── <-- db.report  via db.dropped (deleted)
            │       └── <-- db.total  (shown above)
            """
        ).strip()
        in upstream
        or page(
            """
            <-- db.orders
                └── <-- db.report  via db.dropped (deleted)
                    └── <-- db.total  (shown above)
            """
        ).strip()
        in upstream
    )
    assert downstream == page(
        """
        db.total
        └── --> db.report
            └── --> db.orders  via db.dropped (deleted)
                └── --> db.total  (shown above)

        1 reference to an entity that was never extracted (show with --unlinked)
        """
    )


def test_columns_are_listed_below_their_edge(world: World, total: Key) -> None:
    options = WalkOptions(columns=True, control_flow=True, direction=Direction.UPSTREAM, depth=1)
    view = seen(lineage_view(lineage(world.solr, total.identity, options)))
    assert "── <-- db.orders  …\n" in view
    assert "db.orders.amount --> db.total.amount\n" in view
    assert "── <.. db.customers\n" in view
    assert "region ..> amount\n" in view
    assert "Downstream" not in view
    assert "Results are truncated:\n  at db.orders, upstream: more beyond the selected depth" in view


def test_deleted_and_unlinked_nodes_are_marked_even_without_colour(world: World, total: Key) -> None:
    answer = lineage(world.solr, total.identity, WalkOptions(deleted=True, unlinked=True, operations=True))
    plain = seen(lineage_view(answer))
    assert "db.dropped (deleted)" in plain
    assert "db.ghost (placeholder)" in plain
    assert "insert into total table orders → db.total" in plain
    assert "\x1b" not in plain
    styled = seen(lineage_view(answer), terminal=True)
    assert "\x1b[9mdb.dropped\x1b[0m" in styled
    assert "\x1b[3mdb.ghost\x1b[0m" in styled


def test_a_location_and_an_execution_name_their_table_and_operation(world: World, total: Key) -> None:
    location = seen(lineage_view(lineage(world.solr, world.path("/warehouse/total").identity)))
    assert location.startswith("/warehouse/total (HDFS directory)\nlocation of db.total\n")
    assert "/warehouse/total\n└── <-- /landing\n" in location
    assert "db.total\n└── --> db.report\n" in location
    execution = execution_key(operation_named(world, "insert into total table orders"), "query 1")
    view = seen(lineage_view(lineage(world.solr, execution.identity)))
    assert " ".join(view.split()).startswith(
        "insert into total table orders → db.total · query 1 (Impala execution)"
        " execution of insert into total table orders → db.total "
    )


def test_an_isolated_table_has_nothing_upstream_or_downstream(world: World) -> None:
    alone = world.table("alone", deleted=True)
    world.index()
    assert seen(lineage_view(lineage(world.solr, alone.identity))) == page(
        """
        db.alone (deleted) (Hive table)

        Upstream
          nothing

        Downstream
          nothing
        """
    )


def chain(length: int) -> Lineage:
    nodes = tuple(Node(str(number), f"db.t{number}", "TABLE", "HIVE") for number in range(length))
    edges = tuple(Edge(str(number), str(number + 1), "DATA_FLOW") for number in range(length - 1))
    return Lineage("0", Direction.DOWNSTREAM, nodes, edges)


def test_a_deep_tree_is_continued_below_and_complete() -> None:
    view = seen(lineage_view(chain(400)))
    assert all(f"db.t{number}" in view for number in range(400))
    assert "--> db.t8  (continued below)\ndb.t8\n└── --> db.t9\n" in view


def test_a_name_cannot_control_the_terminal() -> None:
    nodes = (Node("0", "[red]a\x1b[2Jb\n\rc[/]", "TABLE", "HIVE"),)
    answer = Lineage(
        "0", Direction.BOTH, nodes, (), (CutNode("0", "\x07x", Direction.BOTH, CutReason.WALKED),)
    )
    for terminal in (False, True):
        view = seen(lineage_view(answer), terminal=terminal)
        assert "[red]a�[2Jb��c[/]" in view
        assert "\x1b[2J" not in view
        assert "at �x: search limit reached" in view


def test_an_uncertain_edge_is_marked() -> None:
    nodes = (Node("a", "db.a", "TABLE"), Node("b", "db.b", "TABLE"))
    edge = Edge("a", "b", "DATA_FLOW", inferred=True, incomplete=True, parsed=True)
    view = seen(lineage_view(Lineage("a", Direction.DOWNSTREAM, nodes, (edge,))))
    assert "└── --> db.b  inferred  incomplete  parsed\n" in view


def test_search_results_are_a_table(world: World, total: Key) -> None:
    mine = f"sourceId:({' OR '.join(source.id for source in world.sources.values())})"
    tables = search(world.solr, f"{mine} AND type:TABLE", sort="originalName", limit=3, facets=["type"])
    assert seen(search_view(tables)) == page(
        """
        Type   Name                  Source
        TABLE  db.customers          HIVE
        TABLE  db.dropped (deleted)  HIVE
        TABLE  db.orders             HIVE
        Showing 1–3 of 5; use --offset 3 for more
        type: TABLE 5
        """
    )
    operations = seen(search_view(search(world.solr, f"{mine} AND type:OPERATION AND sourceType:SPARK")))
    (operation,) = [e for e in world.elements.values() if e["originalName"] == "job"]
    assert (
        f"OPERATION  job                               SPARK\n           {operation['identity']}\n"
        in operations
    )
    relations = seen(
        search_view(search(world.solr, f"unlinked:true AND ep1Ids:{world.named('ghost').identity}"))
    )
    assert "DATA_FLOW  db.ghost  insert into total table ghost  unresolved\nShowing 1–1 of 1\n" in relations
    assert seen(search_view(search(world.solr, f"{mine} AND type:PARTITION"))) == "nothing found\n"
    assert (
        seen(search_view(search(world.solr, f"{mine} AND type:TABLE", offset=10)))
        == "5 found, none on this page\n"
    )


def test_a_row_that_would_break_words_becomes_a_paragraph() -> None:
    table = plain_table(
        "Source", "Reader", "State", "Last run", "Lag", "Due", "Entities", "Relations", "Rejects"
    )
    table.add_row(
        "HDFS-PROD", "hdfs (pull)", "failing", "2 h ago", "", "in 6 min", "42,442,006", "4,332,005", "3"
    )

    assert seen(table) == page("""
        HDFS-PROD
          Reader hdfs (pull) · State failing · Last run 2 h ago · Due in 6 min ·
          Entities 42,442,006 · Relations 4,332,005 · Rejects 3
    """)


def test_a_table_with_one_long_name_stays_a_table() -> None:
    table = plain_table("Type", "Name")
    table.add_row("TABLE", "a" * 100)

    assert seen(table) == f"Type   Name\nTABLE  {'a' * 73}\n       {'a' * 27}\n"


def test_an_entity_is_shown_in_groups(world: World, total: Key) -> None:
    world.elements[total.identity].update({"tags": ["gold"], "cp_gov.steward": "eve", "tp_format": ["orc"]})
    world.index()
    view = seen(show_view(show(world.solr, total.identity)))
    assert view.startswith(f"db.total (Hive table)\nid {total.identity}\n\nTechnical metadata\n")
    assert "\nTechnical properties\n  format  orc\n" in view
    assert "\nBusiness metadata\n  gov.steward  eve\n  tags         gold\n" in view
    assert "\nSystem\n  time of the record  2026-01-01T00:00:00.000Z\n" in view
    assert "\nUpstream (data): 2\n" in view
    assert "\nDownstream (data): 1\n└── insert into report table total → db.report\n" in view
    assert "\nStored at or executed as: 1\n└── /warehouse/total\n" in view
    assert "\nExecutions: 3, last 2026-01-01T00:00:00.002Z by etl\n" in view
    assert "query 2  etl  FINISHED" in view
    ghost = operation_named(world, "insert into total table ghost")
    unlinked = seen(show_view(show(world.solr, ghost.identity)))
    assert "\nUnresolved references: 1\n  data db.ghost: no match\n" in unlinked
    assert "db.ghost (unresolved)\n" in unlinked


def test_an_unclear_name_lists_the_candidates(world: World, total: Key) -> None:
    with pytest.raises(UnknownName) as unknown:
        entity_named(world.solr, "db.customerz")
    said = with_entities(str(unknown.value), unknown.value.more)
    assert said.startswith('no entity named "db.customerz"; did you mean db.customers')
    assert "\n  db.customers  TABLE  HIVE  " in said
    other = World(world.solr, "render-other")
    other.table("total")
    other.index()
    with pytest.raises(AmbiguousName) as ambiguous:
        entity_named(world.solr, "db.total")
    said = with_entities(str(ambiguous.value), ambiguous.value.more)
    assert said.startswith("db.total may be any of ")
    assert " entities: give its id\n" in said
    assert f"\n  db.total  TABLE  HIVE  {total.identity}" in said
    assert HDFS in world.sources


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [(0, "entity", "0 entities"), (1, "entity", "1 entity"), (1_204, "field", "1,204 fields")],
)
def test_a_count_of_one_has_a_singular_noun(count: int, noun: str, words: str) -> None:
    assert counted(count, noun) == words
