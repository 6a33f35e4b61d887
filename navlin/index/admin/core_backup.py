"""Backup and restore of the four cores of a standalone Solr that the operator runs, through Solr's replication handler.

Solr itself writes the index files to a directory on its own machine. Reading all documents over the network would take
hours instead of minutes, and would not capture all four cores at one moment. `navlin.index.admin.snapshots` first takes a
snapshot of each core; Solr then backs up these snapshots, so that all four cores show the same moment although navlin
keeps running.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from navlin.index.admin import cores
from navlin.index.admin.collection_backup import POLL_S, CollectionsThere, NotBackedUp, Report
from navlin.index.admin.schema import schema_of, version_of_cores
from navlin.index.admin.snapshots import COMMIT_NAME, ORDER, snapshots
from navlin.index.solr.solr import Solr, SolrError

_ENDED: Final = ("success", "failed")


def back_up(solr: Solr, location: str, name: str, report: Report) -> dict[str, int]:
    """Write ``snapshot.NAME.CORE`` below the location for each core, and return core → document count. Raises
    `NotBackedUp`, `TooBusy`, or `Leased` if another process is making a backup."""
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
    """Restore a backup made by `back_up`, and return core → document count. Missing cores are created with ``conf``
    (the shipped ``conf/solr``). Raises `NotBackedUp`, `NotCreated`, or `CollectionsThere` if cores exist and
    ``overwrite`` is False."""
    found = [core for core in ORDER if core in cores.there(solr)]
    if found and not overwrite:
        raise CollectionsThere(f"Solr at {solr.address.host} has {', '.join(found)} already")
    cores.create(solr, conf)
    for number, core in enumerate(ORDER):
        report(number, len(ORDER))
        # Commit first. Otherwise Solr's next start would replay updates that are only in the update log.
        solr.commit(core, soft=False)
        _ask(solr, core, "restore", {"location": location, "name": f"{name}.{core}"})
        while (status := _restored(solr, core)).get("status") not in _ENDED:
            time.sleep(POLL_S)
        if status["status"] != "success":
            raise NotBackedUp(_in_words("restore", core, location, str(status.get("exception", ""))))
        # Drop Solr's in-memory copies of the newest updates, because they would undo the restore in part.
        solr.admin("cores", {"action": "RELOAD", "core": core})
        if number == 0:
            _require_same_version(solr)
    report(len(ORDER), len(ORDER))
    return {core: solr.count(core) for core in ORDER}


def _require_same_version(solr: Solr) -> None:
    """Raise `NotBackedUp` if the backup and the cores have different versions, because a core cannot use index files
    with another schema."""
    schema, present = schema_of(solr), version_of_cores(solr)
    if schema is not None and schema.version != present:
        raise NotBackedUp(
            f"the backup is of an index of version {schema.version}, written by navlin {schema.navlin}, and the cores of"
            f" Solr at {solr.address.host} are of version {present}: remove them, restore with that navlin, and then run"
            " `navlin index upgrade`. One of the four, nav_runs, has already been restored"
        )


def _ask(solr: Solr, core: str, command: str, params: Mapping[str, str]) -> None:
    """Send a replication command, which Solr runs asynchronously."""
    try:
        answer = solr.answer(core, "replication", {"command": command, **params})
    except SolrError as error:
        raise NotBackedUp(_in_words(command, core, params["location"], error.message)) from error
    if answer.get("status", "OK") != "OK":
        reason = answer.get("message") or answer.get("exception") or answer["status"]
        raise NotBackedUp(_in_words(command, core, params["location"], str(reason)))


def _details(solr: Solr, core: str) -> dict[str, Any]:
    """Return Solr's status of the last finished backup; empty if there is none."""
    details = solr.answer(core, "replication", {"command": "details", "json.nl": "map"})["details"]
    return dict(details.get("backup") or {})


def _restored(solr: Solr, core: str) -> dict[str, Any]:
    answer = solr.answer(core, "replication", {"command": "restorestatus", "json.nl": "map"})
    return dict(answer["restorestatus"])


def _in_words(command: str, core: str, location: str, reason: str) -> str:
    return (
        f"{command} of {core}: {reason}. {location} must be a directory on Solr's machine, that Solr may write to"
        " and its solr.allowPaths allows"
    )
