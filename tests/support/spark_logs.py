"""Event logs written line by line, and a follower that plans and reads as the pipeline does."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from extractors.spark import SparkEvents
from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.plan import Positions
from navlin.model.records import Covered, Entity, Position, Record, Reject, Relation, Split
from navlin.model.source import HIVE, SPARK, Estate, Source, source_id

CLUSTER = "test"
SOURCE = Source(source_id(CLUSTER, "SPARK-1"), SPARK, "SPARK-1", CLUSTER)
METASTORE = Source(source_id(CLUSTER, "HIVE-1"), HIVE, "HIVE-1", CLUSTER, ("thrift://hms:9083",))
ESTATE = Estate(CLUSTER, (SOURCE, METASTORE))
NOW_MS = 1_000_000_000_000
"""Earlier than the modification time of any file here, so that only logs made stale by a test count as stale."""

T0 = 1_700_000_000_000
"""Start time of the applications in these logs, in epoch ms."""

_SQL = "org.apache.spark.sql.execution.ui."
FORMATTED = "== Physical Plan ==\n"


@dataclass(slots=True)
class Extracted:
    """Everything yielded so far: the newest version of each entity and relation, as in an index, and all rejects."""

    entities: dict[str, Entity] = field(default_factory=dict)
    relations: dict[tuple[str, str, str], Relation] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    covered: list[Covered] = field(default_factory=list)
    run_as: dict[str, Relation] = field(default_factory=dict)
    """Name of an execution → its relation to the YARN application."""

    def add(self, record: Record) -> None:
        match record:
            case Entity():
                before = self.entities.get(record.key.identity)
                if before is None or before.as_of_ms <= record.as_of_ms:
                    self.entities[record.key.identity] = record
            case Relation(ep1=Key(type=EntityType.OPERATION_EXECUTION)):
                self.run_as[record.ep1.name] = record
            case Relation():
                ends = (record.type.value, record.ep1.identity, record.ep2.identity)
                self.relations[ends] = record
            case Reject():
                self.rejects.append(record)
            case Covered():
                self.covered.append(record)
                self.relations = {
                    ends: each
                    for ends, each in self.relations.items()
                    if not each.tree_path.startswith(f"{record.path}/")
                }
            case _:
                pass

    @property
    def operations(self) -> list[Entity]:
        return [each for each in self.entities.values() if each.key.type is EntityType.OPERATION]

    @property
    def executions(self) -> list[Entity]:
        return [each for each in self.entities.values() if each.key.type is EntityType.OPERATION_EXECUTION]

    @property
    def flows(self) -> set[tuple[str, str, str]]:
        """Table lineage as (input, operationType, output). An operation without inputs or outputs has "-" in their
        place.
        """
        found = set()
        for operation in self.operations:
            identity = operation.key.identity
            ins = {readable(r.ep1) for r in self._flow_relations if r.ep2.identity == identity}
            outs = {readable(r.ep2) for r in self._flow_relations if r.ep1.identity == identity}
            kind = str(operation.attributes["operationType"])
            if ins or outs:
                found |= {(one, kind, other) for one in ins or {"-"} for other in outs or {"-"}}
        return found

    @property
    def _flow_relations(self) -> Iterator[Relation]:
        return (each for each in self.relations.values() if each.type is RelationType.DATA_FLOW)

    @property
    def stored(self) -> set[tuple[str, str]]:
        """(table, path of its files) for each location that an engine reports."""
        return {
            (readable(each.ep1), readable(each.ep2))
            for each in self.relations.values()
            if each.type is RelationType.LOGICAL_PHYSICAL
        }

    def lineage(self) -> dict[str, object]:
        """Operations and relations, which must be equal for all logs of the same job. Executions are left out, because
        each has its own id.
        """
        return {
            "operations": {each.key.identity: each.attributes for each in self.operations},
            "relations": {ends: each.attributes for ends, each in self.relations.items()},
        }

    def everything(self) -> dict[str, object]:
        """All results, which must be equal in whatever steps the same log is read."""
        return self.lineage() | {
            "executions": {each.key.identity: (each.as_of_ms, each.attributes) for each in self.executions},
            "rejects": sorted((each.reason, each.count) for each in self.rejects),
        }


def readable(key: Key) -> str:
    """``db.table``, or a path with its file system."""
    if key.file_system_path:
        return f"{key.source.serves[0] if key.source.serves else key.source.name}{key.file_system_path}"
    if key.parent is not None:
        return f"{key.parent.name}.{key.name}"
    return f"{key.source.type}:{key.name}"


class Follower:
    """Plans and reads a directory as the pipeline does: positions are stored as JSON, and saved after everything has
    been read.
    """

    def __init__(self, directory: Path | str, estate: Estate = ESTATE, **settings: Any) -> None:
        self.extractor = SparkEvents(SOURCE, estate, str(directory), **settings)
        self.saved: dict[str, Any] = {}
        self.extracted = Extracted()
        self.splits = 0

    def plan(self, now_ms: int = NOW_MS, *, complete: bool = False) -> tuple[Split, ...]:
        plan = self.extractor.plan(Positions(self.saved, now_ms, complete))
        self._save(plan.positions)
        return plan.splits

    def poll(self, now_ms: int = NOW_MS, *, complete: bool = False) -> Extracted:
        """Execute one run, and return everything extracted so far."""
        positions: list[Position] = []
        todo = list(self.plan(now_ms, complete=complete))
        while todo:
            self.splits += 1
            for record in self.extractor.read(todo.pop(0)):
                match record:
                    case Split():
                        todo.append(record)
                    case Position():
                        positions.append(record)
                    case _:
                        self.extracted.add(record)
        self._save(positions)
        return self.extracted

    def _save(self, positions: Iterable[Position]) -> None:
        for position in positions:
            if position.value is None:
                self.saved.pop(position.key, None)
            else:
                self.saved[position.key] = json.loads(json.dumps(position.value))


def read_once(directory: Path | str, **settings: Any) -> Extracted:
    return Follower(directory, **settings).poll()


# -- Lines of a log -----------------------------------------------------------------------------------------------


def node(name: str, text: str = "", *children: dict[str, Any], location: str = "") -> dict[str, Any]:
    """A node of a ``sparkPlanInfo``."""
    metadata = {"Location": location} if location else {}
    return {
        "nodeName": name,
        "simpleString": text or name,
        "children": list(children),
        "metadata": metadata,
        "metrics": [],
    }


def scan(table: str, columns: str = "id#1L") -> dict[str, Any]:
    """A plan node that scans the table ``db.table``."""
    return node(
        f"Scan parquet spark_catalog.{table}",
        f"FileScan parquet spark_catalog.{table}[{columns}] Batched: true",
    )


def insert(path: str, *children: dict[str, Any], table: str = "", mode: str = "Overwrite") -> dict[str, Any]:
    """A plan node that writes files to ``path``, as the table ``db.table`` if given."""
    catalog = (
        f", `spark_catalog`.`{table.replace('.', '`.`')}`, serde, InMemoryFileIndex({path})" if table else ""
    )
    text = f"Execute InsertIntoHadoopFsRelationCommand {path}, false, Parquet, [path={path}], {mode}{catalog}, [id]"
    return node("Execute InsertIntoHadoopFsRelationCommand", text, *children)


def command(name: str, arguments: str = "", logical: str = "") -> tuple[dict[str, Any], str]:
    """A command as Spark 4.x logs it: the tree has only its name, the printed plan everything else. ``logical`` adds
    further blocks to the printed plan.
    """
    names = [line.split(") ", 1)[1] for line in logical.splitlines() if line.startswith("(")]
    tree = "".join(f"         +- {each} ({number})\n" for number, each in enumerate(names, 3))
    text = (
        f"{FORMATTED}Execute {name} (1)\n   +- {name} (2)\n{tree}\n\n(1) Execute {name}\nOutput: []\n\n"
        f"(2) {name}\nArguments: {arguments}\n\n{logical}"
    )
    return node(f"Execute {name}"), text


def log_start(version: str = "4.3.0") -> dict[str, Any]:
    return {"Event": "SparkListenerLogStart", "Spark Version": version}


def environment(**properties: str) -> dict[str, Any]:
    """An event with Hadoop properties; two underscores in a name become a dot."""
    hadoop = {key.replace("__", "."): value for key, value in properties.items()}
    return {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": {}, "Hadoop Properties": hadoop}


def application(
    name: str = "nightly", app_id: str = "application_1_0001", *, attempt: str = "", user: str = "etl"
) -> dict[str, Any]:
    event = {
        "Event": "SparkListenerApplicationStart",
        "App Name": name,
        "App ID": app_id,
        "Timestamp": T0,
        "User": user,
    }
    return event | ({"App Attempt ID": attempt} if attempt else {})


def application_end(at_ms: int = T0 + 9_000) -> dict[str, Any]:
    return {"Event": "SparkListenerApplicationEnd", "Timestamp": at_ms}


def start(
    number: int,
    plan: dict[str, Any] | tuple[dict[str, Any], str],
    *,
    root: int | None = None,
    at_ms: int = 0,
    **more: Any,
) -> dict[str, Any]:
    tree, text = plan if isinstance(plan, tuple) else (plan, FORMATTED)
    event = {
        "Event": _SQL + "SparkListenerSQLExecutionStart",
        "executionId": number,
        "description": "save at Job.scala:12",
        "details": "",
        "physicalPlanDescription": text,
        "sparkPlanInfo": tree,
        "time": at_ms or T0 + 2_000 + 10 * number,
    }
    return event | ({} if root is None else {"rootExecutionId": root}) | more


def end(number: int, *, at_ms: int = 0, error: str | None = "") -> dict[str, Any]:
    """The end of an execution. ``error=None`` gives the event of releases before 3.4, which does not report success or
    failure.
    """
    event = {
        "Event": _SQL + "SparkListenerSQLExecutionEnd",
        "executionId": number,
        "time": at_ms or T0 + 2_005 + 10 * number,
    }
    return event | ({} if error is None else {"errorMessage": error})


def job_start(job: int, execution: int, *, group: str = "") -> dict[str, Any]:
    properties = {"spark.sql.execution.id": str(execution)} | ({"spark.jobGroup.id": group} if group else {})
    stage = {"Stage Name": 'a "spark.sql.execution.id":"77" name'}
    return {"Event": "SparkListenerJobStart", "Job ID": job, "Stage Infos": [stage], "Properties": properties}


def job_end(job: int, *, failed: bool = False) -> dict[str, Any]:
    result = {"Result": "JobFailed", "Exception": {"Message": "x"}} if failed else {"Result": "JobSucceeded"}
    return {"Event": "SparkListenerJobEnd", "Job ID": job, "Completion Time": 1, "Job Result": result}


def lines(*log_events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in log_events)


def write_log(directory: Path, *log_events: dict[str, Any], name: str = "application_1_0001") -> Path:
    """Write the log of a finished application as a single file, and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_bytes(lines(*log_events))
    return path


def extracted_of(directory: Path, *log_events: dict[str, Any], **settings: Any) -> Extracted:
    """Return everything extracted from an application's log with these events."""
    write_log(directory, log_start(), application(), *log_events)
    return read_once(directory, **settings)
