"""Statistics of the cores from Solr: document counts, sizes, and fields."""

from __future__ import annotations

from typing import Any, Final

from navlin.index.search.selecting import PROPERTIES, is_shown
from navlin.index.solr.solr import Solr

_SUMMED: Final = (
    "numDocs",
    "maxDoc",
    "deletedDocs",
    "segmentCount",
    "sizeInBytes",
    "indexHeapUsageBytes",
)
_UNITS: Final = ("bytes", "KB", "MB", "GB", "TB")


def core_status(solr: Solr, core: str) -> dict[str, Any]:
    """Return the statistics of a core's index under Solr's names, summed over all shards; -1 for a value that Solr does
    not report. ``size`` is the size as text."""
    sums = dict.fromkeys(_SUMMED, 0)
    for shard in solr.shards(core):
        base, _, name = shard.rpartition("/")
        answer = solr.session.get(
            f"{base}/admin/cores", params={"action": "STATUS", "core": name, "wt": "json"}
        )
        index = answer.json()["status"][name]["index"]
        for figure in _SUMMED:
            value = int(index.get(figure, -1))
            sums[figure] = -1 if value < 0 or sums[figure] < 0 else sums[figure] + value
    return {**sums, "size": _in_words(sums["sizeInBytes"])}


def fields_of_core(solr: Solr, core: str) -> list[dict[str, Any]]:
    """Return the visible fields as Solr describes them, each with name, type, multiValued, indexed, stored; properties
    appear as patterns such as ``up_*``. Fields with doc values count as stored, because they are returned."""
    described: list[dict[str, Any]] = []
    for kind in ("fields", "dynamicfields"):
        answer = solr.answer(core, f"schema/{kind}", {"showDefaults": "true"})
        for each in answer["fields" if kind == "fields" else "dynamicFields"]:
            name = each["name"]
            if is_shown(name) if kind == "fields" else name.startswith(PROPERTIES):
                stored = each.get("stored", False) or each.get("docValues", False)
                described.append(
                    {
                        "name": name,
                        "type": each["type"],
                        "multiValued": bool(each.get("multiValued")),
                        "indexed": bool(each.get("indexed")),
                        "stored": bool(stored),
                    }
                )
    return described


def _in_words(size_bytes: float) -> str:
    """Format a size as Solr does: ``12.35 MB``."""
    unit = 0
    while size_bytes >= 1024 and unit < len(_UNITS) - 1:
        size_bytes, unit = size_bytes / 1024, unit + 1
    return f"{size_bytes:.2f} {_UNITS[unit]}" if unit else f"{size_bytes:.0f} {_UNITS[0]}"
