"""Questions that users can ask. Each module declares one question, or a group of questions. The command, the HTTP
endpoint and the page are generated from the declaration.

A new question needs a module here, a template if it has a page, and a test. The module may contain the answer and its
view, if they are short. Otherwise the answer is a module of `navlin.query`, and the view is in `navlin.render`.
`navlin.questions.usage` is a short example with all interfaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from navlin.questions.declare.question import Question

NAMES: Final = tuple(sorted(each.name for each in iter_modules(__path__) if not each.ispkg))
"""Names of the modules, which are also the first words of the commands."""


@cache
def questions_in(name: str) -> tuple[Question, ...]:
    """Return the questions that a module declares: one, or several for a group of commands."""
    from navlin.questions.declare.question import Question

    module = import_module(f"{__name__}.{name}")
    return tuple(each for each in vars(module).values() if isinstance(each, Question))


def all_questions() -> Iterator[Question]:
    """Yield the questions of all modules."""
    for name in NAMES:
        yield from questions_in(name)
