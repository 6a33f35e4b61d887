"""Inherited tags: the entities that contain data of a tagged entity."""

from __future__ import annotations

import csv
import io
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from navlin.cli.invocation import Exit
from navlin.index.schema.fields import solr_date
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType, Key, RelationType, partition_key
from navlin.query.inherited import COLUMNS, Inherited, TagOrProperty, inherited
from navlin.query.scanner import QueryError
from tests.cli.test_cli import configuration, run
from tests.support.query_estate import AS_OF_MS, HIVE, World
from tests.support.web import Web

NUMBERS = itertools.count(1)
DAY_MS = 86_400_000


@pytest.fixture
def world(solr: Solr) -> World:
    return World(solr, f"inherited-{next(NUMBERS)}")


@pytest.fixture
def tag(world: World) -> str:
    return f"PII{world.name.replace('-', '')}x"


def write(world: World, key: Key, **fields: Any) -> None:
    world.elements[key.identity].update(fields)


def ask(world: World, tag: str, **options: Any) -> dict[str, Inherited]:
    world.index()
    origins = list(inherited(world.solr, TagOrProperty(tag), **options))
    return {each.node.name.removeprefix("db."): each for origin in origins for each in origin.inherited}


@pytest.fixture
def chain(world: World, tag: str) -> World:
    """people.email → daily.contact → report.who; people.region controls the step from people to daily."""
    people, daily = world.table("people", "email", "region"), world.table("daily", "contact", "total")
    report = world.table("report", "who")
    world.operation(
        "daily from people",
        [people],
        [daily],
        parts={"daily.contact": ["people.email"]},
        steering_columns=["people.region"],
    )
    world.operation("report from daily", [daily], [report], parts={"report.who": ["daily.contact"]})
    write(world, world.column("people.email"), tags=[tag])
    return world


def test_every_entity_carrying_the_data_inherits_with_its_path(chain: World, tag: str) -> None:
    found = ask(chain, tag)
    assert set(found) == {"daily.contact", "report.who"}
    path = [each.removeprefix("db.") for each in found["report.who"].to_json()["path"]]
    assert path[0] == "people.email"
    assert path[-1] == "report.who"
    assert "daily.contact" in path
    assert found["report.who"].origin.name == "db.people.email"


def test_readers_of_a_table_inherit_its_partitions_tags(world: World, tag: str) -> None:
    t, u = world.table("t", partitionColNames=["ds"]), world.table("u")
    partition = world.entity(partition_key(t, "ds=1"))
    world.operation("u from t", [t], [u])
    write(world, partition, tags=[tag])
    found = ask(world, tag)
    assert set(found) == {"u"}
    assert found["u"].steps[0].title == found["u"].origin.name


def test_control_flow_inherits_only_on_request(chain: World, tag: str) -> None:
    write(chain, chain.column("people.region"), tags=["region" + tag])
    assert ask(chain, "region" + tag) == {}
    decided = ask(chain, "region" + tag, control_flow=True)
    assert {name: each.decision for name, each in decided.items()} == {
        "daily.contact": True,
        "report.who": True,
    }
    assert not any(each.decision for each in ask(chain, tag, control_flow=True).values())


@pytest.mark.parametrize("said", ["{tag}", "other, {tag}", "*"])
def test_inheritance_ends_at_a_not_inherited_property(chain: World, tag: str, said: str) -> None:
    write(chain, chain.column("daily.contact"), up_notInherited=said.format(tag=tag))
    assert ask(chain, tag) == {}


def test_not_inherited_on_a_table_applies_to_its_columns(chain: World, tag: str) -> None:
    write(chain, chain.named("daily"), up_notInherited=tag)
    assert ask(chain, tag) == {}


def test_inheritance_ends_at_the_masking_job(chain: World, tag: str) -> None:
    write(chain, chain.operations[0], up_notInherited=tag)
    assert ask(chain, tag) == {}


def test_not_inherited_for_another_tag_has_no_effect(chain: World, tag: str) -> None:
    write(chain, chain.column("daily.contact"), up_notInherited="other")
    assert set(ask(chain, tag)) == {"daily.contact", "report.who"}


def test_another_path_around_a_not_inherited_entity_still_inherits(chain: World, tag: str) -> None:
    write(chain, chain.column("daily.contact"), up_notInherited=tag)
    people, report = chain.named("people"), chain.named("report")
    chain.operation("report from people", [people], [report], parts={"report.who": ["people.email"]})
    assert set(ask(chain, tag)) == {"report.who"}


def test_an_entity_with_the_tag_passes_it_on_and_inherits_nothing(chain: World, tag: str) -> None:
    write(chain, chain.column("daily.contact"), tags=[tag])
    assert set(ask(chain, tag)) == {"report.who"}


def test_a_longer_tag_is_a_different_tag(chain: World, tag: str) -> None:
    write(chain, chain.column("people.email"), tags=[f"{tag} masked", f"not{tag}"])
    assert ask(chain, tag) == {}
    assert set(ask(chain, f"{tag} masked")) == {"daily.contact", "report.who"}


