"""Limits of an OpenLineage run: whatever facet its datasets and columns come from, and however many events."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from extractors.openlineage.kept_runs import SavedRun, choose
from navlin.model.keys import EntityType, RelationType
from tests.support.openlineage import (
    FILTER,
    Follower,
    Json,
    dataset,
    event,
    of_fields,
    shown,
    source,
    symlinks,
    table,
)

DATASETS = "the run has more datasets than navlin follows"
COLUMNS = "there are more columns than navlin follows"
LINKS = "a dataset has more symlinks than navlin follows"


def entries(*given: Json) -> Json:
    return {"job_facets": {"lineage": {"entries": list(given)}}}


def whole(names: Iterable[str]) -> list[Json]:
    return [{"namespace": "hive://hms:9083", "name": name, "type": "DATASET"} for name in names]


def tables(first: int, count: int) -> list[str]:
    return [f"a.t{number}" for number in range(first, first + count)]


def about_output(facet: str, content: Json) -> Json:
    return {"outputs": [table("b.b", **{facet: content})]}


def fields_of_output(name: str, count: int) -> Json:
    return {
        "outputs": [table("b.b", **of_fields({f"{name}{n}": [source("a.a", "z")] for n in range(count)}))]
    }


def sources_of_field(name: str, count: int) -> Json:
    inputs = [source("a.a", f"{name}{n}") for n in range(count)]
    return {"outputs": [table("b.b", **of_fields({"y": inputs}))]}


def links(name: str, count: int) -> Json:
    named = [("x://host", f"{name}.{n}", "TABLE") for n in range(count)]
    return {"outputs": [table("b.b", **symlinks(*named))]}


@pytest.mark.parametrize(
    ("first", "second", "reason", "ends"),
    [
        (
            {"inputs": whole(tables(0, 1_500))},
            {"inputs": whole(tables(1_500, 501))},
            DATASETS,
            2_001,
        ),
        (
            entries({"type": "JOB", "inputs": whole(tables(0, 1_500))}),
            entries({"type": "JOB", "inputs": whole(tables(1_500, 501))}),
            DATASETS,
            2_001,
        ),
        (entries(*whole(tables(0, 1_500))), entries(*whole(tables(1_500, 501))), DATASETS, 2_000),
        (
            about_output("lineage", {"inputs": whole(tables(0, 1_500))}),
            about_output("lineage", {"inputs": whole(tables(1_500, 501))}),
            COLUMNS,
            2_001,
        ),
        (
            about_output(
                "columnLineage", {"dataset": [source("a.a", f"c{n}", FILTER) for n in range(1_500)]}
            ),
            about_output("columnLineage", {"dataset": [source("a.a", f"d{n}", FILTER) for n in range(501)]}),
            COLUMNS,
            2_002,
        ),
        (sources_of_field("c", 1_500), sources_of_field("d", 501), COLUMNS, 2_003),
        (fields_of_output("c", 4_500), fields_of_output("d", 501), COLUMNS, 5_003),
        (links("c", 40), links("d", 11), LINKS, 1),
    ],
    ids=["inputs", "inputs of the job", "outputs", "whole inputs", "rows", "sources", "columns", "symlinks"],
)
def test_a_run_whose_events_together_exceed_a_limit_is_bounded_and_incomplete(
    tmp_path: Path, first: Json, second: Json, reason: str, ends: int
) -> None:
    follower = Follower(tmp_path)
    follower.write(event("START", 0, outputs=[table("b.b")]), event("RUNNING", 1, **first))
    within = Follower(tmp_path).read()
    assert within.operation.attributes["incompleteReasons"] == []

    beyond = follower.read(event("COMPLETE", 9, **second))
    assert beyond.operation.attributes["incompleteReasons"][0] == reason
    flows = [r for r in beyond.relations if r.type in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)]
    kinds = (EntityType.TABLE, EntityType.FIELD)
    assert len({shown(end) for r in flows for end in (r.ep1, r.ep2) if end.type in kinds}) == ends


@pytest.mark.parametrize("inputs", [100, 101])
def test_a_sink_of_a_stream_with_too_many_inputs_is_incomplete(tmp_path: Path, inputs: int) -> None:
    streaming = {"jobType": {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}}
    read = [table(name) for name in tables(0, inputs)]

    got = Follower(tmp_path).read(
        event("RUNNING", 5, inputs=read, outputs=[table("b.b")], job_facets=streaming),
        event("RUNNING", 6, inputs=[table("c.c")], outputs=[table("b.c")], job_facets=streaming),
    )

    reasons = got.operation.attributes["incompleteReasons"]
    beyond = "an output of the stream was named together with more inputs than navlin follows"
    assert (beyond in reasons) is (inputs > 100)
    assert len(got.operation.attributes["inputs"]) == inputs + 1


@pytest.mark.parametrize(
    ("facets", "reason"),
    [
        ({"schema": {"fields": [{"name": f"c{n}", "type": "int"} for n in range(5_001)]}}, COLUMNS),
        (symlinks(*(("x://host", f"a.{n}", "TABLE") for n in range(51))), LINKS),
    ],
    ids=["fields", "symlinks"],
)
def test_a_dataset_event_beyond_a_limit_is_a_reject_and_the_rest_is_kept(
    tmp_path: Path, facets: Json, reason: str
) -> None:
    described = {
        "eventTime": "2023-11-14T22:14:00Z",
        "dataset": dataset("x://host", "wide", **facets),
    }

    got = Follower(tmp_path).read(described)

    assert [each.reason for each in got.rejects] == [f"dataset wide in x://host: {reason}"]
    fields = [each for each in got.entities if each.key.type is EntityType.FIELD]
    assert len(fields) == (5_000 if reason == COLUMNS else 0)


def test_a_sender_keeps_12_mib_of_runs_and_displaces_none_of_another() -> None:
    """The newest runs of each sender are kept, of a MiB each here; what another one leaves is not given to it."""

    def run(sender: str, number: int, size_bytes: int) -> SavedRun:
        return SavedRun(f"{sender} {number}", 1_000 + number, False, [], sender, "x" * size_bytes)

    loud = [run("loud", number, 1 << 20) for number in range(20)]
    quiet = [run("quiet", number, 1_000) for number in range(3)]
    known, given_up = choose([*loud, *quiet], 2_000)

    assert {each.run for each in known} == {
        *(f"loud {number}" for number in range(8, 20)),
        *(f"quiet {number}" for number in range(3)),
    }
    assert {each.run for each in given_up} == {f"loud {number}" for number in range(8)}
