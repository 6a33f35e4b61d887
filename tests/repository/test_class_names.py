"""One class name has one meaning: a name that two modules give to classes is listed here with its reason."""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from typing import Final

from tests.conftest import REPOSITORY

PRODUCT: Final = ("navlin", "extractors", "linker")
SHARED: Final = {
    "Database": "the metastore's Thrift structure has this name, and navlin's model has databases of other systems",
    "Options": "each export target declares its own options under this name, which `Target.options` refers to",
    "Parameters": "each question, endpoint and page declares its own parameters under this name",
}
"""Name that several classes have → the reason why a reader does not confuse them."""


@cache
def classes() -> dict[str, list[str]]:
    """Name → modules that define a class of this name, at any level."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for folder in PRODUCT:
        for file in sorted((REPOSITORY / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.ClassDef):
                    found[node.name].append(str(file.relative_to(REPOSITORY)))
    return found


def test_a_class_name_has_one_meaning() -> None:
    twice = {name: places for name, places in classes().items() if len(places) > 1 and name not in SHARED}
    assert not twice, "rename all but one, or give a reason in SHARED: " + "; ".join(
        f"{name} in {', '.join(places)}" for name, places in twice.items()
    )


def test_every_listed_name_is_still_shared() -> None:
    assert {name for name in SHARED if len(classes().get(name, ())) < 2} == set()


def test_classes_are_found_at_any_level() -> None:
    assert "navlin/questions/search.py" in classes()["Parameters"]
    assert len(classes()) > 500
