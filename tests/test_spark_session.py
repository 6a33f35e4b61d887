"""A process may have one Spark after another: what PySpark keeps of one that has ended must not reach the next."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from navlin.java import NoJava
from navlin.pipeline.spark_jvm import (
    FOR_NEWER_JAVA,
    OPENED,
    PROPERTIES,
    NoSpark,
    archive_in,
    is_left_to_pyspark,
    start_jvm,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ROOT = Path(__file__).parents[1]
PATIENCE_S = 600.0

PROGRAM = """
import os, signal, sys
from pathlib import Path

import pytest
from navlin.service.configuration import SparkSettings
from navlin.service.spark_session import LazySparkSession

def use(end):
    spark = LazySparkSession(SparkSettings(), Path(sys.argv[1]))
    assert spark().range(3).count() == 3
    jvm = spark().sparkContext._gateway.proc
    end(spark, jvm)
    spark.stop()
    assert jvm.returncode is not None and spark.dead
    return jvm.pid

def in_order(spark, jvm):
    pass

def killed(spark, jvm):
    jvm.kill()
    jvm.wait()
    assert spark.dead

def stopped_twice(spark, jvm):
    spark.stop()

print(len({use(end) for end in (in_order, killed, stopped_twice)}))
"""


@pytest.mark.services
def test_a_process_may_have_one_session_after_another_however_each_ends(tmp_path: Path) -> None:
    # In a process of its own: the tests of this one share a session.
    finished = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )

    assert (finished.returncode, finished.stdout) == (0, "3\n"), finished.stderr


@contextmanager
def a_jvm(archive: Path | None = None, **properties: str) -> Iterator[Any]:
    """Spark's JVM, without a session."""
    gateway = start_jvm({"spark.driver.memory": "256m", **properties}, archive=archive, record=False)
    try:
        yield gateway
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        assert gateway.proc.wait(60) == 0


def test_the_jvm_gets_what_sparks_own_launcher_gives_it(spark: Callable[[], SparkSession]) -> None:
    launcher: Any = spark().sparkContext._jvm
    options = launcher.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptionArray()

    ours = {*FOR_NEWER_JAVA, *PROPERTIES, *(f"--add-opens={opened}=ALL-UNNAMED" for opened in OPENED)}
    assert set(options) - ours <= {
        "--add-modules=jdk.incubator.vector",
        "-Djdk.reflect.useDirectMethodHandle=false",
    }
    assert ours <= set(options)


def test_the_jvm_takes_its_classes_from_the_archive() -> None:
    archive = archive_in(ROOT / ".jars" / "class-archives")
    if not archive.exists():
        pytest.skip("the archive of Spark's classes is missing: `make jars` makes it")

    with a_jvm(archive) as gateway:
        assert str(archive) in Path(f"/proc/{gateway.proc.pid}/maps").read_text()


@pytest.mark.parametrize("content", [None, b"no archive at all"])
def test_an_archive_that_is_missing_or_broken_only_costs_time(tmp_path: Path, content: bytes | None) -> None:
    archive = tmp_path / "spark.jsa"
    if content is not None:
        archive.write_bytes(content)

    with a_jvm(archive) as gateway:
        assert gateway.jvm.java.lang.Math.abs(-3) == 3


def test_an_operators_java_options_count() -> None:
    options = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4 -Dnavlin.test='two words'"}
    with a_jvm(None, **options) as gateway:
        command = Path(f"/proc/{gateway.proc.pid}/cmdline").read_text().split("\0")
        assert command.index("-XX:TieredStopAtLevel=4") > command.index("-XX:TieredStopAtLevel=1")
        assert gateway.jvm.java.lang.System.getProperty("navlin.test") == "two words"


def test_a_spark_of_the_operators_own_is_started_as_pyspark_does() -> None:
    assert is_left_to_pyspark({"SPARK_HOME": "/opt/spark"}, {})
    assert is_left_to_pyspark({}, {"spark.driver.extraLibraryPath": "/opt/native"})
    assert not is_left_to_pyspark({"HADOOP_CONF_DIR": "/etc/hadoop/conf"}, {"spark.driver.memory": "1g"})


def test_a_java_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(NoJava, match=rf"there is no {tmp_path}/bin/java: install Java 17 or newer"):
        archive_in(tmp_path)
    with pytest.raises(NoSpark, match=rf"there is no {tmp_path}/bin/java"), a_jvm():
        pass


def test_nothing_that_starts_a_thread_is_loaded_before_workers_are_forked() -> None:
    program = "import os, navlin.pipeline.worker_daemon; print(len(os.listdir('/proc/self/task')))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "1\n"
