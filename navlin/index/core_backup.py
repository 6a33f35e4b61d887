"""Backup and restore of the four cores of a single Solr of the operator's own, by its replication handler.

Solr writes the files of its index itself, to a directory of its own machine. The other way, to read all documents over the
network, would take hours where this takes minutes, and would hold still no moment of the four cores. The order is that of
`navlin.index.snapshots`, whose snapshots are what is written: the four are of one moment, though navlin goes on.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from navlin.index import cores
from navlin.index.collection_backup import POLL_S, CollectionsThere, NotBackedUp, Report
from navlin.index.schema import schema_of, version_of_cores
from navlin.index.snapshots import COMMIT_NAME, ORDER, snapshots
from navlin.index.solr import Solr, SolrError

_ENDED: Final = ("success", "failed")


def back_up(solr: Solr, location: str, name: str, report: Report) -> dict[str, int]:
    """Writes ``snapshot.NAME.CORE`` below the location for each core, and returns their counts of documents. Raises
    `NotBackedUp`, `TooBusy`, or `Leased` if another process is at it."""
    with snapshots(solr) as taken:
        for number, snapshot in enumerate(taken):
            report(number, len(taken))
            before = _details(solr, snapshot.core)
            asked = {"location": location, "name": f"{name}.{snapshot.core}", "commitName": COMMIT_NAME}
            _ask(solr, snapshot.core, "backup", asked)
            while (details := _details(solr, snapshot.core)) == before:
                time.sleep(POLL_S)
            if reason := details.get("exception"):
                raise NotBackedUp(_in_words("backup", snapshot.core, location, str(reason)))
        report(len(taken), len(taken))
    return {snapshot.core: snapshot.documents for snapshot in taken}


def restore(
    solr: Solr, conf: Path, location: str, name: str, *, overwrite: bool, report: Report
) -> dict[str, int]:
    """The inverse; cores that are missing are made, with ``conf`` (the shipped ``conf/solr``). Raises `NotBackedUp`,
    `NotCreated`, or `CollectionsThere` unless it may ``overwrite``."""
    found = [core for core in ORDER if core in cores.there(solr)]
    if found and not overwrite:
        raise CollectionsThere(f"Solr at {solr.address.host} has {', '.join(found)} already")
    cores.create(solr, conf)
    for number, core in enumerate(ORDER):
        report(number, len(ORDER))
        # What is in the log of updates alone would otherwise come back at Solr's next start.
        solr.commit(core, soft=False)
        _ask(solr, core, "restore", {"location": location, "name": f"{name}.{core}"})
        while (status := _restored(solr, core)).get("status") not in _ENDED:
            time.sleep(POLL_S)
        if status["status"] != "success":
            raise NotBackedUp(_in_words("restore", core, location, str(status.get("exception", ""))))
        # So does what it remembers of the newest updates.
        solr.admin("cores", {"action": "RELOAD", "core": core})
        if number == 0:
            _require_same_version(solr)
    report(len(ORDER), len(ORDER))
    return {core: solr.count(core) for core in ORDER}


def _require_same_version(solr: Solr) -> None:
    """The files of an index say nothing to a core of another schema."""
    schema, present = schema_of(solr), version_of_cores(solr)
    if schema is not None and schema.version != present:
        raise NotBackedUp(
            f"the backup is of an index of version {schema.version}, written by navlin {schema.navlin}, and the cores of"
            f" Solr at {solr.address.host} are of version {present}: remove them, restore with that navlin, and then run"
            " `navlin index upgrade`. Of the four, nav_runs is restored already"
        )


def _ask(solr: Solr, core: str, command: str, params: Mapping[str, str]) -> None:
    """Asks for it. Solr does it in its own time."""
    try:
        answer = solr.answer(core, "replication", {"command": command, **params})
    except SolrError as error:
        raise NotBackedUp(_in_words(command, core, params["location"], error.message)) from error
    if answer.get("status", "OK") != "OK":
        reason = answer.get("message") or answer.get("exception") or answer["status"]
        raise NotBackedUp(_in_words(command, core, params["location"], str(reason)))


def _details(solr: Solr, core: str) -> dict[str, Any]:
    """What Solr knows of the last backup that ended, nothing if none has."""
    details = solr.answer(core, "replication", {"command": "details", "json.nl": "map"})["details"]
    return dict(details.get("backup") or {})


def _restored(solr: Solr, core: str) -> dict[str, Any]:
    answer = solr.answer(core, "replication", {"command": "restorestatus", "json.nl": "map"})
    return dict(answer["restorestatus"])


def _in_words(command: str, core: str, location: str, reason: str) -> str:
    return (
        f"{command} of {core}: {reason}. {location} must be a directory on Solr's machine, that Solr may write and its"
        " solr.allowPaths admits"
    )
