"""Extractors for Spark's event logs (`spark_events`) and Cloudera's lineage log (`spark_lineage_events`).

`forms` finds the logs, `codecs` and `lines` read them, `events` selects the relevant events, and `application` tracks
the open executions. `plan` finds the reads and writes of an execution, and `lineage` converts executions to records.
`streams` combines all micro-batches of a query: `batches` reads the executions of a batch, `stream_ends` parses the
descriptions of sources and sinks, and `stream_columns` matches the scans of a batch to the sources.
"""

from extractors.spark.spark_events import SparkEvents
from extractors.spark.spark_lineage_events import SparkLineageEvents

__all__ = ["SparkEvents", "SparkLineageEvents"]
