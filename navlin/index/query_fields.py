"""The fields of a person's query: how each may be spelled, and which ones tell that a query is about relations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from navlin.index.fields import ELEMENTS, KNOWN, LINKER_FIELDS, PEOPLE_FIELDS, PIPELINE_FIELDS, RELATIONS
from navlin.model.keys import RelationType

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

ANY_TEXT: Final = "anyText"
"""What a word without a field is looked for in: the fields that Navigator searched by default, in one."""
TYPE: Final = "type"

CASELESS: Final = frozenset(
    "type sourceType owner group principal lastModifiedBy endpoint1Type endpoint2Type endpoint1SourceType"
    " endpoint2SourceType clusterName tableType engineType originalName name tags".split()
)
"""Fields whose terms are lower case in the index. Solr folds what it analyses; ``{!terms}`` it takes as it stands."""

RELATION_ONLY: Final = frozenset(
    "endpoint1Ids endpoint2Ids endpoint1Type endpoint2Type endpoint1SourceType endpoint2SourceType endpoint1SourceId"
    " endpoint2SourceId endpoint1Name endpoint2Name claimedIds unlinked unlinkedReason unlinkedSince rule"
    " userSpecified propagatable namespace".split()
)
"""Fields that only relations have: a query that names one is about relations."""
_RELATION_TYPES: Final = frozenset(RelationType)
_OTHERS: Final = (
    "identity type sourceType sourceId packageName metaClassName queryText granted serves".split()
)


def field_named(name: str) -> str:
    """The index's name of a field: the twin's, or the custom property's that ``namespace.key`` means."""
    if "." in name and not name.startswith(("up_", "tp_", "cp_")):
        return "cp_" + name
    return TWINS.get(name, name)


def field_names() -> list[str]:
    """Every field that a query may name, as the index spells it; properties aside."""
    return sorted(
        {*_OTHERS, *KNOWN, *PIPELINE_FIELDS, *LINKER_FIELDS, *PEOPLE_FIELDS, *RELATION_ONLY, *CASELESS}
    )


def core_asked(fields: Collection[str], types: Collection[str]) -> str:
    """The core that a query is about: relations if it names their fields, or no types (in capitals) but theirs."""
    if not RELATION_ONLY.isdisjoint(fields):
        return RELATIONS
    return RELATIONS if types and _RELATION_TYPES.issuperset(types) else ELEMENTS
