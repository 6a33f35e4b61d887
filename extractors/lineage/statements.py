"""Determine the kind of a SQL statement and its effect on data from its keywords, if an engine's record does not name
the kind.

The kinds are Impala's own names (``TLineageGraph.operationType``), Hive's (``HiveOperation``) if Impala has none, and
"" for statements that neither read nor write the data of a table. A text is matched by its head: the words outside of
brackets, in lower case, without comments and hints. Quoted text is reduced to a quote, and bracketed text to its first
word:

    create table sales.t (a) stored as orc as (select)
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from enum import Enum, auto
from itertools import chain, islice, pairwise, zip_longest
from typing import Final, NamedTuple

LOOKED_AT_CHARS: Final = 64_000
"""Length of the beginning of a statement that is enough to determine its kind, after comments and WITH."""


class StatementEffect(Enum):
    """A statement's effect on data, which also determines the meaning of the targets in its record."""

    READS = auto()
    """The result goes to the client or to a session's own table, so the targets are labels."""
    WRITES = auto()
    """A table or view receives data, and the targets are its columns. This is also the effect of a statement of
    unknown kind.
    """
    WRITES_FILES = auto()
    """A directory receives data, but no record names the directory, so the targets are labels."""
    WRITES_BOTH = auto()
    """A table and a directory receive data. Hive names the table's columns as the targets for both."""
    CHANGES_NOTHING = auto()
    """No data is read, because the statement concerns the catalog, statistics or sessions, or only removes data."""
    SHOWS = auto()
    """Like CHANGES_NOTHING, but the targets are labels, and not even the named tables are read."""

    @property
    def labels(self) -> bool:
        """Whether the targets in the record are labels, not columns."""
        return self in (StatementEffect.READS, StatementEffect.WRITES_FILES, StatementEffect.SHOWS)

    @property
    def reads(self) -> bool:
        return self not in (StatementEffect.CHANGES_NOTHING, StatementEffect.SHOWS)

    @property
    def writes(self) -> bool:
        return self in (StatementEffect.WRITES, StatementEffect.WRITES_FILES, StatementEffect.WRITES_BOTH)


class StatementKind(NamedTuple):
    """The kind of a statement; ``name`` is its operationType."""

    name: str
    effect: StatementEffect


_UNKNOWN: Final = StatementKind("", StatementEffect.WRITES)
_N: Final = r"\S+"
_PARTITION: Final = r"(?: partition \(\S*\))?"
_QUERY: Final = r"\(?(?:select|with|values|from)\b"
_MADE: Final = r"(?:temporary |transactional |managed |external )*"
_NO_TABLES: Final = (
    "analyze set unset reset use grant revoke lock unlock msck start commit rollback abort kill reload prepare"
    " compute invalidate refresh comment copy enable disable optimize drop :"
)
"""Whole statements, or beginnings of statements, that write no data."""
_CREATED: Final = (
    r"(?:remote )?database|schema|catalog|dataconnector|data source|role|(?:temporary |aggregate )?function"
    r"|temporary macro|index|scheduled query|resource plan|trigger|pool|(?:user|group|application) mapping"
    r"|(?:or replace )?(?:branch|tag)"
)
_OF_A_TABLE: Final = (
    "add|alter|archive|change|clustered|compact|concatenate|convert|create|disable|drop|enable|execute|into|not"
    "|partition column|recover|rename|replace|set|skewed|sort|touch|unarchive|unset|update"
)

