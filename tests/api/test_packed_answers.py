"""Gzip compression of responses for clients that accept it. Streamed responses are compressed chunk by chunk."""

from __future__ import annotations

import gzip
import zlib
from uuid import uuid4

import pytest
import requests

from navlin.api.application import PACKED_FROM_BYTES
from navlin.api.own import ROOT
from navlin.index.solr.solr import Solr
from tests.support.query_estate import World
from tests.support.web import Web

ROWS = 300


@pytest.fixture
def query(solr: Solr) -> str:
    name = f"packed{uuid4().hex[:8]}"
    world = World(solr, name, database=name)
    for number in range(ROWS):
        world.table(f"t{number}", owner=f"owner of {number}")
    world.index()
    return f'parentPath:"/{name}"'


def taken(web: Web, path: str, encoding: str, *, accept: str = "*/*", **query: str) -> requests.Response:
    """Request a response without decompressing it."""
    headers = {"Accept-Encoding": encoding, "Accept": accept}
    return web.send("GET", path, headers=headers, params=query, stream=True)


def test_a_large_answer_is_compressed_for_clients_that_accept_gzip(web: Web, query: str) -> None:
    plain = taken(web, ROOT + "/search", "identity", query=query, limit="300", sort="originalName asc")
    packed = taken(web, ROOT + "/search", "gzip, deflate", query=query, limit="300", sort="originalName asc")
    whole, small = plain.raw.read(decode_content=False), packed.raw.read(decode_content=False)
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Content-Type"] == "application/json"
    assert {each.headers["Vary"] for each in (plain, packed)} == {"Accept-Encoding"}
    assert gzip.decompress(small) == whole
    assert len(small) == int(packed.headers["Content-Length"]) < len(whole) / 5


def test_small_answers_and_errors_are_not_compressed(web: Web) -> None:
    for status, query in ((200, "originalName:nothing_has_this_name"), (400, "(")):
        answer = taken(web, ROOT + "/search", "gzip", query=query)
        assert answer.status_code == status
        assert "Content-Encoding" not in answer.headers
        assert len(answer.content) < PACKED_FROM_BYTES


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_a_streamed_answer_is_compressed_chunk_by_chunk(web: Web, query: str, form: str) -> None:
    plain = taken(web, ROOT + "/search", "identity", query=query, **{form: "true"}).content
    answer = taken(web, ROOT + "/search", "gzip", query=query, **{form: "true"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Content-Length" not in answer.headers
    pieces = list(answer.raw.read_chunked(decode_content=False))
    assert len(pieces) > 1
    # Each chunk can be decompressed before the next one arrives.
    unpacking = zlib.decompressobj(16 + zlib.MAX_WBITS)
    unpacked = [unpacking.decompress(each) for each in pieces]
    assert all(unpacked[:-1])
    assert b"".join(unpacked) == plain
    assert unpacking.eof


def test_a_page_containing_the_session_token_is_not_compressed(web: Web) -> None:
    answer = taken(web, "/search", "gzip", accept="text/html", query="packed or not")
    assert answer.headers["Content-Type"].startswith("text/html")
    assert len(answer.content) > PACKED_FROM_BYTES
    assert "Content-Encoding" not in answer.headers