def test_a_tag_may_contain_a_colon(chain: World, tag: str) -> None:
    write(chain, chain.column("people.email"), tags=[f"{tag}:sales", f"GDPR 9: {tag}"])
    assert set(ask(chain, f"{tag}:sales")) == {"daily.contact", "report.who"}
    assert set(ask(chain, f"GDPR 9: {tag}")) == {"daily.contact", "report.who"}
    assert ask(chain, f"{tag}:sale") == {}


def test_a_users_property_is_inherited(chain: World, tag: str) -> None:
    write(chain, chain.column("people.email"), up_steward=f"ann{tag}")
    assert set(ask(chain, f"up_steward:ann{tag}")) == {"daily.contact", "report.who"}
    assert ask(chain, f"steward:ann{tag}") == {}


def test_a_managed_property_is_inherited(chain: World, tag: str) -> None:
    write(chain, chain.column("people.email"), **{f"cp_gov.{tag}": ["high"]})
    assert set(ask(chain, f"gov.{tag}:high")) == {"daily.contact", "report.who"}
    assert ask(chain, f"gov.{tag}:low") == {}


@pytest.mark.parametrize(
    "text", ["type:FIELD", "*:*", "gov.x:1 OR type:FIELD", "(a:b)", "{!terms f=type}a:b"]
)
def test_queries_other_than_for_a_property_are_refused(chain: World, text: str) -> None:
    """All entities with the property are held in memory at once, and an estate has too many columns for that."""
    try:
        assert ask(chain, text) == {}
    except QueryError as error:
        assert "NAMESPACE.KEY:VALUE" in str(error)


def test_a_tagged_tables_tag_is_inherited_by_tables(world: World, tag: str) -> None:
    a, b = world.table("a"), world.table("b")
    world.operation("b from a", [a], [b])
    write(world, a, tags=[tag])
    assert set(ask(world, tag)) == {"b"}


def test_parsed_and_incomplete_paths_inherit_and_are_marked(world: World, tag: str) -> None:
    base, view, after = world.table("base"), world.table("view", kind=EntityType.VIEW), world.table("after")
    world.relate(RelationType.DATA_FLOW, base, view, writer=HIVE, parsed=True)
    world.operation("after from view", [view], [after], incomplete=True)
    write(world, base, tags=[tag])
    found = ask(world, tag)
    assert (found["view"].parsed, found["view"].incomplete) == (True, False)
    assert (found["after"].parsed, found["after"].incomplete) == (True, True)


def test_the_most_certain_of_several_paths_counts(world: World, tag: str) -> None:
    a, b, c = (world.table(name) for name in "abc")
    world.relate(RelationType.DATA_FLOW, a, c, writer=HIVE, parsed=True)
    world.operation("b from a", [a], [b])
    world.operation("c from b", [b], [c])
    write(world, a, tags=[tag])
    assert not ask(world, tag)["c"].parsed


def test_new_inheritance_since_a_date_is_listed(chain: World, tag: str) -> None:
    for document in chain.elements.values():
        late = "report" in str(document.get("originalName")) or "report" in str(document.get("parentPath"))
        document["firstSeen"] = solr_date(AS_OF_MS + 10 * DAY_MS * late)
    since = AS_OF_MS + 5 * DAY_MS
    assert set(ask(chain, tag, since_ms=since)) == {"report.who"}
    assert set(ask(chain, tag)) == {"daily.contact", "report.who"}
    assert ask(chain, tag, since_ms=AS_OF_MS + 11 * DAY_MS) == {}


def test_inherited_tags_are_not_written_as_tags(chain: World, tag: str) -> None:
    ask(chain, tag)
    chain.solr.commit("nav_elements", soft=True)
    assert chain.solr.count("nav_elements", f'tags:"{tag}"') == 1


# -- Command, API and page -----------------------------------------------------------------------------------------------


def test_the_command_prints_json_csv_and_trees(solr: Solr, tmp_path: Path, chain: World, tag: str) -> None:
    chain.index()
    file = configuration(solr, tmp_path)
    answer = json.loads(run(file, "inherited", tag, "--json").stdout)
    assert {each["name"] for each in answer["inherited"]} == {"db.daily.contact", "db.report.who"}
    assert (answer["origins"], answer["truncatedAt"]) == (1, [])
    printed = run(file, "inherited", tag, "--csv").stdout.removeprefix("\ufeff")
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert tuple(rows[0]) == COLUMNS
    assert {row["fromName"] for row in rows} == {"db.people.email"}
    shown = run(file, "inherited", tag)
    assert (shown.exit_code, "db.report.who" in shown.stdout) == (Exit.OK, True)
    assert run(file, "inherited", "nobody has this").exit_code == Exit.NOTHING
    assert run(file, "inherited", tag, "--since", "soon").exit_code == Exit.USAGE
    assert run(file, "inherited", "type:FIELD").exit_code == Exit.USAGE


def test_the_endpoint_and_the_command_agree(web: Web, chain: World, tag: str) -> None:
    chain.index()
    assert web.asked("/inherited", word=tag) == web.command("inherited", tag)
    answer = web.get("/api/navlin/v1/inherited", word=tag, csv="true")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    for wrong in ({}, {"word": tag, "since": "soon"}, {"word": "type:FIELD"}):
        assert web.get("/api/navlin/v1/inherited", **wrong).status_code == 400