_KINDS: Final = tuple(
    (re.compile(pattern), StatementKind(name, effect))
    for pattern, name, effect in (
        (r"(?:select|values|map|reduce)\b", "SELECT", StatementEffect.READS),
        (r"\((?:select|values|with|from)\b", "SELECT", StatementEffect.READS),
        (r"insert overwrite (?:local )?directory\b", "INSERT_OVERWRITE", StatementEffect.WRITES_FILES),
        (r"insert overwrite\b", "INSERT_OVERWRITE", StatementEffect.WRITES),
        (r"insert\b", "INSERT", StatementEffect.WRITES),
        (r"upsert\b", "UPSERT", StatementEffect.WRITES),
        (r"update\b", "UPDATE", StatementEffect.WRITES),
        (r"delete\b", "DELETE", StatementEffect.WRITES),
        (r"merge\b", "MERGE", StatementEffect.WRITES),
        (r"load data\b", "LOAD", StatementEffect.WRITES),
        (r"import\b", "IMPORT", StatementEffect.WRITES),
        (r"export\b", "EXPORT", StatementEffect.WRITES_FILES),
        (r"repl load\b", "REPLLOAD", StatementEffect.WRITES),
        (r"repl dump\b", "REPLDUMP", StatementEffect.WRITES_FILES),
        (r"repl status\b", "", StatementEffect.CHANGES_NOTHING),
        (r"execute\b", "EXECUTE", StatementEffect.WRITES),
        (r"explain\b", "EXPLAIN", StatementEffect.SHOWS),
        (r"(?:show|describe|desc)\b", "", StatementEffect.SHOWS),
        # A temporary table ends with its session.
        (rf"create temporary {_MADE}table\b.* as {_QUERY}", "CREATETABLE_AS_SELECT", StatementEffect.READS),
        (
            rf"(?:create(?: or replace)?|replace) {_MADE}table\b.* as {_QUERY}",
            "CREATETABLE_AS_SELECT",
            StatementEffect.WRITES,
        ),
        (
            rf"(?:create(?: or replace)?|replace) {_MADE}table\b",
            "CREATETABLE",
            StatementEffect.CHANGES_NOTHING,
        ),
        (r"create (?:or replace )?(?:materialized )?view\b", "CREATEVIEW", StatementEffect.WRITES),
        (rf"create (?:{_CREATED})\b", "", StatementEffect.CHANGES_NOTHING),
        (rf"alter view {_N} (?:\(\S*\) )?(?:as )?{_QUERY}", "ALTERVIEW_AS", StatementEffect.WRITES),
        (rf"alter view {_N} (?:as )?rename\b", "ALTERVIEW_RENAME", StatementEffect.CHANGES_NOTHING),
        (rf"alter view {_N} (?:as )?(?:set|unset|add|drop)\b", "", StatementEffect.CHANGES_NOTHING),
        (
            rf"alter materialized view {_N} rebuild\b",
            "ALTER_MATERIALIZED_VIEW_REBUILD",
            StatementEffect.WRITES,
        ),
        (rf"alter materialized view {_N} (?:enable|disable)\b", "", StatementEffect.CHANGES_NOTHING),
        (rf"alter table {_N}{_PARTITION} exchange\b", "ALTERTABLE_EXCHANGEPARTITION", StatementEffect.WRITES),
        (rf"alter table {_N} rename to\b", "ALTERTABLE_RENAME", StatementEffect.CHANGES_NOTHING),
        (rf"alter table {_N}{_PARTITION} (?:{_OF_A_TABLE})\b", "", StatementEffect.CHANGES_NOTHING),
        (rf"alter index {_N} on {_N}{_PARTITION} rebuild\b", "ALTERINDEX_REBUILD", StatementEffect.WRITES),
        (rf"alter index {_N} on {_N}{_PARTITION} set\b", "", StatementEffect.CHANGES_NOTHING),
        (rf"alter (?:{_CREATED})\b", "", StatementEffect.CHANGES_NOTHING),
        (r"replace (?:active )?resource plan\b", "", StatementEffect.CHANGES_NOTHING),
        (r"truncate\b", "TRUNCATETABLE", StatementEffect.CHANGES_NOTHING),
        (rf"(?:{'|'.join(_NO_TABLES.split())})(?: |$)", "", StatementEffect.CHANGES_NOTHING),
    )
)
_EFFECTS: Final = {kind.name: kind.effect for _, kind in _KINDS if kind.name}
"""Kind named in a record → effect. If several patterns share a kind, the effect is that of the last pattern, which has
no addition such as TEMPORARY or DIRECTORY.
"""
_WRITES_ELSEWHERE: Final = re.compile(
    r"(?:copy\b(?!\s+testcase)|unload\b|replace\s+into\b"
    r"|create\s+(?:or\s+replace\s+)?(?:transient|unlogged|multiset|column|dynamic)\s+table\b.*?\bas\W+(?:select|with)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""Statements that write in other engines."""
_COMMON: Final = rf"{_N} (?:\(\S*\) )?as \(\S*\)"
_WITH: Final = re.compile(rf"with (?:recursive )?{_COMMON}(?: , {_COMMON})* ")
_BEHIND_FROM: Final = re.compile(r" (insert|select|map|reduce)\b")
_SHORT: Final = frozenset({"select", "(select)", "insert"})
"""First words of statements whose kind is determined by the next four words."""

_SPACE: Final = r"(?:\s++|--[^\n]*+(?:\n|\Z)|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z))"
_TOKEN: Final = re.compile(
    rf"""(?P<space>{_SPACE}++) | (?P<quoted>'(?:[^'\\]|\\.)*+(?:'|\Z) | "(?:[^"\\]|\\.)*+(?:"|\Z) | `[^`]*+(?:`|\Z))
    | \w++ | .""",
    re.VERBOSE | re.DOTALL,
)
_WITH_FROM: Final = frozenset({"extract", "trim", "substring", "substr", "overlay"})
"""Functions whose arguments are separated by FROM."""
_BEFORE_TABLE: Final = frozenset({"from", "join", "using"})
_ENDS_LIST: Final = frozenset(
    "where group having order limit union intersect except minus select insert on window cluster distribute sort"
    " lateral set when using".split()
)
"""Words that end a list of tables."""
_NAMED: Final = re.compile(
    r"(?!(?:select|values|with|from|table|lateral|unnest|map|reduce)\Z)(?:`.|\d*[^\W\d])", re.DOTALL
)
"""A name that Hive and Impala accept. It may begin with digits."""
_NAME: Final = r"(?:`[^`]{1,300}`|\w{1,300})"
_TABLE: Final = re.compile(
    rf"(?:{_SPACE})*+create{_SPACE}++(?:(?:temporary|transactional|managed|external){_SPACE}++)*table{_SPACE}++"
    rf"(?:if{_SPACE}++not{_SPACE}++exists{_SPACE}++)?({_NAME}){_SPACE}*+\.{_SPACE}*+({_NAME})",
    re.IGNORECASE,
)
_VIEW: Final = re.compile(
    rf"(?:{_SPACE})*+create{_SPACE}++(?:or{_SPACE}++replace{_SPACE}++)?view{_SPACE}++"
    rf"(?:if{_SPACE}++not{_SPACE}++exists{_SPACE}++)?{_NAME}(?:{_SPACE}*+\.{_SPACE}*+{_NAME})?{_SPACE}*+\(",
    re.IGNORECASE,
)


def kind_of(text: str) -> StatementKind:
    """Return the kind of a statement. An unknown kind has no name and counts as writing."""
    words = _words(text[:LOOKED_AT_CHARS])
    first = next(words, "")
    head = " ".join(chain((first,), islice(words, 4) if first in _SHORT else words))
    if (common := _WITH.match(head)) is not None:
        head = head[common.end() :]
    elif head.startswith("with ") and len(text) > LOOKED_AT_CHARS:
        # The definitions in WITH are longer than `LOOKED_AT_CHARS`.
        head = " ".join(_words(text))
        head = head[common.end() :] if (common := _WITH.match(head)) is not None else head
    if head.startswith("from "):
        return _kind_behind_from(head)
    return _kind_of_head(head)


def kind_named(name: str) -> StatementKind:
    """Return the kind that has this name in a record. A kind with an unknown name counts as writing."""
    return StatementKind(name, _EFFECTS.get(name, StatementEffect.WRITES))


def created_table(text: str) -> tuple[str, str] | None:
    """Return (database, table) of a CREATE TABLE that names both; None for any other text."""
    found = _TABLE.match(text[:LOOKED_AT_CHARS])
    return (found[1].strip("`"), found[2].strip("`")) if found else None


def statements_in(text: str) -> Iterator[str]:
    """Yield the statements of a text, without the semicolons between them and without comments before them."""
    begins = -1
    for token in _TOKEN.finditer(text[:LOOKED_AT_CHARS]):
        if token[0] == ";":
            if begins >= 0:
                yield text[begins : token.start()]
            begins = -1
        elif begins < 0 and token["space"] is None:
            begins = token.start()
    if begins >= 0:
        yield text[begins:]


def writes(text: str) -> bool:
    """Whether a statement of any engine certainly writes data. False for an unknown kind, which may or may not write."""
    kind = kind_of(text)
    if kind.name == "SELECT":
        return " into " in f" {' '.join(_words(text[:LOOKED_AT_CHARS]))} "
    return (bool(kind.name) and kind.effect.writes) or bool(_WRITES_ELSEWHERE.match(text))


def reads_from(text: str) -> bool:
    """Whether a statement names a table that it reads, after FROM, JOIN or the USING of a MERGE. Names that the
    statement defines in WITH do not count.
    """
    tokens = [token[0].lower() for token in _TOKEN.finditer(text[:LOOKED_AT_CHARS]) if token["space"] is None]
    defined: set[str] = set()
    brackets: list[_Bracket] = []
    closed = before = second = ""
    listed = named = False
    for word, after in zip_longest(tokens, tokens[1:], fillvalue=""):
        begins = (before in _BEFORE_TABLE and second not in ("delete", "distinct")) or (
            listed and before in (",", "(")
        )
        if word == "(":
            name = (closed if second == ")" else second) if before == "as" and named else ""
            brackets.append(_Bracket(before, name.strip("`"), listed))
            listed = begins
        elif word == ")" and brackets:
            closed, name, listed = brackets.pop()
            # The name counts as defined only after its own definition.
            defined.update([name] if name else [])
        else:
            in_function = bool(brackets) and brackets[-1].before in _WITH_FROM
            if begins and not in_function:
                if _NAMED.match(word) and (word.strip("`") not in defined or after == "."):
                    return True
                listed = True
            named = named or word == "with"
            listed = listed and word not in _ENDS_LIST
        second, before = before, word
    return False


class _Bracket(NamedTuple):
    """An open bracket: the word before the bracket, the name that its content defines, and whether it is in a list of
    tables.
    """

    before: str
    name: str
    listed: bool


def view_columns(text: str) -> tuple[str, ...]:
    """Return the names in the column list of a CREATE VIEW; empty without a list."""
    found = _VIEW.match(text[:LOOKED_AT_CHARS])
    if found is None:
        return ()
    names, first = list[str](), True
    for token in _TOKEN.finditer(text, found.end()):
        word = token[0]
        if token["space"] is not None:
            continue
        if word == ")":
            return tuple(names)
        if first:
            names.append(word.strip("`").lower())
        # A comment may follow the name, and is skipped.
        first = word == ","
    return ()


def in_order(text: str, names: Collection[str]) -> list[str]:
    """Return the column names in their order in a CREATE VIEW; empty unless each name occurs exactly once.

    A name occurs in the view's column list or in the query. It is not in the text if the query has ``*`` or Hive
    generates the name.
    """
    tokens = [token[0].lower().strip("`") for token in _TOKEN.finditer(text) if token["space"] is None]
    if any(word == "*" and before != "(" for before, word in pairwise(tokens)):
        return []
    found = [token for token in tokens if token in names and not token.startswith("_")]
    return found if len(found) == len({*found}) == len(names) else []


def _kind_of_head(head: str) -> StatementKind:
    return next((kind for pattern, kind in _KINDS if pattern.match(head)), _UNKNOWN)


def _kind_behind_from(head: str) -> StatementKind:
    """Return the kind of ``FROM a … INSERT …``, with any number of inserts, and of ``FROM a SELECT …``."""
    starts = [found.start(1) for found in _BEHIND_FROM.finditer(head)]
    kinds = [_kind_of_head(head[at:]) for at in starts if head.startswith("insert", at)]
    if not kinds:
        return StatementKind("SELECT", StatementEffect.READS) if starts else _UNKNOWN
    if len({kind.effect for kind in kinds}) > 1:
        return StatementKind(kinds[0].name, StatementEffect.WRITES_BOTH)
    return kinds[0]


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text's head. A dotted name is one word."""
    so_far = ""
    depth = 0
    inner = ""
    for token in _TOKEN.finditer(text):
        word = token[0]
        if token["space"] is not None:
            continue
        if token["quoted"] is not None:
            word = "'" if word[0] != "`" else "`"
        if word in "([":
            depth += 1
            inner = word if depth == 1 else inner
        elif word in ")]" and depth:
            depth -= 1
            if depth or inner.startswith("["):  # Impala's hints
                continue
            yield from (each for each in (so_far, f"{inner})") if each)
            so_far = ""
        elif depth:
            inner = inner + word.lower() if len(inner) == 1 else inner
        elif word == ";":
            break
        elif word == "." or so_far.endswith("."):
            so_far += word.lower()
        else:
            if so_far:
                yield so_far
            so_far = word.lower()
    if depth and inner.startswith("("):
        inner += ")"
        yield from (each for each in (so_far, inner) if each)
    elif so_far:
        yield so_far
