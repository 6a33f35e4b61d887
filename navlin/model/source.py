"""Sources: the services that navlin reads, and the assignment of keys to them.

An authority is the address by which a claim knows a service: ``hdfs://ns1``, ``thrift://hms:9083``, ``s3://bucket``.
Every source lists the authorities that it serves. An authority that no source serves is also a source, with a computed
id, so that entities claimed there can be placeholders.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from navlin.model.identity import identify

HIVE: Final = "HIVE"
HDFS: Final = "HDFS"
IMPALA: Final = "IMPALA"
SPARK: Final = "SPARK"
YARN: Final = "YARN"
PIG: Final = "PIG"
OOZIE: Final = "OOZIE"
S3: Final = "S3"
SQOOP: Final = "SQOOP"
JDBC: Final = "JDBC"
"""Databases, whose tables are datasets."""
SDK: Final = "SDK"
"""Systems that OpenLineage clients report and that have no source type of their own."""
LOCAL: Final = "LOCAL"
"""Files of one host's own file system (Cloudera's word for them in the Spark lineage log)."""

DEFAULT_AUTHORITY: Final = ""
"""The authority of a claim that does not tell which service it means. If only one service of the type is configured,
that service is meant."""


@dataclass(frozen=True, slots=True)
class Source:
    """One service. It is configured, or it is an authority that a claim names and no source serves
    (``configured=False``).

    ``claimable``: whether claims may refer to the source. They may not refer to a source that follows an engine's
    files, because such a source has executions but no catalogue of tables: HiveServer2's queries and the metastore's
    tables have the same type, and a named table is the metastore's.
    """

    id: str
    type: str
    name: str
    cluster: str
    serves: tuple[str, ...] = ()
    url: str = ""
    configured: bool = True
    claimable: bool = True


def source_id(cluster: str, name: str) -> str:
    """Return Navigator's id of a source: H(cluster, service name)."""
    return identify(cluster, name)


@dataclass(frozen=True, slots=True)
class Estate:
    """All configured sources, to find the source of a claimed key. Small; pickled into Spark tasks.

    ``adopted`` maps `adoption_key` of a source type and an authority to the id under which the index already holds
    placeholders there. A source that is configured later takes over that id, so that no claimed entity changes its
    identity. ``spool`` is a directory for data that is too large to carry from plan to read; "" is the system's
    temporary directory. ``masks_literals``: whether literals are removed from all texts before they leave an extractor
    (`navlin.model.redaction.literals`).
    """

    cluster: str
    sources: tuple[Source, ...] = ()
    adopted: Mapping[str, str] = field(default_factory=dict)
    spool: str = ""
    masks_literals: bool = False

    def serving(self, source_type: str, authority: str = DEFAULT_AUTHORITY) -> Source:
        """Return the source that serves an authority; if none does, return one that is not configured.

        The default authority is served by the only configured source of that type. If there are several, none serves
        it, because no lineage is better than lineage to the wrong metastore.
        """
        of_type = [source for source in self.sources if source.type == source_type and source.claimable]
        wanted = normal_authority(authority)
        for source in of_type:
            if wanted in source.serves:
                return source
        if wanted == DEFAULT_AUTHORITY and len(of_type) == 1:
            return of_type[0]
        name = wanted or source_type.lower()
        placeholder_id = self.adopted.get(adoption_key(source_type, wanted), source_id(self.cluster, name))
        return Source(placeholder_id, source_type, name, self.cluster, (wanted,), configured=False)

    def metastore_meant(self, uris: Sequence[str], default: str) -> str:
        """Return the address of the metastore that a job means. This is the first address in ``uris`` that a configured
        source serves, else the first address, else ``default``."""
        served = {authority for source in self.sources if source.type == HIVE for authority in source.serves}
        served_first = (uri for uri in uris if normal_authority(uri) in served)
        return next(served_first, uris[0] if uris else default)


METASTORES_NAMED: Final = 10
"""Maximum number of addresses taken from one value of ``hive.metastore.uris``."""


def metastores_named(uris: str) -> tuple[str, ...]:
    """Return the addresses in a value of ``hive.metastore.uris``, which all belong to one metastore."""
    return tuple(filter(None, map(str.strip, uris.split(","))))[:METASTORES_NAMED]


def adoption_key(source_type: str, authority: str) -> str:
    """Return the key of an authority in `Estate.adopted`."""
    return f"{source_type} {authority}"


def normal_authority(authority: str) -> str:
    """Return the canonical spelling of an authority: lower case (host names and schemes ignore case), no slash after
    the host."""
    scheme, separator, host = authority.lower().partition("://")
    return scheme + separator + host.rstrip("/")
