"""Meaning of a name in a query, by the rules on which Hive, Impala and Spark agree. If they disagree, or if a table
with unknown columns leaves it open, the meaning is unknown.

    SELECT list               the columns of its FROM, then aliases to the left (Spark), then the outer query
    WHERE, ON                 columns, then the outer query; ON sees only the sources joined so far
    GROUP BY, HAVING          Impala takes an alias before a column, Hive and Spark after it
    ORDER BY and its kin      an alias before a column; inside an expression Impala does not know aliases
    subquery in an expression its own FROM, then the outer query
    derived table             its own FROM, then the query outside the one that contains it: no source next to it
    LATERAL, LATERAL VIEW     the sources to the left, too
    WITH                      nothing outside
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from navlin.sql.flows import NOTHING, UNKNOWN, QueryResult, ValueSources
from navlin.sql.reading import Name, SourceColumn


class Output(Enum):
    """Precedence of the query's own output columns when a name in a clause is resolved."""

    NEVER = auto()
    BEHIND = auto()
    """After the columns of the query's tables."""
    EITHER = auto()
    """Before or after the columns of the query's tables: engines differ."""
    FIRST = auto()


@dataclass(slots=True)
class Rel:
    """A source in a FROM. ``qualifiers`` are the names by which it can be referenced. ``by_name`` maps lower-case
    column names to flows. ``merged_away`` are the names of columns that a join merged with another source's column.
    ``star`` is False if ``*`` omits the source (the side of a semi join that only decides)."""

    result: QueryResult
    qualifiers: frozenset[tuple[str, ...]]
    by_name: dict[str, ValueSources] = field(default_factory=dict)
    merged_away: set[str] = field(default_factory=set)
    star: bool = True

    def __post_init__(self) -> None:
        for out in self.result.outs:
            folded = out.name.lower()
            if folded in self.by_name:
                # Two columns have this name, so its meaning is not certain.
                self.by_name[folded] = UNKNOWN
            elif folded:
                self.by_name[folded] = out.flow

    @property
    def whole(self) -> bool:
        """Whether all columns and their names are known; an unnamed expression is not, because each engine names it
        differently."""
        return self.result.whole and all(out.name for out in self.result.outs)

    def column(self, name: str) -> ValueSources | None:
        """Return the flow of the column with this name; None if the source is not known to have the column."""
        return self.by_name.get(name.lower())

    def supposed(self, name: str) -> ValueSources:
        """Return the flow of a name that, in a valid query, can only mean a column of this source."""
        if self.result.unresolved_star is not None:
            return self.result.unresolved_star
        if self.result.whole:
            unnamed = [out.flow for out in self.result.outs if not out.name]
            return unnamed[0] if len(unnamed) == 1 else UNKNOWN
        if self.result.partial or len(self.result.open) != 1:
            return UNKNOWN
        return ValueSources(frozenset((SourceColumn(self.result.open[0], name, False),)))


