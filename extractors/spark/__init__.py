"""Spark's event logs (`spark_events`) and Cloudera's lineage log (`spark_lineage_events`).

`forms` finds the logs, `codecs` and `lines` read them, `events` selects the relevant events, `application` tracks the open
executions, `plan` finds the reads and writes of an execution, and `lineage` turns executions into records. `streams`
combines all micro-batches of a query: `batches` reads a batch's executions, `stream_ends` parses the descriptions of
sources and sinks, and `stream_columns` matches a batch's scans to the sources.
"""

from extractors.spark.spark_events import SparkEvents
from extractors.spark.spark_lineage_events import SparkLineageEvents

__all__ = ["SparkEvents", "SparkLineageEvents"]
