"""Ends of a run's flows: tables and columns. All names of one dataset have the same key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from extractors.lineage.operations import Flow, SubOperation
from extractors.openlineage.columns import ColumnSource
from extractors.openlineage.names import Bound, DatasetKeys
from extractors.openlineage.runs import DatasetState, JobRun, Name
from navlin.model.keys import EntityType, Key, RelationType, sub_operation_key
from navlin.model.records import Attributes
from navlin.model.redaction import bounded

MAX_NAMES: Final = 1_000
MAX_CONTROLS: Final = 2_000
"""Maximum number of control relations of one output. Beyond it, columns that control all columns of the output are
stated only once.
"""
MAX_EXPRESSION_BYTES: Final = 4 << 10
SEVERAL: Final = "the source of columns is named ambiguously: it may be one input or another"
MORE_FED: Final = "an output of the stream was named together with more inputs than navlin follows"
UNLISTED: Final = "columns come from a dataset that the producer does not name among the inputs"
_NO_DATA: Final = frozenset({"ALTER", "TRUNCATE", "DROP", "CREATE"})
"""Changes of a dataset's state that move no data, unless column sources are given or the dataset is created from
inputs.
"""


class RunEnds:
    """Ends of a run's flows. All names of one dataset have the same key."""

    def __init__(self, names: DatasetKeys, run: JobRun) -> None:
        self._names = names
        self._run = run
        self.keys: dict[Name, Key] = {}
        self.columns: dict[tuple[str, str], Key] = {}
        self._bound: dict[Name, Bound] = {}
        self._dotted: set[tuple[str, str]] = set()
        """(identity of the table, column) for columns whose names contain a dot."""
        self._plain: dict[str, Key] = {}
        """Identity derived from a dataset's own name → the dataset's key, for each dataset of the run."""
        for side in (run.outputs, run.inputs):
            for name, known in side.items():
                bound = names.bound(*name, known)
                self._dotted.update((bound.key.identity, each) for each in known.fields if "." in each)
                # The side that reports more names of a dataset determines the dataset's key.
                if name not in self._bound or known.links:
                    self._bound[name] = bound
                    self._plain[names.key(*name, known).identity] = bound.key
                    for alias in (name, *((link[0], link[1]) for link in known.links)):
                        self.keys[alias] = bound.key
        self.problems: list[str] = []
        """Reasons why some sources of columns are unknown."""
        self._unclear: set[Name] = set()
        moved = {name: known for name, known in run.outputs.items() if self._moves_data(known)}
        self.written = {name: self.keys[name] for name in run.outputs}
        self._outputs = {name: self.keys[name] for name in moved}
        self.read = {name: self.keys[name] for name in run.inputs}
        self._told = {name: self._bound_columns(known) for name, known in moved.items()}
        if any(self._is_sink(name) and known.fed_by_more for name, known in moved.items()):
            self._missing(MORE_FED)
        for known in self._told.values():
            for column in _columns_of(known):
                self._also_read((column.namespace, column.name))
            for source in known.sources:
                self._also_read((source[0], source[1]))
            if known.change == "RENAME" and known.before:
                self._also_read((known.before[0], known.before[1]))

    def _also_read(self, name: Name) -> None:
        self.read.setdefault(name, self.key(name))

    def _moves_data(self, known: DatasetState) -> bool:
        if known.change not in _NO_DATA or any(known.columns.values()):
            return True
        # For `CREATE TABLE … AS SELECT` without inputs, Spark's agent gives the kind of statement only in the job's
        # name.
        selects = bool(self._run.inputs or known.columns or known.sources)
        return known.change == "CREATE" and (selects or "table_as_select" in self._run.name.lower())

    def key(self, name: Name) -> Key:
        if name not in self.keys:
            found = self._meant(name)
            self.keys[name] = found[0] if len(found) == 1 else self._names.key(*name)
        return self.keys[name]

    def _meant(self, name: Name) -> list[Key]:
        """Return the keys of the run's datasets that a name may mean, if none of them has exactly this name.

        Column lineage spells some names differently: a path begins with another slash, or a database's table has the
        letter case of the query or lacks a default prefix.
        """
        key = self._names.key(*name)
        if key.identity in self._plain:
            return [self._plain[key.identity]]
        for same in (_same_name, _same_end) if key.type is not EntityType.DIRECTORY else ():
            for side in (self._run.inputs, self._run.outputs):
                found = {self.keys[each].identity: self.keys[each] for each in side if same(each, name)}
                if found:
                    return list(found.values())
        return []

    def _bound_columns(self, known: DatasetState) -> DatasetState:
        """Return ``known`` without the column sources that may be one input or another, and record the problems."""
        for name in {(each.namespace, each.name): None for each in _columns_of(known)}:
            if name in self.keys:
                continue
            found = [] if name in self._unclear else self._meant(name)
            if name in self._unclear or len(found) > 1:
                self._unclear.add(name)
                self._missing(SEVERAL)
                continue
            self.keys[name] = found[0] if found else self._names.key(*name)
            if not found and self._run.inputs and [*name] not in known.sources:
                self._missing(UNLISTED)
        if not self._unclear:
            return known

        def clear(inputs: list[ColumnSource]) -> list[ColumnSource]:
            return [each for each in inputs if (each.namespace, each.name) not in self._unclear]

        columns = {name: clear(inputs) for name, inputs in known.columns.items()}
        # A column given without sources has none. If all its sources are removed here, the sources are unknown.
        columns = {name: kept for name, kept in columns.items() if kept or not known.columns[name]}
        return replace(known, columns=columns, rows=clear(known.rows))

    def _missing(self, reason: str) -> None:
        if reason not in self.problems:
            self.problems.append(reason)

    @property
    def change(self) -> str:
        """Change of the outputs other than writing data; "" if there is none or several."""
        changes = {known.change for known in self._run.outputs.values()} - {"", "OVERWRITE"}
        return changes.pop() if len(changes) == 1 else ""

    def undescribed(self) -> Iterator[Key]:
        """Yield the keys of datasets in this source that only column lineage names."""
        described = {
            self.keys[name].identity for side in (self._run.inputs, self._run.outputs) for name in side
        }
        found = {key.identity: key for key in self.read.values() if self._names.owns(key)}
        return (key for identity, key in found.items() if identity not in described)

    # -- Tables ----------------------------------------------------------------------------------------------------------

    def inputs(self) -> tuple[Flow, ...]:
        deciding = self._only_control()
        deciding |= {self.keys[name].identity for name, known in self._run.inputs.items() if known.decides}
        flows = {
            key.identity: Flow(
                key, type=RelationType.CONTROL_FLOW if key.identity in deciding else RelationType.DATA_FLOW
            )
            for key in self.read.values()
        }
        return tuple(flows.values())

    def outputs(self, *, incomplete: bool) -> tuple[Flow, ...]:
        attributes: Attributes = {"incomplete": True} if incomplete else {}
        return tuple({key.identity: Flow(key, attributes) for key in self._outputs.values()}.values())

    def locations(self) -> list[tuple[Key, Key]]:
        return [
            (bound.key, path)
            for bound in self._bound.values()
            if bound.key.type in (EntityType.TABLE, EntityType.VIEW)
            for path in bound.paths
        ]

    def _only_control(self) -> set[str]:
        """Return the identities of inputs that only control which values are written. Return an empty set if the
        sources of some output column are not given, or if no other input is left, because the output then counts rows.
        """
        known = [*self._told.values()]
        unknown = SEVERAL in self.problems or any(each.sources for each in known)
        if not known or unknown or not all(map(_of_every_column, known)):
            return set()
        every = [each for one in known for inputs in (one.rows, *one.columns.values()) for each in inputs]
        data = {self.key((each.namespace, each.name)).identity for each in every if not each.control}
        decide = {self.key((each.namespace, each.name)).identity for each in every if each.control}
        only = decide - data
        return only if {key.identity for key in self.read.values()} - only else set()

    # -- Columns ---------------------------------------------------------------------------------------------------------

    def parts(self, operation: Key) -> Iterator[SubOperation]:
        """Yield one sub-operation for each written column, and one for the columns that control all rows of an output.
        For a stream with several outputs, yield one for each output whose column sources are not given.
        """
        for name, output in self._outputs.items():
            known = self._told[name]
            if self._is_sink(name):
                yield self._of_sink(operation, output, self._run.outputs[name])
            rows = self._deciding_on_all(known)
            for column, inputs in self._by_column(output, known):
                own = [each for each in inputs if not (each.control and each in rows)]
                # A sub-operation has each source once, so a data source that also controls rows does so in a separate
                # sub-operation.
                data = {each.place for each in own if not each.control}
                both = [each for each in own if each.control and each.place in data]
                yield self._of_column(operation, output, column, [each for each in own if each not in both])
                if both:
                    part = f"predicate {self._column(output, column).identity}"
                    yield self._deciding(operation, part, output, [column], both)
            if rows:
                every = {column.casefold(): column for column in (*known.fields, *known.columns)}.values()
                yield self._deciding(operation, f"predicate {output.identity}", output, every, rows)

    def _is_sink(self, name: Name) -> bool:
        """Whether an output is one of several outputs of a stream, and its column sources are not given."""
        return self._run.streaming and len(self._outputs) > 1 and not self._told[name].columns

    def _by_column(self, output: Key, known: DatasetState) -> Iterator[tuple[str, list[ColumnSource]]]:
        """Yield (column name, sources) for each written column. Fields of one struct are merged into one column."""
        merged: dict[str, tuple[str, list[ColumnSource]]] = {}
        for name, inputs in known.columns.items():
            written = self._column(output, name)
            shown = name if name.casefold() == written.name.casefold() else written.name
            _, so_far = merged.setdefault(written.identity, (shown, []))
            so_far.extend(each for each in inputs if each not in so_far)
        yield from merged.values()

    def _deciding_on_all(self, known: DatasetState) -> list[ColumnSource]:
        if sum(each.control for inputs in known.columns.values() for each in inputs) <= MAX_CONTROLS:
            return known.rows
        shared = set.intersection(*(set(inputs) for inputs in known.columns.values()))
        return [
            *known.rows,
            *sorted((each for each in shared if each.control and each not in known.rows), key=str),
        ]

    def _of_column(self, operation: Key, output: Key, name: str, inputs: list[ColumnSource]) -> SubOperation:
        written = self._column(output, name)
        data = [each for each in inputs if not each.control]
        kinds = [each.kind for each in data if each.kind]
        attributes = {
            **self._shared("PROJECTION", inputs, [self._shown(output, name)]),
            "transformation": _strongest(kinds),
            "expression": bounded(
                "; ".join(dict.fromkeys(each.description for each in data if each.description)),
                MAX_EXPRESSION_BYTES,
            ),
            "masking": True if any(each.masking for each in data) else None,
        }
        flows = [
            *self._flows(data, RelationType.DATA_FLOW),
            *self._flows((each for each in inputs if each.control), RelationType.CONTROL_FLOW),
        ]
        key = sub_operation_key(operation, written.identity, name=bounded(name, 1_000))
        return SubOperation(key, attributes, flows, [Flow(written)])

    def _of_sink(self, operation: Key, output: Key, known: DatasetState) -> SubOperation:
        """Return the sub-operation of a streaming query that writes ``output``. It reads the inputs reported together with
        that output, or all inputs if none were.
        """
        fed = {self.key((each[0], each[1])).identity for each in known.fed_by}
        read = {key.identity: key for key in self.read.values() if not fed or key.identity in fed}
        attributes = {
            "internalType": "openlineage_sub_operation",
            "engineType": self._run.engine,
            "edgeType": "PROJECTION",
            "inputs": [bounded(_shown(key)) for key in read.values()][:MAX_NAMES],
            "outputs": [bounded(_shown(output))],
        }
        key = sub_operation_key(operation, f"sink {output.identity}", name=bounded(_shown(output), 1_000))
        return SubOperation(key, attributes, [Flow(each) for each in read.values()], [Flow(output)])

    def _deciding(
        self, operation: Key, part: str, output: Key, decided: Iterable[str], rows: list[ColumnSource]
    ) -> SubOperation:
        """Return the sub-operation for control over some columns of an output, or over the whole output."""
        names = list(decided)
        key = sub_operation_key(operation, part, name="predicate")
        columns = {column.identity: column for column in (self._column(output, name) for name in names)}
        written = [*columns.values()] or [output]
        shown = [self._shown(output, name) for name in names] or [output.name]
        attributes = self._shared("PREDICATE", rows, shown)
        return SubOperation(
            key, attributes, self._flows(rows, RelationType.CONTROL_FLOW), [Flow(each) for each in written]
        )

    @property
    def has_columns(self) -> bool:
        """Whether the column sources of any output are given."""
        return any(known.columns for known in self._told.values())

    def _column(self, above: Key, name: str) -> Key:
        if above.type in (EntityType.TABLE, EntityType.VIEW) and (above.identity, name) not in self._dotted:
            # This is a field of a struct; a metastore only has the column.
            name = name.partition(".")[0]
        known = (above.identity, name)
        if known not in self.columns:
            self.columns[known] = self._names.column(above, name)
        return self.columns[known]

    def _flows(self, inputs: Iterable[ColumnSource], kind: RelationType) -> list[Flow]:
        # Keyed by identity, because two spellings of a column are one end.
        keys = [self._column(self.key((each.namespace, each.name)), each.field) for each in inputs]
        return [Flow(key, type=kind) for key in {key.identity: key for key in keys}.values()]

    def _shared(self, edge_type: str, inputs: Iterable[ColumnSource], outputs: list[str]) -> dict[str, Any]:
        shown = [f"{self._shown(self.key((each.namespace, each.name)), each.field)}" for each in inputs]
        how = dict.fromkeys(each.kind for each in inputs if each.control and each.kind)
        return {
            "internalType": "openlineage_sub_operation",
            "engineType": self._run.engine,
            "edgeType": edge_type,
            "inputs": [bounded(name) for name in dict.fromkeys(shown)][:MAX_NAMES],
            "outputs": [bounded(name) for name in outputs[:MAX_NAMES]],
            "decidesBy": list(how),
        }

    @staticmethod
    def _shown(key: Key, column: str) -> str:
        return f"{_shown(key)}.{column}"


