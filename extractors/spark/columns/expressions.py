"""Find references to columns in an expression.

An id counts only if it belongs to a column of the operator and follows that column's name, because a literal may
contain anything. Everything in an expression contributes to its value, including the conditions of CASE and IF.
Exceptions are the partition and order of a window, the filter of an aggregate and the rows of a subquery, which only
decide which values are used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from extractors.spark.columns.flow import (
    CUT_OFF,
    FlowKind,
    OperatorColumn,
    PlanColumn,
    Sources,
    Uncertainty,
    merged,
    strongest,
)
from extractors.spark.columns.lists import Attribute, attribute, cuts, split
from extractors.spark.columns.relations import RowSet
from extractors.spark.plan.secrets import without_secrets

MAX_EXPRESSION: Final = 4096
MAX_NAME: Final = 400
MAX_WRAPPERS: Final = 8
MAX_NESTED: Final = 4
_STRUCTS: Final = (
    "named_struct(",
    "struct(",
    "arrays_zip(",
    "array(",
    "explode(",
    "explode_outer(",
    "inline(",
    "inline_outer(",
)
_REFERENCE: Final = re.compile(
    r"subquery#(?P<subquery>\d{1,18})(?:, \[id=#\d{1,18}\])?(?: \[(?P<outer>[^\[\]]*)\])?"
    r"|(?P<predicate>exists|list)#(?P<logical>\d{1,18}) \[(?P<outer_of>[^\[\]]*)\]"
    r"|dynamicpruning#\d{1,18}"
    r"|#(?P<id>\d{1,18})L?(?!\w)"
)
_NAME: Final = re.compile(r"(?<![^\s(,\[])[^\W\d][\w$]*\Z")
_UNRESOLVED: Final = re.compile(r"(?:(?<!lambda )(?<!\w)\w{1,200}|[^\w\s(,\[])\Z")
_BEFORE: Final = re.compile(
    r"(?:\A|[(\[,=<>+\-*/%!&|~^]|\b(?:AND|OR|NOT|CASE|WHEN|THEN|ELSE|LIKE|RLIKE|distinct|if)) ?\Z"
)
"""Text that may precede a column's name. Any other text is part of the name."""
_OBJECT: Final = re.compile(r"@[0-9a-f]{4,16}\.\w+\b(?!\()")
"""A method of an object in a program, such as ``Job$$Lambda@6b0d80ed.apply``. Before Spark 4.0, the arguments of the
method are not printed.
"""
_WRAPPER: Final = re.compile(
    r"(?:empty2null|knownfloatingpointnormalized|normalizenanandzero|knownnotnull|knownnullable)\((.*)\)\Z",
    re.DOTALL,
)
_IDS: Final = re.compile(r"#\d+L?(?:-T\d+ms)?")
_SUBQUERY: Final = re.compile(
    r"(?:Reused)?(?:Subquery ){0,2}(?:scalar-)?subquery#\d+(?:, \[id=#\d+\])?(?: \[[^\[\]]*\])?"
)

SubqueryOf = Callable[[int], RowSet | None]


@dataclass(frozen=True, slots=True)
class FoundReferences:
    """The references in an expression. ``ids`` are the referenced columns of the expression's own operator.
    ``unresolved`` is true if the expression contains something that looks like a column that the operator does not
    have.
    """

    data: int = 0
    control: int = 0
    kind: FlowKind = FlowKind.IDENTITY
    uncertainty: int = Uncertainty.NONE
    ids: frozenset[int] = frozenset()
    unresolved: bool = False
    literal: bool = True
    """Whether the expression contains neither a column's value nor anything unknown. Meaningless if ``data`` is not
    empty.
    """

    @property
    def all(self) -> int:
        return self.data | self.control

    def __or__(self, other: FoundReferences) -> FoundReferences:
        return FoundReferences(
            self.data | other.data,
            self.control | other.control,
            strongest((self.kind, other.kind)),
            self.uncertainty | other.uncertainty,
            self.ids | other.ids,
            self.unresolved or other.unresolved,
            self.literal and other.literal,
        )

    def as_control(self) -> FoundReferences:
        return FoundReferences(0, self.all, FlowKind.IDENTITY, self.uncertainty, self.ids, self.unresolved)


NOTHING: Final = FoundReferences()


