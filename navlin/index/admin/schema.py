"""The version of an index: the form of its documents and its Solr schema.

The version is recorded in a document of ``nav_runs`` when the index is created or upgraded; before version 2, navlin
did not write that document. The cores of each version have their own configuration in Solr, whose name ends in the
version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from navlin.index.schema.fields import EDITS, ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr

CORES: Final = (ELEMENTS, RELATIONS, RUNS, EDITS)
VERSION: Final = 3
"""The version that this navlin writes. To raise it, add a step to `navlin.index.admin.schema_steps`, and keep an index of
the previous version for the tests (``python -m bench same_index --keep``)."""
_IDENTITY: Final = "schema"


@dataclass(frozen=True, slots=True)
class Schema:
    """The version of an index and the navlin that wrote it ("" if it was not recorded)."""

    version: int
    navlin: str = ""


class UnusableIndex(Exception):
    """The index has another version or other fields than this navlin needs, or could not be upgraded; the message says
    how to proceed."""


def suffix(version: int = VERSION) -> str:
    """Return the suffix of the names that belong to one version: the configuration in Solr, and the cores while cores
    of another version also exist."""
    return "" if version == 1 else f"-{version}"


def configset(version: int = VERSION) -> str:
    """Return the name of the cores' configuration in Solr, and of its schema."""
    return "navlin" + suffix(version)


def schema_name(solr: Solr, core: str) -> str:
    return str(solr.answer(core, "schema/name")["name"])


def schema_of(solr: Solr) -> Schema | None:
    """Return the schema recorded in the index; None if none is recorded. Then `version_of_cores` tells the version."""
    for document in solr.get(RUNS, [_IDENTITY], "body"):
        return Schema(**orjson.loads(document["body"]))
    return None


def version_of_cores(solr: Solr) -> int:
    """Return the version in the name of the cores' Solr schema; 1 if the name has none."""
    _, _, version = schema_name(solr, RUNS).partition("-")
    return int(version or 1)


def save_schema(solr: Solr, runs: str = RUNS) -> None:
    """Record the current version, durably."""
    body = orjson.dumps({"version": VERSION, "navlin": _navlin()}).decode()
    solr.add_all(runs, [{"identity": _IDENTITY, "kind": "schema", "body": body}])
    solr.commit(runs, soft=False)


def require_known(schema: Schema) -> None:
    """Raise `UnusableIndex` for a version that this navlin does not know."""
    if schema.version > VERSION:
        raise UnusableIndex(
            f"the index is of version {schema.version}, written by navlin {schema.navlin}, and this navlin,"
            f" {_navlin()}, supports versions up to {VERSION}: use navlin {schema.navlin} or a later one"
        )


def _navlin() -> str:
    # Imported on demand, because every command loads this module.
    from importlib.metadata import version

    return version("navlin")
