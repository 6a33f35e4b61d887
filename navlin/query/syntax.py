"""The query language of Navigator's search box → Solr's.

People and programs write Solr's own syntax, as Navigator understood it, with liberties that Solr does not take: ``and``
and ``or`` in lower case, the spelling twins of fields, a slash that needs no escape (there are no regular expressions
here), properties as ``namespace.key:value``, a group of nothing but negations (`` +deleted:(-deleted:true)``), and the
SDK's ``{!terms f=ep2Ids}id1,id2 AND extractorRunId:(*)``, whose tail an old Solr swallowed into the last id.

What is wrong is found here, with its place in the text as it was typed, before Solr sees anything.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from navlin.index.query_fields import CASELESS, CONSTANTS, REWRITTEN, TYPE, clause, field_named, value_of
from navlin.index.solr_query import escaped, quoted, unescaped

PARSERS: Final = frozenset({"terms", "term", "prefix", "frange"})
"""The query parsers of Solr that a clause may name. Joins and graph walks are wrong on more than one shard."""

_SPECIAL = frozenset(' \t\r\n\u3000()[]{}":^~')
_SPACE = frozenset(" \t\r\n\u3000")
_OPERATORS = frozenset({"AND", "OR"})
_HIDDEN = frozenset({"_query_", "_val_"})
_LOCAL_PARAM = re.compile(
    r"""\s*(?:(?P<key>[\w.]+)\s*=\s*)?(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s}'"=]+)"""
)


class QueryError(Exception):
    """A query that cannot be understood: what is wrong, and where (``position`` counts characters from 0, or -1)."""

    def __init__(self, message: str, position: int = -1) -> None:
        super().__init__(message, position)
        self.message, self.position = message, position

    def __str__(self) -> str:
        return self.message if self.position < 0 else f"{self.message}, at character {self.position + 1}"


@dataclass(frozen=True, slots=True)
class Parsed:
    """A query as it is sent, the parameters that it refers to, and what it asks about."""

    text: str
    params: Mapping[str, str]
    fields: Mapping[str, int]
    """Each field by its name in the index → where it first stands in the text as typed."""
    types: frozenset[str]
    """The values that ``type`` is compared with, upper case."""


def parse(query: str, *, parameter_prefix: str = "nq") -> Parsed:
    """Reads a query. ``parameter_prefix`` keeps the parameters of several queries of one request apart."""
    return _Reader(query, parameter_prefix).read()


@dataclass(slots=True)
class _Group:
    """One pair of parentheses, or the whole query, while it is read."""

    opened: int
    field: str
    out_index: int
    clauses: int = 0
    negative: int = 0
    negates: bool = False
    waits: str = ""
    """The operator or sign that something must follow, if one was read last."""
    waits_at: int = 0


