"""The process from which Spark forks its Python workers. It has already loaded the modules that each worker needs, so
that a worker starts in a tenth of the time. Starts are frequent, because after each minute without work, Spark starts
new workers."""

from __future__ import annotations

import sys
import traceback

import pyspark.daemon
import pyspark.worker

import linker.resolve_endpoints  # noqa: F401
import navlin.index.solr
import navlin.index.write.documents
import navlin.index.write.writing  # noqa: F401

# Arrow and NumPy are not loaded, because they start threads when imported, and a process with threads must not be
# forked.


class QuietIfLeft:
    """Replacement for the module ``traceback`` in PySpark's daemon, which uses that module to print a worker's last
    error."""

    format_exc = staticmethod(traceback.format_exc)

    @staticmethod
    def print_exc() -> None:
        """Print like `traceback.print_exc`, but print nothing if Spark has closed the connection, because Spark ended
        or abandoned the worker's task."""
        if not isinstance(sys.exception(), (BrokenPipeError, ConnectionResetError)):
            traceback.print_exc()


if __name__ == "__main__":
    vars(pyspark.daemon)["traceback"] = QuietIfLeft
    pyspark.daemon.manager()
