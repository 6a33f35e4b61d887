"""Answers from the memory of a process are the answers of the index, whatever was written meanwhile and by whom."""

from __future__ import annotations

import random
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings

from navlin.index.graph.graph import Graph
from navlin.index.graph.memory import (
    BYTES_A_RELATION,
    BYTES_AN_ID,
    GraphMemory,
    PartKind,
    RememberedPart,
    memory_of,
)
from navlin.index.graph.remembered import answered
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import Key, sub_operation_key
from navlin.query.answer import Lineage
from navlin.query.column_flows import column_flows
from navlin.query.evidence import UpstreamEvidence, evidence
from navlin.query.impact import Impact, impact
from navlin.query.inherited import Origin, TagOrProperty, inherited
from navlin.query.lineage import UnknownEntity, lineage, lineage_of, lineage_of_name
from navlin.query.names import UnknownName
from navlin.query.options import WalkOptions
from tests.query.test_inherited_stored import Estate, Happens, steps, whatever_happens
from tests.support.both_ways import QUESTIONS, both_ways, inherited_both_ways, question
from tests.support.query_estate import AS_OF_MS, HIVE, World
from tests.support.random_graph import RandomGraph

FLOWS = PartKind(RELATIONS, "endpoint1Ids", ("DATA_FLOW",), True, "identity", 1_000)


@pytest.fixture
def world(solr: Solr) -> World:
    return World(solr, f"remembered-{uuid.uuid4().hex[:8]}")


