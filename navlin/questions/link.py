"""``link``: link the relations that interrupted runs left unlinked, or all relations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.questions.declare.question import Question


@dataclass(frozen=True, slots=True)
class Parameters:
    all: Annotated[bool, "Link the whole index, not only what runs left unfinished."] = False


QUESTION = Question(
    name="link",
    summary="Link what interrupted runs left unlinked, or the whole index.",
    about="""
    Link relations whose other end has arrived, and record why others stay unresolved; relate paths to tables, and views to
    the tables that their texts read. Then update the entities that inherit a tag.

    Every run links what it wrote, so this is rarely needed. --all links the whole index again, in Spark, with the same
    result. Linking twice changes nothing. If `navlin serve` runs here, it does the work.
    """,
    examples=("navlin link", "navlin link --all"),
    parameters=Parameters,
    ask=lambda request: {"everything": request.parameters.all},
    role=Role.ADMINISTRATOR,
    method="POST",
    job=True,
    without={"page": "every run links what it wrote, so this is rarely needed"},
)
