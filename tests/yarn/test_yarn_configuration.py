"""The configuration of a MapReduce job gives its inputs and outputs; all other properties are discarded."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from extractors.lineage.staging import is_staging
from extractors.yarn.configuration import (
    ConfigurationGap,
    JobConfiguration,
    JobPath,
    split_paths,
    to_configuration,
)
from navlin.model.redaction import redact

IN, OUT = "mapreduce.input.fileinputformat.inputdir", "mapreduce.output.fileoutputformat.outputdir"


def configured(**properties: str) -> JobConfiguration:
    """Return the configuration page of a job with these properties; underscores in their names become dots."""
    return of({name.replace("_", "."): value for name, value in properties.items()})


def of(properties: dict[str, str]) -> JobConfiguration:
    listed = [{"name": name, "value": value, "source": ["job.xml"]} for name, value in properties.items()]
    return to_configuration({"conf": {"path": "hdfs://ns1/job.xml", "property": listed}})


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("", []),
        ("/a", ["/a"]),
        ("/a,/b", ["/a", "/b"]),
        (r"/a\,b,/c", ["/a,b", "/c"]),
        (r"/a\\,/b", ["/a\\", "/b"]),
        ("/{a,b}/x,/c", ["/{a,b}/x", "/c"]),
        (r"/{a\,b}*,/c", ["/{a,b}*", "/c"]),
        ("/{a,{b,c}},/d", ["/{a,{b,c}}", "/d"]),
        (r"/what\*ever,/c", [r"/what\*ever", "/c"]),
        ("/a}b,/c", ["/a}b", "/c"]),
        (" /a , ,/b", ["/a", "/b"]),
        ("/a\\", ["/a\\"]),
    ],
)
def test_a_list_of_paths_is_split_at_unescaped_commas(text: str, paths: list[str]) -> None:
    assert split_paths(text) == paths


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("hdfs://ns1/in", JobPath("hdfs://ns1/in", "hdfs://ns1/in")),
        ("hdfs://ns1/logs/2026-*/x", JobPath("hdfs://ns1/logs/2026-*/x", "hdfs://ns1/logs/", inferred=True)),
        ("/in/{a,b}", JobPath("/in/{a,b}", "/in/", inferred=True)),
        ("/in/day[0-9]", JobPath("/in/day[0-9]", "/in/", inferred=True)),
        ("/in/day?", JobPath("/in/day?", "/in/", inferred=True)),
        (r"/in/a\*b", JobPath(r"/in/a\*b", "/in/a*b")),
        ("s3a://key:secret@bucket/in", JobPath("s3a://bucket/in", "s3a://bucket/in")),
        ("file:/in", JobPath("file:/in", "file:/in")),
        ("orders/day", JobPath("orders/day", "hdfs://ns1/user/etl/orders/day")),
    ],
)
def test_an_input_pattern_is_reduced_to_its_certain_directory(text: str, place: JobPath) -> None:
    reported = of({IN: text, "mapreduce.job.working.dir": "hdfs://ns1/user/etl"})
    [found] = reported.inputs
    assert (found.uri, found.inferred) == (place.uri, place.inferred)
    assert not reported.incomplete


@pytest.mark.parametrize("text", ["hdfs://ns1/out/a,b", "/out/x[1]", "/out/{a}", "/out/2026*", "/out/a?b"])
def test_an_output_is_the_directory_of_exactly_that_name(text: str) -> None:
    assert of({OUT: text}).outputs == (JobPath(text, text),)


@pytest.mark.parametrize("text", ["/*", "hdfs://ns1/*/x", "relative"])
def test_an_input_without_a_certain_directory_makes_the_job_incomplete(text: str) -> None:
    reported = of({IN: f"/known,{text}"})
    assert [place.uri for place in reported.inputs] == ["/known"]
    assert reported.incomplete


@pytest.mark.parametrize(
    ("path", "staging"),
    [
        ("/wh/t/.hive-staging_hive_2026-01-01_1/-ext-10000", True),
        ("/tmp/hive/etl/0b1c/hive_2026/-mr-10003", True),
        ("/tmp/hive-etl/hive_2026", True),
        ("/user/etl/.staging/job_1_0001", True),
        ("/out/_temporary/0", True),
        ("/tmp/temp-1234567/tmp99", True),
        ("/tmp/hadoop-yarn/staging/etl", True),
        ("/user/etl/oozie-oozi/0000004-oozie-oozi-W/load--hive2/output", True),
        ("/user/etl/_sqoop/7d6f2a_ORDERS", True),
        ("/w/t/.spark-staging-0a1b/ds=1", True),
        ("/user/etl/.sparkStaging/application_1_0001", True),
        ("/w/t/_impala_insert_staging/x", True),
        ("/out/__magic/job-1/f", True),
        ("/out/__magic_job-1/f", True),
        ("/tmp/etl/_tez_session_dir/x", True),
        ("/out/.distcp.tmp.attempt_1", True),
        ("/w/_tmp.-ext-10002", True),
        ("/w/_task_tmp.-ext-10002", True),
        ("/tmp/hive/etl", True),
        ("/user/etl/.Trash/Current/f", False),
        ("/data/_sqoop_exports", False),
        ("/data/my_temporary", False),
        ("/data/tmp/hive", False),
        ("/tmp", False),
        ("/tmp/hive_exports", False),
        ("/tmp/temperatures", False),
        ("/data/staging", False),
        ("/data/hive-staging", False),
        ("/data/-ext-name", False),
    ],
)
def test_staging_directories_are_not_data(path: str, *, staging: bool) -> None:
    assert is_staging(path) is staging
    assert bool(of({IN: f"hdfs://ns1{path}"}).inputs) is not staging
    assert bool(of({OUT: f"hdfs://ns1{path}"}).outputs) is not staging


def test_scratch_directories_named_by_the_job_are_not_data() -> None:
    reported = configured(
        mapreduce_input_fileinputformat_inputdir="/scratch/hive/1/2,/scratch/hive_not,/tmp/x",
        hive_exec_scratchdir="hdfs://ns1/scratch/hive",
        pig_temp_dir="/tmp",
    )
    assert [place.uri for place in reported.inputs] == ["/scratch/hive_not", "/tmp/x"]


def test_deprecated_names_are_read_and_new_ones_take_precedence() -> None:
    old = configured(
        mapred_input_dir="/old/in",
        mapred_output_dir="/old/out",
        mapred_mapper_class="OldMapper",
        mapred_reducer_class="OldReducer",
        fs_default_name="hdfs://old",
    )
    assert (old.inputs[0].uri, old.outputs[0].uri) == ("/old/in", "/old/out")
    assert (old.mapper, old.reducer, old.default_fs) == ("OldMapper", "OldReducer", "hdfs://old")
    both = of({IN: "/new", "mapred.input.dir": "/old"})
    assert [place.uri for place in both.inputs] == ["/new"]


@pytest.mark.parametrize(("new_api", "mapper"), [("true", "New"), ("false", "Old"), ("", "New")])
def test_the_mapper_that_runs_is_reported(new_api: str, mapper: str) -> None:
    reported = of(
        {
            "mapreduce.job.map.class": "New",
            "mapred.mapper.class": "Old",
            "mapred.mapper.new-api": new_api,
        }
    )
    assert reported.mapper == mapper


def test_inputs_with_individual_formats_are_inputs() -> None:
    reported = of({"mapreduce.input.multipleinputs.dir.formats": "/a;org.A,/b;org.B"})
    assert [place.uri for place in reported.inputs] == ["/a", "/b"]


@pytest.mark.parametrize(
    ("properties", "incomplete"),
    [
        ({"mapreduce.job.inputformat.class": "org.apache.sqoop.mapreduce.db.DataDrivenDBInputFormat", OUT: "/o"}, True),
        ({"mapred.input.format.class": "org.apache.hadoop.hbase.mapred.TableInputFormat", OUT: "/o"}, True),
        ({"mapreduce.job.inputformat.class": "com.acme.LogsInputFormat", IN: "/i", OUT: "/o"}, False),
        ({"mapreduce.job.inputformat.class": "org.apache.hadoop.examples.TeraGen$RangeInputFormat", OUT: "/o"}, False),
        ({IN: "/i", "mapreduce.job.outputformat.class": "org.apache.hadoop.hbase.mapreduce.TableOutputFormat"}, True),
        ({IN: "/i", "mapreduce.job.outputformat.class": "org.apache.hadoop.mapreduce.lib.output.NullOutputFormat"}, False),
        ({IN: "/i", "mapred.output.format.class": "org.apache.oozie.action.hadoop.OozieLauncherOutputFormat"}, False),
        ({IN: "/i", "mapred.output.format.class": "org.apache.hadoop.hive.ql.io.HiveOutputFormatImpl"}, False),
        ({IN: "/i", OUT: "/o"}, False),
    ],
)  # fmt: skip
def test_a_format_that_moves_data_without_a_path_makes_the_job_incomplete(
    properties: dict[str, str], *, incomplete: bool
) -> None:
    assert of(properties).incomplete is incomplete


def test_distcp_writes_to_its_target_not_its_log_and_lacks_its_sources() -> None:
    reported = of({OUT: "hdfs://ns1/logs/copy", "distcp.target.final.path": "hdfs://ns2/backup/orders"})
    assert [place.uri for place in reported.outputs] == ["hdfs://ns2/backup/orders"]
    assert reported.incomplete


def test_no_secret_and_no_unlisted_property_is_kept() -> None:
    reported = of(
        {
            "mapreduce.jdbc.password": "hunter2",
            "fs.s3a.secret.key": "hunter2",
            "dfs.client.token": "hunter2",
            "my.own.property": "hunter2",
            "mapreduce.job.map.class": "*********(redacted)",
            "hive.query.string": "create table t location 's3a://key:hunter2@bucket/t'",
            IN: "s3a://key:hunter2@bucket/in",
        }
    )
    assert "hunter2" not in redact(repr(reported))
    assert reported.mapper == ""
    assert reported.inputs[0].uri == "s3a://bucket/in"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("select+1+from+t%3B", "select 1 from t;"),
        ("select 100%25 + 1", "select 100%25 + 1"),
        ("select%201", "select 1"),
        ("", ""),
    ],
)
def test_a_query_encoded_by_hive_is_decoded(value: str, text: str) -> None:
    assert configured(hive_query_string=value).hive_query_text == text


@pytest.mark.parametrize(
    "page",
    [
        None,
        [],
        {},
        {"conf": None},
        {"conf": {"property": None}},
        {"conf": {"property": "x"}},
        {"conf": {"property": [None, {"name": IN}, {"name": IN, "value": None}, {"value": "/a"}]}},
    ],
)
def test_a_page_without_properties_is_empty(page: object) -> None:
    assert to_configuration(page) == JobConfiguration()


def test_a_single_property_may_come_without_a_list() -> None:
    page = {"conf": {"property": {"name": OUT, "value": "/out"}}}
    assert [place.uri for place in to_configuration(page).outputs] == ["/out"]


def test_too_many_inputs_are_truncated_and_flagged() -> None:
    reported = of({IN: ",".join(f"/in/{n}" for n in range(10_001))})
    assert len(reported.inputs) == 10_000
    assert reported.incomplete


COPIED = "DistCp reads a list of what it copies, which its configuration does not have"
MOVED = "its data are in a directory from which Sqoop moves them elsewhere"
READ = "its input is not in a directory"
WRITTEN = "its output is not in a directory"


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({IN: "relative"}, ["its configuration names a relative path without its working directory"]),
        ({IN: "/*"}, ["its configuration names its input by a pattern for the whole file system"]),
        ({"distcp.target.final.path": "/x"}, [COPIED]),
        ({"mapreduce.job.inputformat.class": "org.x.DBInputFormat"}, [READ]),
        ({"mapreduce.job.outputformat.class": "org.x.TableOutputFormat"}, [WRITTEN]),
        ({OUT: "/user/etl/_sqoop/7d6f_ORDERS"}, [MOVED]),
        ({IN: "/user/etl/_sqoop/7d6f_ORDERS", OUT: "/d"}, [MOVED]),
        ({OUT: "/w/t/.hive-staging_1/-ext-10000"}, []),
        ({IN: "/a", OUT: "/b"}, []),
    ],
)  # fmt: skip
def test_each_gap_in_a_configuration_has_a_reason(properties: dict[str, str], why: list[str]) -> None:
    assert list(of(properties).missing) == why


def test_every_reason_is_distinct() -> None:
    assert len({str(each) for each in ConfigurationGap}) == len(ConfigurationGap) == 7


def test_json_numbers_and_booleans_are_read_as_hadoop_writes_them() -> None:
    properties = {
        "mapreduce.job.name": 20261126,
        "mapred.mapper.new-api": False,
        "mapred.mapper.class": "Old",
        "mapreduce.job.map.class": "New",
        "mapreduce.input.fileinputformat.input.dir.recursive": True,
        "hive.query.id": 1.5,
        "oozie.job.id": None,
        "hive.session.id": ["x"],
        IN: 7,
        "mapreduce.job.working.dir": "hdfs://ns1/user/etl",
    }
    listed = [{"name": name, "value": value} for name, value in properties.items()]
    read = to_configuration({"conf": {"property": listed}})
    assert (read.name, read.mapper, read.recursive) == ("20261126", "Old", True)
    assert [place.uri for place in read.inputs] == ["hdfs://ns1/user/etl/7"]
    assert (read.hive_query_id, read.oozie_job_id, read.hive_session_id) == ("1.5", "", "")


@pytest.mark.parametrize(
    ("name", "job", "inputs", "outputs", "why"),
    [
        ("sqoop/conf-numeric-name", "0042", [], 1, [READ]),
        ("sqoop/conf-append", "nightly orders", [], 0, [MOVED, READ]),
        ("sqoop/conf-export", "TOTALS.jar", 1, 0, [WRITTEN]),
        ("oozie/conf-oozie-mapreduce", None, 1, 1, []),
    ],
)  # fmt: skip
def test_configurations_of_a_real_history_server_are_read(
    corpora: Path, name: str, job: str | None, inputs: object, outputs: int, why: list[str]
) -> None:
    read = to_configuration(orjson.loads((corpora / "seed-systems" / f"{name}.json").read_bytes()))
    assert job is None or read.name == job
    assert (len(read.inputs), len(read.outputs)) == (inputs or 0, outputs)
    assert sorted(read.missing) == sorted(why)
