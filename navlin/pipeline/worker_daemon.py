"""The process that Spark's Python workers are forked from: with what each of them needs loaded already.

A worker then starts in a tenth of the time, and Spark starts new ones after every minute without work.
"""

from __future__ import annotations

import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import linker.resolve_endpoints  # noqa: F401
import navlin.index.documents
import navlin.index.solr
import navlin.index.writing  # noqa: F401

# Not Arrow and not NumPy: they start threads when they are imported, and a process with threads must not be forked.

if __name__ == "__main__":
    manager()
