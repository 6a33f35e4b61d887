"""``status``: the state of the service and of each source."""

from __future__ import annotations

from navlin.questions.declare.question import Question
from navlin.questions.declare.shared import Nothing

QUESTION = Question(
    name="status",
    summary="The state of each source, and counts of unresolved relations.",
    about="""
    Each source's last run, position, lag, errors, rejects and runs on hold; unresolved relations by reason and age; views
    without complete lineage.

    Lag is the maximum age of the index's data of a source. The exit code is 1 if a source's last run failed or is on hold,
    if an export failed or a record was refused, if the daily purge failed, or if there is no space, so that a monitor can
    use it.
    """,
    examples=("navlin status", "navlin status --json | jq '.sources[] | {name, state, lag_s}'"),
    parameters=Nothing,
    ask=lambda request: request.status(),
    view="navlin.render.status:status_view",
    of_service=True,
    page="/sources",
)
