"""The questions that can be asked: a file each, from which every door is made.

A new one is a file here, a template if it has a page, and a test.
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
"""Of the modules, and so of the commands."""


@cache
def questions_in(name: str) -> tuple[Question, ...]:
    """The questions of one module: one, or those of a group of commands."""
    from navlin.questions.declare.question import Question

    module = import_module(f"{__name__}.{name}")
    return tuple(each for each in vars(module).values() if isinstance(each, Question))


def all_questions() -> Iterator[Question]:
    """All of them."""
    for name in NAMES:
        yield from questions_in(name)
