"""A test client that sends the same requests as Cloudera's Java SDK, and fails in the same cases.

Written from the public sources of the SDK, without knowledge of navlin.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import requests

SOURCE_TYPES: Final = frozenset(
    "NONE MAPREDUCE YARN HDFS HIVE PIG IMPALA OOZIE SDK SQOOP SPARK S3 CLUSTER".split()
)
PROPERTY_TYPES: Final = frozenset("BOOLEAN DOUBLE FLOAT INTEGER LONG TEXT ENUM".split())
MODEL_KEYS: Final = frozenset("packages classes namespaces properties mappings".split())
RUN_IDS_A_QUERY: Final = 800
PATIENCE_S: Final = 300.0
_READS: Final = {"Accept": "application/json, application/*+json", "User-Agent": "Java/1.8.0_202"}
_TYPED: Final = {"Content-Type": "application/json;charset=UTF-8"}
_WRITES: Final = {
    "Accept": "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
    "Content-Type": "application/json",
    "User-Agent": "Java/1.8.0_202",
}


@dataclass
class NavigatorSdk:
    """The SDK's client and plugin for one server. Requests are independent: no cookies are kept."""

    url: str
    user: str
    password: str
    version: int = 9
    namespace: str = "example"
    sources: list[dict[str, Any]] = field(default_factory=list)

    # -- Reading ---------------------------------------------------------------------------------------------------------

    def load_sources(self) -> list[dict[str, Any]]:
        """Return all sources, requested without a limit. Fails if a source has an unknown type, as every call that
        needs the sources does.
        """
        found = self._json("GET", "/entities?query=type:SOURCE")
        assert isinstance(found, list)
        for each in found:
            assert each["sourceType"] in SOURCE_TYPES, each
            assert isinstance(each["identity"], str)
            assert each["sourceExtractIteration"] is None or isinstance(each["sourceExtractIteration"], int)
        urls = [each["sourceUrl"] for each in found if each["sourceUrl"] is not None]
        assert len(set(urls)) == len(urls), "a map by URL keeps one of two"
        self.sources = [each for each in found if each["sourceUrl"] is not None]
        return found

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        if not self.sources:
            self.load_sources()
        return [each for each in self.sources if each["sourceType"] == kind]

    def only_source(self, kind: str) -> str:
        (only,) = self.of_type(kind)
        return str(only["identity"])

    def metastore(self) -> str:
        """The identity of the source of Hive's tables: the only Hive source, or the one that is a template."""
        found = self.of_type("HIVE")
        if len(found) > 1:
            found = [each for each in found if each["sourceTemplate"] is True]
        return str(found[0]["identity"])

    def marker(self) -> dict[str, int]:
        """Map the identity of each source to the number of its last extraction."""
        return {each["identity"]: each["sourceExtractIteration"] or 0 for each in self.load_sources()}

    def extract(
        self, kind: str, query: str = "identity:*", start: Mapping[str, int] | None = None, limit: int = 100
    ) -> list[dict[str, Any]]:
        """Return entities or relations: all of them, or those changed since the marker ``start``."""
        runs = ["*"]
        if start is not None:
            end = self.marker()
            runs = [
                f"{source}##{number}" for source in start for number in range(start[source], end[source] + 1)
            ]
        found: list[dict[str, Any]] = []
        for first in range(0, len(runs), RUN_IDS_A_QUERY):
            of_runs = f"extractorRunId:({' OR '.join(runs[first : first + RUN_IDS_A_QUERY])})"
            found += self.pages(kind, f"{query} AND {of_runs}" if query else of_runs, limit)
        return found

    def pages(self, kind: str, query: str, limit: int) -> Iterator[dict[str, Any]]:
        """Yield the objects on all pages; the first page that is not full is the last."""
        mark: str | None = "*"
        while True:
            body = {"query": query, "limit": limit, "cursorMark": mark}
            page = self._json("POST", f"/{kind}/paging", body, _READS | _TYPED)
            assert page[kind] is not None
            yield from page[kind]
            if len(page[kind]) < limit:
                return
            assert page["cursorMark"] != mark, "it would never end"
            mark = page["cursorMark"]

    def lineage_export(self, query: str, direction: str, length: int) -> list[tuple[str, str, str]]:
        """Return (entity, child, relation) for all results of a query. Reading stops only at an empty page."""
        lines: list[tuple[str, str, str]] = []
        mark: str | None = None
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "Java/1.8.0_202",
        }
        address = f"/lineage3/export?direction={direction}&length={length}&lineageOptions=-1"
        while True:
            body = {"query": query, "limit": 100, "cursorMark": mark}
            page = self._json("POST", "/entities/paging", body, _READS | _TYPED)
            mark = page["cursorMark"]
            if not page["entities"]:
                return lines
            ids = [each["identity"] for each in page["entities"]]
            answer = self._send("POST", self.url + address, headers, json.dumps(ids).encode())
            assert answer.status_code == 200, answer.text
            for each in answer.json():
                for relation, children in (each.get("children") or {}).items():
                    assert all(isinstance(child, str) for child in children)
                    lines += [(each["id"], child, relation) for child in children]

    # -- Writing ---------------------------------------------------------------------------------------------------------

    def register_models(self, kind: str, properties: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Register a class and its managed properties. Fails if the response has keys or types that the SDK's reader
        does not accept.
        """
        plain = {"displayName": None, "description": None}
        model = {
            "packages": [{"name": self.namespace, **plain, "external": False, "defaultPackage": False}],
            "classes": [{"name": kind, **plain, "packageName": self.namespace}],
            "namespaces": [{"name": self.namespace, **plain, "external": False, "defaultNamespace": False}],
            "properties": [
                {**plain, **_UNLIMITED, "namespace": self.namespace, **each} for each in properties
            ],
            "mappings": {
                f"{self.namespace}.{kind}": [f"{self.namespace}.{each['name']}" for each in properties]
            },
        }
        answer: dict[str, Any] = self._json("POST", "/models", model, _READS | _TYPED)
        assert answer.keys() <= MODEL_KEYS, "its reader fails on other keys"
        assert all(each["type"] in PROPERTY_TYPES for each in answer["properties"])
        return answer

    def write(
        self, entities: Sequence[Mapping[str, Any]], relations: Sequence[Mapping[str, Any]] = ()
    ) -> list[str]:
        """Write entities and relations, and return the errors. A relation gets a new identity each time."""
        drawn = [
            {**_DRAWN, "identity": str(uuid.uuid4()), "namespace": self.namespace, **each}
            for each in relations
        ]
        body = {"entities": list(entities), "relations": drawn, "autocommit": False}
        told = self._json("POST", "/metadata/plugin", body, _WRITES)
        assert told.keys() <= {"entities", "relations"}, "its reader fails on other keys"
        assert all(each.keys() <= {"count", "errors"} for each in told.values())
        return [*told["entities"]["errors"], *told["relations"]["errors"]]

    def own(self, name: str, kind: str, **more: Any) -> dict[str, Any]:
        """An entity owned by the client program, without null values."""
        return {
            "identity": self.own_id(name),
            "sourceType": "SDK",
            "type": kind,
            "namespace": self.namespace,
            "originalName": name,
            "deleted": False,
            "tags": {"add": [], "del": [], "set": None},
            "properties": {"add": {}, "del": [], "set": None},
            **more,
        }

    def own_id(self, name: str) -> str:
        return uuid.uuid5(uuid.NAMESPACE_OID, f"{self.namespace}##{name}").hex

    def put_entity(self, identity: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write metadata as the SDK's example does for a line of CSV."""
        written: dict[str, Any] = self._json("PUT", f"/entities/{identity}", body, _READS | _TYPED)
        assert {"identity", "parentPath", "originalName", "name", "description"} <= written.keys()
        return written

    def find_entity(self, source: str, parent_path: str, name: str, kind: str) -> dict[str, Any]:
        """Return one entity, with the query that the SDK's CSV example sends."""
        above = f"%20%2B(parentPath:%22{parent_path}%22)" if parent_path else ""
        found = self._json(
            "GET", f"/entities?query=%2B(srcId:{source}){above}%20%2B(originalName:{name})%20%2B(type:{kind})"
        )
        (only,) = found
        return dict(only)

    # -- Internals -------------------------------------------------------------------------------------------------------

    def _json(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = _READS) -> Any:
        data = None if body is None else json.dumps(body).encode()
        answer = self._send(method, f"{self.url}/api/v{self.version}{path}", headers, data)
        assert answer.status_code == 200, f"{method} {path}: {answer.status_code} {answer.text}"
        assert answer.headers["Content-Type"] == "application/json", "RestTemplate takes nothing else"
        return answer.json()

    def _send(
        self, method: str, address: str, headers: Mapping[str, str], data: bytes | None
    ) -> requests.Response:
        auth = (self.user, self.password)
        return requests.request(
            method, address, headers=dict(headers), data=data, auth=auth, timeout=PATIENCE_S
        )


_UNLIMITED: Final[dict[str, Any]] = {
    "multiValued": False,
    "maxLength": None,
    "pattern": None,
    "enumValues": None,
    "type": "TEXT",
}
_DRAWN: Final[dict[str, Any]] = {
    "endpoint1Ids": [],
    "endpoint1SourceId": None,
    "endpoint2Ids": [],
    "endpoint2SourceId": None,
    "ep1Attributes": None,
    "ep2Attributes": None,
    "userSpecified": False,
}
