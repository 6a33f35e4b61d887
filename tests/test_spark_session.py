"""A process may have one Spark after another: what PySpark keeps of one that has ended must not reach the next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PATIENCE_S = 600.0

PROGRAM = """
import os, signal, sys
from pathlib import Path

import pytest
from navlin.service.configuration import SparkSettings
from navlin.service.sparks import Spark

def use(end):
    spark = Spark(SparkSettings(conf={"spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1"}), Path(sys.argv[1]))
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
