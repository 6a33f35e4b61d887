"""Parse the XML texts in Oozie's answers: definitions, and configurations of jobs and actions.

Users write these texts, so their size, their depth and their number of elements are limited, and none may declare a
document type, because the entities of a document type can grow without bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser

from navlin.model.redaction import MASK, is_secret, redact

MAX_CHARACTERS: Final = 4_000_000
MAX_ELEMENTS: Final = 200_000
MAX_DEPTH: Final = 100
_SHORTEST_SECRET: Final = 3
"""Number of characters below which a masked value would also mask unrelated parts of a definition."""


class _BoundedTree(TreeBuilder):
    """Builds a tree without namespaces. Raises ValueError for a tree that is too large, or has a document type."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = self._count = 0

    def start(self, tag: str, attrs: dict[str, str], /) -> Element:
        self._depth, self._count = self._depth + 1, self._count + 1
        if self._depth > MAX_DEPTH or self._count > MAX_ELEMENTS:
            raise ValueError("too deep or too many elements")
        return super().start(_local(tag), {_local(name): value for name, value in attrs.items()})

    def end(self, tag: str, /) -> Element:
        self._depth -= 1
        return super().end(_local(tag))

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ValueError("a document type")


def parsed(text: str) -> Element | None:
    """Return the root of a text, with names without namespaces; None if the text is not XML, or exceeds a limit."""
    if not text or len(text) > MAX_CHARACTERS:
        return None
    parser = XMLParser(target=_BoundedTree())
    try:
        parser.feed(text)
        root: Element = parser.close()
    except (ParseError, ValueError):
        return None
    return root


def properties(root: Element | None) -> dict[str, str]:
    """Return name → value of the properties in a configuration or below it. The last of two equal names counts."""
    return dict(_properties(root)) if root is not None else {}


def words(element: Element | None) -> str:
    """Return the text in an element, without blanks around it; "" for None."""
    return (element.text or "").strip() if element is not None else ""


def without_secrets(text: str, root: Element) -> str:
    """Return a definition without its secrets. ``root`` is its parsed form, which shows the values of properties whose
    names are those of secrets in any spelling: in CDATA, around comments, between blanks.
    """
    for name, value in _properties(root):
        if is_secret(name) and len(value) >= _SHORTEST_SECRET and not value.startswith("${"):
            text = text.replace(value, MASK)
    return redact(text)


def _properties(root: Element) -> Iterator[tuple[str, str]]:
    for each in root.iter("property"):
        if name := words(each.find("name")):
            yield name, words(each.find("value"))


def _local(name: str) -> str:
    return name.rpartition("}")[2]
