"""Options of a walk, and of the diagram drawn from it."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from navlin.model.keys import RelationType
from navlin.query.answer import Direction
from navlin.query.bounds import MAX_NODES, MAX_WALKED, WALK_S

MAX_FAN_OUT: Final = 1_000

PASSED_TYPES: Final = frozenset({"OPERATION", "SUB_OPERATION"})
"""Entity types that connect data entities (operations); shown only on request."""


@dataclass(frozen=True, slots=True)
class WalkOptions:
    """Options of a walk. ``depth`` counts shown hops in each direction; None walks to the limits.

    ``columns`` draws columns inside tables, ``operations`` the statements and jobs between the tables, ``deleted`` the
    entities flagged deleted; ``control_flow`` follows control flow too; ``unlinked`` includes placeholders. ``readers``
    includes operations that read and made nothing, drawn with ``operations``; operations then do not count towards
    ``max_nodes``. Around an operation, its latest executions are drawn, or with ``all_executions`` up to ``max_nodes``.
    ``go_on`` are nodes from which the walk goes one hop further than ``depth``, ``starts`` are further entities at which
    the walk starts. ``max_fan_out`` limits the relations followed from one node, ``max_walked`` the nodes visited in one
    direction, shown or not. After ``max_s`` seconds the walk reads no further level. It ends before ``stops``, and
    before the columns of stops that are tables or paths.
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
    max_s: float = WALK_S
    stops: Set[str] = frozenset()
    starts: tuple[str, ...] = ()

    @property
    def flow_types(self) -> tuple[str, ...]:
        """The relation types that are walked."""
        if self.control_flow:
            return (RelationType.DATA_FLOW.value, RelationType.CONTROL_FLOW.value)
        return (RelationType.DATA_FLOW.value,)
