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
        "What was deleted or executed before this date goes: 2026-01-01, or with a time and a zone. Without a zone: UTC; on"
        " a command line the machine's zone.",
        Typed("DATE", here_zone=True, past="everything executed so far would be removed"),
    ]
    accept: Annotated[
        int, "Let a held purge of so many candidates through.", range(1 << 53), Typed("NUMBER")
    ] = 0
    dry_run: Annotated[bool, "Say what each rule would remove and keep, and remove nothing."] = False


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
    summary="Remove what is old.",
    about="""
    Remove what is old: executions, operations without output, deleted files and directories, and their relations.

    Navigator's five rules, and navlin's own for deleted files ([purge] deleted_files). Never a table or what produced it.
    Entities that a person described or tagged stay. If `navlin serve` runs here, it does the work. A purge that was cut off
    is continued by the next, with its own date.

    A purge is held, and says why, if it would look at more than half of the executions, operations, files or directories,
    and more than 1,000 of them; or if nothing was executed or modified lately, so that the clock may be wrong. --accept lets
    exactly that one through.

    A record of a time that was purged is not written again. If that was a mistake, --forget-threshold lowers that time to
    nothing; what was removed comes back only if its source still has it.
    """,
    examples=("navlin purge --before 2026-01-01 --dry-run", "navlin purge --before 2026-01-01"),
    parameters=Parameters,
    ask=_arguments,
    role=Role.ADMINISTRATOR,
    method="POST",
    job=True,
    page="/purge",
)
