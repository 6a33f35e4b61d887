"""The archive for executors, with navlin, its requirements and a Python; and the splits that must be read on
navlin's machine."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tarfile
import time
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from navlin.index.solr.connection import SolrAddress, SolrSession
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline import packing, reading
from navlin.pipeline.packing import OF_SPARK, PACKAGES, PYTHON, NotPacked, pack, package_files, required
from navlin.pipeline.reading import read_into_files, read_splits
from navlin.pipeline.reading_here import ReaderEnded, read_here
from navlin.pipeline.warming import Numbered, operations
from navlin.pipeline.yarn import ENVIRONMENT, Cluster, archive_of_jars
from tests.support.shipped_extractors import SHIPPED, required_settings
from tests.support.slow_extractors import Deadly, made

REPOSITORY = Path(__file__).parents[2]


def normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")


def test_the_archive_has_all_dependencies_except_sparks_and_development_ones() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    asked = {normal(line.partition(">")[0].partition("=")[0]) for line in project["dependencies"]}

    found = {normal(each.name) for each in required(["navlin"])}

    assert asked - set(OF_SPARK) <= found
    assert {"certifi", "six", "urllib3"} - found <= {"six"}  # requirements of navlin's requirements
    assert found.isdisjoint({*OF_SPARK, "pytest", "mypy", "ruff", "hypothesis"})


def test_a_missing_package_or_module_is_named() -> None:
    with pytest.raises(
        NotPacked, match="the package no-such-package is not installed, and executors need it"
    ):
        required(["no-such-package"])
    with pytest.raises(NotPacked, match="the module no_such_module cannot be found, and executors need it"):
        list(package_files(["no_such_module"]))


@pytest.fixture
def module_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "others"
    folder.mkdir()
    (folder / "module_of_others.py").write_text("ANSWER = 42\n")
    monkeypatch.syspath_prepend(str(folder))
    yield folder / "module_of_others.py"
    sys.modules.pop("module_of_others", None)


def test_the_archive_is_reused_until_a_file_changes(
    tmp_path: Path, module_of_others: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "required", lambda names: [])  # navlin and the module suffice here
    made = pack(tmp_path, python=False, modules=["module_of_others"])
    made_ns = made.stat().st_mtime_ns
    with tarfile.open(made) as archive:
        names = archive.getnames()
        owners = {(member.uid, member.uname) for member in archive.getmembers()}
    assert f"{PACKAGES}/module_of_others.py" in names
    assert f"{PACKAGES}/navlin/pipeline/packing.py" in names
    assert f"{PACKAGES}/extractors/hms/extractor.py" in names
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests/")]
    assert owners == {(0, "")}

    again = pack(tmp_path, python=False, modules=["module_of_others"])
    assert (again, again.stat().st_mtime_ns) == (made, made_ns)

    module_of_others.write_text("ANSWER = 142\n")
    changed = pack(tmp_path, python=False, modules=["module_of_others"])
    assert changed != made
    assert list(tmp_path.glob("environment-*")) == [changed]


@pytest.mark.services
def test_the_archive_runs_without_anything_else_installed(tmp_path: Path) -> None:
    archive = pack(REPOSITORY / ".jars" / "environments", python=True)
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(tmp_path)], check=True)
    program = (
        "import sys, ssl, ctypes, sqlite3, zlib, numpy, pandas, pyarrow, re2, orjson, requests, thrift, zstandard\n"
        "import navlin.model.records, navlin.index.write.documents, extractors.hms, extractors.impala_events, linker\n"
        "print(*sorted({m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)}), *sys.path, sep='\\n')"
    )
    done = subprocess.run(
        [f"./{PYTHON}", "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": f"./{PACKAGES}", "PYTHONNOUSERSITE": "1", "LD_LIBRARY_PATH": "./python/lib"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    places = [line for line in done.stdout.splitlines() if line]
    assert len(places) > 500
    assert [place for place in places if not Path(place).is_relative_to(tmp_path)] == []


# -- Settings for Spark --------------------------------------------------------------------------------------------------


def test_executors_start_the_packed_python_or_the_configured_one(tmp_path: Path) -> None:
    brought = Cluster(tmp_path, tmp_path / "environment.tar.gz")
    theirs = Cluster(tmp_path, tmp_path / "environment.tar.gz", "/opt/python/bin/python3")

    assert brought.executors_python == f"./{ENVIRONMENT}/python/bin/python3"
    assert theirs.executors_python == "/opt/python/bin/python3"
    for each in (brought, theirs):
        assert each.properties()["spark.executorEnv.PYTHONPATH"] == f"./{ENVIRONMENT}/packages"
        assert each.properties()["spark.submit.deployMode"] == "client"
        assert not [name for name in each.properties() if "kerberos" in name]
    assert "spark.executorEnv.LD_LIBRARY_PATH" in brought.properties()
    assert "spark.executorEnv.LD_LIBRARY_PATH" not in theirs.properties()


def test_the_keytab_is_passed_to_spark(tmp_path: Path) -> None:
    properties = Cluster(
        tmp_path, tmp_path / "e.tar.gz", principal="navlin@A", keytab=tmp_path / "navlin.keytab"
    ).properties()

    assert properties["spark.kerberos.principal"] == "navlin@A"
    assert properties["spark.kerberos.keytab"] == str(tmp_path / "navlin.keytab")


def test_the_archive_of_jars_is_renamed_if_a_jar_changes(tmp_path: Path) -> None:
    (tmp_path / "a.jar").write_text("1")
    first = archive_of_jars(tmp_path)
    assert archive_of_jars(tmp_path) == first
    (tmp_path / "a.jar").write_text("22")
    assert archive_of_jars(tmp_path) != first


# -- Splits read on navlin's machine -------------------------------------------------------------------------------------

WHERE = {"hdfs": True, "s3": True, "spark_events": True}
"""extractor → whether all of its splits are read on navlin's machine with the settings of the example. The others are read
by executors, unless a setting names a file of navlin's machine. Those that follow files decide for each split."""
FILES = {"ca_file": "/etc/ca.pem", "sasl": "kerberos", "auth": "kerberos"}
"""Settings because of which an extractor needs a file: the CA certificates, or the keytab or ticket cache of a user."""


