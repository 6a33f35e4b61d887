"""Keep the environment of the user's shell (another Spark, Hadoop, options of every JVM) away from navlin's processes.

navlin has its own Spark, pinned to its release. The environment could make navlin use the home, settings, classes or
Python of another Spark, or write its log among the site's. Settings for navlin belong in its configuration.
"""

from __future__ import annotations

import locale
import os
from collections.abc import MutableMapping
from pathlib import Path
from typing import Final

PREFIXES: Final = ("SPARK_", "PYSPARK_", "HADOOP_", "YARN_", "HDFS_", "MAPRED_")
OF_EVERY_JVM: Final = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")
TO_THE_NETWORK: Final = ("-Dhttp.", "-Dhttps.", "-Djavax.net.ssl.")
"""Prefixes of the JVM options that are kept. They set the proxy for fetching jars, and the trusted CA certificates."""
MEANT: Final = "SPARK_LOCAL_IP"
"""A variable that is kept although it has one of the `PREFIXES`. With Spark on YARN, it is the address at which
executors reach this machine."""
PYTHONPATH: Final = "PYTHONPATH"
OF_SPARK: Final = ("pyspark", "py4j")
"""Python packages that every Spark home contains. A folder that contains one is removed from the path."""
UTF_8: Final = "C.UTF-8"


def shut_out(environment: MutableMapping[str, str], path: list[str]) -> tuple[str, ...]:
    """Remove variables that would affect navlin's Spark and its JVMs from ``environment``, and the Python packages of
    another Spark from ``path``. Return the names of the removed or changed variables."""
    left_out = [name for name in environment if name.startswith(PREFIXES) and name != MEANT]
    for name in left_out:
        del environment[name]
    for name in set(OF_EVERY_JVM) & environment.keys():
        words = environment.pop(name).split()
        kept = [word for word in words if word.startswith(TO_THE_NETWORK)]
        if kept:
            environment[name] = " ".join(kept)
        if kept != words:
            left_out.append(name)
    given = environment.get(PYTHONPATH, "").split(os.pathsep)
    if strange := [each for each in given if each and _brings_spark(Path(each))]:
        environment[PYTHONPATH] = os.pathsep.join(each for each in given if each not in strange)
        path[:] = [each for each in path if each not in strange]
        left_out.append(PYTHONPATH)
    return tuple(sorted(left_out))


def _brings_spark(folder: Path) -> bool:
    # Spark's own scripts put the archive of py4j itself on the path.
    return folder.name.startswith("py4j-") or any((folder / name).is_dir() for name in OF_SPARK)


def speak_utf_8(environment: MutableMapping[str, str]) -> None:
    """Set a UTF-8 locale for the JVMs that this process starts. In the C locale, a JVM can only read ASCII file
    names."""
    if locale.setlocale(locale.LC_CTYPE) in ("C", "POSIX"):
        environment.pop("LC_ALL", None)
        environment["LC_CTYPE"] = UTF_8


def open_standard_streams() -> None:
    """Open the null device for each closed standard stream; otherwise the next opened file would become one."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
