"""``/details``: everything about one entity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from navlin.access.roles import Role
from navlin.api.answers import Redirect
from navlin.api.endpoint import ApiRequest
from navlin.console.columns import ColumnRow, columns_of
from navlin.console.edit import typed_properties, typed_tags
from navlin.console.hue import hue_address
from navlin.console.page import ConsolePage
from navlin.index.graph.details import Details
from navlin.index.graph.entity import CONDITIONS, StoredEntity
from navlin.index.graph.graph import Graph
from navlin.index.schema.fields import EPOCH_MS_FIELDS, USER_PROPERTY, solr_date
from navlin.index.solr.solr_query import phrase
from navlin.index.usage.contents import contents_at
from navlin.index.usage.readers import LocationPath
from navlin.index.usage.source_coverage import entries_of
from navlin.model.image_positions import ALL
from navlin.model.plurals import counted
from navlin.model.source import OOZIE, PIG
from navlin.query.changes import changes
from navlin.query.edits import history
from navlin.query.search import search
from navlin.query.show import ShownEntity, show
from navlin.query.statement_names import PART
from navlin.questions.show import Parameters
from navlin.render.field_words import field_words
from navlin.render.sql import laid_out

EDITS_LISTED: Final = 20
CONTENTS_LISTED: Final = 50
VALUE_CHARS: Final = 2_000
_TEXTS: Final = frozenset({"queryText", "queryTextFull", "tp_expression", *CONDITIONS})
_TEXT_TITLES: Final = {OOZIE: "Definition", PIG: "Script"}
"""Source type → heading of the text of its operations, which is not SQL."""
_WITH_COLUMNS: Final = frozenset({"TABLE", "VIEW", "DATASET", "FILE", "DIRECTORY", "S3BUCKET"})


@dataclass(frozen=True, slots=True)
class EntityContents:
    """Contents of an entity: the first few, the total number, a query that finds all, and what to say if there are none."""

    title: str
    listed: tuple[StoredEntity, ...]
    total: int
    query: str
    nothing: str = ""


def _values(request: ApiRequest) -> Mapping[str, Any] | Redirect:
    identity = request.question(request.parameters).entity_id()
    shown = show(request.solr, identity)
    if shown.entity.type == PART and shown.entity.parent_id:
        # Users see statements, not sub-operations: the computation of a sub-operation is shown with its column.
        return Redirect("/details?" + urlencode({"entity": shown.entity.parent_id}))
    people, title = shown.fields.people, _TEXT_TITLES.get(shown.entity.source_type, "")
    columns: list[ColumnRow] = (
        list(columns_of(request.solr, shown.entity)) if shown.entity.type in _WITH_COLUMNS else []
    )
    return {
        "shown": shown,
        "entity": shown.entity,
        "itself": phrase(shown.entity.id),
        "text": shown.entity.text,
        "text_title": title or "Query",
        "laid_out": shown.entity.text if title else laid_out(shown.entity.text),
        "hue": hue_address(request.service.hue_url, shown.entity),
        "changes": changes(Graph(request.solr), shown.entity),
        "expression": shown.entity.expression,
        "of_plan": list(_of_plan(shown.entity)),
        "people": people,
        "tags": shown.entity.tags,
        "properties": {
            name: value for name, value in people.items() if name not in ("name", "description", "tags")
        },
        "typed_tags": typed_tags(shown.entity.tags),
        "typed_properties": typed_properties(
            {
                name.removeprefix(USER_PROPERTY): value
                for name, value in people.items()
                if name.startswith(USER_PROPERTY)
            }
        ),
        "groups": [
            ("Technical metadata", _rows(shown.fields.extractor)),
            ("Technical properties", _rows(shown.fields.technical)),
            ("Derived", _rows(shown.fields.linker)),
            ("System", _rows(shown.fields.navlin)),
        ],
        "columns": columns,
        "contents": [each for each in _contents(request, shown) if each.total or _looked_into(shown)],
        "history": history(request.solr, identity, limit=EDITS_LISTED),
        "may_edit": request.user.role >= Role.METADATA_ADMINISTRATOR,
    }


def _of_plan(entity: StoredEntity) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (title, values) for the file format and for each condition. They come from a plan, or from a table's
    classes."""
    if file_format := Details.of(entity).file_format:
        yield "File format", (file_format,)
    for name, texts in entity.conditions.items():
        yield field_words(name).capitalize(), texts


def _looked_into(shown: ShownEntity) -> bool:
    """Whether the entity is an extracted directory. If such a directory lists nothing, it is empty; other directories
    may never have been read."""
    return shown.entity.type == "DIRECTORY" and not shown.entity.placeholder


def _rows(group: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, _value(name, value)) for name, value in group.items() if name not in _TEXTS]


def _value(name: str, value: Any) -> str:
    if name in EPOCH_MS_FIELDS:
        return solr_date(int(value))
    text = ", ".join(str(each).lower() if isinstance(each, bool) else str(each) for each in _several(value))
    return text if len(text) <= VALUE_CHARS else f"{text[:VALUE_CHARS]} … ({len(text):,} characters)"


def _several(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _contents(request: ApiRequest, shown: ShownEntity) -> Iterator[EntityContents]:
    entity = shown.entity
    match entity.type:
        case "DATABASE":
            within = f"sourceId:{phrase(entity.source_id)} AND parentPath:{phrase('/' + entity.own_name)}"
            query, title = f"type:(TABLE OR VIEW) AND {within}", "Tables and views"
        case "DIRECTORY" | "S3BUCKET":
            within = f"sourceId:{phrase(entity.source_id)} AND parentPath:{phrase(entity.path)}"
            query, title = f"type:(FILE OR DIRECTORY) AND {within}", "Contents"
        case "TABLE" if entity.partitioned:
            query, title = f"type:PARTITION AND firstClassParentId:{phrase(entity.id)}", "Partitions"
        case _:
            return
    found = search(request.solr, query, limit=CONTENTS_LISTED, sort="originalName asc")
    nothing = _why_nothing(request, entity) if _looked_into(shown) and not found.total else ""
    yield EntityContents(title, found.entities, found.total, query, nothing)


def _why_nothing(request: ApiRequest, directory: StoredEntity) -> str:
    """Return what is known of a directory without contents in the index. Its source may exclude paths, or read only the
    files that others name; the image counts every file."""
    place = LocationPath(directory.source_id, directory.path)
    if content := contents_at(Graph(request.solr), [place]).get(place):
        if not content.files:
            return "This directory is empty: it has no files."
        return f"The last image has {counted(content.files, 'file')} here, none of them in the index."
    if entries_of(request.solr, directory.source_id) == ALL:
        return "Empty, except for what the source's filters exclude."
    return ""


PAGE = ConsolePage("/details", "Details", Parameters, _values)
