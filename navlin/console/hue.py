"""URLs of entities in Hue: in its metastore browser, its file browser or its job browser."""

from __future__ import annotations

from urllib.parse import quote

from navlin.index.graph.entity import PATH_TYPES, StoredEntity
from navlin.model.keys import application_id
from navlin.model.source import HDFS, HIVE


def hue_address(hue_url: str, entity: StoredEntity) -> str:
    """Return the entity's URL in Hue, below ``hue_url``; "" if ``hue_url`` is empty, the entity is deleted, or Hue has
    no page for it."""
    place = _place(entity) if hue_url and not entity.deleted else ""
    return f"{hue_url.rstrip('/')}/{place}" if place else ""


def _place(entity: StoredEntity) -> str:
    match entity.type:
        case "TABLE" | "VIEW" if entity.source_type == HIVE:
            return f"metastore/table/{_part(entity.database)}/{_part(entity.own_name)}"
        case "FIELD" | "PARTITION" if entity.source_type == HIVE and entity.parent_path.count("/") >= 2:
            database, table, *_ = entity.parent_path.strip("/").split("/")
            return f"metastore/table/{_part(database)}/{_part(table)}"
        case "DATABASE" if entity.source_type == HIVE:
            return f"metastore/tables/{_part(entity.own_name)}"
        case kind if kind in PATH_TYPES and entity.source_type == HDFS and entity.path.startswith("/"):
            return f"filebrowser/view={quote(entity.path, safe='/')}"
        case "OPERATION_EXECUTION" if application := application_id(entity.application):
            return f"jobbrowser#!id={_part(application)}"
    return ""


def _part(name: str) -> str:
    return quote(name, safe="")
