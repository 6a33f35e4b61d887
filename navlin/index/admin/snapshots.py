"""Mutually consistent snapshots of the four cores of a single Solr, while others write.

The order is essential. ``nav_runs`` is first, because an older position only causes repetition, while a newer one would
lose the data before it. ``nav_relation`` is after ``nav_elements``, because implied relations are written before their
entities, so that none is missing for an entity in ``nav_elements``. ``nav_edits`` is last, because an edit is recorded
before it is made. If a run finishes between the first snapshot and the last, its documents are in the cores without its
record, and only the run after next would link them. In that case the snapshots are taken again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from navlin.index.journal.leases import lease
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import EDITS, ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr, SolrError

ORDER: Final = (RUNS, ELEMENTS, RELATIONS, EDITS)
ATTEMPTS: Final = 20
"""Maximum number of attempts to take snapshots. In one attempt, a fraction of a second lies between the first snapshot
and the last."""
COMMIT_NAME: Final = "navlin-backup"
"""Solr's name for each snapshot."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The files of a core at one commit. They do not change while the snapshot exists."""

    core: str
    directory: Path
    files: tuple[str, ...]
    documents: int


class TooBusy(Exception):
    """A run finished during each attempt to take snapshots."""


@contextmanager
def snapshots(solr: Solr) -> Iterator[tuple[Snapshot, ...]]:
    """Take snapshots of the cores in `ORDER`, and remove them when the context ends. Raises `TooBusy`, or `Leased` if
    another process is making a backup."""
    with lease(solr, "backup") as own_lease, ExitStack() as stack:
        for core in ORDER:
            # Remove the snapshot of a killed process, because Solr would keep the files for ever.
            _delete(solr, core)
            stack.callback(_delete, solr, core)
        for _ in range(ATTEMPTS):
            own_lease.check()
            before = _finished_runs(solr)
            taken = tuple(_take(solr, core) for core in ORDER)
            if _finished_runs(solr) == before:
                yield taken
                return
            for core in ORDER:
                _delete(solr, core)
    raise TooBusy(f"runs finished during each of {ATTEMPTS} attempts: try again")


def _take(solr: Solr, core: str) -> Snapshot:
    solr.commit(core, soft=False)
    documents = solr.count(core)
    answer = solr.admin("cores", {"action": "CREATESNAPSHOT", "core": core, "commitName": COMMIT_NAME})
    return Snapshot(core, Path(answer["indexDirPath"]), tuple(sorted(answer["files"])), documents)


def _delete(solr: Solr, core: str) -> None:
    with suppress(SolrError):  # no snapshot exists, or Solr is down and the next backup removes the snapshot
        solr.admin("cores", {"action": "DELETESNAPSHOT", "core": core, "commitName": COMMIT_NAME})


def _finished_runs(solr: Solr) -> set[str]:
    solr.commit(RUNS, soft=True)
    ended = f"status:({Status.FINISHED.value} OR {Status.HELD.value})"
    return {document["identity"] for document in solr.cursor(RUNS, "kind:run", "identity", filters=[ended])}
