"""Each property of the samples is used, or is refused for a reason that is given here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from extractors.yarn.configuration import properties_of
from extractors.yarn.sqoop_records import READER
from tests.support.sqoop_jobs import captured

SAMPLES = (
    "table", "query", "hive", "hive-query", "append", "lastmodified", "lastmodified-merge", "export", "numeric-name",
)  # fmt: skip
# fmt: off
USED = {
    "mapreduce.job.map.class": ("table", "com.example.Mapper"),
    "mapreduce.jdbc.url": ("table", "jdbc:mysql://db/shop"),
    "mapreduce.jdbc.username": ("table", "other"),
    "mapreduce.jdbc.input.table.name": ("table", '"OTHER"'),
    "mapreduce.jdbc.input.field.names": ("table", '"ID"'),
    "mapreduce.jdbc.input.query": ("query", "SELECT 1 AS X FROM T WHERE $CONDITIONS"),
    "mapreduce.jdbc.input.conditions": ("hive", "ID > 1"),
    "mapreduce.jdbc.output.table.name": ("export", "OTHER"),
    "mapreduce.jdbc.output.field.names": ("export", '"TOTAL"'),
    "avro.map.output.schema": ("query", '{"fields":[{"name":"X"}]}'),
    "mapreduce.input.fileinputformat.inputdir": ("export", "hdfs://ns1/other"),
    "mapreduce.output.fileoutputformat.outputdir": ("table", "hdfs://ns1/other"),
    "sqoop.merge.old.path": ("lastmodified-merge", "hdfs://ns1/other"),
    "sqoop.merge.new.path": ("lastmodified-merge", "hdfs://ns1/other"),
    "sqoop.merge.key.col": ("lastmodified-merge", "NAME"),
    "sqoop.mapreduce.export.table.class": ("export", "OTHER"),
    "mapreduce.job.working.dir": ("hive", "hdfs://nn1.example:8020/user/other"),
    "fs.defaultFS": ("table", "hdfs://ns1"),
}
"""Property → (sample, another value that changes the job)."""
REFUSED = {
    "mapreduce.jdbc.input.orderby": "the column by which the rows are divided among the tasks; it is not data",
    "mapreduce.jdbc.input.class": "the class of the rows is made of the table's name, or named by the command",
    "mapreduce.jdbc.driver.class": "the URL names the database",
    "mapreduce.jdbc.fetchsize": "tuning",
    "sqoop.merge.class": "the class of the rows",
    "sqoop.job.data.publish.class": "the class that publishes, not what it publishes",
    "sqoop.mapreduce.export.map.tasks": "tuning",
    "sqoop.export.records.per.statement": "tuning",
    "sqoop.inline.lob.length.max": "tuning",
    "sqoop.verbose": "messages",
    "mapreduce.job.name": "it is YARN's name of the job, and the user's or the class's name; see YARN's operation",
    "mapreduce.job.user.name": "YARN tells the user",
    "mapreduce.job.output.value.class": "a class of Hadoop",
    "mapreduce.job.output.key.class": "a class of Hadoop, or the class of the rows",
    "mapreduce.job.inputformat.class": "the mapper tells what the job does",
    "mapreduce.job.outputformat.class": "the mapper tells what the job does",
    "mapreduce.job.reduce.class": "the paths to merge tell what the job does",
    "mapred.mapper.new-api": "Sqoop uses the new API alone",
    "mapred.reducer.new-api": "Sqoop uses the new API alone",
    "mapreduce.job.maps": "tuning",
    "mapreduce.job.reduces": "tuning",
    "mapreduce.input.fileinputformat.input.dir.recursive": "YARN's operation has it; the end is the directory",
    "mapreduce.framework.name": "the cluster's",
    "yarn.app.mapreduce.am.staging-dir": "the cluster's",
    "yarn.app.mapreduce.am.staging-dir.erasurecoding.enabled": "the cluster's",
}
"""Property → reason why it changes nothing in Sqoop's operation."""
# fmt: on


def told(properties: dict[str, Any]) -> Any:
    """Return the parsed job with these properties; None if Sqoop did not submit it."""
    page = {"conf": {"property": [{"name": name, "value": value} for name, value in properties.items()]}}
    read = properties_of(page, READER.reads)
    return READER.told(read) if READER.run_of(read) else None


def test_every_property_of_the_samples_is_classified(corpora: Path) -> None:
    found = {name for sample in SAMPLES for name in captured(corpora, sample)}
    assert found - set(USED) - set(REFUSED) == set()
    assert not set(USED) & set(REFUSED)


@pytest.mark.parametrize("name", USED)
def test_a_used_property_changes_the_job(corpora: Path, name: str) -> None:
    sample, other = USED[name]
    properties = captured(corpora, sample)
    assert name in properties
    assert told({**properties, name: other}) != told(properties)


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_property_changes_nothing(corpora: Path, name: str) -> None:
    for sample in SAMPLES:
        properties = captured(corpora, sample)
        assert told({**properties, name: "other"}) == told(properties)
