"""The version of an index: what its documents and its Solr schema look like.

A document of ``nav_runs`` bears it, written when the index is created or upgraded; navlin wrote none before version 2. The
cores of each version have a configuration of their own in Solr, whose name ends in the version.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from navlin.index.fields import EDITS, ELEMENTS, RELATIONS, RUNS
from navlin.index.solr import Solr

CORES: Final = (ELEMENTS, RELATIONS, RUNS, EDITS)
VERSION: Final = 3
"""What this navlin writes. Whoever raises it adds a step to `navlin.index.schema_steps`, and keeps an index of before for
the tests (``python -m bench same_index --keep``)."""
_IDENTITY: Final = "schema"


@dataclass(frozen=True, slots=True)
class Schema:
    """The version of an index and the navlin that wrote it ("" if that one noted no version)."""

    version: int
    navlin: str = ""


class UnusableIndex(Exception):
    """The index is of another version than this navlin's, or could not be upgraded; the text says what to do."""


def suffix(version: int = VERSION) -> str:
    """The end of the names of what belongs to one version: its configuration in Solr, and its cores if another version's
    are there as well."""
    return "" if version == 1 else f"-{version}"


def configset(version: int = VERSION) -> str:
    """The name of the cores' configuration in Solr, and of its schema."""
    return "navlin" + suffix(version)


def schema_name(solr: Solr, core: str) -> str:
    """The name of the schema that a core has."""
    return str(solr.answer(core, "schema/name")["name"])


def schema_of(solr: Solr) -> Schema | None:
    """What stands in the index; None if nothing does: then it is as its cores are (`version_of_cores`)."""
    for document in solr.get(RUNS, [_IDENTITY], "body"):
        return Schema(**orjson.loads(document["body"]))
    return None


def version_of_cores(solr: Solr) -> int:
    """The version that the cores were made for."""
    _, _, version = schema_name(solr, RUNS).partition("-")
    return int(version or 1)


def save_schema(solr: Solr, runs: str = RUNS) -> None:
    """Writes the present version, durably."""
    body = orjson.dumps({"version": VERSION, "navlin": _navlin()}).decode()
    solr.add_all(runs, [{"identity": _IDENTITY, "kind": "schema", "body": body}])
    solr.commit(runs, soft=False)


def require_known(schema: Schema) -> None:
    """Raises `UnusableIndex` for a version that this navlin does not know."""
    if schema.version > VERSION:
        raise UnusableIndex(
            f"the index is of version {schema.version}, written by navlin {schema.navlin}, and this navlin,"
            f" {_navlin()}, knows versions up to {VERSION}: use navlin {schema.navlin} or a later one"
        )


def _navlin() -> str:
    # Loaded when it is needed: every command loads this module.
    from importlib.metadata import version

    return version("navlin")
