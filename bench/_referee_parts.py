"""The parts of the referee, as data: their statements, Spark versions, settings and targets.

Every part except ``own`` and ``tpcds`` has its own Spark, because table formats support new Spark releases late.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Place:
    """A target to which the statements of a directory write, and the database of unqualified table names.

    ``output`` is the statement's table in the notation of expected lineage, ``sql`` the same table in SQL.
    ``{name}`` is the statement's name and ``{dir}`` the directory for files. ``using`` replaces ``{format}``; ""
    means the part's own format. ``suffix`` distinguishes the statements from those with another target.
    """

    output: str = "out.{name}"
    sql: str = "out.{name}"
    source: str = "src"
    suffix: str = ""
    programs: bool = True
    using: str = ""


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python with a Spark. Only the listed packages are installed, because dependencies are not resolved."""

    name: str
    packages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Statements that run together in one Spark session.

    ``jars`` is a jar set of navlin.solr_server.jars. Without an ``environment`` the part runs in navlin's own
    Python. ``directories`` maps directories below bench/statements to targets; each is read once for each target.
    ``{data}`` in settings is the scratch directory. ``table_format`` replaces ``{format}`` in SQL.
    """

    name: str
    jars: str
    directories: tuple[tuple[str, tuple[Place, ...]], ...] = ()
    environment: Environment | None = None
    table_format: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[str, ...]:
        """Databases of the tables that the statements read, without duplicates."""
        return tuple(dict.fromkeys(place.source for _, places in self.directories for place in places))


_SPARK_3_3: Final = ("pyspark==3.3.4", "py4j==0.10.9.5")
_SPARK_3_4: Final = ("pyspark==3.4.4", "py4j==0.10.9.7")
_SPARK_3_5: Final = ("pyspark==3.5.9", "py4j==0.10.9.9")
_SPARK_4_1: Final = ("pyspark==4.1.4", "py4j==0.10.9.9")

DELTA: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # The tables are small: the default of 50 tasks for each read of a table's log would take longer than everything
    # else.
    "spark.databricks.delta.snapshotPartitions": "1",
}
_BOTH: Final = DELTA | {
    "spark.sql.extensions": f"{DELTA['spark.sql.extensions']},"
    "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.local": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.local.type": "hadoop",
    "spark.sql.catalog.local.warehouse": "{data}/local",
    "spark.sql.catalog.crm": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    "spark.sql.catalog.crm.url": "jdbc:derby:memory:crm;create=true",
    "spark.sql.catalog.crm.driver": "org.apache.derby.jdbc.EmbeddedDriver",
}
_ICEBERG: Final = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
    "spark.sql.catalog.spark_catalog.type": "hive",
    "spark.sql.catalog.local": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.local.type": "hadoop",
    "spark.sql.catalog.local.warehouse": "{data}/local",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": "{data}/lake",
    "spark.sql.catalog.prod": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.prod.type": "hive",
    # The session's own metastore has no lock tables, and DBCP is its only connection pool.
    "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
    "spark.hadoop.datanucleus.connectionPoolingType": "DBCP",
}

TABLE: Final = Place()
"""A table in the session catalog."""
_BY_PATH: Final = Place("<files/{name}>", "delta.`{dir}/files/{name}`", suffix="_path", programs=False)
_WITH_VECTORS: Final = Place(
    suffix="_vectors", using="delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
)
_LOCAL: Final = Place("local.out.{name}", "local.out.{name}", "local.src")
_IN_SESSION: Final = Place(suffix="_session")
_ON_READ: Final = Place(
    "local.out.{name}",
    "local.out.{name}",
    "local.src",
    suffix="_on_read",
    using="iceberg TBLPROPERTIES ('write.merge.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', "
    "'write.delete.mode' = 'merge-on-read')",
)

_MERGED: Final = (
    TABLE,
    Place("local.out.{name}", "local.out.{name}", suffix="_iceberg", using="iceberg"),
)
_CROSSED: Final = (*_MERGED, Place(suffix="_parquet", using="parquet"))
"""Targets in each format, whatever the format of the sources."""

_DELTA_DIRECTORIES: Final = (
    ("table_formats", (TABLE, _BY_PATH)),
    ("row_level", (TABLE, _BY_PATH, _WITH_VECTORS)),
    ("delta", (TABLE,)),
)
_ICEBERG_DIRECTORIES: Final = (
    ("table_formats", (_LOCAL, _IN_SESSION)),
    ("row_level", (_LOCAL, _IN_SESSION, _ON_READ)),
    ("iceberg", (_LOCAL,)),
)
OWN: Final = Part("own", "referee", ((".", (TABLE,)),))
TPCDS: Final = Part("tpcds", "referee")

PARTS: Final = {
    part.name: part
    for part in (
        OWN,
        TPCDS,
        Part(
            "delta-3.3",
            "delta-3.3",
            _DELTA_DIRECTORIES,
            Environment("spark-3.5-delta", (*_SPARK_3_5, "delta-spark==3.3.3")),
            "delta",
            DELTA,
        ),
        Part(
            "delta-4",
            "delta-4",
            _DELTA_DIRECTORIES,
            Environment("spark-4.1-delta", (*_SPARK_4_1, "delta-spark==4.4.0")),
            "delta",
            DELTA,
        ),
        Part(
            "iceberg-1.9",
            "iceberg-1.9",
            _ICEBERG_DIRECTORIES,
            Environment("spark-3.5", _SPARK_3_5),
            "iceberg",
            _ICEBERG,
        ),
        Part(
            "iceberg-1.12",
            "iceberg-1.12",
            _ICEBERG_DIRECTORIES,
            Environment("spark-4.1", _SPARK_4_1),
            "iceberg",
            _ICEBERG,
        ),
        Part(
            "iceberg-1.4",
            "iceberg-1.4",
            _ICEBERG_DIRECTORIES,
            Environment("spark-3.3", _SPARK_3_3),
            "iceberg",
            _ICEBERG,
        ),
        Part(
            "iceberg-1.5",
            "iceberg-1.5",
            _ICEBERG_DIRECTORIES,
            Environment("spark-3.4", _SPARK_3_4),
            "iceberg",
            _ICEBERG,
        ),
        Part(
            "crossed",
            "crossed",
            (("crossed", _CROSSED), ("crossed_merges", _MERGED)),
            Environment("spark-3.5", _SPARK_3_5),
            "delta",
            _BOTH,
        ),
    )
}
