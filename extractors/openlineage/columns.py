"""Parse the facets columnLineage and lineage, which contain the sources of an output's columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from extractors.openlineage.events import mapping, objects, text
from navlin.model.redaction.literals import masks_literals, without_literals

DIRECT, INDIRECT = "DIRECT", "INDIRECT"
_STRENGTH: Final = ("", "IDENTITY", "TRANSFORMATION", "AGGREGATION")
MAX_COLUMNS: Final = 5_000
MAX_INPUTS: Final = 2_000


@dataclass(frozen=True, slots=True)
class ColumnSource:
    """A column that is a source of another column: a source of data or, with ``control``, only of control flow.
    ``kind`` is IDENTITY, TRANSFORMATION or AGGREGATION for data; JOIN, FILTER and so on for control; "" if it is not
    given.
    """

    namespace: str
    name: str
    field: str
    control: bool = False
    kind: str = ""
    description: str = ""
    masking: bool = False

    @property
    def place(self) -> tuple[str, str, str]:
        """Identity of the column: (namespace, dataset name, field)."""
        return self.namespace, self.name, self.field


Columns = dict[str, list[ColumnSource]]
MORE: Final = "there are more columns than navlin follows"
UNREAD: Final = "the sources of columns could not be read"


@dataclass(slots=True)
class Told:
    """Contents of a facet. ``columns`` maps each column to its sources. ``rows`` are the columns that affect all rows.
    ``sources`` are the datasets named as a whole, each as [namespace, name]. ``problems`` are the reasons why these
    are incomplete.
    """

    columns: Columns = field(default_factory=dict)
    rows: list[ColumnSource] = field(default_factory=list)
    sources: list[list[str]] = field(default_factory=list)
    problems: set[str] = field(default_factory=set)


def columns_of(facet: Mapping[str, Any]) -> Told:
    """Parse the facet columnLineage, or lineage."""
    told = Told()
    fields = facet.get("fields")
    if fields is not None and not isinstance(fields, dict):
        told.problems.add(UNREAD)
    for place, (name, value) in enumerate(mapping(fields).items()):
        if place >= MAX_COLUMNS:
            told.problems.add(MORE)
            break
        of_field = mapping(value)
        inputs = of_field.get("inputFields", of_field.get("inputs"))
        found = list(_inputs(inputs, _of_field(of_field), told.problems))
        if not isinstance(value, dict) or not name or not all(each.field for each in found):
            told.problems.add(UNREAD)
        if name:
            told.columns[text(name)] = list(dict.fromkeys(each for each in found if each.field))
    # The columns that affect all rows are in `dataset` in columnLineage, and among the inputs of the dataset in
    # lineage.
    rows = list(_inputs(facet.get("dataset"), INDIRECT, told.problems))
    if not all(each.field for each in rows):
        told.problems.add(UNREAD)
    # In `dataset`, Trino's listener lists every column read, without a transformation type.
    data = {each.place for inputs in told.columns.values() for each in inputs if not each.control}
    rows = [each for each in rows if each.kind or each.place not in data]
    whole = list(_inputs(facet.get("inputs"), INDIRECT, told.problems))
    told.rows = list(dict.fromkeys(each for each in (*rows, *whole) if each.field))
    told.sources = [[each.namespace, each.name] for each in whole if not each.field]
    return told


def _of_field(told: Mapping[str, Any]) -> str:
    """Return the type for sources without a type. Old producers give one type for all sources of a column, or none at
    all; without any type, the sources are data.
    """
    return INDIRECT if text(told.get("transformationType")).upper() == INDIRECT else DIRECT


def _inputs(value: Any, unsaid: str, problems: set[str]) -> Iterator[ColumnSource]:
    given = list(objects(value))
    if value is not None and (not isinstance(value, list) or len(given) < len(value)):
        problems.add(UNREAD)
    if len(given) > MAX_INPUTS:
        problems.add(MORE)
    for each in given[:MAX_INPUTS]:
        namespace, name, column = (text(each.get(part)) for part in ("namespace", "name", "field"))
        if text(each.get("type")).upper() == "JOB":
            continue
        if not namespace or not name:
            problems.add(UNREAD)
            continue
        told = list(objects(each.get("transformations")))
        if not told:
            yield ColumnSource(namespace, name, column, unsaid == INDIRECT)
        for control in (False, True):
            how = [one for one in told if (text(one.get("type")).upper() == INDIRECT) is control]
            if how:
                yield _column(namespace, name, column, how, control=control)


def _column(
    namespace: str, name: str, column: str, how: list[Mapping[str, Any]], *, control: bool
) -> ColumnSource:
    """Merge all descriptions of a source column in one of its roles, data or control."""
    kinds = [text(one.get("subtype")).upper() for one in how]
    kind = max(kinds, key=lambda one: (_STRENGTH.index(one) if one in _STRENGTH else 0, one), default="")
    description = next((said for one in how if (said := text(one.get("description")))), "")
    if masks_literals():  # here, because the columns of an open run are saved
        description = without_literals(description)
    masking = any(one.get("masking") is True for one in how)
    return ColumnSource(namespace, name, column, control, kind, description, masking)
