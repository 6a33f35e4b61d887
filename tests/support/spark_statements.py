"""Named statements executed by real Spark releases, and the lineage read from their logs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard

from navlin.model.keys import EntityType, Key, RelationType
from tests.support.spark_logs import Extracted, read_once

LOGS = Path(__file__).parents[1] / "spark_statements"
"""Logs reduced to SQL executions without metrics and tasks."""
_SHORT = {"h2:mem:pg": "pg.", "h2:mem:crm": "crm."}


@dataclass
class Told:
    """The lineage of one statement. ``columns`` maps each written column to ``data | control``, both sorted, and the
    flags after a ``!``.
    """

    operation: str
    inputs: list[str]
    outputs: list[str]
    reasons: list[str]
    columns: dict[str, str] = field(default_factory=dict)


def statements(log: str, directory: Path, **settings: Any) -> dict[str, Told]:
    """Map the name of each statement in a log to the lineage read."""
    packed = (LOGS / f"{log}.zst").read_bytes()
    (directory / "local-1").write_bytes(zstandard.ZstdDecompressor().decompress(packed, 1 << 28))
    extracted = read_once(directory, **settings)
    assert not extracted.rejects
    operations = {each.key.identity: each for each in extracted.operations}
    found = {}
    for each in extracted.executions:
        assert each.key.parent is not None
        attributes = operations[each.key.parent.identity].attributes
        name = str(each.attributes["operation"]).rpartition(": ")[2]
        found[name] = Told(
            str(attributes["operationType"]),
            sorted(map(str, attributes.get("inputs") or ())),
            sorted(map(str, attributes.get("outputs") or ())),
            list(map(str, attributes.get("incompleteReasons") or ())),
            columns_of(extracted, each.key.parent.identity),
        )
    return found


def columns_of(extracted: Extracted, operation: str) -> dict[str, str]:
    """Map each column that an operation writes to its sources and flags."""
    found = {}
    for part in extracted.entities.values():
        if part.key.type is not EntityType.SUB_OPERATION or part.key.parent is None:
            continue
        if part.key.parent.identity != operation or part.attributes["edgeType"] != "PROJECTION":
            continue
        read = [each for each in extracted.relations.values() if each.ep2.identity == part.key.identity]
        sides = [
            " ".join(sorted(shown(each.ep1) for each in read if each.type is kind))
            for kind in (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
        ]
        flags = [name for name in ("inferred", "incomplete", "parsed") if part.attributes.get(name)]
        text = " | ".join(sides).strip() + (f" ! {' '.join(flags)}" if flags else "")
        for each in extracted.relations.values():
            if each.ep1.identity == part.key.identity:
                found[shown(each.ep2)] = text
    return found


def shown(column: Key) -> str:
    """``db.t.column``; a column of a JDBC table is prefixed with a short name for its database."""
    table = column.parent
    assert table is not None
    if table.type is EntityType.DATASET:
        return f"{_SHORT.get(table.source.name, '')}{table.name}.{column.name}"
    above = table.parent.name if table.parent else ""
    return f"{above}.{table.name}.{column.name}" if above else f"{table.file_system_path}.{column.name}"
