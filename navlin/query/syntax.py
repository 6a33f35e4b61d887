"""Parser for the query language of Navigator's search box. It returns a tree (`navlin.index.search.query_tree`), from which
navlin prints its own query.

People and programs write Solr's own syntax, as Navigator understood it, with liberties that Solr does not take: ``and``
and ``or`` in lower case, spelling variants of fields, a slash that needs no escape (there are no regular expressions
here), properties as ``namespace.key:value``, a group of nothing but negations (`` +deleted:(-deleted:true)``), a star
after a phrase (``parentPath:"/db"*``), and the SDK's ``{!terms f=ep2Ids}id1,id2 AND extractorRunId:(*)``, whose tail an
old Solr read as part of the last id.

Errors are found here, with their position in the text as typed, before Solr receives anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from navlin.index.search.query_fields import REWRITTEN, TWINS, TYPE, field_named
from navlin.index.search.query_tree import (
    Boost,
    Clause,
    ClauseGroup,
    Everything,
    ExactTerms,
    Facet,
    FieldValue,
    FunctionRange,
    Node,
    Phrase,
    Query,
    SearchTerm,
    Wild,
)
from navlin.query.cost import check_cost
from navlin.query.scanner import SPACE, QueryError, Scanner, decimal

PARSERS: Final[Mapping[str, frozenset[str]]] = {
    "terms": frozenset({"f", "v"}),
    "term": frozenset({"f", "v"}),
    "prefix": frozenset({"f", "v"}),
    "frange": frozenset({"l", "u", "incl", "incu", "v"}),
}
"""Solr's query parsers that a clause may name → the local parameters of each."""
_OF_QUERY: Final = frozenset({"tag", "ex", "key"})
"""Local parameters of a whole query."""

MAX_CHARS: Final = 2_000_000
"""Maximum length of a query; the SDK requests tens of thousands of ids in one."""
MAX_DEPTH: Final = 100
"""Maximum depth of nested parentheses."""
MAX_CLAUSES: Final = 10_000
"""Maximum number of clauses, the same as Solr's ``maxBooleanClauses``."""
MAX_PATTERNS: Final = 200
"""Maximum number of words with wildcards or an edit distance in one query, because each may scan all terms of a
field."""
MAX_PATTERN_CHARS: Final = 1_000
MAX_PATTERN_WILDCARDS: Final = 20
"""Maximum number of wildcards in one word."""
MAX_NAME_CHARS: Final = 500
"""Maximum length of a field's name, a tag or a key."""

_OPERATORS = frozenset({"AND", "OR"})
_SIGNED = re.compile(r"([+-]?)(\d{1,18})(?:\.(\d{1,9}))?", re.ASCII)
_PLAIN_FIELD = re.compile(r"[A-Za-z][\w.]*|_\w*\.[\w.]+", re.ASCII)
"""Names of fields that users may name. Names that begin with an underscore are Solr's own, unless they contain a dot,
because namespaces such as Hue's may begin with an underscore, too."""
_TAG = re.compile(r"[\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query as a tree, with the fields and types that it names."""

    query: Query
    fields: Mapping[str, int]
    """Name of a field in the index → its first position in the text as typed."""
    types: frozenset[str]
    """Values that ``type`` is compared with, in upper case."""
    text: str
    """The query as typed, not normalized."""


def parse(query: str) -> Parsed:
    """Parse a query. Raises `QueryError` if the query is invalid, or would cost Solr too much."""
    parsed = _Reader(query).read()
    check_cost([parsed.query])
    return parsed


def parse_beside(parsed: Parsed | None, filters: Iterable[str]) -> list[Parsed]:
    """Parse the filters and counts that accompany a query. Raises `QueryError` if one is invalid, or if all
    together would cost Solr too much."""
    found = [parse(text) for text in filters]
    check_cost(each.query for each in (*found, *([parsed] if parsed else ())))
    return found


def plain_field(text: str, at: int = -1) -> str:
    """Return the index's name of a field to count, sort by or compute with; a function is refused. Raises `QueryError`."""
    name = text.strip()
    if not _PLAIN_FIELD.fullmatch(name) or len(name) > MAX_NAME_CHARS:
        raise QueryError(f"{_shown(name)} is not the name of a field", at)
    return field_named(name)


def parse_facet(text: str, field_of: Callable[[str, int], str] = plain_field) -> Facet:
    """Parse a field whose values are to be counted, ``{!ex=tag key=name}field`` or ``field``. Raises `QueryError`."""
    reader = _Reader(text)
    local = reader.read_local_params("a facet", _OF_QUERY - {"tag"}) if text.startswith("{!") else {}
    return Facet(field_of(text[reader.at :], reader.at), reader.tags_of(local, "ex"), reader.key_of(local))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "…")


