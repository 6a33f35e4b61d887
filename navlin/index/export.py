"""What Solr's ``/export`` streams, document by document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
import requests

from navlin.index.connection import SolrError, SolrUnavailable

CHUNK_BYTES: Final = 1 << 18
_HEAD: Final = b'"docs":['
_WELL: Final = b'"status":0}'
_BETWEEN: Final = b'},{"'
_END: Final = b"]}}"


def documents_of_export(response: requests.Response, core: str) -> Iterator[dict[str, Any]]:
    """The documents of one answer, as they arrive. Solr answers 200 before it knows whether all goes well: an error stands
    among the documents, as one that has only the field EXCEPTION, and an answer without its end was cut short."""
    host = urlsplit(response.url).netloc
    try:
        for documents in _batches(response.iter_content(CHUNK_BYTES)):
            for document in documents:
                if "EXCEPTION" in document:
                    raise SolrError(host, core, None, f"export failed: {document['EXCEPTION']}")
                yield document
    except orjson.JSONDecodeError as error:
        raise SolrError(host, core, None, f"export was cut short: {error}") from error
    except requests.exceptions.RequestException as error:
        raise SolrUnavailable(host, core, None, f"export was cut short: {error}") from error


def _batches(chunks: Iterator[bytes]) -> Iterator[list[dict[str, Any]]]:
    buffer = b""
    for chunk in chunks:
        buffer += chunk
        if _HEAD in buffer:
            break
    head, _, rest = buffer.partition(_HEAD)
    if _WELL not in head:  # an error: a small answer, whose keys come in any order
        yield orjson.loads(buffer + b"".join(chunks))["response"]["docs"]
        return
    buffer = rest
    for chunk in chunks:
        # Documents are flat and a quote inside a value is escaped, so this can only stand between two of them.
        cut = (buffer := buffer + chunk).rfind(_BETWEEN)
        if cut >= 0:
            yield orjson.loads(b"[" + buffer[: cut + 1] + b"]")
            buffer = buffer[cut + 2 :]
    if not buffer.endswith(_END):
        raise orjson.JSONDecodeError("the end is missing", "", 0)
    yield orjson.loads(b"[" + buffer[: -len(_END)] + b"]")
