"""Database addresses and dataset names in OpenLineage's form.

    jdbc:postgresql://db/shop                        postgres://db:5432            shop
    jdbc:sqlserver://db\\EU:1433;databaseName=shop    sqlserver://db:1433/EU        shop
    jdbc:oracle:thin:@//db:1521/svc, @db:1521:sid    oracle://db:1521              svc, sid
    jdbc:hsqldb:hsql://db:9001/shop                  hsqldb:hsql://db:9001/shop

The forms are those of OpenLineage's Java client, so that a table has the same key whoever names it. The client does not
know databases like HSQLDB; it takes their whole URL as the namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from navlin.model.keys import Key, dataset_key
from navlin.model.redaction import without_credentials
from navlin.model.source import JDBC, SDK, Estate
from navlin.model.sql_names import joined_name

MAX_URL_CHARS: Final = 8_192
_PORTS: Final = {
    "postgres": "5432",
    "mysql": "3306",
    "mariadb": "3306",
    "sqlserver": "1433",
    "oracle": "1521",
    "redshift": "5439",
    "teradata": "1025",
    "db2": "6789",
}
"""Ports of addresses that have none. OpenLineage's clients add most of them to a namespace, but not those of MariaDB, SQL
Server and Redshift, so a namespace in an event is completed too. That of DB2 is not DB2's own default.
"""
_SCHEMES: Final = (
    (re.compile(r"(?:postgresql|pgsql)\b.*"), "postgres"),
    (re.compile(r"jtds:sqlserver"), "sqlserver"),
    (re.compile(r"mysql[:+].*"), "mysql"),
    (re.compile(r"mariadb[:+].*"), "mariadb"),
)
_URL: Final = re.compile(r"([a-z][\w+-]*(?::[a-z][\w+-]*){0,3})://(.*)", re.IGNORECASE | re.DOTALL)
_ORACLE: Final = re.compile(r"oracle:\w{1,20}:(.*)", re.IGNORECASE | re.DOTALL)
_EMBEDDED: Final = re.compile(r"[a-z][\w+-]*:[^@=,'\"\s]+", re.IGNORECASE)
_HOST: Final = re.compile(r"(\[[0-9a-f:.%]+\]|[\w.-]+)(?::(\d{1,5}))?", re.IGNORECASE)
_NAME: Final = re.compile(r"[^@=&?;,'\"()<>\\\x00-\x1f]{1,255}")
_PROPERTY: Final = re.compile(r";\s*([\w ]+?)\s*=\s*(\{(?:[^}]|\}\})*\}|[^;]*)")
_OF_TNS: Final = re.compile(r"\(\s*(HOST|PORT|SERVICE_NAME|SID)\s*=\s*([^()\s]+)\s*\)", re.IGNORECASE)
_LDAP: Final = re.compile(r"ldaps?:/{0,2}([^/\s]+)/([^,/\s]+)", re.IGNORECASE)
_NO_SCHEMAS: Final = ("mysql://", "mariadb://")


class Database(NamedTuple):
    """A database. ``namespace`` has the form ``postgres://host:5432``, "" if unknown; ``name`` is the name of the
    database on that server, or ""."""

    namespace: str = ""
    name: str = ""

    def dataset(self, table: str) -> str:
        """Return the dataset name of a table: ``db.schema.table``."""
        return f"{self.name}.{table}" if self.name else table

    def dataset_of(self, parts: tuple[str, ...]) -> str:
        """Return the dataset name of a table by the parts of the table's name, which may begin with another database:
        ``other.dbo.t`` on SQL Server, ``other.t`` on MySQL.
        """
        own = 2 if self.namespace.startswith(_NO_SCHEMAS) else 3
        table = joined_name(parts)
        return table if len(parts) >= own else self.dataset(table)


class _Read(NamedTuple):
    """A database, and its URL without user, password and parameters."""

    database: Database = Database()
    shown: str = ""


def database_of(url: str) -> Database:
    """Return the database that a JDBC URL points to, without user, password and parameters. Return an empty one if the
    URL cannot be read.
    """
    return _read(url).database


def shown_url(url: str) -> str:
    """Return a JDBC URL without user, password and parameters, except for the name of the database; "" if the URL
    cannot be read. It is made of the parts that were understood, so no secret is left, wherever it was.
    """
    return _read(url).shown


def namespace_with_ports(namespace: str) -> str:
    """Return the namespace of a dataset with the default port of its database, if it is one of a database and has no
    port: ``sqlserver://db`` becomes ``sqlserver://db:1433``. Others are returned as they are, also that of a named
    instance of SQL Server, whose port only the server knows.
    """
    scheme, found, address = namespace.partition("://")
    hosts = _hosts(scheme, address) if found and scheme in _PORTS else None
    return f"{scheme}://{hosts.named}" if hosts else namespace


def database_table_key(estate: Estate, database: Database, name: str) -> Key:
    """Return the key of a table in a database: the same key as in OpenLineage's events if one source follows them.
    ``name`` is the name of the dataset.
    """
    told = [each for each in estate.sources if each.type == SDK]
    # If the source is marked as not configured, the table becomes a placeholder if no event has mentioned it.
    owner = replace(told[0], configured=False) if len(told) == 1 else estate.serving(JDBC, database.namespace)
    return dataset_key(owner, database.namespace, name)


def _read(url: str) -> _Read:
    if len(url) > MAX_URL_CHARS:
        return _Read()
    bare = re.sub(r"^jdbc:", "", url.strip(), flags=re.IGNORECASE)
    if match := _ORACLE.match(bare):
        return _oracle(match[1])
    match = _URL.match(bare)
    if match is None:
        # An in-process or file database: `h2:mem:pg`.
        kept = re.split(r"[?;]", bare, maxsplit=1)[0]
        return _Read(Database(kept), f"jdbc:{kept}") if _EMBEDDED.fullmatch(kept) else _Read()
    printed = match[1].lower()
    scheme = next((name for pattern, name in _SCHEMES if pattern.fullmatch(printed)), printed)
    rest = without_credentials(f"{scheme.rpartition(':')[2]}://{match[2]}").partition("://")[2]
    if scheme == "sqlserver":
        return _sql_server(printed, rest)
    address, properties = _without_properties(rest)
    host, _, path = address.partition("/")
    hosts = _hosts(scheme, host.rpartition("@")[2])
    name = _database_name(path)
    if hosts is None or name is None or "@" in properties.partition("=")[0]:
        return _Read()  # the apparent host and port may be a user and a password
    shown = f"jdbc:{printed}://{hosts.shown}" + (f"/{name}" if name else "")
    if ":" in scheme:
        # OpenLineage's clients keep the letter case of a URL that they cannot read.
        whole = f"{scheme}://{hosts.printed}" + (f"/{name}" if name else "")
        return _Read(Database(whole), shown)
    return _Read(Database(f"{scheme}://{hosts.named}", name), shown)


def _without_properties(text: str) -> tuple[str, str]:
    """Split off everything from the first ``?``, ``;`` or ``#``."""
    address = re.split(r"[?;#]", text, maxsplit=1)[0]
    return address, text[len(address) :]


