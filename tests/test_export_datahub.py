"""DataHub's proposals: names, aspects, runs, what replaces what, and GMS over a real socket."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from navlin.export.choosing import Selection
from navlin.export.connection import Address, Connection
from navlin.export.datahub import DataHubOptions, records, send
from navlin.export.datahub.aspects import type_of
from navlin.export.target import Refused, targets
from navlin.export.values import (
    Column,
    Dataset,
    DatasetName,
    Details,
    End,
    ExecutionDetails,
    Item,
    Renamed,
    Words,
)
from navlin.export.writing import Exported, Positions, Question, write_file
from navlin.index.details import ColumnDetails
from navlin.index.solr import Solr
from navlin.model.keys import EntityType, RelationType
from navlin.model.source import HIVE
from tests.services.python_packages import Environment
from tests.support.exported import (
    AT_MS,
    CLAIMED,
    LOCAL,
    SPARK,
    bucket,
    column,
    database,
    dataset,
    described,
    every_kind,
    operation,
    part,
    predicate,
    run,
)
from tests.support.query_estate import World

REPOSITORY = Path(__file__).parents[1]
HIVE_ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,sales.orders,PROD)"
HIVE_DAILY = "urn:li:dataset:(urn:li:dataPlatform:hive,sales.daily,PROD)"


def proposals(items: Iterable[Item], **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in records(items, DataHubOptions(**options))]


def aspects(items: Iterable[Item], **options: Any) -> dict[tuple[str, str], Any]:
    """The aspects by entity and name; none comes twice with another value."""
    found: dict[tuple[str, str], Any] = {}
    for each in proposals(items, **options):
        key, aspect = (each["entityUrn"], each["aspectName"]), each["aspect"]["json"]
        assert found.setdefault(key, aspect) == aspect or key[1] == "dataProcessInstanceRunEvent", key
        found[key] = aspect
    return found


def urns(items: Iterable[Item], **options: Any) -> list[str]:
    return list(dict.fromkeys(each["entityUrn"] for each in proposals(items, **options)))


# -- Names --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "options", "urn"),
    [
        (dataset("sales.orders"), {}, HIVE_ORDERS),
        (
            dataset("sales.orders"),
            {"platform_instance": "cm", "env": "dev"},
            "urn:li:dataset:(urn:li:dataPlatform:hive,cm.sales.orders,DEV)",
        ),
        (dataset("Sales.Orders"), {}, "urn:li:dataset:(urn:li:dataPlatform:hive,Sales.Orders,PROD)"),
        (dataset("Sales.Orders"), {"lowercase": True}, HIVE_ORDERS),
        (dataset("/Landing/a"), {}, "urn:li:dataset:(urn:li:dataPlatform:hdfs,ns1/Landing/a,PROD)"),
        (
            dataset("/Landing/a"),
            {"lowercase": True},
            "urn:li:dataset:(urn:li:dataPlatform:hdfs,ns1/Landing/a,PROD)",
        ),
        (
            dataset("/a"),
            {"storage_instance": "dc1", "platform_instance": "cm"},
            "urn:li:dataset:(urn:li:dataPlatform:hdfs,dc1.ns1/a,PROD)",
        ),
        (dataset("/k/v", source=bucket("s3", "b")), {}, "urn:li:dataset:(urn:li:dataPlatform:s3,b/k/v,PROD)"),
        (dataset("/k", source=bucket("gs", "b")), {}, "urn:li:dataset:(urn:li:dataPlatform:gcs,b/k,PROD)"),
        (
            dataset("/k", source=bucket("abfss", "c@account.dfs.core.windows.net")),
            {},
            "urn:li:dataset:(urn:li:dataPlatform:adls,c/k,PROD)",
        ),
        (dataset("/k", source=bucket("dbfs", "x")), {}, "urn:li:dataset:(urn:li:dataPlatform:dbfs,/k,PROD)"),
        (dataset("/tmp/x", source=LOCAL), {}, "urn:li:dataset:(urn:li:dataPlatform:file,/tmp/x,PROD)"),
        (
            dataset("/a, (b)"),
            {},
            "urn:li:dataset:(urn:li:dataPlatform:hdfs,ns1/a%2C %28b%29,PROD)",
        ),
        (
            DatasetName("1", "DATASET", bucket("kafka", "broker:9092"), "clicks"),
            {},
            "urn:li:dataset:(urn:li:dataPlatform:kafka,clicks,PROD)",
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_dataset_is_named_as_the_site_s_own_ingestion_names_it(
    name: DatasetName, options: dict[str, Any], urn: str
) -> None:
    assert urns([Dataset(name, deleted=True)], **options) == [urn]


def test_a_database_has_the_key_that_datahub_computes() -> None:
    gone = Dataset(database("sales"), deleted=True)

    assert urns([gone]) == ["urn:li:container:9181afd2cfaa40ad8036c0560f250dbb"]
    assert urns([gone], platform_instance="cm") == ["urn:li:container:0dcaf7ea588461e1e49c6cf3c799622a"]


def test_an_operation_is_a_job_in_the_flow_of_its_source_whoever_ran_it() -> None:
    made = [
        replace(
            operation("q", "INSERT", reads=["a.s"], writes=["a.t"], engine=engine), id="0a1b", source=source
        )
        for engine, source in (
            ("HIVE", replace(SPARK, name="hive")),
            ("IMPALA", replace(SPARK, name="imp,ala")),
            ("SPARK", SPARK),
        )
    ]

    assert urns(made) == [
        "urn:li:dataFlow:(hive,hive,PROD)",
        "urn:li:dataJob:(urn:li:dataFlow:(hive,hive,PROD),0a1b)",
        "urn:li:dataFlow:(impala,imp%2Cala,PROD)",
        "urn:li:dataJob:(urn:li:dataFlow:(impala,imp%2Cala,PROD),0a1b)",
        "urn:li:dataFlow:(spark,spark,PROD)",
        "urn:li:dataJob:(urn:li:dataFlow:(spark,spark,PROD),0a1b)",
    ]


# -- Datasets -----------------------------------------------------------------------------------------------------------


def test_a_table_with_all_that_is_known_of_it() -> None:
    name = dataset("sales.orders")
    table = Dataset(
        name,
        Details(
            "etl",
            comment="all orders",
            created_ms=AT_MS,
            modified_ms=AT_MS + 1,
            parameters={"k": "v"},
            kind="EXTERNAL_TABLE",
            partition_columns=("day",),
        ),
        Words("Bestellungen", tags=("pii",), properties={"team": ("x", "y")}),
        (
            Column(
                column("sales.orders.amount"),
                ColumnDetails("decimal(10,2)", "money"),
                Words("Sum", "in euros", ("gold",)),
            ),
            Column(column("sales.orders.day"), ColumnDetails("date"), Words(), partition_key=True),
        ),
    )
    found = aspects([table])

    assert {urn for urn, _ in found} == {HIVE_ORDERS}
    properties = found[HIVE_ORDERS, "datasetProperties"]
    assert properties.pop("customProperties") == {
        "k": "v",
        "tableType": "EXTERNAL_TABLE",
        "partitionColNames": "day",
        "team": "x, y",
        "navlin.identity": name.id,
        "navlin.source": "hms",
    }
    assert properties == {
        "name": "Bestellungen",
        "qualifiedName": "sales.orders",
        "description": "all orders",
        "created": {"time": AT_MS},
        "lastModified": {"time": AT_MS + 1},
    }
    schema = found[HIVE_ORDERS, "schemaMetadata"]
    assert schema["platform"] == "urn:li:dataPlatform:hive"
    assert schema["fields"] == [
        {
            "fieldPath": "amount",
            "nullable": True,
            "type": {"type": {"com.linkedin.schema.NumberType": {}}},
            "nativeDataType": "decimal(10,2)",
            "recursive": False,
            "isPartitioningKey": False,
            "description": "in euros",
            "label": "Sum",
            "globalTags": {"tags": [{"tag": "urn:li:tag:gold"}]},
        },
        {
            "fieldPath": "day",
            "nullable": True,
            "type": {"type": {"com.linkedin.schema.DateType": {}}},
            "nativeDataType": "date",
            "recursive": False,
            "isPartitioningKey": True,
        },
    ]
    assert found[HIVE_ORDERS, "subTypes"] == {"typeNames": ["Table"]}
    assert found[HIVE_ORDERS, "container"] == {
        "container": "urn:li:container:9181afd2cfaa40ad8036c0560f250dbb"
    }
    assert found[HIVE_ORDERS, "ownership"]["owners"][0]["owner"] == "urn:li:corpuser:etl"
    assert found[HIVE_ORDERS, "globalTags"] == {"tags": [{"tag": "urn:li:tag:pii"}]}
    assert found[HIVE_ORDERS, "dataPlatformInstance"] == {"platform": "urn:li:dataPlatform:hive"}
    assert found[HIVE_ORDERS, "status"] == {"removed": False}


TYPES = {
    "Boolean": "boolean",
    "Number": "tinyint smallint int integer bigint float double decimal decimal(10,2) long short byte real numeric",
    "String": "string varchar(20) char(3) STRING",
    "Bytes": "binary",
    "Date": "date",
    "Time": "timestamp interval timestamp_ntz",
    "Array": "array<int>",
    "Map": "map<string,int>",
    "Record": "struct<a:int,b:string>",
    "Union": "uniontype<int,string>",
    "Null": "void geometry ?",
}


def test_every_type_of_a_column() -> None:
    assert {kind: [type_of(each) for each in natives.split()] for kind, natives in TYPES.items()} == {
        kind: [kind] * len(natives.split()) for kind, natives in TYPES.items()
    }
    assert type_of("") == "Null"


def test_a_view_has_its_text_and_a_path_has_neither_container_nor_schema() -> None:
    view = described(dataset("a.v", "VIEW"), details=Details(text="select 1", kind="MATERIALIZED_VIEW"))
    found = aspects([view, described(dataset("/x"), details=Details("hdfs"))])
    of_view, of_path = dict.fromkeys(urn for urn, _ in found)

    assert found[of_view, "viewProperties"] == {
        "materialized": True,
        "viewLogic": "select 1",
        "viewLanguage": "SQL",
    }
    assert {name for urn, name in found if urn == of_path} == {
        "datasetProperties",
        "subTypes",
        "dataPlatformInstance",
        "ownership",
        "status",
    }
    assert found[of_path, "subTypes"] == {"typeNames": ["Folder"]}


def test_a_table_of_a_metastore_that_is_only_claimed_names_no_database() -> None:
    names = {name for _, name in aspects([described(dataset("a.t", source=CLAIMED))])}

    assert "container" not in names and "datasetProperties" in names


def test_what_is_deleted_is_removed_softly_and_nothing_else_is_said_of_it() -> None:
    items: list[Item] = [
        described(dataset("a.t"), [("x", "int")], deleted=True, details=Details("etl")),
        described(database("a"), deleted=True),
        operation("insert", "INSERT", reads=["a.s"], writes=["a.t"], deleted=True),
    ]

    assert [(each["aspectName"], each["aspect"]["json"]) for each in proposals(items)] == [
        ("status", {"removed": True})
    ] * 3


def test_a_renamed_table_is_removed_under_its_old_name() -> None:
    renamed = Renamed(dataset("sales.old"), dataset("sales.orders"), time_ms=AT_MS)

    assert [
        (each["entityUrn"], each["aspectName"], each["aspect"]["json"]) for each in proposals([renamed])
    ] == [("urn:li:dataset:(urn:li:dataPlatform:hive,sales.old,PROD)", "status", {"removed": True})]


def test_what_a_site_says_itself_is_left_to_it() -> None:
    table = described(dataset("a.t"), [("x", "int")], details=Details("etl"), words=Words(tags=("pii",)))
    insert = operation("insert", "INSERT", part(["a.t.x"], ["a.s.x"]))

    assert {name for _, name in aspects([table, insert], describe=False)} == {
        "dataFlowInfo",
        "dataJobInfo",
        "dataJobInputOutput",
        "status",
    }
    assert {name for _, name in aspects([table])} - {
        name for _, name in aspects([table], owners=False, tags=False)
    } == {
        "ownership",
        "globalTags",
    }


# -- Operations ---------------------------------------------------------------------------------------------------------


def test_a_job_with_its_ends_and_its_columns() -> None:
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
    # What decides over the rows would be read as data in a lineage of columns.
    assert info["customProperties"]["controlFlow"] == "sales.orders.region"
    assert info["customProperties"]["operationType"] == "INSERT_OVERWRITE"


def test_of_very_many_columns_that_decide_the_first_are_named_and_the_others_counted() -> None:
    made = operation("insert", "INSERT", predicate(["a.t.x"], [f"a.s.c{at:03}" for at in range(103)]))
    info = next(each for (_, name), each in aspects([made]).items() if name == "dataJobInfo")

    assert info["customProperties"]["controlFlow"].endswith("a.s.c098, a.s.c099, and 3 more")


def test_ends_that_are_gone_are_left_out_and_a_path_brings_along_its_tables() -> None:
    gone = End(dataset("a.gone"), deleted=True)
    path = End(dataset("/w/t"), tables=(End(dataset("a.t")), gone))
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


def test_a_view_that_nobody_ran_has_upstreams_and_no_job() -> None:
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


def test_names_of_columns_are_encoded_and_folded_with_their_tables() -> None:
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


# -- Runs ---------------------------------------------------------------------------------------------------------------

STARTED = ("STARTED", AT_MS, None, None)
ENDED_MS = AT_MS + 15_000
RUNS = {
    # status, started, ended → events: status, time, result, how long
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
    # Impala's lineage log does not say how a query ended, but when.
    ("", AT_MS, ENDED_MS): [STARTED, ("COMPLETE", ENDED_MS, None, 15_000)],
    ("", AT_MS, 0): [STARTED],
    ("SUCCEEDED", 0, ENDED_MS): [("STARTED", ENDED_MS, None, None), ("COMPLETE", ENDED_MS, "SUCCESS", None)],
    ("SUCCEEDED", AT_MS, 0): [STARTED, ("COMPLETE", AT_MS + 7, "SUCCESS", None)],
}


@pytest.mark.parametrize("known", RUNS, ids=str)
def test_the_events_of_a_run(known: tuple[str, int, int]) -> None:
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


def test_a_run_beside_its_job() -> None:
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


def test_nothing_that_is_named_was_never_sent() -> None:
    """DataHub makes whatever an aspect refers to, empty: all of it is in the export, but users, tags and platforms."""
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


# -- The schemas of the reference, by number -----------------------------------------------------------------------------

ASPECTS = (
    "dataProcessInstanceInput dataProcessInstanceOutput dataProcessInstanceProperties dataProcessInstanceRelationships"
    " status testResults dataPlatformInstance subTypes container mlTrainingRunProperties dataProcessInstanceRunEvent"
).split()
NOT_OURS = {"testResults", "container", "mlTrainingRunProperties"}
"""navlin knows no tests and no models, and a run is in no container."""


@pytest.fixture(scope="module")
def printed() -> dict[str, Any]:
    """The schemas that the reference of dataProcessInstance prints, by aspect."""
    found = sorted((REPOSITORY.parent / "shared" / "seeds").glob("001_*.txt"))
    if not found:
        pytest.skip("the reference of dataProcessInstance is not beside this checkout")
    text = found[0].read_text()
    schemas = [
        json.JSONDecoder().raw_decode(text, each.end())[0]
        for each in re.finditer(r"^Schema\n", text, re.MULTILINE)
    ]
    return {each["Aspect"]["name"]: each for each in schemas}


@pytest.mark.parametrize("number", range(1, len(ASPECTS) + 1))
def test_an_aspect_is_as_the_reference_has_it(number: int, printed: dict[str, Any]) -> None:
    name = ASPECTS[number - 1]
    written = [
        each["aspect"]["json"]
        for each in proposals(every_kind())
        if each["aspectName"] == name and each["entityType"] == "dataProcessInstance"
    ]

    assert bool(written) is (name not in NOT_OURS)
    types: dict[str, Any] = {}
    problems = [each for aspect in written for each in _problems(printed[name], aspect, types, name)]
    assert problems == []


def _problems(schema: Any, value: Any, types: dict[str, Any], at: str) -> list[str]:
    """Where a value is not as an Avro schema has it."""
    if isinstance(schema, dict) and "name" in schema:
        types[f"{schema.get('namespace', '')}.{schema['name']}"] = schema
    match schema:
        case list():
            every = [_problems(each, value, types, at) for each in schema]
            return min(every, key=len) if all(every) else []
        case {"type": "record", "fields": fields}:
            if not isinstance(value, dict):
                return [f"{at}: {value!r} is no record"]
            known = {each["name"]: each for each in fields}
            problems = [f"{at}.{each}: unknown" for each in value if each not in known]
            for name, of_field in known.items():
                if name in value:
                    problems += _problems(of_field["type"], value[name], types, f"{at}.{name}")
                elif "default" not in of_field:
                    problems.append(f"{at}.{name}: missing")
            return problems
        case {"type": "array", "items": items}:
            each_of = value if isinstance(value, list) else [None]
            return [problem for each in each_of for problem in _problems(items, each, types, f"{at}[]")]
        case {"type": "map", "values": values}:
            each_of = list(value.values()) if isinstance(value, dict) else [None]
            return [problem for each in each_of for problem in _problems(values, each, types, f"{at}{{}}")]
        case {"type": "enum", "symbols": symbols}:
            return [] if value in symbols else [f"{at}: {value!r} is none of {symbols}"]
        case {"type": inner}:
            return _problems(inner, value, types, at)
        case str() if schema in types:
            return _problems(types[schema], value, types, at)
    plain = {"string": str, "boolean": bool, "long": int, "int": int, "null": type(None)}[schema]
    return [] if type(value) is plain else [f"{at}: {value!r} is no {schema}"]


# -- Of a real index -------------------------------------------------------------------------------------------------------


@pytest.fixture
def world(solr: Solr, request: pytest.FixtureRequest) -> World:
    """An estate with everything that becomes a proposal."""
    made = World(solr, f"datahub-{request.node.name}")
    orders = made.table("orders", "id", "amount", tableType="MANAGED_TABLE", tags=["pii"])
    daily = made.table("daily", "total")
    view = made.table("v", "id", kind=EntityType.VIEW, queryText="select id from db.orders")
    path = made.path("/landing")
    insert = made.operation(
        "insert into db.daily select sum(amount) from db.orders",
        [orders],
        [daily],
        parts={"daily.total": ["orders.amount"]},
        operationType="INSERT",
    )
    made.operation("load", [path], [orders], operationType="LOAD")
    made.execution(insert, "run 1", started=AT_MS, ended=AT_MS + 1, principal="ann", status="SUCCEEDED")
    made.relate(RelationType.DATA_FLOW, orders, view, writer=HIVE)
    made.index()
    return made


def question(world: World, **options: Any) -> Question:
    query = f"sourceId:({' '.join(source.id for source in world.sources.values())})"
    return Question(targets()["datahub"], Selection(query), DataHubOptions(**options))


def test_the_proposals_of_an_index(world: World) -> None:
    asked = question(world)
    found = json.loads(b"".join(asked.records(asked.batches(world.solr))))
    kinds = Counter((each["entityType"], each["aspectName"]) for each in found)

    assert kinds["dataset", "datasetProperties"] == 4
    assert kinds["dataset", "schemaMetadata"] == 3
    assert kinds["dataset", "upstreamLineage"] == 1
    assert kinds["dataset", "globalTags"] == 1
    assert kinds["container", "containerProperties"] == 1
    assert kinds["dataFlow", "dataFlowInfo"] == 1
    assert kinds["dataJob", "dataJobInputOutput"] == 2
    assert kinds["dataProcessInstance", "dataProcessInstanceRunEvent"] == 2
    (fine,) = (
        fine
        for each in found
        if each["aspectName"] == "dataJobInputOutput"
        for fine in each["aspect"]["json"]["fineGrainedLineages"]
    )
    assert fine["upstreams"] == [
        "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD),amount)"
    ]


def test_a_file_is_one_array_also_if_it_was_cut_off(world: World, tmp_path: Path) -> None:
    straight, cut = tmp_path / "straight.json", tmp_path / "cut.json"
    asked = question(world)
    write_file(world.solr, asked, straight, Positions(tmp_path / "1"), lambda _: None)

    def cut_off(done: Exported) -> None:
        if done.counts["operations"] == 0 and done.counts["datasets"]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(world.solr, asked, cut, Positions(tmp_path / "2"), cut_off)
    with pytest.raises(json.JSONDecodeError):
        json.loads(cut.read_bytes())
    done = write_file(world.solr, asked, cut, Positions(tmp_path / "2"), lambda _: None)

    assert done.resumed
    # What was there before the cut may come again, alike.
    whole, resumed = (
        {json.dumps(each) for each in json.loads(file.read_bytes())} for file in (straight, cut)
    )
    assert whole == resumed and len(whole) > 40


def test_of_nothing_there_is_an_empty_array(world: World, tmp_path: Path) -> None:
    asked = replace(question(world), selection=Selection("originalName:nothing_is_called_so"))
    write_file(world.solr, asked, tmp_path / "none.json", Positions(tmp_path / "1"), lambda _: None)

    assert json.loads((tmp_path / "none.json").read_bytes()) == []


# -- DataHub's own classes -----------------------------------------------------------------------------------------------


@pytest.mark.services
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"platform_instance": "cm", "storage_instance": "dc1", "env": "dev", "lowercase": True},
        {"describe": False, "owners": False, "tags": False},
    ],
    ids=["as it is", "with instances", "lineage alone"],
)
def test_datahub_s_own_classes_and_file_source_take_every_proposal(
    options: dict[str, Any], export_readers: Environment, tmp_path: Path
) -> None:
    sent = proposals(every_kind(), **options)
    file = tmp_path / "proposals.json"
    file.write_text(json.dumps(sent))
    answer = export_readers.answer(REPOSITORY / "tests/services/read_datahub.py", file)

    assert answer["problems"] == []
    assert answer["ingested"] == len(sent)
    assert len(answer["kinds"]) >= (10 if "describe" in options else 25)


@pytest.mark.services
def test_what_datahub_s_own_classes_refuse(export_readers: Environment, tmp_path: Path) -> None:
    """That they are asked at all: each of these is wrong in one way."""
    (right,) = (
        each
        for each in proposals([described(dataset("a.t"), details=Details("etl"))])
        if each["aspectName"] == "ownership"
    )
    aspect = right["aspect"]["json"]
    wrong = [
        {**right, "entityUrn": "urn:li:dataset:(urn:li:dataPlatform:hive,a,b,PROD)"},
        {**right, "aspectName": "schemaFieldInfo"},
        {**right, "aspect": {"json": {**aspect, "unknown": 1}}},
        {**right, "aspect": {"json": {"owners": [{"owner": "ann", "type": "NOBODY"}]}}},
    ]
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps([right, *wrong]))
    problems = export_readers.answer(REPOSITORY / "tests/services/read_datahub.py", file)["problems"]

    assert [
        sum(each.startswith(f"{it['aspectName']} of {it['entityUrn']}") for each in problems) > 0
        for it in wrong
    ] == ([True] * 4)
    assert len(problems) >= 4


# -- GMS ----------------------------------------------------------------------------------------------------------------


@dataclass
class Service:
    """A server that takes proposals as GMS does. ``refuses`` is an entity's type that it refuses, whole requests with it."""

    url: str = ""
    refuses: str = ""
    batches: bool = True
    taken: list[dict[str, Any]] = field(default_factory=list)
    requests: list[tuple[str, int]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)


