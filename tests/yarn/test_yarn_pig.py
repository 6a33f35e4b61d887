"""The jobs of a Pig script are one execution of one operation, from what the script reads to what it stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from extractors.yarn import engine_runs
from extractors.yarn.engine_runs import KeptJob
from extractors.yarn.splits import SeenSplit
from navlin.model.identity import identify
from navlin.model.keys import EntityType, RelationType, table_key
from navlin.model.records import Covered, Entity, Position
from navlin.model.redaction.literals import masking
from navlin.pipeline.masking_literals import without_literals_in
from tests.services.rest import JobHistory, ResourceManager
from tests.support.pig_jobs import OLDER, SALES, Written, a_file, a_list, a_store, captured, encoded
from tests.support.stored import stored
from tests.support.yarn_rounds import (
    METASTORE,
    MINUTE_MS,
    NOW_MS,
    SOURCE,
    Extracted,
    Following,
    app,
    job,
    named,
)

SCRIPT = "pg/sales.pig"
RUN = "23ce90d5-25f0-4c62-af85-8d95c656073d"
SIGNATURE = "-1634040902"
JOBS_MISSING = "some jobs of its script have not ended, or left no history"
UNINFORMED = "pig.script.info.enabled is false, so its jobs do not name what they read and write"
TABLE_OR_PATH = "a name in its script may be a Hive table or a relative path"
HCAT = "org.apache.hive.hcatalog.pig.HCat"


class PigEstate:
    """A JobHistoryServer and a ResourceManager with jobs of Pig. Jobs run one after the other, a second each."""

    def __init__(self, resource_manager: ResourceManager, history: JobHistory) -> None:
        self.history = history
        self.following = Following(resource_manager, history=history)
        self._number = 0

    def add(self, properties: Mapping[str, Any], state: str = "SUCCEEDED", **more: Any) -> str:
        """Add a job with the properties of its configuration, and return the id of its application."""
        self._number += 1
        start_ms = NOW_MS - 10 * MINUTE_MS + 2_000 * self._number
        times = {"submitTime": start_ms, "startTime": start_ms, "finishTime": start_ms + 1_000}
        name = str(properties.get("mapreduce.job.name", "PigLatin:x.pig"))
        made = job(self._number, name, state=state, **times, **more)
        self.history.add(made)
        self.history.configurations[made["id"]] = dict(properties)
        return str(made["id"]).replace("job_", "application_")

    def script(
        self, node: str = "", *, run: str = "run-1", state: str = "SUCCEEDED", **properties: Any
    ) -> str:
        """Add a job of the script ``daily.pig``; underscores in the names of ``properties`` become dots."""
        usual = {
            "pig.script.id": run,
            "mapreduce.workflow.name": "/etl/daily.pig",
            "mapreduce.workflow.node.name": node,
            "pig.logical.plan.signature": 7,
            "mapreduce.job.name": "PigLatin:daily.pig",
            "mapreduce.job.working.dir": "hdfs://ns1/user/etl",
            "fs.defaultFS": "hdfs://ns1",
        }
        return self.add(usual | {name.replace("_", "."): each for name, each in properties.items()}, state)

    def run(self) -> Extracted:
        return self.following.run()


@pytest.fixture
def pig(resource_manager: ResourceManager, history: JobHistory) -> Iterator[PigEstate]:
    yield PigEstate(resource_manager, history)


def ends(reported: Extracted, name: str = "") -> tuple[set[str], set[str]]:
    """Return what the script with this name reads and writes; that of the only one if no name is given."""
    flows = reported.relations(RelationType.DATA_FLOW)
    reads = {
        named(each.ep1) for each in flows if each.ep2.type is EntityType.OPERATION and name in each.ep2.name
    }
    writes = {
        named(each.ep2) for each in flows if each.ep1.type is EntityType.OPERATION and name in each.ep1.name
    }
    return reads, writes


def of_pig(reported: Extracted, kind: EntityType) -> list[Entity]:
    return [
        each
        for each in reported.records
        if isinstance(each, Entity) and each.key.type is kind and each.key.source.type == "PIG"
    ]


def operation(reported: Extracted) -> Entity:
    [found] = {each.key.identity: each for each in of_pig(reported, EntityType.OPERATION)}.values()
    return found


def execution(reported: Extracted) -> Entity:
    [found] = of_pig(reported, EntityType.OPERATION_EXECUTION)
    return found


def why(reported: Extracted) -> list[str]:
    return list(operation(reported).attributes.get("incompleteReasons", []))


def kept_text(pig: PigEstate) -> str:
    """Return all positions as text, with the jobs that they keep."""
    values = pig.following.positions
    jobs = [KeptJob.of(value).job for key, value in values.items() if key.startswith("job ")]
    return repr((values, jobs))


# -- The captured jobs --------------------------------------------------------------------------------------------------


def test_the_captured_script_leads_from_its_loads_to_both_stores(pig: PigEstate, corpora: Path) -> None:
    applications = [pig.add(captured(corpora, name)) for name in SALES]
    reported = pig.run()
    assert ends(reported) == (
        {"/data/pig/orders", "/data/pig/customers", "/data/pig/customers2"},
        {"/data/pig/out/big", "/data/pig/out/totals"},
    )
    found = operation(reported)
    assert (found.key.identity, found.key.name) == (identify(SCRIPT, SIGNATURE), SCRIPT)
    assert found.key.source.id == SOURCE.id
    assert not found.ages
    run = execution(reported)
    assert (run.key.identity, run.key.name, run.key.parent) == (identify(RUN), RUN, found.key)
    links = {(each.ep1.identity, each.ep2.name) for each in reported.relations(RelationType.LOGICAL_PHYSICAL)}
    assert links == {(end, each) for end in (found.key.identity, run.key.identity) for each in applications}
    covered = [each for each in reported.records if isinstance(each, Covered)]
    # Earlier versions had operations of YARN with the ends of two jobs. The third one only has temporary ends.
    assert len(covered) == 3
    assert Covered(found.key.tree_path, run.as_of_ms, reported=True) in covered


def test_the_captured_scripts_attributes_are_those_of_the_script(pig: PigEstate, corpora: Path) -> None:
    for name in SALES:
        pig.add(captured(corpora, name))
    reported = pig.run()
    about, run = dict(operation(reported).attributes), execution(reported).attributes
    text = about.pop("queryText")
    assert text.startswith("-- daily totals\norders = LOAD '/data/pig/orders' USING PigStorage(',')")
    assert text.endswith("STORE big INTO '/data/pig/out/big';\n")
    assert [orjson.loads(each) for each in about.pop("stores")] == [
        {
            "name": "/data/pig/out/big",
            "function": "org.apache.pig.builtin.PigStorage",
            "alias": "big",
            "columns": "id int, customer int, amount double, day chararray",
        },
        {
            "name": "/data/pig/out/totals",
            "function": "PigStorage",
            "alias": "ordered",
            "columns": "name chararray, total double",
        },
    ]
    assert {name: value for name, value in about.items() if value} == {
        "internalType": "pig_operation",
        "engineType": "PIG",
        "jobName": SCRIPT,
        "logicalPlanHash": SIGNATURE,
    }
    assert run["queryText"] == text
    jobs = run["jobs"]
    assert [each.partition(" ")[2] for each in jobs] == [
        "SUCCEEDED big,orders (MULTI_QUERY,MAP_ONLY)",
        "SUCCEEDED customers,joined,slim (HASH_JOIN)",
        "SUCCEEDED grouped,totals (GROUP_BY,COMBINER)",
        "SUCCEEDED ordered (SAMPLER)",
        "SUCCEEDED ordered (ORDER_BY)",
    ]
    assert {
        name: run[name] for name in ("scriptId", "status", "principal", "started", "pigVersion", "operation")
    } == {
        "scriptId": RUN,
        "status": "SUCCEEDED",
        "principal": "etl",
        "started": 1_795_728_973_603,
        "pigVersion": "0.18.0",
        "operation": SCRIPT,
    }
    assert run["inputs"] == ["/data/pig/orders", "/data/pig/customers", "/data/pig/customers2"]
    assert run["outputs"] == ["/data/pig/out/big", "/data/pig/out/totals"]


def test_the_captured_job_of_pig_0_17_is_a_whole_script(pig: PigEstate, corpora: Path) -> None:
    pig.add(captured(corpora, OLDER))
    reported = pig.run()
    assert ends(reported) == ({"/data/pig/orders"}, {"/data/pig/out17/totals"})
    assert operation(reported).key.identity == identify("pg/s17.pig", "-1258976741")
    assert execution(reported).key.identity == identify("c99a148a-fe7d-4cc9-97a8-aebde890c421")
    assert why(reported) == []


def test_yarns_own_operations_of_pigs_jobs_have_no_flows(pig: PigEstate, corpora: Path) -> None:
    for name in SALES:
        pig.add(captured(corpora, name))
    reported = pig.run()
    assert "PigLatin:sales.pig" in reported.operations
    assert reported.reasons["PigLatin:sales.pig"] == []
    assert {each.ep1.source.type for each in reported.relations(RelationType.DATA_FLOW)} == {"HDFS", "PIG"}


@pytest.mark.parametrize("place", range(5))
def test_a_planted_password_is_stored_nowhere(pig: PigEstate, corpora: Path, place: int) -> None:
    secret = "hunter2-planted"
    for at, name in enumerate(SALES):
        properties = captured(corpora, name)
        if at == place:
            properties |= {
                "my.password": secret,
                "pig.cmd.args": f"-p password={secret} -f pg/sales.pig",
                "pig.input.dirs": f"{properties['pig.input.dirs']},s3a://key:{secret}@bucket/in",
                "pig.reduce.output.dirs": f"s3a://key:{secret}@bucket/out",
                "pig.client.sys.props": encoded(f"password={secret}"),
                "mapreduce.workflow.name": f"s3a://key:{secret}@bucket/x.pig",
                "mapreduce.job.name": f"PigLatin:x password={secret}",
                "hive.metastore.uris": f"thrift://u:{secret}@h:9083",
                "fs.defaultFS": f"hdfs://u:{secret}@ns1",
                "pig.script": encoded(
                    f"STORE x INTO 'y' USING DBStorage('d', 'u', '{secret}');\nset a.password {secret};"
                ),
                "pig.reduce.stores": encoded(
                    a_list([a_store(f"s3a://k:{secret}@bucket/out", "DBStorage", arguments=["u", secret])])
                ),
                "pig.loads": encoded(
                    a_list([Written("POLoad", {"Lpc": Written("P", {"Lpassword": secret})})])
                ),
            }
        pig.add(properties)
    reported = pig.run()
    assert secret not in stored(reported.records)
    positions = [each for each in reported.records if isinstance(each, Position)]
    assert len(positions) == 5
    assert secret not in kept_text(pig)


def test_no_literal_of_a_script_is_kept_if_literals_are_masked(pig: PigEstate) -> None:
    text = "a = LOAD '/in' AS (n:int);\nb = FILTER a BY n == 31415926535 OR s == 'planted'; -- planted\n"
    pig.script(
        mapreduce_job_name="PigLatin:daily 'planted'",
        pig_script=encoded(text),
        pig_input_dirs="/in",
        pig_map_output_dirs="/out1",
        pig_map_stores=encoded(a_list([a_store("/out1", "PigStorage", ("n1", 10))])),
        pig_alias="a1,b",
    )
    before = operation(pig.run()).key.identity
    pig.following.positions.clear()
    with masking(True):
        reported = pig.run()
        records = [without_literals_in(each) for each in reported.records]
    kept = stored(records) + kept_text(pig)
    assert "planted" not in kept
    assert "31415926535" not in kept
    masked = Extracted(reported.plan, records)
    assert operation(masked).key.identity == before
    assert (
        operation(masked).attributes["queryText"]
        == "a = LOAD '?' AS (n:int);\nb = FILTER a BY n == 0 OR s == '?';"
    )
    assert "/out1" in operation(masked).attributes["stores"][0]
    assert execution(masked).attributes["jobs"][0].endswith("_0001 SUCCEEDED a1,b")


# -- The operation -------------------------------------------------------------------------------------------------------


def test_two_runs_are_two_executions_of_one_operation_whatever_the_job_is_named(pig: PigEstate) -> None:
    for run, day in (("run-1", "2026-11-01"), ("run-2", "2026-11-02")):
        pig.script(
            run=run,
            mapreduce_job_name=f"PigLatin:totals {day}",
            pig_input_dirs="/in",
            pig_map_output_dirs="/out",
        )
    reported = pig.run()
    assert {each.key.identity for each in of_pig(reported, EntityType.OPERATION)} == {
        identify("/etl/daily.pig", "7")
    }
    assert {each.key.name for each in of_pig(reported, EntityType.OPERATION_EXECUTION)} == {"run-1", "run-2"}


def test_two_scripts_of_one_shape_are_two_operations(pig: PigEstate) -> None:
    for run, path in (("run-1", "/etl/a.pig"), ("run-2", "/etl/b.pig")):
        pig.script(
            run=run,
            mapreduce_workflow_name=path,
            pig_input_dirs=f"/in/{run}",
            pig_map_output_dirs=f"/out/{run}",
        )
    reported = pig.run()
    assert ends(reported, "a.pig") == ({"/in/run-1"}, {"/out/run-1"})
    assert ends(reported, "b.pig") == ({"/in/run-2"}, {"/out/run-2"})


def test_scripts_without_a_path_are_told_apart_by_their_text(pig: PigEstate) -> None:
    for run, text in (("run-1", "a = LOAD 'x';"), ("run-2", "a = LOAD 'x';"), ("run-3", "a = LOAD 'y';")):
        pig.script(
            run=run,
            mapreduce_workflow_name="default",
            pig_script=encoded(text),
            pig_input_dirs="/x",
            pig_map_output_dirs="/o",
        )
    of_run = {
        each.key.name: each.key.parent.identity
        for each in of_pig(pig.run(), EntityType.OPERATION_EXECUTION)
        if each.key.parent
    }
    assert of_run["run-1"] == of_run["run-2"] != of_run["run-3"]


# -- What it reads and writes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "read"),
    [
        ("/a,/b", {"/a", "/b"}),
        ("/a,/a", {"/a"}),
        ("/logs/{01,02},/c", {"/logs", "/c"}),
        (r"/c-{1\,2},/d", {"/", "/d"}),
        (r"/with\,comma,/d", {"/with,comma", "/d"}),
        ("hdfs://ns1/day=*/x,file:/local", {"/", "/local"}),
        ("pg/in,/tmp/temp12/tmp3", {"/user/etl/pg/in"}),
        ("hdfs://ns1/tmp/temp-12/tmp-3", set()),
        ("/tmp/temperatures", {"/tmp/temperatures"}),
    ],
)
def test_the_list_of_inputs_is_split_outside_braces_and_escapes(
    pig: PigEstate, listed: str, read: set[str]
) -> None:
    pig.script(pig_input_dirs=listed, pig_map_output_dirs="/out")
    assert ends(pig.run()) == (read - {"/"}, {"/out"})


def test_an_input_by_a_pattern_is_the_inferred_directory_above(pig: PigEstate) -> None:
    pig.script(pig_input_dirs="/logs/{01,02}/x", pig_map_output_dirs="/out")
    [flow] = [each for each in pig.run().relations(RelationType.DATA_FLOW) if named(each.ep1) == "/logs"]
    assert flow.attributes == {"inferred": True, "glob": "/logs/{01,02}/x"}


def test_the_stores_of_both_phases_are_outputs(pig: PigEstate) -> None:
    pig.script(pig_input_dirs="/in", pig_map_output_dirs="/a,/b", pig_reduce_output_dirs="/c")
    assert ends(pig.run()) == ({"/in"}, {"/a", "/b", "/c"})


def test_a_stores_name_with_a_comma_is_one_output(pig: PigEstate) -> None:
    store = encoded(a_list([a_store("/a,b", "PigStorage")]))
    pig.script(pig_input_dirs="/in", pig_map_output_dirs="/a,b", pig_map_stores=store)
    assert ends(pig.run()) == ({"/in"}, {"/a,b"})


def test_temporary_files_are_those_in_pigs_temporary_directory(pig: PigEstate) -> None:
    pig.script(
        pig_temp_dir="hdfs://ns1/data/scratch",
        pig_input_dirs="/data/scratch/temp1234/tmp5,/data/scratch/kept,/in",
        pig_map_output_dirs="/out,hdfs://ns1/data/scratch/temp-99/tmp6,/data/scratch/temps",
    )
    assert ends(pig.run()) == ({"/data/scratch/kept", "/in"}, {"/out", "/data/scratch/temps"})


def test_a_store_that_the_plan_marks_as_temporary_is_not_an_output(pig: PigEstate) -> None:
    plan = encoded(
        a_list([a_store("/out", "PigStorage"), a_store("/odd/between", "InterStorage", temporary=True)])
    )
    pig.script(pig_input_dirs="/in", pig_map_output_dirs="/out,/odd/between", pig_map_stores=plan)
    assert ends(pig.run()) == ({"/in"}, {"/out"})


def test_a_directory_that_the_script_stores_and_loads_again_is_only_an_output(pig: PigEstate) -> None:
    pig.script("a", pig_input_dirs="/in", pig_map_output_dirs="/middle")
    pig.script("b", pig_input_dirs="/middle,/more", pig_map_output_dirs="/out")
    assert ends(pig.run()) == ({"/in", "/more"}, {"/middle", "/out"})


def test_a_directory_that_is_read_before_it_is_replaced_is_an_input_too(pig: PigEstate) -> None:
    pig.script("a", pig_input_dirs="/state,/in", pig_map_output_dirs="/tmp/temp1/tmp1")
    pig.script("b", pig_input_dirs="/tmp/temp1/tmp1", pig_map_output_dirs="/state")
    assert ends(pig.run()) == ({"/state", "/in"}, {"/state"})


def test_hcatalogs_names_are_hive_tables(pig: PigEstate) -> None:
    pig.script(
        pig_input_dirs="mart.orders,names,/in",
        pig_loads=encoded(
            a_list(
                [
                    Written("POLoad", {"LlFile": a_file("mart.orders", f"{HCAT}Loader")}),
                    Written("POLoad", {"LlFile": a_file("names", "org.apache.hcatalog.pig.HCatLoader")}),
                    Written("POLoad", {"LlFile": a_file("/in", "PigStorage")}),
                ]
            )
        ),
        pig_reduce_output_dirs="mart.totals",
        pig_reduce_stores=encoded(
            a_list([a_store("mart.totals", f"{HCAT}Storer", ("name", 55), arguments=["ds=2026-01-01"])])
        ),
        hive_metastore_uris="thrift://hms:9083",
    )
    reported = pig.run()
    flows = reported.relations(RelationType.DATA_FLOW)
    tables = {each.ep1.identity for each in flows if each.ep1.type is EntityType.TABLE}
    assert tables == {
        table_key(METASTORE, "mart", "orders").identity,
        table_key(METASTORE, "default", "names").identity,
    }
    [written] = [each.ep2 for each in flows if each.ep2.type is EntityType.TABLE]
    assert written.identity == table_key(METASTORE, "mart", "totals").identity
    assert why(reported) == []
    assert execution(reported).attributes["outputs"] == ["mart.totals"]


def test_a_name_that_may_be_a_table_is_left_out_if_the_plan_cannot_be_decoded(pig: PigEstate) -> None:
    pig.script(
        pig_input_dirs="mart.orders,/in", pig_loads="!", pig_map_output_dirs="totals,/out", pig_map_stores="!"
    )
    reported = pig.run()
    assert ends(reported) == ({"/in"}, {"/out"})
    assert why(reported) == [TABLE_OR_PATH]


def test_a_relative_name_of_another_function_is_a_path(pig: PigEstate) -> None:
    plan = encoded(a_list([a_file("in,more", "PigStorage")]))
    pig.script(
        pig_input_dirs="in,more",
        pig_inputs=plan,
        pig_map_output_dirs="out",
        pig_map_stores=encoded(a_list([a_store("out", "PigStorage")])),
    )
    assert ends(pig.run()) == ({"/user/etl/in", "/user/etl/more"}, {"/user/etl/out"})


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("hbase://orders", "org.apache.pig.backend.hadoop.hbase.HBaseStorage"),
        ("hbase://orders", ""),
        ("ignored", "org.apache.pig.piggybank.storage.DBStorage"),
        ("accumulo://t?instance=i&user=u&password=hunter2", ""),
        ("radio/artists", "org.elasticsearch.hadoop.pig.EsStorage"),
    ],
)
def test_data_outside_directories_makes_the_script_incomplete(
    pig: PigEstate, name: str, function: str
) -> None:
    plan = encoded(a_list([a_store(name, function)])) if function else ""
    pig.script(pig_input_dirs="/in", pig_reduce_output_dirs=name, pig_reduce_stores=plan)
    reported = pig.run()
    assert ends(reported) == ({"/in"}, set())
    assert why(reported) == ["its output is not in a directory"]
    assert "hunter2" not in stored(reported.records) + kept_text(pig)


# -- Scripts that say less -----------------------------------------------------------------------------------------------


def test_a_script_without_information_is_incomplete_and_its_jobs_are_one_run(pig: PigEstate) -> None:
    common = {
        "pig.script.info.enabled": False,
        "pig.logical.plan.signature": 7,
        "pig.script.submitted.timestamp": 1_795_728_973_603,
        "mapreduce.job.name": "PigLatin:daily.pig",
        "mapreduce.input.fileinputformat.inputdir": "/in",
        "mapreduce.output.fileoutputformat.outputdir": "/out",
    }
    pig.add(common)
    pig.add(common)
    pig.add(common | {"pig.script.submitted.timestamp": 1_795_728_999_999})
    reported = pig.run()
    assert ends(reported) == (set(), set())
    assert why(reported) == [UNINFORMED]
    assert {each.key.name for each in of_pig(reported, EntityType.OPERATION_EXECUTION)} == {
        "7@1795728973603",
        "7@1795728999999",
    }
    assert operation(reported).key.identity == identify("PigLatin:daily.pig", "7")


def test_jobs_without_a_script_and_a_time_are_joined_by_their_temporary_directory(pig: PigEstate) -> None:
    own = {
        "mapreduce.job.inputformat.class": "org.apache.pig.backend.hadoop.executionengine.mapReduceLayer.PigInputFormat",
        "pig.streaming.task.output.dir": "hdfs://ns1/tmp/temp750979212/tmp1",
    }
    pig.add(own)
    pig.add(own | {"pig.streaming.task.output.dir": "hdfs://ns1/tmp/temp750979212/tmp2"})
    assert execution(pig.run()).key.name == "@/tmp/temp750979212"


def test_jobs_that_nothing_joins_are_runs_of_their_own(pig: PigEstate) -> None:
    applications = {pig.add({"pig.logical.plan.signature": 7, "mapreduce.job.name": "x"}) for _ in range(2)}
    reported = pig.run()
    assert {each.key.name for each in of_pig(reported, EntityType.OPERATION_EXECUTION)} == applications


def test_a_job_without_a_script_id_belongs_to_the_run_of_its_workflow(pig: PigEstate) -> None:
    pig.script("a", pig_input_dirs="/in", pig_map_output_dirs="/tmp/temp1/tmp1")
    pig.script(
        "b",
        run="",
        mapreduce_workflow_id="pig_run-1",
        pig_input_dirs="/tmp/temp1/tmp1",
        pig_map_output_dirs="/out",
    )
    reported = pig.run()
    assert execution(reported).key.name == "run-1"
    assert ends(reported) == ({"/in"}, {"/out"})


@pytest.mark.parametrize(("kind", "engine"), [("TEZ", "Tez"), ("SPARK", "Spark")])
def test_a_script_on_another_engine_is_shown_incomplete(
    pig: PigEstate, resource_manager: ResourceManager, kind: str, engine: str
) -> None:
    resource_manager.apps = [
        app(1, "PigLatin:daily.pig", kind),
        app(2, "PigLatin:failed.pig", kind, finalStatus="FAILED"),
        app(3, "daily", kind),
    ]
    reasons = pig.run().reasons
    assert reasons == {
        "PigLatin:daily.pig": [
            f"Pig ran its script on {engine}, and YARN does not show what the script read and wrote"
        ],
        "PigLatin:failed.pig": [],
        "daily": [],
    }


# -- Order, failures and late jobs -----------------------------------------------------------------------------------------

CHAIN = {"mapreduce.workflow.adjacency.a": "b,c", "mapreduce.workflow.adjacency.b": "d"}


def chain(pig: PigEstate, node: str, state: str = "SUCCEEDED", **properties: Any) -> str:
    return pig.script(
        node, state=state, **properties, **{name.replace(".", "_"): each for name, each in CHAIN.items()}
    )


def test_a_script_is_unfinished_while_jobs_of_its_plan_are_missing(pig: PigEstate) -> None:
    chain(pig, "a", pig_input_dirs="/in", pig_map_output_dirs="/first,/tmp/temp1/tmp1")
    reported = pig.run()
    assert ends(reported) == ({"/in"}, {"/first"})
    assert why(reported) == [JOBS_MISSING]
    assert execution(reported).attributes["status"] == "UNKNOWN"
    assert execution(reported).attributes["ended"] is None
    assert not any(isinstance(each, Covered) for each in reported.records)


def test_late_jobs_are_merged_with_those_read_before(pig: PigEstate) -> None:
    chain(pig, "a", pig_input_dirs="/in", pig_map_output_dirs="/first,/tmp/temp1/tmp1")
    before = operation(pig.run()).key
    chain(pig, "c", pig_input_dirs="/tmp/temp1/tmp1", pig_map_output_dirs="/third")
    assert ends(pig.run()) == ({"/in"}, {"/first", "/third"})
    chain(pig, "b", pig_input_dirs="/tmp/temp1/tmp1,/more", pig_map_output_dirs="/tmp/temp1/tmp2")
    chain(pig, "d", pig_input_dirs="/tmp/temp1/tmp2", pig_reduce_output_dirs="/last")
    reported = pig.run()
    assert ends(reported) == ({"/in", "/more"}, {"/first", "/third", "/last"})
    assert operation(reported).key == before
    assert why(reported) == []
    run = execution(reported).attributes
    assert (run["status"], len(run["jobs"])) == ("SUCCEEDED", 4)
    assert [each.path for each in reported.records if isinstance(each, Covered)] == [before.tree_path]
    assert pig.following.is_quiet()


def test_jobs_of_one_script_in_two_splits_are_merged_in_the_next_run(pig: PigEstate) -> None:
    for number in range(99):
        pig.add({"mapreduce.job.name": f"job {number}"})
    chain(pig, "a", pig_input_dirs="/in", pig_map_output_dirs="/tmp/temp1/tmp1")
    for node in "bcd":
        chain(pig, node, pig_input_dirs="/tmp/temp1/tmp1", pig_map_output_dirs=f"/{node}")
    plan = pig.following.plan()
    assert [len(each.seen) for each in plan.splits if isinstance(each, SeenSplit)] == [100, 3]
    pig.run()
    reported = pig.run()
    assert ends(reported) == ({"/in"}, {"/b", "/c", "/d"})
    assert execution(reported).attributes["status"] == "SUCCEEDED"
    assert pig.following.is_quiet()


def test_a_failed_script_keeps_the_stores_of_finished_jobs_and_what_led_to_them(pig: PigEstate) -> None:
    chain(pig, "a", pig_input_dirs="/in", pig_map_output_dirs="/first,/tmp/temp1/tmp1")
    chain(pig, "b", "FAILED", pig_input_dirs="/tmp/temp1/tmp1,/more", pig_map_output_dirs="/never")
    chain(pig, "c", pig_input_dirs="/elsewhere", pig_map_output_dirs="/tmp/temp1/tmp9")
    reported = pig.run()
    assert ends(reported) == ({"/in"}, {"/first"})
    assert execution(reported).attributes["status"] == "FAILED"
    assert execution(reported).attributes["outputs"] == ["/first"]
    assert why(reported) == []
    assert not any(isinstance(each, Covered) for each in reported.records)


def test_a_script_whose_only_job_was_killed_has_no_flow(pig: PigEstate) -> None:
    pig.script(state="KILLED", pig_input_dirs="/in", pig_map_output_dirs="/out")
    reported = pig.run()
    assert ends(reported) == (set(), set())
    assert execution(reported).attributes["status"] == "KILLED"
    assert operation(reported).ages


def test_a_script_that_stores_nothing_reads_and_may_be_purged_by_age(pig: PigEstate) -> None:
    pig.script(pig_input_dirs="/in", pig_reduce_output_dirs="hdfs://ns1/tmp/temp7/tmp8")
    reported = pig.run()
    assert ends(reported) == ({"/in"}, set())
    assert operation(reported).ages


def test_jobs_of_other_users_do_not_join_a_run(pig: PigEstate) -> None:
    pig.script("a", pig_input_dirs="/in", pig_map_output_dirs="/out")
    first = execution(pig.run()).attributes["outputs"]
    properties = dict(pig.history.configurations["job_1799000000000_0001"])
    pig.add(properties | {"pig.map.output.dirs": "/theirs"}, user="mallory")
    reported = pig.run()
    assert first == ["/out"]
    assert execution(reported).attributes["outputs"] == ["/theirs"]


def test_the_jobs_of_a_run_are_forgotten_a_week_after_its_end(
    pig: PigEstate, resource_manager: ResourceManager
) -> None:
    pig.script("a", pig_input_dirs="/in", pig_map_output_dirs="/out")
    pig.run()
    assert kept_of(pig) == ["job application_1799000000000_0001"]
    resource_manager.now_ms = NOW_MS + 8 * 24 * 60 * MINUTE_MS
    pig.run()
    assert kept_of(pig) == []
    assert pig.following.is_quiet()


def test_kept_jobs_beyond_a_users_share_are_forgotten_and_the_oldest_first(
    pig: PigEstate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_runs, "MAX_KEPT_BYTES_OF_USER", 5_000)
    for number in range(20):
        pig.script("a", run=f"run-{number}", pig_input_dirs="/in", pig_map_output_dirs="/out")
    pig.run()
    assert len(kept_of(pig)) == 20
    pig.run()
    kept = kept_of(pig)
    assert 0 < len(kept) < 10
    assert kept == [f"job application_1799000000000_{number:04d}" for number in range(21 - len(kept), 21)]
    # A job that comes later does not make its script look whole.
    chain(pig, "b", run="run-1", pig_input_dirs="/more", pig_map_output_dirs="/late")
    assert why(pig.run()) == [JOBS_MISSING]


def kept_of(pig: PigEstate) -> list[str]:
    return sorted(each for each in pig.following.positions if each.startswith("job "))


def test_an_oozie_action_is_named_by_its_scripts_run(pig: PigEstate) -> None:
    pig.script(
        pig_input_dirs="/in", pig_map_output_dirs="/out", oozie_job_id="7-W", oozie_action_id="7-W@load"
    )
    run = execution(pig.run()).attributes
    assert (run["wfIds"], run["oozieAction"]) == (["7-W"], "load")


def test_names_that_are_not_utf_8_stay_apart_over_two_runs(pig: PigEstate) -> None:
    chain(pig, "a", pig_input_dirs="/in", pig_map_output_dirs="/b\udcfc,/tmp/temp1/tmp1")
    assert ends(pig.run()) == ({"/in"}, {r"/b\xfc"})
    for node in "bcd":
        chain(pig, node, pig_input_dirs="/tmp/temp1/tmp1", pig_map_output_dirs="/b\udce4")
    assert ends(pig.run()) == ({"/in"}, {r"/b\xfc", r"/b\xe4"})


# -- Hostile values --------------------------------------------------------------------------------------------------------

HOSTILE: Mapping[str, Mapping[str, Any]] = {
    "a list of a megabyte": {"pig.input.dirs": "/in," * 400_000},
    "a path of a megabyte": {"pig.input.dirs": "/" + "x" * 1_000_000},
    "a name of a megabyte": {"mapreduce.workflow.name": "x" * 1_000_000},
    "a run of a megabyte": {"pig.script.id": "x" * 1_000_000},
    "a node of a megabyte": {"mapreduce.workflow.node.name": "x" * 1_000_000},
    "a signature of a megabyte": {"pig.logical.plan.signature": "9" * 1_000_000},
    "thousands of nodes": {f"mapreduce.workflow.adjacency.n{n}": f"n{n + 1}" for n in range(5_000)},
    "a node with thousands of nodes": {"mapreduce.workflow.adjacency.n": "x," * 100_000},
    "open braces": {"pig.input.dirs": "{" * 100_000},
    "escapes": {"pig.input.dirs": "\\" * 100_001},
    "invalid addresses": {
        "pig.input.dirs": "hdfs://[::1/x,://,:,/",
        "fs.defaultFS": "hdfs://[",
        "pig.temp.dir": "([",
    },
    "wrong base64": {"pig.script": "=", "pig.map.stores": "=", "pig.loads": "="},
    "thousands of aliases": {"pig.alias": "a," * 500_000},
    "odd times": {"pig.script.submitted.timestamp": "9" * 40},
    "nested lists": {"pig.input.dirs": ["/in"], "pig.script.id": {"a": 1}, "pig.map.output.dirs": None},
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_value_costs_its_own_script_only(pig: PigEstate, kind: str) -> None:
    pig.script(
        run="other", mapreduce_workflow_name="/etl/good.pig", pig_input_dirs="/in", pig_map_output_dirs="/out"
    )
    good = dict(pig.history.configurations["job_1799000000000_0001"])
    pig.add(
        good | {"pig.script.id": "run-2", "mapreduce.workflow.name": "/etl/bad.pig"} | dict(HOSTILE[kind])
    )
    reported = pig.run()
    reads, writes = ends(reported, "good.pig")
    assert (reads, writes) == ({"/in"}, {"/out"})
    kept = orjson.dumps(pig.following.positions)
    assert len(kept) < 3 << 20
    assert max(len(each.key.name) for each in reported.records if isinstance(each, Entity)) <= 8_000
