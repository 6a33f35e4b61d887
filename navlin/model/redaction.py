"""What may be kept of a text from outside: no secrets, and not without bound.

The index redacts every text that becomes part of a document, a reject or a run record. An extractor redacts what enters an
identity or a position, and nothing else; but what it cuts is redacted first (`bounded`, `sample`), because a secret that was
cut in two may not be recognised.

Secrets are replaced by `MASK`: values beside the name of a secret (``password = '…'``, ``'fs.s3a.secret.key'='…'``,
``?sig=…``, ``IDENTIFIED BY '…'``), the password of a URL's user, and what shows by its form that it is one (AWS access keys,
JSON web tokens, private keys). In doubt a value is masked; names are not: ``token_count`` and ``a.token = b.token`` stay.

Everything here is pure and takes time in proportion to the text: no pattern can look at one place again and again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MASK = "********"
MAX_TEXT_BYTES = 1 << 20
CUT = " … [cut]"
SAMPLE_CHARACTERS = 200

_WORDS = "pass pwd secret token credential key sig sas identified authorization bearer akia asia eyj jdbc:oracle".split()
SIGNS = "|".join([*_WORDS, "://.*@"])
"""What a text must contain, whatever its case, to have a secret that `redact` finds: most texts are done after this look."""


def bounded(text: str, max_bytes: int = MAX_TEXT_BYTES) -> str:
    """The text, if it has at most so many bytes of UTF-8; else its redacted beginning with a note that it was cut.

    Lone surrogates become U+FFFD.
    """
    if text.isascii() and len(text) <= max_bytes:
        return text
    data = _utf8(text)
    if len(data) > max_bytes:
        data = _utf8(redact(text))
    if len(data) <= max_bytes:
        return data.decode()
    return data[: max_bytes - len(CUT.encode())].decode(errors="ignore") + CUT


def _utf8(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def sample(data: bytes) -> str:
    """The beginning of a line that does not read, redacted, for a person to recognise it."""
    text = data[: 8 * SAMPLE_CHARACTERS].decode(errors="replace")
    return redact(text).replace("\0", "␀")[:SAMPLE_CHARACTERS]


def redact(text: str) -> str:
    """The text without its secrets: SQL, a URL, a configuration, a command line, or one within another.

    Redacting twice changes nothing more.
    """
    folded = text.lower()
    if "://" in text and "@" in text:
        text = _USER_SLASH.sub(rf"\g<1>\g<2>{MASK}@", _USER.sub(rf"\g<1>\g<2>{MASK}@", text))
    for word in _WORDS:
        if word in folded:
            break
    else:
        return text
    for pattern, replacement in _BY_FORM:
        text = pattern.sub(replacement, text)
    return _redact_named(text)


def without_credentials(uri: str) -> str:
    """A location without the user and password that stand before its host: they do not name the place.

    ``container@account`` stays.
    """
    return _USER_SLASH.sub(r"\g<1>", _USER.sub(r"\g<1>", uri)) if "@" in uri else uri


def redact_options(options: Mapping[str, str]) -> dict[str, str]:
    """A configuration without its secrets: values of keys that name secrets are masked, others are redacted as texts."""
    return {key: MASK if is_secret(key) else redact(value) for key, value in options.items()}


def is_secret(key: str) -> bool:
    """Whether the value of a configuration key is a secret. Any part of the key may show it, as in Spark's own redaction."""
    return _SECRET_KEY.search(key) is not None


_SECRET_KEY = re.compile(
    r"passw|passphrase|(?<![a-z])pwd|secret|token|credential|signature"
    r"|(?:access|private|api|account|encryption|signing)[._-]?key|(?<![a-z])sas(?![a-z])|(?<![a-z])sig(?![a-z])",
    re.IGNORECASE,
)

# -- URLs -----------------------------------------------------------------------------------------------------------
# Possessive quantifiers and bounds: each place of the text is looked at a bounded number of times.

_USER = re.compile(r"(://)([^\s/:@'\"]{0,300}:)(?!\d{1,5}[/?#])[^\s/'\"]{0,500}@")
"""``scheme://user:password@``. A user without a password (abfs://container@account) stays."""
_USER_SLASH = re.compile(r"(s3[an]?://)([^\s/:@'\"]{1,300}:)[^\s'\"@*]{1,300}@", re.IGNORECASE)
"""An AWS secret key may contain slashes."""

# -- Secrets by their form ------------------------------------------------------------------------------------------