def _columns_of(known: DatasetState) -> Iterator[ColumnSource]:
    """Yield the columns that control rows, and all sources of columns."""
    yield from known.rows
    for inputs in known.columns.values():
        yield from inputs


def _same_name(one: Name, other: Name) -> bool:
    return (one[0].lower(), one[1].lower()) == (other[0].lower(), other[1].lower())


def _same_end(one: Name, other: Name) -> bool:
    """Whether one name is the other name with a database, or more, before it, as ``data.public.t`` and ``public.t``
    are.
    """
    shorter, longer = sorted((one[1].lower(), other[1].lower()), key=len)
    return one[0].lower() == other[0].lower() and longer.endswith(f".{shorter}")


def _of_every_column(known: DatasetState) -> bool:
    """Whether the sources of every column are given. For a struct, they may be given for its fields."""
    said = {name.casefold() for name in known.columns}
    said |= {name.partition(".")[0] for name in said}
    return bool(said) and all(name.casefold() in said for name in known.fields)


def _shown(key: Key) -> str:
    if key.file_system_path:
        return key.file_system_path
    above = (key.parent_path or "").strip("/")
    return f"{above}.{key.name}" if above else key.name


def _strongest(kinds: Iterable[str]) -> str:
    order = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
    return max(kinds, key=lambda kind: order.index(kind) if kind in order else 1, default="")


def readable(keys: Mapping[Name, Key]) -> list[str]:
    """Return readable names of these keys, up to `MAX_NAMES`."""
    return [bounded(name) for name in dict.fromkeys(map(_shown, keys.values()))][:MAX_NAMES]
