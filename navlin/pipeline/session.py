"""The one place that makes a SparkSession, and ends it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.core.context import SparkContext
from pyspark.sql import SparkSession

from navlin.model.extractor import Mode

LOCAL_MASTER = "local[*,4]"
"""Every core of this machine, and a task that fails may be tried four times."""
END_S = 20.0
"""How long its JVM may take to end in order."""


def start_session(
    scratch: Path,
    *,
    master: str = LOCAL_MASTER,
    driver_memory: str = "1g",
    settings: Mapping[str, str] | None = None,
) -> SparkSession:
    """Starts Spark (some 6 s); `navlin.pipeline.warming` then takes what its first use costs, before an event has to wait.

    ``scratch`` is where Spark spills. ``settings`` go before navlin's own.
    """
    # Workers must be this Python, and Spark must not ask the network for a name of this host.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    scratch.mkdir(parents=True, exist_ok=True)
    own = {
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_quiet_log(scratch)}",
        "spark.local.dir": str(scratch),
        "spark.scheduler.mode": "FAIR",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master(master).appName("navlin")
    for key, value in {**own, **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def end_session(session: SparkSession, *, dead: bool = False) -> None:
    """Ends Spark and its JVM; `start_session` may then start another. ``dead``: Spark or the JVM has ended by itself."""
    context = session.sparkContext
    gateway: Any = SparkContext._gateway
    if dead:
        context._jsc = None  # nobody would answer
        context.stop()
    else:
        session.stop()
    # PySpark keeps its way to the JVM for the next session, which would find nobody there.
    SparkContext._gateway = SparkContext._jvm = None
    gateway.shutdown()
    if (jvm := getattr(gateway, "proc", None)) is not None:
        jvm.stdin.close()  # it ends when its standard input does
        try:
            jvm.wait(END_S)
        except subprocess.TimeoutExpired:
            jvm.kill()
            jvm.wait()


def use_pool(spark: SparkSession, mode: Mode) -> None:
    """Runs what this thread submits in the pool of its mode: a long pull then leaves a share of the cores to a push."""
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
    # `spark.log.level` comes too late for what Spark says while it starts.
    file = scratch / "log4j2.properties"
    file.write_text(_QUIET)
    return file
