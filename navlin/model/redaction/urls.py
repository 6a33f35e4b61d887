"""Secrets within addresses: the password of the user before a host. Parameters are assignments."""

from __future__ import annotations

import re

from navlin.model.redaction.signs import WORD
from navlin.model.redaction.values import MASK

SIGNS = (r"://[^\s/:@'\"]*:[^\s]*@", rf"(?i:jdbc:oracle:{WORD}+:[^\s/@'\"]+/[^\s@'\"]+@)")

# Possessive quantifiers and bounds: each place of the text is looked at a bounded number of times.
_NO_PORT = r"(?!\d{1,5}(?:[/?#,;\s'\"]|\Z))"
_USER = re.compile(rf"(://)([^\s/:@'\"]{{0,300}}:){_NO_PORT}[^\s/'\"]{{0,500}}@")
"""``scheme://user:password@``. A user without a password (abfs://container@account) stays."""
_USER_SLASH = re.compile(rf"(://)([^\s/:@'\"]{{0,300}}:){_NO_PORT}[^\s@*<>]{{1,300}}@(?=[\w.\[-])")
"""A password with slashes or quotes, as an AWS secret key may have them."""
_S3 = re.compile(r"(s3[an]?://)([^\s/:@'\"]{1,300}:)[^\s'\"@*]{1,300}@", re.IGNORECASE)
_ORACLE = re.compile(r"(jdbc:oracle:\w{1,20}:[^\s/@'\"]{1,100}/)[^\s@'\"]{1,200}@", re.IGNORECASE)


def without_passwords(text: str) -> str:
    """The text with the passwords of its addresses masked."""
    if "://" in text:
        for pattern in (_USER, _S3, _USER_SLASH):
            text = pattern.sub(rf"\g<1>\g<2>{MASK}@", text)
    if ":oracle:" in text:
        text = _ORACLE.sub(rf"\g<1>{MASK}@", text)
    return text


def without_credentials(uri: str) -> str:
    """A location without the user and password that stand before its host: they do not name the place.

    ``container@account`` stays.
    """
    if "@" not in uri:
        return uri
    for pattern in (_USER, _S3, _USER_SLASH):
        uri = pattern.sub(r"\g<1>", uri)
    return uri
