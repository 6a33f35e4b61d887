"""Parse the configuration of one job of a Pig script: the job's inputs and outputs, and its place in the script.

Pig lists paths in ``pig.input.dirs``, ``pig.map.output.dirs`` and ``pig.reduce.output.dirs``. The properties that list
the paths of other MapReduce jobs contain only the last of several paths, or a temporary directory, so they are never
read. A name that may be a Hive table is looked up in the serialised plan, which contains the function that reads or
writes it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final

from extractors.yarn.configuration import MAX_PATHS, ConfigurationGap, Paths, path_of, split_paths
from extractors.yarn.pig_plans import PlannedEnd, loads, script, stores
from extractors.yarn.pig_text import without_secrets
from navlin.model.keys import split_location
from navlin.model.redaction import bounded, redact, without_credentials
from navlin.model.redaction.literals import (
    masks_literals,
    name_in_state,
    name_without_literals,
    without_literals,
)
from navlin.model.source import metastores_named

SCRIPT_ID, WORKFLOW_ID, SIGNATURE = "pig.script.id", "mapreduce.workflow.id", "pig.logical.plan.signature"
SUBMITTED, INFORMED = "pig.script.submitted.timestamp", "pig.script.info.enabled"
NEXT: Final = "mapreduce.workflow.adjacency."
"""Prefix of a property for a node of the script. Its value lists the following nodes, even those that never ran."""
READ: Final = frozenset(
    f"{SCRIPT_ID} {WORKFLOW_ID} {SIGNATURE} {SUBMITTED} {INFORMED}"
    " pig.version pig.script pig.temp.dir pig.alias pig.job.feature"
    " pig.input.dirs pig.map.output.dirs pig.reduce.output.dirs"
    " pig.loads pig.inputs pig.map.stores pig.reduce.stores pig.streaming.task.output.dir"
    " mapreduce.workflow.name mapreduce.workflow.node.name mapreduce.job.name"
    " mapreduce.job.working.dir mapred.working.dir fs.defaultFS fs.default.name"
    " mapreduce.job.inputformat.class mapreduce.inputformat.class"
    " hive.metastore.uris hcat.metastore.uri oozie.job.id oozie.action.id".split()
)
_OF_RUN: Final = "pig_"
_OWN_FORMATS: Final = "org.apache.pig."

ALONE: Final = "@"
"""Result of `run_of` for a job that cannot be joined with others, so that it is a run by itself."""

MAX_NODES: Final = 1_000
MAX_LIST_CHARS: Final = 1 << 20
MAX_PATH_CHARS: Final = 8_000
"""Maximum length of a path in HDFS."""
MAX_WORD_CHARS: Final = 300

_HIVE_TABLES: Final = frozenset({"hcatloader", "hcatstorer"})
_NO_DIRECTORIES: Final = frozenset(
    "hbasestorage accumulostorage cassandrastorage cqlstorage cqlnativestorage mongoloader mongostorage"
    " mongoinsertstorage mongoupdatestorage esstorage dbstorage phoenixhbaseloader phoenixhbasestorage".split()
)
"""Functions that read or write data outside directories, whatever name the script gives them."""
_NO_FILE_SYSTEMS: Final = frozenset(
    "HBASE ACCUMULO CASSANDRA CQL MONGODB JDBC KAFKA PHOENIX KUDU ES SOLR REDIS".split()
)


class Unknown(StrEnum):
    """Reasons why the operation of a script is incomplete, in addition to those for all jobs."""

    INFORMATION = "pig.script.info.enabled is false, so its jobs do not name what they read and write"
    PATHS = "a job of its script does not name what it reads and writes"
    NAME = "a name in its script may be a Hive table or a relative path"
    LONG = "its script names a path that is longer than a path can be"


@dataclass(frozen=True, slots=True)
class PigJob:
    """The parsed configuration of one job. All values are JSON.

    ``script`` is the script's path, or "" if it has none. ``digest`` is the hash of the script's text or, if there is
    no text, of a job name that contains literals. ``text`` and ``job_name`` are without literals if the estate masks
    them. ``read`` and ``written`` are lists of [path as written, URI, whether the URI is inferred], ``read_tables`` and
    ``written_tables`` of [database, table], ``read_temporary`` and ``written_temporary`` of the paths of temporary
    files. ``stores`` describe the stores whose plan could be decoded. ``node`` is the job's place in the script, and
    ``next`` maps a node to the following ones. ``missing`` are reasons why the operation is incomplete.
    """

    script: str = ""
    text: str = ""
    digest: str = ""
    signature: str = ""
    job_name: str = ""
    version: str = ""
    submitted_ms: int = 0
    aliases: str = ""
    feature: str = ""
    node: str = ""
    next: dict[str, list[str]] = field(default_factory=dict)
    read: list[list[Any]] = field(default_factory=list)
    written: list[list[Any]] = field(default_factory=list)
    read_tables: list[list[str]] = field(default_factory=list)
    written_tables: list[list[str]] = field(default_factory=list)
    read_temporary: list[str] = field(default_factory=list)
    written_temporary: list[str] = field(default_factory=list)
    stores: list[dict[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    default_fs: str = ""
    metastores: list[str] = field(default_factory=list)
    oozie_job: str = ""
    oozie_action: str = ""


def is_read(name: str) -> bool:
    """Whether a property is read by `run_of` or `to_pig_job`."""
    return name in READ or name.startswith(NEXT)


def run_of(properties: Mapping[str, str]) -> str:
    """Return the id of the script's run; "" if Pig did not submit the job, `ALONE` if the configuration does not
    identify the run.

    If there is no script id, jobs belong to the same run if they have the same signature and time of submission or, if
    one of these is unknown, the same temporary directory.
    """
    workflow = properties.get(WORKFLOW_ID, "")
    named = properties.get(SCRIPT_ID) or (
        workflow.removeprefix(_OF_RUN) if workflow.startswith(_OF_RUN) else ""
    )
    if named:
        return _word(named)
    formats = (properties.get(f"mapreduce.{name}.class", "") for name in ("job.inputformat", "inputformat"))
    if SIGNATURE not in properties and not any(name.startswith(_OWN_FORMATS) for name in formats):
        return ""
    temporary = _Temporary.of(properties).root_of(properties.get("pig.streaming.task.output.dir", ""))
    signature, submitted = (properties.get(name, "") for name in (SIGNATURE, SUBMITTED))
    joined = submitted if signature and submitted else temporary
    return _word(f"{signature}@{joined}") if joined else ALONE


def told(properties: Mapping[str, str]) -> dict[str, Any]:
    return asdict(to_pig_job(properties))


def to_pig_job(properties: Mapping[str, str]) -> PigJob:
    """Parse the properties of a job for which `run_of` is not empty."""
    get = properties.get
    ends = _Ends(properties)
    lists = ("pig.input.dirs", "pig.map.output.dirs", "pig.reduce.output.dirs")
    if not any(get(name) for name in lists):
        unnamed = get(INFORMED, "").lower() == "false" or SCRIPT_ID not in properties
        ends.missing.add(Unknown.INFORMATION if unnamed else Unknown.PATHS)
    ends.take_reads(get("pig.input.dirs", ""), get("pig.loads") or get("pig.inputs") or "")
    for phase in ("map", "reduce"):
        ends.take_writes(get(f"pig.{phase}.output.dirs", ""), get(f"pig.{phase}.stores", ""))
    name, text = get("mapreduce.workflow.name", ""), without_secrets(script(get("pig.script", "")))
    job = bounded(redact(get("mapreduce.job.name", "")), 2_000)
    return PigJob(
        script="" if name == "default" else bounded(redact(without_credentials(name)), 2_000),
        text=without_literals(text, escapes=True) if masks_literals() else text,
        digest=_digest(text or (job if name_without_literals(job) != job else "")),
        signature=_word(get(SIGNATURE, "")),
        job_name=name_in_state(job),
        version=_word(get("pig.version", "")),
        submitted_ms=_number(get(SUBMITTED, "")),
        aliases=bounded(get("pig.alias", ""), 2_000),
        feature=_word(get("pig.job.feature", "")),
        node=_word(get("mapreduce.workflow.node.name", "")),
        next=_next(properties),
        read=ends.read,
        written=ends.written,
        read_tables=ends.read_tables,
        written_tables=ends.written_tables,
        read_temporary=ends.read_temporary,
        written_temporary=ends.written_temporary,
        stores=ends.stores,
        missing=sorted(map(str, ends.missing | ends.paths.missing)),
        default_fs=ends.default_fs,
        metastores=[_word(without_credentials(each)) for each in ends.metastores],
        oozie_job=_word(get("oozie.job.id", "")),
        oozie_action=_word(get("oozie.action.id", "").partition("@")[2]),
    )


class _Temporary:
    """Recognizes Pig's temporary files: those in ``pig.temp.dir``, in a directory named ``temp`` and a number."""

    def __init__(self, directory: str) -> None:
        root = path_of(without_credentials(directory)).rstrip("/")
        self._root = re.compile(rf"{re.escape(root)}/temp-?\d+(?=/|\Z)")

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> _Temporary:
        return cls(properties.get("pig.temp.dir") or "/tmp")

    def root_of(self, uri: str) -> str:
        """Return the run's temporary directory that contains a file; "" if the file is not a temporary one."""
        found = self._root.match(path_of(uri)) if uri else None
        return found[0] if found else ""