@dataclass(slots=True)
class Scope:
    """The names that one SELECT sees: the sources in its FROM, then the names of its own output, then the outer query.
    Also collects the tables found: ``read`` are the tables whose rows are used, ``looked_at`` the tables that only
    decide which rows there are.

    ``shared`` are the columns that joins merged, ``aliases`` the columns that the SELECT list has named so far,
    ``outputs`` all columns of the SELECT list, once it is read. ``beside`` is the scope whose FROM contains a derived
    table; the derived table does not see the columns of that FROM.
    """

    outer: Scope | None = None
    rels: list[Rel] = field(default_factory=list)
    beside: Scope | None = None
    shared: dict[str, ValueSources] = field(default_factory=dict)
    aliases: dict[str, ValueSources] = field(default_factory=dict)
    outputs: dict[str, ValueSources] = field(default_factory=dict)
    rows: list[ValueSources] = field(default_factory=list)
    read: set[Name] = field(default_factory=set)
    looked_at: set[Name] = field(default_factory=set)

    def met(self, result: QueryResult, *, deciding: bool = False) -> None:
        """Record the tables of a result that the query uses."""
        (self.looked_at if deciding else self.read).update(result.tables)
        self.looked_at.update(result.deciding_tables)

    def apart(self) -> Scope:
        """Return the scope around a derived table in this scope's FROM."""
        return Scope(self.outer, beside=self)

    @property
    def whole(self) -> bool:
        """Whether all columns in the FROM are known."""
        return all(rel.whole for rel in self.rels)

    def qualified_rels(self, qualifier: Sequence[str]) -> list[Rel]:
        """Return the sources that a qualifier may mean. There may be several: only columns distinguish tables of the
        same name in different databases."""
        folded = tuple(part.lower() for part in qualifier)
        return [rel for rel in self.rels if folded in rel.qualifiers]

    def outward(self) -> Iterator[Scope]:
        """Yield this scope, then the scopes around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def with_tables(self) -> Iterator[Scope]:
        """Yield, from the inside out, the scopes whose tables may contain the nested data that a FROM names."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.beside or scope.outer

    # -- Names ---------------------------------------------------------------------------------------------------------

    def resolve(self, parts: Sequence[str], output: Output = Output.NEVER) -> ValueSources:
        """Return the flow of ``a.b.c``, which means a column of a table with its database, a column of a table, or
        fields inside a column."""
        folded = parts[0].lower()
        if (own_name := _engines_own(parts)) and not self._knows(own_name):
            return NOTHING
        own = self._own(parts)
        match output:
            case Output.BEHIND if own is None and folded in self.aliases:
                # A table with unknown columns may have a column of that name, which takes precedence.
                return self.aliases[folded] if self.whole else UNKNOWN
            case Output.FIRST if len(parts) == 1 and folded in self.outputs:
                return self.outputs[folded]
            case Output.EITHER | Output.FIRST if folded in self.outputs:
                alias = self.outputs[folded]
                column = own or (None if self.whole else self._around(parts))
                return alias if column is None or _same(alias, column) else UNKNOWN
        return own or self._around(parts)

    def _knows(self, name: str) -> bool:
        """Whether any table in this scope or around it is known to have a column of this name."""
        return any(rel.column(name) is not None for scope in self.outward() for rel in scope.rels)

    def _own(self, parts: Sequence[str]) -> ValueSources | None:
        """Return the meaning of a name in this scope's own FROM; None if it is not known there."""
        qualified = self._qualified(parts)
        named = self._named(parts[0])
        if qualified is not None:
            flow, known = qualified
            return flow if known or named is None or named == flow else UNKNOWN
        around = self.outer.outward() if named is not None and self.outer is not None else ()
        # Engines differ: the name means a field of this column, or a column of an outer table.
        return UNKNOWN if any(scope._qualified(parts) for scope in around) else named

    def _around(self, parts: Sequence[str]) -> ValueSources:
        """Return the meaning of a name that this scope's FROM does not know. With a qualifier, it may mean a column of
        any outer query; without one, it cannot be resolved beyond a table with unknown columns."""
        whole = self.whole
        for scope in self.outer.outward() if self.outer is not None else ():
            if (own := scope._own(parts)) is not None:
                return own if whole or scope._qualified(parts) is not None else UNKNOWN
            whole = whole and scope.whole
        if len(parts) > 1 and any(scope.qualified_rels(parts[:1]) for scope in self.outward()):
            return UNKNOWN
        # If only one table has unknown columns, a name that no known column has can only belong to that table.
        unknown = [rel for scope in self.outward() for rel in scope.rels if not rel.whole]
        return unknown[0].supposed(parts[0]) if len(unknown) == 1 else UNKNOWN

    def _qualified(self, parts: Sequence[str]) -> tuple[ValueSources, bool] | None:
        """Return the flow of a column that is named with its table, and whether the table is known to have the column;
        None if no such table has or may have it."""
        for width in range(min(len(parts) - 1, 3), 0, -1):
            rels = self.qualified_rels(parts[:width])
            known = [flow for rel in rels if (flow := rel.column(parts[width])) is not None]
            found = known or [rel.supposed(parts[width]) for rel in rels if not rel.whole]
            if found:
                return (found[0] if len(found) == 1 else UNKNOWN), bool(known)
        return None

    def _named(self, name: str) -> ValueSources | None:
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


def _same(one: ValueSources, other: ValueSources) -> bool:
    """Whether two flows are complete and have the same sources, data and control taken together."""
    complete = one.complete and other.complete
    return complete and one.data | one.control == other.data | other.control


def _engines_own(parts: Sequence[str]) -> str:
    """Return the engine-defined name in these parts, which fields may follow (``t.ROW__ID.writeid``); "" if there is
    none."""
    if parts[-1].upper() in _ENGINES_OWN:
        return parts[-1]
    return next((part for part in parts[:-1] if part.upper() in _WITH_FIELDS), "")


_ENGINES_OWN = frozenset(
    "INPUT__FILE__NAME BLOCK__OFFSET__INSIDE__FILE ROW__OFFSET__INSIDE__BLOCK ROW__ID GROUPING__ID"
    " RAW__DATA__SIZE ROW__IS__DELETED CURRENT_DATE CURRENT_TIMESTAMP CURRENT_USER"
    " FILE__POSITION ICEBERG__PARTITION__SERIALIZED ICEBERG__DATA__SEQUENCE__NUMBER ICEBERG__FIRST__ROW__ID"
    " PARTITION__SPEC__ID PARTITION__HASH FILE__PATH ROW__POSITION PARTITION__PROJECTION SNAPSHOT__ID".split()
)
"""Engine-defined names, which are not columns of any table."""
_WITH_FIELDS = frozenset({"ROW__ID", "_METADATA"})
