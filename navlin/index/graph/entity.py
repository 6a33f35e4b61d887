"""Entities as stored in the index. Code outside `navlin.index` does not use the names of stored fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from navlin.index.schema.fields import (
    ELEMENTS,
    INHERITED_TAG,
    SOURCE_ANNOTATIONS,
    USER_FIELDS,
    USER_PREFIXES,
    date_ms,
    is_user_field,
    solr_date,
)
from navlin.index.schema.stored_form import whole
from navlin.model.keys import EntityType

OPERATION_TYPES: Final = frozenset(
    {EntityType.OPERATION.value, EntityType.SUB_OPERATION.value, EntityType.OPERATION_EXECUTION.value}
)
PATH_TYPES: Final = frozenset({"FILE", "DIRECTORY", "S3BUCKET"})
TABLE_TYPES: Final = frozenset({"TABLE", "VIEW"})

NO_DIGEST: Final = -1
"""The digest of a document that no longer matches its source's record."""
REPORTED: Final = "openlineage_execution"
"""The internal type of executions that are reported in addition to an engine's own record."""

CONDITIONS: Final = ("tp_filters", "tp_joins", "tp_groupedBy", "tp_formatsRead", "tp_formatsWritten")
"""The fields with the conditions and file formats from a job's plan."""

# -- Field lists ---------------------------------------------------------------------------------------------------------

_CORE: Final = (
    "identity,type,sourceType,sourceId,originalName,parentPath,fileSystemPath,firstClassParentId,deleted,granted"
    ",partitionColNames"
)
CORE: Final = _CORE
"""The fields that a diagram needs: identity, name and parent."""
ID: Final = "identity"
VERSION: Final = "identity,_version_"
_USER: Final = ",".join((*sorted(USER_FIELDS), *(f"{prefix}*" for prefix in USER_PREFIXES)))
PURGE: Final = f"{_CORE},_version_,ended,started,asOf,principal,{_USER}"
"""The fields that purge needs: age, user fields, and the version that must not have changed."""
LAST_READ: Final = f"{_CORE},lastRead,lastReadBy,lastReadBelow"
EXECUTION_LISTED: Final = "identity,originalName,started,ended,principal,status,engineType"
EXECUTED: Final = f"{_CORE},started,ended,jobId,internalType,operationType,asOf"
LAST_RUN: Final = f"{_CORE},lastExecuted,lastPrincipal,purgedExecutions"
OWNED: Final = f"{LAST_RUN},owner"
LISTED: Final = f"{OWNED},engineType,queryText,tags,{INHERITED_TAG}"
"""The fields of a row in a table of lineage: those of `OWNED`, the tags, and a statement's engine and text."""
STATEMENT: Final = (
    f"{LAST_RUN},{','.join(CONDITIONS)},queryText,queryTextFull,incomplete,incompleteReasons,unparsedReason"
)
TABLE_AGE: Final = f"{_CORE},owner,created,firstSeen,recreated,tableType"
FLOW_END: Final = f"{TABLE_AGE},tp_temporary"
"""The fields of a dataset that an export needs at the end of a flow."""
ANNOTATED: Final = f"{_CORE},firstSeen,{_USER}"
CHANGING: Final = f"{_CORE},operationType,outputs"
LAST_EXECUTION: Final = "identity,started,principal"
VIEW: Final = f"{_CORE},queryText,queryTextFull,params,unparsedReason"
PART: Final = f"{_CORE},tp_expression"
COLUMN: Final = f"{_CORE},asOf,tp_columnIndex"
NODE: Final = f"{_CORE},tp_columnIndex"
"""The fields that a diagram with columns needs."""
WHOLE: Final = "*"


@dataclass(frozen=True, slots=True)
class PurgedExecutions:
    """Summary that purge leaves on an operation: the number of executions removed, and the time (epoch ms, 0 for
    unknown) and user of the last one."""

    count: int = 0
    last_ms: int = 0
    principal: str = ""


