"""Secrets next to a telling name: ``name = value`` in SQL, properties, YAML, JSON, calls and command lines.

A quoted value is masked. An unquoted one may also be a column (``a.token = b.token``), a type (``password: string``) or
a word of a sentence, so its context decides.
"""

from __future__ import annotations

import re

from navlin.model.redaction.bare_values import LONG, bare_value, start_of_name
from navlin.model.redaction.names import NAME, SIGN, is_about_secrets
from navlin.model.redaction.signs import BEYOND_ASCII, SPACE
from navlin.model.redaction.values import GAP, end_of_bare, is_type, masked_at

_PART = rf"[\w{BEYOND_ASCII}-]"
_DOTTED = rf"[\w.{BEYOND_ASCII}-]"
_WORDS = "(?:pass|pwd|pw|secret|token|credential|key|sig|sas|auth|delegation|psk|pin|session)"
_CLOSED = rf"{SIGN}\\*[\"'`]?\]?"
_QUOTE = rf"(?:/\*|--|(?:[A-Za-z]{{0,2}}|(?:new{SPACE}+)?[\w.{BEYOND_ASCII}]+{SPACE}?\({SPACE}*[A-Za-z]{{0,2}})\\*[\"'$])"
"""A quote with its prefix, or a comment, which a quote may follow."""
_TYPE = rf"{SPACE}+[A-Za-z]\w*(?:\(\w*\))?"
_SIGN = rf"(?:[:=!]|<>|->|<-|is{SPACE}*:|(?:\(|\bto\b|\bis\b){SPACE}*{_QUOTE})"
SIGNS = (
    rf"(?i:{_CLOSED}{SPACE}*(?:{_SIGN}|{_QUOTE}|\{{))",
    rf"(?i:{_CLOSED}{_TYPE}{SPACE}*(?:{_SIGN}|\(|/\*|--))",
    rf"(?i:{SIGN}(?:\\+|\\*[\"'`])\]?{SPACE}*,{SPACE}*{_QUOTE})",
    rf"(?i:-{_DOTTED}*{SIGN}\]?[ \t])",
    r"(?i:(?:bind|root)pw[ \t])",
    rf"(?i:(?:^|[\n;]){SPACE}*{_PART}*(?:\.{_DOTTED}*{_WORDS}|{_WORDS}{_PART}*\.){_DOTTED}*\\*[\"'`]?\]?[ \t])",
)

_READS = r"""(?:get|env|read|load|fetch|find|look_?up|resolve|ask|input|prompt|ref|var)\w{0,40}\(
    | \w{0,40}(?:env|field|column|param|parameter|input|prompt|config|conf|label)\( | \w{1,40}option\("""
"""Call of a function whose argument only names the place of a value, such as ``getenv(``."""
_PREFIX = rf"""(?: [A-Za-z]{{0,2}} (?=['"]|\$\w{{0,30}}\$)
    | (?: new\s{{1,9}} (?:\w{{1,20}}\.){{0,4}} \w{{0,20}} (?:String|Secret|Password)
      | (?:\w{{1,20}}\.){{0,4}} (?: (?:String|Option|Optional|Some) \.\w{{1,20}} | \w{{0,10}} b64decode )
      | (?!{_READS}) \w{{1,40}}
    ) \( \s*+ [A-Za-z]{{0,2}} (?=\\*['"]) )"""