@dataclass(slots=True)
class _Pending:
    """The clauses of one group while they are read, and the operator and the sign for the next clause."""

    clauses: list[Clause] = field(default_factory=list)
    operator: Literal["", "AND", "OR"] = ""
    sign: Literal["", "+", "-"] = ""
    waits: str = ""
    """The operator or sign read last, if a clause must still follow it."""
    waits_at: int = 0

    def add(self, node: Node, boost: Boost | None) -> None:
        self.clauses.append(Clause(node, self.operator, self.sign, boost))
        self.operator, self.sign, self.waits = "", "", ""


@dataclass(slots=True)
class _Reader(Scanner):
    depth: int = 0
    clauses: int = 0
    patterns: int = 0
    fields: dict[str, int] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    of_query: dict[str, str] = field(default_factory=dict)

    def read(self) -> Parsed:
        if len(self.query) > MAX_CHARS:
            raise QueryError(f"a query may have at most {MAX_CHARS} characters")
        try:
            self.query.encode()
        except UnicodeEncodeError as error:
            raise QueryError("half of a surrogate pair is not a character", error.start) from None
        self._read_leading_params()
        pending = self._read_clauses("")
        if self.at < len(self.query):
            self.refuse("a closing parenthesis has no opening one", self.at)
        self._end_group(pending, "the query")
        if not pending.clauses:
            raise QueryError("the query is empty")
        whole = Query(
            tuple(pending.clauses),
            self.tags_of(self.of_query, "tag"),
            self.tags_of(self.of_query, "ex"),
            self.key_of(self.of_query),
        )
        return Parsed(whole, self.fields, frozenset(self.types), self.query)

    # -- Structure -------------------------------------------------------------------------------------------------

    def _read_clauses(self, field_name: str) -> _Pending:
        """Read up to the parenthesis that closes these clauses, or the end."""
        pending = _Pending()
        while self.at < len(self.query) and self.query[self.at] != ")":
            start, char = self.at, self.query[self.at]
            if char in SPACE:
                self.at += 1
            elif char in "+-!":
                self.at += 1
                self._sign(pending, "+" if char == "+" else "-", char, start)
            elif self.query.startswith(("&&", "||"), start):
                self.at += 2
                self._operator(pending, "AND" if char == "&" else "OR", start)
            else:
                self._read_clause(pending, field_name)
        return pending

    def _sign(self, pending: _Pending, sign: Literal["+", "-"], typed: str, at: int) -> None:
        if pending.sign:
            self.refuse(f"{typed} follows {pending.waits}: a clause may have only one sign", at)
        pending.sign, pending.waits, pending.waits_at = sign, typed, at

    def _operator(self, pending: _Pending, operator: str, at: int) -> None:
        if not pending.clauses or pending.waits:
            self.refuse(f"nothing precedes {operator}", at)
        pending.operator = "AND" if operator == "AND" else "OR"
        pending.waits, pending.waits_at = operator, at

    def _end_group(self, pending: _Pending, where: str) -> None:
        if pending.waits:
            self.refuse(f"nothing follows {pending.waits} before {where} ends", pending.waits_at)

    def _read_group(self, field_name: str) -> ClauseGroup:
        opened = self.at
        self.at += 1
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.refuse(f"parentheses are nested more than {MAX_DEPTH} deep", opened)
        pending = self._read_clauses(field_name)
        if self.at >= len(self.query):
            self.refuse("unclosed parenthesis", opened)
        if not pending.clauses and not pending.waits:
            self.refuse("there is nothing between these parentheses", opened)
        self._end_group(pending, "this parenthesis")
        self.at += 1
        self.depth -= 1
        if all(each.sign == "-" for each in pending.clauses):
            # A group of negations excludes from all documents. Solr assumes this for a whole query, but not for a group
            # inside a query.
            pending.clauses.insert(0, Clause(Everything()))
        return ClauseGroup(tuple(pending.clauses))

    # -- Clauses -----------------------------------------------------------------------------------------------------

    def _read_clause(self, pending: _Pending, field_name: str) -> None:
        start, char = self.at, self.query[self.at]
        if char == "(":
            self._add(pending, self._read_group(field_name))
        elif self.query.startswith("{!", start):
            self._add(pending, self._read_parser_clause())
        elif char in '"[{':
            self._add(pending, self._read_value(field_name))
        elif char in "]}:^~":
            self.refuse(f"{char!r} is not allowed here: a word or a field is expected", start)
        else:
            self._read_word_or_field(pending, field_name)

    def _add(self, pending: _Pending, node: Node) -> None:
        self.clauses += 1
        if self.clauses > MAX_CLAUSES:
            self.refuse(
                f"the query has more than {MAX_CLAUSES} words; {{!terms f=FIELD}}a,b,c takes any number of values",
                self.at,
            )
        pending.add(node, self.read_boost())

    def _read_word_or_field(self, pending: _Pending, field_name: str) -> None:
        start = self.at
        parts = self.read_parts(value=False)
        raw = self.query[start : self.at]
        if self.at < len(self.query) and self.query[self.at] == ":":
            if not self.query.startswith("://", self.at):
                self.at += 1
                self._read_field(pending, parts, start)
                return
            self.at = start
            parts = self.read_parts(value=True)
        elif raw.upper() in _OPERATORS and self._joins(pending, raw):
            self._operator(pending, raw.upper(), start)
            return
        elif raw == "NOT":
            self._sign(pending, "-", raw, start)
            return
        self._add(pending, self._word(field_name, parts, start))

    def _joins(self, pending: _Pending, word: str) -> bool:
        """Whether an ``and`` or ``or`` joins two clauses here. In capitals it always does; in lower case it may be an
        ordinary word."""
        if word.upper() == word:
            return True
        at = self.at
        while at < len(self.query) and self.query[at] in SPACE:
            at += 1
        return bool(pending.clauses) and not pending.waits and at < len(self.query) and self.query[at] != ")"

    def _read_field(self, pending: _Pending, parts: tuple[str | Wild, ...], start: int) -> None:
        self.skip_space()
        if self.at >= len(self.query) or self.query[self.at] == ")":
            self.refuse(f"{self._field_shown(parts)}: is not followed by a value", start)
        if parts == (Wild.MANY,):
            if self.read_parts(value=True) != (Wild.MANY,):
                self.refuse("*: must be followed by *, as in *:* for everything", start)
            self._add(pending, Everything())
            return
        match parts:
            case (str(typed),):
                name = self._field(typed, start)
            case _:
                self.refuse("the name of a field cannot have wildcards", start)
        if self.query[self.at] == "(":
            self._add(pending, self._read_group(name))
        elif self.query.startswith("{!", self.at):
            self.refuse(f"{typed}: must be followed by a value, not by a parser", self.at)
        else:
            self._add(pending, self._read_value(name))

    def _field_shown(self, parts: tuple[str | Wild, ...]) -> str:
        return "".join(part.value if isinstance(part, Wild) else part for part in parts)[:MAX_NAME_CHARS]

    def _field(self, typed: str, at: int) -> str:
        """Return the field's name in the tree, and record that the query names the field."""
        if typed.startswith("_") and "." not in typed:
            self.refuse(f"{typed[:MAX_NAME_CHARS]} is not available here", at)
        if len(typed) > MAX_NAME_CHARS:
            self.refuse(f"the name of a field may have at most {MAX_NAME_CHARS} characters", at)
        name = TWINS.get(typed, typed)
        self.fields.setdefault(name, at)
        return name

    # -- Values ------------------------------------------------------------------------------------------------------

    def _read_value(self, field_name: str) -> Node:
        start, char = self.at, self.query[self.at]
        if char == '"':
            text = self.read_quoted()
            if self.query.startswith("*", self.at):
                # Hue searches below a database like this; the star belongs to the phrase.
                self.at += 1
                return self._word(field_name, (text, Wild.MANY) if text else (Wild.MANY,), start)
            self._note_type(field_name, text)
            return FieldValue(field_name, Phrase(text, self.read_distance(words=False)))
        if char in "[{":
            return FieldValue(field_name, self.read_range())
        if char in "]}:^~":
            self.refuse(f"{char!r} is not allowed here: a value is expected", start)
        return self._word(field_name, self.read_parts(value=True), start)

    def _word(self, field_name: str, parts: tuple[str | Wild, ...], start: int) -> Node:
        wildcards = sum(isinstance(part, Wild) for part in parts)
        if wildcards and self.query.startswith("~", self.at):
            self.refuse("a word with wildcards cannot have a distance", self.at)
        word = SearchTerm(parts, self.read_distance(words=True))
        if parts == (Wild.MANY,):
            return FieldValue(field_name, word) if field_name else Everything()
        if wildcards or word.distance:
            self._count_pattern(parts, wildcards, start)
        elif isinstance(parts[0], str):
            self._note_type(field_name, parts[0])
        return FieldValue(field_name, word)

    def _count_pattern(self, parts: tuple[str | Wild, ...], wildcards: int, start: int) -> None:
        self.patterns += 1
        if self.patterns > MAX_PATTERNS:
            self.refuse(f"more than {MAX_PATTERNS} words have wildcards or a distance", start)
        if sum(len(part) for part in parts if isinstance(part, str)) > MAX_PATTERN_CHARS:
            self.refuse("a word with wildcards or a distance is too long", start)
        if wildcards > MAX_PATTERN_WILDCARDS:
            self.refuse(f"a word has more than {MAX_PATTERN_WILDCARDS} wildcards", start)

    def _note_type(self, field_name: str, value: str) -> None:
        if field_name == TYPE:
            self.types.add(value.strip().upper())

    # -- {!parser key=value} -----------------------------------------------------------------------------------------

    def _read_leading_params(self) -> None:
        """Read local parameters before the whole query (``{!tag=type}``). Parameters that name a parser are left for
        the query, unless the parser is Lucene's."""
        self.skip_space()
        if not self.query.startswith("{!", self.at):
            return
        start = self.at
        local = self.read_params()
        if local.get("type", "lucene") == "lucene":
            local.pop("type", None)
            self._only(local, _OF_QUERY, "a query", start)
            self.of_query = local
            return
        # The parameters of the first parser may include parameters of the whole query.
        self.at = start
        self.of_query = {key: text for key, text in local.items() if key in _OF_QUERY}

    def _only(self, local: Mapping[str, str], allowed: frozenset[str], what: str, at: int) -> None:
        for key in local:
            if key not in allowed:
                names = ", ".join(sorted(allowed))
                self.refuse(f"the local parameter {key} is not available for {what}; {names} are", at)

    def read_local_params(self, what: str, allowed: frozenset[str]) -> dict[str, str]:
        """Read local parameters that do not name a parser."""
        start = self.at
        local = self.read_params()
        self._only(local, allowed, what, start)
        return local

    def tags_of(self, local: Mapping[str, str], key: str) -> tuple[str, ...]:
        """Return the tags that a local parameter lists."""
        if key not in local:
            return ()
        tags = tuple(each.strip() for each in local[key].split(","))
        for tag in tags:
            if not _TAG.fullmatch(tag) or len(tag) > MAX_NAME_CHARS:
                self.refuse(f"{_shown(tag)} is not the name of a tag", 0)
        return tags

    def key_of(self, local: Mapping[str, str]) -> str:
        """Return the name under which a count is returned; "" if none is given."""
        key = local.get("key", "")
        if len(key) > MAX_NAME_CHARS:
            self.refuse(f"a key may have at most {MAX_NAME_CHARS} characters", 0)
        return key

    def _read_parser_clause(self) -> Node:
        start = self.at
        first = not self.clauses and not self.depth
        local = self.read_params()
        parser = local.pop("type", "lucene")
        if parser not in PARSERS:
            self.refuse(f"{{!{parser[:60]}}} is not available here; {', '.join(sorted(PARSERS))} are", start)
        allowed = PARSERS[parser] | (_OF_QUERY if first else frozenset())
        self._only(local, allowed, f"{{!{parser}}}", start)
        value = local["v"] if "v" in local else self.read_parser_value()
        match parser:
            case "frange":
                return self._function_range(local, value, start)
            case "terms" | "term" | "prefix":
                return self._exact_terms(parser, local, value, start)
        raise AssertionError(parser)

    def _exact_terms(
        self, parser: Literal["terms", "term", "prefix"], local: Mapping[str, str], value: str, start: int
    ) -> ExactTerms:
        if not local.get("f"):
            self.refuse(f"{{!{parser}}} needs a field: f=…", start)
        name = plain_field(local["f"], start)
        self.fields.setdefault(name, start)
        if name in REWRITTEN:
            self.refuse(f"{{!{parser}}} is not available for {name}: write {name}:(…)", start)
        values = tuple(each.strip() for each in value.split(",")) if parser == "terms" else (value,)
        if parser == "prefix":
            self._count_pattern(values, 0, start)
        if name == TYPE:
            self.types.update(each.strip().upper() for each in values)
        return ExactTerms(parser, name, values)

    def _function_range(self, local: Mapping[str, str], value: str, start: int) -> FunctionRange:
        name = value.strip()
        if not _PLAIN_FIELD.fullmatch(name):
            self.refuse(f"{{!frange}} compares a field, and {_shown(name)} is not one", start)
        name = plain_field(name, start)
        if name in REWRITTEN:
            self.refuse(f"{{!frange}} is not available for {name}", start)
        self.fields.setdefault(name, start)
        bounds = {}
        for key in ("l", "u"):
            bounds[key] = ""
            if key in local:
                number = _SIGNED.fullmatch(local[key].strip())
                if number is None:
                    self.refuse(f"{key} of {{!frange}} must be a number, as in l=0", start)
                bounds[key] = decimal(number[1], number[2], number[3] or "")
        includes = {}
        for key in ("incl", "incu"):
            if local.get(key, "true") not in ("true", "false"):
                self.refuse(f"{key} of {{!frange}} must be true or false", start)
            includes[key] = local.get(key, "true") == "true"
        return FunctionRange(name, bounds["l"], bounds["u"], includes["incl"], includes["incu"])
