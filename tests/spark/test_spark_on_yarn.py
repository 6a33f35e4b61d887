"""The pipeline on a real YARN: the executors have none of navlin's packages, and write to a SolrCloud."""

from __future__ import annotations

import getpass
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests

from extractors.hms.client import connected
from extractors.hms.idl import Database
from navlin.demo.impala import write_records
from navlin.index.graph.presentation import presented
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr
from tests.services.hadoop import Hadoop
from tests.services.metastore import CREATE_DATABASE, CREATE_TABLE, Metastore, table
from tests.services.spark_on_yarn import REPOSITORY, Driver, configuration_text, without_checkout
from tests.support.killed_runs import Played, differences, index_of, wipe
from tests.support.pipeline_estate import FIRST_MS, SmallEstate, unstamped
from tests.support.solr_proxy import Call, SolrProxy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services
PATIENCE_S = 180.0
LATER_MS = FIRST_MS + 1_000_000_000
USER = getpass.getuser()


@dataclass
class OnYarn:
    """A driver with its Spark on YARN, and the estate that the driver runs."""

    hadoop: Hadoop
    driver: Driver
    estate: SmallEstate
    proxy: SolrProxy
    properties: dict[str, str]

    @property
    def application(self) -> str:
        return self.properties["application"]

    def state(self) -> str:
        answer = requests.get(f"{self.hadoop.yarn}/ws/v1/cluster/apps/{self.application}", timeout=300)
        return str(answer.json()["app"]["state"])

    def containers(self) -> dict[int, str]:
        """Map the pids of the processes in the application's containers to their command lines."""
        return {
            pid: command
            for pid, command in command_lines().items()
            if self.application in working_directory(pid)
        }

    def executors(self) -> list[int]:
        """Return the pids of the application's executor JVMs."""
        return [
            pid
            for pid, command in self.containers().items()
            if "YarnCoarseGrainedExecutorBackend" in command and "/bin/java\0" in command[:200]
        ]

    def staging(self) -> list[str]:
        """Return the staging files of this application on HDFS."""
        return self._on_hdfs(f".sparkStaging/{self.application}")

    def brought(self) -> list[str]:
        """Return the files that stay on HDFS for later applications."""
        return self._on_hdfs(".navlin")

    def _on_hdfs(self, folder: str) -> list[str]:
        params = {"op": "LISTSTATUS", "user.name": USER}
        url = f"{self.hadoop.http[0]}/webhdfs/v1/user/{USER}/{folder}"
        answer = requests.get(url, params=params, timeout=300)
        if answer.status_code == 404:
            return []
        return [each["pathSuffix"] for each in answer.json()["FileStatuses"]["FileStatus"]]


def jvm_of(worker: int) -> int:
    """Return the pid of the executor that started a Python worker."""
    pid = worker
    while "YarnCoarseGrainedExecutorBackend" not in command_lines().get(pid, ""):
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return pid


def command_lines() -> dict[int, str]:
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            found[int(folder.name)] = (folder / "cmdline").read_text(errors="replace")
        except OSError:
            continue
    return found


