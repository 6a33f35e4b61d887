"""The OpenAPI document of navlin's own API, generated from the endpoints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from navlin.api.answers import TEXT
from navlin.api.endpoint import Endpoint
from navlin.questions.declare.parameters import schema
from navlin.questions.declare.question import CSV, HTML, JSON, JSON_LINES

_ERROR = {"type": "object", "properties": {"message": {"type": "string"}}, "required": ["message"]}


def document(
    root: str, endpoints: Iterable[Endpoint], version: str, cookie: str, csrf_header: str
) -> dict[str, Any]:
    """Return the document, in OpenAPI 3.1. ``cookie`` is the name of the session cookie. ``csrf_header`` is the header
    that writes with this cookie must have."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(root + endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "navlin", "version": version},
        "paths": paths,
        "components": {
            "securitySchemes": {
                "password": {"type": "http", "scheme": "basic"},
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": cookie},
                "csrf": {"type": "apiKey", "in": "header", "name": csrf_header},
            },
            "schemas": {"Error": _ERROR},
        },
        "security": [{"password": []}, {"token": []}, {"session": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    described = schema(endpoint.parameters)
    operation: dict[str, Any] = {
        "operationId": _name(endpoint),
        "summary": endpoint.summary,
        "description": f"For users with the role {endpoint.role.words}, or one above it.",
        "responses": {
            str(endpoint.status): {
                "description": endpoint.returns or endpoint.summary,
                "content": _content(endpoint, described),
            },
            "default": {
                "description": "The error.",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            },
        },
    }
    in_path = [each for each in described if f"{{{each['name']}}}" in endpoint.path]
    others = [each for each in described if each not in in_path]
    parameters = [{**each, "in": "path", "required": True} for each in in_path]
    if endpoint.method in ("GET", "DELETE"):
        parameters += [{**each, "in": "query"} for each in others]
    elif others:
        body = {
            "type": "object",
            "properties": {
                each["name"]: {**each["schema"], "description": each["description"]} for each in others
            },
            "required": [each["name"] for each in others if each["required"]],
            "additionalProperties": False,
        }
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    if parameters:
        operation["parameters"] = parameters
    if endpoint.method != "GET":
        # A cookie alone never writes.
        operation["security"] = [{"password": []}, {"token": []}, {"session": [], "csrf": []}]
    return operation


def _content(endpoint: Endpoint, described: list[dict[str, Any]]) -> dict[str, Any]:
    named = {each["name"] for each in described}
    content: dict[str, Any] = {JSON: {"schema": {"type": "object"}}}
    lines = {"csv": CSV, "jsonl": JSON_LINES, "html": HTML}
    texts = [form for name, form in lines.items() if name in named]
    if endpoint.view is not None:
        texts.append(TEXT)
    return content | {form: {"schema": {"type": "string"}} for form in texts}


def _name(endpoint: Endpoint) -> str:
    words = [part for part in endpoint.path.replace("{", "").replace("}", "").split("/") if part]
    return "_".join((endpoint.method.lower(), *words))
