"""Check whether a metastore is still the one that was followed.

After a restore from a backup, notification ids are lower than before. Once the restored metastore has passed navlin's
position, it has other events under the same ids. A digest of the last followed event is therefore saved, and that
event is read again.
"""

from __future__ import annotations

from hashlib import blake2b

from extractors.hms.client import MetastoreConnection
from extractors.hms.idl import NotificationEvent
from navlin.model.plan import SourceTime

EVENT_DIGEST = "event digest"
"""Key of the position that holds the digest of the event whose id is saved; absent if the log did not have the event."""


def digest_of(event: NotificationEvent) -> str:
    """Return a digest (32 hexadecimal digits) that distinguishes an event from another one with the same id."""
    digest = blake2b(digest_size=16)
    for part in (
        event.eventId,
        event.eventTime,
        event.eventType,
        event.dbName,
        event.tableName,
        event.message,
    ):
        digest.update(f"{part}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def event_at(metastore: MetastoreConnection, event_id: int) -> NotificationEvent | None:
    """Return the event with an id; None if the log no longer has it, because a metastore removes events after some
    days.
    """
    if event_id <= 0:
        return None
    found = metastore.events(event_id - 1, 1)
    return found[0] if found and found[0].eventId == event_id else None


def why_not_continued(event: NotificationEvent | None, followed: int, digest: str) -> str:
    """Return the reason why this is not the log that was followed up to event ``followed``; "" if it may be.

    ``event`` is the log's current event with that id. Without the event or a digest, there is nothing to compare.
    """
    if event is None or not digest or digest_of(event) == digest:
        return ""
    return f"the metastore was restored: its event {followed} is not the one that was followed"


def time_of(event: NotificationEvent | None, uri: str) -> SourceTime | None:
    """Return the time on the metastore's clock, as far as the newest event shows it; None without an event."""
    if event is None or not event.eventTime:
        return None
    return SourceTime(event.eventTime * 1000, f"the newest event of the metastore {uri}", exact=False)
