"""Database addresses and dataset names in OpenLineage's form."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from navlin.model.redaction import redact, without_credentials

_PORTS: Final = {
    "postgres": 5432,
    "mysql": 3306,
    "mariadb": 3306,
    "sqlserver": 1433,
    "oracle": 1521,
    "redshift": 5439,
}
_SCHEMES: Final = {"postgresql": "postgres", "jtds:sqlserver": "sqlserver"}
_ADDRESS: Final = re.compile(
    r"(?P<scheme>[a-z][\w:+-]*?)://(?P<host>[^/?;]+)/?(?P<path>[^?;]*)", re.IGNORECASE
)
_ORACLE: Final = re.compile(
    r"oracle:\w+:[^@]*@(?://)?(?P<host>[^/:?]+)(?::(?P<port>\d+))?[/:](?P<path>[\w.$#-]+)", re.IGNORECASE
)
_NAMED: Final = re.compile(r";\s*(?:databaseName|database)\s*=\s*([^;]+)", re.IGNORECASE)


class Database(NamedTuple):
    """A database. ``namespace`` has the form ``postgres://host:5432``, "" if unknown; ``name`` is the name of the
    database on that server, or ""."""

    namespace: str = ""
    name: str = ""

    def dataset(self, table: str) -> str:
        """Return the dataset name of a table: ``db.schema.table``."""
        return f"{self.name}.{table}" if self.name else table


def database_of(url: str) -> Database:
    """Return the database that a JDBC URL points to, without user, password and parameters."""
    bare = re.sub(r"^jdbc:", "", url.strip(), flags=re.IGNORECASE)
    if match := _ORACLE.match(bare):
        return Database(f"oracle://{match['host'].lower()}:{match['port'] or 1521}", match["path"])
    bare = without_credentials(bare)
    if match := _ADDRESS.match(bare):
        scheme = _SCHEMES.get(match["scheme"].lower(), match["scheme"].lower())
        host = match["host"].rpartition("@")[2].lower()
        named = _NAMED.search(bare)
        port = f":{_PORTS[scheme]}" if scheme in _PORTS and not re.search(r":\d+$", host) else ""
        return Database(f"{scheme}://{host}{port}", (named[1] if named else match["path"]).strip("/ "))
    # An in-process or file database: `h2:mem:pg`.
    return Database(redact(re.split(r"[?;]", bare, maxsplit=1)[0]), "")