class LastRead(NamedTuple):
    """Summary of the reads that purge removed, kept on the table or path: time (epoch ms; 0: none) and user of the last
    read, and the time of the last read of removed entities below a path."""

    ms: int = 0
    principal: str = ""
    below_ms: int = 0

    def or_later(self, other: LastRead) -> LastRead:
        """Return the later read (time and user), with the later of the two ``below_ms``."""
        later = other if other.ms > self.ms else self
        return LastRead(later.ms, later.principal, max(self.below_ms, other.below_ms))


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """An entity of the index. Fields that were not requested have their defaults.

    ``name`` is the readable name (`readable_name`), ``own_name`` the name without the parents' names (empty if only a
    relation names the entity), ``parent_id`` the id of a column's or partition's table, or of a sub-operation's
    operation. ``version`` is the ``_version_`` that must be unchanged when a change is written.
    """

    id: str
    name: str
    type: str
    source_type: str = ""
    source_id: str = ""
    deleted: bool = False
    placeholder: bool = False
    parent_id: str = ""
    own_name: str = ""
    as_of_ms: int = 0
    version: int = 0
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The fields as read. Only for `navlin.index`."""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> StoredEntity:
        get = document.get
        return cls(
            document["identity"],
            readable_name(document),
            get("type", ""),
            get("sourceType", ""),
            get("sourceId", ""),
            bool(get("deleted")),
            bool(get("granted")),
            get("firstClassParentId", ""),
            str(get("originalName", "")),
            int(get("asOf", 0)),
            int(get("_version_", 0)),
            document,
        )

    @property
    def physical(self) -> bool:
        """Whether the entity is a path, or a column of the data at a path, which may represent a table or a table's
        column."""
        return self.type in PATH_TYPES or (self.type == "FIELD" and self.name.startswith("/"))

    @property
    def partitioned(self) -> bool:
        """Whether the entity is a table with partition keys."""
        return bool(self.document.get("partitionColNames"))

    @property
    def parent_path(self) -> str:
        """The names of the entity's parents, ``/db/table``; empty if it has none."""
        return str(self.document.get("parentPath", ""))

    @property
    def path(self) -> str:
        """The path of a file or directory."""
        return str(self.document.get("fileSystemPath", ""))

    @property
    def owner(self) -> str:
        """The owner of a table, view, file or directory, according to the entity's source."""
        return str(self.document.get("owner", ""))

    @property
    def comment(self) -> str:
        """The description of a table, column or database, according to the entity's source."""
        return first_text(self.document.get("originalDescription"))

    @property
    def born_ms(self) -> int:
        """The latest of the times at which the entity was created, recreated after a drop, or first seen (epoch ms; 0:
        unknown)."""
        return max(self.created_ms, self.first_seen_ms, *self.recreated_ms, 0)

    @property
    def created_ms(self) -> int:
        """Creation time according to the entity's source, epoch ms; 0 if unknown."""
        return self.time_ms("created")

    @property
    def recreated_ms(self) -> tuple[int, ...]:
        """Times at which the entity was recreated after a drop, epoch ms."""
        recreated = self.document.get("recreated", ())
        return tuple(map(date_ms, [recreated] if isinstance(recreated, str) else recreated))

    @property
    def deleted_ms(self) -> int:
        """Time at which the entity was flagged deleted, epoch ms; 0 if the entity is not deleted, or if the time is
        unknown."""
        return int(self.document.get("deleteTime", 0)) if self.deleted else 0

    @property
    def database(self) -> str:
        """The database of a table or view."""
        return self.parent_path.strip("/").partition("/")[0]

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The user fields: name → value."""
        return {name: value for name, value in self.document.items() if is_user_field(name)}

    @property
    def of_source(self) -> frozenset[str]:
        """The names of the user fields whose values came from the entity's source."""
        return frozenset(self.document.get(SOURCE_ANNOTATIONS, ()))

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags from users or from the entity's source."""
        return tuple(map(str, self.document.get("tags", ())))

    @property
    def inherited_tags(self) -> tuple[str, ...]:
        """The tags inherited from upstream data."""
        return tuple(map(str, self.document.get(INHERITED_TAG, ())))

    @property
    def first_seen_ms(self) -> int:
        """Time at which the entity first appeared in the index, epoch ms; 0 if unknown."""
        return self.time_ms("firstSeen")

    @property
    def described(self) -> bool:
        """Whether any user field has a value: a name, description, tag or property."""
        return any(is_user_field(name) and value for name, value in self.document.items())

    @property
    def as_indexed(self) -> Mapping[str, Any]:
        """The fields that were read, under their index names, for programs and for users who view the raw fields."""
        return self.document

    @property
    def as_presented(self) -> Mapping[str, Any]:
        """All fields of an entity that was read whole, including derived ones that are not stored."""
        return whole(ELEMENTS, self.document)

    @property
    def query_text(self) -> str:
        """The text of a statement as indexed, cut at `INDEXED_TEXT_CHARS`."""
        return str(self.document.get("queryText", ""))

    # -- Executions and operations ---------------------------------------------------------------------------------------

    @property
    def started_ms(self) -> int:
        """Start time of an execution (epoch ms; 0 if unknown)."""
        return self.time_ms("started")

    @property
    def ended_ms(self) -> int:
        """End time of an execution (epoch ms; 0 if unknown)."""
        return self.time_ms("ended")

    @property
    def application(self) -> str:
        """The id of the application that ran an execution, as the engine reports it."""
        return str(self.document.get("jobId", ""))

    @property
    def engine(self) -> str:
        """The engine of a statement or execution, as its source states it; "" if the source states none."""
        return str(self.document.get("engineType", ""))

    @property
    def operation_type(self) -> str:
        """The type of a statement or job, as its engine names it."""
        return str(self.document.get("operationType", ""))

    @property
    def conditions(self) -> Mapping[str, tuple[str, ...]]:
        """The filters, joins and groupings of a job, and the formats of the files it reads and writes, from its
        engine's plan: index field name → texts."""
        named = {name: self.document.get(name, ()) for name in CONDITIONS}
        return {name: tuple(map(str, texts)) for name, texts in named.items() if texts}

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the objects that a statement writes, creates or changes, as its engine names them."""
        return tuple(map(str, self.document.get("outputs", ())))

    @property
    def reported(self) -> bool:
        """Whether the execution was reported in addition to its engine's own record."""
        return self.document.get("internalType") == REPORTED

    @property
    def executed_ms(self) -> int:
        """End time of an execution; else its start time; else the time of its record."""
        return self.time_ms("ended") or self.time_ms("started") or self.as_of_ms

    @property
    def principal(self) -> str:
        """The user of an execution."""
        return str(self.document.get("principal", ""))

    @property
    def status(self) -> str:
        """The status of an execution, as its engine names it."""
        return str(self.document.get("status", ""))

    @property
    def last_run(self) -> PurgedExecutions:
        """The summary that purge left on an operation."""
        get = self.document.get
        return PurgedExecutions(
            int(get("purgedExecutions", 0)), self.time_ms("lastExecuted"), str(get("lastPrincipal", ""))
        )

    def with_last_run(self, last: PurgedExecutions, run_id: str) -> StoredEntity | None:
        """Return a copy with this last run, stamped by a run; None if nothing changes."""
        if last == self.last_run:
            return None
        left: dict[str, Any] = {
            "purgedExecutions": last.count,
            "lastExecuted": solr_date(last.last_ms) if last.last_ms else None,
            "lastPrincipal": last.principal,
        }
        return self._changed(
            {**{name: value or None for name, value in left.items()}, "extractorRunId": run_id}
        )

    def with_incomplete_reason(self, reason: str, run_id: str) -> StoredEntity | None:
        """Return a copy of the operation with one more reason for incompleteness; None if it has that reason already.
        The changed digest forces a write when the operation's record is read again, even if the record is unchanged."""
        reasons = self.document.get("incompleteReasons", [])
        if reason in reasons:
            return None
        return self._changed(
            {"incompleteReasons": [*reasons, reason], "digest": NO_DIGEST, "extractorRunId": run_id}
        )

    @property
    def last_read(self) -> LastRead:
        """The summary that purge left on a table or path."""
        below_ms = self.time_ms("lastReadBelow")
        return LastRead(self.time_ms("lastRead"), str(self.document.get("lastReadBy", "")), below_ms)

    def with_last_read(self, read: LastRead) -> StoredEntity | None:
        """Return a copy of the table or path with the later of this read and the recorded one; None if nothing
        changes."""
        # Keep the stamp of the run that wrote the entity, because that run's linker may still look for it.
        later = self.last_read.or_later(read)
        if later == self.last_read:
            return None
        left = {
            "lastRead": solr_date(later.ms) if later.ms else None,
            "lastReadBy": later.principal or None,
            "lastReadBelow": solr_date(later.below_ms) if later.below_ms else None,
        }
        return self._changed(left)

    # -- Views and columns -----------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The SQL text of a view or an operation, cut at `STORED_TEXT_CHARS`."""
        return str(self.document.get("queryTextFull") or self.document.get("queryText", ""))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of a table or view; empty if their JSON was cut at the index's limit for texts."""
        return json_object(self.document.get("params"))

    @property
    def expression(self) -> str:
        """The expression that a sub-operation computes, as the engine reports it."""
        return first_text(self.document.get("tp_expression"))

    @property
    def unparsed_reason(self) -> str:
        """Reason for missing or partial lineage from a view's text; "" if none is recorded."""
        return str(self.document.get("unparsedReason", ""))

    def with_unparsed_reason(self, reason: str) -> StoredEntity:
        """Return a copy of the view with this `unparsed_reason`; "" removes the reason."""
        return self._changed({"unparsedReason": reason or None})

    @property
    def incomplete(self) -> bool:
        """Whether some inputs, outputs or columns of an operation are unknown."""
        return bool(self.document.get("incomplete"))

    @property
    def incomplete_reasons(self) -> tuple[str, ...]:
        """The reasons why the operation is incomplete, each with the setting that would help."""
        return tuple(map(str, self.document.get("incompleteReasons", ())))

    @property
    def column_index(self) -> int | None:
        """Position of a column in its table, counted from 0; None if unknown."""
        index = first_text(self.document.get("tp_columnIndex"))
        return int(index) if index.isdecimal() else None

    # -- Inside navlin.index ---------------------------------------------------------------------------------------------

    def time_ms(self, name: str) -> int:
        """Return the date in a field as epoch ms; 0 if there is none."""
        return date_ms(self.document[name]) if name in self.document else 0

    def _changed(self, fields: Mapping[str, Any]) -> StoredEntity:
        return replace(self, document=changed(self.document, fields))


def first_text(value: Any) -> str:
    """Return the value of a field, or the first of its values, as text; "" if there is none."""
    first = next(iter(value), "") if isinstance(value, list | tuple) else value
    return "" if first is None else str(first)


def json_object(text: str | None) -> dict[str, Any]:
    """Return the JSON object in a field; empty if there is none, or if the JSON was cut at the index's limit for
    texts."""
    try:
        read = json.loads(text or "{}")
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def changed(document: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with these fields replaced; None removes a field."""
    merged = {**document, **fields}
    return {name: value for name, value in merged.items() if value is not None}


def readable_name(document: Mapping[str, Any]) -> str:
    """Return the readable name of an entity: ``db.table.column``, a path, ``/path.column``, an operation's name on one
    line."""
    own = str(document.get("originalName", document["identity"]))
    kind = document.get("type")
    if kind in PATH_TYPES:
        return str(document.get("fileSystemPath", own))
    if kind == "FIELD" and "fileSystemPath" in document:
        return f"{document['fileSystemPath']}.{own}"
    if kind in OPERATION_TYPES:
        return " ".join(own[:200].split())
    above = str(document.get("parentPath", "")).strip("/").replace("/", ".")
    return f"{above}.{own}" if above else own