@dataclass(frozen=True, slots=True)
class ReferenceFinder:
    """Finds the references in expressions over the columns of one relation."""

    relation: RowSet
    sources: Sources
    subquery: SubqueryOf
    outer: RowSet | None = None
    """Columns to which a subquery may refer in addition to its own, as ``outer(k#39)``."""

    def read(self, text: str) -> FoundReferences:
        data = control = uncertainty = 0
        literal = True
        ids: set[int] = set()
        kinds: list[FlowKind] = []
        columns: list[tuple[int, int, OperatorColumn]] = []
        unresolved = False
        for match in _REFERENCE.finditer(text):
            if match["id"]:
                known = self._column(text, match)
                if known is None:
                    unresolved = unresolved or self._looks_like_a_column(text, match.start())
                    continue
                flow, name = known
                start = match.start() - len(name)
                # The attribute of an aggregate is named `sum(v#3)`, and ids within a name are not references.
                while columns and columns[-1][0] >= start:
                    columns.pop()
                if flow.fields and text.startswith(".", match.end()):
                    flow = field_of(flow, text[match.end() + 1 : match.end() + MAX_NAME])
                columns.append((match.start(), int(match["id"]), flow))
            else:
                found = self._subquery(text, match)
                data |= found.data
                control |= found.control
                uncertainty |= found.uncertainty
                literal = literal and found.literal
                kinds.append(found.kind)
        for _, number, flow in columns:
            ids.add(number)
            kinds.append(flow.kind)
            data |= flow.data | flow.kept
            control |= flow.control
            uncertainty |= Uncertainty.INCOMPLETE if flow.unexplained else flow.uncertainty
            literal = literal and flow.literal
        if unresolved and self.relation.columns is None:
            uncertainty, literal = uncertainty | Uncertainty.INCOMPLETE, False
        if _OBJECT.search(text):
            uncertainty, literal = uncertainty | Uncertainty.OPAQUE | Uncertainty.INCOMPLETE, False
        return FoundReferences(
            data, control, strongest(kinds), uncertainty, frozenset(ids), unresolved, literal
        )

    def _looks_like_a_column(self, text: str, position: int) -> bool:
        return _UNRESOLVED.search(text, max(0, position - MAX_NAME), position) is not None

    def _column(self, text: str, match: re.Match[str]) -> tuple[OperatorColumn, str] | None:
        number = int(match["id"])
        known = self.relation.find(number)
        if known is None and self.outer is not None:
            found = self.outer.find(number)
            if found is not None and text.startswith("outer(", max(0, match.start() - len(found[1]) - 6)):
                known = found
        if known is not None:
            before = text[max(0, match.start() - len(known[1])) : match.start()]
            return known if before == known[1] or before.lower() == known[1].lower() else None
        for hidden in self.relation.hidden:
            named = _NAME.search(text, max(0, match.start() - MAX_NAME), match.start())
            if named and hidden.first <= number <= hidden.last and _BEFORE.search(text, 0, named.start()):
                bits = 0
                for end in hidden.ends:
                    bits |= self.sources.bit(PlanColumn(end, named[0]))
                return OperatorColumn(bits, uncertainty=Uncertainty.INFERRED), named[0]
        return None

    def hides(self, number: int) -> bool:
        """Whether a column belongs to a table whose list of columns was truncated."""
        return any(hidden.first <= number <= hidden.last for hidden in self.relation.hidden)

    def _subquery(self, text: str, match: re.Match[str]) -> FoundReferences:
        if match[0].startswith("dynamicpruning"):
            return NOTHING  # only a hint for the scan; the condition is in a join
        number = int(match["subquery"] or match["logical"])
        relation = self.subquery(number)
        outer = self.read(match["outer"] or match["outer_of"] or "").as_control()
        if relation is None:
            # No subquery has this number, so the match is part of a column's name or of a literal.
            return (
                outer | FoundReferences(uncertainty=Uncertainty.INCOMPLETE)
                if ", [id=#" in match[0]
                else outer
            )
        flows = relation.in_order()
        if flows is None:
            return outer | FoundReferences(uncertainty=Uncertainty.INCOMPLETE)
        before = text[max(0, match.start() - 24) : match.start()]
        predicate = match["predicate"] or before.endswith(" IN ")
        if len(flows) == 1 and flows[0].fields and text.startswith(".", match.end()):
            # Several subqueries may be merged into one that returns a struct; each expression takes one field.
            flows = [field_of(flows[0], text[match.end() + 1 : match.end() + MAX_NAME])]
        found = NOTHING
        for flow in flows:
            found |= FoundReferences(
                flow.data, flow.control, flow.kind, flow.uncertainty, literal=flow.literal
            )
        found |= FoundReferences(control=relation.rows, uncertainty=relation.uncertainty)
        return outer | (found.as_control() if predicate else found)

    def whole_subquery(self, text: str) -> OperatorColumn | None:
        """Return the column of a subquery if the expression consists only of that subquery; else None."""
        match = _SUBQUERY.fullmatch(text)
        number = _REFERENCE.search(text) if match else None
        relation = self.subquery(int(number["subquery"])) if number and number["subquery"] else None
        flows = relation.in_order() if relation else None
        return flows[0] if flows and len(flows) == 1 else None

    def condition(self, text: str) -> FoundReferences:
        """Return the references in a condition. They are marked as cut if arguments are missing."""
        found = self.read(text)
        return found | FoundReferences(uncertainty=CUT_OFF.uncertainty) if cuts(text) else found