@dataclass(slots=True)
class _Reader:
    query: str
    prefix: str
    at: int = 0
    out: list[str] = field(default_factory=list)
    params: dict[str, str] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)
    groups: list[_Group] = field(default_factory=list)

    def read(self) -> Parsed:
        self._read_leading_params()
        self.groups.append(_Group(self.at, "", len(self.out)))
        while self.at < len(self.query):
            self._read_one()
        if len(self.groups) > 1:
            raise QueryError("a parenthesis is opened and not closed", self.groups[-1].opened)
        self._end_group(self.groups[0], "the query")
        if not self.groups[0].clauses:
            raise QueryError("the query is empty")
        return Parsed("".join(self.out), self.params, self.fields, frozenset(self.types))

    # -- Structure -------------------------------------------------------------------------------------------------

    def _read_one(self) -> None:
        start, char, group = self.at, self.query[self.at], self.groups[-1]
        if char in _SPACE:
            self.at += 1
            self.out.append(" ")
        elif char == "(":
            self._open(group.field)
        elif char == ")":
            self._close()
        elif char in "+-!":
            self.at += 1
            self._wait(char, start)
            group.negates = char != "+"
            self.out.append(char)
        elif self.query.startswith(("&&", "||"), start):
            self.at += 2
            self._operator("AND" if char == "&" else "OR", start)
        else:
            self._read_clause(group)

    def _open(self, field_name: str) -> None:
        self.groups.append(_Group(self.at, field_name, len(self.out) + 1))
        self.out.append("(")
        self.at += 1

    def _close(self) -> None:
        if len(self.groups) == 1:
            raise QueryError("a parenthesis is closed that was not opened", self.at)
        group = self.groups.pop()
        if not group.clauses:
            raise QueryError("there is nothing between these parentheses", group.opened)
        self._end_group(group, "this parenthesis")
        if group.negative == group.clauses:
            # What only excludes, excludes from everything; Solr sees to that for a whole query, not inside one.
            self.out.insert(group.out_index, "*:* ")
        self.out.append(")")
        self.at += 1
        self._read_suffix()
        self._count_clause(self.groups[-1])

    def _end_group(self, group: _Group, where: str) -> None:
        if group.waits:
            raise QueryError(f"nothing follows {group.waits} before {where} ends", group.waits_at)

    def _wait(self, sign: str, at: int) -> None:
        group = self.groups[-1]
        group.waits, group.waits_at = sign, at

    def _count_clause(self, group: _Group) -> None:
        group.clauses += 1
        group.negative += group.negates
        group.negates = False
        group.waits = ""

    def _operator(self, operator: str, at: int) -> None:
        group = self.groups[-1]
        if not group.clauses or group.waits:
            raise QueryError(f"nothing stands before {operator}", at)
        self._wait(operator, at)
        self.out.append(f" {operator} ")

    # -- Clauses -----------------------------------------------------------------------------------------------------

    def _read_clause(self, group: _Group) -> None:
        start = self.at
        if self.query.startswith("{!", start):
            self._read_parser_clause()
        elif self.query[start] in '"[{':
            self._read_value(group.field)
        elif self.query[start] in "]}:^~":
            raise QueryError(f"{self.query[start]!r} stands where a word or a field should", start)
        else:
            word = self._read_word(value=False)
            if self.at < len(self.query) and self.query[self.at] == ":":
                if self.query.startswith("://", self.at):
                    self.at = start
                    self._emit_word(group.field, self._read_word(value=True))
                else:
                    self.at += 1
                    self._read_field(word, start)
                    return
            elif word.upper() in _OPERATORS and self._joins(group, word):
                self._operator(word.upper(), start)
                return
            elif word == "NOT":
                self._wait(word, start)
                group.negates = True
                self.out.append(word)
                return
            else:
                self._emit_word(group.field, word)
        self._read_suffix()
        self._count_clause(group)

    def _joins(self, group: _Group, word: str) -> bool:
        """Whether and/or joins two clauses here. In capitals it always does; small, it may be a word in its own right."""
        if word.upper() == word:
            return True
        rest = self.query[self.at :].lstrip()
        return bool(group.clauses) and not group.waits and rest[:1] not in ("", ")")

    def _read_field(self, raw: str, start: int) -> None:
        typed = unescaped(raw)
        if typed in _HIDDEN:
            raise QueryError(f"{typed} is not available here", start)
        name = field_named(typed)
        group = self.groups[-1]
        if typed == "*":
            self.out.append("*:")
        else:
            self.fields.setdefault(name, start)
            if name not in REWRITTEN:
                # The raw form keeps the escapes that Solr needs in a property's name.
                own = raw if name == typed else "cp_" + raw if name == "cp_" + typed else name
                self.out.append(own + ":")
        if self.at >= len(self.query) or self.query[self.at] in _SPACE or self.query[self.at] == ")":
            raise QueryError(f"{typed}: is not followed by a value", start)
        if self.query[self.at] == "(":
            self._open(name)
            return
        self._read_value(name)
        self._read_suffix()
        self._count_clause(group)

    def _read_value(self, field_name: str) -> None:
        start, char = self.at, self.query[self.at]
        if char == '"':
            phrase = self._read_quoted()
            self._note_type(field_name, phrase[1:-1])
            self._emit(field_name, phrase)
        elif char in "[{":
            self._emit(field_name, self._read_range())
        elif char in "]}:^~":
            raise QueryError(f"{char!r} stands where a value should", start)
        else:
            self._emit_word(field_name, self._read_word(value=True))

    def _read_word(self, *, value: bool) -> str:
        """A word with its escapes. In a value a colon is a character like any other, for it can be nothing else."""
        start = self.at
        while self.at < len(self.query):
            char = self.query[self.at]
            if char == "\\":
                if self.at + 1 >= len(self.query):
                    raise QueryError("a backslash stands at the very end", self.at)
                self.at += 2
            elif char in _SPECIAL and not (value and char == ":"):
                break
            else:
                self.at += 1
        return self.query[start : self.at]

    def _emit_word(self, field_name: str, word: str) -> None:
        self._note_type(field_name, word)
        self._emit(field_name, escaped(word))

    def _emit(self, field_name: str, value: str) -> None:
        """Writes a value, behind its field's name if it has one, or the clause that stands for both."""
        distance = re.compile(r"~\d*\.?\d*").match(self.query, self.at)
        if distance and field_name in ("", *REWRITTEN):
            # Several fields are asked for it, each with the distance.
            value += distance.group()
            self.at = distance.end()
        self.out.append(clause(field_name, value) or value_of(field_name, value))

    def _note_type(self, field_name: str, value: str) -> None:
        if field_name == TYPE:
            self.types.add(unescaped(value).strip().upper())

    def _read_quoted(self) -> str:
        start = self.at
        self.at += 1
        while self.at < len(self.query):
            char = self.query[self.at]
            self.at += 2 if char == "\\" else 1
            if char == '"':
                return self.query[start : self.at]
        raise QueryError("a quotation mark is opened and not closed", start)

    def _read_range(self) -> str:
        start = self.at
        end = next((i for i in range(start, len(self.query)) if self.query[i] in "]}"), -1)
        if end < 0:
            raise QueryError("a range is opened and not closed", start)
        bounds = re.split(r"\s+to\s+", self.query[start + 1 : end].strip(), flags=re.IGNORECASE)
        if len(bounds) != 2 or not all(bounds):
            raise QueryError("a range has the form [from TO to]", start)
        self.at = end + 1
        return f"{self.query[start]}{bounds[0]} TO {bounds[1]}{self.query[end]}"

    def _read_suffix(self) -> None:
        """A boost ``^2``, a distance ``~2``."""
        while self.at < len(self.query) and self.query[self.at] in "^~":
            sign, start = self.query[self.at], self.at
            number = re.match(r"=?\d*\.?\d*", self.query[start + 1 :])
            digits = number.group() if number else ""
            if sign == "^" and not digits.strip("="):
                raise QueryError("a boost needs a number, as in name^2", start)
            self.out.append(sign + digits)
            self.at = start + 1 + len(digits)

    # -- {!parser key=value} -----------------------------------------------------------------------------------------

    def _read_leading_params(self) -> None:
        """``{!tag=type}`` before a whole query: it names no parser, so what follows is an ordinary query."""
        stripped = len(self.query) - len(self.query.lstrip())
        if not self.query.startswith("{!", stripped):
            return
        self.at = stripped
        local, _ = self._read_local_params()
        if local.get("type", "lucene") != "lucene" or "v" in local:
            self.at = stripped
            return
        kept = {key: value for key, value in local.items() if key in ("tag", "ex", "cache", "cost")}
        self.out.append("{!" + " ".join(f"{key}={quoted(value)}" for key, value in kept.items()) + "}")

    def _read_local_params(self) -> tuple[dict[str, str], int]:
        start = self.at
        self.at += 2
        local: dict[str, str] = {}
        while True:
            found = _LOCAL_PARAM.match(self.query, self.at)
            if found is None:
                break
            value = found["value"]
            if value[0] in "\"'":
                value = re.sub(r"\\(.)", r"\1", value[1:-1])
            elif value.startswith("$"):
                raise QueryError("a reference to a parameter is not available here", found.start("value"))
            local[found["key"] or "type"] = value
            self.at = found.end()
        while self.at < len(self.query) and self.query[self.at] in _SPACE:
            self.at += 1
        if self.at >= len(self.query) or self.query[self.at] != "}":
            raise QueryError("{! is not closed by }", start)
        self.at += 1
        return local, start

    def _read_parser_clause(self) -> None:
        local, start = self._read_local_params()
        parser = local.pop("type", "lucene")
        if parser not in PARSERS:
            raise QueryError(f"{{!{parser}}} is not available here; {', '.join(sorted(PARSERS))} are", start)
        value = local.pop("v") if "v" in local else self._read_parser_value()
        if "f" in local:
            name = local["f"] = field_named(local["f"])
            self.fields.setdefault(name, start)
            if name in CONSTANTS:
                value = value.upper()
            elif name in CASELESS and parser != "frange":
                value = value.lower()
            if name in REWRITTEN:
                raise QueryError(f"{{!{parser}}} is not available for {name}: write {name}:(…)", start)
            if name == TYPE:
                self.types.update(part.strip().upper() for part in value.split(","))
        elif parser != "frange":
            raise QueryError(f"{{!{parser}}} names no field: f=…", start)
        reference = f"{self.prefix}{len(self.params)}"
        self.params[reference] = value
        given = "".join(f" {key}={quoted(text)}" for key, text in local.items() if key not in ("tag", "ex"))
        self.out.append(f"({{!{parser}{given} v=${reference}}})")

    def _read_parser_value(self) -> str:
        """Up to a space or a closing parenthesis that is not its own: what follows is the rest of the query."""
        start, depth = self.at, 0
        while self.at < len(self.query):
            char = self.query[self.at]
            if char in _SPACE and not depth and self.query[start : self.at].rstrip()[-1:] != ",":
                break
            if char == ")" and not depth:
                break
            depth += (char == "(") - (char == ")")
            self.at += 1
        return self.query[start : self.at].strip()
