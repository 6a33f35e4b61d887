"""Real Spark applications with their event log on, step by step.

As a program (``python -m tests.services.spark_application``) it executes a step for each line of JSON on stdin, in
one JVM, and prints a line after each step:

- ``["start", settings]`` starts an application with Spark's defaults except for the settings;
- ``["write", url]`` runs a statement that writes to the URL;
- ``["sql", text]`` runs any statement;
- ``["stop"]`` ends the application normally.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

DONE = "done"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.eventLog.enabled": "true",
    "spark.sql.catalogImplementation": "in-memory",
}


class SparkApplications:
    """The program as a child process, with one application at a time."""

    def __init__(self) -> None:
        environment = os.environ | {
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": "--driver-java-options '-XX:TieredStopAtLevel=1 -XX:+UseSerialGC' pyspark-shell",
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.services.spark_application"],
            cwd=Path(__file__).parents[2],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        self._child.wait(120)
        self._child.stdout.close()

    def start(self, logs: str, settings: Mapping[str, str]) -> None:
        """Start an application. ``logs`` is the URL of the directory of event logs."""
        self._do("start", {"spark.eventLog.dir": logs, **settings})

    def write(self, url: str) -> None:
        """Run a statement that writes to ``url``, and wait for its end."""
        self._do("write", url)

    def sql(self, text: str) -> None:
        """Run a statement, and wait for its end."""
        self._do("sql", text)

    def stop(self) -> None:
        """End the application normally."""
        self._do("stop")

    def _do(self, *step: object) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps(step) + "\n")
        self._child.stdin.flush()
        if (answer := self._child.stdout.readline().strip()) != DONE:
            raise RuntimeError(f"Spark said {answer!r} to {step}")


def main() -> None:
    from pyspark.sql import SparkSession

    for line in sys.stdin:
        match json.loads(line):
            case ["start", settings]:
                builder = SparkSession.builder.master("local[1]")
                builder.config(map={**SETTINGS, **settings}).getOrCreate()
            case ["write", url]:
                SparkSession.active().range(10).coalesce(1).write.parquet(url)
            case ["sql", text]:
                SparkSession.active().sql(text)
            case ["stop"]:
                SparkSession.active().stop()
        sys.stdout.write(f"{DONE}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
