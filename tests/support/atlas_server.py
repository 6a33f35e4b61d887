"""A fake Atlas server that simulates the failures an export must withstand: refused requests, overload, authentication.
It accepts and refuses the same requests as a real server 2.1.0, which the service tests run.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.atlas_types import references

BULK = "/api/atlas/v2/entity/bulk"
BY_NAME = "/api/atlas/v2/entity/uniqueAttribute/type/"


def error(code: str, message: str) -> str:
    return json.dumps({"errorCode": code, "errorMessage": message})


NOT_FOUND = error("ATLAS-404-00-009", "not found")


@dataclass
class Atlas:
    """State and behaviour of the fake server.

    ``entities`` maps (type, qualified name) to an entity. The server always refuses ``refused_names``, responds with
    500 for ``failing_names``, and with 503 to the first ``busy`` requests. With ``forgets``, each response confirms one
    entity fewer than the request contains.
    """

    url: str = ""
    entities: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    refused_names: set[str] = field(default_factory=set)
    failing_names: set[str] = field(default_factory=set)
    requests: list[tuple[str, str]] = field(default_factory=list)
    busy: int = 0
    forgets: bool = False
    wants: str = ""

    def posted(self, entities: list[dict[str, Any]]) -> tuple[int, str]:
        """Accept all entities of a request, or none of them."""
        names = {(each["typeName"], each["attributes"]["qualifiedName"]) for each in entities}
        if any(name in self.failing_names for _, name in names):
            return 500, "NullPointerException"
        for each in entities:
            if each["attributes"]["qualifiedName"] in self.refused_names:
                return 404, error("ATLAS-404-00-00A", "mandatory attribute value missing")
            for reference in references(each):
                if reference not in names | self.entities.keys():
                    return 404, error("ATLAS-404-00-00A", f"Instance {reference} does not exist")
        new = []
        for each in entities:
            key = each["typeName"], each["attributes"]["qualifiedName"]
            if key in self.entities:
                # Labels are accepted only for a new entity.
                kept = self.entities[key].get("labels")
                each = {name: value for name, value in each.items() if name != "labels"}
                each |= {} if kept is None else {"labels": kept}
            else:
                new.append({"typeName": key[0], "attributes": {"qualifiedName": key[1]}})
            self.entities[key] = each
        assigned = {each["guid"]: f"guid of {each['attributes']['qualifiedName']}" for each in entities}
        if self.forgets and assigned:
            assigned.popitem()
        return 200, json.dumps({"mutatedEntities": {"CREATE": new}, "guidAssignments": assigned})

    def labelled(self, key: tuple[str, str], labels: list[str]) -> tuple[int, str]:
        if key not in self.entities:
            return 404, NOT_FOUND
        self.entities[key]["labels"] = labels
        return 200, ""

    def deleted(self, key: tuple[str, str]) -> tuple[int, str]:
        return (200, "{}") if self.entities.pop(key, None) else (404, NOT_FOUND)

    def renamed(self, key: tuple[str, str], attributes: dict[str, Any]) -> tuple[int, str]:
        if (entity := self.entities.pop(key, None)) is None:
            return 404, NOT_FOUND
        entity["attributes"] |= attributes
        self.entities[key[0], attributes["qualifiedName"]] = entity
        return 200, "{}"


@contextmanager
def running_atlas(*, user: str = "", password: str = "") -> Iterator[Atlas]:
    atlas = Atlas()
    if user:
        atlas.wants = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            if urlsplit(self.path).path.endswith("/labels"):
                self._answer(lambda body: atlas.labelled(self._key(), body))
            else:
                self._answer(lambda body: atlas.posted(body["entities"]))

        def do_GET(self) -> None:
            self._answer(lambda body: (200, json.dumps([{"name": "DataSet"}, {"name": "hive_table"}])))

        def do_PUT(self) -> None:
            self._answer(lambda body: atlas.renamed(self._key(), body["entity"]["attributes"]))

        def do_DELETE(self) -> None:
            self._answer(lambda body: atlas.deleted(self._key()))

        def _key(self) -> tuple[str, str]:
            parts = urlsplit(self.path)
            kind = parts.path.removeprefix(BY_NAME).removesuffix("/labels")
            return kind, parse_qs(parts.query)["attr:qualifiedName"][0]

        def _answer(self, carry_out: Any) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            atlas.requests.append((self.command, urlsplit(self.path).path))
            if atlas.wants and self.headers.get("Authorization") != atlas.wants:
                status, text = 401, "who are you?"
            elif atlas.busy:
                atlas.busy -= 1
                status, text = 503, "later"
            else:
                status, text = carry_out(json.loads(body) if body else {})
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    atlas.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield atlas
    finally:
        server.shutdown()
        server.server_close()
