"""Progress of exports that follow the index, stored in ``nav_runs`` as one document per export name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import orjson

from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr

_KIND: Final = "export"


@dataclass(frozen=True, slots=True)
class ExportPosition:
    """The position of an export. ``until`` is the run up to which everything was exported ("" if nothing was),
    ``asked`` a digest of the requested content, ``ended_ms`` the end of the last complete export (epoch ms),
    ``refused`` the number of items that the target has refused since the last full transfer, ``error`` the error of a
    later export, "" if none failed. ``pending`` is the progress of the current export as plain JSON; each export
    defines its own form."""

    name: str
    until: str = ""
    asked: str = ""
    ended_ms: int = 0
    refused: int = 0
    pending: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""


def load_export(solr: Solr, name: str) -> ExportPosition:
    """Return the position of the export with this name; an empty one if none was saved."""
    for document in solr.get(RUNS, [_identity(name)]):
        return ExportPosition(**orjson.loads(document["body"]))
    return ExportPosition(name)


def save_export(solr: Solr, position: ExportPosition) -> None:
    """Save a position durably."""
    body = orjson.dumps(asdict(position)).decode()
    document = {"identity": _identity(position.name), "kind": _KIND, "source": position.name, "body": body}
    solr.add_all(RUNS, [document])


def note_failure(solr: Solr, name: str, error: str) -> None:
    save_export(solr, replace(load_export(solr, name), error=error))


def _identity(name: str) -> str:
    return f"{_KIND}:{name}"
