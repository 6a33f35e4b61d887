"""What a name in a query means, by the rules on which Hive, Impala and Spark agree. Where they do not, and where a table of
unknown columns leaves it open, it means nothing that is known.

    SELECT list               the columns of its FROM, then aliases to the left (Spark), then the query around
    WHERE, ON                 columns, then the query around; ON sees only what is joined by then
    GROUP BY, HAVING          Impala takes an alias before a column, Hive and Spark after it
    ORDER BY and its kin      an alias before a column; inside of an expression Impala does not know aliases
    subquery in an expression its own FROM, then the query around
    derived table             its own FROM, then what is around the query that it stands in: nothing that stands beside it
    LATERAL, LATERAL VIEW     what stands to the left, too
    WITH                      nothing around
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from navlin.sql.flows import NOTHING, UNKNOWN, Flow, Result
from navlin.sql.reading import Name, SourceColumn


class Output(Enum):
    """How a name in a clause may mean one of the query's own output columns."""

    NEVER = auto()
    BEHIND = auto()
    """Behind the columns of its tables."""
    EITHER = auto()
    """Before or behind them: engines differ."""
    FIRST = auto()


@dataclass(slots=True)
class Rel:
    """Something in a FROM: its columns by folded name, the qualifiers that mean it, and those of its columns that a USING
    merged with another's. ``star`` is False for what ``*`` leaves out (the side of a semi join that only decides)."""

    result: Result
    qualifiers: frozenset[tuple[str, ...]]
    by_name: dict[str, Flow] = field(default_factory=dict)
    merged_away: set[str] = field(default_factory=set)
    star: bool = True

    def __post_init__(self) -> None:
        for out in self.result.outs:
            folded = out.name.lower()
            if folded in self.by_name:
                # Two columns of one name: which of them is meant is not certain.
                self.by_name[folded] = UNKNOWN
            elif folded:
                self.by_name[folded] = out.flow

    @property
    def whole(self) -> bool:
        """Whether all its columns are known, and what they are called: of an expression each engine makes a name of its
        own."""
        return self.result.whole and all(out.name for out in self.result.outs)

    def column(self, name: str) -> Flow | None:
        """The column of a name; None where it is not known to have one."""
        return self.by_name.get(name.lower())

    def supposed(self, name: str) -> Flow:
        """The column of a name that a valid query can only mean here."""
        if self.result.whatever is not None:
            return self.result.whatever
        if self.result.whole:
            unnamed = [out.flow for out in self.result.outs if not out.name]
            return unnamed[0] if len(unnamed) == 1 else UNKNOWN
        if self.result.partial or len(self.result.open) != 1:
            return UNKNOWN
        return Flow(frozenset((SourceColumn(self.result.open[0], name, False),)))


