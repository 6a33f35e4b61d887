"""The part of S3 that navlin lists buckets with. Tests set the objects, or whole answers, which are served over a real
socket; signatures are not checked."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

from tests.services.rest import Answer, Query, RestServer

NOW_MS = 1_800_000_000_000
CHANGED = "2026-11-28T10:00:00.000Z"
CHANGED_MS = 1_795_860_000_000
"""The same moment in epoch ms: ``date -u -d 2026-11-28T10:00 +%s``."""


@dataclass(frozen=True)
class Stored:
    """An object of the stub."""

    size: int | str = 3
    e_tag: str = "d41d8cd98f00b204e9800998ecf8427e"
    storage_class: str = "STANDARD"
    owner: str = "owner-1"
    changed: str = CHANGED


class StubS3(RestServer):
    """Serves the ``objects`` of one bucket, by key, in pages of at most ``page`` objects.

    ``instead`` may answer a request in another way, and returns None for the usual answer. ``refused`` are prefixes that
    may not be listed. ``region`` is in the header of each answer.
    """

    def __init__(self, bucket: str, *keys: str, page: int = 1_000, region: str = "eu-west-1") -> None:
        super().__init__(NOW_MS)
        self.bucket, self.page, self.region = bucket, page, region
        self.objects: dict[str, Stored] = {}
        self.refused: set[str] = set()
        self.instead: Callable[[Query], Answer | None] = lambda query: None
        self.routes["/"] = self._bucket
        self._sorted: list[bytes] = []
        self.put(*keys)

    def put(self, *keys: str, **fields: int | str) -> None:
        """Add objects, all with these fields."""
        stored = Stored(**fields)  # type: ignore[arg-type]  # tests name the fields of Stored
        self.objects.update(dict.fromkeys(keys, stored))
        self._sort()

    def remove(self, *keys: str) -> None:
        for key in keys:
            del self.objects[key]
        self._sort()

    @property
    def listed(self) -> list[Query]:
        """The parameters of each request so far, in order."""
        return [query for _, query in self.asked]

    def _sort(self) -> None:
        self._sorted = sorted(key.encode() for key in self.objects)

    def _bucket(self, path: str, query: Query) -> Answer:
        if (other := self.instead(query)) is not None:
            return other
        if path.strip("/") != self.bucket:
            return refusal(404, "NoSuchBucket")
        if query.get("prefix", "") in self.refused:
            return refusal(403, "AccessDenied", "User is not authorized to perform: s3:ListBucket")
        return 200, {"x-amz-bucket-region": self.region}, self.listing(query).encode()

    def listing(self, query: Query, name: str = "") -> str:
        """Return the page that a request asks for, as S3 writes it."""
        prefix, after = query.get("prefix", ""), query.get("start-after", "")
        most = min(self.page, int(query.get("max-keys", "1000")))
        found, groups, truncated = list[str](), list[str](), False
        for key in self._keys(prefix.encode(), after.encode()):
            inside = key[len(prefix) :]
            group = prefix + inside.split("/", 1)[0] + "/" if "delimiter" in query and "/" in inside else ""
            if group and groups and groups[-1] == group:
                continue
            if len(found) + len(groups) == most:
                truncated = True
                break
            if group:
                groups.append(group)
            else:
                found.append(key)
        contents = "".join(self._content(key, owner="fetch-owner" in query) for key in found)
        prefixes = "".join(
            f"<CommonPrefixes><Prefix>{quote_plus(each, safe='/')}</Prefix></CommonPrefixes>"
            for each in groups
        )
        token = "<NextContinuationToken>token</NextContinuationToken>" if truncated else ""
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{name or self.bucket}</Name><Prefix>{quote_plus(prefix, safe='/')}</Prefix>"
            f"<EncodingType>url</EncodingType><IsTruncated>{str(truncated).lower()}</IsTruncated>{token}"
            f"{contents}{prefixes}</ListBucketResult>"
        )

    def _keys(self, prefix: bytes, after: bytes) -> Iterator[str]:
        at = (
            bisect.bisect_right(self._sorted, after)
            if after >= prefix
            else bisect.bisect_left(self._sorted, prefix)
        )
        while at < len(self._sorted) and self._sorted[at].startswith(prefix):
            yield self._sorted[at].decode()
            at += 1

    def _content(self, key: str, *, owner: bool) -> str:
        stored = self.objects[key]
        by = f"<Owner><ID>{stored.owner}</ID><DisplayName>x</DisplayName></Owner>" if owner else ""
        return (
            f"<Contents><Key>{escape(quote_plus(key, safe='/'))}</Key><LastModified>{stored.changed}</LastModified>"
            f"<ETag>&quot;{stored.e_tag}&quot;</ETag><Size>{stored.size}</Size>{by}"
            f"<StorageClass>{stored.storage_class}</StorageClass></Contents>"
        )


def refusal(status: int, code: str, message: str = "no", headers: Mapping[str, str] | None = None) -> Answer:
    """Return S3's error document."""
    body = f"<Error><Code>{code}</Code><Message>{message}</Message><RequestId>1</RequestId></Error>"
    return status, {"Content-Type": "application/xml", **(headers or {})}, body.encode()
