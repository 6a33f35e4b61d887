"""The counterpart in Atlas of each element of navlin's model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BECOMES: Final[Mapping[str, str]] = {
    "SOURCE": "folded: the namespace behind the `@` of names",
    "DATABASE": "kept: `hive_db`",
    "TABLE": "kept: `hive_table` with its `hive_storagedesc`",
    "VIEW": "kept: `hive_table` with its text",
    "FIELD": "kept: `hive_column`, partition keys too; those of paths are dropped",
    "PARTITION": "folded: its table",
    "DIRECTORY, FILE": "kept: `hdfs_path`, on S3 `aws_s3_v2_…`",
    "DATASET": "kept: `DataSet`",
    "OPERATION": "kept: `hive_process`, `impala_process`, `spark_process`; `Process` of other engines",
    "OPERATION without output": "dropped: the hooks make no process of a query that only reads",
    "SUB_OPERATION": "kept: `…_column_lineage`, one an output column; into paths they are dropped",
    "OPERATION_EXECUTION": "kept: `…_process_execution`; each of Spark's is a `spark_process`",
    "application of an execution": "kept: `spark_application`; dropped where it carried out Hive's or Impala's queries",
    "DATA_FLOW": "kept: inputs and outputs",
    "CONTROL_FLOW of a table": "kept: an input, as if data came from there",
    "CONTROL_FLOW of a column": "dropped: Atlas would show it as data",
    "LOGICAL_PHYSICAL of a table": "folded: the location of its `hive_storagedesc`; what writes the path writes the table",
    "PARENT_CHILD, INSTANCE_OF": "kept: relationships of their own",
    "flagged deleted": "kept: once, by an export of what changed",
    "renamed": "kept: the entity keeps its guid",
    "unlinked end": "dropped: or, with `--placeholders`, an entity of which only the name is known",
    "text of a query": "kept: `recentQueries`, in small letters; whole with a DDL",
    "expression of a column": "kept: of Hive's queries; dropped of Impala's and Spark's",
    "comment": "kept: `comment`, of databases `description`",
    "people's name, description": "kept: `displayName`, `userDescription`",
    "people's tags": "kept: labels, with `_` for what Atlas takes none of",
    "inherited tags": "folded: labels, like people's tags",
    "people's properties": "kept: custom attributes, at most 500 characters each",
    "identity": "kept: the custom attribute `navlin_id`",
    "incomplete, inferred": "dropped: Atlas knows no doubt",
}
