"""Jars of PySpark that navlin never loads: its machine learning, Connect, Kubernetes, shell and RocksDB, and native code of
other platforms. Packages leave them out.

``python -m release.unused_jars ENVIRONMENT`` removes them from a copy of a virtual environment, in which all tests can
then be run.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

UNUSED: Final = (
    # Machine learning and graphs, and their linear algebra.
    "spark-mllib_*",
    "spark-mllib-local_*",
    "spark-graphx_*",
    "breeze*",
    "spire*",
    "cats-kernel_*",
    "algebra_*",
    "JTransforms-*",
    "JLargeArrays-*",
    "arpack*",
    "lapack-*",
    "blas-*",
    # Servers and clients of Spark Connect, and declarative pipelines, which need them.
    "spark-connect_*",
    "spark-pipelines_*",
    "connect-repl",
    # Executors on Kubernetes.
    "spark-kubernetes_*",
    "kubernetes-*",
    "vertx-*",
    "volcano-*",
    "zjsonpatch-*",
    # The Scala shell. Spark compiles generated Java by Janino.
    "spark-repl_*",
    "scala-compiler-*",
    "jline-*",
    # State of streams and of the history server.
    "rocksdbjni-*",
    # TLS by native code, for other systems and processors.
    "netty-tcnative-boringssl-static-*-osx-*",
    "netty-tcnative-boringssl-static-*-windows-*",
    "netty-tcnative-boringssl-static-*-linux-aarch_64*",
)
"""Patterns of the files' names."""


def is_unused(name: str) -> bool:
    """Whether a file in PySpark's folder of jars is not needed by navlin."""
    return any(fnmatch(name, pattern) for pattern in UNUSED)


def remove_unused(site_packages: Path) -> int:
    """Remove the unused jars of an environment. Return how many bytes they had."""
    jars = site_packages / "pyspark" / "jars"
    unused = [
        file for entry in jars.iterdir() if is_unused(entry.name) for file in (entry, *entry.rglob("*"))
    ]
    removed_bytes = sum(file.stat().st_size for file in unused if file.is_file())
    for file in reversed(unused):
        if file.is_dir():
            file.rmdir()
        else:
            file.unlink()
    return removed_bytes


if __name__ == "__main__":
    for folder in Path(sys.argv[1]).glob("lib/python*/site-packages"):
        sys.stdout.write(f"{folder}: {remove_unused(folder) >> 20} MiB removed\n")
