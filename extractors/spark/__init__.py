"""Spark: its event logs (`spark_events`) and Cloudera's lineage log (`spark_lineage_events`).

`forms` finds the logs, `codecs` and `lines` read them, `events` picks out what matters, `application` keeps which
executions are open, `plan` finds what one reads and writes, `lineage` makes records of it. `streams` makes one of all the
micro-batches of a query: `batches` reads them, `stream_ends` knows sources and sinks, `stream_columns` puts both together.
"""

from extractors.spark.spark_events import SparkEvents
from extractors.spark.spark_lineage_events import SparkLineageEvents

__all__ = ["SparkEvents", "SparkLineageEvents"]
