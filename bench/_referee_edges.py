"""Column edges of one run of a statement, as navlin's records have them and as the agent's events do."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench._referee_running import APPLICATION, Kept
from bench._referee_statements import Column, Edge
from extractors.spark_events import SparkEvents
from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.plan import Positions
from navlin.model.records import Entity, Record, Relation, Split
from navlin.model.source import SPARK, Estate, Source, source_id

_CLUSTER: Final = "referee"
_SOURCE: Final = Source(source_id(_CLUSTER, SPARK), SPARK, SPARK, _CLUSTER)
_FLAGS: Final = ("opaque", "inferred", "incomplete")


@dataclass(slots=True)
class Told:
    """What one of the two told of a statement. ``flagged`` are edges with a flag of theirs; ``flags`` are all there were.

    ``how`` is what the agent calls an edge: ``DIRECT IDENTITY``, ``INDIRECT WINDOW``…
    """

    data: set[Edge] = field(default_factory=set)
    control: set[Edge] = field(default_factory=set)
    flagged: set[Edge] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)
    how: dict[Edge, set[str]] = field(default_factory=lambda: defaultdict(set))

    @property
    def targets(self) -> set[Column]:
        return {edge.target for edge in self.data | self.control}


# -- navlin ---------------------------------------------------------------------------------------------------------------


def navlin_told(kept: Kept) -> dict[str, Told]:
    """By statement, the edges of its newest session's operations."""
    ran = kept.read_runs()
    operations: dict[str, Entity] = {}
    parts: dict[str, Entity] = {}
    relations: dict[tuple[str, str, str], Relation] = {}
    runs: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for record in _records(kept.logs):
        match record:
            case Entity(key=Key(type=EntityType.OPERATION)):
                operations[record.key.identity] = record
            case Entity(key=Key(type=EntityType.SUB_OPERATION)):
                parts[record.key.identity] = record
            case Entity(key=Key(type=EntityType.OPERATION_EXECUTION, parent=Key(identity=of))):
                started_ms = int(str(record.attributes.get("started") or 0))
                runs[of].add((str(record.attributes["jobId"]), started_ms))
            case Relation():
                relations[record.type, record.ep1.identity, record.ep2.identity] = record
            case _:
                pass
    told: dict[str, Told] = defaultdict(Told)
    of_operation: dict[str, str] = {}
    for identity, operation in operations.items():
        said = str(operation.attributes["originalName"]).removeprefix(f"{APPLICATION}: ")
        if name := statement_of_run(said, runs[identity], ran):
            of_operation[identity] = name
            if operation.attributes.get("incomplete"):
                told[name].flags.add("incomplete")
    for relation in relations.values():
        if relation.ep1.identity in of_operation and relation.attributes.get("incomplete"):
            told[of_operation[relation.ep1.identity]].flags.add("incomplete")
    _add_edges(told, of_operation, parts, relations.values(), kept.data)
    return told


def statement_of_run(name: str, executions: Iterable[tuple[str, int]], ran: dict[str, dict[str, Any]]) -> str:
    """The statement of an operation: the one it is named after, or, as a stream has a name of its own, the one that ran."""
    known = list(executions)
    if name in ran and any(application == ran[name]["application"] for application, _ in known):
        return name
    for statement, run in ran.items():
        first_ms, last_ms = run.get("ms", (0, 0))
        if any(
            application == run["application"] and first_ms <= at_ms <= last_ms for application, at_ms in known
        ):
            return statement
    return ""


def _add_edges(
    told: dict[str, Told],
    of_operation: dict[str, str],
    parts: dict[str, Entity],
    relations: Iterable[Relation],
    data: Path,
) -> None:
    sources: dict[str, list[tuple[Relation, Column]]] = defaultdict(list)
    targets: dict[str, list[Column]] = defaultdict(list)
    for relation in relations:
        if relation.ep2.type is EntityType.SUB_OPERATION:
            sources[relation.ep2.identity].append((relation, _column(relation.ep1, data)))
        elif relation.ep1.type is EntityType.SUB_OPERATION:
            targets[relation.ep1.identity].append(_column(relation.ep2, data))
    for identity, part in parts.items():
        parent = part.key.parent
        if parent is None or parent.identity not in of_operation:
            continue
        statement = told[of_operation[parent.identity]]
        flags = {flag for flag in _FLAGS if part.attributes.get(flag)}
        statement.flags |= flags
        for target in targets[identity]:
            for relation, source in sources[identity]:
                edge = Edge(source, target)
                kind = statement.data if relation.type is RelationType.DATA_FLOW else statement.control
                kind.add(edge)
                if flags:
                    statement.flagged.add(edge)
    for statement in told.values():
        statement.control -= statement.data


