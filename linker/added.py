"""What the linker says itself: how its relations stand in the index, and how they are brought to what they should be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from linker.ends import END_FIELDS
from linker.linking import Linking, batched
from linker.resolve_endpoints import apply, judge
from navlin.index.documents import Document
from navlin.index.fields import RELATIONS, solr_date
from navlin.index.writing import WRITE_BATCH

WRITER: Final = "linker"
TREE_PATH: Final = "#linker"
"""Outside every source's tree, so that no `Covered` reaches what the linker says."""
ADDED_FIELDS: Final = END_FIELDS + ",inferred,incomplete"

_COMPARED = frozenset(
    field
    for field in ADDED_FIELDS.split(",")
    if field.startswith("endpoint") or field in ("inferred", "incomplete")
)


def said_instead(
    linking: Linking, there: Mapping[str, Document], wanted: Mapping[str, Document]
) -> tuple[set[str], int]:
    """Makes what the linker says (``there``, with `ADDED_FIELDS`) what it should say, both by identity: what is surplus is
    removed, what is new or otherwise is written, linked or not as its ends are there.

    Returns the identities of which something changed or has to be tried again, and how many changed.
    """
    solr = linking.solr
    surplus = {identity: there[identity]["_version_"] for identity in there.keys() - wanted.keys()}
    kept = set(solr.delete_versions(RELATIONS, surplus)) if surplus else set()
    verdicts = judge(solr, list(wanted.values()))
    due = []
    for identity, relation in wanted.items():
        old = there.get(identity)
        if old is None or _differs(old, relation) or verdicts[identity].unlinked != old.get("unlinked"):
            due.append(identity)
    written = 0
    for batch in batched(due, WRITE_BATCH):
        now = {d["identity"]: d for d in solr.get(RELATIONS, batch)}
        documents = [_renewed(wanted[i], now.get(i), linking) for i in batch]
        for document in documents:
            apply(document, verdicts[document["identity"]], linking)
        outcome = solr.add(RELATIONS, documents)
        if outcome.refused:
            raise ValueError(f"Solr refused {outcome.refused[0].identity}: {outcome.refused[0].reason}")
        written += len(outcome.applied)
    return {*surplus, *due}, written + len(surplus) - len(kept)


def _differs(old: Document, new: Document) -> bool:
    return any(old.get(field) != new.get(field) for field in _COMPARED)


def _renewed(wanted: Document, now: Document | None, linking: Linking) -> Document:
    if now is None:
        return {**wanted, "firstSeen": solr_date(linking.now_ms), "_version_": -1}
    kept = ("unlinkedReason", "unlinkedSince", "firstSeen", "_version_")
    return {**wanted, **{name: now[name] for name in kept if name in now}}
