"""Read the operators of a plan from the event's ``sparkPlanInfo``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

MAX_NODES: Final = 200_000
_ACCELERATOR: Final = re.compile(
    r"^(?:[*^] ?)?(?P<execute>Execute )?"
    r"(?:(?:Gpu|Photon|Comet|VeloxIceberg(?=Append|Overwrite|Replace|WriteTo)|Velox|Native"
    r"|Arrow(?=BatchScan|File)|CH(?=Hive))(?=[A-Z]))+"
)
_EXECUTES: Final = re.compile(r"^GpuExecute ")
_HOW_COMET_SCANS: Final = re.compile(r"^(\W*\w*Scan )\[native_\w+\] ")
"""Matches names such as ``CometScan [native_datafusion] parquet db.t``."""
_TRANSFORMER: Final = re.compile(
    r"^(?:\^ ?)?(?:(?:Regular|Flushable)(?=HashAggregate))?(\w+?)(?:Exec)?Transformer\b"
)
_WRAPPERS: Final = re.compile(
    r"(?:WholeStageCodegen(?: \(\d+\))?|InputAdapter|AdaptiveSparkPlan|\w*QueryStage|AQEShuffleRead|CustomShuffleReader"
    r"|ColumnarToRow|RowToColumnar|\w*Exchange|ReusedSubquery|Sort|SubqueryBroadcast|CommandResult|WriteFiles"
    r"|Coalesce|ShuffleCoalesce\w*|Execute \w+StatsCommand)$"
)


@dataclass(frozen=True, slots=True)
class OperatorNode:
    """One operator. ``name`` has no accelerator's prefix. ``depth`` is the distance from the root, which has depth 0."""

    name: str
    text: str
    metadata: Mapping[str, str]
    depth: int

    @property
    def wraps(self) -> bool:
        """Whether the operator itself neither reads, computes nor writes."""
        return _WRAPPERS.match(self.name) is not None


def plain_name(name: str) -> str:
    """Remove an accelerator's prefixes and suffixes from an operator's name, such as ``Execute
    GpuInsertIntoHiveTable``.
    """
    name = _EXECUTES.sub("Execute ", name)
    name = _ACCELERATOR.sub(lambda match: match["execute"] or "", name)
    name = _HOW_COMET_SCANS.sub(r"\1", name)
    return _TRANSFORMER.sub(r"\1", name)


def walk(plan: object) -> Iterator[OperatorNode]:
    """Yield the operators from the root down, parents before children. Values that are not operators are skipped."""
    stack: list[tuple[object, int]] = [(plan, 0)]
    count = 0
    while stack and count < MAX_NODES:
        value, depth = stack.pop()
        if not isinstance(value, dict):
            continue
        count += 1
        yield OperatorNode(
            plain_name(_text(value.get("nodeName"))),
            _HOW_COMET_SCANS.sub(r"\1", _text(value.get("simpleString"))),
            _metadata(value.get("metadata")),
            depth,
        )
        children = value.get("children")
        if isinstance(children, list):
            stack.extend((child, depth + 1) for child in reversed(children))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _metadata(value: Any) -> Mapping[str, str]:
    if not isinstance(value, dict):
        return {}
    return {key: text for key, text in value.items() if isinstance(text, str)}
