"""The process from which Spark's Python workers are forked. It has already loaded the modules that each worker needs.

So a worker starts in a tenth of the time. Spark starts new workers after every minute without work.
"""

from __future__ import annotations

import sys
import traceback

import pyspark.daemon
import pyspark.worker

import linker.resolve_endpoints  # noqa: F401
import navlin.index.documents
import navlin.index.solr
import navlin.index.writing  # noqa: F401

# Arrow and NumPy are not loaded, because they start threads when imported, and a process with threads must not be
# forked.


class QuietIfLeft:
    """Replaces the module ``traceback`` in PySpark's daemon, which prints a worker's last error."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        """Print like `traceback.print_exc`, but nothing if Spark has closed the connection because it ended or
        abandoned the worker's task."""
        if not isinstance(sys.exception(), (BrokenPipeError, ConnectionResetError)):
            traceback.print_exc()


if __name__ == "__main__":
    vars(pyspark.daemon)["traceback"] = QuietIfLeft
    pyspark.daemon.manager()
