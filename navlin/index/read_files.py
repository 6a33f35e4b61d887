"""Files that were read to their end, according to the saved positions."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from navlin.index import solr_query as q
from navlin.index.fields import RUNS
from navlin.index.solr import Solr


def read_to_end(solr: Solr, sizes_bytes: Mapping[str, int]) -> set[str]:
    """Return the files (position key → size) that every source that follows them has read completely."""
    read: set[str] = set()
    behind: set[str] = set()
    filters = ["kind:position", q.terms("key", sizes_bytes)]
    for document in solr.cursor(RUNS, "*:*", "identity,key,body", filters=filters):
        key, value = document["key"], orjson.loads(document["body"])
        (read if value["offset"] >= sizes_bytes[key] else behind).add(key)
    return read - behind
