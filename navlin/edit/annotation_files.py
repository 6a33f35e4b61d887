"""User-written fields as files: JSON lines with one line per entity, or CSV with one row per value.

Values that a spreadsheet would take for formulas are escaped, see `navlin.model.spreadsheet`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import IO, Any, Final

import orjson

from navlin.edit.annotations import Annotation
from navlin.edit.values import TYPED, BadValue, checked
from navlin.model.spreadsheet import MARK, active, csv_row, passive

HEADER: Final = ("id", "type", "entity", "field", "value")
CELL_CHARS: Final = 1_048_576
ID_CHARS: Final = 255


class Format(StrEnum):
    JSONL = "jsonl"
    CSV = "csv"


@dataclass(frozen=True, slots=True)
class BadLine:
    """A file entry that is not imported: its line number (from 1) and the reason."""

    line: int
    reason: str


@dataclass(slots=True)
class FileContent:
    """Content of a file: annotations in the order of the file, one per entity; rejected lines; and (line, field) of
    each value in which a secret was blanked."""

    annotations: list[Annotation] = field(default_factory=list)
    rejects: list[BadLine] = field(default_factory=list)
    redacted: list[tuple[int, str]] = field(default_factory=list)


# -- Writing -----------------------------------------------------------------------------------------------------------


def write_annotations(file: IO[bytes], annotations: Iterable[Annotation], form: Format) -> int:
    """Write annotations in this format, and return the number of entities written."""
    if form is Format.CSV:
        file.write(MARK + csv_row(HEADER))
    count = 0
    for each in annotations:
        count += 1
        file.writelines(_lines(each) if form is Format.CSV else [_json_line(each)])
    return count


def _json_line(each: Annotation) -> bytes:
    line = {"id": each.id, "type": each.type, "entity": each.entity, "fields": dict(each.values)}
    return orjson.dumps(line) + b"\n"


def _lines(each: Annotation) -> Iterator[bytes]:
    for name, value in each.values.items():
        for one in value if isinstance(value, list) else [value]:
            text = orjson.dumps(one).decode() if isinstance(one, bool | int | float) else str(one)
            yield csv_row([passive(cell) for cell in (each.id, each.type, each.entity, name, text)])


# -- Reading -----------------------------------------------------------------------------------------------------------


def read_annotations(file: IO[bytes], form: Format) -> FileContent:
    """Read a whole file. Invalid entries are rejected, and the valid ones are used."""
    content = FileContent()
    found: dict[str, Annotation] = {}
    cells = _values_of_csv if form is Format.CSV else _values_of_json_lines
    for given in cells(file, content.rejects):
        _add(given, content, found, listed=form is Format.CSV)
    content.annotations.extend(found.values())
    return content


@dataclass(frozen=True, slots=True)
class _Given:
    line: int
    id: Any
    type: str
    entity: str
    field: str
    value: Any


def _add(given: _Given, content: FileContent, found: dict[str, Annotation], *, listed: bool) -> None:
    """Add a value to ``found``, or reject it. ``listed`` means that the file has one entry for each element of a
    list."""
    if not isinstance(given.id, str) or not 0 < len(given.id) <= ID_CHARS or not given.id.isprintable():
        content.rejects.append(BadLine(given.line, f"{given.id!r:.60} is not the id of an entity"))
        return
    try:
        value = checked(given.field, given.value)
    except BadValue as error:
        content.rejects.append(BadLine(given.line, str(error)))
        return
    if _as_list(value) != _as_list(given.value) and not given.field.startswith(("cpt_", "cpd_")):
        content.redacted.append((given.line, given.field))
    values: dict[str, Any] = {}
    if given.id in found:
        values = dict(found[given.id].values)
    before = values.get(given.field)
    if listed and isinstance(value, list):
        value = [*(before or []), *value]
    elif before is not None and before != value:
        reason = f"{given.field} of {given.id} is in the file twice, with different values"
        content.rejects.append(BadLine(given.line, reason))
        return
    found[given.id] = Annotation(given.id, given.type, given.entity, {**values, given.field: value})


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _values_of_json_lines(file: IO[bytes], rejects: list[BadLine]) -> Iterator[_Given]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            read = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            rejects.append(BadLine(number, f"is not valid JSON: {error}"))
            continue
        match read:
            case {"id": identity, "fields": dict(values)} if values:
                about = str(read.get("type", "")), str(read.get("entity", ""))
                yield from (_Given(number, identity, *about, name, value) for name, value in values.items())
            case _:
                rejects.append(BadLine(number, 'is not an object with "id" and "fields"'))


def _values_of_csv(file: IO[bytes], rejects: list[BadLine]) -> Iterator[_Given]:
    csv.field_size_limit(CELL_CHARS)
    text = file.read().decode("utf-8-sig", "surrogateescape")
    rows = _rows(list(io.StringIO(text, newline="")), rejects)
    _, header = next(rows, (1, []))
    if not {"id", "field", "value"} <= set(header):
        rejects.append(
            BadLine(1, f"must name the columns id, field and value, not {', '.join(header)!r:.80}")
        )
        return
    for number, row in rows:
        if len(row) != len(header):
            rejects.append(BadLine(number, f"has {len(row)} cells, but the first row {len(header)}"))
            continue
        cell = dict(zip(header, map(active, row), strict=True))
        name, value = cell["field"], cell["value"]
        yield _Given(
            number, cell["id"], cell.get("type", ""), cell.get("entity", ""), name, _typed(name, value)
        )


def _rows(lines: Sequence[str], rejects: list[BadLine]) -> Iterator[tuple[int, list[str]]]:
    """Yield (number of the first line, cells) for each row that is not empty. After an invalid row, reading continues
    with the next line, because otherwise an unmatched quotation mark would swallow the rest of the file."""
    start = 0
    while start < len(lines):
        rows = csv.reader((lines[number] for number in range(start, len(lines))), strict=True)
        first = start
        try:
            for row in rows:
                if row:
                    yield first + 1, row
                first = start + rows.line_num
            return
        except csv.Error as error:
            rejects.append(BadLine(first + 1, f"is not a row of CSV: {error}"))
            start = first + 1


def _typed(name: str, text: str) -> Any:
    """Return the typed value of a cell. A text that does not have the field's type is returned unchanged, and `checked`
    refuses it."""
    if name[:4] not in TYPED:
        return text
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
