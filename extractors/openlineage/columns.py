"""Where the columns of an output come from, as the facets columnLineage and lineage have it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from extractors.openlineage.events import mapping, objects, text

DIRECT, INDIRECT = "DIRECT", "INDIRECT"
_STRENGTH: Final = ("", "IDENTITY", "TRANSFORMATION", "AGGREGATION")
MAX_COLUMNS: Final = 5_000
MAX_INPUTS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Column:
    """A column that another one comes from, or that decides about it (``control``). ``kind`` is IDENTITY, TRANSFORMATION or
    AGGREGATION of data, JOIN, FILTER and so on of what decides; "" where that is not said."""

    namespace: str
    name: str
    field: str
    control: bool = False
    kind: str = ""
    description: str = ""
    masking: bool = False

    @property
    def place(self) -> tuple[str, str, str]:
        """Which column it is."""
        return self.namespace, self.name, self.field


Columns = dict[str, list[Column]]


def columns_of(facet: Mapping[str, Any]) -> tuple[Columns, list[Column], list[list[str]]]:
    """What each column comes from, what decides about all rows, and datasets that are named as a whole."""
    columns: Columns = {}
    for name, value in list(mapping(facet.get("fields")).items())[:MAX_COLUMNS]:
        told = mapping(value)
        inputs = told.get("inputFields", told.get("inputs"))
        found = [each for each in _inputs(inputs, _of_field(told)) if each.field]
        columns[text(name)] = list(dict.fromkeys(found))
    # columnLineage calls what decides about all rows `dataset`, lineage has it among the inputs of the dataset.
    rows = [each for each in _inputs(facet.get("dataset"), INDIRECT) if each.field]
    whole = list(_inputs(facet.get("inputs"), INDIRECT))
    rows += [each for each in whole if each.field]
    sources = [[each.namespace, each.name] for each in whole if not each.field]
    return columns, list(dict.fromkeys(rows)), sources


def _of_field(told: Mapping[str, Any]) -> str:
    """Old producers say it once for all sources of a column, or not at all: these are data."""
    return INDIRECT if text(told.get("transformationType")).upper() == INDIRECT else DIRECT


def _inputs(value: Any, unsaid: str) -> Iterator[Column]:
    for each in list(objects(value))[:MAX_INPUTS]:
        namespace, name, field = (text(each.get(part)) for part in ("namespace", "name", "field"))
        if not namespace or not name or text(each.get("type")).upper() == "JOB":
            continue
        told = list(objects(each.get("transformations")))
        if not told:
            yield Column(namespace, name, field, unsaid == INDIRECT)
        for control in (False, True):
            how = [one for one in told if (text(one.get("type")).upper() == INDIRECT) is control]
            if how:
                yield _column(namespace, name, field, how, control=control)


def _column(namespace: str, name: str, field: str, how: list[Mapping[str, Any]], *, control: bool) -> Column:
    """A source by all that is said of it as data, or as what decides: it may be both."""
    kinds = [text(one.get("subtype")).upper() for one in how]
    kind = max(kinds, key=lambda one: (_STRENGTH.index(one) if one in _STRENGTH else 0, one), default="")
    description = next((said for one in how if (said := text(one.get("description")))), "")
    masking = any(one.get("masking") is True for one in how)
    return Column(namespace, name, field, control, kind, description, masking)
