"""URNs of exported entities, in the form of DataHub's own ingestion of Hive, HDFS and S3.

URNs are compared byte by byte. They match those of a site's own ingestion only if platform instance, environment and
case are the same.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Final

from navlin.export.values import ColumnName, DatasetName, ExportedOperation

HIVE: Final = "hive"
ACTOR: Final = "urn:li:corpuser:navlin"
_RESERVED: Final = str.maketrans({",": "%2C", "(": "%28", ")": "%29", "␟": "%E2%90%9F"})
"""Characters that separate the components of a URN and must be encoded within a component."""
_PLATFORMS: Final = {
    "hdfs": "hdfs",
    "viewfs": "hdfs",
    "s3": "s3",
    "gs": "gcs",
    "gcs": "gcs",
    "dbfs": "dbfs",
    "file": "file",
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs", "adl", "adls"), "adls"),
}
"""URI scheme of a path → platform."""


@dataclass(frozen=True, slots=True)
class DatahubUrns:
    """URNs for one export. ``instance`` is the platform instance of tables and databases, ``storage_instance`` the
    platform instance of paths; "" for none. ``lowercase`` converts the names of tables, databases and columns, but not
    paths, to lower case."""

    instance: str = ""
    storage_instance: str = ""
    env: str = "PROD"
    lowercase: bool = False

    def platform(self, name: DatasetName) -> str:
        """Return the platform of a dataset or database."""
        if name.is_table or name.type == "DATABASE":
            # A table has the same platform, whichever engine wrote it.
            return HIVE
        if name.is_path:
            return _PLATFORMS.get(_scheme(name.authority), _scheme(name.authority) or HDFS)
        return name.source.type.lower() or "navlin"

    def instance_of(self, name: DatasetName) -> str:
        """Return the platform instance of a dataset or database; "" for none."""
        return self.instance if self.platform(name) == HIVE else self.storage_instance

    def dataset(self, name: DatasetName) -> str:
        """Return the URN of a table, view, path or other dataset."""
        instance, own = self.instance_of(name), self._own(name)
        whole = f"{instance}.{own}" if instance else own
        platform = self.platform(name)
        return f"urn:li:dataset:({platform_urn(platform)},{encoded(whole)},{self.env})"

    def column(self, column: ColumnName) -> str:
        return f"urn:li:schemaField:({self.dataset(column.dataset)},{encoded(self.field_path(column))})"

    def field_path(self, column: ColumnName) -> str:
        """Return the name of a column within the dataset."""
        return column.name.lower() if self.lowercase and column.dataset.is_table else column.name

    def container(self, database: str) -> str:
        """Return the URN of a database. Without a platform instance, the key contains the environment instead, as in
        older versions of DataHub."""
        name = database.lower() if self.lowercase else database
        key = {"database": name, "instance": self.instance or self.env, "platform": HIVE}
        text = json.dumps(key, sort_keys=True, separators=(",", ":"))
        return f"urn:li:container:{hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()}"

    def flow(self, operation: ExportedOperation) -> str:
        """Return the URN of the flow of an operation. A flow contains all operations of one source and engine."""
        source = operation.source
        flow = encoded(source.name or source.id)
        return f"urn:li:dataFlow:({encoded(engine(operation))},{flow},{self.env})"

    def job(self, operation: ExportedOperation) -> str:
        """Return the URN of an operation."""
        return f"urn:li:dataJob:({self.flow(operation)},{encoded(operation.id)})"

    def platform_instance(self, name: DatasetName) -> str:
        """Return the URN of the platform instance of a dataset; "" for none."""
        instance = self.instance_of(name)
        platform = platform_urn(self.platform(name))
        return f"urn:li:dataPlatformInstance:({platform},{encoded(instance)})" if instance else ""

    def _own(self, name: DatasetName) -> str:
        if name.is_table:
            return name.full_name.lower() if self.lowercase else name.full_name
        if not name.is_path:
            return name.full_name
        scheme, _, authority = name.authority.partition("://")
        if scheme == "dbfs":
            authority = ""
        if _PLATFORMS.get(scheme) == "adls":
            authority = authority.partition("@")[0]
        return f"{authority}{name.name}".rstrip("/") or "/"


HDFS: Final = "hdfs"


def engine(operation: ExportedOperation) -> str:
    """Return the engine of an operation in lower case: ``hive``, ``impala``, ``spark`` …"""
    return (operation.statement.engine or operation.source.type or "navlin").lower()


def execution(identity: str) -> str:
    """Return the URN of a run."""
    return f"urn:li:dataProcessInstance:{encoded(identity)}"


def platform_urn(platform: str) -> str:
    return f"urn:li:dataPlatform:{platform}"


def user(name: str) -> str:
    """Return the URN of a user; the URN of navlin itself if there is no name."""
    return f"urn:li:corpuser:{encoded(name)}" if name else ACTOR


def tag(name: str) -> str:
    return f"urn:li:tag:{encoded(name)}"


def encoded(component: str) -> str:
    """Encode a text as a component of a URN."""
    return component.translate(_RESERVED)


def _scheme(authority: str) -> str:
    return authority.partition("://")[0]