def field_of(flow: OperatorColumn, behind: str) -> OperatorColumn:
    """Return the struct field whose name is at the start of ``behind``, or the whole struct if no name matches."""
    named = [(name, each) for name, each in flow.fields if behind.startswith(name)]
    return max(named, key=lambda one: len(one[0]))[1] if named else flow


def fields(text: str, reader: ReferenceFinder, depth: int = 0) -> tuple[tuple[str, OperatorColumn], ...]:
    """Return (name, flow) of each field of the struct, or array of structs, that an expression builds; () if it builds
    neither.
    """
    name, _, rest = text.partition("(")
    if depth > MAX_NESTED or not rest.endswith(")") or cuts(text):
        column = attribute(text)
        known = reader.relation.find(column.id) if column else None
        return known[0].fields if known and column and known[1] == column.name else ()
    arguments = list(split(rest[:-1]))
    half = len(arguments) // 2
    if name in ("named_struct", "struct") and 2 * half == len(arguments):
        return tuple(
            (key, flow_of(value, reader)[0])
            for key, value in zip(arguments[::2], arguments[1::2], strict=True)
        )
    if name == "arrays_zip" and 2 * half == len(arguments):
        return tuple(
            (key, flow_of(value, reader)[0])
            for value, key in zip(arguments[:half], arguments[half:], strict=True)
        )
    if name == "array" and arguments:
        structs = [fields(each, reader, depth + 1) for each in arguments]
        names = [key for key, _ in structs[0]]
        if names and all([key for key, _ in each] == names for each in structs):
            return tuple((key, merged(each[at][1] for each in structs)) for at, key in enumerate(names))
    if name in ("explode", "explode_outer", "inline", "inline_outer") and len(arguments) == 1:
        return fields(arguments[0], reader, depth + 1)
    return ()


def parted(text: str) -> tuple[str, Attribute | None]:
    """Split ``expr AS name#38`` into (expression, column that it defines). A bare column defines itself."""
    column = attribute(text)
    if column is None:
        return text, None
    before, mark, name = column.name.rpartition(" AS ")
    return (before, Attribute(name, column.id)) if mark else (text, column)


def unwrapped(text: str) -> str:
    """Return the expression without the outer wrappers that Spark adds around a value, such as ``empty2null`` and
    ``knownnotnull``."""
    for _ in range(MAX_WRAPPERS):
        match = _WRAPPER.match(text)
        if match is None:
            break
        text = match[1]
    return text


def defined(text: str, reader: ReferenceFinder) -> tuple[Attribute | None, OperatorColumn, FoundReferences]:
    """Return the column that an element of a list defines, the flow of that column, and the references in the element."""
    column = attribute(text)
    if column is not None and (known := reader.relation.find(column.id)):
        flow, name = known
        if column.name.lower() == name.lower():
            return (
                column,
                flow,
                FoundReferences(
                    flow.data,
                    flow.control,
                    flow.kind,
                    flow.uncertainty,
                    frozenset((column.id,)),
                    literal=flow.literal,
                ),
            )
    expression, column = parted(text)
    if column is not None and expression is text and not reader.hides(column.id):
        return column, UNDEFINED, NOTHING
    return column, *flow_of(expression, reader)


UNDEFINED: Final = OperatorColumn(kind=FlowKind.TRANSFORMATION, uncertainty=Uncertainty.INCOMPLETE)


def flow_of(expression: str, reader: ReferenceFinder) -> tuple[OperatorColumn, FoundReferences]:
    """Return the flow of an expression, and the references in it."""
    bare = unwrapped(expression)
    found = reader.read(bare)
    same = attribute(bare)
    known = reader.relation.find(same.id) if same is not None and found.ids == {same.id} else None
    if same is not None and known is not None and same.name.lower() == known[1].lower():
        return known[0], found
    kind = strongest((found.kind, FlowKind.TRANSFORMATION))
    parts = fields(bare, reader) if bare.startswith(_STRUCTS) else ()
    whole = reader.whole_subquery(bare) if not parts else None
    if whole is not None:
        parts = whole.fields
    return OperatorColumn(
        found.data, found.control, kind, found.uncertainty, readable(bare), parts, literal=found.literal
    ), found


def readable(expression: str) -> str:
    """Remove secrets, and parts that differ between two runs of a job, from an expression."""
    text = without_secrets(expression[:MAX_EXPRESSION])
    return _IDS.sub("", _SUBQUERY.sub("(subquery)", text))


def lacks(expression: str) -> int:
    """Return the number of columns that may have been cut off within an expression."""
    return sum(cut.columns for cut in cuts(expression))
