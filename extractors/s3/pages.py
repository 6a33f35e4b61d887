"""Parse the pages of a listing (ListObjectsV2) and S3's error documents.

botocore's parser takes some ten times as long, and a bucket may have 100,000 pages. A page is checked first: it declares
no document type, has a bounded number of elements, is about the bucket that was asked for, and is whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote_plus
from xml.etree.ElementTree import Element, ParseError, XMLParser

MOST_MARKUP: Final = 200_000
"""Maximum number of ``<`` in an answer. A page of 1,000 objects has some 26,000."""
MOST_KEY_BYTES: Final = 1_024
_PAGE: Final = "ListBucketResult"
_ENCODED: Final = re.compile(r"[%+]")


class BadPage(ValueError):
    """An answer is not the document that was asked for. The message says why."""


class S3Object(NamedTuple):
    """One object of a listing. ``modified_ms`` is in epoch ms; it and ``size_bytes`` are None if they are not readable."""

    key: str
    size_bytes: int | None
    modified_ms: int | None
    e_tag: str
    storage_class: str
    owner: str


@dataclass(frozen=True, slots=True)
class S3Page:
    """One page: its objects, the common prefixes, and whether there are more. ``token`` continues the listing."""

    objects: tuple[S3Object, ...]
    prefixes: tuple[str, ...]
    truncated: bool
    token: str


class S3ErrorDocument(NamedTuple):
    """S3's error code and message; the code is "" if the answer is not an error document. ``region`` is the bucket's."""

    code: str
    message: str
    region: str = ""


def to_page(body: bytes, bucket: str) -> S3Page:
    """Parse a page of a bucket. Raises `BadPage`."""
    root = _root(body, _PAGE)
    space = root.tag.removesuffix(_PAGE)
    single = {_local(element.tag): element.text or "" for element in root}
    if (named := single.get("Name", bucket)) != bucket:
        raise BadPage(f"it is about the bucket {named[:100]!r}")
    truncated = single.get("IsTruncated")
    if truncated not in ("true", "false"):
        raise BadPage("it does not tell whether there are more objects")
    # Without this encoding, a control character in a key makes the page ill-formed.
    encoded = single.get("EncodingType") == "url"
    listed = _ListedIn(space, encoded=encoded)
    return S3Page(
        tuple(map(listed.to_object, root.findall(f"{space}Contents"))),
        tuple(
            _key(each.findtext(f"{space}Prefix") or "", encoded=encoded)
            for each in root.findall(f"{space}CommonPrefixes")
        ),
        truncated == "true",
        single.get("NextContinuationToken", ""),
    )


def to_error(body: bytes) -> S3ErrorDocument:
    """Parse an error document. Only code, message and region are taken, because other elements repeat the request."""
    try:
        found = _texts(_root(body, "Error"))
    except BadPage:
        return S3ErrorDocument("", "")
    return S3ErrorDocument(
        found.get("Code", "")[:100], " ".join(found.get("Message", "").split())[:300], found.get("Region", "")
    )


def to_tags(body: bytes) -> Iterator[tuple[str, str]]:
    """Yield (key, value) of each tag of an object. Raises `BadPage`."""
    for element in _root(body, "Tagging"):
        for tag in element:
            found = _texts(tag)
            if key := found.get("Key"):
                yield key, found.get("Value", "")


def _root(body: bytes, name: str) -> Element:
    if body.count(b"<") > MOST_MARKUP:
        raise BadPage(f"it has more than {MOST_MARKUP:,} elements")
    if b"<!DOCTYPE" in body or b"\0" in body:
        raise BadPage("it declares a document type, or is not UTF-8")
    parser = XMLParser(encoding="utf-8")
    try:
        parser.feed(body)
        root: Element = parser.close()
    except (ParseError, ValueError) as error:
        raise BadPage(f"it is cut off, or is not well-formed XML ({error})") from None
    if _local(root.tag) != name:
        raise BadPage(f"it is not a {name}, but {_local(root.tag)[:100]!r}")
    return root


def _local(tag: str) -> str:
    return tag.rpartition("}")[2]


def _texts(element: Element) -> dict[str, str]:
    """Return the texts of an element's children by name."""
    return {_local(child.tag): child.text or "" for child in element}


class _ListedIn:
    """Converts the elements of a page to objects. ``space`` is the namespace of the page's tags, as "{…}" or ""."""

    def __init__(self, space: str, *, encoded: bool) -> None:
        self._encoded = encoded
        self._key, self._size, self._modified, self._e_tag, self._class, self._owner, self._id = (
            space + name for name in ("Key", "Size", "LastModified", "ETag", "StorageClass", "Owner", "ID")
        )

    def to_object(self, element: Element) -> S3Object:
        text = element.findtext
        owner = element.find(self._owner)
        return S3Object(
            _key(text(self._key) or "", encoded=self._encoded),
            _whole(text(self._size) or ""),
            _moment_ms(text(self._modified) or ""),
            (text(self._e_tag) or "").strip('"'),
            text(self._class) or "STANDARD",
            (owner.findtext(self._id) or "") if owner is not None else "",
        )


def _key(text: str, *, encoded: bool) -> str:
    key = _decoded_key(text) if encoded else text
    if not key:
        raise BadPage("it has an object without a key")
    if len(key) > MOST_KEY_BYTES:
        raise BadPage(f"it has a key of more than {MOST_KEY_BYTES} characters")
    return key


def _decoded_key(text: str) -> str:
    above, slash, name = text.rpartition("/")
    return (_decoded_directory(above) if above else "") + slash + _decoded(name)


def _decoded(text: str) -> str:
    # A key is UTF-8; bytes that are not become halves of surrogate pairs, as in names of other file systems.
    return unquote_plus(text, errors="surrogateescape") if _ENCODED.search(text) else text


_decoded_directory: Final = lru_cache(maxsize=1_024)(_decoded)
"""Cached, because the objects of a directory follow each other."""


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _moment_ms(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        return round(moment.timestamp() * 1000) if moment.tzinfo is not None else None
    except (ValueError, OverflowError, OSError):
        return None
