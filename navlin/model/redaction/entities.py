"""Secrets in a text whose quotes and signs are escaped because it is embedded in another: ``&quot;password&quot;:``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_SIGNS: Final = {
    '"': ("quot", "#34", "#x22"),
    "'": ("apos", "#39", "#x27"),
    "=": ("equals", "#61", "#x3d"),
    ":": ("colon", "#58", "#x3a"),
    "<": ("lt", "#60", "#x3c"),
    ">": ("gt", "#62", "#x3e"),
}
_SIGN_OF: Final = {name: sign for sign, names in _SIGNS.items() for name in names}
_NUMBERED: Final = "|".join(name.replace("#", "#0*") for name in _SIGN_OF).replace("#0*x", "#x0*")
_ESCAPED: Final = re.compile(
    rf"&(?:amp;){{0,9}}(?P<name>{_NUMBERED.replace('0*', '0{0,6}')});|\\{{1,9}}u00(?P<code>2[27]|3[acde])",
    re.IGNORECASE,
)
_ZEROS: Final = re.compile("(?<=[#x])0+")
_IN_ANY: Final = "&(?:amp;)*(?:quot|apos|equals|colon|#0*(?:34|39|61|58)|#x0*(?:22|27|3d|3a));"

SIGNS = (rf"(?i:{_IN_ANY}|\\u00(?:2[27]|3[acde]))",)


def without_escaped(text: str, redact: Callable[[str], str]) -> str:
    """Return the text without the secrets that are only recognisable after unescaping. The result is unescaped only if
    there was such a secret."""
    plain, found = _ESCAPED.subn(_sign, text)
    if not found:
        return text
    redacted = redact(plain)
    return text if redacted == plain else redacted


def _sign(escaped: re.Match[str]) -> str:
    if escaped["code"]:
        return chr(int(escaped["code"], 16))
    return _SIGN_OF[_ZEROS.sub("", escaped["name"].lower())]
