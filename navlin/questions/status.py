"""``status``: the state of the service and of each source."""

from __future__ import annotations

from navlin.questions.declare.question import Question
from navlin.questions.declare.shared import Nothing

QUESTION = Question(
    name="status",
    summary="The state of each source, and counts of unlinked relations.",
    about="""
    Each source's last run, position, lag, errors, rejects and held runs; unlinked relations by reason and age; views
    whose text does not parse.

    Lag is how old the index's knowledge of a source may be. The exit code is 1 if a source's last run failed or is
    held, if an export failed or a part of it was refused, if the daily purge did not end, or if there is no space, so
    that a monitor may call it.
    """,
    examples=("navlin status", "navlin status --json | jq '.sources[] | {name, state, lag_s}'"),
    parameters=Nothing,
    ask=lambda request: request.status(),
    view="navlin.render.status:status_view",
    of_service=True,
    page="/sources",
)
