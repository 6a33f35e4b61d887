"""navlin's use of every facet in OpenLineage's specification, and OpenLineage's own examples."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pytest

from navlin.model.keys import EntityType, RelationType
from navlin.model.records import Record
from tests.support.openlineage import RUN, Follower, Json, event, flows, symlinks, table

RUN_FACET, JOB, DATASET, INPUT, OUTPUT = "run", "job", "facets", "inputFacets", "outputFacets"


class Fate(StrEnum):
    """Use of a facet. USED: it affects entities or relations. KEPT: it becomes an attribute. IGNORED: it is
    dropped."""

    USED = "used"
    KEPT = "kept"
    IGNORED = "ignored"


class Facet(NamedTuple):
    """A facet as used on one kind of object, with an example, and the reason if it is ignored."""

    file: str
    place: str
    name: str
    fate: Fate
    example: Json
    why: str = ""


USED, KEPT, IGNORED = Fate.USED, Fate.KEPT, Fate.IGNORED
_OWNERS = {"owners": [{"name": "team:sales", "type": "MAINTAINER"}]}
_TAGS = {"tags": [{"key": "pii", "value": "true", "source": "CONFIG"}]}
_METRICS = {"rowCount": 7, "bytes": 8, "columnMetrics": {"id": {"nullCount": 0}}}
_SUBSET = {"inputCondition": {"type": "location", "locations": ["/a"]}}
_FROM = {"namespace": "hive://hms:9083", "name": "a.z", "type": "DATASET"}
FACETS = [
    Facet("BaseSubset", INPUT, "subset", IGNORED, _SUBSET, "flows are of whole datasets; no client that was met sends it"),
    Facet("BaseSubset", OUTPUT, "subset", IGNORED, {"outputCondition": _SUBSET["inputCondition"]}, "the same"),
    Facet("Catalog", DATASET, "catalog", USED, {"framework": "iceberg", "type": "rest", "name": "c"}),
    Facet("ColumnLineage", DATASET, "columnLineage", USED, {"fields": {"x": {"inputFields": [{**_FROM, "field": "y"}]}}}),
    Facet(
        "DataQualityAssertions", INPUT, "dataQualityAssertions", IGNORED, {"assertions": []}, "of data, not where from"
    ),
    Facet("DataQualityMetrics", DATASET, "dataQualityMetrics", IGNORED, _METRICS, "of data, not where it comes from"),
    Facet("DataQualityMetricsInput", INPUT, "dataQualityMetrics", IGNORED, _METRICS, "of data, not where it comes from"),
    Facet("DatasetType", DATASET, "datasetType", USED, {"datasetType": "VIEW"}),
    Facet("DatasetVersion", DATASET, "version", IGNORED, {"datasetVersion": "42"}, "datasets have no versions here"),
    Facet("Datasource", DATASET, "dataSource", IGNORED, {"name": "x", "uri": "x://y"}, "the namespace says it"),
    Facet("Documentation", DATASET, "documentation", KEPT, {"description": "of a dataset"}),
    Facet("DocumentationJob", JOB, "documentation", KEPT, {"description": "of a job"}),
    Facet(
        "EnvironmentVariables",
        RUN_FACET,
        "environmentVariables",
        IGNORED,
        {"environmentVariables": [{"name": "HOME", "value": "/root"}]},
        "they hold secrets",
    ),
    Facet("ErrorMessage", RUN_FACET, "errorMessage", KEPT, {"message": "no", "programmingLanguage": "JAVA"}),
    Facet(
        "ExecutionParameters",
        RUN_FACET,
        "executionParameters",
        IGNORED,
        {"parameters": [{"key": "day", "name": "day", "value": "1"}]},
        "they hold secrets",
    ),
    Facet("ExternalQuery", RUN_FACET, "externalQuery", KEPT, {"externalQueryId": "q1", "source": "snowflake"}),
    Facet(
        "ExtractionError", RUN_FACET, "extractionError", USED, {"totalTasks": 2, "failedTasks": 1, "errors": []}
    ),
    Facet("Hierarchy", DATASET, "hierarchy", IGNORED, {"hierarchy": [{"type": "TABLE", "name": "a"}]}, "the name says it"),
    Facet("InputStatistics", INPUT, "inputStatistics", KEPT, {"rowCount": 3}),
    Facet(
        "JobDependencies",
        RUN_FACET,
        "jobDependencies",
        IGNORED,
        {"upstream": [{"job": {"namespace": "n", "name": "j"}}]},
        "which job waits for which is no flow of data",
    ),
    Facet("JobType", JOB, "jobType", USED, {"processingType": "BATCH", "integration": "DBT", "jobType": "MODEL"}),
    Facet("Lifecycle", DATASET, "lifecycleStateChange", USED, {"lifecycleStateChange": "DROP"}),
    Facet("Lineage", DATASET, "lineage", USED, {"inputs": [_FROM]}),
    Facet(
        "Lineage",
        JOB,
        "lineage",
        USED,
        {"entries": [{**_FROM, "name": "b.z", "inputs": [_FROM]}]},
    ),
    Facet(
        "NominalTime", RUN_FACET, "nominalTime", KEPT, {"nominalStartTime": "2023-11-14T00:00:00Z"}
    ),
    Facet("OutputStatistics", OUTPUT, "outputStatistics", KEPT, {"rowCount": 3, "size": 9}),
    Facet("OwnershipDataset", DATASET, "ownership", KEPT, _OWNERS),
    Facet("OwnershipJob", JOB, "ownership", KEPT, _OWNERS),
    Facet("ParentRun", RUN_FACET, "parent", USED, {"run": {"runId": "above"}, "job": {"namespace": "n", "name": "j"}}),
    Facet("ProcessingEngine", RUN_FACET, "processing_engine", KEPT, {"name": "trino", "version": "448"}),
    Facet("SQL", JOB, "sql", USED, {"query": "select 1"}),
    Facet("Schema", DATASET, "schema", KEPT, {"fields": [{"name": "id", "type": "int"}]}),
    Facet(
        "SourceCodeJob", JOB, "sourceCode", IGNORED, {"language": "python", "sourceCode": "x()"}, "a program"
    ),
    Facet("SourceCodeLocation", JOB, "sourceCodeLocation", KEPT, {"type": "git", "url": "https://git.example/x"}),
    Facet("Storage", DATASET, "storage", KEPT, {"storageLayer": "delta", "fileFormat": "parquet"}),
    Facet("Symlinks", DATASET, "symlinks", USED, symlinks(("hive://hms:9083", "a.z", "TABLE"))["symlinks"]),
    Facet("TagsDataset", DATASET, "tags", KEPT, _TAGS),
    Facet("TagsJob", JOB, "tags", KEPT, _TAGS),
    Facet("TagsRun", RUN_FACET, "tags", KEPT, _TAGS),
    Facet("Test", RUN_FACET, "test", IGNORED, {"tests": [{"name": "t", "status": "pass"}]}, "of data, not where from"),
]  # fmt: skip
_IN_FACETS = {DATASET: ("DatasetFacet",), JOB: ("JobFacet",), RUN_FACET: ("RunFacet",)}


@pytest.mark.parametrize("facet", FACETS, ids=lambda each: f"{each.name} of {each.place}: {each.fate}")
def test_each_facet_is_used_or_ignored_as_the_table_says(tmp_path: Path, facet: Facet) -> None:
    def read(folder: str, facets: Json) -> Sequence[Record]:
        (tmp_path / folder).mkdir()
        own = {"namespace": "postgres://db:5432", "name": "orders"}
        linked = facet.name in ("catalog", "symlinks")
        given: Json = {"run_facets": {}, "job_facets": {}}
        dataset: Json = {**own, DATASET: {}, INPUT: {}, OUTPUT: {}}
        if linked:
            dataset |= {"namespace": "file", "name": "/wh/z"}
            dataset[DATASET] |= symlinks(("file:/wh", "a.z", "TABLE")) if facet.name == "catalog" else {}
        if facet.name == "datasetType":
            dataset |= {"namespace": "hive://hms:9083", "name": "a.z"}
        if facet.place in (RUN_FACET, JOB):
            given["run_facets" if facet.place == RUN_FACET else "job_facets"] |= facets
        else:
            dataset[facet.place] |= facets
        side = "inputs" if facet.place == INPUT else "outputs"
        other = "outputs" if side == "inputs" else "inputs"
        made = event("COMPLETE", 1, **given) | {side: [dataset], other: [table("b.b")]}
        return Follower(tmp_path / folder).read(made).records

    without, with_it = read("without", {}), read("with", {facet.name: facet.example})
    assert (without != with_it) == (facet.fate is not Fate.IGNORED)
    assert bool(facet.why) == (facet.fate is Fate.IGNORED)


def test_every_facet_of_the_specification_is_in_the_table(corpora: Path) -> None:
    specified = {
        (name, place)
        for file in (corpora / "openlineage" / "spec" / "facets").glob("*.json")
        for name, place in _places(json.loads(file.read_text()))
    }
    assert {(each.name, each.place) for each in FACETS} == specified
    assert len(FACETS) == len(specified)


def _places(schema: Json) -> Iterator[tuple[str, str]]:
    """Yield (facet, place) for each base facet that the schema extends: a base facet determines the place."""
    extends = {
        "DatasetFacet": DATASET,
        "JobFacet": JOB,
        "RunFacet": RUN_FACET,
        "InputDatasetFacet": INPUT,
        "OutputDatasetFacet": OUTPUT,
    }
    (name,) = schema["properties"]
    for definition in schema["$defs"].values():
        for part in definition.get("allOf", []):
            extended = str(part.get("$ref", "")).rpartition("/")[2]
            if extended in extends:
                yield name, extends[extended]


# -- OpenLineage's own examples ------------------------------------------------------------------------------------------


def examples(corpora: Path) -> Iterator[tuple[str, Json]]:
    """The events of OpenLineage's tests, with placeholders, times and names filled in."""
    for file in sorted((corpora / "openlineage" / "spark").glob("*.json")):
        value = json.loads(file.read_text())
        if isinstance(value, dict) and ("eventType" in value or "outputs" in value or "job" in value):
            yield file.stem, _completed(value)


