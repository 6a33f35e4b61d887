"""A run recorded by its engine and also reported by OpenLineage is kept once."""

from __future__ import annotations

from typing import Any

import pytest

from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.model.keys import Key
from navlin.model.records import Entity, Relation
from navlin.model.source import Source, source_id
from tests.support.indexed_estate import World

STARTED_MS, ENDED_MS = 1_000_000_000_123, 1_000_000_005_456


class Doubled(World):
    """A world with a Spark event log and OpenLineage's agent, which both report runs."""

    def __init__(self, solr: Solr, cluster: str) -> None:
        super().__init__(solr, cluster)
        # The index is shared, and an application has one identity in all sources, so each test needs its own
        # application id.
        self.application = f"application_{int(source_id(cluster, 'application')[:12], 16)}_0042"
        self.agent = Source(
            source_id(cluster, "OPENLINEAGE-1"), "SDK", "OPENLINEAGE-1", cluster, claimable=False
        )

    @property
    def sources(self) -> tuple[Source, ...]:
        return *super().sources, self.agent

    def run(
        self, source: Source, name: str, run: str, *, writes: bool = True, **when: Any
    ) -> tuple[Key, tuple[Entity | Relation, ...]]:
        """An operation ``name`` with one sub-operation and one run."""
        operation = self.operation(name, source=source)
        part, execution = self.part(operation, "x"), self.execution(operation, run)
        about = {
            "internalType": "openlineage_execution" if source == self.agent else "spark_operation_execution",
            "jobId": self.application,
            "started": STARTED_MS,
            "ended": ENDED_MS,
            **when,
        }
        read = self.flow(self.table("s.a"), operation)
        written = (self.flow(operation, self.table("s.b")), self.flow(part, self.column("s.b.x")))
        records = [self.entity(operation), self.entity(part), self.entity(execution, about), read]
        return operation, (*records, *(written if writes else ()))

    def engine(self, run: str = "1", **more: Any) -> str:
        _, records = self.run(self.spark, f"{self.cluster} insert", run, **more)
        return self.put(self.spark, *records)

    def report(self, run: str = "2", **more: Any) -> str:
        _, records = self.run(self.agent, f"{self.cluster} app.insert", run, **more)
        return self.put(self.agent, *records)

    def live(self, source: Source) -> tuple[set[str], int]:
        """The types of a source's live entities, and the number of its live relations."""
        elements = [each for each in self.documents(ELEMENTS) if each["sourceId"] == source.id]
        relations = [each for each in self.documents(RELATIONS) if each["writer"] == source.id]
        types = {
            str(each["type"]) for each in elements if not each.get("deleted") and each["type"] != "SOURCE"
        }
        return types, sum(not each.get("deleted") for each in relations)


WHOLE = {"OPERATION", "SUB_OPERATION", "OPERATION_EXECUTION"}
NOTHING: tuple[set[str], int] = (set(), 0)


@pytest.fixture
def world(solr: Solr, request: pytest.FixtureRequest) -> Doubled:
    return Doubled(solr, request.node.name)


@pytest.mark.parametrize("first", [pytest.param("engine", marks=pytest.mark.services), "report"])
def test_the_engines_record_is_kept_in_either_order(world: Doubled, first: str) -> None:
    second = "report" if first == "engine" else "engine"
    assert world.link(getattr(world, first)())["prefer_engines"] == 0
    assert world.link(getattr(world, second)())["prefer_engines"] > 0
    assert world.live(world.agent) == NOTHING
    assert world.live(world.spark) == (WHOLE, 5)
    before = world.versions()
    assert world.link(everything=True)["prefer_engines"] == 0
    assert world.versions() == before


def test_linking_everything_gives_the_same_result(world: Doubled) -> None:
    world.engine()
    world.report()
    world.link(everything=True)
    assert (world.live(world.agent), world.live(world.spark)) == (NOTHING, (WHOLE, 5))


@pytest.mark.parametrize(
    ("engine", "report", "same"),
    [
        ({}, {}, True),
        # The agent reports only an end without a start, or the log was truncated.
        ({}, {"started": None}, True),
        ({"ended": None}, {}, True),
        ({"started": None, "ended": None}, {}, False),
        ({}, {"started": STARTED_MS + 1, "ended": ENDED_MS + 1}, False),
        ({}, {"jobId": "application_1_0043"}, False),
        # An SQL execution nested in another one is the same run; one that only overlaps it is not.
        ({}, {"started": STARTED_MS + 1, "ended": ENDED_MS - 1, "operationType": "SQL_JOB"}, True),
        ({}, {"started": STARTED_MS + 1, "ended": ENDED_MS + 1, "operationType": "SQL_JOB"}, False),
        ({}, {"started": STARTED_MS + 1, "ended": ENDED_MS - 1, "operationType": "RDD_JOB"}, False),
        ({"jobId": None}, {"jobId": None}, False),
        # The engine's record lacks the outputs.
        ({"writes": False}, {}, False),
        ({"writes": False}, {"writes": False}, True),
    ],
)
def test_equal_runs_are_recognized_by_times_and_application(
    world: Doubled, engine: dict[str, Any], report: dict[str, Any], *, same: bool
) -> None:
    world.link(world.engine(**engine), world.report(**report))
    assert (world.live(world.agent) == NOTHING) is same
    assert world.live(world.spark)[0] == WHOLE


def test_yarns_application_is_not_a_record_of_its_queries(world: Doubled) -> None:
    # Impala's source represents any source that has executions with this application id but does not record Spark's
    # queries.
    _, of_application = world.run(world.impala, f"{world.cluster} application", "application", writes=False)
    within: dict[str, Any] = {"started": STARTED_MS + 1, "ended": ENDED_MS - 1, "operationType": "SQL_JOB"}
    world.link(world.put(world.impala, *of_application), world.report(writes=False, **within))
    assert world.live(world.agent)[0] == WHOLE


def test_an_operation_is_kept_while_any_run_is_known_only_from_reports(world: Doubled) -> None:
    runs = [
        world.engine(),
        world.report("2"),
        world.report("3", started=STARTED_MS + 60_000, ended=ENDED_MS + 60_000),
    ]
    world.link(*runs)
    executions = [each for each in world.documents(ELEMENTS) if each["type"] == "OPERATION_EXECUTION"]
    assert sum(bool(each.get("deleted")) for each in executions) == 1
    assert world.live(world.agent)[0] == WHOLE
    world.link(world.engine("4", started=STARTED_MS + 60_000, ended=ENDED_MS + 60_000))
    assert world.live(world.agent) == NOTHING


def test_a_repeated_report_is_flagged_again(world: Doubled) -> None:
    world.link(world.engine(), world.report())
    world.now_ms += 1_000
    world.link(world.report())
    assert world.live(world.agent) == NOTHING