@dataclass(slots=True)
class Scope:
    """The names that one SELECT sees: what stands in its FROM, then its output's own names, then the query around it; and
    the tables that were met, those whose rows count and those that only decide (``looked_at``).

    ``shared`` are the columns that joins merged, ``aliases`` those that the SELECT list has named so far, ``outputs`` all
    that it makes, once it is read. ``beside`` is the FROM that a derived table stands in: it sees no columns of that.
    """

    outer: Scope | None = None
    rels: list[Rel] = field(default_factory=list)
    beside: Scope | None = None
    shared: dict[str, Flow] = field(default_factory=dict)
    aliases: dict[str, Flow] = field(default_factory=dict)
    outputs: dict[str, Flow] = field(default_factory=dict)
    rows: list[Flow] = field(default_factory=list)
    read: set[Name] = field(default_factory=set)
    looked_at: set[Name] = field(default_factory=set)

    def met(self, result: Result, *, deciding: bool = False) -> None:
        """Notes the tables of something that the query uses."""
        (self.looked_at if deciding else self.read).update(result.tables)
        self.looked_at.update(result.deciding_tables)

    def apart(self) -> Scope:
        """What is around a derived table in this scope's FROM."""
        return Scope(self.outer, beside=self)

    @property
    def whole(self) -> bool:
        """Whether all columns in the FROM are known."""
        return all(rel.whole for rel in self.rels)

    def qualified_rels(self, qualifier: Sequence[str]) -> list[Rel]:
        """What a qualifier may mean: two tables of one name, of two databases, are distinguished by their columns alone."""
        folded = tuple(part.lower() for part in qualifier)
        return [rel for rel in self.rels if folded in rel.qualifiers]

    def outward(self) -> Iterator[Scope]:
        """This scope, then those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def with_tables(self) -> Iterator[Scope]:
        """The scopes whose tables may be named as the place of what is nested in their rows, from the inside out."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.beside or scope.outer

    # -- Names ---------------------------------------------------------------------------------------------------------

    def resolve(self, parts: Sequence[str], output: Output = Output.NEVER) -> Flow:
        """What ``a.b.c`` means: a column of a qualified table, of a table, or a column and fields inside it."""
        folded = parts[0].lower()
        if (own_name := _engines_own(parts)) and not self._knows(own_name):
            return NOTHING
        own = self._own(parts)
        match output:
            case Output.BEHIND if own is None and folded in self.aliases:
                # Unless a table whose columns are not known has one of that name.
                return self.aliases[folded] if self.whole else UNKNOWN
            case Output.FIRST if len(parts) == 1 and folded in self.outputs:
                return self.outputs[folded]
            case Output.EITHER | Output.FIRST if folded in self.outputs:
                alias = self.outputs[folded]
                column = own or (None if self.whole else self._around(parts))
                return alias if column is None or _same(alias, column) else UNKNOWN
        return own or self._around(parts)

    def _knows(self, name: str) -> bool:
        """Whether a table that a name may mean is known to have such a column."""
        return any(rel.column(name) is not None for scope in self.outward() for rel in scope.rels)

    def _own(self, parts: Sequence[str]) -> Flow | None:
        """What the names of this scope's FROM make of it, if anything is known."""
        qualified = self._qualified(parts)
        named = self._named(parts[0])
        if qualified is not None:
            flow, known = qualified
            return flow if known or named is None or named == flow else UNKNOWN
        around = self.outer.outward() if named is not None and self.outer is not None else ()
        # A field of this column, or a column of a table around that is called so: engines differ.
        return UNKNOWN if any(scope._qualified(parts) for scope in around) else named

    def _around(self, parts: Sequence[str]) -> Flow:
        """What a name means that this scope's FROM does not know. With a qualifier it may mean a column of any query
        around; without one, of none beyond a table whose columns are not known."""
        whole = self.whole
        for scope in self.outer.outward() if self.outer is not None else ():
            if (own := scope._own(parts)) is not None:
                return own if whole or scope._qualified(parts) is not None else UNKNOWN
            whole = whole and scope.whole
        if len(parts) > 1 and any(scope.qualified_rels(parts[:1]) for scope in self.outward()):
            return UNKNOWN
        # A name that no known column has can only be one of a table whose columns are not known, if there is but one.
        unknown = [rel for scope in self.outward() for rel in scope.rels if not rel.whole]
        return unknown[0].supposed(parts[0]) if len(unknown) == 1 else UNKNOWN

    def _qualified(self, parts: Sequence[str]) -> tuple[Flow, bool] | None:
        """The column of a table that is named with it, and whether that is known to have it."""
        for width in range(min(len(parts) - 1, 3), 0, -1):
            rels = self.qualified_rels(parts[:width])
            known = [flow for rel in rels if (flow := rel.column(parts[width])) is not None]
            found = known or [rel.supposed(parts[width]) for rel in rels if not rel.whole]
            if found:
                return (found[0] if len(found) == 1 else UNKNOWN), bool(known)
        return None

    def _named(self, name: str) -> Flow | None:
        folded = name.lower()
        found = [
            rel.by_name[folded]
            for rel in self.rels
            if folded in rel.by_name and folded not in rel.merged_away
        ]
        if folded in self.shared:
            found.append(self.shared[folded])
        if not found:
            return None
        return found[0] if len(found) == 1 else UNKNOWN


def _same(one: Flow, other: Flow) -> bool:
    """Whether two values decide alike."""
    complete = one.complete and other.complete
    return complete and one.data | one.control == other.data | other.control


def _engines_own(parts: Sequence[str]) -> str:
    """Which of those a name may be, or be a field of: ``t.ROW__ID.writeid``; "" if it is none."""
    if parts[-1].upper() in _ENGINES_OWN:
        return parts[-1]
    return next((part for part in parts[:-1] if part.upper() in _WITH_FIELDS), "")


_ENGINES_OWN = frozenset(
    "INPUT__FILE__NAME BLOCK__OFFSET__INSIDE__FILE ROW__OFFSET__INSIDE__BLOCK ROW__ID GROUPING__ID"
    " RAW__DATA__SIZE ROW__IS__DELETED CURRENT_DATE CURRENT_TIMESTAMP CURRENT_USER"
    " FILE__POSITION ICEBERG__PARTITION__SERIALIZED ICEBERG__DATA__SEQUENCE__NUMBER ICEBERG__FIRST__ROW__ID"
    " PARTITION__SPEC__ID PARTITION__HASH FILE__PATH ROW__POSITION PARTITION__PROJECTION SNAPSHOT__ID".split()
)
"""Names that mean something without being a column of any table."""
_WITH_FIELDS = frozenset({"ROW__ID", "_METADATA"})
