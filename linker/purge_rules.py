"""What purge removes, what keeps it from doing so, and what it never touches: as data.

The first five are Cloudera Navigator's, from its documentation of purge: three say what goes, two what never does. The
sixth is navlin's own, and can be switched off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from linker.ends import BOTH, IDS_A_QUERY, Side, end_id, named, present, relations_of
from linker.linking import batched
from linker.locations import FLOWS
from navlin.index.documents import Document
from navlin.index.fields import ELEMENTS, date_ms, peoples, solr_date
from navlin.index.solr import Solr

Query = Callable[[int], str]
"""The query for what is older than a threshold (epoch ms)."""
Check = Callable[[Solr, Sequence[Document], int], set[str]]
"""Which of these candidates hold on, given the threshold."""


# -- Older than the threshold ------------------------------------------------------------------------------------------


def deleted_before(before_ms: int) -> str:
    """What has been flagged deleted for longer. A deleteTime of 0 says that nobody knows since when."""
    return f"+deleted:true +deleteTime:[1 TO {before_ms}}}"


def executed_before(before_ms: int) -> str:
    """Executions that ended earlier; where no end is known that started earlier, or were told of earlier."""
    date = solr_date(before_ms)
    ended, started = "ended:[* TO *]", "started:[* TO *]"
    return (
        f"+type:OPERATION_EXECUTION +(ended:[* TO {date}}} (+started:[* TO {date}}} -{ended})"
        f" (+asOf:[* TO {before_ms}}} -{ended} -{started}))"
    )


def executed_ms(execution: Document) -> int:
    """When an execution was executed, as `executed_before` has it."""
    for field in ("ended", "started"):
        if field in execution:
            return date_ms(execution[field])
    return int(execution.get("asOf", 0))


# -- What holds on -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Keep:
    """A reason for which a candidate stays."""

    name: str
    what: str
    check: Check


def _is_end_of(query: str, sides: Sequence[Side] = BOTH) -> Check:
    return lambda solr, candidates, _: named(solr, [c["identity"] for c in candidates], query, sides)


def _described(_: Solr, candidates: Sequence[Document], __: int) -> set[str]:
    return {c["identity"] for c in candidates if any(peoples(field) and c[field] for field in c)}


def _has_output(solr: Solr, operations: Sequence[Document], _: int) -> set[str]:
    ids = [operation["identity"] for operation in operations]
    found = named(solr, ids, "+type:DATA_FLOW +deleted:false -endpoint2Type:SUB_OPERATION", (1,))
    # Column-level output counts as well, should a record ever tell of columns only.
    parts = parts_of(solr, ids, "identity,firstClassParentId")
    owners = {part["identity"]: part["firstClassParentId"] for part in parts}
    flowing = named(solr, owners, "+type:DATA_FLOW +deleted:false", (1,))
    return found | {owners[part] for part in flowing}


def _executed_since(solr: Solr, operations: Sequence[Document], before_ms: int) -> set[str]:
    recent = f"*:* -({executed_before(before_ms)})"
    ids = [operation["identity"] for operation in operations]
    executions = relations_of(solr, ids, "type:INSTANCE_OF", (1,))
    found: set[str] = set()
    for batch in batched(executions, IDS_A_QUERY):
        operation_of = {end_id(relation, 2): end_id(relation, 1) for relation in batch}
        found.update(operation_of[execution] for execution in present(solr, operation_of.keys(), recent))
    return found


def parts_of(solr: Solr, operation_ids: Sequence[str], fields: str) -> list[dict[str, Any]]:
    """The sub-operations of operations."""
    return [
        part
        for batch in batched(operation_ids, IDS_A_QUERY)
        for part in solr.cursor(
            ELEMENTS,
            "type:SUB_OPERATION",
            fields,
            filters=["{!terms f=firstClassParentId}" + ",".join(batch)],
        )
    ]


IN_A_FLOW: Final = Keep("in a flow", "an operation read or wrote it", _is_end_of(f"{FLOWS} +deleted:false"))
A_LOCATION: Final = Keep(
    "a table's location",
    "the relation between a Hive table and its directory is never removed, so neither is the directory",
    _is_end_of("+type:LOGICAL_PHYSICAL +deleted:false +endpoint1Type:(TABLE OR VIEW)", (2,)),
)
DESCRIBED: Final = Keep("described", "a person named, described or tagged it", _described)
HAS_OUTPUT: Final = Keep("has output", "operations that produce something are never removed", _has_output)
EXECUTED_SINCE: Final = Keep("executed since", "it was executed after the date", _executed_since)
CHANGED: Final = "changed meanwhile"
"""What somebody else wrote between our reading and removing it stays, whatever the rule."""


# -- The rules -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PurgeRule:
    """One kind of thing that goes: which are looked at (a query of nav_elements), and what keeps one of them."""

    name: str
    what: str
    candidates: Query
    keeps: tuple[Keep, ...] = ()
    ours: bool = False


@dataclass(frozen=True, slots=True)
class Never:
    """A kind of thing that never goes: no rule looks at it, and ``aged`` is the query for those that are old enough; or
    it is what a rule's ``keep`` holds on to."""

    name: str
    what: str
    aged: Query | None = None
    keep: Keep | None = None


PURGE_RULES: Final[tuple[PurgeRule, ...]] = (
    # Those that look at flows stand before the one that removes flows: a dry run then tells exactly what would go.
    PurgeRule(
        "directories",
        "PARENT_CHILD between a directory that has been flagged deleted for longer and what it contained; and the"
        " directory",
        lambda before_ms: f"+type:DIRECTORY {deleted_before(before_ms)}",
        (IN_A_FLOW, A_LOCATION, DESCRIBED),
    ),
    PurgeRule(
        "files",
        "a file that has been flagged deleted for longer, with no data flow and no word of a person's",
        lambda before_ms: f"+type:FILE {deleted_before(before_ms)}",
        (IN_A_FLOW, A_LOCATION, DESCRIBED),
        ours=True,
    ),
    PurgeRule(
        "executions",
        "INSTANCE_OF between an operation and an execution that was executed earlier; and the execution. The operation"
        " keeps when it was last executed, by whom, and how many such executions there were",
        executed_before,
    ),
    PurgeRule(
        "operations",
        "the data flow of an operation without output, all of whose executions were earlier; and the operation with its"
        " sub-operations",
        lambda before_ms: f"+type:OPERATION +asOf:[* TO {before_ms}}}",
        (HAS_OUTPUT, EXECUTED_SINCE),
    ),
)
"""In the order in which they run."""

NEVER: Final[tuple[Never, ...]] = (
    Never(
        "tables",
        "Hive's databases, tables, views, partitions and columns, however long they have been flagged deleted",
        aged=lambda before_ms: (
            f"+type:(DATABASE OR TABLE OR VIEW OR PARTITION OR FIELD) {deleted_before(before_ms)}"
        ),
    ),
    Never("producing operations", "the operations that produce them, or anything else", keep=HAS_OUTPUT),
    Never("locations", "LOGICAL_PHYSICAL between a Hive table and its directory", keep=A_LOCATION),
)
