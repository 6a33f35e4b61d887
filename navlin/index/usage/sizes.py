"""Totals at a path: the known files at or below it, their bytes, and their last access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from navlin.index.graph.graph import Graph
from navlin.index.schema.fields import ELEMENTS, date_ms
from navlin.index.solr import solr_query as q
from navlin.index.usage.readers import LocationPath
from navlin.model.batches import in_batches

GROUPS_A_QUERY: Final = 100
_AFTER_WRITING: Final = "{!frange l=1 cache=false}sub(ms(lastAccessed),ms(lastModified))"
_SUMS: Final = {
    "files": {
        "type": "query",
        "q": "type:FILE",
        "facet": {
            "size": "sum(size)",
            "modified": "max(lastModified)",
            "read": {"type": "query", "q": _AFTER_WRITING, "facet": {"last": "max(lastAccessed)"}},
        },
    },
    "directories": {"type": "query", "q": "type:(DIRECTORY S3BUCKET)"},
}


@dataclass(frozen=True, slots=True)
class Below:
    """Totals at some places. Times are epoch ms, 0 for none. ``read_ms`` is the latest access time among files accessed
    later than written, because writing sets both times. ``directories`` counts the known directories and buckets."""

    files: int = 0
    directories: int = 0
    size_bytes: int = 0
    read_ms: int = 0
    modified_ms: int = 0


def sums_below(graph: Graph, of: Sequence[Sequence[LocationPath]]) -> list[Below]:
    """Return the totals of each group of places, which must not contain one another."""
    found = [Below() for _ in of]
    batches = list(in_batches(((at, places) for at, places in enumerate(of) if places), GROUPS_A_QUERY))
    answers = graph.solr.select_each(ELEMENTS, [_summing(batch) for batch in batches])
    for batch, answer in zip(batches, answers, strict=True):
        for at, _ in batch:
            found[at] = _below(answer["facets"].get(f"of{at}", {}))
    return found


def _summing(groups: Sequence[tuple[int, Sequence[LocationPath]]]) -> dict[str, Any]:
    # Do not cache these queries. They are sent only once, and would evict entries that are needed again.
    facets = {
        f"of{at}": {"type": "query", "q": "{!cache=false}" + " ".join(map(_at, places)), "facet": _SUMS}
        for at, places in groups
    }
    asked = {"q": q.EVERYTHING, "fq": ("-deleted:true", "type:(FILE DIRECTORY S3BUCKET)"), "rows": 0}
    return {**asked, "json.facet": orjson.dumps(facets).decode()}


def _at(place: LocationPath) -> str:
    there = q.at_or_below("fileSystemPath", place.path)
    return f"(+sourceId:{q.phrase(place.source_id)} +({there}))"


def _below(facets: Mapping[str, Any]) -> Below:
    files, directories = facets.get("files", {}), facets.get("directories", {})
    return Below(
        int(files.get("count", 0)),
        int(directories.get("count", 0)),
        int(files.get("size", 0)),
        _ms(files.get("read", {}).get("last")),
        _ms(files.get("modified")),
    )


def _ms(value: Any) -> int:
    return date_ms(value) if isinstance(value, str) else int(value or 0)
