"""A Spark job with an event log and with OpenLineage's agent, which sends events to a server.

As a program: ``python -m tests.services.openlineage_job FOLDER JAR URL ENDPOINT TOKEN``. The job's tables are in
``FOLDER/wh``, its other output is in ``FOLDER/out``, and its event log is in ``FOLDER/log``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

APPLICATION = "daily totals"


def run_job(folder: Path, jar: Path, url: str, endpoint: str, token: str) -> None:
    """Run the job in its own process."""
    (folder / "log").mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-m", "tests.services.openlineage_job", str(folder), str(jar), url, endpoint, token],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"the Spark job ended with {done.returncode}:\n{done.stderr[-4000:]}")


def main() -> None:
    from pyspark.sql import SparkSession

    folder, jar, url, endpoint, token = sys.argv[1:]
    builder = SparkSession.builder.master("local[1]").appName(APPLICATION)
    for key, value in {
        "spark.jars": jar,
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": "prod",
        "spark.openlineage.transport.type": "http",
        "spark.openlineage.transport.url": url,
        "spark.openlineage.transport.endpoint": endpoint,
        "spark.openlineage.transport.compression": "gzip",
        "spark.openlineage.transport.auth.type": "api_key",
        "spark.openlineage.transport.auth.apiKey": token,
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{folder}/log",
        "spark.sql.warehouse.dir": f"{folder}/wh",
        "spark.sql.debug.maxToStringFields": "2000",
        "spark.ui.enabled": "false",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sql("create table orders (id int, amount double, country string) using parquet")
    session.sql("insert into orders values (1, 2.0, 'de'), (2, 3.0, 'fr')")
    session.sql(
        "create table totals using parquet as"
        " select country, sum(amount) as total from orders where id > 0 group by country"
    )
    session.table("totals").write.mode("overwrite").parquet(f"{folder}/out")
    session.stop()


if __name__ == "__main__":
    main()
