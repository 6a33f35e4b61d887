"""Navigator's model of an operation: its sub-operations, one execution, flows, and locations of tables.

    table  ── DATA_FLOW | CONTROL_FLOW ──▶ operation ── DATA_FLOW ──▶ table
    column ── DATA_FLOW | CONTROL_FLOW ──▶ sub-operation ── DATA_FLOW ──▶ column
    execution of another system ── LOGICAL_PHYSICAL ──▶ execution ── LOGICAL_PHYSICAL ──▶ execution of another system
    table ── LOGICAL_PHYSICAL (a hint) ──▶ path

Every extractor of an engine's jobs converts each job to an `Operation`, so that all engines give the same kinds of
records.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from navlin.model.identity import relation_id
from navlin.model.keys import Key, RelationType
from navlin.model.records import Attributes, Covered, Depth, Entity, Record, Relation
from navlin.model.tree import below


@dataclass(frozen=True, slots=True)
class Flow:
    """One entity that an operation or sub-operation reads or writes. ``type`` is CONTROL_FLOW if the entity only
    decides which rows there are.
    """

    end: Key
    attributes: Attributes = field(default_factory=dict)
    type: RelationType = RelationType.DATA_FLOW


@dataclass(frozen=True, slots=True)
class SubOperation:
    """A sub-operation, with the columns that it reads and writes."""

    key: Key
    attributes: Attributes
    inputs: Iterable[Flow] = ()
    outputs: Iterable[Flow] = ()


@dataclass(frozen=True, slots=True)
class Execution:
    """One run of an operation. ``run_for`` lists the executions in other systems that are carried out by this run, each
    with the attributes of the relation. ``run_as`` lists the executions in other systems that carry out this run, such
    as the YARN application of a Spark job.
    """

    key: Key
    as_of_ms: int
    attributes: Attributes
    run_for: Iterable[tuple[Key, Attributes]] = ()
    run_as: Iterable[Key] = ()


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation with its flows and, if known, one execution.

    ``ages`` is true if purge may remove the operation by its age alone, because it writes nothing. Parts and
    flows age if ``outputs`` is empty, the execution always, locations never. ``locations`` are pairs of a table and the
    path of its files. ``covers`` is true if these are all parts, flows and locations of the operation; others that
    were recorded until ``covers_until_ms`` (epoch ms; 0 for ``as_of_ms``) are then deleted.

    ``nested`` is true if relations are named by their ends, and the flows of a part are placed below that part.
    Otherwise relations are named by their ids, and all flows are placed below the operation. In both cases, the
    relations of the execution are below the execution.
    """

    key: Key
    as_of_ms: int
    attributes: Attributes
    execution: Execution | None
    ages: bool
    inputs: tuple[Flow, ...] = ()
    outputs: tuple[Flow, ...] = ()
    parts: Iterable[SubOperation] = ()
    locations: Iterable[tuple[Key, Key]] = ()
    volatile: Attributes = field(default_factory=dict)
    covers: bool = False
    covers_until_ms: int = 0
    nested: bool = False

    def records(self) -> Iterator[Record]:
        """Yield the operation, the execution, the sub-operations, their relations, and a `Covered` if ``covers``.
        Relations to parents are not yielded, because they follow from the keys."""
        yield Entity(self.key, self.as_of_ms, self.attributes, self.volatile, ages=self.ages)
        if self.execution is not None:
            yield from self._execution(self.execution)
        if self.covers:
            until_ms = self.covers_until_ms or self.as_of_ms
            yield Covered(self.key.tree_path, until_ms, Depth.ALL, reported=True)
        yield from self._flows(self.key, self.key, self.inputs, self.outputs)
        for part in self.parts:
            yield Entity(part.key, self.as_of_ms, part.attributes, ages=not self.outputs)
            yield from self._flows(part.key, part.key if self.nested else self.key, part.inputs, part.outputs)
        for table, path in self.locations:
            kind = RelationType.LOGICAL_PHYSICAL
            yield self._relation(kind, table, path, self.key, self.as_of_ms, {"hint": True}, ages=False)

    def _execution(self, run: Execution) -> Iterator[Entity | Relation]:
        yield Entity(run.key, run.as_of_ms, run.attributes, ages=True)
        kind = RelationType.LOGICAL_PHYSICAL
        for logical, attributes in run.run_for:
            yield self._relation(kind, logical, run.key, run.key, run.as_of_ms, attributes, ages=True)
        for physical in run.run_as:
            yield self._relation(kind, run.key, physical, run.key, run.as_of_ms, {}, ages=True)

    def _flows(
        self, through: Key, owner: Key, inputs: Iterable[Flow], outputs: Iterable[Flow]
    ) -> Iterator[Relation]:
        as_of_ms, ages = self.as_of_ms, not self.outputs
        for flow in inputs:
            yield self._relation(flow.type, flow.end, through, owner, as_of_ms, flow.attributes, ages=ages)
        for flow in outputs:
            yield self._relation(flow.type, through, flow.end, owner, as_of_ms, flow.attributes, ages=ages)

    def _relation(
        self,
        kind: RelationType,
        ep1: Key,
        ep2: Key,
        owner: Key,
        as_of_ms: int,
        attributes: Attributes,
        *,
        ages: bool,
    ) -> Relation:
        """Return a relation whose path is below its owner, so that coverage of the owner includes the relation."""
        if self.nested:
            # The ids consist of hex digits, so the component needs no encoding.
            path = f"{owner.tree_path}/{ep1.identity}-{ep2.identity}"
        else:
            path = below(owner.tree_path, relation_id(kind, ep1.identity, ep2.identity, owner.source.id))
        return Relation(kind, ep1, ep2, path, as_of_ms, attributes, ages)
