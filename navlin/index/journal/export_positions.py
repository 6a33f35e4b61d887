"""Progress of exports that follow the index, stored in ``nav_runs`` as one document per export name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import orjson

from navlin.index.journal.leases import LeaseLost, lease
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr

_KIND: Final = "export"


@dataclass(frozen=True, slots=True)
class ExportPosition:
    """The position of an export.

    ``until`` is the run up to which everything was exported, ``asked`` a digest of the requested content, ``ended_ms``
    the end of the last complete export (epoch ms), ``refused`` the number of items that the target has refused since
    the last full transfer. ``until``, ``ended_ms`` and ``refused`` are "" or 0 before the first complete export, and
    while everything is sent because the request changed or asked for it.

    ``error`` is the error of a later export, "" if none failed. ``pending`` is the progress of the current export as
    plain JSON; each export defines its own form."""

    name: str
    until: str = ""
    asked: str = ""
    ended_ms: int = 0
    refused: int = 0
    pending: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    version: int = field(default=-1, compare=False)
    """The ``_version_`` that was read or written; -1 for a new position. Not stored in the body."""


def load_export(solr: Solr, name: str) -> ExportPosition:
    """Return the position of the export with this name; an empty one if none was saved."""
    for document in solr.get(RUNS, [export_identity(name)]):
        return ExportPosition(**orjson.loads(document["body"]), version=int(document["_version_"]))
    return ExportPosition(name)


def save_export(solr: Solr, position: ExportPosition) -> ExportPosition:
    """Save a position durably, and return it with its new version. A finished export is saved without `error`, which
    clears it. Raises `LeaseLost` if the index has another version."""
    identity = export_identity(position.name)
    content = {name: value for name, value in asdict(position).items() if name != "version"}
    document = {
        "identity": identity,
        "kind": _KIND,
        "source": position.name,
        "body": orjson.dumps(content).decode(),
        "_version_": position.version,
    }
    added = solr.add_all(RUNS, [document])
    if added.conflicts:
        raise LeaseLost(f"another process has continued the export {position.name}")
    # A SolrCloud does not always return the version.
    version = added.applied.get(identity, 0) or load_export(solr, position.name).version
    return replace(position, version=version)


def note_failure(solr: Solr, name: str, error: str) -> None:
    """Save the reason why an export failed; the rest of its position stays. Raises `Leased` or `LeaseLost` if another
    process runs the export, whose position must not be replaced."""
    with lease(solr, export_identity(name)):
        save_export(solr, replace(load_export(solr, name), error=error))


def export_identity(name: str) -> str:
    """Return the identity of an export's document, which is also the name of its lease."""
    return f"{_KIND}:{name}"
