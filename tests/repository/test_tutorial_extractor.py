"""The extractor of the tutorial reads the log of the tutorial."""

from __future__ import annotations

import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import RelationType
from navlin.model.records import Entity, Reject, Relation
from navlin.model.source import HIVE, Estate, Source
from tests.support.manual import page
from tests.support.record_edges import read_all

NAME = "acme_jobs"


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Any]]:
    """The class of the tutorial's extractor, registered only during a test."""
    [code] = re.findall(r"```python\n(.*?)```", page("tutorials/write-an-extractor"), re.DOTALL)
    (tmp_path / f"{NAME}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module(NAME)
    yield EXTRACTORS.pop(NAME).make
    del sys.modules[NAME]


def test_the_extractor_of_the_tutorial_reads_its_log(make: type[Any], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    echoed = re.findall(r"^echo (.*) >>? logs/jobs.log$", page("tutorials/write-an-extractor"), re.MULTILINE)
    assert len(echoed) == 2
    (logs / "jobs.log").write_text("".join(f"{shlex.split(each)[0]}\n" for each in echoed))
    metastore = Source("1", HIVE, "HIVE-1", "cluster-1", ("thrift://hms:9083",))
    acme = Source("2", "ACME", "ACME-1", "cluster-1", claimable=False)

    records = read_all(make(acme, Estate("cluster-1", (metastore, acme)), directory=str(logs)))

    flows = {
        (each.ep1.name, each.ep2.name)
        for each in records
        if isinstance(each, Relation) and each.type is RelationType.DATA_FLOW
    }
    assert flows == {
        ("orders", "nightly report"),
        ("customers", "nightly report"),
        ("nightly report", "report"),
    }
    [execution] = [each for each in records if isinstance(each, Entity) and each.ages]
    assert execution.attributes["principal"] == "ann"
    [reject] = [each for each in records if isinstance(each, Reject)]
    assert reject.offset == len(shlex.split(echoed[0])[0]) + 1
