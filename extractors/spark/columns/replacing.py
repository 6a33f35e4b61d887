"""Source columns that represent other columns: those of a query that a database ran, or of rows that an earlier
execution kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from extractors.spark.columns.flow import FlowKind, PlanColumn, strongest
from extractors.spark.columns.written import ColumnFlow


def replaced(flow: ColumnFlow, meaning: Callable[[PlanColumn], ColumnFlow | None]) -> ColumnFlow:
    """Return a flow in which source columns are replaced with the columns that they represent. ``meaning`` returns
    None for a column that stays.
    """
    found = {each: meaning(each) for each in (*flow.data, *flow.kept, *flow.control)}
    meant = [each for each in found.values() if each is not None]
    if not meant:
        return flow
    data: dict[PlanColumn, None] = {}
    kept: dict[PlanColumn, None] = {}
    control: dict[PlanColumn, None] = {}
    kinds = [flow.kind]
    for into, columns in ((data, flow.data), (kept, flow.kept), (control, flow.control)):
        for column in columns:
            means = found[column]
            if means is None:
                into[column] = None
                continue
            # A computed value is not an unchanged copy of a column.
            given = data if into is kept and means.kind is not FlowKind.IDENTITY else into
            given |= dict.fromkeys(means.data)
            control |= dict.fromkeys(means.control)
            kinds += [means.kind] if into is not control else []
    parts = (flow, *meant)
    return replace(
        flow,
        data=tuple(data),
        control=tuple(each for each in control if each not in data),
        kept=tuple(kept),
        kind=strongest(kinds),
        inferred=any(each.inferred for each in parts),
        opaque=any(each.opaque for each in parts),
        incomplete=any(each.incomplete for each in parts),
        parsed=any(each.parsed for each in parts),
    )
