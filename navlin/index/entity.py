"""An entity as the index holds it. The names of its fields are known here and nowhere outside of `navlin.index`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from navlin.index.fields import (
    ELEMENTS,
    INHERITED_TAG,
    USER_FIELDS,
    USER_PREFIXES,
    date_ms,
    is_user_field,
    solr_date,
)
from navlin.index.stored_form import whole
from navlin.model.keys import EntityType

OPERATION_TYPES: Final = frozenset(
    {EntityType.OPERATION.value, EntityType.SUB_OPERATION.value, EntityType.OPERATION_EXECUTION.value}
)
PATH_TYPES: Final = frozenset({"FILE", "DIRECTORY", "S3BUCKET"})
TABLE_TYPES: Final = frozenset({"TABLE", "VIEW"})

NO_DIGEST: Final = -1
"""The digest of what is no longer as its source had it."""
REPORTED: Final = "openlineage_execution"
"""The internal type of executions that are reported beside what an engine records itself."""

CONDITIONS: Final = ("tp_filters", "tp_joins", "tp_groupedBy", "tp_formatsRead", "tp_formatsWritten")
"""What a job's plan says of its rows and files."""
_FORMAT: Final = re.compile(
    r"(parquet|orc(?=\.)|avro|json|csv|kudu|hbase|jdbc|iceberg|rcfile|sequencefile|text(?=input))",
    re.IGNORECASE,
)

# -- Which fields are asked for ------------------------------------------------------------------------------------------

_CORE: Final = (
    "identity,type,sourceType,sourceId,originalName,parentPath,fileSystemPath,firstClassParentId,deleted,granted"
    ",partitionColNames"
)
CORE: Final = _CORE
"""What a diagram needs: which entity it is, its name and its parent."""
ID: Final = "identity"
VERSION: Final = "identity,_version_"
_USER: Final = ",".join((*sorted(USER_FIELDS), *(f"{prefix}*" for prefix in USER_PREFIXES)))
PURGE: Final = f"{_CORE},_version_,ended,started,asOf,principal,{_USER}"
"""What purge looks at: age, people's fields, and the version that must not have changed."""
LAST_READ: Final = f"{_CORE},lastRead,lastReadBy,lastReadBelow"
EXECUTION_LISTED: Final = "identity,originalName,started,ended,principal,status,engineType"
EXECUTED: Final = f"{_CORE},started,ended,jobId,internalType,operationType,asOf"
LAST_RUN: Final = f"{_CORE},lastExecuted,lastPrincipal,purgedExecutions"
OWNED: Final = f"{LAST_RUN},owner"
STATEMENT: Final = (
    f"{LAST_RUN},{','.join(CONDITIONS)},queryText,queryTextFull,incomplete,incompleteReasons,unparsedReason"
)
TABLE_AGE: Final = f"{_CORE},owner,created,firstSeen,recreated,tableType"
WORDS: Final = f"{_CORE},firstSeen,{_USER}"
CHANGING: Final = f"{_CORE},operationType,outputs"
LAST_EXECUTION: Final = "identity,started,principal"
VIEW: Final = f"{_CORE},queryText,queryTextFull,params,unparsedReason"
PART: Final = f"{_CORE},tp_expression"
COLUMN: Final = f"{_CORE},asOf,tp_columnIndex"
NODE: Final = f"{_CORE},tp_columnIndex"
"""What a picture with columns needs."""
WHOLE: Final = "*"


@dataclass(frozen=True, slots=True)
class LastRun:
    """What purge leaves on an operation: how many executions it removed, when the last of them ran (epoch ms, 0 for
    unknown) and who ran it."""

    count: int = 0
    last_ms: int = 0
    principal: str = ""


