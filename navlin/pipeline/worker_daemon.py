"""The process from which Spark's Python workers are forked, with the modules that each of them needs already loaded.

A worker then starts in a tenth of the time, and Spark starts new ones after every minute without work.
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

# Not Arrow and not NumPy: they start threads when they are imported, and a process with threads must not be forked.


class QuietIfLeft:
    """Replaces the module ``traceback`` in PySpark's daemon, which prints a worker's last error."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        """Like `traceback.print_exc`; nothing if Spark has closed the connection: it ended, or abandoned the worker's
        task."""
        if not isinstance(sys.exception(), (BrokenPipeError, ConnectionResetError)):
            traceback.print_exc()


if __name__ == "__main__":
    vars(pyspark.daemon)["traceback"] = QuietIfLeft
    pyspark.daemon.manager()
