"""Real jobs on a real YARN: a Spark job in client mode with its event log on HDFS, and applications that run one
command.

As a program (``python -m tests.services.yarn_jobs HDFS METASTORE FOLDER DATABASE``) it is the Spark job: it creates
a table in the metastore, and writes a result computed from that table to a directory.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import requests

from tests.services.hadoop import Hadoop

APPLICATION = "daily orders on yarn"
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVM options for processes that run for seconds."""


def run_spark_job(hadoop: Hadoop, metastore: str, folder: str, database: str) -> None:
    """Run the job in its own process. On HDFS, its event logs are in ``<folder>/spark-history``, its tables in
    ``<folder>/warehouse``, and its output in ``<folder>/out/daily``.
    """
    environment = os.environ | {
        "HADOOP_CONF_DIR": str(hadoop.configuration_directory),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--driver-java-options '{_QUICK}' pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.services.yarn_jobs", hadoop.url, metastore, folder, database],
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the Spark job ended with {done.returncode}:\n{done.stderr[-4000:]}")


def submit(yarn: str, name: str, command: str, *, user: str = "alice") -> str:
    """Start an application that is one command without an application master. Return its id.

    YARN marks the application FAILED when it ends, because no master reported. ``yarn`` is the ResourceManager's
    URL.
    """
    who = {"user.name": user}
    made = requests.post(f"{yarn}/ws/v1/cluster/apps/new-application", params=who, timeout=300)
    made.raise_for_status()
    identity = str(made.json()["application-id"])
    asked = {
        "application-id": identity,
        "application-name": name,
        "application-type": "SHELL",
        "am-container-spec": {"commands": {"command": command}},
        "max-app-attempts": 1,
        "resource": {"memory": 128, "vCores": 1},
        "application-tags": {"tag": ["of a test"]},
    }
    answer = requests.post(f"{yarn}/ws/v1/cluster/apps", params=who, json=asked, timeout=300)
    answer.raise_for_status()
    return identity


def kill(hadoop: Hadoop, identity: str, *, user: str = "alice") -> None:
    url = f"{hadoop.yarn}/ws/v1/cluster/apps/{identity}/state"
    requests.put(url, params={"user.name": user}, json={"state": "KILLED"}, timeout=300).raise_for_status()


def await_state(hadoop: Hadoop, identity: str, *states: str, timeout_s: float = 60) -> str:
    """Wait until an application is in one of these states. Return the state. Raises TimeoutError."""
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        answer = requests.get(f"{hadoop.yarn}/ws/v1/cluster/apps/{identity}", timeout=300).json()["app"]
        if answer["state"] in states:
            return str(answer["state"])
        time.sleep(0.1)
    raise TimeoutError(f"{identity} is not {' or '.join(states)} after {timeout_s} s")


def main(hdfs: str, metastore: str, folder: str, database: str) -> None:
    from pyspark.sql import SparkSession

    from navlin.java import pyspark_jars

    home = f"{hdfs}{folder}"
    builder = SparkSession.builder.master("yarn").appName(APPLICATION)
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"{home}/spark-history",
        "spark.yarn.jars": f"local:{pyspark_jars()}/*",
        "spark.driver.host": "127.0.0.1",
        "spark.executor.instances": "1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": _QUICK,
        "spark.yarn.am.memory": "512m",
        "spark.yarn.am.extraJavaOptions": _QUICK,
        "spark.yarn.populateHadoopClasspath": "false",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{home}/warehouse",
        "spark.sql.shuffle.partitions": "1",
        "spark.hadoop.hive.metastore.uris": metastore,
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        session.sql(f"create database {database} location '{home}/warehouse/{database}.db'")
        orders = session.range(100).selectExpr("id", "id % 7 as region")
        orders.write.saveAsTable(f"{database}.orders")
        daily = session.table(f"{database}.orders").where("id > 3").groupBy("region").count()
        daily.write.parquet(f"{home}/out/daily")
    finally:
        session.stop()


if __name__ == "__main__":
    main(*sys.argv[1:5])
