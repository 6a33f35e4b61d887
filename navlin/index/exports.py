"""Progress of exports that follow the index, in ``nav_runs``: one document for each name."""

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
    """``until`` is the run up to which everything was exported ("" if nothing was), ``asked`` a digest of the requested
    content, ``ended_ms`` the end of the last complete export (epoch ms), ``refused`` the number of items that the
    target has refused since the last full transfer, ``error`` the reason for which an export since then failed.
    ``pending`` is the progress of the current export, in a form of its own, plain JSON."""

    name: str
    until: str = ""
    asked: str = ""
    ended_ms: int = 0
    refused: int = 0
    pending: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


def load_export(solr: Solr, name: str) -> ExportPosition:
    """Return the position of the export of this name."""
    for document in solr.get(RUNS, [_identity(name)]):
        return ExportPosition(**orjson.loads(document["body"]))
    return ExportPosition(name)


def save_export(solr: Solr, position: ExportPosition) -> None:
    """Save a position; durable when this returns."""
    body = orjson.dumps(asdict(position)).decode()
    document = {"identity": _identity(position.name), "kind": _KIND, "source": position.name, "body": body}
    solr.add_all(RUNS, [document])


def note_failure(solr: Solr, name: str, error: str) -> None:
    """Record the error of a failed export."""
    save_export(solr, replace(load_export(solr, name), error=error))


def _identity(name: str) -> str:
    return f"{_KIND}:{name}"
