"""``purge``: remove old executions, operations without output, and deleted files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.questions.declare.parameters import Typed
from navlin.questions.declare.question import Question, QuestionRequest


@dataclass(frozen=True, slots=True)
class Parameters:
    before: Annotated[
        datetime,
        "Remove what was deleted or executed before this date: 2026-01-01, or with a time and a zone. Without a zone: UTC;"
        " on a command line the machine's zone.",
        Typed("DATE", here_zone=True, past="everything executed so far would be removed"),
    ]
    accept: Annotated[
        int, "Confirm a purge on hold with this number of candidates.", range(1 << 53), Typed("NUMBER")
    ] = 0
    dry_run: Annotated[bool, "Show what each rule would remove and keep, without removing."] = False


def _arguments(request: QuestionRequest) -> Mapping[str, Any]:
    given: Parameters = request.parameters
    return {
        "before_ms": round(given.before.timestamp() * 1000),
        "dry_run": given.dry_run,
        "accepted": given.accept,
        "deleted_files": request.deleted_files,
    }


QUESTION = Question(
    name="purge",
    summary="Remove old executions, operations and deleted files.",
    about="""
    Remove old executions, operations without output, deleted files and directories, and their relations.

    These are Navigator's five rules, and one of navlin's own for deleted files ([purge] deleted_files). Tables, operations
    with output, and entities that a person described or tagged are kept. If `navlin serve` runs here, it does the work. An
    interrupted purge is continued by the next one, with the date of the first.

    A purge is put on hold, with the reason, if it would check more than half of the executions, operations, files or
    directories, and more than 1,000 of them; or if nothing was executed or modified recently, so that the clock may be
    wrong. --accept confirms exactly this purge.

    Records older than the last purge are not written again. If a purge was a mistake, --forget-threshold lifts this; what
    was removed returns only if its source still has it.
    """,
    examples=("navlin purge --before 2026-01-01 --dry-run", "navlin purge --before 2026-01-01"),
    parameters=Parameters,
    ask=_arguments,
    role=Role.ADMINISTRATOR,
    method="POST",
    job=True,
    page="/purge",
)
