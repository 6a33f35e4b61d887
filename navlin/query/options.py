"""What to walk, and what to draw of it."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from navlin.model.keys import RelationType
from navlin.query.answer import Direction

MAX_NODES: Final = 400
"""Navigator's own limit of a diagram."""
MAX_FAN_OUT: Final = 1_000
MAX_WALKED: Final = 20_000

PASSED_TYPES: Final = frozenset({"OPERATION", "SUB_OPERATION"})
"""What stands between the data: shown only if that is asked for."""


@dataclass(frozen=True, slots=True)
class Options:
    """``depth`` counts shown hops in each direction; None walks to the limits.

    ``columns`` draws columns inside tables, ``operations`` the statements and jobs between them, ``deleted`` what is flagged
    deleted, ``control_flow`` walks tables and columns that only steer, ``unlinked`` those that were named and never
    captured; ``readers`` are operations that read and made nothing, drawn with ``operations``, and then no operation takes
    the place of a table among the ``max_nodes``. Around an operation its
    latest executions are drawn, or with ``all_executions`` as many as there may be nodes. ``go_on`` are nodes at which the
    walk goes one hop further than ``depth``. ``max_fan_out`` is how many relations of one node are followed, ``max_walked``
    how many nodes in one direction are looked at, shown or not. The walk ends before ``stops``, and before the columns
    of those that are tables or paths.
    """

    direction: Direction = Direction.BOTH
    depth: int | None = None
    columns: bool = False
    operations: bool = False
    deleted: bool = False
    control_flow: bool = False
    unlinked: bool = False
    readers: bool = False
    all_executions: bool = False
    go_on: frozenset[str] = frozenset()
    max_nodes: int = MAX_NODES
    max_fan_out: int = MAX_FAN_OUT
    max_walked: int = MAX_WALKED
    stops: Set[str] = frozenset()

    @property
    def flow_types(self) -> tuple[str, ...]:
        """The relation types that are walked."""
        if self.control_flow:
            return (RelationType.DATA_FLOW.value, RelationType.CONTROL_FLOW.value)
        return (RelationType.DATA_FLOW.value,)
