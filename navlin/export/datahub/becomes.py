"""The counterpart in DataHub of each element of navlin's model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BECOMES: Final[Mapping[str, str]] = {
    "SOURCE": "folded: the `dataFlow` of its operations, a property of its entities; the platform instance is an option",
    "DATABASE": "kept: `container`",
    "TABLE": "kept: `dataset` of the platform `hive`",
    "VIEW": "kept: `dataset` with `viewProperties`",
    "FIELD": "kept: a field of `schemaMetadata`",
    "PARTITION": "folded: its table",
    "DIRECTORY, FILE": "kept: `dataset` of the platform `hdfs`, `s3`, `gcs`, `adls`, `dbfs` or `file`",
    "DATASET": "kept: `dataset`",
    "OPERATION": "kept: `dataJob`",
    "OPERATION without output": "kept: `dataJob` with inputs alone",
    "SUB_OPERATION": "folded: fine-grained lineage",
    "OPERATION_EXECUTION": "kept: `dataProcessInstance` with its run events",
    "application of an execution": "kept: `parentInstance`, and a property",
    "DATA_FLOW": "kept: inputs, outputs and fine-grained lineage of the job; `upstreamLineage` of a view that nobody ran",
    "CONTROL_FLOW of a table": "dropped: an input like any other",
    "CONTROL_FLOW of a column": "folded: the property `controlFlow` of the job; DataHub would read it as data",
    "LOGICAL_PHYSICAL of a table": "folded: properties; an operation on the path has the table among its ends",
    "PARENT_CHILD, INSTANCE_OF": "kept: `container`, the schema's fields, `parentTemplate`",
    "flagged deleted": "kept: `status`, removed",
    "renamed": "folded: the old name is removed, the new one another dataset",
    "unlinked end": "folded: the property `unlinked`; or, with `--placeholders`, a dataset of which only the name is known",
    "text of a query": "kept: the description of the job",
    "expression of a column": "kept: `transformOperation`",
    "comment": "kept: the description, unless people wrote one",
    "people's name, description": "kept: name and description",
    "people's tags": "kept: `globalTags`",
    "inherited tags": "folded: the property `inheritedTags`",
    "people's properties": "folded: custom properties",
    "identity": "folded: the property `navlin.identity`",
    "incomplete, inferred": "folded: the property `incomplete`; a confidence of 0.5",
}
