"""The versions of other products that the tests run."""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree

from docs.from_code.markdown import table
from navlin.shipped import CONF

PRODUCTS: Final = {
    "solr": ("Apache Solr, embedded", "solr-core"),
    "solr-8": ("Apache Solr, a server of your own", "solr-core"),
    "hive-metastore": ("Hive metastore 2", ""),
    "hive-metastore-3.1": ("Hive metastore 3", "hive-standalone-metastore"),
    "hive-metastore-4.0": ("Hive metastore 4", "hive-standalone-metastore-server"),
    "hive": ("Hive, with LineageLogger", "hive-exec"),
    "hadoop": ("HDFS and YARN", "hadoop-client-minicluster"),
    "mapreduce": ("MapReduce's JobHistoryServer", ""),
    "sqoop": ("Sqoop", "sqoop"),
    "pig": ("Pig", "pig"),
    "oozie": ("Oozie", "oozie-server"),
    "openlineage-spark": ("OpenLineage's agent for Spark", "openlineage-spark_2.13"),
    "hadoop-aws": ("Hadoop's client of S3 (`s3a`)", "hadoop-aws"),
    "delta-3.3": ("Delta Lake 3", ""),
    "delta-4": ("Delta Lake 4", ""),
    "iceberg-1.4": ("Iceberg 1.4", ""),
    "iceberg-1.5": ("Iceberg 1.5", ""),
    "iceberg-1.9": ("Iceberg 1.9", ""),
    "iceberg-1.12": ("Iceberg 1.12", ""),
    "atlas": ("Apache Atlas, a target of exports", ""),
}
"""Set of jars in ``conf/jars`` → (product, module whose revision counts; "" for the first module)."""


def tried() -> str:
    """Return the table of products and versions."""
    return table(("product", "version"), ((PRODUCTS[name][0], revision(name)) for name in PRODUCTS))


def revision(jar_set: str) -> str:
    """Return the version of a product in its set of jars."""
    module = PRODUCTS[jar_set][1]
    found = ElementTree.parse(CONF / "jars" / f"{jar_set}.xml").getroot().iter("dependency")
    return next(each.attrib["rev"] for each in found if module in ("", each.attrib["name"]))