class _Hosts(NamedTuple):
    """The hosts of a URL, with ports: as printed, in lower case, and with the default port if they had none."""

    printed: str
    shown: str
    named: str


def _hosts(scheme: str, text: str, *, default: bool = True) -> _Hosts | None:
    port = _PORTS.get(scheme, "") if default else ""
    named = []
    for each in text.split(","):
        if (match := _HOST.fullmatch(each)) is None:
            return None
        with_port = match[2] or port
        named.append(f"{match[1].lower()}:{with_port}" if with_port else match[1].lower())
    return _Hosts(text, text.lower(), ",".join(named))


def _database_name(path: str) -> str | None:
    """Return the database in a URL's path; None if the path holds something else, such as the rest of a password."""
    if "@" in path:
        return None
    path = path.strip("/ ")
    name, _, properties = path.partition(":")  # DB2: `SHOP:currentSchema=A`
    name = name if "=" in properties else path
    if "=" in name:  # Teradata: `DATABASE=shop,USER=etl`
        pairs = (each.partition("=") for each in path.split(","))
        name = next((value for key, _, value in pairs if key.strip().upper() == "DATABASE"), "")
    return name if not name or _NAME.fullmatch(name) else None


def _sql_server(printed: str, rest: str) -> _Read:
    address, listed = _without_properties(rest)
    properties = {
        key.replace(" ", "").lower(): value.strip("{} ") for key, value in _PROPERTY.findall(listed)
    }
    address, _, path = address.rpartition("@")[2].partition("/")  # only jTDS has a path: the database
    host, _, instance = address.partition("\\")
    instance, _, port = instance.partition(":")
    host = host or properties.get("servername", "")
    port = port or properties.get("portnumber", "")
    instance = instance or properties.get("instancename", "") or properties.get("instance", "")
    name = properties.get("databasename", "") or properties.get("database", "") or path
    # The port of a named instance is looked up on the server.
    hosts = _hosts("sqlserver", f"{host}:{port}" if port else host, default=not instance)
    if hosts is None or any(each and not _NAME.fullmatch(each) for each in (instance, name)):
        return _Read()
    namespace = f"sqlserver://{hosts.named}" + (f"/{instance}" if instance else "")
    before, _, after = hosts.shown.partition(":")
    shown = f"jdbc:{printed}://{before}" + (f"\\{instance}" if instance else "") + (after and f":{after}")
    return _Read(Database(namespace, name), shown + (f";databaseName={name}" if name else ""))