def _records(logs: Path) -> Iterator[Record]:
    extractor = SparkEvents(_SOURCE, Estate(_CLUSTER, (_SOURCE,)), str(logs))
    newest_ms = max((path.stat().st_mtime_ns for path in logs.rglob("*")), default=0) // 1_000_000
    splits: list[Split] = list(extractor.plan(Positions(now_ms=newest_ms)).splits)
    while splits:
        for record in extractor.read(splits.pop(0)):
            if isinstance(record, Split):
                splits.insert(0, record)
            else:
                yield record


def _column(key: Key, data: Path) -> Column:
    table = key.parent
    if table is None:
        return Column("?", key.name.lower())
    if table.file_system_path is not None:
        return Column(_path_name(table.file_system_path, data), key.name.lower())
    if table.parent is not None:
        return Column(f"{table.parent.name}.{table.name}".lower(), key.name.lower())
    return Column(f"<jdbc/{table.name.lower()}>", key.name.lower())


def _path_name(path: str, data: Path) -> str:
    return f"<{Path(path).relative_to(data) if Path(path).is_relative_to(data) else path}>"


# -- The agent ------------------------------------------------------------------------------------------------------------


def agent_told(kept: Kept) -> dict[str, Told]:
    """By statement, the edges of all events of its newest session together."""
    told: dict[str, Told] = {}
    if not kept.agent.exists():
        return told
    with kept.agent.open("rb") as events:
        for name, run in kept.read_runs().items():
            first, behind = run["agent"]
            events.seek(first)
            told[name] = Told()
            for line in events.read(behind - first).splitlines():
                for output in json.loads(line).get("outputs") or ():
                    _add_output(told[name], output, kept.data)
            told[name].control -= told[name].data
    return told


def _add_output(told: Told, output: dict[str, Any], data: Path) -> None:
    facets = output.get("facets") or {}
    lineage = facets.get("columnLineage") or {}
    name = _dataset(output, data)
    fields = lineage.get("fields") or {}
    for column, said in fields.items():
        for source in said["inputFields"]:
            _add_edge(told, source, Column(name, column.lower()), data, of_rows=False)
    for column in (*fields, *(each["name"] for each in (facets.get("schema") or {}).get("fields") or ())):
        for source in lineage.get("dataset") or ():
            _add_edge(told, source, Column(name, column.lower()), data, of_rows=True)


def _add_edge(told: Told, source: dict[str, Any], target: Column, data: Path, *, of_rows: bool) -> None:
    edge = Edge(Column(_dataset(source, data), source["field"].lower()), target)
    how = {f"{each['type']} {each['subtype']}" for each in source.get("transformations") or ()}
    # What the agent tells of all columns alike decided about rows, whatever was done with it on the way.
    direct = not of_rows and any(each.startswith("DIRECT") for each in how)
    (told.data if direct else told.control).add(edge)
    told.how[edge] |= how


def _dataset(dataset: dict[str, Any], data: Path) -> str:
    """By its place: a table of the warehouse, or what else lies below the scratch."""
    name = str(dataset["name"])
    if not name.startswith("/"):
        return f"<jdbc/{name.lower().rpartition('.')[2]}>"
    below = _path_name(name, data)
    match below.strip("<>").split("/"):
        case ["warehouse", database, table, *_] if database.endswith(".db"):
            return f"{database.removesuffix('.db')}.{table}".lower()
        case ["outside", *_]:
            return "src.outside"
        case ["ctas_of_a_location", *_]:
            return "out.ctas_of_a_location"
        case _:
            return below
