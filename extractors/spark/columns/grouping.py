"""Rules for aggregates, windows, generators and Python functions. Each rule returns the output of an operator."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from extractors.spark.columns.expressions import (
    NOTHING,
    FoundReferences,
    ReferenceFinder,
    defined,
    flow_of,
    lacks,
    parted,
    readable,
)
from extractors.spark.columns.flow import (
    CUT_OFF,
    UNKNOWN,
    FlowKind,
    OperatorColumn,
    Uncertainty,
    merged,
    strongest,
)
from extractors.spark.columns.lists import (
    ID,
    Attribute,
    attribute,
    attributes,
    closing,
    elements,
    expressions,
    split,
)
from extractors.spark.columns.relations import RowSet, made
from extractors.spark.columns.rows import projected
from extractors.spark.columns.steps import OperatorStep, completed, opaque

_FILTER: Final = " FILTER (WHERE "
_ID: Final = re.compile(ID)
_STEP: Final = re.compile(r"(?:partial_|merge_|finalmerge_)")
_DISTINCT: Final = re.compile(r"\(distinct ")
_SPEC: Final = " windowspecdefinition("
_ORDER_ONLY: Final = re.compile(r"(?:rank|dense_rank|percent_rank)\(")
_AGGREGATE: Final = re.compile(
    r"\b(?:any|any_value|approx_\w+|array_agg|avg|bit_and|bit_or|bit_xor|bitmap_\w+_agg|bloom_filter_agg|bool_and|bool_or|collect_\w+"
    r"|corr|count|count_if|count_min_sketch|covar_\w+|every|first|first_value|histogram_numeric|hll_\w+_agg|kurtosis|last"
    r"|last_value|listagg|max|max_by|mean|median|min|min_by|mode|percentile\w*|pivotfirst|product|regr_\w+|skewness|some"
    r"|std|stddev\w*|sum|try_avg|try_sum|var_\w+|variance|grouping_id)\("
    r"|\)#\d"  # a Python function
)
_ORDER: Final = re.compile(r" (?:ASC|DESC) NULLS (?:FIRST|LAST)\Z")
_GENERATOR: Final = re.compile(r", (?:true|false), (?:[\w$.`-]+, )?(?=\[)")


def aggregate(step: OperatorStep) -> RowSet:
    """Return the output of one step of an aggregate. The ``Results`` of the last step name the arguments as in the
    first step.
    """
    if "Results" not in step.fields and "Functions" not in step.fields:
        return _logical_aggregate(step)
    over = step.input
    keys = _keys(step)
    functions = step.listed("Functions")
    attributes_ = step.columns("Aggregate Attributes")
    results = step.expressions("Results")
    if keys is None or functions.more < 0 or attributes_ is None or results.more < 0:
        return step.result(made(None, {}, {}, over))
    key_columns, group = keys
    scope = replace(over, flows=key_columns.flows, names=key_columns.names, below=over)
    reader = step.reader(scope)
    filters = dict(over.filters)
    flows: list[OperatorColumn] = []
    founds: list[FoundReferences] = []
    before = over.functions if len(over.functions) == len(functions.texts) else ()
    for place, text in enumerate(functions.texts):
        flow, found = _computed(text, reader, group, filters)
        if found.unresolved and before:
            # Above a reused exchange, the ids of the arguments belong to a plan that was not kept.
            flow = replace(before[place], control=before[place].control | flow.control)
        elif found.unresolved:
            flow = merged((flow, UNKNOWN))
        flows.append(flow)
        founds.append(found)
    if before:
        # Only the first step has the arguments below it, so truncated arguments can only be recovered there.
        for place in [place for place, text in enumerate(functions.texts) if lacks(text)]:
            flows[place] = replace(
                flows[place],
                data=flows[place].data | before[place].data,
                uncertainty=flows[place].uncertainty | before[place].uncertainty,
            )
    else:
        flows = completed(step, functions.texts, founds, flows, group.ids)
    computed = dict(key_columns.flows)
    names = dict(key_columns.names)
    final = not any(_STEP.match(text) for text in functions.texts)
    if final and len(attributes_) == len(flows):
        for column, flow in zip(attributes_, flows, strict=True):
            computed[column.id], names[column.id] = flow, column.name
    done = replace(scope, flows=computed, names=names, filters=filters)
    given = projected(replace(step, wanted=None), results, done)
    given = given if final else replace(given, needed=frozenset())
    # A partial step outputs buffers, and only the next step names them.
    handed_on = () if final else tuple(flows)
    return step.result(replace(given, below=scope, filters=filters, functions=handed_on))


def _keys(step: OperatorStep) -> tuple[RowSet, FoundReferences] | None:
    """Return the grouping columns, and the references in all of them. Return None if the list cannot be split."""
    listed = step.listed("Keys")
    if listed.more < 0:
        return None
    reader = step.reader()
    flows: dict[int, OperatorColumn] = {}
    names: dict[int, str] = {}
    group = NOTHING
    for text in listed.texts:
        column, flow, found = defined(text, reader)
        if column is not None:
            flows[column.id], names[column.id] = flow, column.name
        group |= found
    return RowSet(None, flows, names), group


def _computed(
    text: str, reader: ReferenceFinder, group: FoundReferences, filters: dict[str, int]
) -> tuple[OperatorColumn, FoundReferences]:
    """Return the flow of one function of an aggregate, and the references in the function. Only the first step prints
    a FILTER, which also controls the value of the last step. ``filters`` maps functions to the sources of their
    FILTERs.
    """
    bare, condition = _filtered(text)
    bare = _DISTINCT.sub("(", _STEP.sub("", bare, count=1))
    if condition:
        filters[bare] = filters.get(bare, 0) | reader.read(condition).all
    found = _values(bare, reader)
    control = found.control | group.all | filters.get(bare, 0)
    uncertainty = found.uncertainty | group.uncertainty
    return OperatorColumn(
        found.data, control, FlowKind.AGGREGATION, uncertainty, readable(bare), literal=found.literal
    ), found


def _values(function: str, reader: ReferenceFinder) -> FoundReferences:
    """Return the references in an aggregate function. Arguments that only select or order the values are control flow."""
    name, _, rest = function.partition("(")
    if name not in ("pivotfirst", "listagg", "string_agg") or not rest.endswith(")"):
        return reader.read(function)
    first, *others = split(rest[:-1])
    if name == "pivotfirst":
        # The first argument selects the column; the second one is the value.
        return reader.read(" ".join(others)) | reader.read(first).as_control()
    order = " ".join(each for each in others if _ORDER.search(each))
    values = " ".join((first, *(each for each in others if not _ORDER.search(each))))
    return reader.read(values) | reader.read(order).as_control()


def _logical_aggregate(step: OperatorStep) -> RowSet:
    """Return the output of an aggregate in a logical plan. Its arguments are keys and results: ``[k#1], [k#1, sum(v#2)
    AS s#3]``.
    """
    lists = [text for text in step.arguments if text.startswith("[")]
    over = step.input
    keys = elements(lists[0]) if len(lists) > 1 else elements("[]")
    reader = step.reader()
    group = NOTHING
    for text in keys.texts:
        group |= reader.read(text)
    plain = set(keys.texts)
    results = expressions(lists[-1], -1, step.wanted or ()) if lists else elements("")
    given = projected(step, results, over)
    flows = dict(given.flows)
    for text in results.texts:
        expression, column = parted(text)
        if column is None or expression is text or expression in plain or column.id not in flows:
            continue
        flow = flows[column.id]
        if _AGGREGATE.search(expression):
            kind = FlowKind.AGGREGATION
            value, condition = _filtered(expression)
            found = _values(value, reader)
            control = found.control | group.all | reader.read(condition).all
            uncertainty = flow.uncertainty | group.uncertainty
            flows[column.id] = OperatorColumn(
                found.data, control, kind, uncertainty, flow.expression, literal=found.literal
            )
    uncertainty = Uncertainty.NONE if keys.whole else CUT_OFF.uncertainty
    return replace(given, flows=flows).with_rows(0, uncertainty)


def window(step: OperatorStep) -> RowSet:
    """Return the output of a window such as ``[sum(v#1) windowspecdefinition(k#2, …) AS s#3], [k#2], [d#4 ASC]``.
    Partition and order are control flow.
    """
    over = step.input
    arguments = step.arguments
    listed = expressions(arguments[0], -1) if arguments else elements("")
    flows = dict(over.flows)
    names = dict(over.names)
    added: list[Attribute] = []
    if listed.more >= 0:
        reader = step.reader()
        computed: list[OperatorColumn] = []
        founds: list[FoundReferences] = []
        for text in listed.texts:
            expression, column = parted(text)
            flow, found = _over_window(expression, reader)
            computed.append(flow)
            founds.append(found)
            added.append(column or Attribute("", -1))
            if lacks(text):
                computed[-1] = replace(flow, uncertainty=flow.uncertainty | CUT_OFF.uncertainty)
        for column, flow in zip(added, computed, strict=True):
            flows[column.id], names[column.id] = flow, column.name
    columns = None if over.columns is None or not listed.whole else (*over.columns, *added)
    return step.result(replace(over, columns=columns, flows=flows, names=names, needed=frozenset()))


def _over_window(expression: str, reader: ReferenceFinder) -> tuple[OperatorColumn, FoundReferences]:
    values, specifications, position = [], [], 0
    while (start := expression.find(_SPEC, position)) >= 0:
        values.append(expression[position:start])
        position = closing(expression, start + len(_SPEC) - 1)
        specifications.append(expression[start:position])
    values.append(expression[position:])
    function, condition = _filtered("".join(values))
    control = reader.read(" ".join((*specifications, condition))).as_control()
    found = reader.read(function)
    if _ORDER_ONLY.match(function):
        found = found.as_control()
    kind = (
        FlowKind.AGGREGATION
        if _AGGREGATE.match(function)
        else strongest((found.kind, FlowKind.TRANSFORMATION))
    )
    flow = OperatorColumn(
        found.data,
        found.control | control.all,
        kind,
        found.uncertainty | control.uncertainty,
        readable(expression),
        literal=found.literal,
    )
    return flow, found | control


def _filtered(text: str) -> tuple[str, str]:
    """Split an expression into (text without ``FILTER (WHERE …)``, conditions of these filters)."""
    conditions: list[str] = []
    while (start := text.find(_FILTER)) >= 0:
        end = closing(text, start + len(_FILTER) - len("(WHERE "))
        conditions.append(text[start + len(_FILTER) : end])
        text = text[:start] + text[end:]
    return text, " ".join(conditions)


def generate(step: OperatorStep) -> RowSet:
    """Return the output of a generator such as ``explode(arr#1), [id#2], false, [e#3]``. The first list has the input
    columns that are kept, the last one the generated columns.
    """
    over = step.input
    text = step.text("Arguments")
    if text.startswith("replicaterows("):
        return _repeated(step, text)
    marks = list(_GENERATOR.finditer(text))
    out = attributes(text[marks[-1].end() :]) if marks else None
    if out is None:
        return step.result(over)
    generator = text[: marks[-1].start()]
    kept: tuple[Attribute, ...] | None = ()
    start = generator.rfind(", [")
    if start >= 0 and generator.endswith("]") and _are_columns(generator[start + 2 :]):
        kept = attributes(generator[start + 2 :])
        generator = generator[:start]
    flows = dict(over.flows)
    names = {**over.names, **{column.id: column.name for column in out}}
    name, _, rest = generator.partition("(")
    arguments = list(split(rest[:-1])) if rest.endswith(")") else []
    reader = step.reader()
    if name == "stack" and arguments[:1] and arguments[0].isdigit():
        for place, column in enumerate(out):
            flow = flow_of(f"({', '.join(arguments[1 + place :: len(out)])})", reader)[0]
            flows[column.id] = merged([flow, CUT_OFF]) if lacks(generator) else flow
    else:
        flow, found = flow_of(generator, reader)
        passed = None if kept is None else [column.id for column in kept]
        flow = completed(step, [generator], [found], [flow], passed or [])[0]
        if passed is None and lacks(generator):
            flow = replace(flow_of(generator, reader)[0], uncertainty=CUT_OFF.uncertainty)
        parts = [part for _, part in flow.fields] if name.startswith("inline") else []
        for place, column in enumerate(out):
            flows[column.id] = parts[place] if len(parts) == len(out) else flow
    columns = None if kept is None or "Input" not in step.fields else (*kept, *out)
    return step.result(replace(over, columns=columns, flows=flows, names=names, needed=frozenset()))


def _repeated(step: OperatorStep, text: str) -> RowSet:
    """Return the output of EXCEPT ALL or INTERSECT ALL, printed as ``replicaterows(sum#9, id#1, k#2), …``. Each column
    keeps its id.
    """
    over = step.input
    first = over.first_query()
    flows = {number: first.get(number, flow) for number, flow in over.flows.items()}
    count = step.reader().read(next(split(text[len("replicaterows(") :])))
    given = replace(over, flows=flows, columns=None, needed=frozenset())
    return step.result(given.with_rows(count.all, count.uncertainty))


def _are_columns(text: str) -> bool:
    """Whether a list contains only columns, like the list of columns that a generator keeps."""
    listed = elements(text)
    return listed.more >= 0 and all(attribute(each) for each in listed.texts)


def evaluate_python(step: OperatorStep) -> RowSet:
    """Return the output of calls of Python functions such as ``[f(b#1)#2, g(c#3)#4], [pythonUDF0#5, pythonUDF1#6]``.
    Each call gives one column.
    """
    over = step.input
    arguments = step.arguments
    calls = elements(arguments[0]) if arguments else elements("")
    listed = elements(arguments[1]) if len(arguments) > 1 else elements("")
    out = [attribute(text) for text in listed.texts]
    flows, names = dict(over.flows), dict(over.names)
    added: list[Attribute] = []
    if calls.more >= 0 and calls.more == listed.more and len(calls.texts) == len(out):
        for text, column in zip(calls.texts, out, strict=True):
            call = attribute(text)
            flow, _ = flow_of(call.name if call else text, step.reader())
            uncertainty = flow.uncertainty | (CUT_OFF.uncertainty if lacks(text) else Uncertainty.NONE)
            flow = replace(
                flow, kind=strongest((flow.kind, FlowKind.TRANSFORMATION)), uncertainty=uncertainty
            )
            added.append(column or Attribute("", -1))
            flows[added[-1].id], names[added[-1].id] = flow, added[-1].name
    whole = over.columns is not None and calls.whole
    columns = (*(over.columns or ()), *added) if whole else None
    given = replace(over, columns=columns, flows=flows, names=names, needed=frozenset())
    return step.result(given)


def aggregate_python(step: OperatorStep) -> RowSet:
    """Return the output of a Python aggregate. Its arguments are keys, calls and results: ``[k#1], [f(v#2)#3], [k#1,
    f(v)#3 AS m#4]``.
    """
    lists = [text for text in step.arguments if text.startswith("[")]
    over = step.input
    if len(lists) < 3:
        return step.result(made(None, {}, {}, over), opaque(over))
    reader = step.reader()
    group = NOTHING
    flows, names = dict(over.flows), dict(over.names)
    for text in elements(lists[0]).texts:
        column, flow, found = defined(text, reader)
        group |= found
        if column is not None:
            flows[column.id], names[column.id] = flow, column.name
    for text in elements(lists[1]).texts:
        call = attribute(text)
        if call is None:
            continue
        found = reader.read(call.name)
        control = found.control | group.all
        flow = OperatorColumn(
            found.data,
            control,
            FlowKind.AGGREGATION,
            found.uncertainty,
            readable(call.name),
            literal=found.literal,
        )
        flows[call.id], names[call.id] = flow, readable(call.name)
        # Since Spark 4, the name of the result consists of the call and its id, and is followed by another id.
        if (place := lists[2].find(f"{text}#")) >= 0 and (own := _ID.match(lists[2], place + len(text))):
            flows[int(own[1])], names[int(own[1])] = flow, text
    scope = replace(over, flows=flows, names=names, needed=frozenset())
    return projected(step, expressions(lists[2], -1, step.wanted or ()), scope)
