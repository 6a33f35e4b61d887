"""Column edges of each statement, from navlin's records and from the agent's events."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench._referee_running import APPLICATION, Kept
from bench._referee_statements import Column, Edge, Flow
from extractors.spark import SparkEvents
from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.plan import Positions
from navlin.model.records import Entity, Record, Relation, Split
from navlin.model.source import SPARK, Estate, Source, source_id

_CLUSTER: Final = "referee"
_SOURCE: Final = Source(source_id(_CLUSTER, SPARK), SPARK, SPARK, _CLUSTER)
_FLOWS: Final = (RelationType.DATA_FLOW, RelationType.CONTROL_FLOW)
_FLAGS: Final = ("opaque", "inferred", "incomplete")


@dataclass(slots=True)
class Extracted:
    """The lineage that navlin or the agent extracted from a statement.

    ``flagged`` are the edges that are flagged themselves; ``flags`` are all flags of the statement. ``how`` is the
    agent's classification of an edge, such as ``DIRECT IDENTITY`` or ``INDIRECT WINDOW``. ``unsure`` are the tables
    that may have more sources than extracted, with ANYWHERE if those tables are unknown. ``tables`` are the flows
    between tables.
    """

    data: set[Edge] = field(default_factory=set)
    control: set[Edge] = field(default_factory=set)
    flagged: set[Edge] = field(default_factory=set)
    flags: set[str] = field(default_factory=set)
    how: dict[Edge, set[str]] = field(default_factory=lambda: defaultdict(set))
    tables: set[Flow] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)

    @property
    def targets(self) -> set[Column]:
        return {edge.target for edge in self.data | self.control}

    def doubts(self, table: str) -> bool:
        """Return whether the extraction itself says that a flow into the table may be missing."""
        return table in self.unsure or ANYWHERE in self.unsure


ANYWHERE: Final = "?"


# -- navlin ---------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Record:
    """Operations as navlin records them. ``runs`` maps an operation to the (application, start) of each of its
    runs."""

    operations: dict[str, Entity] = field(default_factory=dict)
    parts: dict[str, Entity] = field(default_factory=dict)
    relations: dict[tuple[str, str, str], Relation] = field(default_factory=dict)
    runs: dict[str, list[tuple[str, int]]] = field(default_factory=lambda: defaultdict(list))


def navlin_edges(kept: Kept) -> dict[str, Extracted]:
    """Map each statement to its edges, from the operations of the statement's newest session."""
    record = _Record()
    for each in _records(kept.logs):
        match each:
            case Entity(key=Key(type=EntityType.OPERATION)):
                record.operations[each.key.identity] = each
            case Entity(key=Key(type=EntityType.SUB_OPERATION)):
                record.parts[each.key.identity] = each
            case Entity(key=Key(type=EntityType.OPERATION_EXECUTION, parent=Key(identity=of))):
                started_ms = int(str(each.attributes.get("started") or 0))
                record.runs[of].append((str(each.attributes["jobId"]), started_ms))
            case Relation():
                record.relations[each.type, each.ep1.identity, each.ep2.identity] = each
            case _:
                pass
    extracted: dict[str, Extracted] = defaultdict(Extracted)
    ran = kept.read_runs()
    of_operation = {}
    for identity, operation in record.operations.items():
        payload = str(operation.attributes["originalName"]).removeprefix(f"{APPLICATION}: ")
        if name := statement_of_run(payload, record.runs[identity], ran):
            of_operation[identity] = name
    _add_tables(extracted, of_operation, record, kept.data)
    _add_edges(extracted, of_operation, record, kept.data)
    return extracted


def statement_of_run(name: str, executions: Iterable[tuple[str, int]], ran: dict[str, dict[str, Any]]) -> str:
    """Return the statement whose run an operation belongs to; "" if none.

    An operation has the name of its statement. A stream has its own name, and belongs to the statement that ran
    when the stream started."""
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


def _add_tables(
    extracted: dict[str, Extracted], of_operation: dict[str, str], record: _Record, data: Path
) -> None:
    inputs: dict[str, set[str]] = defaultdict(set)
    outputs: dict[str, set[str]] = defaultdict(set)
    incomplete = {
        identity for identity in of_operation if record.operations[identity].attributes.get("incomplete")
    }
    for relation in record.relations.values():
        if relation.ep1.identity in of_operation and relation.type is RelationType.DATA_FLOW:
            outputs[relation.ep1.identity].add(_table(relation.ep2, data))
            if relation.attributes.get("incomplete"):
                incomplete.add(relation.ep1.identity)
        elif relation.ep2.identity in of_operation and relation.type in _FLOWS:
            inputs[relation.ep2.identity].add(_table(relation.ep1, data))
    for identity, name in of_operation.items():
        extracted[name].tables |= {
            Flow(source, target) for source in inputs[identity] for target in outputs[identity]
        }
        if identity in incomplete:
            extracted[name].flags.add("incomplete")
            extracted[name].unsure |= outputs[identity] or {ANYWHERE}


