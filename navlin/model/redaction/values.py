"""Values next to the name of a secret: their boundaries, and whether they are secrets."""

from __future__ import annotations

import re

MASK = "********"

GAP = r"(?:\s|/\*(?:[^*]|\*(?!/)){0,300}+\*/|--[^\n]{0,300}+\n)"
"""White space or an SQL comment. The length of a comment is bounded, so that an unclosed comment is not scanned again
from every position."""

_QUOTED = re.compile(
    r"""
      (?P<triple> '''|\"\"\" ) (?: (?! (?P=triple) ) . ){0,2000}+ (?P<triple_close> (?P=triple) )?
    | (?P<dollar> \$\w{0,30}\$ ) (?: (?! (?P=dollar) ) . ){0,2000}+ (?P<dollar_close> (?P=dollar) )
    | (?P<brace> \{ ) (?! \{ ) (?: [^}\n] | \}\}(?=[^\s,;&"'}\])]) ){1,300}+ (?P<brace_close> \} )
    | (?P<open> \\*+' ) (?: [^'\\] | \\. | '' )*+ (?: (?P<close> ' ) | \\?\Z )
    | (?P<open2> \\++" ) [^"\\]*+ (?P<close2> \\*+" )?
    | (?P<open3> " ) (?: [^"\\] | \\. | "" )*+ (?: (?P<close3> " ) | \\?\Z )
    """,
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(r"[^\s\"'`,;&()\]}<>|]{1,500}+")
_REST_OF_BARE = re.compile(r"[^\s\"'`,;&()\]}<>|]*+")
_REFERENCE = re.compile(
    r"\\?[\"']?(?:\$(?:\{|\(|\w+(?:[\"'\s;)]|\Z))|:\w+\Z|\?\Z|%s|%\(|%\Z|\{\{|@\w+\Z|<|\*+(?:\(redacted\))?\Z|\{\w{0,40}\}\Z)"
    r"|\\?[\"']\s?(?:\+|\|\|)\s?[^'\"\n]{1,100}(?:\+|\|\|)\s?\\?[\"']\Z"
)
_NO_VALUES = frozenset(
    ("", "null", "none", "nil", "true", "false", "yes", "no", "?", "~", "undefined", "expire", "required")
)
_TYPES = re.compile(
    r"(?:string|str|var(?:char|binary)?2?|n?char|n?varchar2?|text|int|integer|bigint|smallint|tinyint|long|double|float|decimal|numeric"
    r"|boolean|bool|binary|bytes?|date|timestamp|array|map|struct|list|option(?:al)?|any|uuid|json|object)(?:[(<\[].*)?\Z",
    re.IGNORECASE,
)


def masked_at(text: str, at: int) -> tuple[str, int] | None:
    """Mask the quoted value at a place. Return the replacement and the end of the value; None if no value begins there.

    Empty values and references to variables stay.
    """
    value = _QUOTED.match(text, at)
    if value is None:
        return None
    opened = next(
        (o for n in ("triple", "dollar", "brace", "open", "open2", "open3") if (o := value[n]) is not None),
        "",
    )
    kinds = ("triple_close", "dollar_close", "brace_close", "close", "close2", "close3")
    closed = next((c for n in kinds if (c := value[n]) is not None), "")
    inner = value[0][len(opened) : len(value[0]) - len(closed)]
    if not inner or is_reference(inner):
        return value[0], value.end()
    return f"{opened}{MASK}{closed}", value.end()


def bare_at(text: str, at: int) -> str:
    """Return the unquoted value at a place, or its first 500 characters. The limit saves time, because most values are
    rejected anyway."""
    value = _BARE.match(text, at)
    return "" if value is None else value[0]


def end_of_bare(text: str, at: int, end: int) -> int:
    """Return the end of the unquoted value that begins at ``at`` and was examined up to ``end``."""
    rest = _REST_OF_BARE.match(text, end) if end - at >= 500 else None
    return end if rest is None else rest.end()


def is_reference(value: str) -> bool:
    """Whether a value only refers to the secret: ``$PW``, ``${pw}``, ``?``, ``:pw``, ``%s``."""
    return _REFERENCE.match(value) is not None


def is_no_value(value: str) -> bool:
    """Whether a word cannot be a secret: nothing, a constant, a type, a reference."""
    return value.lower() in _NO_VALUES or is_type(value) or is_reference(value)


def is_type(value: str) -> bool:
    """Whether a word is the type of a column."""
    return _TYPES.match(value) is not None


def is_opaque(value: str) -> bool:
    """Whether a word does not look like natural language or a name: letters mixed with digits or signs."""
    return (
        len(value) >= 6
        and re.search("[A-Za-z]", value) is not None
        and re.search(r"[0-9!#$%^&+/=~]", value) is not None
        and re.fullmatch(r"[\w-]*#\d+L?", value) is None
    )
