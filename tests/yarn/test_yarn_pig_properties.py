"""Every property that the captured jobs of Pig have is used, or refused for a reason, and those used are in the records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from extractors.yarn.pig_jobs import is_read, run_of, to_pig_job
from tests.support.pig_jobs import OLDER, SALES, captured

JOBS: Final = (*SALES, OLDER)

USED: Final[Mapping[str, tuple[str, str, Any]]] = {
    # property: (a job that has it, the attribute of the parsed job, its value)
    "pig.input.dirs": (SALES[1], "read", [["/data/pig/customers"] * 2 + [False], ["/data/pig/customers2"] * 2 + [False]]),
    "pig.map.output.dirs": (SALES[0], "written", [["/data/pig/out/big"] * 2 + [False]]),
    "pig.reduce.output.dirs": (SALES[4], "written", [["/data/pig/out/totals"] * 2 + [False]]),
    "pig.temp.dir": (SALES[2], "written_temporary", ["/tmp/temp750979212/tmp-1981522518"]),
    "pig.map.stores": (
        SALES[0],
        "stores",
        [
            {
                "name": "/data/pig/out/big",
                "function": "org.apache.pig.builtin.PigStorage",
                "alias": "big",
                "columns": "id int, customer int, amount double, day chararray",
            }
        ],
    ),
    "pig.reduce.stores": (
        OLDER,
        "stores",
        [
            {
                "name": "/data/pig/out17/totals",
                "function": "PigStorage",
                "alias": "totals",
                "columns": "name int, total double",
            }
        ],
    ),
    "pig.inputs": (OLDER, "read", [["/data/pig/orders"] * 2 + [False]]),
    "pig.logical.plan.signature": (SALES[0], "signature", "-1634040902"),
    "pig.script.submitted.timestamp": (SALES[0], "submitted_ms", 1_795_728_973_603),
    "pig.script.info.enabled": (SALES[0], "missing", []),
    "pig.version": (OLDER, "version", "0.17.0"),
    "pig.alias": (SALES[2], "aliases", "grouped,totals"),
    "pig.job.feature": (SALES[3], "feature", "SAMPLER"),
    "pig.streaming.task.output.dir": (SALES[1], "written_temporary", ["/tmp/temp750979212/tmp2132801706"]),
    "mapreduce.job.name": (OLDER, "job_name", "PigLatin:s17.pig"),
    "mapreduce.workflow.name": (SALES[0], "script", "pg/sales.pig"),
    "mapreduce.workflow.node.name": (SALES[4], "node", "scope-89"),
    "mapreduce.workflow.adjacency.scope-62": (
        SALES[3],
        "next",
        {"scope-62": ["scope-67"], "scope-67": ["scope-71"], "scope-71": ["scope-74"], "scope-74": ["scope-89"]},
    ),
    "fs.defaultFS": (SALES[0], "default_fs", "hdfs://nn1.example:8020"),
}  # fmt: skip
RUN_ID: Final = {
    "pig.script.id": "23ce90d5-25f0-4c62-af85-8d95c656073d",
    "mapreduce.workflow.id": "pig_23ce90d5-25f0-4c62-af85-8d95c656073d",
}
ELSEWHERE: Final = {
    "pig.script": "its text; see tests/yarn/test_pig_plans.py",
    "mapreduce.job.working.dir": "for relative paths; see tests/yarn/test_yarn_pig.py",
    "mapreduce.job.inputformat.class": "tells a job of Pig that has no script id; see tests/yarn/test_yarn_pig.py",
}
"""Properties that are used, and tested in another file."""
ONE_OF_SEVERAL: Final = "it has only the last of several paths, or a temporary directory"
NO_DATA: Final = "it names no data"
REFUSED: Final[Mapping[str, str]] = {
    "mapreduce.input.fileinputformat.inputdir": ONE_OF_SEVERAL,
    "mapreduce.output.fileoutputformat.outputdir": ONE_OF_SEVERAL,
    "pig.streaming.log.dir": "logs of streaming commands, below the output",
    "pig.cmd.args": "it has the passwords among the parameters",
    "pig.command.line": "it has the passwords among the parameters",
    "pig.inpTargets": "operators that follow the loads, without names of data",
    "pig.inpSignatures": "signatures of the loads, without names of data",
    "pig.combine.package": "the plan between map and reduce, which reads and writes nothing",
    "pig.quantilesFile": "a temporary sample in the cache of files",
    "pig.schematuple.local.dir": "a directory of the client's machine",
    "pig.logfile": "a file of the client's machine",
    "yarn.app.mapreduce.am.staging-dir": "a directory for the files of jobs",
    "pig.alias.location": "lines of the script, which the script's text shows",
    "udf.import.list": "packages of functions, which the script's text shows",
    "mapreduce.job.map.class": "one of Pig's own classes",
    "mapreduce.job.reduce.class": "one of Pig's own classes",
    "mapreduce.job.outputformat.class": "one of Pig's own classes",
    "mapreduce.job.user.name": "the JobHistoryServer lists the user",
    "pig.script.features": "a set of bits of the whole script; the jobs have the features by name",
    "pig.parent.jobid": "the order is that of the script's plan and of the jobs' ids",
}
"""Properties that name data, or might, and the reasons why they are not used."""
WITHOUT_DATA: Final = (
    "pig.disable. pig.stats. pig.inpLimits pig.info. pig.ats. pig.hadoop. pig.tez. pig.files. pig.optim pig.auto."
    " pig.exec pig.spill. pig.sort pig.secondarySortOrder pig.sql. pig.output. pig.map.keytype pig.reduce.key.type"
    " pig.job.submitted. mapreduce.job.maps mapreduce.job.reduces mapreduce.framework. mapreduce.job.output."
    " mapreduce.job.combine. mapred.mapper. mapred.reducer. yarn.app.mapreduce.am.staging-dir.erasurecoding."
).split()
"""Beginnings of the names of all other properties: settings, limits and classes, which name no data."""


def test_every_captured_property_is_used_or_refused(corpora: Path) -> None:
    names = {name for job in JOBS for name in captured(corpora, job)}
    known = USED.keys() | RUN_ID.keys() | ELSEWHERE.keys() | REFUSED.keys()
    rest = {name for name in names - known if not name.startswith("mapreduce.workflow.adjacency.")}
    assert {name for name in rest if not name.startswith(tuple(WITHOUT_DATA))} == set()
    # No row is without a sample.
    assert known - names == set()
    assert [each for each in WITHOUT_DATA if not any(name.startswith(each) for name in rest)] == []


def test_exactly_the_used_properties_are_read(corpora: Path) -> None:
    names = {name for job in JOBS for name in captured(corpora, job)}
    of_plan = {name for name in names if name.startswith("mapreduce.workflow.adjacency.")}
    assert {
        name for name in names if is_read(name)
    } == USED.keys() | RUN_ID.keys() | ELSEWHERE.keys() | of_plan


@pytest.mark.parametrize("name", USED)
def test_a_used_property_is_in_the_parsed_job(corpora: Path, name: str) -> None:
    job, attribute, value = USED[name]
    properties = {key: _text(each) for key, each in captured(corpora, job).items() if is_read(key)}
    assert name in properties
    assert getattr(to_pig_job(properties), attribute) == value


@pytest.mark.parametrize("name", RUN_ID)
def test_either_property_names_the_run(corpora: Path, name: str) -> None:
    assert run_of({name: _text(captured(corpora, SALES[2])[name])}) == RUN_ID["pig.script.id"]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_refused_property_changes_nothing(corpora: Path, name: str) -> None:
    job = next(each for each in JOBS if name in captured(corpora, each))
    properties = {key: _text(each) for key, each in captured(corpora, job).items()}
    whole = to_pig_job({key: each for key, each in properties.items() if is_read(key)})
    properties[name] = "/data/hunter2"
    assert to_pig_job({key: each for key, each in properties.items() if is_read(key)}) == whole


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
