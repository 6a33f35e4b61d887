"""Find the key of a dataset by namespace and name, and by its symlinks.

    hive://host:9083    db.table               the table of that metastore
    arn:aws:glue:…      table/db/table         the table of that Glue catalogue
    hdfs://ns1  file  s3://bucket              /path, key: the path
    anything else                              a dataset of this source

Spark names the path and gives the table as a symlink; Hive's hook names the table and gives the path as a symlink. In
both cases data flows from and to the table; that the table is located at the path is stated separately.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from extractors.openlineage.runs import DatasetState
from extractors.spark.plan.names import without_partitions
from navlin.model.databases import namespace_with_ports
from navlin.model.keys import (
    EntityType,
    Key,
    column_key,
    dataset_column_key,
    dataset_key,
    is_location,
    location_key,
    path_column_key,
    table_key,
)
from navlin.model.redaction import without_credentials
from navlin.model.source import HIVE, Estate, Source

FILE_SYSTEMS: Final = frozenset(
    "file local hdfs viewfs webhdfs swebhdfs s3 s3a s3n gs abfs abfss wasb wasbs adl dbfs ofs o3fs oss obs cosn".split()
)
_METASTORES: Final = frozenset({"", "hive", "glue"})
"""Types of catalogs whose tables are in a metastore. Other types (``hadoop``, ``jdbc``, ``rest``) store tables
themselves.
"""
_DEFAULT_CATALOGS: Final = frozenset({"hive", "spark_catalog", "awsdatacatalog"})
_PLAIN: Final = re.compile(r"[^\s./`]+\Z")


@dataclass(frozen=True, slots=True)
class Bound:
    """A dataset in the graph: the key to which flows are attached and, for a table, the paths of its location."""

    key: Key
    paths: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetKeys:
    """Find the keys of datasets. ``metastore`` is the metastore of tables whose namespace has no host.
    ``metastore_namespaces`` are further namespaces whose names are tables of this metastore, such as those of Trino or
    a Thrift server.
    """

    source: Source
    estate: Estate
    metastore: str = ""
    metastore_namespaces: tuple[str, ...] = ()

    def bound(self, namespace: str, name: str, known: DatasetState | None = None) -> Bound:
        """Return the key of a dataset, taking all of its names into account."""
        known = known or DatasetState()
        keys = [self.key(namespace, name, known)]
        for link_namespace, link_name, link_type in known.links:
            as_table = link_type.upper() == "TABLE" and self._has_metastore(known)
            table = self._table(link_namespace, link_name, known, linked=as_table)
            path = (
                self._path(link_namespace, link_name)
                if table is None and link_type.upper() != "TABLE"
                else None
            )
            keys += [each for each in (table, path) if each is not None]
        paths = tuple(each for each in keys if each.type is EntityType.DIRECTORY)
        tables = [each for each in keys if each.type in (EntityType.TABLE, EntityType.VIEW)]
        if tables:
            return Bound(tables[0], paths)
        return Bound(paths[0] if paths else keys[0])

    def key(self, namespace: str, name: str, known: DatasetState | None = None) -> Key:
        """Return the key of a dataset from this name alone."""
        table = self._table(namespace, name, known or DatasetState(), linked=False)
        if table is not None:
            return table
        path = self._path(namespace, name)
        return path if path is not None else dataset_key(self.source, namespace_with_ports(namespace), name)

    def column(self, above: Key, name: str) -> Key:
        """Return the key of a dataset's column."""
        if above.type in (EntityType.TABLE, EntityType.VIEW):
            return column_key(above, name)
        if above.type is not EntityType.DATASET:
            return path_column_key(above, name)
        return dataset_column_key(above, name)

    def owns(self, key: Key) -> bool:
        """Whether ``key`` is the key of a dataset of this source, or of a column of such a dataset."""
        return key.source.id == self.source.id

    def _has_metastore(self, known: DatasetState) -> bool:
        return not known.catalog or known.catalog[1] in _METASTORES

    def _table(self, namespace: str, name: str, known: DatasetState, *, linked: bool) -> Key | None:
        """Return the key of a table in a metastore; None if the name is not one. ``linked`` is true if the name is a
        table's symlink.
        """
        scheme, _, host = namespace.partition("://")
        parts = name.split(".")
        if namespace.startswith("arn:aws:glue:"):
            authority, parts = namespace.rstrip("/"), name.removeprefix("table/").split("/")
        elif scheme.lower() == "hive":
            authority = f"thrift://{host}" if host else self.metastore
        elif namespace in self.metastore_namespaces:
            authority = self.metastore
        elif linked and scheme.partition(":")[0].lower() in FILE_SYSTEMS:
            # The metastore is embedded in the application, and the namespace of its tables is the warehouse directory.
            authority = self.metastore
        else:
            return None
        if len(parts) == 3 and (
            parts[0].lower() in _DEFAULT_CATALOGS or namespace in self.metastore_namespaces
        ):
            parts = parts[1:]
        parts = [each[1:-1] if each[:1] == each[-1:] == "`" else each for each in parts]
        if len(parts) != 2 or not all(map(_PLAIN.match, parts)):
            return None
        kind = EntityType.VIEW if known.kind == "VIEW" else EntityType.TABLE
        return table_key(self.estate.serving(HIVE, authority), parts[0], parts[1], kind)

    def _path(self, namespace: str, name: str) -> Key | None:
        scheme = re.split(r"[:/]", namespace, maxsplit=1)[0].lower()
        if scheme not in FILE_SYSTEMS or (scheme in ("file", "local") and _of_a_host(namespace)):
            return None
        base = namespace if "://" in namespace else f"{scheme}:"
        uri = without_credentials(f"{base.rstrip('/')}/{name.lstrip('/')}")
        if not is_location(uri):
            return None
        return location_key(self.estate, without_partitions(uri))


def _of_a_host(namespace: str) -> bool:
    """Whether a namespace is that of files on one machine. The same path on another machine is a different file."""
    host = namespace.partition("://")[2].partition("/")[0]
    return host not in ("", "localhost")
