"""Extractor for one bucket of S3, or of a service with S3's interface: its directories and objects.

A bucket is a source of its own, because a path such as ``/data/orders`` is only unique within a bucket, and because a
lease, a position and a status belong to one bucket. S3 reports no changes, so each run lists the whole bucket.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, Final, Literal

from extractors.path_filters import STAGING, PathFilters, wrong_globs
from extractors.s3.credentials import CredentialChoice
from extractors.s3.details import WantedDetails
from extractors.s3.errors import S3Refused
from extractors.s3.plan import BucketPlanning, prefixes_of
from extractors.s3.reading import BucketReading, read_bucket, read_range
from extractors.s3.service import Bucket, BucketAddress
from extractors.s3.splits import BucketSplit, RangeSplit
from extractors.s3.tree import FOLDER
from navlin.model.extractor import PULL, Extractor, extractor, keeps_positions
from navlin.model.plan import Plan, Positions
from navlin.model.records import Record, Split
from navlin.model.source import S3 as SOURCE_TYPE
from navlin.model.source import Estate, Source
from navlin.urls import server_url

ASKED_AT_ONCE: Final = 8
"""Number of threads that ask by name for what a listing missed."""
_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]")
_REGION: Final = re.compile(r"[a-z0-9-]{1,60}")


@extractor("s3", source_type=SOURCE_TYPE, mode=PULL, version=1)
@dataclass(frozen=True, slots=True)
class S3(Extractor):
    """Extractor for one bucket. ``endpoint`` is the URL of a service with S3's interface; "" is AWS. ``aliases`` are
    other names of the bucket in paths, such as access points. If not ``claimed``, paths that jobs name do not mean this
    bucket, because a bucket of the same name at another endpoint is meant. ``include`` and ``exclude`` are globs (see
    `extractors.path_filters`).
    """

    source: Source
    estate: Estate
    bucket: str
    endpoint: str = ""
    region: str = ""
    aliases: tuple[str, ...] = ()
    claimed: bool = True
    profile: str = ""
    credentials_file: str = ""
    ca_file: str = keeps_positions("")
    # Each plan compares this with the time since the last listing.
    list_every_s: int = keeps_positions(3_600)
    include: tuple[str, ...] = ("/",)
    exclude: tuple[str, ...] = STAGING
    entries: Literal["all", "directories"] = "directories"
    user_metadata: bool = False
    object_tags: bool = False
    objects_in_split: int = keeps_positions(20_000)
    timeout_s: float = keeps_positions(30.0)

    @classmethod
    def serves(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the names of the bucket as claims spell them; for a bucket that is not claimed, its address."""
        bucket, endpoint = settings.get("bucket", ""), settings.get("endpoint", "").rstrip("/")
        if not settings.get("claimed", True):
            return (f"{endpoint or 'https://s3.amazonaws.com'}/{bucket}",)
        return tuple(f"s3://{name}" for name in (bucket, *settings.get("aliases", ())))

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield problems that the types do not catch, as (setting, message)."""
        for name, value in (("bucket", self.bucket), *(("aliases", alias) for alias in self.aliases)):
            if not _BUCKET.fullmatch(value):
                yield (
                    name,
                    f"{name}: {value!r} is not the name of a bucket: write it without s3:// and without a path",
                )
        if self.endpoint:
            parts = server_url(self.endpoint)
            if parts is None or parts.scheme not in ("http", "https") or parts.query or "@" in parts.netloc:
                yield "endpoint", f"endpoint: {self.endpoint!r} is not an address: write https://minio:9000"
        if self.region and not _REGION.fullmatch(self.region):
            yield "region", f"region: {self.region!r} is not a region: write eu-west-1"
        yield from wrong_globs(self.include, self.exclude)
        for name in ("list_every_s", "objects_in_split", "timeout_s"):
            if not getattr(self, name) > 0:
                yield name, f"{name} must be more than 0"

    @property
    def local(self) -> bool:
        # Credentials are those of navlin's own machine and user; they are not sent to executors.
        return True

    def plan(self, positions: Positions) -> Plan:
        """Return a plan to list the bucket, or an empty one if it was listed less than ``list_every_s`` ago."""
        planning = BucketPlanning(
            self._filters,
            prefixes_of(self.include),
            self.entries,
            self.list_every_s * 1_000,
            self.objects_in_split,
        )
        if not planning.is_due(positions):
            return Plan()
        with self._asking() as bucket:
            return planning.plan(bucket, positions)

    def read(self, split: Split) -> Iterator[Record]:
        match split:
            case BucketSplit():
                yield from read_bucket(self._reading, self._place, split)
            case RangeSplit(region=region):
                with self._asking(region) as bucket:
                    yield from read_range(bucket, self._reading, split)
            case _:
                raise TypeError(f"{split!r} is not a split of S3")

    def still_there(self, paths: Sequence[str]) -> Collection[str]:
        with self._asking() as bucket:
            for prefix in prefixes_of(self.include):
                with suppress(S3Refused):
                    bucket.locate(prefix)
                    break
            region = bucket.region

        def found(some: Sequence[str]) -> list[str]:
            with self._asking(region) as asked:
                return [path for path in some if _exists(asked, path.removeprefix("/").replace("%25", "%"))]

        shares = [share for at in range(ASKED_AT_ONCE) if (share := paths[at::ASKED_AT_ONCE])]
        with ThreadPoolExecutor(ASKED_AT_ONCE) as threads:
            return {path for each in threads.map(found, shares) for path in each}

    def check(self) -> Iterator[str]:
        """Yield lines for ``navlin check``: the region, and whether each prefix may be listed. Raises an `S3Error`."""
        with self._asking() as bucket:
            for prefix in prefixes_of(self.include):
                bucket.locate(prefix)
                first = bucket.first(prefix)
                there = "has objects" if first is not None else "has no objects"
                yield f"{bucket.place}/{prefix} may be listed, and {there}; region: {bucket.region or 'unknown'}"
                if first is not None and (self.user_metadata or self.object_tags):
                    yield from self._check_details(bucket, first.key)

    def _check_details(self, bucket: Bucket, key: str) -> Iterator[str]:
        if self.user_metadata:
            bucket.described(key)
        if self.object_tags:
            bucket.tags(key)
        yield f"{bucket.place}: details of objects may be read"

    @property
    def _place(self) -> str:
        return f"s3://{self.bucket}"

    @property
    def _filters(self) -> PathFilters:
        return PathFilters(self.include, self.exclude)

    @property
    def _reading(self) -> BucketReading:
        return BucketReading(
            self.source,
            self.bucket,
            self._filters,
            self.entries == "directories",
            WantedDetails(self.user_metadata, self.object_tags),
            self.objects_in_split,
        )

    def _asking(self, region: str = "") -> closing[Bucket]:
        identity = CredentialChoice(self.profile, self.credentials_file)
        region = region or self.region
        address = BucketAddress(self.bucket, self.endpoint, region, identity, self.ca_file, self.timeout_s)
        return closing(Bucket(address))


def _exists(bucket: Bucket, key: str) -> bool:
    """Whether there is an object, or a directory, with this key. What may not be listed counts as there."""
    try:
        found = bucket.first(key) if key else None
        if not key or (found is not None and (found.key == key or found.key.startswith(f"{key}/"))):
            return True
        if found is None:
            return False
        # Other keys that begin with this one, such as "a-b", may come before "a/b".
        return bucket.first(f"{key}/") is not None or bucket.first(f"{key}{FOLDER}") is not None
    except S3Refused:
        return True
