"""DataHub proposals for operations and their executions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from navlin.export.datahub import DataHubOptions, records
from navlin.export.values import DatasetEnd
from navlin.index.graph.details import ExecutionDetails
from tests.support.datahub_proposals import HIVE_DAILY, HIVE_ORDERS, aspects, proposals
from tests.support.exported import (
    AT_MS,
    dataset,
    every_kind,
    operation,
    part,
    predicate,
    run,
)


# -- Operations -----------------------------------------------------------------------------------------------------------
def test_a_job_has_its_inputs_outputs_and_columns() -> None:
    made = operation(
        "insert overwrite table sales.daily select …",
        "INSERT_OVERWRITE",
        part(["sales.daily.day"], ["sales.orders.day"], transformation="IDENTITY"),
        part(
            ["sales.daily.total"], ["sales.orders.amount", "sales.orders.tax"], expression="sum(amount + tax)"
        ),
        part(["sales.daily.rest"], ["sales.orders."], inferred=True),
        predicate(["sales.daily.day", "sales.daily.total"], ["sales.orders.region"]),
    )
    found = aspects([made])
    job = next(urn for urn, name in found if name == "dataJobInfo")
    of_job = found[job, "dataJobInputOutput"]

    assert [each["destinationUrn"] for each in of_job["inputDatasetEdges"]] == [HIVE_ORDERS]
    assert [each["destinationUrn"] for each in of_job["outputDatasetEdges"]] == [HIVE_DAILY]
    assert (of_job["inputDatasets"], of_job["outputDatasets"]) == ([], [])
    assert of_job["fineGrainedLineages"] == [
        {
            "upstreamType": kind,
            "upstreams": upstreams,
            "downstreamType": "FIELD",
            "downstreams": [f"urn:li:schemaField:({HIVE_DAILY},{output})"],
            "confidenceScore": confidence,
            **made_by,
        }
        for kind, upstreams, output, confidence, made_by in (
            (
                "FIELD_SET",
                [f"urn:li:schemaField:({HIVE_ORDERS},day)"],
                "day",
                1.0,
                {"transformOperation": "IDENTITY"},
            ),
            (
                "FIELD_SET",
                [f"urn:li:schemaField:({HIVE_ORDERS},amount)", f"urn:li:schemaField:({HIVE_ORDERS},tax)"],
                "total",
                1.0,
                {"transformOperation": "sum(amount + tax)"},
            ),
            ("DATASET", [HIVE_ORDERS], "rest", 0.5, {}),
        )
    ]
    info = found[job, "dataJobInfo"]
    assert (info["type"], info["description"]) == ({"string": "SQL"}, made.statement.text)
    # In column lineage, a column that only filters rows would be shown as a source of data.
    assert info["customProperties"]["controlFlow"] == "sales.orders.region"
    assert info["customProperties"]["operationType"] == "INSERT_OVERWRITE"


def test_many_control_columns_are_listed_up_to_a_limit_and_counted() -> None:
    made = operation("insert", "INSERT", predicate(["a.t.x"], [f"a.s.c{at:03}" for at in range(103)]))
    info = next(each for (_, name), each in aspects([made]).items() if name == "dataJobInfo")

    assert info["customProperties"]["controlFlow"].endswith("a.s.c098, a.s.c099, and 3 more")


def test_deleted_ends_are_left_out_and_a_path_adds_its_tables() -> None:
    gone = DatasetEnd(dataset("a.gone"), deleted=True)
    path = DatasetEnd(dataset("/w/t"), tables=(DatasetEnd(dataset("a.t")), gone))
    made = operation("job", "STREAM", reads=["a.s", gone, "a.s"], writes=[path, "a.s"], engine="SPARK")
    edges = next(each for (_, name), each in aspects([made]).items() if name == "dataJobInputOutput")
    short = re.compile(r":hdfs,ns1|:hive,|,PROD")

    assert [
        [
            short.sub("", each["destinationUrn"].rpartition("dataPlatform")[2]).rstrip(")")
            for each in edges[side]
        ]
        for side in ("inputDatasetEdges", "outputDatasetEdges")
    ] == [["a.s"], ["/w/t", "a.t", "a.s"]]


def test_a_view_never_executed_has_upstreams_and_no_job() -> None:
    view = operation(
        "select a from sales.orders where b",
        "CREATEVIEW",
        part(["sales.v.a"], ["sales.orders.a"], ["sales.orders.b"], kind="", into="VIEW"),
        derived=True,
    )
    found = aspects([view])
    of_view = "urn:li:dataset:(urn:li:dataPlatform:hive,sales.v,PROD)"

    assert set(found) == {(of_view, "upstreamLineage")}
    lineage = found[of_view, "upstreamLineage"]
    assert [(each["dataset"], each["type"]) for each in lineage["upstreams"]] == [(HIVE_ORDERS, "VIEW")]
    assert [(each["upstreams"], each["downstreams"]) for each in lineage["fineGrainedLineages"]] == [
        ([f"urn:li:schemaField:({HIVE_ORDERS},a)"], [f"urn:li:schemaField:({of_view},a)"])
    ]


def test_column_names_are_encoded_and_lowercased_with_their_tables() -> None:
    made = operation("insert", "INSERT", part(["a.T.Sum(x, y)"], ["/p.Y"]))
    lineage = next(
        each for (_, name), each in aspects([made], lowercase=True).items() if name == "dataJobInputOutput"
    )
    (fine,) = lineage["fineGrainedLineages"]

    assert fine["downstreams"] == [
        "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,a.t,PROD),sum%28x%2C y%29)"
    ]
    assert fine["upstreams"] == [
        "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hdfs,ns1/p,PROD),Y)"
    ]


# -- Runs -----------------------------------------------------------------------------------------------------------------
STARTED = ("STARTED", AT_MS, None, None)
ENDED_MS = AT_MS + 15_000
RUNS = {
    # status, started, ended → events: status, time, result, duration
    ("SUCCEEDED", AT_MS, ENDED_MS): [STARTED, ("COMPLETE", ENDED_MS, "SUCCESS", 15_000)],
    ("FINISHED", AT_MS, ENDED_MS): [STARTED, ("COMPLETE", ENDED_MS, "SUCCESS", 15_000)],
    ("FAILED", AT_MS, ENDED_MS): [STARTED, ("COMPLETE", ENDED_MS, "FAILURE", 15_000)],
    ("ERROR", AT_MS, ENDED_MS): [STARTED, ("COMPLETE", ENDED_MS, "FAILURE", 15_000)],
    ("KILLED", AT_MS, ENDED_MS): [STARTED, ("COMPLETE", ENDED_MS, "FAILURE", 15_000)],
    ("KILLED", 0, ENDED_MS): [("COMPLETE", ENDED_MS, "SKIPPED", None)],
    ("RUNNING", AT_MS, 0): [STARTED],
    ("ACCEPTED", AT_MS, 0): [STARTED],
    ("SUBMITTED", AT_MS, 0): [STARTED],
    ("NEW", AT_MS, 0): [STARTED],
    ("NEW_SAVING", AT_MS, 0): [STARTED],
    ("UNKNOWN", AT_MS, 0): [STARTED],
    # Impala's lineage log has the time of a query's end, but not its result.
    ("", AT_MS, ENDED_MS): [STARTED, ("COMPLETE", ENDED_MS, None, 15_000)],
    ("", AT_MS, 0): [STARTED],
    ("SUCCEEDED", 0, ENDED_MS): [("STARTED", ENDED_MS, None, None), ("COMPLETE", ENDED_MS, "SUCCESS", None)],
    ("SUCCEEDED", AT_MS, 0): [STARTED, ("COMPLETE", AT_MS + 7, "SUCCESS", None)],
}


@pytest.mark.parametrize("known", RUNS, ids=str)
def test_a_run_has_start_and_end_events_by_status(known: tuple[str, int, int]) -> None:
    status, started_ms, ended_ms = known
    of = operation("insert", "INSERT", reads=["a.s"], writes=["a.t"])
    details = ExecutionDetails("r", started_ms, ended_ms, AT_MS + 7, "ann", status)
    events = [
        each["aspect"]["json"]
        for each in proposals([run(of, details)])
        if each["aspectName"] == "dataProcessInstanceRunEvent"
    ]

    assert [
        (
            each["status"],
            each["timestampMillis"],
            each.get("result", {}).get("type"),
            each.get("durationMillis"),
        )
        for each in events
    ] == RUNS[known]
    assert len({each["messageId"] for each in events}) == len(events)
    assert {each["result"]["nativeResultType"] for each in events if "result" in each} <= {"hive"}


def test_a_run_has_its_properties_and_refers_to_its_job() -> None:
    of = operation("insert", "INSERT", reads=["sales.orders"], writes=["sales.daily"])
    found = aspects(
        [
            of,
            run(
                of,
                ExecutionDetails("r1", AT_MS, ENDED_MS, AT_MS, "ann", "SUCCEEDED", "q:1", "application_1_1"),
            ),
        ]
    )
    instance = next(urn for urn, name in found if name == "dataProcessInstanceProperties")
    job = next(urn for urn, name in found if name == "dataJobInfo")

    assert re.fullmatch(r"urn:li:dataProcessInstance:[0-9a-f]{32}", instance)
    properties = found[instance, "dataProcessInstanceProperties"]
    assert (properties["name"], properties["created"]) == (
        "r1",
        {"time": AT_MS, "actor": "urn:li:corpuser:ann"},
    )
    assert properties["customProperties"]["queryId"] == "q:1"
    assert found[instance, "dataProcessInstanceRelationships"] == {
        "parentTemplate": job,
        "upstreamInstances": [],
    }
    assert found[instance, "dataProcessInstanceInput"] == {"inputs": [HIVE_ORDERS]}
    assert found[instance, "dataProcessInstanceOutput"] == {"outputs": [HIVE_DAILY]}
    assert found[instance, "dataPlatformInstance"] == {"platform": "urn:li:dataPlatform:hive"}
    assert found[instance, "subTypes"] == {"typeNames": ["INSERT"]}


def test_exporting_twice_sends_the_same_bytes() -> None:
    assert list(records(every_kind(), DataHubOptions())) == list(records(every_kind(), DataHubOptions()))


def test_every_referenced_entity_is_exported() -> None:
    """DataHub creates an empty entity for everything that an aspect refers to. Therefore every entity except users,
    tags and platforms must be in the export.
    """
    sent = aspects(every_kind())
    entities = {urn for urn, _ in sent}
    named = {
        each
        for aspect in sent.values()
        for each in _urns_in(aspect)
        if not each.startswith(
            ("urn:li:corpuser:", "urn:li:tag:", "urn:li:dataPlatform:", "urn:li:schemaField:")
        )
    }

    assert named - entities == set()


def _urns_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _urns_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _urns_in(each)
    elif isinstance(value, str) and value.startswith("urn:li:"):
        yield value
