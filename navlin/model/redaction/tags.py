"""Secrets in attributes of an XML element, in any order: ``<add value="S" key="password"/>``."""

from __future__ import annotations

import re
from typing import Final

from navlin.model.redaction.names import NAME, SIGN
from navlin.model.redaction.signs import BEYOND_ASCII, SPACE
from navlin.model.redaction.values import MASK, is_reference

_ATTRIBUTE: Final = re.compile(
    r"""(?P<before> \s (?P<name> [\w:.-]{1,60}+ ) \s?=\s? (?P<quote> \\*+["'] ) )
    (?P<value> (?: (?! (?P=quote) ) [^<>\n] ){0,2000}+ ) (?P=quote)""",
    re.VERBOSE,
)
_TAG: Final = re.compile(r"<[\w:.-]{1,60}+(?=\s)[^<>]{1,8000}+>")
_OF_VALUE: Final = re.compile(r"(?:\w{0,20}value|val|content|text|data|default)", re.IGNORECASE)
_OF_SECRET: Final = re.compile(rf"[\w.:-]{{0,100}}?{NAME}\Z", re.IGNORECASE | re.VERBOSE)

SIGNS = (rf"(?i:=\s?\\*[\"'][\w.:{BEYOND_ASCII}-]*{SIGN}\\*[\"'](?:{SPACE}[^<>]*)?/?>)",)


def without_values(text: str) -> str:
    """Mask the values in an element if another attribute of the element names a secret."""
    return _TAG.sub(_without_value, text) if "<" in text else text


def _without_value(tag: re.Match[str]) -> str:
    named = any(
        (of := _OF_SECRET.fullmatch(each["value"])) is not None and of["weak"] is None
        for each in _ATTRIBUTE.finditer(tag[0])
        if not _OF_VALUE.fullmatch(each["name"])
    )
    return _ATTRIBUTE.sub(_masked, tag[0]) if named else tag[0]


def _masked(attribute: re.Match[str]) -> str:
    value = attribute["value"]
    if not value or is_reference(value) or not _OF_VALUE.fullmatch(attribute["name"]):
        return attribute[0]
    return f"{attribute['before']}{MASK}{attribute['quote']}"
