"""The extractors: one module per system, or a folder if a system needs several modules. Each registers its extractors.
`lineage` and `rest` register none, because they hold code that several extractors share. A new extractor that follows
logs with one record per line begins with `extractors.lineage.line_logs.LineLogs`, one that asks a REST service of Hadoop
with `extractors.rest_extractor.RestExtractor`, and one that reports jobs uses `extractors.lineage.operations.Operation`.
"""

__distribution__ = "navlin"