class _Ends:
    """Collects the inputs and outputs of one job."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        get = properties.get
        self.default_fs = without_credentials(get("fs.defaultFS") or get("fs.default.name") or "")
        self.metastores = metastores_named(get("hive.metastore.uris") or get("hcat.metastore.uri") or "")
        self._temporary = _Temporary.of(properties)
        working = get("mapreduce.job.working.dir") or get("mapred.working.dir") or ""
        self.paths = Paths(without_credentials(working), ())
        self.missing: set[Unknown | ConfigurationGap] = set()
        self.read: list[list[Any]] = []
        self.written: list[list[Any]] = []
        self.read_tables: list[list[str]] = []
        self.written_tables: list[list[str]] = []
        self.read_temporary: list[str] = []
        self.written_temporary: list[str] = []
        self.stores: list[dict[str, str]] = []

    def take_reads(self, listed: str, plan: str) -> None:
        """Take the names in ``pig.input.dirs``. The ``plan`` is decoded only if a name is not certainly a path."""
        names = self._names(listed)
        planned = loads(plan) or () if plan and not all(map(_is_path, names)) else ()
        functions = {name: each.function for each in planned for name in (*split_paths(each.name), each.name)}
        for name in dict.fromkeys(names):
            if self._temporary.root_of(name):
                self.read_temporary.append(path_of(name))
            else:
                self._take(
                    name,
                    functions.get(name, ""),
                    self.read,
                    self.read_tables,
                    ConfigurationGap.READ,
                    literal=False,
                )

    def take_writes(self, listed: str, plan: str) -> None:
        """Take the names in ``pig.map.output.dirs`` or ``pig.reduce.output.dirs``, and the stores in the plan."""
        planned = stores(plan) if plan else None
        names = self._names(listed)
        if planned is not None and len(planned) != len(names) and listed:
            # A store's name contains a comma.
            names = [each.name for each in planned]
        of_plan = (
            planned if planned is not None and len(planned) == len(names) else [PlannedEnd("")] * len(names)
        )
        for name, store in zip(names, of_plan, strict=True):
            if store.temporary or self._temporary.root_of(name):
                self.written_temporary.append(path_of(name))
                continue
            self._take(
                name,
                store.function,
                self.written,
                self.written_tables,
                ConfigurationGap.WRITTEN,
                literal=True,
            )
            if store.name:
                self.stores.append(_described(name, store))

    def _names(self, listed: str) -> list[str]:
        if len(listed) > MAX_LIST_CHARS:
            self.missing.add(ConfigurationGap.TOO_MANY)
            listed = listed[: listed.rfind(",", 0, MAX_LIST_CHARS) + 1]
        names = split_paths(listed)
        if len(names) > MAX_PATHS:
            self.missing.add(ConfigurationGap.TOO_MANY)
        return names[:MAX_PATHS]

    def _take(
        self,
        name: str,
        function: str,
        paths: list[list[Any]],
        tables: list[list[str]],
        no_directory: ConfigurationGap,
        *,
        literal: bool,
    ) -> None:
        if len(name) > MAX_PATH_CHARS:
            self.missing.add(Unknown.LONG)
        elif _simple(function) in _HIVE_TABLES:
            database, _, table = name.strip().rpartition(".")
            tables.append([database or "default", table])
        elif _simple(function) in _NO_DIRECTORIES or split_location(name)[0] in _NO_FILE_SYSTEMS:
            self.missing.add(no_directory)
        elif not function and not _is_path(name) and "/" not in name:
            self.missing.add(Unknown.NAME)
        elif place := self.paths.place(name, literal=literal):
            paths.append([redact(place.text), place.uri, place.inferred])


def _is_path(name: str) -> bool:
    """Whether a name is certainly a path: an absolute one, or a URI."""
    return name.startswith("/") or re.match(r"[a-zA-Z][\w+.-]*:/", name) is not None


def _described(name: str, store: PlannedEnd) -> dict[str, str]:
    columns = ", ".join(f"{column} {kind}".strip() for column, kind in store.columns)
    shown = {
        "name": bounded(redact(without_credentials(name)), 2_000),
        "function": _word(store.function),
        "alias": _word(store.alias),
        "columns": bounded(columns, 20_000),
    }
    return {key: value for key, value in shown.items() if value}


def _simple(function: str) -> str:
    return re.split(r"[.$]", function)[-1].lower()


def _next(properties: Mapping[str, str]) -> dict[str, list[str]]:
    """Return node → following nodes; {} if there are none, or too many."""
    found = {
        _word(name.removeprefix(NEXT)): [
            _word(each.strip()) for each in value.split(",", MAX_NODES) if each.strip()
        ]
        for name, value in properties.items()
        if name.startswith(NEXT)
    }
    return found if sum(map(len, found.values())) <= MAX_NODES else {}


def _word(text: str) -> str:
    return bounded(redact(text), MAX_WORD_CHARS)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() if text else ""


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"\d{1,18}", text) else 0
