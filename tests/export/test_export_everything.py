"""All inputs known to the tests, exported for DataHub and SQLFlow and read by third-party programs. The inputs include
event logs and lineage logs of other projects, Delta and Iceberg, and an estate with deletions, renames and user edits.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from navlin.export.batches import read
from navlin.export.choosing import Selection
from navlin.export.target import targets
from navlin.export.values import DatasetEnd, DatasetName, ExportedDataset, ExportedOperation, FlowRole, Item
from navlin.index.admin.cores import CORES
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr
from tests.services.python_packages import Environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def everything(
    tmp_path_factory: pytest.TempPathFactory,
    solr_jars: Path,
    corpora: Path,
    spark: Callable[[], SparkSession],
) -> Iterator[Solr]:
    """An index used by this module only, with all known inputs."""
    from tests.support.known_inputs import Loader

    folder, cache = tmp_path_factory.mktemp("everything"), solr_jars.parent / "solr-launcher"
    with (
        EmbeddedSolr(folder / "state", solr_jars, CONF / "solr", cores=CORES, cache=cache) as server,
        Solr(server.start()) as solr,
    ):
        loader = Loader(solr, spark, folder)
        loader.load_corpora(corpora)
        loader.load_table_formats()
        loader.load_scripted()
        yield solr


def items(solr: Solr, *, everything: bool) -> list[Item]:
    selection = Selection(all_executions=everything, placeholders=everything)
    return [item for batch in read(solr, selection) for item in batch.items]


def exported(target: str, found: list[Item]) -> bytes:
    known = targets()[target]
    return b"".join(known.records(iter(found), known.options()))


@pytest.mark.services
def test_every_operation_is_exported(everything: Solr) -> None:
    found = items(everything, everything=False)
    operations = {each.id for each in found if isinstance(each, ExportedOperation) and not each.derived}

    assert len(operations) == everything.count(ELEMENTS, "type:OPERATION", "-deleted:true") > 400
    assert len([each for each in found if isinstance(each, ExportedDataset)]) > 300


@pytest.mark.parametrize(
    "whole",
    [pytest.param(False, marks=pytest.mark.services), pytest.param(True, marks=pytest.mark.soak)],
    ids=["the last executions", "everything, with placeholders"],
)
def test_datahub_accepts_everything(
    everything: Solr, export_readers: Environment, tmp_path: Path, *, whole: bool
) -> None:
    lines = exported("datahub", items(everything, everything=whole)).splitlines()
    file = tmp_path / "proposals.json"
    file.write_bytes(b"[" + b",".join(lines) + b"]")
    answer = export_readers.answer(REPOSITORY / "tests/services/read_datahub.py", file)

    assert answer["problems"] == []
    assert answer["ingested"] == len(lines) > 4_000


@pytest.mark.services
def test_the_sqlflow_schema_and_reader_accept_everything(
    everything: Solr, export_readers: Environment, tmp_path: Path
) -> None:
    found = items(everything, everything=False)
    (tmp_path / "all.xml").write_bytes(exported("sqlflow", found))
    (tmp_path / "all.json").write_bytes(exported("sqlflow-json", found))
    schema = REPOSITORY / "tests/data/sqlflow.xsd"
    answer = export_readers.answer(REPOSITORY / "tests/services/read_sqlflow.py", schema, tmp_path)

    assert answer["problems"] == {"all": []}
    read_out = {(up, down) for up, down, _ in answer["lineage"]["all"]}
    assert read_out == set(pairs(found))
    assert len(json.loads((tmp_path / "all.json").read_bytes())["processes"]) > 300


def pairs(found: list[Item]) -> Iterator[tuple[str, str]]:
    """Yield (source, target) for each data flow that the sidecar must find. Omitted are flows from a dataset to itself
    and statements of types that the sidecar does not understand.
    """
    for each in found:
        if isinstance(each, ExportedDataset) and each.details.kind == "EXTERNAL_TABLE" and not each.deleted:
            yield from ((called(path), called(each.name)) for path in each.locations)
        elif (
            isinstance(each, ExportedOperation)
            and not each.deleted
            and each.statement.type not in UNKNOWN_TO_SIDECAR
        ):
            sources = {called(end.dataset) for end in live(each.inputs) if end.flow is FlowRole.DATA}
            targets_of = {called(end.dataset) for end in live(each.outputs)}
            yield from ((one, other) for one in sources for other in targets_of if one != other)


UNKNOWN_TO_SIDECAR = ("SELECT", "DELETE", "ALTERTABLE_RENAME", "ALTERVIEW_RENAME")


def live(ends: tuple[DatasetEnd, ...]) -> Iterator[DatasetEnd]:
    """Yield the ends that are not deleted and, for each path, its tables that are not deleted."""
    for end in ends:
        tables = (replace(each, flow=end.flow) for each in end.tables)
        yield from (each for each in (end, *tables) if not each.deleted)


def called(name: DatasetName) -> str:
    return name.authority + name.name if name.is_path else name.full_name
