"""The positions of sources as this process last read or saved them, so that a poll loads only what has changed.

Solr gives each version of a document a higher ``_version_`` than any before in the same shard. So the positions of a
source are unchanged while their number and their highest version are the same. Nothing is remembered on several shards,
whose versions cannot be compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from navlin.index.journal.runs import SavedPositions, load_positions, of_positions, position_id
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.records import Position

MOST_POSITIONS: Final = 500_000
"""Maximum number of positions to remember, for all sources together. A position takes about 1 kB of memory."""


@dataclass(frozen=True, slots=True)
class _Known:
    fingerprint: str
    saved: SavedPositions
    newest: int
    """The highest version of the positions; 0 if there are none."""


@dataclass(frozen=True, slots=True)
class KnownPositions:
    """The positions of this process's sources. Thread-safe if each source is used by one thread at a time."""

    _known: dict[str, _Known] = field(default_factory=dict)
    """Source id → the positions of the source."""

    def load(self, solr: Solr, source_id: str, fingerprint: str) -> SavedPositions:
        """Return the positions of a source, as `load_positions` does. They are loaded only if they have changed since
        this process last read or saved them. Raises `SolrError`."""
        known = self._known.pop(source_id, None)
        if known is None or known.fingerprint != fingerprint or not _is_current(solr, source_id, known):
            known = _Known(fingerprint, saved := load_positions(solr, source_id, fingerprint), _newest(saved))
            if saved.versions and len(solr.shards(RUNS)) > 1:
                return saved
        self._remember(source_id, known)
        return known.saved

    def forget(self, source_id: str) -> None:
        """Forget the positions of a source, because they are about to change."""
        self._known.pop(source_id, None)

    def saved(
        self,
        source_id: str,
        fingerprint: str,
        before: SavedPositions,
        positions: Iterable[Position],
        versions: Mapping[str, int],
        removed: Collection[str],
    ) -> None:
        """Remember the positions of a source after a save that is committed.

        ``versions`` maps the ids of the written documents to their versions (0 if unknown: nothing is remembered then);
        ``removed`` are the ids of removed outdated positions.
        """
        if 0 in versions.values() or before.outdated.keys() - removed - versions.keys():
            return
        values, kept = dict(before.values), {**before.versions, **versions}
        for key, value in {each.key: each.value for each in positions}.items():
            if value is None:
                values.pop(key, None)
                kept.pop(position_id(source_id, key), None)
            else:
                values[key] = value
        for identity in removed:
            if identity not in versions:
                kept.pop(identity, None)
        saved = SavedPositions(values, {}, kept)
        self._remember(source_id, _Known(fingerprint, saved, _newest(saved)))

    def _remember(self, source_id: str, known: _Known) -> None:
        others = sum(len(each.saved.versions) for each in [*self._known.values()])
        if others + len(known.saved.versions) <= MOST_POSITIONS:
            self._known[source_id] = known


def _newest(saved: SavedPositions) -> int:
    return max(saved.versions.values(), default=0)


def _is_current(solr: Solr, source_id: str, known: _Known) -> bool:
    filters, sort = of_positions(source_id), "_version_ desc"
    found, total = solr.page(RUNS, "*:*", "_version_", filters=filters, sort=sort, rows=1)
    newest = int(found[0]["_version_"]) if found else 0
    return (total, newest) == (len(known.saved.versions), known.newest)
