"""How the fields of a query are spelled, and its words escaped."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

TWINS: Final[Mapping[str, str]] = {
    "id": "identity",
    "srcId": "sourceId",
    "ep1Ids": "endpoint1Ids",
    "ep2Ids": "endpoint2Ids",
    "ep1Type": "endpoint1Type",
    "ep2Type": "endpoint2Type",
    "ep1SourceType": "endpoint1SourceType",
    "ep2SourceType": "endpoint2SourceType",
    "ep1SourceId": "endpoint1SourceId",
    "ep2SourceId": "endpoint2SourceId",
    "serdeName": "serDeName",
    "serdeLibName": "serDeLibName",
    "partColNames": "partitionColNames",
}
"""Other spellings of a field → its name in the index."""

CASELESS: Final = frozenset(
    "owner group principal lastModifiedBy clusterName tableType engineType originalName name tags".split()
)
"""Fields whose terms are lower case in the index. Solr folds what it analyses; ``{!terms}`` it takes as it stands."""


def field_named(name: str) -> str:
    """The index's name of a field: the twin's, or the custom property's that ``namespace.key`` means."""
    if "." in name and not name.startswith(("up_", "tp_", "cp_")):
        return "cp_" + name
    return TWINS.get(name, name)


def escaped(word: str) -> str:
    """A word for Solr: slashes and colons in it, and signs before it, are characters and nothing more."""
    out: list[str] = []
    at = 0
    while at < len(word):
        char = word[at]
        if char == "\\":
            out.append(word[at : at + 2])
            at += 2
            continue
        out.append("\\" + char if char in "/:!" or (at == 0 and char in "+-") else char)
        at += 1
    return "".join(out)


def unescaped(word: str) -> str:
    """A word as it was meant."""
    return re.sub(r"\\(.)", r"\1", word)


def quoted(value: str) -> str:
    """A value of local parameters."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
