"""A driver of navlin's pipeline with any Spark configuration, for instance for YARN.

As a program (``python -m tests.services.spark_on_yarn CONFIGURATION ADDRESS CLUSTER FOLDER``) it executes orders,
one line of JSON each on stdin, and prints a line of JSON after each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from navlin.index.solr.solr import Solr, SolrAddress
from navlin.kerberos.client import Login
from tests.services.hadoop import Hadoop

REPOSITORY = Path(__file__).parents[2]
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""JVM options for processes that run for a minute."""
SMALL = {
    "spark.driver.host": "127.0.0.1",
    "spark.executor.instances": "2",
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": QUICK,
    "spark.yarn.am.memory": "512m",
    "spark.yarn.am.extraJavaOptions": QUICK,
}
"""Settings of Spark on a one-machine cluster, with two executors of one core each."""


def configuration_text(
    hadoop: Hadoop,
    address: SolrAddress,
    folder: Path,
    cluster: str,
    *,
    master: str,
    login: Login | None = None,
) -> str:
    """Return a configuration without sources, with the Solr at ``address`` and with Spark locally or on ``hadoop``.
    ``login`` is needed if Hadoop requires tickets.
    """
    password = folder / "solr.password"
    password.write_text(address.password or "")
    lines = [
        "[navlin]",
        f'cluster = "{cluster}"',
        f'state_directory = "{folder / "state"}"',
        "[solr]",
        f'url = "{address.url}"',
        f'user = "{address.user}"',
        f'password_file = "{password}"',
        "[spark]",
        f'master = "{master}"',
    ]
    if master == "yarn":
        lines.append(f'hadoop_configuration_directory = "{hadoop.configuration_directory}"')
        conf = dict(SMALL)
        if login is not None:
            lines += [f'principal = "{login.principal}"', f'keytab = "{login.keytab}"']
            for each in (f"spark.{jvm}.extraJavaOptions" for jvm in ("driver", "executor", "yarn.am")):
                conf[each] = f"{conf.get(each, '')} -Djava.security.krb5.conf={login.krb5_conf}".strip()
        lines += ["[spark.conf]", *(f'"{name}" = "{value}"' for name, value in conf.items())]
    return "".join(f"{line}\n" for line in lines)


def without_checkout() -> dict[str, str]:
    """Return the environment of this process without the variables that lead to this checkout's modules."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_PYTHON")}


class Driver:
    """The program as a child process, in a folder that contains nothing of this checkout."""

    def __init__(self, configuration: Path, address: SolrAddress, cluster: str, folder: Path) -> None:
        arguments = [str(configuration), json.dumps(asdict(address)), cluster, str(folder)]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.services.spark_on_yarn", *arguments],
            cwd=folder,
            env=without_checkout() | {"PYTHONPATH": str(REPOSITORY)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self, order: str, **more: Any) -> None:
        """Give an order without waiting for the result."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"order": order, **more}) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Any:
        """Return the result of the last order."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the driver ended with {self._process.wait()}")
        return json.loads(line)

    def do(self, order: str, **more: Any) -> Any:
        """Give an order, and wait for the result."""
        self.begin(order, **more)
        return self.answer()

    def end(self) -> int:
        """End the program normally. Return its exit code."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        code = self._process.wait(600)
        self._process.stdout.close()
        return code

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def modules_of_a_task(_: Any) -> Iterator[list[str]]:
    """Yield the paths from which a task's Python process imports its modules."""
    import pandas

    import extractors.hms
    import navlin

    yield [
        os.getcwd(),
        sys.executable,
        *(str(each.__file__) for each in (navlin, extractors.hms, pandas)),
        *sys.path,
    ]


def main(configuration: str, address: str, cluster: str, folder: str) -> None:
    from navlin.service.settings.configuration import read_configuration
    from navlin.service.spark_session import LazySparkSession
    from tests.support.killed_runs import Played
    from tests.support.pipeline_estate import SmallEstate

    archive = Path(folder) / "tests.zip"
    with zipfile.ZipFile(archive, "w") as modules:
        for folder_name in ("tests", "tests/support", "tests/services"):
            modules.mkdir(folder_name)  # a zip without directory entries has no packages
        for name in ("tests/support/scripted_extractors.py", "tests/services/spark_on_yarn.py"):
            modules.write(REPOSITORY / name, name)
    made = read_configuration(Path(configuration), None, os.environ)
    with LazySparkSession.of(made) as spark, Solr(SolrAddress(**json.loads(address))) as solr:
        estate = SmallEstate(solr, spark, Path(folder), cluster=cluster)
        for line in sys.stdin:
            answer: Any = None
            match json.loads(line):
                case {"order": "start"}:
                    context: Any = spark().sparkContext
                    context.addPyFile(str(archive))
                    jvm = context._gateway.proc.pid
                    answer = {
                        "application": context.applicationId,
                        "jvm": jvm,
                        **dict(context.getConf().getAll()),
                    }
                case {"order": "modules"}:
                    answer = (
                        spark()
                        .sparkContext.parallelize(range(8), 8)
                        .mapPartitions(modules_of_a_task)
                        .collect()
                    )
                case {"order": "play"}:
                    Played(estate).play()
                case {"order": "pull", "now_ms": now_ms}:
                    estate.now_ms = now_ms
                    run = estate.pull()
                    answer = {"status": run.status, "error": run.error, "counts": asdict(run.counts)}
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:5])
