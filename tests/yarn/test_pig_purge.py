"""Navigator's purge keeps a Pig script with stores, and removes one without output once it is old."""

from __future__ import annotations

import pytest

from extractors.yarn.engines import EngineJob, YarnReading
from extractors.yarn.pig import READER
from linker.purge import purge
from navlin.index.journal.holder import Holder
from navlin.index.solr.solr import Solr
from navlin.model.keys import EntityType
from navlin.model.records import Entity, Relation
from tests.support.indexed_estate import DAY_MS, World
from tests.support.yarn_rounds import ESTATE, NOW_MS, SOURCE

PURGED_MS = NOW_MS + DAY_MS


def ran(number: int, *, state: str = "SUCCEEDED", **properties: str) -> list[Entity | Relation]:
    """Return the records of a script with one job; underscores in the names of ``properties`` become dots."""
    said = {
        "pig.script.id": f"run-{number}",
        "mapreduce.workflow.name": f"/etl/{number}.pig",
        "pig.logical.plan.signature": "7",
        **{name.replace("_", "."): value for name, value in properties.items()},
    }
    job = EngineJob(
        f"application_1799000000000_{number:04d}",
        f"run-{number}",
        "etl",
        "PigLatin:x",
        state,
        state == "SUCCEEDED",
        NOW_MS,
        NOW_MS,
        NOW_MS,
        READER.told(said),
    )
    records = READER.records(YarnReading(SOURCE, ESTATE), [job])
    return [each for each in records if isinstance(each, Entity | Relation)]


@pytest.fixture
def world(private_solr: Solr, request: pytest.FixtureRequest) -> World:
    world = World(private_solr, request.node.name)
    world.now_ms = NOW_MS
    return world


def test_only_scripts_without_output_and_old_executions_are_removed(world: World) -> None:
    scripts = [
        ran(1, pig_input_dirs="/in", pig_map_output_dirs="/out"),
        ran(2, pig_input_dirs="/in", pig_map_output_dirs="/tmp/temp1/tmp2"),
        ran(3, state="FAILED", pig_input_dirs="/in", pig_map_output_dirs="/never"),
    ]
    records = [each for of_script in scripts for each in of_script]
    world.put(SOURCE, *records)

    purge(
        world.solr,
        PURGED_MS,
        holder=Holder("here", 1, "today"),
        lives=lambda _: True,
        clock=lambda: PURGED_MS + DAY_MS,
    )

    entities = [each for each in records if isinstance(each, Entity)]
    kept = {each.key.name for each in entities if world.entity_of(each.key) is not None}
    assert {each.key.name for each in entities if each.key.type is EntityType.OPERATION_EXECUTION} == {
        "run-1", "run-2", "run-3",
    }  # fmt: skip
    assert kept == {"/etl/1.pig"}
