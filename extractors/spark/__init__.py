"""Spark: its event logs (`spark_events`) and Cloudera's lineage log (`spark_lineage_events`).

`forms` finds the logs, `codecs` and `lines` read them, `events` selects the relevant events, `application` tracks the open
executions, `plan` finds the reads and writes of each, `lineage` turns them into records. `streams` combines all
micro-batches of a query: `batches` reads them, `stream_ends` knows sources and sinks, `stream_columns` matches both.
"""

from extractors.spark.spark_events import SparkEvents
from extractors.spark.spark_lineage_events import SparkLineageEvents

__all__ = ["SparkEvents", "SparkLineageEvents"]
