"""Check whether an HDFS is still the one that was followed.

Transactions are numbered from 1 in each namespace. If a NameNode is restored from an older image, the numbers are
reused for different edits. The ids that a namespace receives when it is formatted are therefore saved with the
transaction. A digest of the last followed edits is saved as well, and these edits are read again and compared. For an
image, its MD5 is saved.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Self

from extractors.hdfs.client import HdfsClient, HdfsEvent
from extractors.hdfs.errors import MissingEvents
from navlin.model.records import Position

NAMESPACE_ID: Final = "namespace id"
"""Key of the position that holds the namespace id from the image's header."""
CLUSTER_ID: Final = "cluster id"
BLOCK_POOL_ID: Final = "block pool id"
EDITS: Final = "last edits"
"""Key of the position that holds [first transaction, last transaction, digest of their events]. It covers the last
`TRANSACTIONS_KEPT` followed transactions that gave events.
"""

TRANSACTIONS_KEPT: Final = 16
"""Number of transactions in the digest. There are several, because a permission change gives an event without a time,
so a different history may have the same event under the same number.
"""

_READ_AGAIN: Final = 1_000


@dataclass(frozen=True, slots=True)
class NamespaceIds:
    """The ids that a namespace receives when it is formatted, and keeps across restarts, failovers and upgrades; 0 or
    "" if unknown.
    """

    namespace_id: int = 0
    cluster_id: str = ""
    block_pool_id: str = ""

    @classmethod
    def saved_in(cls, values: Mapping[str, Any]) -> Self:
        return cls(
            values.get(NAMESPACE_ID) or 0, values.get(CLUSTER_ID) or "", values.get(BLOCK_POOL_ID) or ""
        )

    def with_known(self, other: NamespaceIds) -> NamespaceIds:
        """Return the ids of ``other``. Ids that ``other`` lacks are taken from this namespace."""
        return NamespaceIds(
            other.namespace_id or self.namespace_id,
            other.cluster_id or self.cluster_id,
            other.block_pool_id or self.block_pool_id,
        )

    def unlike(self, other: NamespaceIds) -> str:
        """Return a description of the first id that is known in both namespaces and differs; "" if there is none."""
        for each in fields(self):
            here, there = getattr(self, each.name), getattr(other, each.name)
            if here and there and here != there:
                return f"its {each.name.replace('_', ' ')} is {there}, not {here}"
        return ""

    def positions(self, saved: NamespaceIds) -> tuple[Position, ...]:
        """Return the cluster and block pool ids that differ from the saved ids, as positions. The namespace id is not
        included, because it is saved when the image is read.
        """
        return tuple(
            Position(key, now or None)
            for key, now, before in (
                (CLUSTER_ID, self.cluster_id, saved.cluster_id),
                (BLOCK_POOL_ID, self.block_pool_id, saved.block_pool_id),
            )
            if now != before
        )


UNKNOWN: Final = NamespaceIds()


def version_beside(image: Path) -> NamespaceIds:
    """Return the ids in the file VERSION next to the image. All are unknown if that file cannot be read."""
    try:
        lines = image.with_name("VERSION").read_text("utf-8", "replace").splitlines()
    except OSError:
        return NamespaceIds()
    said = dict(line.split("=", 1) for line in lines if "=" in line)
    number = said.get("namespaceID", "").strip()
    return NamespaceIds(
        int(number) if number.isdecimal() else 0,
        said.get("clusterID", "").strip(),
        said.get("blockpoolID", "").strip(),
    )


def why_another(followed: NamespaceIds, now: NamespaceIds) -> str:
    """Return the reason why this is a different namespace from the one followed; "" if it may be the same."""
    unlike = followed.unlike(now)
    return f"this is a different HDFS from the one that was followed: {unlike}" if unlike else ""


@dataclass(slots=True)
class LastEdits:
    """The events of the last transactions, collected by `add`, to be saved as a position."""

    _events: OrderedDict[int, list[HdfsEvent]] = field(default_factory=OrderedDict)

    def add(self, event: HdfsEvent) -> None:
        self._events.setdefault(event.txid, []).append(event)
        if len(self._events) > TRANSACTIONS_KEPT:
            self._events.popitem(last=False)

    def position(self) -> list[Any] | None:
        """Return [first transaction, last transaction, digest]; None if there were no events."""
        if not self._events:
            return None
        digest = blake2b(digest_size=16)
        for events in self._events.values():
            for event in events:
                digest.update(f"{tuple(event)!r}\0".encode("utf-8", "surrogatepass"))
        return [next(iter(self._events)), next(reversed(self._events)), digest.hexdigest()]


def edits_before(client: HdfsClient, transaction: int) -> list[Any] | None:
    """Return the last edits up to a transaction, in the form of `LastEdits.position`. Return None if the NameNode no
    longer has them or they gave no events.
    """
    last = LastEdits()
    try:
        for event in client.events(max(transaction - 4 * TRANSACTIONS_KEPT, 0), 1):
            if event.txid <= transaction:
                last.add(event)
    except MissingEvents:
        return None
    return last.position()


def why_not_continued(client: HdfsClient, kept: list[Any] | None) -> str:
    """Return the reason why the NameNode's edits are not those that were followed; "" if they may be.

    The edits of the position ``kept`` are read again, which costs one call. The result is also "" if the NameNode no
    longer has them.
    """
    if not kept:
        return ""
    first, last, _ = kept
    again, beyond = LastEdits(), False
    events = client.events(first - 1, _READ_AGAIN)
    try:
        for event in events:
            if beyond := event.txid > last:
                break
            again.add(event)
    except MissingEvents:
        return ""
    # A NameNode that has just become active does not show all of its edits yet.
    if again.position() == kept or not (beyond or events.through >= last):
        return ""
    return f"the NameNode was restored: its edits up to transaction {last} are not those that were followed"
