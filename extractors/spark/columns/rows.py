"""Rules for operators that pass on, select, join or concatenate rows. Each rule returns the output of an operator."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from extractors.spark.columns.changes import MARKER, changed
from extractors.spark.columns.expressions import FoundReferences, defined, parted
from extractors.spark.columns.flow import (
    BY_UNKNOWN_OPERATOR,
    CONSTANT,
    CUT_OFF,
    UNKNOWN,
    FlowKind,
    OperatorColumn,
    Uncertainty,
    merged,
)
from extractors.spark.columns.lists import Attribute, Elements, attributes, elements, expressions
from extractors.spark.columns.relations import RowSet, made
from extractors.spark.columns.steps import OperatorStep, beside, completed, opaque

_EXISTENCE: Final = re.compile(r"ExistenceJoin\(([^#()]{1,200})#(\d{1,18})\)")
_LEFT_ONLY: Final = re.compile(r"\bLeft(?:Semi|Anti)\b")
_JOIN_TYPE: Final = re.compile(
    r"(?:Left|Right|Full)?(?:Outer|Semi|Anti|Single)|Inner|Cross|ExistenceJoin\([^)]*\)"
)
_SEQUENCE: Final = re.compile(r"([^#,()\[\]]{1,200})#(\d{1,18})L?(?=[:,]|\Z)")
_MARKER: Final = re.compile(r"vcol\d?")
_GLOBAL: Final = re.compile(r", true(?:, \d+)?\Z")


def project(step: OperatorStep) -> RowSet:
    """Return the output of a projection such as ``Output [2]: [id#1, (v#2 + 1) AS w#3]``. In a logical plan, the list
    is among the arguments.
    """
    if "Output" in step.fields:
        listed = step.expressions("Output")
    else:
        text = step.text("Arguments")
        if not (text.startswith("[") and text.endswith("]")):
            return step.result(made(None, {}, {}, step.input))
        listed = expressions(text, -1, step.wanted or ())
    return projected(step, listed, step.input)


def projected(step: OperatorStep, listed: Elements, over: RowSet) -> RowSet:
    """Return the columns that a list defines. If the list was cut, further columns are passed on or unknown."""
    if listed.more < 0:
        return step.result(made(None, {}, {}, over))
    reader = step.reader(over)
    columns: list[Attribute] = []
    flows: list[OperatorColumn] = []
    founds: list[FoundReferences] = []
    changes = step.sources.changes_rows and step.name == "Project"
    merges = changes and MARKER.search(step.operator.block) is not None
    for text in listed.texts:
        column, flow, found = defined(text, reader)
        if changes and column is not None and (merges or " else " in text):
            flow = changed(column.name, parted(text)[0], reader, merges=merges)
        columns.append(column or Attribute("", -1))
        flows.append(flow)
        founds.append(found)
    flows = completed(step, listed.texts, founds, flows)
    by_id = {column.id: flow for column, flow in zip(columns, flows, strict=True)}
    names = {column.id: column.name for column in columns}
    if listed.whole:
        return step.result(_with_fields(made(tuple(columns), by_id, names, over), over)).all_needed()
    passed = {each.id: over.flows[each.id] for each in step.wanted or () if each.id in over.flows}
    return step.result(made(None, {**passed, **by_id}, names, over))


def _with_fields(relation: RowSet, over: RowSet) -> RowSet:
    """Give the struct ``named_struct(a, a#1, b, b#2) AS mergedValue#3`` one field per input column, named like the
    column, even if the list is cut.
    """
    columns = relation.columns or ()
    if len(columns) != 1 or columns[0].name != "mergedValue" or not over.columns:
        return relation
    fields: dict[str, list[OperatorColumn]] = {}
    for column in over.columns:
        fields.setdefault(column.name, []).append(over.flows.get(column.id, UNKNOWN))
    flow = replace(
        relation.flows[columns[0].id], fields=tuple((name, merged(flows)) for name, flows in fields.items())
    )
    return replace(relation, flows={columns[0].id: flow})


def select(step: OperatorStep) -> RowSet:
    """Return the output of a filter. The columns in the condition determine which rows exist."""
    found = step.reader().condition(step.text("Condition") or step.text("Arguments"))
    return step.result(_without(step.input, found).with_rows(found.all, found.uncertainty))


def _without(relation: RowSet, found: FoundReferences) -> RowSet:
    """Return a copy in which the columns that an operator itself names do not count as needed, because the input may
    contain them only for this operator.
    """
    return replace(relation, needed=relation.needed - found.ids)


def sort(step: OperatorStep) -> RowSet:
    """Return the output of a sort. Only a sort of all rows belongs to the statement; other sorts prepare a join, a
    window or a write.
    """
    text = step.text("Arguments")
    found = step.reader().read(text)
    over = _without(step.input, found)
    if not _GLOBAL.search(text):
        return step.result(over)
    return step.result(over.with_rows(found.all, found.uncertainty))


def take_ordered(step: OperatorStep) -> RowSet:
    """Return the output of TakeOrderedAndProject. Its arguments are limit, order and columns: ``10, [v#3 ASC NULLS
    FIRST], [id#1, k#2]``.
    """
    lists = [text for text in step.arguments if text.startswith("[")]
    if len(lists) < 2:
        return step.result(made(None, {}, {}, step.input))
    found = step.reader().read(lists[0])
    over = step.input.with_rows(found.all, found.uncertainty)
    return projected(step, expressions(lists[1], -1, step.wanted or ()), over)


def join(step: OperatorStep) -> RowSet:
    """Return the output of a join. Keys and condition determine which rows exist. A semi or anti join outputs only the
    columns of the left side.
    """
    if len(step.inputs) != 2:
        return step.result(made(None, {}, {}, step.input))
    left, right = step.inputs
    both = beside(step.inputs)
    kind = _join_type(step)
    texts = [step.text(name) for name in ("Left keys", "Right keys", "Join condition", "Condition")]
    if "Left keys" not in step.fields and "Join condition" not in step.fields:
        texts.append(step.text("Arguments").removeprefix(kind))
    found = step.reader(both).condition(" ".join(texts))
    both, left = _without(both, found), _without(left, found)
    if existence := _EXISTENCE.search(kind):
        number = int(existence[2])
        uncertainty = found.uncertainty | right.uncertainty
        flow = OperatorColumn(0, found.all | right.rows, FlowKind.TRANSFORMATION, uncertainty, literal=True)
        columns = None if left.columns is None else (*left.columns, Attribute(existence[1], number))
        flows, names = {**left.flows, number: flow}, {**left.names, number: existence[1]}
        return step.result(
            RowSet(columns, flows, names, left.rows, left.uncertainty, left.below, hidden=left.hidden)
        )
    if _LEFT_ONLY.search(kind):
        return step.result(left.with_rows(right.rows | found.all, right.uncertainty | found.uncertainty))
    return step.result(both.with_rows(found.all, found.uncertainty))


def _join_type(step: OperatorStep) -> str:
    if given := step.text("Join type"):
        return given
    for text in (step.operator.name, step.text("Arguments")):
        if match := _JOIN_TYPE.search(text):
            return match[0]
    return ""


def union(step: OperatorStep) -> RowSet:
    """Return the output of a union. Columns are merged by position. Their ids are those that the consumer lists, or
    else those of the first input.
    """
    columns = step.wanted
    if columns is None and step.inputs:
        columns = step.inputs[0].columns
    given = [each.in_order() for each in step.inputs]
    rows = uncertainty = 0
    for each in step.inputs:
        rows |= each.rows
        uncertainty |= each.uncertainty
    if columns is None:
        return RowSet(None, {}, {}, rows, uncertainty)
    names = {column.id: column.name for column in columns}
    lists = [each for each in given if each is not None and len(each) == len(columns)]
    if len(lists) != len(step.inputs) or not lists:
        return RowSet(columns, dict.fromkeys(names, UNKNOWN), names, rows, uncertainty)
    flows = {column.id: merged(each[at] for each in lists) for at, column in enumerate(columns)}
    marker = columns[0].name if columns else ""
    return RowSet(columns, flows, names, rows, uncertainty, first=_first_query(columns, marker, lists))


def _first_query(
    columns: tuple[Attribute, ...], marker: str, lists: list[list[OperatorColumn]]
) -> Mapping[int, OperatorColumn]:
    """Return column id → flow for the values of an EXCEPT ALL or INTERSECT ALL, which come from the first query. The
    other query only determines which rows exist.

    Spark converts both statements to a union with a marker column (1 and -1, or true and null), counts the markers
    above the union, and repeats the rows. Values are equal on both sides; the statement defines that they come from
    the first query.
    """
    if not _MARKER.fullmatch(marker):
        return {}
    chosen = [each for each in lists if each[0].expression in ("1", "true", "")]
    control = 0
    for flows in lists:
        if flows not in chosen:
            for flow in flows:
                control |= flow.data | flow.control
    found = [merged(each[at] for each in chosen) if chosen else UNKNOWN for at in range(len(columns))]
    return {
        column.id: replace(flow, control=flow.control | control)
        for column, flow in zip(columns, found, strict=True)
    }


def set_difference(step: OperatorStep) -> RowSet:
    """Return the output of INTERSECT or EXCEPT in a logical plan: the rows of the first input, selected by all columns
    of both inputs.
    """
    if len(step.inputs) != 2:
        return step.result(made(None, {}, {}, step.input))
    left, right = step.inputs
    rows, uncertainty = right.rows, right.uncertainty
    for flow in (*(left.in_order() or ()), *(right.in_order() or ())):
        rows |= flow.data | flow.control
        uncertainty |= flow.uncertainty & Uncertainty.MISSING
    return step.result(left.with_rows(rows, uncertainty))


def lateral_join(step: OperatorStep) -> RowSet:
    """Return the output of a lateral join such as ``lateral-subquery#3 [k#1], Inner``. Each row is joined with the
    rows of a nested plan.
    """
    both = beside((*step.inputs, *step.inner))
    found = step.reader(both).condition(step.text("Arguments"))
    return step.result(both.with_rows(found.control, found.uncertainty))


def last_of_several(step: OperatorStep) -> RowSet:
    """Return the output of ``WITH``. The query is the last input, after the definitions."""
    return step.result(step.inputs[-1] if step.inputs else step.input)


def distinct_by(step: OperatorStep) -> RowSet:
    """Return the output of ``Deduplicate [k#1]``. The listed columns determine which values of all other columns are
    kept.
    """
    over = step.input
    found = step.reader().read(step.text("Arguments"))
    flows = {
        number: flow if number in found.ids else replace(flow, control=flow.control | found.all)
        for number, flow in over.flows.items()
    }
    return step.result(replace(over, flows=flows))


def expand(step: OperatorStep) -> RowSet:
    """Return the output of Expand, as in ``[[k#1, n#2, 0], [k#1, null, 1]], [k#5, n#6, spark_grouping_id#7]``. Each
    column of the last list takes the values at its position in all sets.
    """
    arguments = step.arguments
    over = step.input
    sets = elements(arguments[0]) if arguments else elements("")
    out = elements(arguments[1]) if len(arguments) > 1 else elements("")
    if sets.more < 0 or out.more < 0:
        return step.result(made(None, {}, {}, over))
    reader = step.reader()
    lists = [elements(text) for text in sets.texts]
    if out.whole and any(each.whole and len(each.texts) != len(out.texts) for each in lists):
        return step.result(made(None, {}, {}, over))  # a name contains a comma
    hidden = _expanded(step)
    flows: dict[int, OperatorColumn] = {}
    names: dict[int, str] = {}
    columns: list[Attribute] = []
    named: dict[int, frozenset[int]] = {}
    varied: list[int] = []
    for position, text in enumerate(out.texts):
        column, _, _ = defined(text, reader)
        if column is None:
            return step.result(made(None, {}, {}, over))
        made_of = dict.fromkeys(each.texts[position] for each in lists if position < len(each.texts))
        parts = [defined(f"{one} AS #{column.id}", reader)[1:] for one in made_of]
        found = [flow for flow, _ in parts]
        named[column.id] = frozenset[int]().union(*(each.ids for _, each in parts))
        flow = merged([each for each in found if not each.literal] or [CONSTANT])
        if sets.more and (sum(1 for each in found if each.data) > 1 or list(made_of) == ["null"]):
            # The sets that were cut off have other values at this position.
            varied.append(column.id)
            flow = replace(flow, uncertainty=flow.uncertainty | CUT_OFF.uncertainty)
        columns.append(column)
        flows[column.id], names[column.id] = flow, column.name
    flows |= _of_hidden_sets(over, flows, named, varied, sets.more)
    flows |= {number: hidden[number] for number in varied if number in hidden}
    if out.whole:
        return step.result(made(tuple(columns), flows, names, over))
    flows |= {number: flow for number, flow in hidden.items() if number not in flows}
    return step.result(made(None, flows, names, over))


def _of_hidden_sets(
    over: RowSet,
    flows: Mapping[int, OperatorColumn],
    named: Mapping[int, frozenset[int]],
    varied: list[int],
    count: int,
) -> dict[int, OperatorColumn]:
    """Return id → flow of the only column that differs between the sets; empty if it is unknown. It is known only if
    exactly ``count`` columns, one for each set that was cut off, are passed to the operator by Spark without being
    named elsewhere in it.
    """
    if len(varied) != 1 or over.columns is None or not named[varied[0]]:
        return {}
    shown = frozenset[int]().union(*named.values())
    lost = [each.id for each in over.columns if each.id in over.needed and each.id not in shown]
    if len(lost) != count:
        return {}
    flow = merged(
        [replace(flows[varied[0]], uncertainty=Uncertainty.INFERRED), *(over.flows[each] for each in lost)]
    )
    return {varied[0]: flow}


def _expanded(step: OperatorStep) -> dict[int, OperatorColumn]:
    """Return id → flow for the columns after the cut. Each one is passed on, or represents the only column of its name
    in the input that is not passed on.
    """
    over = step.input
    passing = {each.id for each in step.wanted or ()}
    by_name: dict[str, list[int]] = {}
    for column in over.columns or ():
        if column.id not in passing:
            by_name.setdefault(column.name, []).append(column.id)
    found: dict[int, OperatorColumn] = {}
    exact = {wanted.name for wanted in step.wanted or ()}
    for wanted in step.wanted or ():
        last = wanted.name.rpartition(".")[2]
        # A name may be qualified by a table's name. But "a.k" may also be a field of a struct, alongside a column "k".
        alike = by_name.get(wanted.name) or (by_name.get(last, []) if last not in exact else [])
        if wanted.id in over.flows:
            found[wanted.id] = over.flows[wanted.id]
        elif wanted.name in ("spark_grouping_id", "gid", "_gen_grouping_pos"):
            found[wanted.id] = CONSTANT
        elif len(alike) == 1:
            flow = over.flows.get(alike[0], UNKNOWN)
            found[wanted.id] = replace(flow, uncertainty=flow.uncertainty | Uncertainty.INFERRED)
    return found


def in_memory_scan(step: OperatorStep) -> RowSet:
    """Return the output of a scan of a cached plan: the columns of the plan, under the ids of this use."""
    if len(step.inner) != 1:
        return step.result(made(None, {}, {}, step.input))
    cached = step.inner[0]
    listed = step.columns("Output")
    return cached.with_columns(listed, UNKNOWN).all_needed() if listed else cached


def in_memory_relation(step: OperatorStep) -> RowSet:
    """Return the output of a cached plan such as ``[a#70, b#71], StorageLevel(…)``. Columns are matched by position,
    because the plan itself may have other ids.
    """
    over = (*step.inputs, *step.inner)[-1:] or (None,)
    cached = over[0]
    arguments = step.arguments
    if cached is None or not arguments:
        return step.result(RowSet(None, {}, {}))
    listed = elements(arguments[0])
    shown = attributes(f"[{', '.join(listed.texts)}]") if listed.more >= 0 else None
    given = cached.in_order()
    flows: dict[int, OperatorColumn] = {}
    names: dict[int, str] = {}
    if shown is None or given is None or len(given) != len(shown) + listed.more:
        return step.result(RowSet(None, {}, {}, cached.rows, cached.uncertainty))
    for column, flow in zip(shown, given, strict=False):
        flows[column.id], names[column.id] = flow, column.name
    for wanted in step.wanted or ():
        if wanted.id not in flows and (hidden := _cached(wanted, shown, cached)):
            flows[wanted.id], names[wanted.id] = hidden, wanted.name
    return step.result(RowSet(shown if listed.whole else None, flows, names, cached.rows, cached.uncertainty))


def _cached(wanted: Attribute, shown: tuple[Attribute, ...], cached: RowSet) -> OperatorColumn | None:
    """Return the flow of a column after the cut; None if it is uncertain. In the first use of a cached plan, columns
    have the plan's own ids; in every other use, the ids are consecutive.

    Consecutive ids are not sufficient proof, because columns may have been dropped or renamed. The column at that
    position must also have the same name, and no other column may have that name.
    """
    columns = cached.columns or ()
    if any(each.id == wanted.id for each in columns):
        return cached.flows.get(wanted.id)
    place = wanted.id - shown[0].id if shown else -1
    if not len(shown) <= place < len(columns):
        return None
    places = [at for at, each in enumerate(columns) if each.name.lower() == wanted.name.lower()]
    if places != [place]:
        return None
    flow = cached.flows.get(columns[place].id, UNKNOWN)
    return OperatorColumn(
        flow.data, flow.control, flow.kind, flow.uncertainty | Uncertainty.INFERRED, flow.expression
    )


def passing(step: OperatorStep) -> RowSet:
    """Return the output of an operator that passes its rows on unchanged."""
    return step.result(_without(step.input, step.reader().read(step.text("Arguments"))))


def with_sequence(step: OperatorStep) -> RowSet:
    """Return the output of AttachDistributedSequence, as in ``distributed_sequence_id#5: bigint, true``: a column of
    row numbers, followed by the columns of the input.
    """
    over = step.input
    match = _SEQUENCE.match(step.text("Arguments"))
    if match is None:
        return unknown(step)
    number = Attribute(match[1], int(match[2]))
    columns = None if over.columns is None else (number, *over.columns)
    flows, names = {**over.flows, number.id: CONSTANT}, {**over.names, number.id: number.name}
    return step.result(replace(over, columns=columns, flows=flows, names=names))


def bin_by(step: OperatorStep) -> RowSet:
    """Return the output of Spark 4.3's BIN BY, as in ``300000000, at#1: timestamp, until#2: timestamp, 0, [v#3],
    [v#4], [bin_start#5, bin_end#6, ratio#7], UTC``. In a physical plan, the number 0 precedes the two times.

    Each row becomes one row for each bin that its time range touches. The values to distribute (the first list) become
    new columns (the second list), scaled by the share of the time range that is in the bin. The columns of the last
    list depend only on the times.
    """
    over = step.input
    times = step.reader().read(" ".join(text for text in step.arguments if not text.startswith("[")))
    lists = [attributes(text) for text in step.arguments if text.startswith("[")]
    if len(lists) != 3 or None in lists or len(times.ids) != 2:
        return unknown(step)
    shared, scaled, bins = ((each or ()) for each in lists)
    if len(shared) != len(scaled) or over.columns is None:
        return unknown(step)
    of_times = OperatorColumn(times.data, times.control, FlowKind.TRANSFORMATION, times.uncertainty)
    flows, names = dict(over.flows), dict(over.names)
    for old, new in zip(shared, scaled, strict=True):
        value = replace(over.flows.get(old.id, UNKNOWN), kind=FlowKind.TRANSFORMATION, expression="")
        flows[new.id] = merged([value, of_times])
    flows |= dict.fromkeys((each.id for each in bins), of_times)
    names |= {each.id: each.name for each in (*scaled, *bins)}
    replaced = dict(zip((each.id for each in shared), scaled, strict=True))
    columns = (*(replaced.get(each.id, each) for each in over.columns), *bins)
    return step.result(replace(over, columns=columns, flows=flows, names=names))


def unknown(step: OperatorStep) -> RowSet:
    """Return the output of an operator without a rule. Columns whose ids are known are passed on; new columns are
    unknown.
    """
    uncertainty = BY_UNKNOWN_OPERATOR.uncertainty if step.wanted is None else Uncertainty.NONE
    given = replace(step.input, needed=frozenset(), uncertainty=step.input.uncertainty | uncertainty)
    return step.result(given, BY_UNKNOWN_OPERATOR)


def by_program(step: OperatorStep) -> RowSet:
    """Return the output of a program's code. Each new column may come from any column that was passed to the code."""
    over = step.input
    given = " ".join(text for text in step.arguments if not text.startswith("["))
    flow = opaque(over, None if "SerializeFromObject" in step.name else step.reader().read(given))
    wanted = step.wanted
    if wanted is None:
        # A table function outputs the kept columns in addition to its own columns.
        count = 2 if "UDTF" in step.name else 1
        lists = [attributes(text) for text in step.arguments if text.startswith("[")][-count:]
        wanted = (
            None
            if None in lists or not lists
            else tuple(
                Attribute(each.name.rpartition(" AS ")[2], each.id) for one in lists for each in one or ()
            )
        )
    if wanted is None:
        return made(None, {}, {}, over)
    names = {each.id: each.name for each in wanted}
    return made(wanted, {each: over.flows.get(each, flow) for each in names}, names, over)
