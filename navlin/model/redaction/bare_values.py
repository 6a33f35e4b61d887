"""Masking of unquoted words next to the name of a secret. The context decides whether such a word is the secret."""

from __future__ import annotations

import re
from dataclasses import dataclass

from navlin.model.redaction.names import NAME, is_about_secrets
from navlin.model.redaction.values import MASK, bare_at, is_no_value, is_opaque, masked_at

_HEAD = re.compile(
    r"\s*(?:(?:-\s+)?|(?:set|export|define|declare|let|const|var|val|local|readonly|env|add)\s+(?:-\w\s+)?)(?:\$env:|hive\w{2,4}:|var:|@|\$|-D)?\Z",
    re.IGNORECASE,
)
_SETS = re.compile(r"\s*(?:set|export|define|env|setenv)\s", re.IGNORECASE)
_IN_SQL = re.compile(
    r"\b(?:where|and|or|on|having|when|set|by|select|not|using|if|then|else|case)\s+\(?\Z|[(,<>=!]\s*\Z",
    re.IGNORECASE,
)
_SETTING = re.compile(
    r"""(?: (?:["'(;]|\*/\s{0,9})set\s{1,9}(?:\w{1,20}:)?                # "SET x.password=S
      | ://[^\s'"]{0,200}                                           # a parameter of an address
      | ["'({\[](?:[\w.-]{1,60}=[^'"=\s,;]{0,100}[,;]\s{0,9}){1,20}   # 'user=u,password=S' from its opening
      | [{\[](?:[^{}\[\]\n]{0,200}[,;]\s{0,9})?                     # {user=u, password=S}
    )\Z""",
    re.IGNORECASE | re.VERBOSE,
)
"""Text before the name in a setting, where a column of SQL could also occur."""
_GOES_ON = re.compile(
    r"(?:\b(?:where|and|or|on|set|when|then|by|select|having|else|case)|[,(=])\s*\Z", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z_][\w$]*(?:\.[A-Za-z_]\w*)*(?:#\d+L?)?\Z")
_COLUMN = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+\Z")
_NUMBER = re.compile(r"-?\d{1,4}(?:\.\d*)?\Z")
_COMMENT = re.compile(r"(?:--+|//+|\#+|/\*+)\s{0,9}\Z")
_OF_NAME = re.compile(rf"{NAME}\Z", re.IGNORECASE | re.VERBOSE)
_BACKTICKED = re.compile(r"(?:\w+\.)+\Z")
_ELEMENT = re.compile(r"[\w.]+\[\w*\Z")
_CONSTRUCTED = re.compile(r"new\s{1,9}[\w.]{1,60}\s?[(<\[]")
_TAG = re.compile(
    r"!(?:Ref|GetAtt|Sub|ImportValue|Join|Select|FindInMap|If|secret|env|include|reference)[ \t]"
)
_ALIAS = re.compile(r"\*[A-Za-z_-]{1,40}\Z")
_IN_CALL = re.compile(r"[(,]\s*\Z")
_LABEL = re.compile(r"[A-Z]{1,9}=")
_DIRECTIVE = re.compile(r"(?:root|bind)pw\Z", re.IGNORECASE)
"""Name of a password directive of OpenLDAP's server (``rootpw``) or of an LDAP client (``bindpw``), separated from its
value by a space."""
_PHRASE = re.compile(r"[a-z0-9-]{1,40}+(?: [a-z0-9-]{1,40}+){1,11}[ \t\r]*\Z", re.IGNORECASE)
_OF_SENTENCES = re.compile(
    r"\b(?:an?|the|of|is|are|was|be|been|not|no|never|in|on|for|from|by|with|to|and|or|as|at|this|that|it|its|must|may|will"
    r"|can|if|when|has|have|per|pass\w*|hash\w*|salt\w*|encrypt\w*|encoded|crypt|bcrypt|user\w*|customer\w*|stored|plain|text"
    r"|value|field|column|string|key|see|used|only|also|deprecated|optional|required|empty|expired|changed|reset)\b",
    re.IGNORECASE,
)
_IN_BRACES = re.compile(r"[{,]\s*['\"]?\Z")
_NEXT_ENTRY = re.compile(r"\s*[},]")
_PARAMETER = re.compile(r"(?:\A|\s)(?:/|--?)\Z")
_MORE_SETTINGS = re.compile(r"[;&,]\s*[\w.]{1,60}\s*=|['\"]|\s(?:-|&&|;)|\s[^\s=]{1,200}=|; ")
_QUOTE_WITHIN = re.compile(r"'[^\s'\"]{1,300}")
_MASKED = re.compile(r"\*+\Z")
_LOOK_BACK = 200
LONG = 16


@dataclass(frozen=True, slots=True)
class _Bare:
    """An unquoted word next to a name. ``before`` is the text before the name, ``line`` the part of ``before`` on the
    name's line, and ``rest`` the rest of the line, beginning with the word."""

    named: re.Match[str]
    name: str
    value: str
    before: str
    line: str
    rest: str
    in_sql: bool

    @property
    def is_alone(self) -> bool:
        return _is_alone(self.rest, self.value)

    @property
    def is_spaced(self) -> bool:
        return " " in (self.named["equals"] or "")


def bare_value(text: str, named: re.Match[str], *, in_sql: bool) -> tuple[str, int] | None:
    """Mask the word next to a name. Return the replacement and the end of the masked text; None if the word is not a
    secret."""
    start, at = start_of_name(text, named.start()), named.end()
    value = bare_at(text, at)
    if value.startswith("{") and (braced := masked_at(text, at)) is not None:
        return braced if named["colon"] is None else None
    is_call = text.startswith("(", at + len(value)) and (
        named["equals"] != "=" or _WORD.match(value) is not None
    )
    # Not a secret: a command's output, the element of a mapping, a character class, an object.
    if text.startswith(("$(", "[^"), at) or value.endswith("[") or _is_expression(text, at, value):
        return None
    if not value or is_no_value(value) or is_call or (named["weak"] is not None and len(value) < LONG):
        return None
    if is_about_secrets(text[start : named.start("closed")]):
        return None
    before = text[max(0, start - _LOOK_BACK) : start]
    line = before[max(before.rfind("\n"), before.rfind(";")) + 1 :]
    bare = _Bare(named, text[start : named.end("closed")], value, before, line, _line_at(text, at), in_sql)
    if named["space"] is not None:
        length = len(value) if _is_operand(bare) else 0
    elif named["arrow"] is not None:
        length = len(value) if "Map(" in text or bare.is_alone else 0
    elif named["colon"] is not None:
        length = _length_of_entry(bare)
    else:
        length = _length_assigned(bare)
    return (MASK, at + length) if length else None


def _is_expression(text: str, at: int, value: str) -> bool:
    """Whether a word continues as an expression, not as a value: ``a.`b```, ``tokens[0]``, ``new X(``."""
    if value == "new":
        return _CONSTRUCTED.match(text, at) is not None
    match text[at + len(value) : at + len(value) + 1]:
        case "`":
            return _BACKTICKED.match(value) is not None
        case "]":
            return _ELEMENT.match(value) is not None
    return False


def _length_of_entry(bare: _Bare) -> int:
    """Return the length of the value after a colon: one word, or the rest of the line for a phrase. Return 0 if the
    value is not a secret."""
    if _is_entry(bare):
        return len(bare.value)
    return len(bare.rest.rstrip()) if _is_phrase(bare) else 0


def _is_phrase(bare: _Bare) -> bool:
    """Whether a line of YAML is a password of several words, none of them typical of a sentence."""
    name = bare.name.lower()
    if (
        not ("passw" in name or name.endswith("phrase"))
        or bare.in_sql
        or _HEAD.match(bare.line) is None
        or len(bare.rest) == _LOOK_BACK
    ):
        return False
    return (
        _PHRASE.match(bare.rest) is not None
        and _OF_SENTENCES.search(bare.rest) is None
        and bare.rest.count(" ") >= (1 if name.endswith("phrase") else 3)
    )


def _is_entry(bare: _Bare) -> bool:
    """Whether a word after a name and a colon is its value: a line of YAML, an entry of ``{a: b, c: d}``,
    ``/password:S``."""
    value = bare.value
    if value[0] == "/" or (_NUMBER.match(value) and not bare.named["closed"]) or _TAG.match(bare.rest):
        return False
    # Not an entry: a label that is a value itself, ``A=load-token:ID=7``; a YAML alias.
    if (bare.before.endswith("=") and _LABEL.match(value)) or _ALIAS.match(value):
        return False
    return (
        (_HEAD.match(bare.line) is not None and bare.is_alone)
        or (
            _IN_BRACES.search(bare.before[-9:]) is not None
            and _NEXT_ENTRY.match(bare.rest[len(value) :]) is not None
        )
        or _PARAMETER.search(bare.before[-3:]) is not None
        or is_opaque(value)
    )


def _length_assigned(bare: _Bare) -> int:
    """Return the length of the value after an equals sign: one word, the rest of a line of properties, or the text
    after ``--conf`` up to the closing quotation mark. Return 0 if the value is not a secret: a column, a short number,
    or a component of a path."""
    value = bare.value
    is_word = _WORD.match(value) is not None
    at_head = _HEAD.match(bare.line) is not None
    name = bare.name.strip("\\\"'`")
    if _is_column_of(bare, name) or _NUMBER.match(value) or _is_part_of_path(bare.before):
        return 0
    if (
        is_word
        and (_is_column_at_head(bare) if at_head else _is_column(bare))
        and not _SETTING.search(bare.before)
        and not _is_setting(name, value)
    ):
        return 0
    is_property = at_head and not bare.in_sql and not _SETS.match(bare.line) and not name.isupper()
    if is_property and not _MORE_SETTINGS.search(bare.rest):
        kept = bare.rest.rstrip(" ;,\r")
        if bare.is_alone or (not bare.is_spaced and kept.count(" ") <= 2):
            return len(kept)
    if (
        bare.before.rstrip().endswith("--conf")
        and (quoted := _QUOTE_WITHIN.match(bare.rest, len(value))) is not None
    ):
        return quoted.end()
    return len(value)


def _is_setting(name: str, value: str) -> bool:
    """Whether a name of three or more components has a long value that does not look like a column."""
    return name.count(".") > 1 and len(value) >= LONG and "." not in value and is_opaque(value)


def _is_column_at_head(bare: _Bare) -> bool:
    if not bare.in_sql or _SETS.match(bare.line):
        return False
    lines_before = bare.before[: len(bare.before) - len(bare.line)]
    return _GOES_ON.search(lines_before[-40:]) is not None or (bare.is_spaced and not bare.is_alone)


def _is_column(bare: _Bare) -> bool:
    if bare.is_spaced and (bare.in_sql or not bare.is_alone):
        in_comment = _COMMENT.search(bare.before[-12:]) is not None
        return not (in_comment and is_opaque(bare.value) and _COLUMN.match(bare.value) is None)
    return _IN_SQL.search(bare.before[-40:]) is not None and (bare.in_sql or "#" in bare.value)


def _is_operand(bare: _Bare) -> bool:
    """Whether a word after a name and a space is its value: ``--password S``, or a line of a properties file."""
    if bare.value.startswith("-") or _MASKED.match(bare.value):
        return False
    if bare.name.startswith("-"):
        return not bare.named["closed"]
    if _DIRECTIVE.search(bare.name) and not bare.in_sql:
        return (not bare.line.strip() and bare.is_alone) or is_opaque(bare.value)
    return bare.name.count(".") >= 2 and not bare.line.strip() and bare.is_alone


def _is_alone(rest: str, value: str) -> bool:
    return re.match(r"[\s;,]*(?:[ \t]#.*)?\Z", rest[len(value) :]) is not None


def _is_column_of(bare: _Bare, name: str) -> bool:
    """Whether both sides are columns or variables, because both have the same name, or the right one is named like a
    secret (``a.token=b.token``, ``self.token = token``, ``pw = user.password``)."""
    is_dotted = _COLUMN.match(bare.value) is not None
    last = bare.value.rpartition(".")[2]
    if (
        is_dotted
        and (bare.is_spaced or _IN_CALL.search(bare.before[-10:]))
        and not _SETS.match(bare.line)
        and _OF_NAME.search(last)
    ):
        return True
    of_self = name.lower().startswith(("self.", "this."))
    return (of_self or is_dotted) and last.lower() == name.lower().rpartition(".")[2]


def _is_part_of_path(before: str) -> bool:
    """Whether the assignment is a component of a path, like a partition: ``/warehouse/t/token=abc/ds=2020``."""
    word = re.split(r"[\s'\"]", before[-200:])[-1]
    return word.endswith("/") and "?" not in word and "/" in word[:-1] and "=" not in word.split("/")[-1]


def _line_at(text: str, at: int) -> str:
    end = text.find("\n", at, at + _LOOK_BACK)
    return text[at : at + _LOOK_BACK if end < 0 else end]


def start_of_name(text: str, at: int) -> int:
    """Return the start of the name that contains the matched part at ``at``."""
    first = max(0, at - 200)
    while at > first and (text[at - 1].isalnum() or text[at - 1] in "_.-"):
        at -= 1
    return at
