"""Details that need a request for each object: user metadata, encryption and version, and tags. Off by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from extractors.s3.errors import S3Refused
from extractors.s3.service import Bucket
from extractors.s3.tree import KeyPlace
from navlin.model.records import Reject

MOST_NAMES: Final = 200
"""Maximum number of different names of user metadata in one listing. Each is a column."""
TAGS: Final = "objectTags"
TOO_MANY: Final = f"it has names of user metadata beyond the first {MOST_NAMES} of a part of the listing"


@dataclass(frozen=True, slots=True)
class WantedDetails:
    """Whether to request the user metadata, and the tags, of each object."""

    user_metadata: bool = False
    tags: bool = False

    def __bool__(self) -> bool:
        return self.user_metadata or self.tags


def details_of(
    bucket: Bucket, asked: WantedDetails, places: Sequence[KeyPlace]
) -> tuple[Mapping[str, Sequence[Any]], Sequence[Reject]]:
    """Return the columns of details for these places, and rejects for what could not be read. Raises an `S3Error`,
    except if one object's details are refused.
    """
    if not asked:
        return {}, ()
    columns: dict[str, list[Any]] = {}
    beyond = 0
    refused: dict[str, int] = {}
    for row, place in enumerate(places):
        if place.object is None:
            continue
        try:
            found = _details(bucket, asked, place.object.key)
        except S3Refused as error:
            refused[str(error)] = refused.get(str(error), 0) + 1
            continue
        for name, value in found.items():
            if name not in columns and len(columns) >= MOST_NAMES:
                beyond += 1
                continue
            columns.setdefault(name, [None] * len(places))[row] = value
    rejects = [
        Reject(bucket.place, f"details of objects: {words}", count=count) for words, count in refused.items()
    ]
    if beyond:
        rejects.append(Reject(bucket.place, TOO_MANY, count=beyond))
    return columns, rejects


def _details(bucket: Bucket, asked: WantedDetails, key: str) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    if asked.user_metadata and (described := bucket.described(key)) is not None:
        # A name that navlin knows, such as "owner", must not become that field.
        found = {f"metadata.{name}": value for name, value in described.metadata.items()}
        found |= {"encryption": described.encryption or None, "versionId": described.version or None}
    if asked.tags and (tags := bucket.tags(key)):
        found[TAGS] = [f"{name}={value}" for name, value in sorted(tags.items())]
    return found