_BY_FORM: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----)[^-]*+(?:-(?!----END)[^-]*+)*+"),
        rf"\g<1>{MASK}",
    ),
    (re.compile(r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9])"), MASK),
    (re.compile(r"(?<![\w-])eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?"), MASK),
    (
        re.compile(
            r"(authorization\\*['\"]?\s*+[:=]\s*+\\*['\"]?(?:\w{1,30}\s++)?)[^\s'\"\\,;]++", re.IGNORECASE
        ),
        rf"\g<1>{MASK}",
    ),
    (re.compile(r"(\bbearer\s++)[\w.~+/=-]{16,}+", re.IGNORECASE), rf"\g<1>{MASK}"),
    (
        re.compile(r"(jdbc:oracle:\w{1,20}:[^\s/@'\"]{1,100}/)[^\s@'\"]{1,200}@", re.IGNORECASE),
        rf"\g<1>{MASK}@",
    ),
)

# -- Secrets by the name beside them ----------------------------------------------------------------------------------

_NAME = r"""(?:
    pass(?:word|wd|phrase|code) | (?<![a-z])pwd | secret | token | credentials? | signature | (?<![a-z])sig | (?<![a-z])sas
  | (?:access|private|api|secret|encryption|signing)[._-]?key(?:[._-]?id)?
  | (?<![a-z])accountkey | account\.key(?:\.[\w.-]{1,200}+)? | fs\.azure\.sas\.[\w.-]{1,200}+
)"""

_NAMED = re.compile(
    rf"""
    (?P<before> --? )?+ (?P<name> {_NAME} ) (?P<closed> \\*["'`]? ) (?: \] )?
    (?:
        \s*+ (?: => | := | != | <> | ==? | : | \( ) \s*+ (?: \w{{1,40}}\(\s*+ )? (?= \\*["'] ) # name = 'value'
      | \s++ (?= ["'] )                                                    # password 'value'
      | = (?= [^\s"'`,;&()] )                                              # name=value
      | (?P<arrow> \s->\s ) (?= [^\s"'`,;&()] )                             # Map(name -> value)
      | (?<=\w) \s++ (?P<argument> (?= [^\s"'-] ) )                         # --password value
    )
    | \b identified \s++ (?: with \s++ [\w"'`]{{1,100}} \s++ )? (?: by | as | using ) \s++
    """,
    re.IGNORECASE | re.VERBOSE,
)

_QUOTED = re.compile(
    r"""
      (?P<open> \\*+' ) (?: [^'\\] | \\. | '' )*+ (?: (?P<close> ' ) | \\?\Z )
    | (?P<open2> \\++" ) [^"\\]*+ (?P<close2> \\*+" )?
    | (?P<open3> " ) (?: [^"\\] | \\. | "" )*+ (?: (?P<close3> " ) | \\?\Z )
    """,
    re.VERBOSE | re.DOTALL,
)
_BARE = re.compile(r"[^\s\"'`,;&()\]}]++")
_COLUMN = re.compile(r"[A-Za-z_]\w*(?:\.\w+)+\Z")
_NOT_A_VALUE = frozenset({"null", "true", "false", "?"})
_GOES_ON_OUTSIDE = re.compile(
    r"\s*+(?:[,)+;]|\|\||\Z|(?:as|from|and|or|then|else|end|when)\b)", re.IGNORECASE
)


def _redact_named(text: str) -> str:
    pieces: list[str] = []
    copied = at = quotes = counted = 0
    while (named := _NAMED.search(text, at)) is not None:
        at = named.end()
        if named["argument"] is not None and named["before"] is None:
            continue
        if named["arrow"] is not None and "Map(" not in text:
            continue  # a lambda of Spark's SQL
        quotes += text.count("'", counted, at)
        counted = at
        # `concat('token: ', x)`: the quote after the name closes the text that the name stands in.
        if text.startswith("'", at) and quotes % 2 and _GOES_ON_OUTSIDE.match(text, at + 1):
            continue
        value = _QUOTED.match(text, at)
        if value is not None:
            opened = value["open"] or value["open2"] or value["open3"] or ""
            closed = value["close"] or value["close2"] or value["close3"] or ""
            masked = (
                f"{opened}{MASK}{closed}" if value.end() - value.start() > len(opened + closed) else value[0]
            )
        else:
            value = _BARE.match(text, at)
            if value is None or _is_no_secret(named, value[0]):
                continue
            masked = MASK
        pieces += (text[copied:at], masked)
        copied = at = value.end()
    return "".join((*pieces, text[copied:])) if pieces else text


def _is_no_secret(named: re.Match[str], value: str) -> bool:
    """A join of two columns of one name (``a.token=b.token``), or no value at all."""
    name = named["name"]
    if value.lower() in _NOT_A_VALUE:
        return True
    return name is not None and _COLUMN.match(value) is not None and value.lower().endswith(name.lower())
