"""A test client that sends the same requests as Hue's catalog, and fails in the same cases.

Written from the public sources of Hue, without knowledge of navlin. Hue makes a new client for each request it handles.
Query parameters carry over from one call of the client to the next, whether needed or not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import requests

FETCHED: Final = 450
PATIENCE_S: Final = 300.0
NAMESPACE: Final = "__cloudera_internal_catalog_hue"
_FIELDS: Final = (
    ("originalName", 3),
    ("originalDescription", 1),
    ("name", 10),
    ("description", 3),
    ("tags", 5),
)
_IRI: Final = "/#%[]=:;$&()+,!?*@'~"
"""Characters that Hue does not escape in a URL."""


class NoEntity(LookupError):
    """Raised if Hue finds no entity with a name."""


class Failed(Exception):
    """Raised if Hue would show an error."""


class HueCatalog:
    """Hue's catalog client; Hue makes a new one for each user request."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self._url = f"{url}/api/v9"
        self._auth = (user, password)
        self._session = requests.Session()
        self._session.headers["User-Agent"] = "python-requests/2.27.1"
        self._params: dict[str, Any] = {}

    # -- Search ----------------------------------------------------------------------------------------------------------

    def search_interactive(
        self,
        text: str,
        types: Sequence[str] = (),
        facets: Sequence[str] = ("tags", "type", "owner"),
        prefix: str = "",
        offset: int = 0,
    ) -> dict[str, Any]:
        """Search while the user types, with counts, filters and highlights."""
        query, filters = [], []
        for term in f"{text}*".split():
            name, colon, value = term.partition(":")
            if not colon:
                query.append(_boosted(term))
            elif value and name in ("type", "tags", "owner", "originalName"):
                filters.append(f"{name}:{value.upper()}" if name == "type" else term)
            elif value:
                query.append("up_" + term)
        if types:
            filters.append("sourceType:HIVE OR sourceType:IMPALA")
        filters.append("deleted:false")
        if types:
            filters.append("{!tag=type} " + " OR ".join(f"type:{each}" for each in types))
        body: dict[str, Any] = {"query": " ".join(query) or "*", "facetFields": list(facets)}
        if prefix:
            body["facetPrefix"] = prefix
        body["filterQueries"] = filters
        found = self._write("POST", f"interactive/entities?limit={FETCHED}&offset={offset}", body)
        for each in facets:
            assert all(isinstance(count, int) for count in found["facets"][each].values())
        assert {"totalMatched", "results", "highlighting"} <= found.keys()
        return dict(found)

    def search(self, text: str, types: Sequence[str] = ("TABLE", "VIEW")) -> list[dict[str, Any]]:
        """Search for words, each in a name, a description or a tag. A term ``name:value`` is a filter."""
        clauses, filters = [], []
        for term in re.sub(r"([{}()\[\]])", r"\\\1", text).split():
            if ":" in term:
                name, _, value = term.partition(":")
                filters.append(f"type:{value.upper()}*" if name == "type" else f"{term}*")
                continue
            above, _, name = term.rpartition(".")
            if above:
                filters.append(f'parentPath:"/{above.replace(".", "/")}"*')
            clauses.append(_boosted(name))
        words = "OR".join(f"({each})" for each in clauses) or "*"
        wanted = "AND ".join(f"({each})" for each in filters) or "*"
        of_type = "OR".join(f"(type:{each})" for each in types)
        sources = "(sourceType:HIVE OR sourceType:IMPALA)"
        return self.raw(f"{words} AND ({wanted}) AND ({of_type}) AND {sources}")

    def raw(self, query: str) -> list[dict[str, Any]]:
        """Send a query as the user wrote it."""
        self._params.update(query=query, offset=0, limit=FETCHED)
        return list(self._get("entities"))

    def of_cluster(self, name: str) -> str:
        """Return the prefix with which Hue restricts its queries to one cluster."""
        self._params.update(query=f'clusterName:"{name}"', limit=200)
        ids = [each.get("sourceId") or each["identity"] for each in self._get("entities")]
        return f"({' OR '.join(f'sourceId:{each}' for each in ids)}) AND " if ids else "sourceId:0 AND"

    def suggest(self, start: str) -> list[str]:
        """Return suggestions of names that begin with ``start``."""
        return list(self._get(f"interactive/suggestions?query={start or '*'}", with_params=False))

    # -- Entities --------------------------------------------------------------------------------------------------------

    def get_database(self, name: str) -> dict[str, Any]:
        return self._find("HIVE", "DATABASE", name)

    def get_table(self, database: str, table: str) -> dict[str, Any]:
        return self._find("HIVE", "TABLE", table, parentPath=rf"\/{database}")

    def get_field(self, database: str, table: str, name: str) -> dict[str, Any]:
        return self._find("HIVE", "FIELD", name, parentPath=rf"\/{database}\/{table}")

    def get_directory(self, path: str) -> dict[str, Any]:
        return self._find(
            "HDFS", "DIRECTORY", path.rpartition("/")[2], fileSystemPath=path.replace("/", r"\/")
        )

    def get_entity(self, identity: str) -> dict[str, Any]:
        return dict(self._get(f"entities/{identity}"))

    def get_lineage(self, identity: str) -> dict[str, Any]:
        """Return the lineage. Checks that input and output names are uppercase, because Hue compares them with
        uppercase table names.
        """
        self._params.update(entityIds=identity)
        found = self._get("lineage")
        for each in found["entities"]:
            for names in (each.get("inputs"), each.get("outputs")):
                assert names is None or (
                    isinstance(names, list) and all(name == name.upper() for name in names)
                )
        return dict(found)

    # -- User-written fields ---------------------------------------------------------------------------------------------

    def update(self, entity: Mapping[str, Any], **words: Any) -> dict[str, Any]:
        """Write metadata. Fields not given are sent back as they were read, except tags."""
        body = {
            "name": entity["name"],
            "description": entity["description"],
            "properties": entity["properties"] or {},
            "customProperties": entity["customProperties"] or {},
            **words,
        }
        return dict(self._write("PUT", f"entities/{entity['identity']}", body, params=self._params))

    def add_tags(self, identity: str, *tags: str) -> dict[str, Any]:
        entity = self.get_entity(identity)
        return self.update(entity, tags=[*(entity["tags"] or []), *tags])

    def delete_tags(self, identity: str, *tags: str) -> dict[str, Any]:
        entity = self.get_entity(identity)
        return self.update(entity, tags=[each for each in entity["tags"] or [] if each not in tags])

    def set_properties(self, identity: str, **properties: str) -> dict[str, Any]:
        entity = self.get_entity(identity)
        return self.update(entity, properties={**(entity["properties"] or {}), **properties})

    def delete_properties(self, identity: str, *keys: str) -> dict[str, Any]:
        entity = self.get_entity(identity)
        left = {key: value for key, value in (entity["properties"] or {}).items() if key not in keys}
        return self.update(entity, properties=left)

    def set_up(self) -> dict[str, Any]:
        """Register the property in which Hue stores its documents, unless it exists. Hue does this once, before any
        query.
        """
        if not self._get(f"models/namespaces/{NAMESPACE}", with_params=False):
            self._write("POST", "models/namespaces", {"name": NAMESPACE, "description": "Set of fields"})
        properties = self._get(f"models/namespaces/{NAMESPACE}/properties", with_params=False)
        if not any(each["name"] == "relatedDocuments" for each in properties):
            related = {
                "name": "relatedDocuments",
                "displayName": "Related documents",
                "description": "Documents that belong to this",
                "multiValued": True,
                "maxLength": 36,
                "pattern": ".*",
                "enumValues": None,
                "type": "TEXT",
            }
            self._write("POST", f"models/namespaces/{NAMESPACE}/properties", related)
            for kind in ("hv_table", "hv_view"):
                names = [{"namespace": NAMESPACE, "name": "relatedDocuments"}]
                self._write("POST", f"models/packages/nav/classes/{kind}/properties", names)
        return dict(self._get("models/properties/mappings", with_params=False))

    # -- Internals -------------------------------------------------------------------------------------------------------

    def _find(self, source_type: str, kind: str, name: str, **more: str) -> dict[str, Any]:
        wanted = {"sourceType": source_type, "originalName": name, "deleted": "false", **more}
        # Hue writes the bare type name, except for tables.
        begun = "(type:TABLE OR type:VIEW)" if kind == "TABLE" else kind
        query = f"{begun} AND {'AND'.join(f'({key}:{value})' for key, value in wanted.items())}"
        self._params.update(query=query, offset=0, limit=2)
        found = self._get("entities")
        if not found:
            raise NoEntity(name)
        (only,) = found
        return dict(only)

    def _get(self, path: str, *, with_params: bool = True) -> Any:
        pairs = [f"{key}={value}" for key, value in self._params.items()] if with_params else []
        return self._answer(requests.Request("GET", self._address(path, pairs), auth=self._auth))

    def _write(self, method: str, path: str, body: Any, params: Mapping[str, Any] | None = None) -> Any:
        self._session.cookies.clear()
        pairs = [f"{key}={value}" for key, value in (params or {}).items()]
        headers = {"Content-Type": "application/json"}
        return self._answer(
            requests.Request(
                method, self._address(path, pairs), headers, data=json.dumps(body), auth=self._auth
            )
        )

    def _address(self, path: str, pairs: Sequence[str]) -> str:
        return quote(f"{self._url}/{path}" + ("?" + "&".join(pairs) if pairs else ""), safe=_IRI)

    def _answer(self, request: requests.Request) -> Any:
        prepared = self._session.prepare_request(request)
        # Hue sends the URL unchanged; requests would escape it a second time.
        prepared.url = request.url
        answer = self._session.send(prepared, timeout=PATIENCE_S, allow_redirects=request.method != "POST")
        if answer.status_code >= 300:
            raise Failed(f"{answer.status_code} {answer.text}")
        if not answer.content:
            return b""
        assert "application/json" in answer.headers["Content-Type"], "else Hue has bytes"
        return answer.json()


def _boosted(term: str) -> str:
    matching = "OR".join(f"({field}:{term}*^{weight})" for field, weight in _FIELDS)
    present = "OR".join(f"({field}:[* TO *])" for field, _ in _FIELDS)
    return f"({matching})AND({present})"