@pytest.fixture
def gms() -> Iterator[Service]:
    service = Service()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = urlsplit(self.path)
            (action,) = parse_qs(asked.query)["action"]
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            sent = body["proposals"] if action == "ingestProposalBatch" else [body["proposal"]]
            service.requests.append((action, len(sent)))
            service.tokens.add(self.headers["Authorization"])
            refused = any(each["entityType"] == service.refuses for each in sent)
            unknown = action == "ingestProposalBatch" and not service.batches
            status = 422 if refused else 400 if unknown or asked.path != "/aspects" else 200
            if status == 200:
                service.taken += sent
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"no such thing" if status != 200 else b"{}")

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    service.url = f"http://127.0.0.1:{server.server_port}"
    yield service
    server.shutdown()
    thread.join()
    server.server_close()


def sent_to(gms: Service) -> list[int | Refused]:
    connection = Connection(Address(gms.url, token="a-token"), wait=lambda _: None)
    try:
        return list(send(connection, records(every_kind(), DataHubOptions()), DataHubOptions()))
    finally:
        connection.close()


def test_proposals_are_posted_many_at_once_with_the_token(gms: Service) -> None:
    sent = proposals(every_kind())

    assert sum(each for each in sent_to(gms) if isinstance(each, int)) == len(sent) > 200
    assert gms.tokens == {"Bearer a-token"}
    assert {action for action, _ in gms.requests} == {"ingestProposalBatch"}
    assert max(count for _, count in gms.requests) == 100
    assert [
        (each["entityUrn"], each["aspectName"], json.loads(each["aspect"]["value"])) for each in gms.taken
    ] == [(each["entityUrn"], each["aspectName"], each["aspect"]["json"]) for each in sent]
    assert {each["aspect"]["contentType"] for each in gms.taken} == {"application/json"}


def test_what_is_refused_is_named_and_the_rest_is_taken(gms: Service) -> None:
    gms.refuses = "container"
    sent = proposals(every_kind())
    answers = sent_to(gms)
    refused = [each for each in answers if isinstance(each, Refused)]

    assert [each.what for each in refused] == [
        f"{each['aspectName']} of {each['entityUrn']}" for each in sent if each["entityType"] == "container"
    ]
    assert refused[0].reason == "HTTP 422: no such thing"
    assert len(gms.taken) == len(sent) - len(refused)


def test_a_service_that_takes_no_batches_gets_one_at_a_time(gms: Service) -> None:
    gms.batches = False

    assert all(each == 1 for each in sent_to(gms))
    assert len(gms.taken) == len(proposals(every_kind()))
