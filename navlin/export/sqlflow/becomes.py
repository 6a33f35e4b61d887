"""The counterpart in SQLFlow's lineage model of each element of navlin's model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

BECOMES: Final[Mapping[str, str]] = {
    "SOURCE": "folded: in JSON the server; in XML it is dropped",
    "DATABASE": "folded: the schema of its tables",
    "TABLE": "kept: `table`",
    "VIEW": "kept: `view`",
    "FIELD": "kept: `column`",
    "PARTITION": "folded: its table",
    "DIRECTORY, FILE": "kept: `path`",
    "DATASET": "folded: a `table`",
    "OPERATION": "kept: `process`",
    "OPERATION without output": "kept: `process`; its result is a `resultset`",
    "SUB_OPERATION": "folded: the relations of its columns",
    "OPERATION_EXECUTION": "dropped: the model has statements, and no runs of them",
    "application of an execution": "dropped: likewise",
    "DATA_FLOW": "kept: `fdd`; of tables alone, between their `PseudoRows`",
    "CONTROL_FLOW of a table": "kept: `fdr` between `PseudoRows`",
    "CONTROL_FLOW of a column": "kept: `fdr` to a column, or to the `PseudoRows` whose number it decides",
    "LOGICAL_PHYSICAL of a table": "folded: an external table gets its data from its path; of other tables it is dropped",
    "PARENT_CHILD, INSTANCE_OF": "kept: columns stand in their table; runs are dropped",
    "flagged deleted": "dropped: with all that leads there, but for the old name of a table that was renamed",
    "renamed": "kept: a process of its own",
    "unlinked end": "dropped: or, with `--placeholders`, a table of which only the name is known",
    "text of a query": "folded: its length and its hash, in the coordinate of the process",
    "expression of a column": "kept: a `resultset` between its inputs and its output",
    "comment": "dropped: and so are owners, types, sizes and times",
    "people's name, description": "dropped: the model has lineage alone",
    "people's tags": "dropped: likewise",
    "inherited tags": "dropped: likewise",
    "people's properties": "dropped: likewise",
    "identity": "folded: ids are made of it",
    "incomplete, inferred": "dropped: the model knows no doubt",
}
