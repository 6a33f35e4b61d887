"""Lineage that navlin reads from the inputs in ``data/unseen``, with the names used in the expected lineage."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from extractors.hive_events import HiveEvents
from extractors.openlineage import OpenLineageEvents
from extractors.rest import RestUnavailable
from extractors.spark import SparkEvents
from extractors.yarn import Yarn
from navlin.model.extractor import Extractor
from navlin.model.keys import EntityType, Key, RelationType
from navlin.model.plan import Positions
from navlin.model.records import Covered, Entity, Position, Record, Reject, Relation, Split
from navlin.model.source import HIVE, SPARK, YARN, Estate, Source, source_id
from navlin.model.tree import components
from tests.support.unseen_truths import (
    CATALOGS,
    DATA,
    DECIDING,
    GLOBS,
    OTHER_COLUMNS,
    OTHER_SOURCES,
    OTHER_TARGETS,
    Edge,
    Truth,
    index,
)

LATER_MS: Final = 1_795_800_000_000
"""27 November 2026 in epoch ms, later than all times in the inputs."""
WRITTEN_S: Final = 1_795_740_000
"""Modification time of the files in epoch seconds. It is earlier on the same day, so that no file counts as still being
written.
"""
DAY_MS: Final = 86_400_000
READ_TIMEOUT_S: Final = 2.0
"""A timeout much shorter than the slow responses of the test server."""

# -- navlin's lineage ----------------------------------------------------------------------------------------------------


@dataclass
class Told:
    """The contents of an index after some runs. ``saved`` are the positions; ``still`` describes the splits of the next
    plan.
    """

    entities: dict[str, Entity] = field(default_factory=dict)
    relations: dict[tuple[str, str, str], Relation] = field(default_factory=dict)
    rejects: list[Reject] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    saved: dict[str, Any] = field(default_factory=dict)
    still: str = ""

    def add(self, records: Iterable[Record]) -> None:
        """Add the records of one run. Relations that are covered but not yielded are removed."""
        records = list(records)
        fresh: dict[tuple[str, str, str], Relation] = {}
        for record in records:
            match record:
                case Entity():
                    self._add_entity(record)
                case Relation():
                    fresh[record.type.value, record.ep1.identity, record.ep2.identity] = record
                case Reject():
                    self.rejects.append(record)
                case Position():
                    self._save(record)
        covers = [record for record in records if isinstance(record, Covered)]
        stays = {ends: each for ends, each in self.relations.items() if not _is_covered(each, covers)}
        self.relations = stays | fresh

    def _add_entity(self, entity: Entity) -> None:
        before = self.entities.get(entity.key.identity)
        if before is None or before.as_of_ms <= entity.as_of_ms:
            self.entities[entity.key.identity] = entity

    def _save(self, position: Position) -> None:
        self.saved[position.key] = json.loads(json.dumps(position.value))
        if position.value is None:
            del self.saved[position.key]

    def of(self, kind: EntityType) -> list[Entity]:
        return [each for each in self.entities.values() if each.key.type is kind]


def _is_covered(relation: Relation, covers: Iterable[Covered]) -> bool:
    return any(
        relation.tree_path.startswith(each.path + "/") and relation.as_of_ms <= each.as_of_ms
        for each in covers
    )


def _source(kind: str, name: str, *serves: str, claimable: bool = True) -> Source:
    return Source(source_id("c", name), kind, name, "c", serves, claimable=claimable)


METASTORE: Final = _source(HIVE, "HIVE-1", "thrift://hms:9083")


def told_of(name: str, directory: Path) -> Told:
    """Return the lineage of an input, read by its extractor. ``directory`` must be empty; the input is copied to it."""
    kind, folder, told = index()[name], DATA / name, Told()
    match kind:
        case "spark":
            for each in [*folder.glob("logs/*"), *folder.glob("*.zip")]:
                _copy(each, directory)
            source = _source(SPARK, "SPARK-1")
            _round(told, SparkEvents(source, Estate("c", (source, METASTORE)), str(directory)))
        case "hive":
            _copy(folder / "record.log", directory)
            source = _source(HIVE, "HIVESERVER2-1", claimable=False)
            _round(told, HiveEvents(source, Estate("c", (source, METASTORE)), str(directory)))
        case "openlineage":
            source = _source("SDK", "OPENLINEAGE-1", claimable=False)
            events = OpenLineageEvents(source, Estate("c", (source, METASTORE)), str(directory))
            # Events arrive one at a time.
            for line in (folder / "events.jsonl").read_bytes().splitlines(keepends=True):
                with (directory / "events.jsonl").open("ab") as file:
                    file.write(line)
                _round(told, events)
        case "yarn":
            source = _source(YARN, "YARN-1")
            estate = Estate("c", (source, METASTORE))
            with _served(folder / "rest") as url:
                yarn = Yarn(source, estate, (url,), (url,), read_timeout_s=READ_TIMEOUT_S)
                _round(told, yarn)
                told.still = repr(yarn.plan(Positions(dict(told.saved), LATER_MS + DAY_MS)).splits)
    return told


def _copy(file: Path, directory: Path) -> None:
    os.utime(shutil.copy(file, directory), (WRITTEN_S, WRITTEN_S))


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    command = [sys.executable, str(DATA / "serve_rest.py"), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def _round(told: Told, extractor: Extractor) -> None:
    """Plan and read as the pipeline does: a failed split yields nothing, other splits continue, and the plan's
    positions are saved only if all splits were read.
    """
    plan = extractor.plan(Positions(dict(told.saved), LATER_MS))
    records: list[Record] = []
    splits: list[Split] = list(plan.splits)
    while splits:
        try:
            read = list(extractor.read(splits.pop(0)))
        except RestUnavailable as error:
            told.failures.append(str(error))
            continue
        splits[:0] = [each for each in read if isinstance(each, Split)]
        records += [each for each in read if not isinstance(each, Split)]
    told.add(records if told.failures else [*plan.positions, *records])


def name_of(key: Key, kind: str) -> str:
    """Return the name that the expected lineage uses for a key.

    The path of a table in the warehouse gives the table, as the linker would resolve it.
    """
    if key.type is EntityType.FIELD:
        assert key.parent is not None
        of = name_of(key.parent, kind)
        dotted = kind != "openlineage" and re.match(r"(file:|hdfs:|jdbc )", of) is None
        return f"{of}{'.' if dotted else '#'}{key.name}"
    authority = (key.source.serves or (key.source.name,))[0]
    if key.file_system_path is not None:
        if table := re.fullmatch(r"/data/unseen/warehouse\d*/(\w+)\.db/(\w+)", key.file_system_path):
            return f"{table[1]}.{table[2]}"
        between = " " if kind == "openlineage" else ""
        return f"{'file:' if authority == 'file://' else authority}{between}{key.file_system_path}"
    named = f"{key.parent.name}.{key.name}" if key.parent else key.name
    if key.type is EntityType.DATASET and kind == "openlineage":
        _, authority, _ = components(key.tree_path)
    if kind == "openlineage":
        return f"{authority.replace('thrift://', 'hive://')} {named}"
    return _of_database(authority, named) if key.source.type == "JDBC" else named


def _of_database(address: str, table: str) -> str:
    """The name of a table accessed by JDBC. Quotes around an identifier are removed if it contains a dot."""
    plain = re.sub(r'"([^"]*)"', lambda found: found[1] if "." in found[1] else found[0], table)
    catalog = CATALOGS.get(address)
    return f"{catalog}.{plain}" if catalog else f"jdbc {plain}"


@dataclass
class Edges:
    """Data edges read from one input. ``marks`` has the marks of edges between columns. ``read`` and ``written`` are
    all ends of operations.
    """

    tables: set[Edge] = field(default_factory=set)
    columns: set[Edge] = field(default_factory=set)
    marks: dict[Edge, set[str]] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    doubted: set[str] = field(default_factory=set)
    """Tables and columns that may have further sources, according to the operation."""
    adrift: int = 0
    """Number of operations that are marked incomplete and have no output."""
    flags: list[str] = field(default_factory=list)
    """Descriptions of everything that is flagged incomplete."""


MARKS: Final = ("incomplete", "inferred", "opaque", "parsed")


def edges_of(told: Told, truth: Truth) -> Edges:
    """Return the edges read, with the names used in the expected lineage."""
    edges = Edges()
    for operation in told.of(EntityType.OPERATION):
        ins = {name: marks for end, name, marks in _ends(told, operation.key, truth, inwards=True)}
        outs = {name: marks for end, name, marks in _ends(told, operation.key, truth, inwards=False)}
        ins = _without_globs(ins, truth)
        edges.read |= ins.keys()
        edges.written |= outs.keys()
        edges.tables |= {(source, target) for source in ins for target in outs}
        deciding = _ends(told, operation.key, truth, inwards=True, flow=RelationType.CONTROL_FLOW)
        tests = {(source, target) for _, source, _ in deciding for target in outs}
        edges.tables |= tests & DECIDING.get(truth.name, set())
        if operation.attributes.get("incomplete"):
            reasons = operation.attributes.get("incompleteReasons") or ()
            kind = operation.attributes.get("operationType") or "operation"
            edges.flags.append(f"{kind}: {'; '.join(reasons) or 'incomplete without a reason'}")
            edges.doubted |= outs.keys() if reasons else set()
            edges.adrift += bool(reasons) and not outs
        edges.doubted |= {name for name, marks in outs.items() if "incomplete" in marks}
    for part in told.of(EntityType.SUB_OPERATION):
        _add_part(edges, told, part, truth)
    return edges


def _add_part(edges: Edges, told: Told, part: Entity, truth: Truth) -> None:
    marks = {mark for mark in MARKS if part.attributes.get(mark)}
    targets = [
        name for end, name, _ in _ends(told, part.key, truth, inwards=False) if end.type is EntityType.FIELD
    ]
    if "incomplete" in marks:
        edges.doubted |= set(targets)
        edges.flags.append(f"column {', '.join(targets)}")
    for end, name, more in _ends(told, part.key, truth, inwards=True):
        if end.type is EntityType.FIELD:
            for target in targets:
                edges.columns.add((name, target))
                edges.marks.setdefault((name, target), set()).update(marks | more)


def _ends(
    told: Told, of: Key, truth: Truth, *, inwards: bool, flow: RelationType = RelationType.DATA_FLOW
) -> Iterator[tuple[Key, str, set[str]]]:
    """Yield (key, name, marks) for the inputs or outputs of an operation or sub-operation."""
    others = (OTHER_SOURCES if inwards else OTHER_TARGETS).get(truth.name, {})
    for relation in told.relations.values():
        near, far = (relation.ep2, relation.ep1) if inwards else (relation.ep1, relation.ep2)
        if relation.type is flow and near.identity == of.identity:
            marks = {mark for mark in MARKS if relation.attributes.get(mark)}
            yield far, _renamed(name_of(far, truth.kind), others, truth), marks


def _renamed(name: str, others: dict[str, str], truth: Truth) -> str:
    for pattern, other in others.items():
        name = re.sub(rf"^{pattern}(?=$|[#.])", other, name)
    return OTHER_COLUMNS.get(truth.name, {}).get(name, name)


def _without_globs(ins: dict[str, set[str]], truth: Truth) -> dict[str, set[str]]:
    globs = GLOBS.get(truth.name, {})
    found = {}
    for name, marks in ins.items():
        for each in globs.get(name, (name,)) if "inferred" in marks else (name,):
            found[each] = marks
    return found
