"""Parsing of the stream that Solr's ``/export`` handler sends, document by document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
import requests

from navlin.index.solr.connection import SolrError, SolrUnavailable

CHUNK_BYTES: Final = 1 << 18
_HEAD: Final = b'"docs":['
_WELL: Final = b'"status":0}'
_BETWEEN: Final = b'},{"'
_END: Final = b"]}}"
LONGEST_BYTES: Final = 64 << 20
"""Maximum size of one document."""


def documents_of_export(response: requests.Response, core: str) -> Iterator[dict[str, Any]]:
    """Yield the documents of one response as they arrive. Solr sends status 200 before success is certain, so a later
    error appears as a document with only the field EXCEPTION, and a response without its end was cut short. Raises
    `SolrError` and `SolrUnavailable`."""
    host = urlsplit(response.url).netloc
    try:
        for documents in _batches(response.iter_content(CHUNK_BYTES)):
            for document in documents:
                if not isinstance(document, dict):
                    raise SolrError(host, core, None, "export returned something that is not a document")
                if "EXCEPTION" in document:
                    raise SolrError(host, core, None, f"export failed: {document['EXCEPTION']}")
                yield document
    except orjson.JSONDecodeError as error:
        raise SolrError(host, core, None, f"export was cut short: {error}") from error
    except requests.exceptions.RequestException as error:
        raise SolrUnavailable(host, core, None, f"export was cut short: {error}") from error


def _batches(chunks: Iterator[bytes]) -> Iterator[list[dict[str, Any]]]:
    buffer = bytearray()
    for chunk in chunks:
        searched = max(0, len(buffer) - len(_HEAD))
        _add(buffer, chunk)
        if buffer.find(_HEAD, searched) >= 0:
            break
    head, _, rest = buffer.partition(_HEAD)
    if _WELL not in head:  # an error: a small response, with keys in any order
        for chunk in chunks:
            _add(buffer, chunk)
        match orjson.loads(buffer):
            case {"response": {"docs": list(documents)}}:
                yield documents
            case _:
                raise orjson.JSONDecodeError("it has no documents", "", 0)
        return
    searched = 0
    for chunk in chunks:
        _add(rest, chunk)
        # Documents are flat and a quote inside a value is escaped, so this separator can only occur between two
        # documents.
        cut = rest.rfind(_BETWEEN, searched)
        if cut >= 0:
            yield orjson.loads(b"[" + rest[: cut + 1] + b"]")
            del rest[: cut + 2]
        searched = max(0, len(rest) - len(_BETWEEN))
    if not rest.endswith(_END):
        raise orjson.JSONDecodeError("the end is missing", "", 0)
    yield orjson.loads(b"[" + rest[: -len(_END)] + b"]")


def _add(buffer: bytearray, chunk: bytes) -> None:
    if len(buffer) > LONGEST_BYTES:
        raise orjson.JSONDecodeError(f"a document has more than {LONGEST_BYTES >> 20} MiB", "", 0)
    buffer += chunk