def working_directory(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""


@pytest.fixture(scope="module")
def on_yarn(yarn: Hadoop, cloud: Solr, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OnYarn]:
    folder = tmp_path_factory.mktemp("on-yarn")
    estate = SmallEstate(cloud, no_spark, folder)
    file = folder / "navlin.toml"
    with SolrProxy(cloud.address) as proxy:
        file.write_text(configuration_text(yarn, proxy.address, folder, estate.cluster, master="yarn"))
        with Driver(file, proxy.address, estate.cluster, folder) as driver:
            yield OnYarn(yarn, driver, estate, proxy, driver.do("start"))


def no_spark() -> SparkSession:
    raise AssertionError("this process only asks")


SOURCES = """
[[source]]
name = "HIVE-1"
extractor = "hms"
uris = ["{metastore}"]
databases = ["{database}"]

[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = "{folder}"
"""
"""Configuration of two sources: executors read the splits of the first, and the second reads local files."""


def test_extraction_on_yarn_gives_the_same_index_as_local(
    yarn: Hadoop, metastore: Metastore, cloud: Solr, tmp_path: Path
) -> None:
    database = f"yarn_{uuid.uuid4().hex[:8]}"
    with connected(metastore.address) as client:
        client.call(CREATE_DATABASE, Database(database, "about it", None, {}))
        for number in range(30):
            location = f"{yarn.url}/{database}/t{number}"
            client.call(CREATE_TABLE, table(database, f"t{number}", location=location))
    logs = tmp_path / "impala"
    logs.mkdir()
    write_records(logs, int(time.time()) - 600)
    sources = SOURCES.format(metastore=metastore.uri, database=database, folder=logs)

    found: dict[str, dict[tuple[str, str], dict[str, Any]]] = {}
    for master in ("yarn", "local[2]"):
        folder = tmp_path / master
        folder.mkdir()
        file = folder / "navlin.toml"
        text = configuration_text(yarn, cloud.address, folder, database, master=master)
        file.write_text(text + sources)
        for source in ("HIVE-1", "IMPALA-1"):
            run = extract(file, source)
            assert (run["status"], run["counts"]["failed_splits"]) == ("finished", 0), run
        found[master] = take_out(cloud, database)

    types = Counter(document["type"] for document in found["yarn"].values())
    assert (types["TABLE"], types["FIELD"], types["OPERATION"]) == (30, 60, 3), types
    assert types["DATA_FLOW"] > 10
    assert differences(found["local[2]"], found["yarn"]) == []


def extract(file: Path, source: str) -> dict[str, Any]:
    """Run ``navlin extract`` in its own process, without this checkout. Return its JSON report."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("navlin")), "--config", str(file), "extract", source, "--json"],
        cwd=file.parent,
        env=without_checkout(),
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert done.returncode == 0, (done.stdout, done.stderr[-4000:])
    run: dict[str, Any] = json.loads(done.stdout)
    return run


def take_out(solr: Solr, cluster: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Remove a cluster's documents from the index. Return them by (core, id), without navlin's stamps and the times
    of reads."""
    of_cluster = [f'clusterName:"{cluster}"']
    sources = [
        each["identity"] for each in solr.cursor(ELEMENTS, "type:SOURCE", "identity", filters=of_cluster)
    ]
    either = " OR ".join(sources)
    found = {}
    for core, field in ((ELEMENTS, "sourceId"), (RELATIONS, "writer")):
        for document in presented(solr, core, solr.cursor(core, f"{field}:({either})", "*")):
            found[core, document["identity"]] = {
                name: value for name, value in unstamped(document).items() if name != "asOf"
            }
        solr.delete_ids(core, [identity for of, identity in found if of == core])
        solr.commit(core, soft=True)
    runs = solr.cursor(RUNS, f"sourceId:({either}) source:({either})", "identity")
    solr.delete_ids(RUNS, [each["identity"] for each in runs])
    solr.commit(RUNS, soft=True)
    return found


def test_executors_run_the_shipped_python_and_modules(on_yarn: OnYarn) -> None:
    tasks = on_yarn.driver.do("modules")

    assert len(tasks) == 8
    for container, python, *places in tasks:
        assert on_yarn.application in container
        # YARN shares unpacked archives among all containers of a user.
        assert f"{container.partition('/appcache/')[0]}/filecache/" in os.path.realpath(
            f"{container}/environment"
        )
        assert Path(python).is_relative_to(Path(container) / "environment"), python
        assert not [place for place in places if place.startswith(str(REPOSITORY))], places


def test_the_index_is_the_same_as_with_local_spark(
    on_yarn: OnYarn, spark: Callable[[], SparkSession], cloud: Solr
) -> None:
    on_yarn.driver.do("play")
    found = index_of(on_yarn.estate)
    wipe(on_yarn.estate)

    # The folder is the same because rejects contain the path of their file.
    here = SmallEstate(cloud, spark, on_yarn.estate.tables_file.parent, cluster=on_yarn.estate.cluster)
    played = Played(here)
    played.begin()
    played.play()
    expected = index_of(here)
    wipe(here)

    assert len(expected) > 1_000
    assert differences(expected, found) == []


def test_an_executor_killed_while_reading_loses_and_duplicates_nothing(on_yarn: OnYarn) -> None:
    estate = on_yarn.estate
    tables = {f"killed.t{number:02d}": ["id", "amount"] for number in range(12)}
    gate = estate.tables_file.with_name("gate")
    estate.tables(tables, waiting={"killed.t03": str(gate)})
    eventually(lambda: len(on_yarn.executors()) == 2, "there are two executors")

    on_yarn.driver.begin("pull", now_ms=LATER_MS)
    reader = gate.with_suffix(".pid")
    eventually(lambda: reader.exists() and bool(reader.read_text()), "a task reads")
    victim = jvm_of(int(reader.read_text()))
    os.kill(victim, signal.SIGKILL)
    gate.touch()
    run = on_yarn.driver.answer()

    assert (run["status"], run["error"]) == ("finished", "")
    assert victim not in on_yarn.executors()
    assert estate.live("TABLE", "FIELD") == named(tables)
    assert estate.deleted("TABLE", "FIELD") == set()
    written = run["counts"]["new"]
    again = on_yarn.driver.do("pull", now_ms=LATER_MS + 600_000)["counts"]
    assert (again["unchanged"], again["new"], again["changed"]) == (written, 0, 0)


def test_executors_killed_while_writing_lose_and_duplicate_nothing(on_yarn: OnYarn) -> None:
    estate = on_yarn.estate
    tables = {f"killed.{of}{number:02d}": ["id", "amount"] for of in "tu" for number in range(12)}
    estate.tables(tables)
    eventually(lambda: len(on_yarn.executors()) == 2, "there are two executors")
    killed: list[int] = []

    def kill_at_the_first_write(call: Call) -> bool:
        if not killed and not call.answered and call.core == ELEMENTS and len(call.documents) > 1:
            killed.extend(on_yarn.executors())
            estate.tables(tables, broken=list(tables))  # reading these tables again would fail
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
        return True

    on_yarn.proxy.passes = kill_at_the_first_write
    run = on_yarn.driver.do("pull", now_ms=LATER_MS + 1_200_000)
    on_yarn.proxy.passes = lambda call: True

    assert len(killed) == 2
    assert (run["status"], run["error"]) == ("finished", "")
    assert set(killed).isdisjoint(on_yarn.executors())
    assert named(tables) <= estate.live("TABLE", "FIELD")
    estate.tables(tables)
    again = on_yarn.driver.do("pull", now_ms=LATER_MS + 1_800_000)["counts"]
    assert (again["unchanged"], again["new"], again["changed"]) == (1 + 3 * len(tables), 0, 0)


def named(tables: Mapping[str, list[str]]) -> set[str]:
    """Return the tree paths of tables and their columns."""
    paths = {"/" + name.replace(".", "/").upper(): columns for name, columns in tables.items()}
    return {*paths, *(f"{path}/{column.upper()}" for path, columns in paths.items() for column in columns)}


def test_everything_ends_with_the_driver_even_if_it_is_killed(on_yarn: OnYarn) -> None:
    assert on_yarn.state() == "RUNNING"
    jvm = int(on_yarn.properties["jvm"])
    staging = on_yarn.staging()
    assert len(on_yarn.containers()) >= 3

    on_yarn.driver.kill()

    eventually(lambda: not Path(f"/proc/{jvm}").exists(), "the driver's JVM ends")
    eventually(lambda: not on_yarn.containers(), "the containers end")
    eventually(lambda: on_yarn.state() in ("FINISHED", "FAILED", "KILLED"), "YARN has it as ended")
    eventually(lambda: on_yarn.staging() == [], "what it kept on HDFS is removed")
    assert "pyspark.zip" in staging
    assert [
        name for name in staging if name.startswith("navlin-")
    ] == []  # because each run removed its own files
    assert len(on_yarn.brought()) == 2  # the environment and the jars, for the next application


def eventually(holds: Callable[[], bool], what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline_s, f"in vain: {what}"
        time.sleep(0.2)
