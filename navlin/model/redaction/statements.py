"""Secrets at specific places in SQL statements, not next to the name of a secret."""

from __future__ import annotations

import re

from navlin.model.redaction.signs import SPACE, loosened
from navlin.model.redaction.values import (
    GAP,
    MASK,
    bare_at,
    end_of_bare,
    is_no_value,
    is_reference,
    masked_at,
)

_GAPS = f"{GAP}{{1,60}}+"
_ANY_GAPS = f"{GAP}{{0,60}}+"
"""Bounded, because a match may begin at every position in a run of comments."""
_BEFORE_VALUE = re.compile(
    rf"""
      \b identified {_GAPS} (?: with {_GAPS} [\w"'`]{{1,100}} {_GAPS} )? (?: by | as | using ) {_GAPS}
      (?: (?: values | password ) {_GAPS} )?
    | \b set {_GAPS} password {_GAPS} for {_GAPS} [^\s=]{{1,200}} {_ANY_GAPS} (?: = | \bto\b ) {_ANY_GAPS}
    | \b pragma {_GAPS} (?:\w{{1,60}}\.)? (?:hex)?(?:re)?key {_ANY_GAPS} = {_ANY_GAPS}
    | \b password {_ANY_GAPS} = {_ANY_GAPS} (?=0x)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_GIVES_PASSWORD = re.compile(r"\b(?:create|alter|grant|connect|password)\b", re.IGNORECASE)
_REPLACED = re.compile(rf"{GAP}++replace{GAP}++", re.IGNORECASE)

_CRYPTIC = re.compile(
    r"\b(?:(?:try_)?(?:aes|des|des3|sym)_?(?:en|de)crypt|h?mac(?:_?(?:md5|sha\d{0,3}))?|pgp_\w{1,20}(?:en|de)crypt(?:_bytea)?"
    r"|(?:en|de)crypt(?:_iv|_raw)?|crypt|(?:en|de)cryptby\w{1,20}|(?:old_)?password|hmac_\w{1,20}"
    r"|(?P<hashes>md5(?:_?(?:hex|binary|digest|number\w{0,10}))?|sha[-_]?\d{0,3}(?:_\d{3})?(?:_?(?:hex|binary))?|hashbytes"
    r"|standard_hash|digest|dbms_crypto\.\w{1,20}|blake\w{1,4}|ripemd\d{0,3}|keccak\d{0,3}|whirlpool"
    r"|hashpw|checkpw|pbkdf2\w{0,10}|[bs]crypt|argon2\w{0,10}|generate_password_hash))\s*+\(",
    re.IGNORECASE,
)
_PART_OF_CALL = re.compile(r"'(?:[^'\\]|\\.|'')*+'?|\"(?:[^\"\\]|\\.)*+\"?|[()]|[^'\"()]++", re.DOTALL)
_METHOD = re.compile(
    r"(?:aes(?:[-_]\d{3})?(?:[-_]\w{3})?|3?des|bf|xdes|md5|sha[-_]?\d{0,3}(?:_\d{3})?|[gce]bc|gcm|ecb|pkcs\w*|none|default|hex|base64|utf-?\d{1,2}|\W?|.*-(?:algo|mode)=.*)",
    re.IGNORECASE,
)
_MAX_CALL = 4000

_LOGIN = re.compile(
    r"((?:\bconnect\s+to\s+[\w.-]{1,100}\s+user\s+[\w.-]{1,100}\s+using\s+|\.logon\s+(?:[\w.-]{1,60}/)?[\w.-]{1,60},)"
    r"|\b(?:(?:connect|sqlplus|sqlldr|expdp|impdp|rman\s+target|conn)\s|userid\s*=)\s*+(?:-\w\s++){0,4}+[\w$#]{1,60}/)"
    r"(\"[^\"\n]{1,200}\"|[^\s/@'\"]{1,200})",
    re.IGNORECASE,
)
_REMOTE = re.compile(
    r"(\b(?:mysql|postgresql)\s?\((?:\s*'[^'\n]{0,300}'\s*,){4}\s*')([^'\n]{1,300})", re.IGNORECASE
)


_BEELINE = re.compile(
    r"(!connect\s+[^\s'\"]{1,500}\s+(?:[\w.@$-]{1,100}|\"[^\"\n]{0,100}\")\s+)(\"[^\"\n]{1,200}\"|[^\s'\"]{1,200})",
    re.IGNORECASE,
)
_COMMENT_OR_SPACE = rf"(?:{SPACE}|/\*|--)"
SIGNS = (
    rf"(?i:identified{_COMMENT_OR_SPACE})",
    rf"(?i:password{SPACE}+for{_COMMENT_OR_SPACE})",
    rf"(?i:password{SPACE}*(?:/\*|--|=))",
    rf"(?i:pragma{_COMMENT_OR_SPACE})",
    *(f"(?i:{loosened(pattern.pattern)})" for pattern in (_CRYPTIC, _LOGIN, _REMOTE, _BEELINE)),
)


def without_keys(text: str) -> str:
    """Return the statement without users' passwords and the keys given to functions."""
    text = _without_passwords(text)
    text = _without_cryptic_arguments(text)
    text = _LOGIN.sub(rf"\g<1>{MASK}", text)
    text = _BEELINE.sub(rf"\g<1>{MASK}", text)
    return _REMOTE.sub(rf"\g<1>{MASK}", text)


def _without_passwords(text: str) -> str:
    pieces: list[str] = []
    copied = at = 0
    while (found := _BEFORE_VALUE.search(text, at)) is not None:
        at = found.end()
        is_statement = _GIVES_PASSWORD.search(text, max(0, found.start() - 500), at) is not None
        while (value := _value_at(text, at, bare=is_statement)) is not None:
            pieces += (text[copied:at], value[0])
            copied = at = value[1]
            if (replaced := _REPLACED.match(text, at)) is None:
                break
            at = replaced.end()
    return "".join((*pieces, text[copied:]))


def _value_at(text: str, at: int, *, bare: bool) -> tuple[str, int] | None:
    if (quoted := masked_at(text, at)) is not None:
        return quoted
    word = bare_at(text, at) if bare else ""
    is_call = text.startswith("(", at + len(word))
    return None if not word or is_call or is_no_value(word) else (MASK, end_of_bare(text, at, at + len(word)))


def _without_cryptic_arguments(text: str) -> str:
    pieces: list[str] = []
    copied = at = 0
    while (call := _CRYPTIC.search(text, at)) is not None:
        at = call.end()
        depth, end = 1, at + _MAX_CALL
        while depth and at < end and (part := _PART_OF_CALL.match(text, at)) is not None:
            word = part[0]
            depth += (word == "(") - (word == ")")
            inner = word[1:-1]
            if (
                word[0] in "'\""
                and len(inner) > bool(call["hashes"])
                and not _METHOD.fullmatch(inner)
                and not is_reference(inner)
            ):
                pieces += (text[copied:at], word[0], MASK, word[0])
                copied = part.end()
            at = part.end()
    return "".join((*pieces, text[copied:]))
