"""Backup and restore of the four collections of a SolrCloud, through Solr's collections API.

Each node writes its shards to the location, which must therefore be on a file system that all nodes see under the same
path and that ``solr.allowPaths`` of each node admits. Both backup and restore process the collections in the order of
`navlin.index.admin.snapshots`, ``nav_runs`` first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final
from uuid import uuid4

from navlin.index.admin.cores import collection_of, there
from navlin.index.admin.snapshots import ORDER
from navlin.index.journal.leases import lease
from navlin.index.solr.solr import Solr, SolrError

POLL_S: Final = 0.5
Report = Callable[[int, int], None]
"""Progress callback; its arguments are the number of collections (or cores) done, and their total number."""


class NotBackedUp(Exception):
    """Solr could not back up or restore. The message has the reason, and usually the requirements for the location."""


class CollectionsThere(Exception):
    """A restore would overwrite existing collections."""


def back_up(solr: Solr, location: str, name: str, report: Report) -> dict[str, int]:
    """Write ``NAME.COLLECTION`` below the location for each collection, and return core → document count. Raises
    `NotBackedUp`, or `Leased` if another process is making a backup."""
    documents = {}
    with lease(solr, "backup") as own_lease:
        for number, core in enumerate(ORDER):
            report(number, len(ORDER))
            own_lease.check()
            solr.commit(core, soft=False)
            documents[core] = solr.count(core)
            _do(solr, "BACKUP", location, f"{name}.{core}", collection_of(solr, core))
        report(len(ORDER), len(ORDER))
    return documents


def restore(solr: Solr, location: str, name: str, *, overwrite: bool, report: Report) -> dict[str, int]:
    """Restore a backup made by `back_up`, and return core → document count. Raises `NotBackedUp`, or `CollectionsThere`
    if collections exist and ``overwrite`` is False."""
    found = [core for core in ORDER if core in there(solr)]
    if found and not overwrite:
        raise CollectionsThere(f"Solr at {solr.address.host} has {', '.join(found)} already")
    for number, core in enumerate(ORDER):
        report(number, len(ORDER))
        _do(solr, "RESTORE", location, f"{name}.{core}", collection_of(solr, core) if core in found else core)
    report(len(ORDER), len(ORDER))
    return {core: solr.count(core) for core in ORDER}


def _do(solr: Solr, action: str, location: str, name: str, collection: str) -> None:
    """Run the action as an asynchronous task in Solr and wait until it ends. It may take hours, longer than a
    connection stays open."""
    task = uuid4().hex
    asked = {"action": action, "name": name, "collection": collection, "location": location, "async": task}
    try:
        solr.admin("collections", asked)
        while (status := _status(solr, task))["state"] in ("submitted", "running"):
            time.sleep(POLL_S)
    except SolrError as error:
        raise NotBackedUp(_in_words(action, collection, location, error.message)) from error
    if status["state"] != "completed":
        raise NotBackedUp(_in_words(action, collection, location, status["msg"]))
    solr.admin("collections", {"action": "DELETESTATUS", "requestid": task})


def _status(solr: Solr, task: str) -> Mapping[str, str]:
    answer = solr.admin("collections", {"action": "REQUESTSTATUS", "requestid": task})
    reason = answer.get("exception", {}).get("msg") or answer["status"].get("msg", "")
    return {"state": answer["status"]["state"], "msg": str(reason)}


def _in_words(action: str, collection: str, location: str, reason: str) -> str:
    return (
        f"{action} of {collection}: {reason}. {location} must be a directory that every node of the SolrCloud sees under"
        " this path, and that solr.allowPaths of each allows"
    )