class LastRead(NamedTuple):
    """What purge leaves on a table or path of the reads that it removed: when the last of them was (epoch ms; 0: there was
    none) and by whom, and when something below a path was last read that the index has no more."""

    ms: int = 0
    principal: str = ""
    below_ms: int = 0

    def or_later(self, other: LastRead) -> LastRead:
        """Of two, what is later."""
        later = other if other.ms > self.ms else self
        return LastRead(later.ms, later.principal, max(self.below_ms, other.below_ms))


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """An entity of the index. What was not asked for has its default.

    ``name`` is what a person calls it (`readable_name`), ``own_name`` its name without its parents' (empty if only a
    relation names the entity), ``parent_id`` the table of a column or partition, the operation of a sub-operation.
    ``version`` is the ``_version_`` that a change must still find.
    """

    id: str
    name: str
    type: str
    source_type: str = ""
    source_id: str = ""
    deleted: bool = False
    granted: bool = False
    parent_id: str = ""
    own_name: str = ""
    as_of_ms: int = 0
    version: int = 0
    document: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The fields as they were read. For `navlin.index` alone."""

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> StoredEntity:
        """The entity of a document."""
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
        """Whether it is a path, or a column of the data at a path: what may stand for a table, or a table's column."""
        return self.type in PATH_TYPES or (self.type == "FIELD" and self.name.startswith("/"))

    @property
    def partitioned(self) -> bool:
        """Whether it is a table with partitions."""
        return bool(self.document.get("partitionColNames"))

    @property
    def parent_path(self) -> str:
        """Its parents' names, ``/db/table``; empty if it has none."""
        return str(self.document.get("parentPath", ""))

    @property
    def path(self) -> str:
        """The path of a file or directory."""
        return str(self.document.get("fileSystemPath", ""))

    @property
    def owner(self) -> str:
        """Who owns a table, view, file or directory, as its source says."""
        return str(self.document.get("owner", ""))

    @property
    def born_ms(self) -> int:
        """Since when it is what it is, as far as anybody knows (epoch ms; 0: not known): when it was created, created again
        after it had been dropped, or first seen, whichever is latest."""
        return max(self.created_ms, self.first_seen_ms, *self.recreated_ms, 0)

    @property
    def created_ms(self) -> int:
        """When its source says that it was created, epoch ms; 0 if that is not known."""
        return self._date_ms("created")

    @property
    def recreated_ms(self) -> tuple[int, ...]:
        """When it was created again after it had been dropped, epoch ms."""
        recreated = self.document.get("recreated", ())
        return tuple(map(date_ms, [recreated] if isinstance(recreated, str) else recreated))

    @property
    def deleted_ms(self) -> int:
        """When it was flagged deleted, epoch ms; 0 if it is not, or nobody knows."""
        return int(self.document.get("deleteTime", 0)) if self.deleted else 0

    @property
    def database(self) -> str:
        """The database of a table or view."""
        return self.parent_path.strip("/").partition("/")[0]

    @property
    def words(self) -> Mapping[str, Any]:
        """People's fields."""
        return {name: value for name, value in self.document.items() if is_user_field(name)}

    @property
    def tags(self) -> tuple[str, ...]:
        """The tags that people, or its source, gave it."""
        return tuple(map(str, self.document.get("tags", ())))

    @property
    def inherited_tags(self) -> tuple[str, ...]:
        """The tags of what its data comes from."""
        return tuple(map(str, self.document.get(INHERITED_TAG, ())))

    @property
    def first_seen_ms(self) -> int:
        """Since when it is in the index, epoch ms; 0 if that is not known."""
        return self._date_ms("firstSeen")

    @property
    def described(self) -> bool:
        """Whether a person named, described or tagged it, or gave it a property."""
        return any(is_user_field(name) and value for name, value in self.document.items())

    @property
    def as_indexed(self) -> Mapping[str, Any]:
        """The fields that were read, as the index names them: for programs, and for people who look at all of them."""
        return self.document

    @property
    def as_presented(self) -> Mapping[str, Any]:
        """All fields of an entity that was read whole, with those that follow from others and are not stored."""
        return whole(ELEMENTS, self.document)

    @property
    def query_text(self) -> str:
        """The text of a statement, as it is indexed."""
        return str(self.document.get("queryText", ""))

    # -- Executions and operations ---------------------------------------------------------------------------------------

    @property
    def started_ms(self) -> int:
        """When an execution started (epoch ms; 0 if that is not known)."""
        return self._date_ms("started")

    @property
    def ended_ms(self) -> int:
        """When an execution ended (epoch ms; 0 if that is not known)."""
        return self._date_ms("ended")

    @property
    def application(self) -> str:
        """The id of the application that an execution was a part of, as its engine has it."""
        return str(self.document.get("jobId", ""))

    @property
    def operation_type(self) -> str:
        """What kind of statement or job it is, in its engine's words."""
        return str(self.document.get("operationType", ""))

    @property
    def file_format(self) -> str:
        """The format of a table's files: its provider's name for Spark, else what its classes in Hive are called; "" if none
        of them tells, and for all but tables."""
        if self.type != "TABLE":
            return ""
        provider = self.parameters.get("spark.sql.sources.provider") or self.document.get("fileFormat")
        if provider:
            return str(provider).lower()
        classes = f"{self.document.get('serDeLibName', '')} {self.document.get('inputFormat', '')}"
        found = _FORMAT.search(classes)
        return found[1].lower() if found else ""

    @property
    def conditions(self) -> Mapping[str, tuple[str, ...]]:
        """What chooses, joins and groups the rows of a job, and the formats of the files that it reads and writes, as its
        engine's plan has them: the index's name of the field → texts."""
        named = {name: self.document.get(name, ()) for name in CONDITIONS}
        return {name: tuple(map(str, texts)) for name, texts in named.items() if texts}

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what a statement writes, creates or changes, in its engine's words."""
        return tuple(map(str, self.document.get("outputs", ())))

    @property
    def reported(self) -> bool:
        """Whether somebody beside its engine told of an execution."""
        return self.document.get("internalType") == REPORTED

    @property
    def executed_ms(self) -> int:
        """When an execution ended; else when it started; else the time of its record."""
        return self._date_ms("ended") or self._date_ms("started") or self.as_of_ms

    @property
    def principal(self) -> str:
        """Who ran an execution."""
        return str(self.document.get("principal", ""))

    @property
    def last_run(self) -> LastRun:
        """What purge left on an operation."""
        get = self.document.get
        return LastRun(
            int(get("purgedExecutions", 0)), self._date_ms("lastExecuted"), str(get("lastPrincipal", ""))
        )

    def with_last_run(self, last: LastRun, run_id: str) -> StoredEntity | None:
        """The operation with this left on it, stamped by a run; None if it is so already."""
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

    def with_doubt(self, reason: str, run_id: str) -> StoredEntity | None:
        """The operation with one more reason why not all of it is certain; None if it has that one. Its record will be
        written when it is read again, whatever that says."""
        reasons = self.document.get("incompleteReasons", [])
        if reason in reasons:
            return None
        return self._changed(
            {"incompleteReasons": [*reasons, reason], "digest": NO_DIGEST, "extractorRunId": run_id}
        )

    @property
    def last_read(self) -> LastRead:
        """What purge left on a table or path."""
        below_ms = self._date_ms("lastReadBelow")
        return LastRead(self._date_ms("lastRead"), str(self.document.get("lastReadBy", "")), below_ms)

    def with_last_read(self, read: LastRead) -> StoredEntity | None:
        """The table or path with what is later, this or what is left on it; None if it is so already."""
        # It bears no stamp of the purge: the linker of a run that wrote it just now has yet to see that run's.
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
        """The SQL text of a view or an operation, as long as the index keeps it."""
        return str(self.document.get("queryTextFull") or self.document.get("queryText", ""))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of a table or view; none if their text was cut, because it is longer than the index keeps."""
        try:
            parameters = json.loads(self.document.get("params") or "{}")
        except ValueError:
            return {}
        return parameters if isinstance(parameters, dict) else {}

    @property
    def expression(self) -> str:
        """What a part of an operation computes, in the engine's own words."""
        return str(next(iter(self.document.get("tp_expression", ())), ""))

    @property
    def unparsed_reason(self) -> str:
        """Why the linker got no lineage, or not all, from a view's text."""
        return str(self.document.get("unparsedReason", ""))

    def with_unparsed_reason(self, reason: str) -> StoredEntity:
        """The view with this reason; "" for none."""
        return self._changed({"unparsedReason": reason or None})

    @property
    def incomplete(self) -> bool:
        """Whether some inputs, outputs or columns of an operation are not known."""
        return bool(self.document.get("incomplete"))

    @property
    def incomplete_reasons(self) -> tuple[str, ...]:
        """Why the operation is incomplete, each reason with the setting that would help."""
        return tuple(map(str, self.document.get("incompleteReasons", ())))

    @property
    def column_index(self) -> int | None:
        """Where a column stands among its table's, counted from 0; None if that is not known."""
        index = str(next(iter(self.document.get("tp_columnIndex", ())), ""))
        return int(index) if index.isdecimal() else None

    # -- Inside navlin.index ---------------------------------------------------------------------------------------------

    def _date_ms(self, name: str) -> int:
        return date_ms(self.document[name]) if name in self.document else 0

    def _changed(self, fields: Mapping[str, Any]) -> StoredEntity:
        return replace(self, document=changed(self.document, fields))


def changed(document: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """A document with these fields in place of what it had; None takes a field away."""
    merged = {**document, **fields}
    return {name: value for name, value in merged.items() if value is not None}


def readable_name(document: Mapping[str, Any]) -> str:
    """What a person calls an entity: ``db.table.column``, a path, ``/path.column``, an operation's name on one line."""
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
