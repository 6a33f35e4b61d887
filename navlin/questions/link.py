"""``link``: link the relations that interrupted runs left unlinked, or all relations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navlin.access.roles import Role
from navlin.questions.declare.question import Question


@dataclass(frozen=True, slots=True)
class Parameters:
    all: Annotated[bool, "The whole index, not only what runs left unfinished."] = False


QUESTION = Question(
    name="link",
    summary="Link what broken runs left unlinked, or everything again.",
    about="""
    Link relations whose other end has arrived, say why others stay unlinked, relate paths to tables, and views to the tables
    that their texts read. Then follow the entities that inherit a tag.

    Every run links what it wrote, so there is seldom need. With --all the whole index is linked again, in Spark; the result
    is the same. Linking twice changes nothing. If `navlin serve` runs here, it does the work.
    """,
    examples=("navlin link", "navlin link --all"),
    parameters=Parameters,
    ask=lambda request: {"everything": request.parameters.all},
    role=Role.ADMINISTRATOR,
    method="POST",
    job=True,
    without={"page": "every run links what it wrote, so there is seldom need"},
)
