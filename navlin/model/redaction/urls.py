"""Secrets in URLs: the user's password before a host. Parameters are handled as assignments."""

from __future__ import annotations

import re

from navlin.model.redaction.names import NAME, SIGN
from navlin.model.redaction.signs import BEYOND_ASCII, WORD
from navlin.model.redaction.values import MASK, is_no_value

SIGNS = (
    r"://[^\s/:@'\"]*:[^\s]*@",
    rf"(?i:https?://[\w~.{BEYOND_ASCII}-]+@)",
    rf"(?i:jdbc:oracle:{WORD}+:[^\s/@'\"]+/(?:[^\s@'\"]+|\\*\"[^\s\"\\]+\\*\")@)",
    rf"(?i:{SIGN}(?:%(?:25)?2[27])?%(?:25)?3[AD])",
)

# Possessive quantifiers and bounds limit how often each position of the text is examined.
_NO_PORT = r"(?!\d{1,5}(?:[/?#,;\s'\"]|\Z))"
_USER = re.compile(rf"(://)([^\s/:@'\"]{{0,300}}:){_NO_PORT}[^\s/'\"]{{0,500}}@")
"""``scheme://user:password@``. A user without a password (abfs://container@account) stays."""
_USER_SLASH = re.compile(rf"(://)([^\s/:@'\"]{{0,300}}:){_NO_PORT}[^\s@*<>]{{1,300}}@(?=[\w.\[-])")
"""A password with slashes or quotes, as in AWS secret keys."""
_S3 = re.compile(r"(s3[an]?://)([^\s/:@'\"]{1,300}:)[^\s'\"@*]{1,300}@", re.IGNORECASE)
_ORACLE = re.compile(
    r"(jdbc:oracle:\w{1,20}:[^\s/@'\"]{1,100}/)(?:[^\s@'\"]{1,200}|\\*\"[^\s\"\\]{1,200}\\*\")@",
    re.IGNORECASE,
)
_ONLY_USER = re.compile(r"(https?://)([\w~.-]{12,300})@(?=[\w\[])", re.IGNORECASE)
_RANDOM = re.compile(
    r"(?:[a-z]*+\d++(?=[a-z])){2}[a-z]++\d|(?=[a-z]*+\d++[a-z]++\d)[a-z0-9]{20}", re.IGNORECASE
)
"""Digits among letters, as in random tokens but not in user names."""
_ENCODED = re.compile(
    rf"""((?: {NAME} | %(?:25)?(?:2[06C]|3[BF]) (?:pwd|pw|pass|sig|sas) )
        (?: %(?:25)?2[27] )? %(?:25)?3[AD] (?: %(?:25)?2[27] )?)
    (?P<value> (?: [^\s%&'"`,;<>\#(){{}}\[\]] | %(?! (?:25)? (?: 0[AD] | 2[0267C] | 3[BE] | 7D ) ) ){{1,500}}+ )""",
    re.IGNORECASE | re.VERBOSE,
)
"""An assignment whose signs are percent-encoded, as in a URL within a URL."""
_REFERENCE = re.compile(r"%(?:25)?(?:24|3C|3F|7B)|\w+\.\w+\Z", re.IGNORECASE)
"""A variable, or a column of a statement."""
_LONG = 16


def without_passwords(text: str) -> str:
    """Return the text with the passwords and tokens in its URLs masked, including percent-encoded assignments."""
    if "://" in text:
        for pattern in (_USER, _S3, _USER_SLASH):
            text = pattern.sub(rf"\g<1>\g<2>{MASK}@", text)
        text = _ONLY_USER.sub(_without_token, text)
    if ":oracle:" in text:
        text = _ORACLE.sub(rf"\g<1>{MASK}@", text)
    return _ENCODED.sub(_without_encoded, text) if "%3" in text or "%253" in text else text


def _without_token(address: re.Match[str]) -> str:
    return f"{address[1]}{MASK}@" if _RANDOM.search(address[2]) else address[0]


def _without_encoded(assigned: re.Match[str]) -> str:
    value = assigned["value"]
    is_weak = assigned["weak"] is not None and len(value) < _LONG
    if is_weak or is_no_value(value) or _REFERENCE.match(value):
        return assigned[0]
    return f"{assigned[1]}{MASK}"


def without_credentials(uri: str) -> str:
    """Return a location without the user and password before its host, because they do not identify the location.

    ``container@account`` stays.
    """
    if "@" not in uri:
        return uri
    for pattern in (_USER, _S3, _USER_SLASH):
        uri = pattern.sub(r"\g<1>", uri)
    return _ONLY_USER.sub(lambda address: address[1] if _RANDOM.search(address[2]) else address[0], uri)
