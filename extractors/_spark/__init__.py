"""What `extractors.spark_events` is made of: files and codecs, lines, events, an application's executions, plans, records.

`forms` finds the logs, `codecs` and `lines` read them, `events` picks out what matters, `application` keeps which
executions are open, `plan` says what one reads and writes, `lineage` makes records of it. `streams` makes one of all the
micro-batches of a query: `batches` reads them, `stream_ends` knows sources and sinks, `stream_columns` puts both together.
"""