"""The prefix of a literal (``N'…'``, ``f"…"``), or a call around the literal."""
_OF_YAML = (
    r"(?: (?: &\w{1,40} | !!(?:str|binary)"
    r" | !(?!(?:Ref|GetAtt|Sub|ImportValue|Join|Select|FindInMap|If|secret|env|include|reference)\b)\w{1,40} )"
    r" [ \t]++ )?+"
)
"""A YAML anchor, or a tag that is not a reference to a value elsewhere."""
_IN_BRACKETS = r"""(?: \s*+ \( (?= \s{0,20} \\*["'] [^"'\n]{0,200} ["'] \s{0,40} [)"'] ) )?+"""
"""A bracket before one literal, or before several literals that form one value, but not before a tuple."""
_NAMED = re.compile(
    rf"""
    {NAME} (?P<closed> \\*["'`]? ) \]?
    (?:
        (?P<typed> \s*+ : \s*+ (?!{_READS}) [A-Za-z][\w.\[\]]{{0,40}} | \s++ [A-Za-z]\w{{0,20}} (?:\(\w{{0,5}}\))? )?
        {GAP}{{0,20}}+ (?: => | := | != | <> | ==? {_IN_BRACKETS} | -> | <- | : | \( | \b(?:to|is)\b ) {GAP}{{0,20}}+
        {_OF_YAML} {_PREFIX}?+ (?= \\*["'] | \$\w{{0,30}}\$ )                           # name = 'value'
      | (?P<gap> {GAP}{{1,20}}+ ) {_PREFIX}?+ (?= ["'] | \$\w{{0,30}}\$ )    # password 'value'
      | (?P<listed> \s*+,\s*+ ) {_PREFIX}?+ (?= \\*["'] )                    # set("name", "value")
      | (?P<equals> \s*+ (?: => | := | = ) (?: [ \t] | \\\r?\n )*+ ) (?= [^\s"'`,;&()<>=] )  # name=value
      | (?P<colon> [ \t]*+ (?: is [ \t]*+ )?+ : [ \t]*+ {_OF_YAML} ) (?= [^\s"'`,;&()<>=:] )                # name: value
      | (?P<arrow> [ ]->[ ] ) (?= [^\s"'`,;&()] )                           # Map(name -> value)
      | (?P<space> [ \t] (?: [ \t] | \\\r?\n )*+ ) (?= [^\s"'=:<>] )                              # --password value
    )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_GOES_ON_OUTSIDE = re.compile(
    r"\s*+(?:[,)+;\]]|\|\||\Z|(?:as|from|and|or|then|else|end|when)\b)", re.IGNORECASE
)
_MORE = re.compile(
    r"(?:\s|\)|\\\n){0,20}+(?:\|\||\+|\?\?|\bor\b|\bif\b[^\n'\"]{1,80}\belse\b)\s{0,20}+[A-Za-z]{0,2}(?=\\*['\"])"
    r"|(?P<adjacent>\s{1,40}+)(?=['\"])|(?P<listed>\s?,\s?)(?=\\*['\"])",
    re.IGNORECASE,
)
"""The text between two literals of one value, or between alternatives for one value."""
_MARK = re.compile(r"\\*[\"'][^\w\s\"'\\]\\*[\"']")
"""A literal that is only a separator."""
_CONCATENATED = re.compile(r"\bconcat(?:_ws)?\s?\([^()]{0,200}\Z", re.IGNORECASE)
_CLOSES = re.compile(r"\\*\"\s?(?:\|\||\+)\s?(?=[\w(\"'\\])")
"""A double quote followed by the rest of an expression, if the name is within quotes."""
_QUOTES = frozenset("'\"\\")
_END_OF_QUOTE = re.compile(r"\\*[\"']")
_QUALIFIES = re.compile(r"\"[^\"\\]{0,200}\"\.(?=[\w\"`*])(?!\w{1,40}\()")
_WORDS_IN_QUOTES = re.compile(r"\\*[\"']([\w(), <>]{3,60})\\*[\"']")
_READS_SECRET = re.compile(
    r"\b(?:get|read|load|fetch|find|look_?up|resolve|has|delete)(?:_|(?-i:[A-Z]))\w{0,40}\Z",
    re.IGNORECASE,
)
_COLUMN_IN_QUOTES = re.compile(r"\\*[\"'][a-z_]+(?:\.[a-z_]+){1,5}\\*[\"']", re.IGNORECASE)
_RENAMED = re.compile(r"\brename\w{0,20}\(\s?(?:columns\s?=\s?)?\{[^{}]{0,150}\Z")
_DEFAULT = re.compile(
    r"[\w.]{1,60}(?:[(\[][^()\[\]\n]{0,80}[)\]])?(?:\s(?:or|\?\?|\|\|)\s(?=['\"])"
    r"|\.(?:get_?)?or_?else\(\s?(?=(?:'[^'\n]{0,200}'|\"[^\"\n]{0,200}\")\)))",
    re.IGNORECASE,
)
"""The text before a default value, as in ``os.getenv('PW') or 'S'``."""
_CALLED = re.compile(
    r"(?:\.\s?\w{1,40}|\b(?:set|put|option|config|conf|header|setenv|putenv|add|define)\w{0,30})\s?\(\s{0,8}[A-Za-z]?\\?['\"]\Z"
    r"|['\"]set\w{0,30}['\"]\s?,\s?['\"]\Z",
    re.IGNORECASE,
)
_COMMENT_ON = re.compile(r"\bcomment\s{1,9}on\s{1,9}\w{1,20}\s{1,9}[\w.\"`]{1,150}\Z", re.IGNORECASE)
_OF_COLUMNS = re.compile(
    r"\.\s?(?:select(?:Expr)?|drop\w*|group_?by|order_?by|sort\w*|partition_?by|cube|rollup|toDF|describe|summary"
    r"|with\w*Renamed|withColumn|coalesce|struct|array|concat\w*|agg|distinct|join|repartition\w*|add_argument)"
    r"\s?\(\s{0,8}[A-Za-z]?\\?['\"]\Z",
    re.IGNORECASE,
)
"""Methods whose arguments are names of columns, or of a program's options."""
_SQL = re.compile(
    r"\b(?:select|update|merge|delete\s+from|insert|join|where|filter|project)\b", re.IGNORECASE
)


def without_values(text: str) -> str:
    """Return the text without the values next to the names of secrets."""
    pieces: list[str] = []
    copied = at = quotes = counted = 0
    in_sql = _SQL.search(text) is not None
    while (named := _NAMED.search(text, at)) is not None:
        at = named.end()
        quotes += text.count("'", counted, at)
        counted = at
        if text[at : at + 1] in _QUOTES and _is_outside(text, at, within=quotes % 2 == 1):
            if (closed := _END_OF_QUOTE.match(text, at)) is not None:
                more = _literals(text, closed.end(), named, most=1)
                pieces += (text[copied : closed.end()], more[0])
                copied = at = more[1]
                quotes += text.count("'", counted, at)
                counted = at
            continue
        if (
            value := _quoted(text, named) if _is_quoted(named) else bare_value(text, named, in_sql=in_sql)
        ) is None and (value := _default(text, named, in_sql=in_sql)) is None:
            at = max(named.end("closed"), named.start() + 1)
            quotes -= text.count("'", at, counted)
            counted = at
            continue
        pieces += (text[copied:at], value[0])
        if _is_quoted(named):
            more = _literals(text, value[1], named)
            pieces.append(more[0])
            copied = at = more[1]
        else:
            copied = at = end_of_bare(text, at, value[1])
        quotes += text.count("'", counted, at)
        counted = at
    return "".join((*pieces, text[copied:])) if pieces else text


def _is_outside(text: str, at: int, *, within: bool) -> bool:
    """Whether the quote after a name closes the string that contains the name: ``concat('token: ', x)``, ``"&pw=" +
    x``."""
    if text.startswith("'", at):
        return within and _GOES_ON_OUTSIDE.match(text, at + 1) is not None
    if _CLOSES.match(text, at) is None:
        return False
    line = text[max(0, at - 1000) : at]
    return line.count('"', line.rfind("\n") + 1) % 2 == 1


def _literals(text: str, at: int, named: re.Match[str], most: int = 20) -> tuple[str, int]:
    """Mask the literals that continue a value, as in ``'a' 'b'`` and ``x or 'b'``. Return the masked text, and the end
    of the last literal."""
    pieces: list[str] = []
    listed = None
    while len(pieces) < 2 * most and (more := _MORE.match(text, at)) is not None:
        if more["adjacent"] is not None and "(" not in named[0]:
            break
        if more["listed"] is not None and listed is None:
            listed = _CONCATENATED.search(text, max(0, named.start() - 200), named.end()) is not None
        if more["listed"] is not None and not listed:
            break
        if (value := masked_at(text, more.end())) is None:
            break
        mark = _MARK.match(text, more.end())
        pieces += (more[0], value[0] if mark is None else mark[0])
        at = value[1]
    return "".join(pieces), at


def _is_quoted(named: re.Match[str]) -> bool:
    return not any(named[kind] for kind in ("equals", "colon", "arrow", "space"))


def _quoted(text: str, named: re.Match[str]) -> tuple[str, int] | None:
    if named["listed"] is not None and not _is_argument(text, named):
        return None
    if (
        named["typed"] is not None
        and ":" not in named["typed"]
        and "@" not in text[max(0, named.start() - 40) : named.start()]
    ):
        return None
    if text.startswith("(", named.end("closed")) and _READS_SECRET.search(
        text, max(0, named.start() - 40), named.end("closed")
    ):
        return None
    if _COMMENT_ON.search(text[max(0, named.start() - 200) : named.end("closed")]):
        return None
    if is_about_secrets(text[start_of_name(text, named.start()) : named.start("closed")]):
        return None
    value = masked_at(text, named.end())
    if value is None or (named["weak"] is not None and value[1] - named.end() < LONG):
        return None
    # Not a secret: the quoted name of a table; an operator in a parser's message; a punctuation mark among words.
    if _QUALIFIES.match(text, named.end()) is not None or _MARK.match(text, named.end()) is not None:
        return None
    if named["closed"] and ":" in named[0]:
        # Not a secret: a column with its type, or with its new name.
        words = _WORDS_IN_QUOTES.match(text, named.end())
        if words is not None and (
            is_type(words[1]) or _RENAMED.search(text, max(0, named.start() - 200), named.start())
        ):
            return None
    return value


def _default(text: str, named: re.Match[str], *, in_sql: bool) -> tuple[str, int] | None:
    """Mask the default literal in ``name = word or 'literal'``. Return the replacement and its end, or None."""
    if named["equals"] is None or (default := _DEFAULT.match(text, named.end())) is None:
        return None
    if in_sql and not default[0].rstrip().endswith("("):
        return None
    value = masked_at(text, default.end())
    return None if value is None else (f"{default[0]}{value[0]}", value[1])


def _is_argument(text: str, named: re.Match[str]) -> bool:
    """Whether a quoted name and the literal after the comma are a setting: an argument of a method, a pair in brackets,
    or a flag and its value in a list of arguments."""
    start = start_of_name(text, named.start())
    if not named["closed"]:
        return False
    before = text[max(0, start - 60) : start]
    if _OF_COLUMNS.search(before):
        return False
    if text[start] == "-":
        return not text.startswith(("'-", '"-'), named.end())
    return _CALLED.search(before) is not None or (
        "." in text[start : named.end()]
        and re.search(r"[\[(]\s?\\?['\"]\Z", before) is not None
        and _COLUMN_IN_QUOTES.match(text, named.end()) is None
    )
