"""Answers of a hostile or broken S3 to the requests of a listing, and what navlin must say about each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final

from extractors.s3.errors import S3Elsewhere, S3Error, S3Misshapen, S3Unavailable
from extractors.s3.pages import MOST_MARKUP
from extractors.s3.service import EMPTY_PAGES, MOST_BYTES, THROTTLED
from tests.services.rest import Answer, Query
from tests.services.s3 import StubS3, refusal

_HEAD: Final = (
    '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>lake</Name>'
    "<EncodingType>url</EncodingType>"
)
_TAIL: Final = "</ListBucketResult>"


@dataclass(frozen=True, slots=True)
class Hostile:
    """``answer`` answers the requests that read objects. navlin must end the listing with an ``error`` that has these
    ``words``, after at most ``requests`` of these requests.
    """

    answer: Callable[[StubS3, Query], Answer]
    words: str
    error: type[S3Error] = S3Misshapen
    requests: int = 1


def _changed(change: Callable[[str], str]) -> Callable[[StubS3, Query], Answer]:
    """Return a function that changes the text of the right page."""
    return lambda s3, query: (200, {}, change(s3.listing(query)).encode())


def _fixed(body: str | bytes) -> Callable[[StubS3, Query], Answer]:
    made = body.encode() if isinstance(body, str) else body
    return lambda s3, query: (200, {}, made)


def _one(key: str) -> str:
    return f"{_HEAD}<IsTruncated>false</IsTruncated><Contents><Key>{key}</Key></Contents>{_TAIL}"


def _empty(token: str) -> str:
    written = f"<NextContinuationToken>{token}</NextContinuationToken>" if token else ""
    return f"{_HEAD}<IsTruncated>true</IsTruncated>{written}{_TAIL}"


def _first_page_again(s3: StubS3, query: Query) -> Answer:
    return (
        200,
        {},
        s3.listing({name: value for name, value in query.items() if name != "start-after"}).encode(),
    )


def _new_tokens(s3: StubS3, query: Query) -> Answer:
    return 200, {}, _empty(str(next(_TOKENS))).encode()


_TOKENS: Final = count()

HOSTILE: Final[Mapping[str, Hostile]] = {
    "the first page again and again": Hostile(
        _first_page_again, "keys are not in order, or were sent already", requests=3
    ),
    "a token again without objects": Hostile(_fixed(_empty("same")), "no usable token", requests=2),
    "truncated without objects and without a token": Hostile(_fixed(_empty("")), "no usable token"),
    "pages without objects and without end": Hostile(
        _new_tokens, "no usable token", requests=EMPTY_PAGES + 1
    ),
    "XML cut in an element": Hostile(
        _changed(lambda text: text[:-10]), "it is cut off, or is not well-formed XML"
    ),
    "XML cut in an object": Hostile(
        _changed(lambda text: text[: text.rindex("<Size>") + 6]), "it is cut off, or is not well-formed XML"
    ),
    "XML cut before the objects": Hostile(
        _changed(lambda text: text[: text.index("<Contents>")]), "it is cut off"
    ),
    "an empty body": Hostile(_fixed(""), "it is cut off, or is not well-formed XML"),
    "more bytes than a page may have": Hostile(
        _fixed(b" " * (MOST_BYTES + 1)), "16", S3Unavailable, requests=3
    ),
    "more elements than a page may have": Hostile(
        _fixed(_HEAD + "<x/>" * (MOST_MARKUP + 1) + _TAIL), "more than 200,000 elements"
    ),
    "a document type": Hostile(
        _fixed('<!DOCTYPE x [<!ENTITY a "a">]>' + _one("a")), "declares a document type"
    ),
    "another bucket": Hostile(
        _changed(lambda text: text.replace("<Name>lake<", "<Name>other<")), "the bucket 'other'"
    ),
    "a list of buckets": Hostile(_fixed("<ListAllMyBucketsResult/>"), "not a ListBucketResult"),
    "a page of a proxy": Hostile(_fixed("<html><body>log in</body></html>"), "but 'html'"),
    "nothing about further objects": Hostile(
        _changed(lambda text: text.replace("IsTruncated", "Truncated")),
        "does not tell whether there are more",
    ),
    "objects in the wrong order": Hostile(
        _fixed(
            f"{_HEAD}<IsTruncated>false</IsTruncated><Contents><Key>wh/b</Key></Contents>"
            f"<Contents><Key>wh/a</Key></Contents>{_TAIL}"
        ),
        "keys are not in order, or were sent already",
    ),
    "an object outside of the prefix": Hostile(_fixed(_one("elsewhere/x")), "not asked for"),
    "an object without a key": Hostile(_fixed(_one("")), "an object without a key"),
    "a key of more than 1,024 characters": Hostile(
        _fixed(_one("wh/" + "a" * 1_024)), "a key of more than 1024 characters"
    ),
    "503 for ever": Hostile(
        lambda s3, query: refusal(503, "SlowDown", "Please reduce your request rate."),
        "HTTP 503 SlowDown: Please reduce your request rate.",
        S3Unavailable,
        requests=THROTTLED,
    ),
    "500 for ever": Hostile(
        lambda s3, query: refusal(500, "InternalError"), "HTTP 500 InternalError", S3Unavailable, requests=3
    ),
    "a redirect to another host": Hostile(
        lambda s3, query: (307, {"Location": "http://127.0.0.2:1/"}, b""),
        "leads to another address",
        S3Elsewhere,
    ),
    "a redirect to another region": Hostile(
        lambda s3, query: refusal(301, "PermanentRedirect", headers={"x-amz-bucket-region": "eu-central-1"}),
        "the bucket is in the region eu-central-1",
        S3Elsewhere,
    ),
}
"""For a listing of the prefix ``wh`` of the bucket ``lake``."""


def reads_objects(query: Query) -> bool:
    """Whether a request is for a whole page of objects."""
    return "fetch-owner" in query and query.get("max-keys") != "1"
