"""A workflow of Oozie is the parent of the operations that its runs started on YARN, whichever source is read first."""

from __future__ import annotations

from itertools import permutations

import pytest

from linker.add_started_operations import RULE
from navlin.index.schema.fields import RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import Key, RelationType, application_key, operation_key
from navlin.model.records import Relation
from navlin.model.source import HIVE, OOZIE, YARN, Source
from navlin.model.tree import below
from tests.support.indexed_estate import World

APPLICATION, LAUNCHER, OTHER = (f"application_1_{number:04d}" for number in (1, 2, 3))


class Started(World):
    """A world in which a run of the workflow ``daily`` started a launcher, and one application that was a Hive query."""

    def __init__(self, solr: Solr, cluster: str) -> None:
        super().__init__(solr, cluster)
        self.oozie = self._source(OOZIE, "OOZIE-1", configured=True)
        self.yarn = self._source(YARN, "YARN-1", configured=True)
        self.queries = self._source(HIVE, "HIVE-QUERIES-1", configured=True)

    @property
    def sources(self) -> tuple[Source, ...]:
        return *super().sources, self.oozie, self.yarn, self.queries

    def ran_as(self, run: Key, application: str) -> Relation:
        physical = application_key(self.yarn, application)
        path = below(run.tree_path, physical.identity)
        return Relation(RelationType.LOGICAL_PHYSICAL, run, physical, path, self.now_ms)

    def write_oozie(self) -> str:
        workflow = operation_key(self.oozie, f"{self.cluster} daily", (), name="daily")
        run = self.execution(workflow, "1-W")
        started = [self.ran_as(run, each) for each in (APPLICATION, LAUNCHER)]
        return self.put(self.oozie, self.entity(workflow), self.entity(run), *started)

    def write_yarn(self) -> str:
        records = []
        for application, name in (
            (APPLICATION, "stage one"),
            (LAUNCHER, "oozie:launcher:T=hive2:W=daily:A=load:ID=1-W"),
            (OTHER, "something else"),
        ):
            operation = operation_key(self.yarn, f"{self.cluster} {name}", (), name=name)
            records += [
                self.entity(operation),
                self.entity(application_key(self.yarn, application, operation)),
            ]
        return self.put(self.yarn, *records)

    def write_hive(self) -> str:
        query = operation_key(self.queries, f"{self.cluster} insert", (), name="insert")
        other = operation_key(self.queries, f"{self.cluster} other", (), name="other")
        runs = self.execution(query, "q1"), self.execution(other, "q2")
        entities = [self.entity(each) for each in (query, other, *runs)]
        return self.put(
            self.queries, *entities, self.ran_as(runs[0], APPLICATION), self.ran_as(runs[1], OTHER)
        )

    def started(self) -> set[tuple[str, str, str, bool]]:
        """The (type, name of the parent, name of the child, whether unlinked) of the rule's relations."""
        found = (each for each in self.documents(RELATIONS) if each.get("rule") == RULE)
        return {
            (each["type"], each["endpoint1Name"], each["endpoint2Name"], bool(each.get("unlinked")))
            for each in found
        }


EXPECTED = {
    ("PARENT_CHILD", "daily", "stage one", False),
    ("PARENT_CHILD", "daily", "insert", False),
}


@pytest.fixture
def world(solr: Solr, request: pytest.FixtureRequest) -> Started:
    return Started(solr, request.node.name)


@pytest.mark.parametrize("order", list(permutations(("oozie", "yarn", "hive"))), ids="-".join)
def test_the_order_in_which_sources_are_read_does_not_matter(world: Started, order: tuple[str, ...]) -> None:
    for each in order:
        world.link(getattr(world, f"write_{each}")())
    assert world.started() == EXPECTED
    before = world.versions()
    assert world.link(everything=True)["add_started_operations"] == 0
    assert world.versions() == before


def test_linking_everything_gives_the_same_result(world: Started) -> None:
    world.write_oozie()
    world.write_yarn()
    world.write_hive()
    assert world.link(everything=True)["add_started_operations"] >= 2
    assert world.started() == EXPECTED


def test_an_estate_without_oozie_has_no_such_relations(world: Started) -> None:
    world.link(world.write_yarn())
    world.link(world.write_hive())
    assert world.started() == set()
