"""Files that were read to their end, according to the saved positions."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from navlin.index.schema.fields import RUNS
from navlin.index.solr import solr_query as q
from navlin.index.solr.solr import Solr


def read_to_end(solr: Solr, sizes_bytes: Mapping[str, int]) -> set[str]:
    """Return the position keys of the files that every source following them has read completely. ``sizes_bytes`` maps
    position keys to file sizes."""
    read: set[str] = set()
    behind: set[str] = set()
    filters = ["kind:position", q.terms("key", sizes_bytes)]
    for document in solr.cursor(RUNS, "*:*", "identity,key,body", filters=filters):
        key, value = document["key"], orjson.loads(document["body"])
        (read if value["offset"] >= sizes_bytes[key] else behind).add(key)
    return read - behind