def _oracle(text: str) -> _Read:
    before, at, rest = text.rpartition("@")
    if not at or "(" in before:
        return _Read()
    if "(" in rest:
        return _of_parts("oracle:thin:@", *_tns(rest))
    if match := _LDAP.match(rest):
        return _of_parts("oracle:thin:@", match[1], match[2])
    rest, _ = _without_properties(re.sub(r"^(?:tcps?:)?//", "", rest, flags=re.IGNORECASE))
    host, slash, name = rest.partition("/")
    if not slash and len(parts := host.split(":")) == 3:
        host, name = f"{parts[0]}:{parts[1]}", parts[2]
        return _of_parts("oracle:thin:@", host, name, separator=":")
    return _of_parts("oracle:thin:@", host, re.split(r"[:/]", name, maxsplit=1)[0])


def _of_parts(prefix: str, host: str, name: str, separator: str = "/") -> _Read:
    hosts = _hosts("oracle", host)
    if hosts is None or (name and not _NAME.fullmatch(name)):
        return _Read()
    slashes = "//" if separator == "/" and name else ""
    shown = f"jdbc:{prefix}{slashes}{hosts.shown}" + (f"{separator}{name}" if name else "")
    return _Read(Database(f"oracle://{hosts.named}", name), shown)


def _tns(text: str) -> tuple[str, str]:
    """Return (hosts with ports, service) of a connect descriptor: ``(DESCRIPTION=(ADDRESS=(HOST=h)…)…)``."""
    found = [(key.upper(), value) for key, value in _OF_TNS.findall(text)]
    hosts = list(_addresses(found))
    names = dict(reversed(found))
    return ",".join(hosts), names.get("SERVICE_NAME") or names.get("SID", "")


def _addresses(found: list[tuple[str, str]]) -> Iterator[str]:
    """Yield ``host:port`` of each address. The port precedes or follows its host."""
    of_address = [each for each in found if each[0] in ("HOST", "PORT")]
    place = 0
    while place < len(of_address):
        pair = dict(of_address[place : place + 2])
        if len(pair) == 2:
            yield f"{pair['HOST']}:{pair['PORT']}"
            place += 2
        else:
            key, value = of_address[place]
            if key == "HOST":
                yield value
            place += 1