def _completed(value: Json) -> Json:
    made = copy.deepcopy(value)
    made["eventTime"] = "2023-11-14T22:14:00Z"
    made["eventType"] = made.get("eventType", "COMPLETE")
    for side in ("inputs", "outputs"):
        for number, each in enumerate(made.get(side) or []):
            for name in ("namespace", "name"):
                if "${" in str(each.get(name, "${")):
                    each[name] = "file" if name == "namespace" else f"/{side}/{number}"
            columns = each.get("facets", {}).get("columnLineage", {}).get("fields", {})
            for column in (one for field in columns.values() for one in field["inputFields"]):
                column.setdefault("namespace", "postgres://db:5432")
    job = {"namespace": "n", "name": "j", **made.get("job", {})}
    made["job"] = job | {name: name for name in ("namespace", "name") if "${" in str(job[name])}
    made["run"] = {"runId": RUN, "facets": made.get("run", {}).get("facets", {})}
    return made


def test_openlineages_examples_are_read(tmp_path: Path, corpora: Path) -> None:
    read = 0
    for name, value in examples(corpora):
        folder = tmp_path / name
        folder.mkdir()
        completed = {**value, "eventType": "COMPLETE"}
        got = Follower(folder).read(completed)
        assert got.rejects == [], name
        moved = [each for each in value.get("outputs") or [] if _moves(each, value)]
        written = {line for line in flows(got) if line.startswith("operation -> ")}
        assert bool(written) == bool(moved), name
        told = [
            (out, each)
            for out in moved
            for each in out.get("facets", {}).get("columnLineage", {}).get("fields", {})
        ]
        columns = {
            (r.ep2.parent, r.ep2.name.upper())
            for r in got.relations
            if r.ep1.type is EntityType.SUB_OPERATION
        }
        assert len(columns) == len({(out["name"], each.upper()) for out, each in told}), name
        sources = {r.ep1.identity for r in got.relations if r.ep2.type is EntityType.SUB_OPERATION}
        assert bool(sources) == any(
            field["inputFields"]
            for out in moved
            for field in out.get("facets", {}).get("columnLineage", {}).get("fields", {}).values()
        ), name
        read += 1
    assert read >= 90


