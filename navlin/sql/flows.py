"""Which columns a value is made of, and what a name in a query means.

Values carry sets of source columns; a set is made once for each output column of a query, however often the query is
referred to, so that chains of common table expressions cost what they are long, not what they unfold to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from navlin.sql.reading import Name, SourceColumn

Sources = frozenset[SourceColumn]
NONE: Sources = frozenset()


class TooMuch(Exception):
    """The text unfolds to more than is worth holding."""


@dataclass(frozen=True, slots=True)
class Flow:
    """What a value is made of. ``counts``: of rows, no column among them (``count(*)``)."""

    data: Sources = NONE
    control: Sources = NONE
    complete: bool = True
    counts: bool = False


NOTHING = Flow()
UNKNOWN = Flow(complete=False)


def merged(flows: Iterable[Flow]) -> Flow:
    """The flow of a value that is made of several."""
    flows = [each for each in flows if each is not NOTHING]
    if len(flows) <= 1:
        return flows[0] if flows else NOTHING
    return Flow(
        NONE.union(*(each.data for each in flows)),
        NONE.union(*(each.control for each in flows)),
        all(each.complete for each in flows),
        any(each.counts for each in flows),
    )


def deciding(flow: Flow) -> Flow:
    """The same as something that only decides."""
    return Flow(NONE, flow.data | flow.control, flow.complete)


@dataclass(frozen=True, slots=True)
class Out:
    """An output column; ``name`` is "" where the query gives it none."""

    name: str
    flow: Flow


@dataclass(frozen=True, slots=True)
class Result:
    """What a query makes: its columns, what decides its rows, the tables it reads and those that only decide.

    ``open`` are tables of unknown columns all of which are among the output under their own names, ``partial`` says that
    there are further columns of which nothing is known, but that they all come of ``whatever``.
    """

    outs: tuple[Out, ...] = ()
    rows: Flow = NOTHING
    tables: frozenset[Name] = frozenset()
    deciding_tables: frozenset[Name] = frozenset()
    open: tuple[Name, ...] = ()
    partial: bool = False
    whatever: Flow | None = None

    @property
    def whole(self) -> bool:
        """Whether all output columns are known, and in which order."""
        return not self.open and not self.partial


def named(result: Result, names: Sequence[str]) -> Result:
    """The same with other names for its first columns, as many as there are names."""
    if not names:
        return result
    if not result.whole:
        return replace(result, outs=(), open=(), partial=True)
    outs = (Out(name, out.flow) for name, out in zip(names, result.outs, strict=False))
    return replace(result, outs=tuple(outs))


def united(one: Result, other: Result, *, by_name: bool) -> Result:
    """A union: columns meet by position, or by name."""
    rows = merged((one.rows, other.rows))
    tables = one.tables | other.tables
    looked_at = one.deciding_tables | other.deciding_tables
    whole = one.whole and other.whole
    if by_name:
        theirs = {out.name.lower(): out for out in other.outs}
        outs = [Out(out.name, merged((out.flow, theirs.pop(out.name.lower(), out).flow))) for out in one.outs]
        outs.extend(theirs.values())
    else:
        pairs = zip(one.outs, other.outs, strict=False)
        outs = [Out(mine.name, merged((mine.flow, other_.flow))) for mine, other_ in pairs]
    if not whole:
        # Behind a star over an unknown table no position is certain.
        outs = [Out(out.name, UNKNOWN) for out in one.outs] if one.whole else []
    return Result(tuple(outs), rows, tables, looked_at, partial=not one.whole)


@dataclass(slots=True)
class Rel:
    """Something in a FROM: its columns by folded name, the qualifiers that mean it, and columns of another rel that a
    ``USING`` merged with its own. ``star`` is False for what ``*`` leaves out (the right side of a semi join)."""

    result: Result
    qualifiers: frozenset[tuple[str, ...]]
    by_name: dict[str, Flow] = field(default_factory=dict)
    merged_away: set[str] = field(default_factory=set)
    star: bool = True

    def __post_init__(self) -> None:
        for out in self.result.outs:
            folded = out.name.lower()
            if folded in self.by_name:
                # Two columns of one name: whoever asks for it asks for nothing certain.
                self.by_name[folded] = UNKNOWN
            elif folded:
                self.by_name[folded] = out.flow

    def column(self, name: str) -> Flow | None:
        """The column of a name; None where it is not known to have one."""
        return self.by_name.get(name.lower())

    def supposed(self, name: str) -> Flow:
        """The column of a name that a valid query can only mean here."""
        if self.result.whatever is not None:
            return self.result.whatever
        if self.result.partial or len(self.result.open) != 1:
            return UNKNOWN
        return Flow(frozenset((SourceColumn(self.result.open[0], name, False),)))


@dataclass(slots=True)
class Scope:
    """The names that one SELECT sees: what stands in its FROM, then its output's own names, then the query around it; and
    the tables that were met, those whose rows count and those that only decide (``looked_at``)."""

    outer: Scope | None = None
    rels: list[Rel] = field(default_factory=list)
    aliases: dict[str, Flow] = field(default_factory=dict)
    using: list[str] = field(default_factory=list)
    rows: list[Flow] = field(default_factory=list)
    read: set[Name] = field(default_factory=set)
    looked_at: set[Name] = field(default_factory=set)

    def met(self, result: Result, *, deciding: bool = False) -> None:
        """Notes the tables of something that the query uses."""
        (self.looked_at if deciding else self.read).update(result.tables)
        self.looked_at.update(result.deciding_tables)

    def resolve(self, parts: Sequence[str], *, alias_first: bool = False) -> Flow:
        """What ``a.b.c`` means: a column of a qualified table, of a table, or a column and fields inside it."""
        if alias_first and len(parts) == 1 and parts[0].lower() in self.aliases:
            return self.aliases[parts[0].lower()]
        scopes = list(self.outward())
        # A qualifier of the query around goes before a field of a column that happens to be called so.
        for found in (*(scope._qualified(parts) for scope in scopes), *(s._named(parts[0]) for s in scopes)):
            if found is not None:
                return found
        if parts[0].lower() in self.aliases:
            # Unless a table whose columns are not known has one of that name.
            whole = all(rel.result.whole for scope in self.outward() for rel in scope.rels)
            return self.aliases[parts[0].lower()] if whole else UNKNOWN
        return self._supposed(parts[0])

    def outward(self) -> Iterator[Scope]:
        """This scope, then those around it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def qualified_rels(self, qualifier: Sequence[str]) -> list[Rel]:
        """What a qualifier may mean: two tables of one name, of two databases, are told apart by their columns alone."""
        folded = tuple(part.lower() for part in qualifier)
        return [rel for rel in self.rels if folded in rel.qualifiers]

    def _qualified(self, parts: Sequence[str]) -> Flow | None:
        for width in range(min(len(parts) - 1, 3), 0, -1):
            rels = self.qualified_rels(parts[:width])
            found = [flow for rel in rels if (flow := rel.column(parts[width])) is not None]
            found = found or [rel.supposed(parts[width]) for rel in rels if not rel.result.whole]
            if found:
                return found[0] if len(found) == 1 else UNKNOWN
        return None

    def _named(self, name: str) -> Flow | None:
        found = [
            (rel, flow)
            for rel in self.rels
            if name.lower() not in rel.merged_away and (flow := rel.column(name)) is not None
        ]
        if not found:
            return None
        return found[0][1] if len(found) == 1 else UNKNOWN

    def _supposed(self, name: str) -> Flow:
        """A name that no known column bears can only be one of a table whose columns are not known, if there is but one."""
        if name.upper() in _ENGINES_OWN:
            return NOTHING
        unknown = [rel for scope in self.outward() for rel in scope.rels if not rel.result.whole]
        return unknown[0].supposed(name) if len(unknown) == 1 else UNKNOWN


_ENGINES_OWN = frozenset(
    "INPUT__FILE__NAME BLOCK__OFFSET__INSIDE__FILE ROW__OFFSET__INSIDE__BLOCK ROW__ID GROUPING__ID"
    " RAW__DATA__SIZE ROW__IS__DELETED CURRENT_DATE CURRENT_TIMESTAMP CURRENT_USER".split()
)
"""Names that mean something without being a column of any table."""
