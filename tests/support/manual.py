"""The texts that describe navlin: README, changelog and the pages of the manual."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[2]
DOCS: Final = REPOSITORY / "docs"


@cache
def page(name: str) -> str:
    """The text of a page, such as ``how-to/install``, as it is written, without generated parts."""
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


@cache
def documents() -> dict[str, str]:
    """Path in the repository → text of README, changelog, and every page of the manual."""
    files = [REPOSITORY / "README.md", REPOSITORY / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
    return {str(file.relative_to(REPOSITORY)): file.read_text(encoding="utf-8") for file in files}


def blocks(language: str) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of each code block in this language."""
    for name, text in documents().items():
        yield from ((name, found) for found in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL))


def links(text: str) -> list[str]:
    """The targets of a text's links and images that are files, without anchors."""
    return [target for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text) if target]
