"""Sidecars: hidden files in which users describe a neighboring file or directory, in Navigator's format.

``/dir/.navigator`` describes the directory, ``/dir/.file.txt.navigator`` describes ``/dir/file.txt``. The content is
JSON: ``{"name": …, "description": …, "tags": […], "properties": {…}}``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

SUFFIX = ".navigator"
MOST_BYTES = 1 << 20
MOST_PROPERTIES = 1_000


class BadSidecar(ValueError):
    """The content of a sidecar is invalid. The message is the reason."""


def target_of(path: str) -> str:
    """Return the path that a sidecar describes; "" if the file is not a sidecar."""
    directory, _, name = path.rpartition("/")
    if name == SUFFIX:
        return directory or "/"
    if name.startswith(".") and name.endswith(SUFFIX):
        return f"{directory}/{name[1 : -len(SUFFIX)]}"
    return ""


def sidecar_of(path: str, *, directory: bool) -> str:
    """Return the path of the sidecar for a file or directory. The sidecar for a directory is inside the directory."""
    if directory:
        return f"{path.rstrip('/')}/{SUFFIX}"
    above, _, name = path.rpartition("/")
    return f"{above}/.{name}{SUFFIX}"


def parse_sidecar(text: bytes) -> dict[str, Any]:
    """Return the attributes in a sidecar: ``name``, ``description``, ``tags`` and ``up_<key>``. Raises `BadSidecar`."""
    if len(text) > MOST_BYTES:
        raise BadSidecar(f"it has more than {MOST_BYTES} bytes")
    try:
        payload = _without_halves(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise BadSidecar(f"it is not valid JSON: {error}") from None
    if not isinstance(payload, dict):
        raise BadSidecar("it is JSON, but not an object")
    attributes: dict[str, Any] = {}
    for field in ("name", "description"):
        if payload.get(field) is not None:
            attributes[field] = _text(payload[field], field)
    if payload.get("tags") is not None:
        if not isinstance(payload["tags"], list):
            raise BadSidecar("tags must be an array of texts")
        attributes["tags"] = [_text(tag, "a tag") for tag in payload["tags"]]
    properties = payload.get("properties") or {}
    if not isinstance(properties, Mapping) or len(properties) > MOST_PROPERTIES:
        raise BadSidecar(f"properties must be an object of at most {MOST_PROPERTIES} texts")
    for key, value in properties.items():
        if key and value is not None:
            attributes[f"up_{key}"] = _text(value, f"the property {key}")
    return {field: value for field, value in attributes.items() if value not in ("", [])}


def _without_halves(payload: Any) -> Any:
    """Replace lone surrogates with U+FFFD, because JSON can escape them but UTF-8 cannot hold them."""
    written = json.dumps(payload, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
    return json.loads(written.decode("utf-16-le", "replace"))


def _text(value: object, what: str) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
    raise BadSidecar(f"{what} must be a text")
