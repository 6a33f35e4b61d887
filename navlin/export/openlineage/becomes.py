"""The counterpart in OpenLineage of each element of navlin's model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BECOMES: Final[Mapping[str, str]] = {
    "SOURCE": "folded: the namespace of datasets, and the beginning of jobs' names",
    "DATABASE": "folded: the names of its tables",
    "TABLE": "kept: a dataset `db.table` of `hive://host:port`",
    "VIEW": "kept: a dataset of the type VIEW, and a job event that tells of its lineage",
    "FIELD": "kept: the facet `schema`",
    "PARTITION": "folded: its table",
    "DIRECTORY, FILE": "kept: a dataset `/path` of `hdfs://ns1`, `s3://bucket`, `file`",
    "DATASET": "kept: a dataset; the name of its source is its namespace",
    "OPERATION": "kept: a job, `SOURCE.id`",
    "OPERATION without output": "kept: a job with inputs alone",
    "SUB_OPERATION": "folded: `columnLineage` of the output",
    "OPERATION_EXECUTION": "kept: a run, with how it began and how it ended; of one without a known end how it began",
    "application of an execution": "kept: `navlin_run`, a facet of navlin's own; with `--parent` the run's parent",
    "DATA_FLOW": "kept: inputs and outputs; between columns DIRECT",
    "CONTROL_FLOW of a table": "kept: an input; `navlin_flow`, a facet of navlin's own, marks it as control flow",
    "CONTROL_FLOW of a column": "kept: INDIRECT, without its kind",
    "LOGICAL_PHYSICAL of a table": "kept: the facet `symlinks`",
    "PARENT_CHILD, INSTANCE_OF": "kept: a run is one of its job's",
    "flagged deleted": "kept: once, by an export of what changed: DROP",
    "renamed": "kept: RENAME",
    "unlinked end": "dropped: or, with `--placeholders`, a dataset of which only the name is known",
    "text of a query": "kept: the facet `sql`",
    "expression of a column": "kept: the description of a transformation",
    "comment": "kept: the facet `documentation`, where people wrote none; of columns `schema`",
    "people's name, description": "kept: the description as `documentation`; the name is dropped",
    "people's tags": "kept: the facet `tags`",
    "inherited tags": "dropped: `tags` has people's alone",
    "people's properties": "kept: the facet `tags`, with their values",
    "identity": "kept: the tag `navlin_id` of datasets; of operations their job's name",
    "incomplete, inferred": "kept: why an operation is incomplete: `navlin_job`, a facet of navlin's own; else dropped",
}
