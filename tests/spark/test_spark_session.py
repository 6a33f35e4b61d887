"""A process may have several Spark sessions in succession. PySpark's state of one session must not affect the next."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from navlin.java import JavaProgram, NoJava, pyspark_jars
from navlin.pipeline.spark_jvm import (
    FOR_NEWER_JAVA,
    OPENED,
    PROPERTIES,
    NoSpark,
    archive_in,
    is_left_to_pyspark,
    start_jvm,
)
from navlin.pipeline.worker_daemon import QuietIfLeft
from navlin.service.spark_session import ArchiveProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ROOT = Path(__file__).parents[2]
PATIENCE_S = 600.0

PROGRAM = """
import os, signal, sys
from pathlib import Path

import pytest
from navlin.service.settings.configuration import SparkSettings
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
def test_a_process_may_have_successive_sessions_however_each_ends(tmp_path: Path) -> None:
    # The program runs in a separate process, because the tests in this process share a session.
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
    """Start Spark's JVM without a session."""
    gateway = start_jvm({"spark.driver.memory": "256m", **properties}, archive=archive, record=False)
    try:
        yield gateway
    finally:
        gateway.shutdown()
        gateway.proc.stdin.close()
        assert gateway.proc.wait(60) == 0


def test_the_jvm_gets_the_options_of_sparks_own_launcher(spark: Callable[[], SparkSession]) -> None:
    launcher: Any = spark().sparkContext._jvm
    options = launcher.org.apache.spark.launcher.JavaModuleOptions.defaultModuleOptionArray()

    ours = {*FOR_NEWER_JAVA, *PROPERTIES, *(f"--add-opens={opened}=ALL-UNNAMED" for opened in OPENED)}
    assert set(options) - ours <= {
        "--add-modules=jdk.incubator.vector",
        "-Djdk.reflect.useDirectMethodHandle=false",
    }
    assert ours <= set(options)


def test_the_jvm_loads_classes_from_the_archive() -> None:
    archive = archive_in(ROOT / ".jars" / "class-archives")
    if not archive.exists():
        pytest.skip("the archive of Spark's classes is missing: `make jars` makes it")

    with a_jvm(archive) as gateway:
        assert str(archive) in Path(f"/proc/{gateway.proc.pid}/maps").read_text()


@pytest.mark.services
@pytest.mark.parametrize("content", [None, b"no archive at all"])
def test_a_missing_or_broken_class_archive_does_not_prevent_the_start(
    tmp_path: Path, content: bytes | None
) -> None:
    archive = tmp_path / "spark.jsa"
    if content is not None:
        archive.write_bytes(content)

    with a_jvm(archive) as gateway:
        assert gateway.jvm.java.lang.Math.abs(-3) == 3


VISITOR = Path(__file__).parents[1] / "services" / "SparkVisitor.java"


@pytest.mark.services
def test_a_local_process_without_the_secret_is_refused_at_every_port(
    spark: Callable[[], SparkSession],
) -> None:
    context: Any = spark().sparkContext
    ports = sorted(listening_ports(context._gateway.proc.pid))
    assert int(context.getConf().get("spark.driver.port")) in ports

    answers = visit(context.applicationId, ports)

    assert answers.pop("open rpc").startswith("answered ")
    assert answers.keys() == {f"{port} {what}" for port in ports for what in ("rpc", "blocks")}
    assert {answer.partition(" ")[0] for answer in answers.values()} == {"refused"}, answers


def test_the_secret_is_per_session_and_unreadable(
    spark: Callable[[], SparkSession],
) -> None:
    context: Any = spark().sparkContext
    hadoop = context._jvm.org.apache.hadoop
    user = hadoop.security.UserGroupInformation.getCurrentUser()
    secret = bytes(user.getCredentials().getSecretKey(hadoop.io.Text("sparkCookie"))).decode()
    assert len(secret) >= 32

    process = Path(f"/proc/{context._gateway.proc.pid}")
    assert secret not in process.joinpath("cmdline").read_text()
    assert secret.encode() not in process.joinpath("environ").read_bytes()
    assert not any(secret in value for _, value in context.getConf().getAll())


