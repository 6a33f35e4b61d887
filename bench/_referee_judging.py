"""Compare navlin's and the agent's lineage of a statement, judge both by the expected lineage, and classify each
difference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from bench._referee_edges import Extracted
from bench._referee_statements import Column, Edge, Statement, Truth

EXPLAINED: Final = {
    "wrong: it only controls": "navlin is wrong: the column only decides about rows.",
    "wrong: named otherwise": "navlin is wrong: it flows, but the table goes by another name: without its catalog, or by "
    "its place.",
    "wrong: no such flow": "navlin is wrong: by the SQL written beside the statement nothing flows there.",
    "missed": "navlin misses it, without saying that it does not know.",
    "unknown, and said so": "The plan's text does not hold it; navlin flags the operation or the column.",
    "navlin: into itself": "The column's own value, which a row-level change keeps.",
    "agent: CASE condition": "The column stands in a condition of CASE, IF or the like: an argument of the value by the "
    "model of Navigator, Hive and Impala (fdd), indirect by the agent's.",
    "agent: window key": "The agent calls a partition or order column of a window direct where an alias lies between; "
    "it only controls.",
    "agent: control called direct": "The agent calls direct what only filters, joins, groups, sorts or frames.",
    "agent: no such flow": "By the SQL written beside the statement nothing flows there.",
    "agent: direct, navlin: control": "To be judged by hand where the statement has no truth beside it.",
    "agent silent: grouping sets": "The agent says nothing of columns through ROLLUP, CUBE, GROUPING SETS (Expand).",
    "agent silent: unpivot": "The agent says nothing through UNPIVOT (Expand).",
    "agent silent: subquery": "The agent does not follow scalar subqueries in SELECT.",
    "agent silent: multi-insert": "The agent says nothing of multi-insert (FROM … INSERT … INSERT …).",
    "agent silent: view": "The agent says nothing of CREATE VIEW and ALTER VIEW.",
    "agent silent: program": "The agent does not see through pandas functions, TRANSFORM, RDDs.",
    "agent silent: statement": "The agent has no column lineage of this statement at all.",
    "agent silent: column": "The agent has lineage of the statement, of this column none.",
    "agent silent: source": "The agent gives the column other sources and not this one.",
}
"""Kind of difference → explanation. For the kinds named ``agent…`` the agent is wrong, not navlin."""

_RANKED: Final = frozenset(
    "avg_monthly_sales currency_rank rank_within_parent return_rank revenueratio rk rnk store_cumulative "
    "web_cumulative".split()
)
"""Columns of TPC-DS made by window functions. If the agent reports more direct sources than the arguments of these
functions, the extra sources are keys of PARTITION BY and ORDER BY."""

_CONSTRUCTS: Final = (
    ("multi-insert", r"(?is)\bFROM\b.*\bINSERT\b.*\bINSERT\b"),
    ("view", r"(?i)\b(CREATE|ALTER)( OR REPLACE)? VIEW"),
    ("grouping sets", r"(?i)\b(ROLLUP|CUBE|GROUPING SETS)\b"),
    ("unpivot", r"(?i)UNPIVOT"),
    ("program", r"(?i)\bTRANSFORM \(|InPandas|InArrow|pandas_udf|\.rdd\b"),
    ("subquery", r"(?is)\(\s*SELECT\b"),
)


@dataclass(slots=True)
class Judged:
    """A statement with both lineages and the result of the comparison. ``unsaid`` are flags that navlin should have
    set. Sets are of data edges unless named otherwise."""

    name: str
    navlin: Extracted
    agent: Extracted
    truth: Truth | None
    differences: dict[str, set[Edge]] = field(default_factory=dict)
    missing_control: set[Edge] = field(default_factory=set)
    unsaid: set[str] = field(default_factory=set)
    error: str = ""

    @property
    def common(self) -> set[Edge]:
        return self.navlin.data & self.agent.data

    @property
    def only_navlin(self) -> set[Edge]:
        return self.navlin.data - self.agent.data

    @property
    def only_agent(self) -> set[Edge]:
        return self.agent.data - self.navlin.data

    def wrong(self, extracted: Extracted) -> set[Edge]:
        """Return the extracted data edges that are not expected. An opaque flag does not excuse them."""
        return (
            {edge for edge in extracted.data - self.truth.may_flow if not edge.is_loop}
            if self.truth
            else set()
        )

    def uncontrolled(self, extracted: Extracted) -> set[Edge]:
        """Return the extracted control edges that are not expected."""
        if self.truth is None:
            return set()
        return {
            edge for edge in extracted.control - self.truth.control - self.truth.may_flow if not edge.is_loop
        }

    def missing(self, extracted: Extracted) -> set[Edge]:
        """Return the expected data edges that were not extracted. A source that decides a value may be extracted as
        control."""
        if self.truth is None:
            return set()
        missing = (self.truth.data - extracted.data) | (
            self.truth.deciding - extracted.data - extracted.control
        )
        return {edge for edge in missing if not edge.is_loop}

    @property
    def silent(self) -> set[Edge]:
        """Expected data edges that navlin misses without flagging the operation that writes the target table."""
        return {edge for edge in self.missing(self.navlin) if not self.navlin.doubts(edge.target.of)}

    def shares(self) -> dict[str, Share]:
        """Compare navlin's lineage with the expected lineage, by level: data edges, control edges, flows between
        tables."""
        truth, extracted = self.truth or Truth(), self.navlin
        true = {edge for edge in truth.data | truth.deciding if not edge.is_loop}
        control = {edge for edge in truth.control if not edge.is_loop}
        needed = truth.table_flows
        return {
            "columns: data": Share.of(true, self.missing(extracted), self.silent, self.wrong(extracted)),
            "columns: control": Share.of(
                control,
                missing := control - extracted.control - extracted.data,
                {edge for edge in missing if not extracted.doubts(edge.target.of)},
                self.uncontrolled(extracted),
            ),
            "tables": Share.of(
                needed,
                lacking := needed - extracted.tables,
                {flow for flow in lacking if not extracted.doubts(flow.target)},
                {flow for flow in extracted.tables - truth.may_flow_of_tables if flow.source != flow.target},
            ),
        }

    @property
    def genuine(self) -> set[Edge]:
        """The agent's correct data edges: those that are expected or, if no lineage is expected, all except a known
        mistake."""
        if self.truth is not None:
            return self.agent.data & (self.truth.data | self.truth.deciding)
        return self.agent.data - self.differences.get("agent: window key", set())

    @property
    def found(self) -> set[Edge]:
        """Genuine data edges of the agent that navlin has too. A source that decides a value may be control in
        navlin."""
        deciding = self.truth.deciding if self.truth else set()
        return self.genuine & (self.navlin.data | (self.navlin.control & deciding))

    @property
    def knows(self) -> bool:
        """Whether navlin claims to know the complete lineage of the statement."""
        return "incomplete" not in self.navlin.flags


@dataclass(slots=True)
class Share:
    """Edges or flows, as text: extracted right and wrong ones, and missing ones with and without a flag."""

    right: set[str]
    wrong: set[str]
    flagged: set[str]
    silent: set[str]

    @staticmethod
    def of(
        true: Iterable[object], missing: Iterable[object], silent: Iterable[object], wrong: Iterable[object]
    ) -> Share:
        """Build a share from all expected items, the missing ones, those missing without a flag, and wrongly
        extracted items."""
        lacking, unsaid = set(map(str, missing)), set(map(str, silent))
        return Share(set(map(str, true)) - lacking, set(map(str, wrong)), lacking - unsaid, unsaid)


def judge(statement: Statement, text: str, navlin: Extracted, agent: Extracted) -> Judged:
    """Compare navlin with the agent, and each with the expected lineage if there is one. ``text`` is the SQL or the
    text of the program."""
    judged = Judged(statement.name, navlin, agent, statement.truth)
    for edge in judged.only_navlin:
        judged.differences.setdefault(_of_navlin(judged, edge, text), set()).add(edge)
    for edge in judged.only_agent:
        judged.differences.setdefault(_of_agent(judged, edge), set()).add(edge)
    truth = statement.truth
    if truth is None:
        return judged
    for edge in judged.missing(navlin) - agent.data:
        kind = "missed" if edge in judged.silent else "unknown, and said so"
        judged.differences.setdefault(kind, set()).add(edge)
    judged.missing_control = {
        edge
        for edge in truth.control - navlin.control - navlin.data
        if not edge.is_loop and (judged.knows or "unknown" not in truth.flags)
    }
    if "opaque" in truth.flags and "opaque" not in navlin.flags:
        judged.unsaid.add("opaque")
    if judged.silent:
        judged.unsaid.add("unknown")
    return judged


def _of_navlin(judged: Judged, edge: Edge, text: str) -> str:
    """Return the kind of a data edge that only navlin has."""
    truth = judged.truth
    if truth is not None and edge.is_loop:
        return "navlin: into itself"
    if truth is not None and edge not in truth.may_flow:
        if edge in truth.control:
            return "wrong: it only controls"
        otherwise = any(_bare(each) == _bare(edge) for each in truth.may_flow)
        return "wrong: named otherwise" if otherwise else "wrong: no such flow"
    if "INDIRECT CONDITIONAL" in judged.agent.how.get(edge, ()):
        return "agent: CASE condition"
    if not any(each.target == edge.target for each in judged.agent.data):
        for name, pattern in _CONSTRUCTS:
            if re.search(pattern, text):
                return f"agent silent: {name}"
        return "agent silent: column" if judged.agent.data else "agent silent: statement"
    if re.search(_CONSTRUCTS[-1][1], text) and judged.truth is not None:
        return "agent silent: subquery"
    return "agent silent: source"


def _bare(edge: Edge) -> tuple[tuple[str, ...], ...]:
    """Return (database, table, column) of both ends of an edge, without a catalog or a path before the database."""
    return tuple(
        (*[part for part in re.split(r"[./]", end.of.strip("<>")) if part != "db"][-2:], end.name)
        for end in edge
    )


def _of_agent(judged: Judged, edge: Edge) -> str:
    """Return the kind of a data edge that only the agent has."""
    truth = judged.truth
    if truth is not None and edge not in truth.may_flow:
        return "agent: control called direct" if edge in truth.control else "agent: no such flow"
    if truth is not None and edge in truth.optional:
        return "agent: no such flow"
    if edge in judged.navlin.control:
        return "agent: window key" if edge.target.name in _RANKED else "agent: direct, navlin: control"
    return "unknown, and said so" if judged.navlin.doubts(edge.target.of) else "missed"


def sums(judged: list[Judged]) -> Counter[str]:
    """Return the number of edges of each kind of difference."""
    found: Counter[str] = Counter()
    for each in judged:
        for kind, edges in each.differences.items():
            found[kind] += len(edges)
    return found


def shown(edges: set[Edge], limit: int = 6) -> str:
    """Return some of the edges as text, grouped by target."""
    by_target: dict[Column, list[str]] = {}
    for edge in sorted(edges):
        by_target.setdefault(edge.target, []).append(str(edge.source))
    words = [f"{target} <- {', '.join(sources[:limit])}" for target, sources in by_target.items()]
    return "; ".join(words[:limit]) + (
        f"; and {len(words) - limit} columns more" if len(words) > limit else ""
    )
