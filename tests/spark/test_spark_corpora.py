"""Third-party event logs of Spark 1.4 to 4.1, EMR and Databricks: all are read, and the expected lineage of some
was written by hand."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from tests.support.spark_logs import Extracted, read_once


@pytest.fixture(scope="module")
def logs(corpora: Path) -> Path:
    return corpora / "spark-event-logs"


def one(logs: Path, name: str, tmp_path: Path) -> Extracted:
    source = logs / name
    if source.is_dir():
        shutil.copytree(source, tmp_path / name)
    else:
        shutil.copy(source, tmp_path / name)
    return read_once(tmp_path)


def _text(path: Path) -> bytes:
    with path.open("rb") as raw:
        if path.suffix == ".zstd":
            return zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True).read()
        return raw.read()


def _application(path: Path) -> str:
    # The first application start in the file. A part of a rolled log has none, and has the id only in its file
    # name.
    found = re.search(rb'"SparkListenerApplicationStart","App Name":"[^"]*","App ID":"([^"]*)"', _text(path))
    return found[1].decode() if found else path.name.split("_", 2)[-1].removesuffix(".zstd")


def _roots(path: Path) -> Iterator[tuple[str, int]]:
    """Yield (application, root execution id) for each execution that starts in a file, without using the extractor."""
    application = _application(path)
    for line in _text(path).splitlines():
        if re.match(rb'\{"Event":"[\w.]*\.SparkListenerSQLExecutionStart"', line):
            event = json.loads(line)
            yield application, event.get("rootExecutionId", event["executionId"])


def test_every_execution_that_starts_in_a_log_is_extracted_once(logs: Path) -> None:
    files = [path for path in logs.rglob("*") if path.is_file() and path.stat().st_size]
    # Executions are counted by application, because one of the logs is a truncated copy of another.
    expected = {root for path in files if path.suffix != ".jsonl" for root in _roots(path)}
    extracted = read_once(logs)
    assert len(expected) == 60
    assert len(extracted.executions) == len(expected)


def test_a_whole_log_takes_precedence_over_its_truncated_copy(logs: Path) -> None:
    extracted = read_once(logs)
    states = [each.attributes["status"] for each in extracted.executions if "1622043423018" in each.key.name]
    assert states == ["SUCCEEDED"] * 4


def test_only_broken_lines_are_rejected(logs: Path) -> None:
    extracted = read_once(logs)
    by_file: dict[str, int] = {}
    for each in extracted.rejects:
        by_file[Path(each.place).name] = by_file.get(Path(each.place).name, 0) + each.count
    # One line was broken by hand, and one file is not an event log at all. The truncated log ends with a complete
    # line.
    assert by_file == {
        "malformed_json_eventlog.zstd": 1,
        "plan_nodes_distinct.jsonl": len((logs / "plan_nodes_distinct.jsonl").read_bytes().splitlines()),
    }


def test_an_emr_log_in_extended_mode_is_read(logs: Path, tmp_path: Path) -> None:
    # The statement joins a file and two generated ranges into the table final_results. The tree shows one scan,
    # `InMemoryFileIndex(1 paths)[hdfs://…:8020/large_dataset]`, and the command's name without a database.
    extracted = one(logs, "emr-attempt_1_eventlog.zstd", tmp_path)
    assert extracted.flows == {
        (
            "hdfs://ip-127-12-34-78.us-west-2.compute.internal:8020/large_dataset",
            "CREATETABLE_AS_SELECT",
            "default.final_results",
        )
    }
    [execution] = extracted.executions
    assert execution.key.name == "application_1724877841851_0016_1-exec.0"
    assert execution.attributes["principal"] == "hadoop"


def test_a_databricks_log_with_an_execution_before_its_root_is_read(logs: Path, tmp_path: Path) -> None:
    # "create or replace table people_large as select * from people_large_2" in Delta: one
    # AtomicReplaceTableAsSelect (5) with five inner executions. Two of these read the table, the other three
    # Delta's own state.
    extracted = one(logs, "db_subExecution_id.zstd", tmp_path)
    assert extracted.flows == {("default.people_large_2", "CREATETABLE_AS_SELECT", "default.people_large")}
    assert len(extracted.executions) == 7


def test_a_spark_35_log_on_s3_is_read(logs: Path, tmp_path: Path) -> None:
    # A rolling log of three executions. Two read the input, and the third writes all of the input to the output.
    extracted = one(logs, "eventlog_v2_spark-cc4d115f011443d787f03a71a476a745", tmp_path)
    bucket = "s3://sparksense-ai-spark-20250624175205897100000006/taxi-trip"
    assert extracted.flows == {
        (f"{bucket}/input", "SELECT", "-"),
        (f"{bucket}/input", "INSERT_OVERWRITE", f"{bucket}/output"),
    }


def test_three_json_copies_in_spark_31_are_read(logs: Path, tmp_path: Path) -> None:
    # QualificationInfoUtils writes generated rows to a folder, reads them as a temporary view, and writes a second
    # folder. It does so three times, each time with two new folders below /tmp.
    extracted = one(logs, "udf_func_eventlog", tmp_path)
    pairs = (("896c9821", "63bd2014"), ("58ae0864", "d867fb61"), ("df15ab4c", "0974bb13"))
    found = {(ins[:21], kind, outs[:21]) for ins, kind, outs in extracted.flows}
    assert found == {
        flow
        for first, second in pairs
        for flow in (
            ("-", "INSERT_INTO", f"file:///tmp/spark-{first}"[:21]),
            (f"file:///tmp/spark-{first}"[:21], "INSERT_INTO", f"file:///tmp/spark-{second}"[:21]),
        )
    }
    assert (
        len(
            [
                each
                for each in extracted.operations
                if each.attributes["operationType"] == "CREATE_TEMPORARY_VIEW"
            ]
        )
        >= 1
    )


def test_a_jdbc_read_names_its_table_without_an_address(logs: Path, tmp_path: Path) -> None:
    extracted = one(logs, "jdbc_eventlog.zstd", tmp_path)
    assert extracted.flows == {("JDBC:TBLS", "SELECT", "-")}


def test_paths_truncated_in_the_tree_are_complete(logs: Path, tmp_path: Path) -> None:
    # V2 scans have no metadata, and the tree truncates `…/src/test/re...`; the operators' blocks have the complete
    # paths.
    extracted = one(logs, "eventlog_dsv2.zstd", tmp_path)
    home = "file:///home/user1/workspace/spark-rapids-another"
    assert extracted.flows == {
        (f"{home}/integration_tests/src/test/resources/trucks-comments.csv", "SELECT", "-"),
        (f"{home}/lotscolumnsout", "INSERT_INTO", f"{home}/logscolumsout.orc"),
        (f"{home}/lotscolumnsout", "INSERT_OVERWRITE", f"{home}/logscolumsout.orc"),
        (f"{home}/logscolumsout.orc", "SELECT", "-"),
        (f"{home}/logscolumsout.orc", "INSERT_OVERWRITE", f"{home}/lotsofcolumnsout.json"),
        (f"{home}/lotsofcolumnsout.json", "SELECT", "-"),
        (f"{home}/lotsofcolumnsout.json", "INSERT_INTO", f"{home}/jsonoutparquet"),
        (f"{home}/lotsofcolumnsout.json", "INSERT_OVERWRITE", f"{home}/jsonoutparquet"),
    }


def test_an_execution_running_at_the_end_of_a_truncated_log_is_unknown(logs: Path, tmp_path: Path) -> None:
    # Execution 0 has an end event. The job of execution 1 was running at the end of the file.
    extracted = one(logs, "truncated_eventlog", tmp_path)
    states = {each.key.name.rsplit(".", 1)[1]: each.attributes["status"] for each in extracted.executions}
    assert states == {"0": "SUCCEEDED", "1": "UNKNOWN"}


def test_logs_without_sql_yield_nothing_and_raise_nothing(logs: Path, tmp_path: Path) -> None:
    for name in (
        "spark-1.4-local-1430917381534",
        "spark-1.5.1-event_log_1",
        "spark-2.3-application_1516285256255_0012",
    ):
        extracted = one(logs, name, tmp_path)
        assert not extracted.entities
        assert not extracted.rejects
