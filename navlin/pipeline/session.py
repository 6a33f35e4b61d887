"""Starts and ends the SparkSession; no other module does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.conf import SparkConf
from pyspark.core.context import SparkContext
from pyspark.sql import SparkSession

from navlin.model.extractor import Mode
from navlin.own_environment import shut_out
from navlin.pipeline.spark_jvm import is_left_to_pyspark, start_jvm
from navlin.pipeline.yarn import Cluster

OWNER_ALONE: Final = 0o700
EXECUTORS_PYTHON: Final = "PYSPARK_PYTHON"
LOCAL_MASTER = "local[*,4]"
"""All cores of this machine; a failing task is tried up to four times."""
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LOCKED: Final = {
    # Spark generates a secret for each session and keeps it in the JVM, not in a command line, environment,
    # configuration or log. Without the secret, every process on this machine could send serialized Java objects to the
    # driver.
    "spark.authenticate": "true",
    "spark.network.crypto.enabled": "true",
    "spark.network.crypto.saslFallback": "false",
}
"""Settings that keep other processes out of a session."""
_DIRECTORIES: Final[list[int]] = []
"""File descriptor of the directory for the sockets of the current session; empty if there is none."""
END_S = 20.0
"""Maximum time for a clean shutdown of the JVM, in seconds."""


def start_session(
    scratch: Path,
    *,
    master: str = LOCAL_MASTER,
    driver_memory: str = "1g",
    settings: Mapping[str, str] | None = None,
    archive: Path | None = None,
    record: bool = False,
    cluster: Cluster | None = None,
) -> SparkSession:
    """Start Spark. Call `navlin.pipeline.warming.warm_up` afterwards, because the first use of the session is slow and
    would delay an event.

    ``scratch`` is Spark's spill directory; it is made private to this user. ``settings`` override navlin's own
    settings, except `LOCKED`, the master and the application's name. ``archive`` is a class archive
    (`navlin.pipeline.spark_jvm.archive_in`), which reduces the start time to a third. With ``record``, the archive is
    written when this session ends. Both apply only to Spark on this machine. ``cluster`` is required for the master
    "yarn".
    """
    shut_out(os.environ, sys.path)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if master.startswith("local"):
        # Workers must use this Python, and Spark must not resolve this host's name over the network.
        os.environ[EXECUTORS_PYTHON] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    scratch.mkdir(parents=True, exist_ok=True)
    scratch.chmod(OWNER_ALONE)
    settings = settings or {}
    own = {
        "spark.driver.memory": driver_memory,
        "spark.local.dir": str(scratch),
        "spark.python.daemon.module": "navlin.pipeline.worker_daemon",
        "spark.scheduler.mode": "FAIR",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    quiet = f"-Dlog4j2.configurationFile={_quiet_log(scratch).absolute().as_uri()}"
    properties = {
        **own,
        **(cluster.properties() if cluster is not None else {}),
        **settings,
        **LOCKED,
        JAVA_OPTIONS: f"{quiet} {settings.get(JAVA_OPTIONS, '')}".strip(),
        "spark.master": master,
        "spark.app.name": "navlin",
    }
    if cluster is not None:
        return _start_on_yarn(properties, cluster)
    properties |= _sockets_in(scratch)
    if not is_left_to_pyspark(properties):
        SparkContext._ensure_initialized(gateway=start_jvm(properties, archive=archive, record=record))
    return _session(properties)


def _sockets_in(scratch: Path) -> dict[str, str]:
    """Return the properties that make Python and the JVM communicate over Unix domain sockets, private to this user.
    Over TCP, PySpark would resolve localhost, which fails on some hosts."""
    while _DIRECTORIES:
        os.close(_DIRECTORIES.pop())  # belongs to a session that has ended
    # Refer to the directory through /proc, because the path of a socket is limited to 107 bytes.
    _DIRECTORIES.append(os.open(scratch, os.O_DIRECTORY))
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": f"/proc/{os.getpid()}/fd/{_DIRECTORIES[0]}",
    }


def _start_on_yarn(properties: Mapping[str, str], cluster: Cluster) -> SparkSession:
    variables = cluster.variables()
    if is_left_to_pyspark(properties):
        os.environ.update(variables)
        conf = SparkConf(loadDefaults=False).setAll(list(properties.items()))
        SparkContext._ensure_initialized(conf=conf)
    else:
        SparkContext._ensure_initialized(gateway=start_jvm(properties, environment=variables))
    brought = cluster.bring(SparkContext._jvm, properties)
    # PySpark reads the executors' Python only from this variable, and only when the session is created.
    before = os.environ.get(EXECUTORS_PYTHON)
    os.environ[EXECUTORS_PYTHON] = cluster.executors_python
    try:
        return _session({**properties, **brought})
    finally:
        del os.environ[EXECUTORS_PYTHON]
        if before is not None:
            os.environ[EXECUTORS_PYTHON] = before


def _session(properties: Mapping[str, str]) -> SparkSession:
    builder = SparkSession.builder
    for key, value in properties.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def has_ended(session: SparkSession) -> bool:
    """Whether the JVM of a session, or its context, has ended."""
    context = session.sparkContext
    jvm = getattr(context._gateway, "proc", None)
    if jvm is not None and jvm.poll() is not None:
        return True
    try:
        return bool(context._jsc.sc().isStopped())
    except Exception:  # py4j raises various errors if the JVM does not respond
        return True


def end_session(session: SparkSession, *, dead: bool = False, wait_s: float = END_S) -> None:
    """End Spark and its JVM; `start_session` may then start a new session. ``dead``: Spark or the JVM has already ended
    by itself."""
    context = session.sparkContext
    gateway: Any = SparkContext._gateway
    if dead:
        context._jsc = None  # the JVM would not respond
        context.stop()
    else:
        session.stop()
    # Otherwise PySpark would keep the gateway for the next session, although the JVM is gone.
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    if (jvm := getattr(gateway, "proc", None)) is not None:
        jvm.stdin.close()  # the JVM ends when its standard input is closed
        try:
            jvm.wait(wait_s)
        except subprocess.TimeoutExpired:
            jvm.kill()
            jvm.wait()


def use_pool(spark: SparkSession, mode: Mode) -> None:
    """Run this thread's jobs in a scheduler pool for ``mode``, so that a long pull leaves a share of the cores to a
    push."""
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", mode.value)


_QUIET = """\
status = error
rootLogger.level = error
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = spark: %p %c{1}: %m%n
"""


def _quiet_log(scratch: Path) -> Path:
    # `spark.log.level` takes effect too late for the messages that Spark logs while starting.
    file = scratch / "log4j2.properties"
    file.write_text(_QUIET)
    return file
