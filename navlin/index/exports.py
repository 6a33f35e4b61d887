"""How far exports are that follow the index, in ``nav_runs``: one document for each name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import orjson

from navlin.index.fields import RUNS
from navlin.index.solr import Solr

_KIND: Final = "export"


@dataclass(frozen=True, slots=True)
class ExportPosition:
    """``until`` is the run up to which all was exported ("" if nothing ever was), ``asked`` a digest of what was asked for,
    ``ended_ms`` when the last export came to its end (epoch ms), ``refused`` how much the target did not take since it was
    sent everything, ``error`` why an export since then did not come to an end.
    ``pending`` is how far the present one is: its own affair, plain JSON."""

    name: str
    until: str = ""
    asked: str = ""
    ended_ms: int = 0
    refused: int = 0
    pending: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


def load_export(solr: Solr, name: str) -> ExportPosition:
    """How far the export of this name is."""
    for document in solr.get(RUNS, [_identity(name)]):
        return ExportPosition(**orjson.loads(document["body"]))
    return ExportPosition(name)


def save_export(solr: Solr, position: ExportPosition) -> None:
    """Keeps it; safe from the death of navlin and Solr when this returns."""
    body = orjson.dumps(asdict(position)).decode()
    document = {"identity": _identity(position.name), "kind": _KIND, "source": position.name, "body": body}
    solr.add_all(RUNS, [document])


def note_failure(solr: Solr, name: str, error: str) -> None:
    """Keeps why an export failed."""
    save_export(solr, replace(load_export(solr, name), error=error))


def _identity(name: str) -> str:
    return f"{_KIND}:{name}"