def _add_edges(
    extracted: dict[str, Extracted], of_operation: dict[str, str], record: _Record, data: Path
) -> None:
    sources: dict[str, list[tuple[Relation, Column]]] = defaultdict(list)
    targets: dict[str, list[Column]] = defaultdict(list)
    for relation in record.relations.values():
        if relation.ep2.type is EntityType.SUB_OPERATION:
            sources[relation.ep2.identity].append((relation, _column(relation.ep1, data)))
        elif relation.ep1.type is EntityType.SUB_OPERATION:
            targets[relation.ep1.identity].append(_column(relation.ep2, data))
    for identity, part in record.parts.items():
        parent = part.key.parent
        if parent is None or parent.identity not in of_operation:
            continue
        statement = extracted[of_operation[parent.identity]]
        flags = {flag for flag in _FLAGS if part.attributes.get(flag)}
        statement.flags |= flags
        for target in targets[identity]:
            if "incomplete" in flags:
                statement.unsure.add(target.of)
            for relation, source in sources[identity]:
                edge = Edge(source, target)
                kind = statement.data if relation.type is RelationType.DATA_FLOW else statement.control
                kind.add(edge)
                if flags:
                    statement.flagged.add(edge)
    for statement in extracted.values():
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
    return Column(_table(key.parent, data) if key.parent else "?", key.name.lower())


def _table(key: Key, data: Path) -> str:
    if key.file_system_path is not None:
        # The index knows a table given by its path through the table's location.
        return _table_at(_path_name(key.file_system_path, data))
    if key.parent is not None:
        return f"{key.parent.name}.{key.name}".lower()
    return f"<jdbc/{key.name.lower()}>"


def _path_name(path: str, data: Path) -> str:
    return f"<{Path(path).relative_to(data) if Path(path).is_relative_to(data) else path}>"


# -- The agent ------------------------------------------------------------------------------------------------------------


def agent_edges(kept: Kept) -> dict[str, Extracted]:
    """Map each statement to its edges, from all events of the statement's newest session."""
    extracted: dict[str, Extracted] = {}
    if not kept.agent.exists():
        return extracted
    with kept.agent.open("rb") as events:
        for name, run in kept.read_runs().items():
            first, behind = run["agent"]
            events.seek(first)
            extracted[name] = Extracted()
            for line in events.read(behind - first).splitlines():
                for output in json.loads(line).get("outputs") or ():
                    _add_output(extracted[name], output, kept.data)
            extracted[name].control -= extracted[name].data
    return extracted


def _add_output(extracted: Extracted, output: dict[str, Any], data: Path) -> None:
    facets = output.get("facets") or {}
    lineage = facets.get("columnLineage") or {}
    name = _dataset(output, data)
    fields = lineage.get("fields") or {}
    for column, payload in fields.items():
        for source in payload["inputFields"]:
            _add_edge(extracted, source, Column(name, column.lower()), data, of_rows=False)
    for column in (*fields, *(each["name"] for each in (facets.get("schema") or {}).get("fields") or ())):
        for source in lineage.get("dataset") or ():
            _add_edge(extracted, source, Column(name, column.lower()), data, of_rows=True)


def _add_edge(
    extracted: Extracted, source: dict[str, Any], target: Column, data: Path, *, of_rows: bool
) -> None:
    edge = Edge(Column(_dataset(source, data), source["field"].lower()), target)
    how = {f"{each['type']} {each['subtype']}" for each in source.get("transformations") or ()}
    # Dataset lineage applies to all columns alike, so its sources only control, whatever the transformations say.
    direct = not of_rows and any(each.startswith("DIRECT") for each in how)
    (extracted.data if direct else extracted.control).add(edge)
    extracted.how[edge] |= how


def _dataset(dataset: dict[str, Any], data: Path) -> str:
    """Name a dataset by its location: a table of the warehouse, or a path below the scratch directory."""
    name = str(dataset["name"])
    if not name.startswith("/"):
        return f"<jdbc/{name.lower().rpartition('.')[2]}>"
    return _table_at(_path_name(name, data))


def _table_at(below: str) -> str:
    match below.strip("<>").split("/"):
        case ["warehouse", database, table, *_] if database.endswith(".db"):
            return f"{database.removesuffix('.db')}.{table}".lower()
        case ["outside", *_]:
            return "src.outside"
        case ["ctas_of_a_location", *_]:
            return "out.ctas_of_a_location"
        case _:
            return below
