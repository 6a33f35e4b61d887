"""The English of docstrings and comments: a test counts the marks of a private dialect and limits their share."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import chain
from typing import Final

import pytest

from tests.conftest import REPOSITORY

FOLDERS: Final = ("navlin", "extractors", "linker", "tests", "bench", "release")
DO: Final = "is|are|was|were|has|have|had|may|can|would|will|does|do|did"
MOST: Final = {
    r"\A(What|Who|Whom|Which|Where|When|How|Why)\b": 0.5,
    r"\A(Of|For) (a|an|the|what|these|those|each|several|all|one|this|its)\b": 0.3,
    rf"\b([Ww]hat|[Ww]ho) ({DO})\b": 0.5,
    r"\bof (which|whom)\b": 0.3,
    r"\b(stands|stood)\b": 0.5,
    r"\b(anew|beside|behind|of it)\b": 1.0,
    r"(?<!\bthere )\b(is|are|was|were) no (?!longer\b)": 0.3,
}
"""mark → maximum share, in percent, of docstrings or comments that may have the mark. Some marks are also used in
good English."""


@cache
def texts() -> dict[str, list[tuple[str, str]]]:
    """ "docstrings" or "comments" → (place, text) of each"""
    found: dict[str, list[tuple[str, str]]] = {"docstrings": [], "comments": []}
    for file in chain.from_iterable((REPOSITORY / folder).rglob("*.py") for folder in FOLDERS):
        source, name = file.read_text(encoding="utf-8"), file.relative_to(REPOSITORY)
        for kind, read in (("docstrings", _docstrings), ("comments", _comments)):
            found[kind] += [(f"{name}:{line}", text) for line, text in read(source)]
    return found


def _docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of the strings below modules, classes, functions, constants and fields."""
    for node in ast.walk(ast.parse(source)):
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else ():
            match each:
                case ast.Expr(value=ast.Constant(value=str(text))):
                    yield each.lineno, text.strip()


def _comments(source: str) -> Iterator[tuple[int, str]]:
    # Only comments on a line of their own, because the tokenizer takes ten times as long.
    for number, line in enumerate(source.splitlines(), 1):
        if (text := line.lstrip()).startswith("# "):
            yield number, text[2:]


@pytest.mark.parametrize("kind", ["docstrings", "comments"])
@pytest.mark.parametrize("mark", MOST)
def test_few_docstrings_and_comments_have_a_mark_of_a_private_dialect(mark: str, kind: str) -> None:
    every = texts()[kind]
    assert len(every) > 1_500
    marked = [f"{place}: {text[:100]}" for place, text in every if re.search(mark, text)]
    share = 100 * len(marked) / len(every)
    assert share <= MOST[mark], "\n".join([f"{share:.2f} % of {len(every)} {kind}", *marked])