def _moves(output: Json, value: Json) -> bool:
    changed = output.get("facets", {}).get("lifecycleStateChange", {}).get("lifecycleStateChange")
    if changed == "CREATE":
        select = "table_as_select" in value["job"]["name"]
        return bool(value.get("inputs") or output["facets"].get("columnLineage") or select)
    return changed not in ("ALTER", "DROP", "TRUNCATE")


def test_tables_of_openlineages_examples_are_bound_by_their_symlinks(tmp_path: Path, corpora: Path) -> None:
    bound = 0
    for name, value in examples(corpora):
        linked = [
            each["name"]
            for out in value.get("outputs") or []
            for each in out.get("facets", {}).get("symlinks", {}).get("identifiers", [])
            if each["type"] == "TABLE"
            and each["name"].count(".") == 1
            and "${" not in each.get("namespace", "${")
            if out["facets"].get("catalog", {}).get("type", "hive") == "hive" and _moves(out, value)
        ]
        if not linked:
            continue
        (tmp_path / name).mkdir()
        got = Follower(tmp_path / name).read({**value, "eventType": "COMPLETE"})
        tables = {
            line.removeprefix("operation -> ") for line in flows(got) if line.startswith("operation -> ")
        }
        assert tables == set(linked), name
        lies = [r for r in got.relations if r.type is RelationType.LOGICAL_PHYSICAL]
        assert lies, name
        bound += 1
    assert bound >= 10
