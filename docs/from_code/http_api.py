"""Endpoints of navlin's own API, from its OpenAPI document, of other hosts, and of Navigator's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any, Final

from docs.from_code.markdown import code, prose, table
from navlin.api import forwarding, lines, navigator, own
from navlin.api.callers import CSRF_HEADER
from navlin.api.openapi import document

EVERY_ANSWER: Final = (
    (400, "a parameter, a header or the body is not valid"),
    (401, "the token is missing, wrong, expired or revoked"),
    (403, "the token does not name this source, or the source reads nothing of other hosts"),
    (413, "the body is too large"),
    (429, "too much of this host waits already: try again"),
    (503, "nothing can be stored now: try again after `Retry-After`"),
)
"""Responses that each address for other hosts may have."""


def described() -> dict[str, Any]:
    """Return the OpenAPI document of a navlin without a path prefix."""
    return document(own.ROOT, own.ENDPOINTS, version("navlin"), "navlin-INSTANCE", CSRF_HEADER)


def own_api() -> str:
    """Return a section for each endpoint of navlin's own API."""
    parts = []
    for path, methods in described()["paths"].items():
        for method, operation in methods.items():
            parts.append(f"### {code(f'{method.upper()} {path}')}\n")
            parts.append(f"{prose(operation['summary'])} {prose(operation['description'])}\n")
            rows = list(_parameters(operation))
            if rows:
                parts.append(table(("parameter", "in", "type", "default", "meaning"), rows))
            answers = operation["responses"]
            status = next(each for each in answers if each != "default")
            formats = ", ".join(code(each.partition(";")[0]) for each in answers[status]["content"])
            parts.append(f"Response {status}: {prose(answers[status]['description'])} Formats: {formats}.\n")
    return "\n".join(parts)


def host_api() -> str:
    """Return a section for each endpoint that takes the token of a host."""
    parts = [table(("status", "meaning"), _statuses(EVERY_ANSWER))]
    for each in (lines.ADDRESS, *forwarding.ADDRESSES):
        parts.append(f"### {code(f'{each.method} {each.path}')}\n")
        parts.append(f"{prose(each.summary)}\n")
        if each.given:
            given = [(code(name), place, prose(words)) for name, place, words in each.given]
            parts.append(table(("parameter", "in", "meaning"), given))
        if each.answers:
            parts.append(table(("status", "meaning"), _statuses(each.answers)))
    return "\n".join(parts)


def navigator_api() -> str:
    """Return the table of the endpoints that Navigator's API had, as navlin serves them."""
    rows = [
        (code(f"{each.method} {path}"), prose(each.summary), each.role.words)
        for _, path, each in navigator.addresses()
    ]
    return table(("endpoint", "purpose", "role"), dict.fromkeys(rows))


def _statuses(answers: Iterable[tuple[int, str]]) -> list[tuple[str, str]]:
    return [(str(status), prose(words)) for status, words in answers]


def _parameters(operation: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    for each in operation.get("parameters", ()):
        yield _row(each["name"], each["in"], each["schema"], each["description"], each["required"])
    content = operation.get("requestBody", {}).get("content", {})
    for body in content.values():
        for name, schema in body["schema"]["properties"].items():
            yield _row(name, "body", schema, schema["description"], name in body["schema"]["required"])


def _row(name: str, place: str, schema: Mapping[str, Any], words: str, required: bool) -> tuple[str, ...]:
    item = schema.get("items", schema)
    kind = " or ".join(map(str, item["enum"])) if "enum" in item else str(item.get("type", "any"))
    if "minimum" in item:
        kind += f" from {item['minimum']} to {item['maximum']}"
    if item is not schema:
        kind = f"list of {kind}"
    default = "required" if required else code(schema["default"]) if "default" in schema else ""
    return code(name), place, prose(kind), default, prose(words)
