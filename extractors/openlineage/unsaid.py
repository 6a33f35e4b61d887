"""Determine whether a producer leaves out datasets of a run.

A producer that cannot follow a MERGE names only the inputs or only the outputs. But the statement, or Spark's command
in the job's name, shows that something was written or read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from extractors.lineage.statements import reads_from, statements_in, writes
from extractors.openlineage.runs import JobRun

UNWRITTEN: Final = "the producer does not name what was written"
UNREAD: Final = "the producer does not name what was read"
_READS_FILES: Final = re.compile(r"(?:copy|load\s+data|import)\b", re.IGNORECASE)
_MERGES: Final = re.compile(r"merge\b", re.IGNORECASE)
_COMMAND: Final = re.compile(
    r"\.(?:(?:execute_)?(?:insert_into|save_into|merge_into|append_data|overwrite_|replace_data|write_delta)"
    r"|(?:execute_)?(?:optimized_|atomic_)?(?:create|replace)_\w*as_select|execute_(?:delete|update)_command)"
)
"""Commands with which Spark writes. Spark's agent appends them to the application's name to form the job's name."""


def unsaid(run: JobRun) -> Iterator[str]:
    """Yield the reasons why a run's reported datasets are incomplete."""
    statements = list(statements_in(run.sql))
    writing = [each for each in statements if writes(each)]
    if not run.outputs and (writing or _COMMAND.search(run.name)):
        yield UNWRITTEN
    reading = any(map(reads_from, writing)) or any(map(_READS_FILES.match, writing))
    # The target of a MERGE is read as well.
    merged = run.inputs.keys() <= run.outputs.keys() and any(map(_MERGES.match, writing))
    if run.outputs and reading and (not run.inputs or merged) and not _told_by_columns(run):
        yield UNREAD


def _told_by_columns(run: JobRun) -> bool:
    """Whether a dataset other than the outputs is named as a source of the outputs' columns."""
    named = {
        (each.namespace, each.name)
        for known in run.outputs.values()
        for inputs in (known.rows, *known.columns.values())
        for each in inputs
    }
    return bool(named - run.outputs.keys()) or any(known.sources for known in run.outputs.values())
