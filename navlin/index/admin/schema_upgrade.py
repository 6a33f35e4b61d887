"""Upgrade of an index of an earlier version: its documents are converted into new cores, which then replace the old
ones.

The old cores are only read until the copy is complete, so a crash at any time loses nothing. Progress is recorded in
the old ``nav_runs``; documents acknowledged and durable are not copied again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any, Final

import orjson

from navlin.index.admin.cores import beside
from navlin.index.admin.schema import VERSION, UnusableIndex, save_schema
from navlin.index.admin.schema_steps import upgraded
from navlin.index.schema.fields import RUNS
from navlin.index.schema.stored_form import Document
from navlin.index.solr.solr import Solr
from navlin.model.batches import in_batches

BATCH: Final = 1_000
DURABLE_EVERY: Final = 20_000
"""Number of documents after which a range is made durable and its progress recorded. After a crash, at most this many
documents of each range are copied again."""
THREADS: Final = 4
ONE_RANGE_DOCUMENTS: Final = 50_000
"""Maximum number of documents of a core that is copied by a single thread."""
NOT_COPIED: Final = ("lease", "upgrade")
"""Kinds of documents in ``nav_runs`` that are transient."""

Report = Callable[[int, int], None]
"""Progress callback; its arguments are the number of documents copied so far, and the total number."""


@dataclass(frozen=True, slots=True)
class CopyProgress:
    """Progress of copying a range of a core: every document up to ``last`` was read, and its result is durable."""

    last: str = ""
    read: int = 0
    written: int = 0
    done: bool = False


@dataclass(frozen=True, slots=True)
class _Range:
    """The documents of a core with ``first`` <= identity < ``before``; "" leaves that side open."""

    core: str
    first: str
    before: str

    @property
    def note(self) -> str:
        """The id of the document that records the copy's progress."""
        return f"upgrade:{VERSION}:{self.core}:{self.first}-{self.before}"


def copy_index(solr: Solr, cores: Sequence[str], since: int, report: Report) -> None:
    """Copy the cores of an index of version ``since`` into those named by `beside`, or continue an interrupted copy.

    When this returns, the copy is durable and complete, and has its version. Nobody may write to the index meanwhile.
    Raises `UnusableIndex`.
    """
    total = sum(solr.count(core) for core in cores)
    copied: dict[_Range, int] = {}

    def report_range(copied_range: _Range, progress: CopyProgress) -> None:
        copied[copied_range] = progress.read
        report(min(sum(copied.values()), total), total)

    for core in cores:
        notes = _notes(solr, _ranges(core, solr.count(core)))
        if sum(progress.written for progress in notes.values()) > _committed(solr, beside(core)):
            # The copy was emptied after this progress was recorded, so begin again.
            solr.delete_ids(RUNS, [each.note for each in notes])
            notes = dict.fromkeys(notes, CopyProgress())
        with ThreadPoolExecutor(THREADS) as threads:
            copies = [threads.submit(_copy, solr, each, notes[each], since, report_range) for each in notes]
            expected = sum(copy.result().written for copy in copies)
        if expected != (found := _committed(solr, beside(core))):
            raise UnusableIndex(
                f"{beside(core)} has {found} documents instead of {expected}: start the upgrade again"
            )
    if RUNS in cores:
        save_schema(solr, beside(RUNS))


def _committed(solr: Solr, core: str) -> int:
    solr.commit(core, soft=False)
    # The document with the version is written last, and is not copied.
    return solr.count(core, "*:*", "-kind:schema")


def _ranges(core: str, documents: int) -> list[_Range]:
    bounds = ["", *"123456789abcdef", ""] if documents > ONE_RANGE_DOCUMENTS else ["", ""]
    return [_Range(core, first, before) for first, before in pairwise(bounds)]


def _notes(solr: Solr, ranges: Sequence[_Range]) -> dict[_Range, CopyProgress]:
    bodies = {
        document["identity"]: orjson.loads(document["body"])
        for document in solr.get(RUNS, [each.note for each in ranges])
    }
    return {each: CopyProgress(**bodies.get(each.note, {})) for each in ranges}


def _copy(
    solr: Solr,
    copied: _Range,
    progress: CopyProgress,
    since: int,
    report_range: Callable[[_Range, CopyProgress], None],
) -> CopyProgress:
    report_range(copied, progress)
    if progress.done:
        return progress
    noted = progress
    for batch in in_batches(_rest(solr, copied, progress.last), BATCH):
        progress = _write(solr, copied.core, batch, progress, since)
        if progress.read - noted.read >= DURABLE_EVERY:
            noted = _note(solr, copied, progress)
        report_range(copied, progress)
    return _note(solr, copied, replace(progress, done=True))


def _rest(solr: Solr, copied: _Range, last: str) -> Iterator[dict[str, Any]]:
    after = f'{{"{last}"' if last else f'["{copied.first}"' if copied.first else "[*"
    upto = f'"{copied.before}"}}' if copied.before else "*]"
    filters = [f"{{!cache=false}}identity:{after} TO {upto}"]
    if copied.core == RUNS:
        filters.append(f"-kind:({' OR '.join(NOT_COPIED)})")
    return solr.cursor(copied.core, "*:*", "*", filters=filters, rows=2 * BATCH)


def _write(
    solr: Solr, core: str, batch: Sequence[Document], progress: CopyProgress, since: int
) -> CopyProgress:
    documents = []
    for document in batch:
        changed = upgraded(
            core, {name: value for name, value in document.items() if name != "_version_"}, since
        )
        if changed is not None:
            documents.append(changed)
    solr.add_all(beside(core), documents)
    return CopyProgress(batch[-1]["identity"], progress.read + len(batch), progress.written + len(documents))


def _note(solr: Solr, copied: _Range, progress: CopyProgress) -> CopyProgress:
    solr.commit(beside(copied.core), soft=False)
    body = orjson.dumps(asdict(progress)).decode()
    solr.add_all(RUNS, [{"identity": copied.note, "kind": "upgrade", "body": body}])
    return progress
