"""``extract``: one run of a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from navlin.access.roles import Role
from navlin.questions.declare.parameters import Typed
from navlin.questions.declare.question import Question, QuestionRequest


@dataclass(frozen=True, slots=True)
class Parameters:
    source: Annotated[str, "The name of a configured source.", Typed(first=True)]
    full: Annotated[bool, "Read everything again."] = False
    dry_run: Annotated[bool, "Read and compare, without writing."] = False
    accept_loss: Annotated[
        str,
        "Confirm the deletions for which this run is on hold. Reads everything again.",
        Typed("RUN"),
    ] = ""


def _arguments(request: QuestionRequest) -> Mapping[str, Any]:
    given: Parameters = request.parameters
    how = {"complete": given.full, "dry_run": given.dry_run, "accept_loss": given.accept_loss}
    return {"source": given.source, **how}


QUESTION = Question(
    name="extract",
    summary="Run a source once: read what is new, write it, link it.",
    about="""
    Run SOURCE once: read what is new, write it, link it.

    If `navlin serve` runs here, it does the work, after a run of SOURCE that it has already started. A source that another
    process is running is left alone (exit code 5).
    """,
    examples=(
        "navlin extract HIVE-1",
        "navlin extract HIVE-1 --full --dry-run",
        "navlin extract HIVE-1 --accept-loss 9d1a…##42     (the run is named by `navlin status`)",
    ),
    parameters=Parameters,
    ask=_arguments,
    role=Role.ADMINISTRATOR,
    method="POST",
    job=True,
    page="/run",
)