@pytest.mark.parametrize("name", SHIPPED)
def test_each_extractor_declares_whether_executors_may_read(name: str) -> None:
    kind = SHIPPED[name].make
    source = Source(source_id("c", name), SHIPPED[name].source_type, name, "c")
    made = kind(source, Estate("c", (source,)), **required_settings(name))

    assert made.local is WHERE.get(name, False)
    for setting, value in FILES.items():
        if hasattr(made, setting):
            assert replace(made, **{setting: value}).local, setting


def test_local_reading_gives_the_same_rows_as_a_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    splits = [Numbered(number) for number in range(20)]
    extractor = operations(len(splits))
    batch = pa.RecordBatch.from_pydict({"split": [pickle.dumps(split) for split in splits]})
    by_a_task = pa.Table.from_batches(list(read_splits(extractor)([batch]))).to_pylist()

    whole = list(read_into_files(extractor, splits, tmp_path))
    assert [file.name for file in whole] == ["part-00000.parquet"]
    assert pq.read_table(whole[0]).to_pylist() == by_a_task

    monkeypatch.setattr(reading, "BYTES_IN_FILE", 1)
    rows = []
    for file in read_into_files(extractor, splits, tmp_path):
        rows += pq.read_table(file).to_pylist()
        file.unlink()
    assert rows == by_a_task
    monkeypatch.undo()

    files = read_here(extractor, splits, tmp_path, processes=3)
    assert in_order(row for file in files for row in pq.read_table(file).to_pylist()) == in_order(by_a_task)


def in_order(rows: Iterable[dict[str, Any]]) -> list[str]:
    return sorted(map(repr, rows))


def test_a_reader_that_exits_fails_the_run_and_leaves_no_process(tmp_path: Path) -> None:
    splits = [Numbered(number) for number in range(4)]
    with pytest.raises(ReaderEnded, match="a process that reads on this machine exited with code 3"):
        list(read_here(made(Deadly), splits, tmp_path, processes=2))

    assert not [
        pid for pid in children_of(os.getpid()) if "reading_here" in Path(f"/proc/{pid}/cmdline").read_text()
    ]


TWO_READERS = """
import sys
from pathlib import Path
from navlin.pipeline.reading_here import read_here
from navlin.pipeline.warming import Numbered
from tests.support.shipped_extractors import SHIPPED, required_settings
from tests.support.slow_extractors import Slow, made
list(read_here(made(Slow), [Numbered(0), Numbered(1)], Path(sys.argv[1]), processes=2))
"""


def test_readers_end_with_their_parent(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    parent = subprocess.Popen([sys.executable, "-c", TWO_READERS, str(tmp_path)], env=environment)
    deadline_s = time.monotonic() + 300
    files = [tmp_path / number / "part-00000.parquet" for number in "01"]
    while not all(file.exists() for file in files):
        assert time.monotonic() < deadline_s, "no reader reads"
        time.sleep(0.05)
    readers = children_of(parent.pid)
    assert len(readers) == 2

    parent.kill()
    parent.wait()

    while [pid for pid in readers if Path(f"/proc/{pid}/cmdline").exists()]:
        assert time.monotonic() < deadline_s, "readers go on without their parent"
        time.sleep(0.05)


def children_of(parent: int) -> list[int]:
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


def test_the_drivers_environment_names_hadoops_configuration(tmp_path: Path) -> None:
    variables = Cluster(tmp_path, tmp_path / "e.tar.gz").variables()

    assert (variables["HADOOP_CONF_DIR"], variables["YARN_CONF_DIR"]) == (str(tmp_path), str(tmp_path))
    archives = [Path(each) for each in variables["PYSPARK_ARCHIVES_PATH"].split(",")]
    assert {each.name.partition("-")[0] for each in archives} == {"pyspark.zip", "py4j"}
    assert all(os.access(each, os.R_OK) for each in archives)


def test_the_ca_file_is_found_in_an_executors_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address = SolrAddress("https://solr/solr", ca_file="/etc/of-the-driver/ca.pem")
    assert SolrSession(address).verify == "/etc/of-the-driver/ca.pem"

    (tmp_path / "ca.pem").write_text("")
    assert SolrSession(address).verify == "ca.pem"
