"""A real Pig, which runs scripts as jobs of MapReduce on a cluster."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from navlin.java import find_java
from tests.services.mapreduce_cluster import CLIENT, MapReduceCluster

_RUN_S: Final = 300
_SETTINGS: Final = (
    # Otherwise Pig runs small jobs in its own process, and those leave no history.
    "pig.auto.local.enabled=false",
    # Two tasks in one JVM of 300 MB have no room for the default of 100 MB each.
    "mapreduce.task.io.sort.mb=16",
)
OF_TASKS: Final = ("automaton", "commons-collections", "joda-time", "pig")
"""Beginnings of the names of the jars that Pig's tasks need."""


class Pig:
    """Pig's command on a cluster. ``jars`` is the directory of the jar set "pig"; scripts are in ``directory``."""

    def __init__(self, directory: Path, jars: Path, cluster: MapReduceCluster) -> None:
        self._directory, self._cluster = directory, cluster
        self._jars = sorted(jars.glob("*.jar"))
        directory.mkdir(parents=True)

    def run(
        self,
        name: str,
        script: str,
        *,
        parameters: Mapping[str, str] | None = None,
        properties: Sequence[str] = (),
        fails: bool = False,
    ) -> str:
        """Run a script of this name, and return what Pig printed. ``properties`` have the form ``name=value``. Raises
        RuntimeError if the script fails or, with ``fails``, does not.
        """
        (self._directory / name).write_text(script)
        path = os.pathsep.join(
            [
                str(self._cluster.hadoop.configuration_directory),
                *map(str, self._jars),
                *map(str, self._cluster.jars),
            ]
        )
        settings = [f"-D{each}" for each in (*_SETTINGS, *properties)]
        given = [part for key, value in (parameters or {}).items() for part in ("-p", f"{key}={value}")]
        done = subprocess.run(
            [
                find_java(),
                *CLIENT,
                "-cp",
                path,
                "org.apache.pig.Main",
                *settings,
                "-x",
                "mapreduce",
                *given,
                "-f",
                name,
            ],
            cwd=self._directory,
            capture_output=True,
            text=True,
            timeout=_RUN_S,
            check=False,
        )
        output = f"{done.stdout}\n{done.stderr}"
        if bool(done.returncode) is not fails:
            raise RuntimeError(f"pig {name} ended with {done.returncode}:\n{output[-6000:]}")
        return output


def jars_of_tasks(jars: Path) -> list[Path]:
    """Return the jars of the set "pig" that the tasks of jobs need."""
    return [each for each in sorted(jars.glob("*.jar")) if each.name.startswith(OF_TASKS)]
