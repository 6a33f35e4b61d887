"""The estate of `make demo`, exported in every format. Third-party schemas and classes accept the files, and a real
Atlas accepts the entities and follows their lineage.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.services.atlas import USER, Atlas
from tests.services.python_packages import Environment
from tests.support.atlas_types import AtlasTypes, dangling
from tests.support.demo import COMMAND, ROOT, SERVES, Demo, offered, pasted
from tests.support.openlineage_schemas import Schemas

pytestmark = pytest.mark.services
FORMS = {
    "atlas": "jsonl",
    "datahub": "json",
    "openlineage": "jsonl",
    "sqlflow": "xml",
    "sqlflow-json": "json",
}
UPSTREAM = {"shop.top_markets", "shop.revenue", "shop.order_facts", "shop.customers", "shop.orders"}
"""Upstream tables of ``shop.board_report``, according to the demo's statements."""


@pytest.fixture(scope="module")
def demo(
    tmp_path_factory: pytest.TempPathFactory, solr_jars: Path, metastore_jars: Path, hadoop_jars: Path
) -> Iterator[Demo]:
    started = Demo(tmp_path_factory.mktemp("demo"), *COMMAND)
    try:
        started.until_printed(SERVES)
        yield started
    finally:
        started.close()


def export(demo: Demo, form: str, out: str, *options: str) -> dict[str, Any]:
    """Export to a file, and return the JSON report that ``navlin export`` prints."""
    navlin = offered(demo)[1].removesuffix("status")
    done = pasted(demo, f"{navlin}export {form} --out {out} --json {' '.join(options)}")
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.fixture(scope="module")
def exported(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Maps each format to an exported file."""
    folder = tmp_path_factory.mktemp("exported")
    files = {form: folder / f"{form}.{suffix}" for form, suffix in FORMS.items()}
    for form, file in files.items():
        export(demo, form, str(file))
    return files


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_the_atlas_export_satisfies_atlas_type_definitions(exported: dict[str, Path], corpora: Path) -> None:
    types = AtlasTypes(corpora / "atlas-models")
    found = [line["entities"] for line in lines(exported["atlas"])]

    assert [problem for each in found for entity in each for problem in types.problems(entity)] == []
    assert dangling(found) == []
    tables = {
        each["attributes"]["name"] for line in found for each in line if each["typeName"] == "hive_table"
    }
    assert tables >= {name.partition(".")[2] for name in UPSTREAM}


def test_datahubs_own_classes_read_the_export(exported: dict[str, Path], export_readers: Environment) -> None:
    answer = export_readers.answer(ROOT / "tests/services/read_datahub.py", exported["datahub"])

    assert answer["problems"] == []
    assert answer["ingested"] == len(json.loads(exported["datahub"].read_text())) > 50


def test_the_openlineage_export_satisfies_the_schemas(exported: dict[str, Path], corpora: Path) -> None:
    schemas = Schemas(corpora / "openlineage" / "spec")
    events = lines(exported["openlineage"])

    assert {problem for event in events for problem in schemas.problems(event)} == set()
    outputs = {each["name"] for event in events for each in event.get("outputs", ())}
    assert outputs >= {"shop.board_report", *(UPSTREAM - {"shop.customers", "shop.orders"})}


def test_the_sqlflow_export_satisfies_its_schema_and_reader(
    exported: dict[str, Path], export_readers: Environment, tmp_path: Path
) -> None:
    (tmp_path / "demo.xml").write_bytes(exported["sqlflow"].read_bytes())
    (tmp_path / "demo.json").write_bytes(exported["sqlflow-json"].read_bytes())
    schema = ROOT / "tests/data/sqlflow.xsd"
    answer = export_readers.answer(ROOT / "tests/services/read_sqlflow.py", schema, tmp_path)

    assert answer["problems"] == {"demo": []}
    above = {"shop.board_report"}
    for _ in range(len(UPSTREAM)):
        above |= {up for up, down, _ in answer["lineage"]["demo"] if down in above and up.startswith("shop.")}
    assert above - {"shop.board_report"} == UPSTREAM


def test_a_real_atlas_traverses_the_export_and_reloading_changes_nothing(
    demo: Demo, atlas: Atlas, tmp_path: Path
) -> None:
    password = tmp_path / "password"
    password.write_text(atlas.password + "\n")
    to_atlas = ("--user", USER, "--password-file", str(password))
    first = export(demo, "atlas", atlas.url, *to_atlas)
    assert first["refused"] == 0
    walked, times = upstream(atlas), updated(atlas)
    assert {name.partition("@")[0] for name in walked} == UPSTREAM

    second = export(demo, "atlas", atlas.url, *to_atlas)
    assert (second["sent"], second["refused"]) == (first["sent"], 0)
    assert (upstream(atlas), updated(atlas)) == (walked, times)


def board_report(atlas: Atlas) -> str:
    """The guid of ``shop.board_report``."""
    found = atlas.get("v2/search/basic", typeName="hive_table", query="board_report")["entities"]
    [guid] = [each["guid"] for each in found if each["attributes"]["name"] == "board_report"]
    return str(guid)


def upstream(atlas: Atlas) -> set[str]:
    """Qualified names of the tables upstream of ``shop.board_report``, according to Atlas's own lineage."""
    answer = atlas.get(f"v2/lineage/{board_report(atlas)}", direction="INPUT", depth=9)
    found = (each for each in answer["guidEntityMap"].values() if each["typeName"] == "hive_table")
    return {each["attributes"]["qualifiedName"] for each in found} - {_named(answer)}


def _named(answer: dict[str, Any]) -> str:
    base: str = answer["guidEntityMap"][answer["baseEntityGuid"]]["attributes"]["qualifiedName"]
    return base


def updated(atlas: Atlas) -> dict[str, int]:
    """Maps the guid of each table to Atlas's ``updateTime``."""
    found = atlas.get("v2/search/basic", typeName="hive_table", limit=100)["entities"]
    return {
        each["guid"]: atlas.get(f"v2/entity/guid/{each['guid']}")["entity"]["updateTime"] for each in found
    }
