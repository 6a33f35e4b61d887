"""Small scripts that users wrote for Navigator's API, reduced to their requests. They were written without knowledge of
navlin.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote_plus

import requests

PATIENCE_S: Final = 300.0
COLUMNS: Final = (
    *("owner", "parentPath", "originalName", "created", "lastModified", "lastAccessed", "size"),
    *("sourceType", "permissions", "group", "identity"),
)
"""Columns that a script for old files selects by name."""


class Scripts:
    """Scripts of one user for one server."""

    def __init__(self, url: str, user: str, password: str) -> None:
        self.url, self._auth = url, (user, password)

    def newest_address(self) -> str:
        """Return a URL that contains the API version exactly as the server reports it."""
        version = requests.get(f"{self.url}/api/version", auth=self._auth, timeout=PATIENCE_S).text
        return f"{self.url}/api/{version}/interactive/entities?limit=0&offset=0"

    def count_everything(self) -> int:
        """Return the number of entities, from a request without a query and with the limit 0."""
        told = self._get(self.newest_address())
        assert told["results"] == []
        return int(told["totalMatched"])

    def page(self, query: str, limit: int, version: int = 12) -> list[dict[str, Any]]:
        """Return all results of a query, reading as many pages as the server's total implies."""
        address = (
            f"{self.url}/api/v{version}/interactive/entities?query={quote_plus(query)}&limit={limit}&offset="
        )
        first = self._get(f"{address}0")
        found = first["results"]
        for number in range(1, -(-first["totalMatched"] // first["limit"])):
            found += self._get(f"{address}{number * limit}")["results"]
        return list(found)

    def old_files(self) -> list[list[Any]]:
        """Return a row for each file; fails if a column is missing."""
        return [[each[name] for name in COLUMNS] for each in self.page("type:file", 1000, 10)]

    def table_id(self, database: str, table: str) -> str:
        """Return the identity of a table. The query is sent in the URL as typed."""
        query = f'((parentPath:"/{database}")%20AND%20(originalName:"{table}")%20AND%20(type:table))'
        (only,) = self._get(f"{self.url}/api/v8/entities/?query={query}&limit=100&offset=0")
        return str(only["identity"])

    def statements(self, source_type: str) -> list[str]:
        query = f"((sourceType:{source_type})AND(type:operation))"
        found = self._get(f"{self.url}/api/v9/entities?query={query}&limit=1000&offset=0")
        return [each["originalName"] for each in found]

    def tables_by_signs(self) -> list[str]:
        """Send a query with plus and minus signs, escaped as required in a URL."""
        query = "-deleted:true%20%2BsourceType:hive%20%2Btype:table"
        return [
            each["identity"]
            for each in self._get(f"{self.url}/api/v9/entities/?query={query}&limit=100&offset=0")
        ]

    def put(self, identity: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Write metadata of an entity. Fails if the status is not 200."""
        headers = {"Content-Type": "application/json"}
        answer = requests.put(
            f"{self.url}/api/v9/entities/{identity}",
            data=json.dumps(body),
            headers=headers,
            auth=self._auth,
            timeout=PATIENCE_S,
        )
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def _get(self, address: str) -> Any:
        answer = requests.get(address, auth=self._auth, timeout=PATIENCE_S)
        assert answer.status_code == 200, f"{address}: {answer.status_code} {answer.text}"
        assert answer.headers["Content-Type"] == "application/json"
        return answer.json()