def test_spilled_files_are_private(spark: Callable[[], SparkSession]) -> None:
    context: Any = spark().sparkContext
    scratch = Path(context.getConf().get("spark.local.dir"))
    assert scratch.stat().st_mode & 0o777 == 0o700

    masks = spark().range(4).repartition(4).rdd.map(lambda _: Path("/proc/self/status").read_text()).collect()

    assert {re.search(r"Umask:\s*(\d+)", each)[1] for each in masks} == {"0077"}  # type: ignore[index]
    # Files that this process wrote with its own umask are left out, and files that a test shipped, which keep their
    # mode.
    spilled = [
        path
        for path in scratch.rglob("*")
        if path.name != "log4j2.properties" and not path.parent.name.startswith("userFiles-")
        if not path.is_socket()
    ]
    assert any(path.is_file() for path in spilled)
    assert [path for path in spilled if open_to_others(path)] == []


def open_to_others(path: Path) -> bool:
    try:
        return path.stat().st_mode & 0o077 != 0
    except FileNotFoundError:
        # Spark and its workers remove sockets and files while this test looks at them.
        return False


def listening_ports(pid: int) -> set[int]:
    descriptors = (link.readlink() for link in Path(f"/proc/{pid}/fd").iterdir())
    sockets = {found.name for found in descriptors if found.name.startswith("socket:")}
    lines = (
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]
    )
    listening = "0A"
    return {
        int(words[1].rpartition(":")[2], 16)
        for words in lines
        if words[3] == listening and f"socket:[{words[9]}]" in sockets
    }


def visit(application: str, ports: list[int]) -> dict[str, str]:
    """Connect to the ports with Spark's own classes but without the secret. Map "PORT rpc" and "PORT blocks" to the
    responses."""
    program = JavaProgram(VISITOR, sorted(pyspark_jars().glob("*.jar")), ROOT / ".jars" / "spark-visitor")
    opened = [f"--add-opens={each}=ALL-UNNAMED" for each in OPENED]
    command = program.command(
        ("-Xmx256m", *opened, *PROPERTIES), (application, *map(str, ports)), archive_classes=False
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return {
        f"{port} {what}": answer
        for port, what, answer in (line.split(maxsplit=2) for line in done.stdout.splitlines())
    }


@pytest.mark.services
def test_configured_java_options_take_effect() -> None:
    options = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4 -Dnavlin.test='two words'"}
    with a_jvm(None, **options) as gateway:
        command = Path(f"/proc/{gateway.proc.pid}/cmdline").read_text().split("\0")
        assert command.index("-XX:TieredStopAtLevel=4") > command.index("-XX:TieredStopAtLevel=1")
        assert gateway.jvm.java.lang.System.getProperty("navlin.test") == "two words"


def test_a_spark_with_native_libraries_is_started_by_pyspark() -> None:
    assert is_left_to_pyspark({"spark.driver.extraLibraryPath": "/opt/native"})
    assert not is_left_to_pyspark({"spark.driver.memory": "1g"})


def test_a_missing_java_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(NoJava, match=rf"there is no {tmp_path}/bin/java: install Java 17 or newer"):
        archive_in(tmp_path)
    with pytest.raises(NoSpark, match=rf"there is no {tmp_path}/bin/java"), a_jvm():
        pass


def processes_of(directory: Path) -> list[str]:
    """The command lines that name a directory."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has ended
            found.append(file.read_text(errors="replace"))
    return [line for line in found if str(directory) in line]


def test_an_archive_given_up_leaves_neither_a_jvm_nor_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "navlin.service.spark_session.CONF", tmp_path / "conf"
    )  # a checkout keeps one archive
    making = ArchiveProcess(tmp_path)
    assert making.start()
    deadline_s = time.monotonic() + PATIENCE_S
    while not any("SparkSubmit" in line for line in processes_of(tmp_path)):
        assert time.monotonic() < deadline_s
        time.sleep(0.05)

    making.stop()

    assert processes_of(tmp_path) == []
    assert [path for path in tmp_path.rglob("*") if path.name.startswith(".making") or path.is_file()] == []


def test_the_worker_daemon_starts_no_thread_before_forking() -> None:
    program = "import os, navlin.pipeline.worker_daemon; print(len(os.listdir('/proc/self/task')))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    ("error", "said"),
    [(BrokenPipeError(), False), (ConnectionResetError(), False), (ValueError("odd"), True)],
    ids=("Spark has ended", "Spark gave the task up", "a fault of its own"),
)
def test_a_worker_is_silent_only_if_spark_disconnected(
    error: Exception, *, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        raise error
    except type(error):
        QuietIfLeft.print_exc()
    assert ("Traceback" in capsys.readouterr().err) is said
