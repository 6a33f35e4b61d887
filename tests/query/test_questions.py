"""Every query, locally, by a command over HTTP, and over HTTP: the same result, the same limits, the same error
messages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from navlin.access.store import AccessFile
from navlin.api.own import ENDPOINTS, ROOT
from navlin.cli import main
from navlin.cli.invocation import EXITS, Exit
from navlin.console import PAGES
from navlin.index.admin.cores import CORES
from navlin.index.journal.rejects import save_rejects
from navlin.index.journal.runs import RunRecord, Status, save_run
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.identity import run_id
from navlin.model.keys import RelationType
from navlin.model.records import Reject
from navlin.questions import all_questions
from navlin.questions.declare.parameters import Parameter, parameters_of
from navlin.questions.declare.question import ListPage, Question
from navlin.solr_server.embedded import EmbeddedSolr
from tests.support.query_estate import AS_OF_MS, HIVE, IMPALA, World
from tests.support.web import Web, running_web

QUESTIONS = {each.name: each for each in all_questions()}
Given = Mapping[str, Any]
ASKED: Mapping[str, tuple[Given, ...]] = {
    "blocked": ({"source": "doors-hive"}, {"source": "doors-impala", "limit": 1}),
    "count": (
        {"query": "owner:doors_etl", "by": ["type,originalName"], "values": 1},
        {"query": "*", "by": ["sourceType", "type"], "filter": ["owner:doors_etl"]},
    ),
    "edits": ({"entity": "doors.b"}, {"entity": "doors.b", "limit": 1, "offset": 1}),
    "evidence": ({"entity": "doors.b.id", "max_nodes": 50},),
    "impact": ({"entity": "doors.a"}, {"entity": "doors.a.id", "max_nodes": 1}),
    "incomplete": ({"source": "doors-impala"}, {"reason": "the list was cut", "limit": 1}),
    "inherited": ({"word": "doorsPII"}, {"word": "doorsPII", "control_flow": True, "since": "2026-01-01"}),
    "lineage": (
        {"entity": "doors.b"},
        {"entity": "doors.b", "direction": "upstream", "depth": 1, "columns": True, "operations": True},
        {"entity": "doors.c", "unlinked": True, "deleted": True, "control_flow": True, "go_on": ["x"]},
    ),
    "purges": ({}, {"limit": 1, "offset": 1}),
    "rejects": ({"source": "doors-hive"}, {"source": "doors-impala", "offset": 1}),
    "runs": ({"source": "doors-impala"}, {"source": "doors-impala", "status": ["failed", "held"]}),
    "saved list": ({},),
    "search": (
        {"query": "doors"},
        {"query": "owner:doors_etl", "limit": 1, "offset": 1, "sort": "originalName desc"},
        {"saved": "doors", "filter": ["type:TABLE"], "facet": ["type", "owner"]},
    ),
    "show": ({"entity": "doors.b"}, {"entity": "doors.b.id"}),
    "status": ({},),
    "unlinked": ({"source": "doors-impala"}, {"reason": "no match", "limit": 1, "offset": 1}),
    "usage": ({"entity": "doors.b", "days": 3_650}, {"entity": "doors.b.id", "days": 3_650, "limit": 1}),
    "unused": ({"days": 30}, {"days": 30, "of": "partitions", "without_engine": ["hive", "spark"], "despite_gaps": True}),
}  # fmt: skip
"""query → parameter sets used to run it"""
DATE = re.compile(r"20\d\d-\d\d-\d\dT[\d:.]+Z")
OF_NOW = {"now_ms", "space", "made", "since"}
"""Keys of a result that depend on the time of the request."""


@dataclass(frozen=True)
class Doors:
    """The three interfaces: local command, remote command, HTTP. Each returns an exit code or status, and JSON or
    an error message."""

    here: Callable[..., Result]
    there: Callable[..., Result]
    web: Web

    def answers(self, question: Question, given: Given) -> Iterator[Any]:
        """Yield the parsed JSON from each interface."""
        for asked in (self.here, self.there):
            result = asked(*words(question, given), "--json")
            assert result.exit_code in (Exit.OK, Exit.NOTHING, Exit.FAILED), result.output
            yield json.loads(result.stdout)
        answer = self.over_http(question, given)
        assert answer.status_code == 200, answer.text
        yield answer.json()

    def refusals(self, question: Question, given: Given) -> Iterator[tuple[int, str]]:
        """Yield the exit code and the error message of each interface."""
        for asked in (self.here, self.there):
            result = asked(*words(question, given), "--json")
            # Another line says what to type.
            yield result.exit_code, result.stderr.removeprefix("navlin: ").partition("\n")[0]
        answer = self.over_http(question, given)
        yield EXITS.get(answer.status_code, Exit.FAILED), answer.json()["message"]

    def over_http(self, question: Question, given: Given) -> Any:
        how = {"params": given} if question.method != "POST" else {"json": given}
        return self.web.send(question.method, ROOT + question.path, "chief", **how)


def words(question: Question, given: Given) -> list[str]:
    typed = question.name.split()
    for each in parameters_of(question.parameters):
        option = "--" + each.name.replace("_", "-")
        value = given.get(each.name, ())
        for one in value if isinstance(value, list | tuple) else [value]:
            if each.typed.first:
                typed.append(str(one))
            elif one is True:
                typed.append(option)
            else:
                typed.append(f"{option}={one}")
    return typed


@pytest.fixture(scope="module")
def web(private_server: EmbeddedSolr, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Web]:
    """A `navlin web` on the private Solr, emptied before: some questions go through everything in the index."""
    with Solr(private_server.start()) as connected:
        for core in CORES:
            connected.client(core).delete(q="*:*")
            connected.commit(core, soft=True)
    with running_web(private_server.start(), tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.fixture
def solr(private_server: EmbeddedSolr) -> Iterator[Solr]:
    with Solr(private_server.start()) as connected:
        yield connected


@pytest.fixture
def doors(web: Web, tmp_path: Path) -> Doors:
    (token := tmp_path / "token").write_text(
        AccessFile(web.file.parent / "state").add_token("chief", "test", None, 1_900_000_000_000, 0)
    )

    def here(*typed: str) -> Result:
        return CliRunner().invoke(main, ["--config", str(web.file), *typed])

    def there(*typed: str) -> Result:
        given = ["--config", str(tmp_path / "none"), "--url", web.url, "--token-file", str(token)]
        return CliRunner().invoke(main, [*given, *typed])

    return Doors(here, there, web)


@pytest.fixture(scope="module")
def made() -> set[str]:
    """Non-empty once the estate has been indexed."""
    return set()


@pytest.fixture
def estate(solr: Solr, doors: Doors, made: set[str]) -> World:
    """An estate in which each query finds something, shared by all tests of this module."""
    world = World(solr, "doors", "doors")
    if made:
        return world
    a, b, c = (
        world.table("a", "id", "x", owner="doors_etl"),
        world.table("b", "id", owner="doors_etl"),
        world.table("c"),
    )
    world.located(a, world.path("/doors/a"))
    insert = world.operation("insert b from a", [a], [b], parts={"b.id": ["a.id"]}, steering_columns=["a.x"])
    cut = world.operation("insert c from b", [b, world.named("missing")], [c, world.named("gone")])
    world.elements[cut.identity].update(incomplete=True, incompleteReasons=["the list was cut"])
    run = world.execution(
        insert, "q1", started=AS_OF_MS, ended=AS_OF_MS + 500, principal="ann", status="FINISHED"
    )
    world.relate(RelationType.INSTANCE_OF, insert, run, writer=IMPALA)
    world.elements[world.column("a.id").identity].update(tags=["doorsPII"], firstSeen="2026-02-01T00:00:00Z")
    world.index()
    for number, (kind, status) in enumerate([(HIVE, Status.HELD), (IMPALA, Status.FAILED)], 1):
        source = world.source(kind)
        save_run(solr, RunRecord(source.name, source.id, number, status, AS_OF_MS, AS_OF_MS + 1, note="so"))
        reject = Reject("/logs/1", "is no JSON", offset=17, sample="{")
        save_rejects(solr, source.name, source.id, run_id(source.id, number), AS_OF_MS, [reject])
    solr.commit(RUNS, soft=True)
    for each in ("one", "two"):
        assert doors.there("edit", "doors.b", "--tag", each).exit_code == Exit.OK
    assert doors.there("saved", "add", "doors", "owner:doors_etl", "--shared").exit_code == Exit.OK
    made.add("estate")
    return world


def timeless(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {key: timeless(value) for key, value in answer.items() if key not in OF_NOW}
    if isinstance(answer, list):
        return list(map(timeless, answer))
    return DATE.sub("", answer) if isinstance(answer, str) else answer


def test_every_question_is_asked_below() -> None:
    assert set(ASKED) == {name for name, each in QUESTIONS.items() if each.method == "GET"}


@pytest.mark.parametrize(
    ("name", "given"), [(name, given) for name, several in ASKED.items() for given in several], ids=str
)
def test_every_door_gives_the_same_answer(doors: Doors, estate: World, name: str, given: Given) -> None:
    here, there, http = doors.answers(QUESTIONS[name], given)
    assert timeless(there) == timeless(here)
    assert timeless(http) == timeless(here)


BOUNDS = [
    (name, each.name, value, f"{each.name} must be from {each.bounds[0]:,} to {each.bounds[-1]:,}")
    for name, question in QUESTIONS.items()
    for each in parameters_of(question.parameters)
    if each.bounds is not None
    for value in (each.bounds[0] - 1, each.bounds[-1] + 1)
]
CHOICES = [
    (name, each.name, "nonsense", f"{each.name} must be one of {', '.join(each.values)}")
    for name, question in QUESTIONS.items()
    for each in parameters_of(question.parameters)
    if each.choices
]


@pytest.mark.parametrize(("name", "parameter", "value", "sentence"), [*BOUNDS, *CHOICES])
def test_every_door_refuses_a_value_with_the_same_sentence(
    doors: Doors, name: str, parameter: str, value: Any, sentence: str
) -> None:
    question = QUESTIONS[name]
    wrong: Any = [value] if of(question, parameter).many and question.method == "POST" else value
    given = {**least(question), parameter: wrong}
    assert list(doors.refusals(question, given)) == [(Exit.USAGE, sentence)] * 3


def test_what_lies_between_the_old_bounds_is_the_same_on_every_door(doors: Doors, estate: World) -> None:
    for name, given in (
        ("lineage", {"entity": "doors.b", "depth": 5_000}),
        ("impact", {"entity": "doors.a", "max_nodes": 50_000}),
        ("count", {"query": "*", "by": "type", "values": 20_000}),
        ("unlinked", {"limit": 20_000}),
    ):
        [refusal] = set(doors.refusals(QUESTIONS[name], given))
        assert refusal[0] == Exit.USAGE


REQUIRED = [
    (name, each.name)
    for name, question in QUESTIONS.items()
    for each in parameters_of(question.parameters)
    if each.required
]


@pytest.mark.parametrize(("name", "parameter"), REQUIRED)
def test_every_door_asks_for_a_missing_parameter_with_the_same_sentence(
    doors: Doors, name: str, parameter: str
) -> None:
    question = QUESTIONS[name]
    firsts = [each.name for each in parameters_of(question.parameters) if each.typed.first]
    # Without one positional argument, the next one takes its place.
    missing = {parameter, *firsts[firsts.index(parameter) :]} if parameter in firsts else {parameter}
    given = {key: value for key, value in least(question).items() if key not in missing}
    [(code, sentence)] = set(doors.refusals(question, given))
    assert (code, f"{parameter} is missing" in sentence) == (Exit.USAGE, True)


@pytest.mark.parametrize(
    ("name", "given", "code"),
    [
        ("show", {"entity": "doors.nothing_is_called_so"}, Exit.NOTHING),
        ("unlinked", {"source": "doors-nowhere"}, Exit.NOTHING),
        ("search", {"query": "x", "saved": "doors-nowhere"}, Exit.USAGE),
        ("search", {"saved": "doors-nowhere"}, Exit.NOTHING),
        ("search", {"query": "type:(TABLE"}, Exit.USAGE),
        ("search", {"query": "x", "csv": True, "sort": "owner"}, Exit.USAGE),
        ("inherited", {"word": "x", "since": "soon"}, Exit.USAGE),
        ("saved remove", {"name": "doors-nowhere", "owner": "chief"}, Exit.NOTHING),
        ("edit", {"tag": ["x"]}, Exit.USAGE),
        ("purge", {"before": "2999-01-01"}, Exit.USAGE),
    ],
)
def test_every_door_refuses_what_the_index_does_not_have_with_the_same_sentence(
    doors: Doors, estate: World, name: str, given: Given, code: Exit
) -> None:
    question = QUESTIONS[name]
    if "csv" in given:
        here, there = (asked(*words(question, given)) for asked in (doors.here, doors.there))
        http = doors.over_http(question, given).json()["message"]
        sentences = {
            (each.exit_code, each.stderr.rpartition("navlin: ")[2].strip()) for each in (here, there)
        }
    else:
        (_, here_said), there_said, (_, http) = doors.refusals(question, given)
        assert there_said[0] == code
        sentences = {(code, here_said.partition("\n")[0]), (code, there_said[1].partition("\n")[0])}
    said = {(found, sentence.removeprefix(f"{doors.web.url}: ")) for found, sentence in sentences}
    assert said == {(code, http)}


def least(question: Question) -> dict[str, Any]:
    """Return the parameters without which a query is refused."""
    example = {"before": "2020-01-01", "days": 30, "by": ["type"], "query": "*"}
    return {
        each.name: example.get(each.name, "doors.b")
        for each in parameters_of(question.parameters)
        if each.required or (each.name == "query" and question.method == "GET")
    }


def of(question: Question, name: str) -> Parameter:
    (found,) = (each for each in parameters_of(question.parameters) if each.name == name)
    return found


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_a_question_has_every_door_or_says_why_not(question: Question) -> None:
    paths = {each.path for each in PAGES}
    shown = question.page.path or question.path if isinstance(question.page, ListPage) else question.page
    assert (shown in paths) is ("page" not in question.without)
    at = {(each.path, each.method): each for each in ENDPOINTS}
    assert at[question.path, question.method].role == question.role
    assert question.summary.endswith(".")
    assert all(each.startswith(f"navlin {question.name}") for each in question.examples)


def test_a_shell_completes_options_and_their_values() -> None:
    def completed(typed: str) -> list[str]:
        count = str(len(typed.split(" ")) - 1)
        environment = {"_NAVLIN_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": count}
        printed = CliRunner().invoke(
            main, [], env=environment, prog_name="navlin", complete_var="_NAVLIN_COMPLETE"
        )
        return [line.partition(",")[2] for line in printed.output.splitlines()]

    assert completed("navlin unl") == ["unlinked"]
    assert completed("navlin runs --st") == ["--status"]
    assert completed("navlin runs --status f") == ["finished", "failed"]
    assert completed("navlin lineage x --direction u") == ["upstream"]