class Requests:
    """Records the requests that a connection sends: the path below Solr's address and, of a search, its fields."""

    def __init__(self, solr: Solr, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: list[tuple[str, str]] = []
        send = solr.session.request

        def recorded(method: str, url: str, *args: Any, **kwargs: Any) -> Any:
            body = kwargs.get("data")
            params = orjson.loads(body)["params"] if isinstance(body, bytes) and b'"params"' in body else {}
            self.sent.append((url.removeprefix(solr.address.url), params.get("fl", "")))
            return send(method, url, *args, **kwargs)

        monkeypatch.setattr(solr.session, "request", recorded)

    def taken(self) -> list[tuple[str, str]]:
        """Return the requests since the last call."""
        sent, self.sent = self.sent, []
        return sent


def chain(world: World) -> list[Key]:
    """Three tables, each made from the one before."""
    tables = [world.table(name, "id") for name in ("raw", "clean", "mart")]
    world.operation("clean up", tables[:1], tables[1:2])
    world.operation("sum up", tables[1:2], tables[2:])
    world.index()
    return tables


def arrows(answer: Lineage) -> set[str]:
    names = {node.id: node.name.removeprefix("db.") for node in answer.nodes}
    return {f"{names[each.source]} -> {names[each.target]}" for each in answer.edges}


STATE = ("/admin/cores", "")


def of_relations(taken: list[tuple[str, str]]) -> list[str]:
    return [path for path, _ in taken if path.startswith(f"/{RELATIONS}/")]


def asks_only_for_the_state(requests: Requests, ask: Callable[[], object]) -> bool:
    """Whether a question, asked up to three times, once sends nothing but the request for the state. Solr, or another test,
    may change the index meanwhile."""
    for _ in range(3):
        requests.taken()
        ask()
        if requests.taken() == [STATE]:
            return True
    return False


def test_a_question_asked_again_asks_only_whether_the_index_has_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, *_ = chain(world)
    first = lineage(world.solr, raw.identity)
    requests = Requests(world.solr, monkeypatch)
    again = lineage(world.solr, raw.identity)
    assert arrows(again) == {"raw -> clean", "clean -> mart"}
    assert again == first
    assert asks_only_for_the_state(requests, lambda: lineage(world.solr, raw.identity))


def test_a_name_is_looked_up_in_memory_and_again_after_a_change(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, *_ = chain(world)
    first = lineage_of_name(world.solr, raw.identity, WalkOptions())
    assert first == lineage(world.solr, raw.identity)
    requests = Requests(world.solr, monkeypatch)
    assert lineage_of_name(world.solr, raw.identity, WalkOptions()) == first
    assert asks_only_for_the_state(requests, lambda: lineage_of_name(world.solr, raw.identity, WalkOptions()))
    late = f"{world.name}-late"
    with pytest.raises(UnknownName):
        lineage_of_name(world.solr, late, WalkOptions())
    world.solr.add(ELEMENTS, [{"identity": late, "type": "TABLE", "originalName": "late", "deleted": False}])
    world.solr.commit(ELEMENTS, soft=True)
    assert lineage_of_name(world.solr, late, WalkOptions()).start == late


def test_after_a_commit_a_question_reads_versions_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, *_ = chain(world)
    first = lineage(world.solr, raw.identity)
    other = World(world.solr, f"{world.name}-other")
    chain(other)
    requests = Requests(world.solr, monkeypatch)
    assert lineage(world.solr, raw.identity) == first
    state, *checks = requests.taken()
    assert state == STATE
    assert {fields for _, fields in checks} == {"_version_"}
    assert len(checks) <= 6
    assert asks_only_for_the_state(requests, lambda: lineage(world.solr, raw.identity))


def test_a_document_written_again_with_other_fields_does_not_repeat_the_question(world: World) -> None:
    raw, *_, mart = chain(world)
    asked: list[Lineage] = []

    def ask(graph: Graph) -> Lineage:
        asked.append(lineage_of(graph, raw.identity, WalkOptions()))
        return asked[-1]

    first = answered(world.solr, ask)
    asked.clear()
    world.solr.add(ELEMENTS, [{"identity": mart.identity, "owner": {"set": "ann"}}])
    world.solr.commit(ELEMENTS, soft=True)
    assert answered(world.solr, ask) == first
    assert len(asked) == 1
    world.solr.add(ELEMENTS, [{"identity": mart.identity, "deleted": {"set": True}}])
    world.solr.commit(ELEMENTS, soft=True)
    assert arrows(answered(world.solr, ask)) == {"raw -> clean"}
    assert len(asked) == 3


def test_every_kind_of_change_is_another_state_of_the_index(world: World) -> None:
    def state() -> str:
        world.solr.commit(RELATIONS, soft=True)
        return str(world.solr.visible_states()[RELATIONS])

    identity = f"{world.name}-state"
    seen = [state()]
    assert state() == seen[0]
    for change in (1, 2):
        world.solr.add(RELATIONS, [{"identity": identity, "type": "DATA_FLOW", "asOf": change}])
        seen.append(state())
    world.solr.delete_ids(RELATIONS, [identity])
    seen.append(state())
    assert len(set(seen)) == 4


def test_a_long_chain_is_read_in_few_requests(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [world.table(f"link{number:03}") for number in range(60)]
    for number, table in enumerate(tables[1:]):
        world.operation(f"link {number}", [tables[number]], [table])
    world.index()
    requests = Requests(world.solr, monkeypatch)
    answer = lineage(world.solr, tables[0].identity, WalkOptions(max_s=3_600))
    assert len(answer.nodes) == 60
    assert arrows(answer) == {f"link{number:03} -> link{number + 1:03}" for number in range(59)}
    assert not answer.truncated
    assert len(requests.taken()) < 80, "three requests for each table would be 177"


def test_an_answer_has_what_another_process_wrote(world: World) -> None:
    raw, *_ = chain(world)
    assert arrows(lineage(world.solr, raw.identity)) == {"raw -> clean", "clean -> mart"}
    with Solr(world.solr.address) as other:
        theirs = World(other, world.name)
        theirs.operation("copy", [theirs.table("mart", "id")], [theirs.table("copy", "id")])
        theirs.index()
    assert arrows(lineage(world.solr, raw.identity)) == {"raw -> clean", "clean -> mart", "mart -> copy"}


def test_an_answer_has_no_relation_that_was_removed_or_flagged(world: World) -> None:
    raw, *_, mart = chain(world)
    lineage(world.solr, raw.identity)
    into = {
        "q": f"+endpoint2Ids:{mart.identity} +type:DATA_FLOW +endpoint1Type:OPERATION",
        "fl": "identity",
        "rows": 9,
    }
    [last] = [each["identity"] for each in world.solr.select(RELATIONS, into)["response"]["docs"]]
    world.solr.add(RELATIONS, [{"identity": last, "deleted": {"set": True}}])
    world.solr.commit(RELATIONS, soft=True)
    assert arrows(lineage(world.solr, raw.identity)) == {"raw -> clean"}
    world.solr.add(RELATIONS, [{"identity": last, "deleted": {"set": False}}])
    world.solr.commit(RELATIONS, soft=True)
    assert arrows(lineage(world.solr, raw.identity)) == {"raw -> clean", "clean -> mart"}
    world.solr.delete_ids(RELATIONS, [last])
    world.solr.commit(RELATIONS, soft=True)
    assert arrows(lineage(world.solr, raw.identity)) == {"raw -> clean"}


def test_an_entity_that_was_absent_is_found_as_soon_as_a_search_finds_it(world: World) -> None:
    chain(world)
    late = f"{world.name}-late"
    with pytest.raises(UnknownEntity):
        lineage(world.solr, late)
    document = {
        "identity": late,
        "type": "TABLE",
        "originalName": "late",
        "sourceType": HIVE,
        "deleted": False,
    }
    world.solr.add(ELEMENTS, [document])
    world.solr.commit(ELEMENTS, soft=True)
    assert [node.name for node in lineage(world.solr, late).nodes] == ["late"]


def test_what_is_not_committed_is_not_in_an_answer(world: World) -> None:
    raw, *_ = chain(world)
    lineage(world.solr, raw.identity)
    world.solr.add(ELEMENTS, [{"identity": raw.identity, "deleted": {"set": True}}])
    assert not lineage(world.solr, raw.identity).node(raw.identity).deleted
    world.solr.commit(ELEMENTS, soft=True)
    assert lineage(world.solr, raw.identity).node(raw.identity).deleted


def test_a_relation_with_several_ids_at_one_side_is_seen_from_each(world: World) -> None:
    raw, clean, mart = chain(world)
    both = [lineage(world.solr, each.identity) for each in (raw, mart)]
    assert all(arrows(each) == {"raw -> clean", "clean -> mart"} for each in both)
    flow = {"type": "DATA_FLOW", "endpoint1Type": "TABLE", "endpoint2Type": "TABLE", "deleted": False}
    ends = {"endpoint1Ids": [raw.identity, clean.identity], "endpoint2Ids": [mart.identity]}
    for _ in range(2):
        world.solr.add(RELATIONS, [{"identity": f"{world.name}-several", **flow, **ends}])
        world.solr.commit(RELATIONS, soft=True)
        for start in (raw, mart):
            assert arrows(lineage(world.solr, start.identity)) == {
                "raw -> clean",
                "clean -> mart",
                "raw -> mart",
            }, start
        assert arrows(lineage(world.solr, clean.identity)) == {"raw -> clean", "clean -> mart"}
        world.solr.delete_ids(RELATIONS, [f"{world.name}-several"])
        world.solr.commit(RELATIONS, soft=True)
        assert arrows(lineage(world.solr, raw.identity)) == {"raw -> clean", "clean -> mart"}


def test_a_node_with_more_relations_than_are_followed_is_read_again(world: World) -> None:
    hub = world.table("hub")
    for number in range(5):
        world.operation(f"read {number}", [hub], [world.table(f"t{number}")])
    world.index()
    few = WalkOptions(max_fan_out=3)
    assert len(lineage(world.solr, hub.identity, few).nodes) == 4
    found = world.solr.select(RELATIONS, {"q": f"endpoint1Ids:{hub.identity}", "fl": "identity", "rows": 9})
    first = lineage(world.solr, hub.identity, few)
    world.solr.delete_ids(RELATIONS, [each["identity"] for each in found["response"]["docs"]][:3])
    world.solr.commit(RELATIONS, soft=True)
    assert first.truncated
    answer = lineage(world.solr, hub.identity, few)
    assert (len(answer.nodes), answer.truncated) == (3, False)


def test_questions_about_columns_and_tags_read_nothing_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts, made = world.table("facts", "amount"), world.table("made", "revenue")
    operation = world.operation("sum", [facts], [made], parts={"made.revenue": ["facts.amount"]})
    world.entity(sub_operation_key(operation, "made.revenue"), expression="sum(amount)")
    world.index()
    column, tag = world.column("facts.amount"), f"tag{world.name.rpartition('-')[2]}"
    world.solr.add(ELEMENTS, [{"identity": column.identity, "tags": {"set": [tag]}}])
    world.solr.commit(ELEMENTS, soft=True)
    made_column = world.column("made.revenue").identity
    expressions = [each.expressions for each in column_flows(world.solr, made_column)]
    assert expressions == [("sum(amount)",)]
    assert inheriting(world.solr, tag) == ["db.made.revenue"]
    requests = Requests(world.solr, monkeypatch)
    assert [each.expressions for each in column_flows(world.solr, made_column)] == expressions
    assert {fields for _, fields in requests.taken()} <= {"", "_version_"}
    assert inheriting(world.solr, tag) == ["db.made.revenue"]
    assert not [path for path, _ in requests.taken() if path.startswith(f"/{RELATIONS}/")]


def test_impact_asked_again_asks_only_whether_the_index_has_changed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw, *_ = chain(world)
    for operation in world.operations:
        world.execution(operation, "one", started=AS_OF_MS, principal="ann")
    world.index()
    first = impact(world.solr, raw.identity)
    assert {each.node.title: each.executions.count for each in first.affected} == {
        "db.clean": 1,
        "db.mart": 1,
        "clean up → db.clean": 1,
        "sum up → db.mart": 1,
    }
    requests = Requests(world.solr, monkeypatch)
    assert impact(world.solr, raw.identity) == first
    assert asks_only_for_the_state(requests, lambda: impact(world.solr, raw.identity))


def test_an_execution_that_another_process_wrote_is_in_impact_and_evidence(world: World) -> None:
    raw, clean, _ = chain(world)

    def executions() -> tuple[set[int], list[list[str]]]:
        listed = evidence(world.solr, clean.identity, AS_OF_MS).statements
        return (
            {each.executions.count for each in impact(world.solr, raw.identity).affected},
            [[run.name for run in each.listed] for each in listed],
        )

    assert executions() == ({0}, [[]])
    for number in (1, 2):
        with Solr(world.solr.address) as other:
            theirs = World(other, world.name)
            tables = [theirs.table(name, "id") for name in ("raw", "clean")]
            theirs.operation("clean up", tables[:1], tables[1:])
            theirs.execution(theirs.operations[0], f"run {number}", started=AS_OF_MS + number)
            theirs.index()
        counts, names = executions()
        assert (counts, [len(each) for each in names]) == ({0, number}, [number])


def test_evidence_asked_again_reads_nothing_of_the_graph(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    *_, mart = chain(world)
    world.operation("late", [world.named("nowhere")], [mart])
    world.index()
    first = evidence(world.solr, mart.identity, AS_OF_MS)
    assert [each.what for each in first.uncertainties if each.kind == "unlinked"] == ["db.nowhere"]
    requests = Requests(world.solr, monkeypatch)

    def asked_again() -> int:
        requests.taken()
        again = evidence(world.solr, mart.identity, AS_OF_MS)
        assert (again.upstream, again.statements) == (first.upstream, first.statements)
        return len(of_relations(requests.taken()))

    assert min(asked_again() for _ in range(3)) == 0, "Solr may change the index once meanwhile"


def test_all_origins_of_a_tag_are_asked_of_one_state(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, tag = chain(world), f"tag{world.name.rpartition('-')[2]}"
    world.solr.add(ELEMENTS, [{"identity": each.identity, "tags": {"set": [tag]}} for each in tables[:2]])
    world.solr.commit(ELEMENTS, soft=True)
    assert inheriting(world.solr, tag) == ["db.mart", "db.mart"]
    requests = Requests(world.solr, monkeypatch)

    def asked_again() -> int:
        requests.taken()
        inheriting(world.solr, tag)
        taken = requests.taken()
        assert taken.count(STATE) == 1
        return len(of_relations(taken))

    assert min(asked_again() for _ in range(3)) == 0, "Solr may change the index once meanwhile"


def inheriting(solr: Solr, tag: str) -> list[str]:
    return [each.node.name for origin in inherited(solr, TagOrProperty(tag)) for each in origin.inherited]


# -- The memory ------------------------------------------------------------------------------------------------------------


def test_a_memory_keeps_what_is_used_and_stays_within_its_size() -> None:
    each = BYTES_A_RELATION + BYTES_AN_ID
    memory = GraphMemory(most_bytes=20 * each)
    for number in range(100):
        memory.keep(FLOWS, {f"id{number}": RememberedPart((), (number,))})
        assert memory.look(FLOWS, ["id0"]) == {"id0": RememberedPart((), (0,))}
        assert memory.bytes <= 22 * each
    assert memory.look(FLOWS, ["id50"]) == {}
    memory.forget(FLOWS, ["id0"])
    assert memory.look(FLOWS, ["id0"]) == {}


def test_a_connection_has_one_memory_and_takes_it_along(world: World) -> None:
    raw, *_ = chain(world)
    with Solr(world.solr.address) as other:
        lineage(other, raw.identity)
        assert memory_of(other) is memory_of(other)
        assert memory_of(other).bytes > 0
        assert memory_of(world.solr).bytes == 0


def test_a_state_that_comes_back_is_another_epoch() -> None:
    memory = GraphMemory()
    epochs = [memory.epochs({RELATIONS: state})[RELATIONS] for state in ("a", "a", "b", "a")]
    assert epochs[0] == epochs[1]
    assert len(set(epochs)) == 3
    assert memory.epochs({ELEMENTS: "a"})[ELEMENTS] not in epochs


# -- Both ways -------------------------------------------------------------------------------------------------------------


def same_both_ways(solr: Solr, seed: int, rounds: int) -> Counter[str]:
    """Change a graph at random, and ask it from memory and from the index alone. Return question → size of the answers
    compared."""
    graph = RandomGraph(solr, f"random{uuid.uuid4().hex[:8]}", random.Random(seed))
    sizes: Counter[str] = Counter()
    for number in range(rounds):
        graph.change()
        # Half of the questions are about tables, which have the most lineage.
        start = graph.rng.choice(graph.rng.choice([graph.ids, graph.ids[: graph.size]]))
        options = graph.options()
        for name in graph.rng.sample(QUESTIONS, 2):
            from_memory, alone = both_ways(solr, question(name, start, options))
            assert from_memory == alone, (seed, number, name, start, options)
            sizes[name] += size_of(alone)
    origins, alone = inherited_both_ways(solr, graph.tag)
    assert origins == alone, seed
    sizes["tag"] += sum(map(size_of, origins))
    graph.remove()
    return sizes


def size_of(answer: Any) -> int:
    match answer:
        case Lineage():
            return len(answer.edges)
        case Impact():
            return len(answer.affected)
        case UpstreamEvidence():
            return len(answer.statements)
        case Origin():
            return len(answer.inherited)
        case dict():
            return sum(map(bool, answer.values()))
    return 0


def test_both_ways_give_one_answer_on_a_graph_that_changes(solr: Solr) -> None:
    sizes = same_both_ways(solr, 3, 24)
    assert min(sizes[each] for each in ("lineage", "impact", "evidence", "inherited", "tag")) > 0, sizes


@pytest.mark.services
@pytest.mark.parametrize("number", range(1, 4))
def test_both_ways_give_one_answer_on_further_graphs(solr: Solr, number: int) -> None:
    assert min(same_both_ways(solr, number, 60).values()) > 1


@pytest.mark.services
def test_both_ways_give_one_answer_on_two_shards(cloud: Solr) -> None:
    assert min(same_both_ways(cloud, 5, 40).values()) > 1


@pytest.mark.soak
def test_both_ways_give_one_answer_in_many_rounds(solr: Solr) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    sizes = same_both_ways(solr, seed, 500)
    assert min(sizes.values()) > 20, (seed, sizes)


@pytest.mark.soak
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], print_blob=True)
@given(happened=steps)
def test_both_ways_give_one_answer_while_runs_links_purges_and_edits_change_the_graph(
    private_solr: Solr, happened: list[list[Happens]]
) -> None:
    """Everything that changes the graph is written as the commands write it, and all questions follow every step."""

    def asked_both_ways(estate: Estate) -> None:
        for name in ("a", "b.x", "/p/q", "statement 1"):
            start = estate.key(name).identity
            for each in QUESTIONS:
                from_memory, alone = both_ways(private_solr, question(each, start, WalkOptions()))
                assert from_memory == alone, (each, name)
        origins, alone = inherited_both_ways(private_solr, "PII")
        assert origins == alone

    whatever_happens(private_solr, happened, asked_both_ways)
