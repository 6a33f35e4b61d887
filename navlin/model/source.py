"""Sources: the services that navlin reads, and whose key is whose.

An authority is what a claim can know of the service behind a name: ``hdfs://ns1``, ``thrift://hms:9083``, ``s3://bucket``.
Every source lists those it serves. An authority that no source serves is a source all the same, by a computed id, so that
what is claimed there can be granted.
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
SDK: Final = "SDK"
"""What is told of systems that have no source of their own, by OpenLineage's clients."""
LOCAL: Final = "LOCAL"
"""Files of one host's own file system (Cloudera's word for them in the Spark lineage log)."""

DEFAULT_AUTHORITY: Final = ""
"""The authority of a claim that does not know which of the estate's services it means: the only configured one answers."""


@dataclass(frozen=True, slots=True)
class Source:
    """One service: a configured one, or an authority that a claim names and no source serves (``configured=False``).

    ``claimable``: claims may mean it. What follows an engine's files has what ran, and no catalogue to name tables
    in: HiveServer2's queries and the metastore's tables are of one type, and a table that is named is the metastore's.
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
    """Navigator's id of a source: H(cluster, service name)."""
    return identify(cluster, name)


@dataclass(frozen=True, slots=True)
class Estate:
    """Every source that is configured, for finding whose key a claim has. Small, and travels into Spark tasks.

    ``adopted`` maps (source type, authority) to the id under which the index already holds what was granted there: a
    source that is configured later takes that id over, so nothing that was claimed changes its identity.
    ``spool`` is a directory where an extractor may keep between plan and read what is too large to carry; "" is the
    system's own for temporary files.
    ``masks_literals``: no text leaves an extractor with a literal in it (`navlin.model.redaction.literals`).
    """

    cluster: str
    sources: tuple[Source, ...] = ()
    adopted: Mapping[str, str] = field(default_factory=dict)
    spool: str = ""
    masks_literals: bool = False

    def serving(self, source_type: str, authority: str = DEFAULT_AUTHORITY) -> Source:
        """The source that answers for an authority; one that is not configured if none does.

        The default authority is served by the one configured source of that type. Where there are several, it is
        none's: no lineage is better than lineage to the wrong metastore.
        """
        of_type = [source for source in self.sources if source.type == source_type and source.claimable]
        wanted = normal_authority(authority)
        for source in of_type:
            if wanted in source.serves:
                return source
        if wanted == DEFAULT_AUTHORITY and len(of_type) == 1:
            return of_type[0]
        name = wanted or source_type.lower()
        granted_id = self.adopted.get(adoption_key(source_type, wanted), source_id(self.cluster, name))
        return Source(granted_id, source_type, name, self.cluster, (wanted,), configured=False)

    def metastore_meant(self, uris: Sequence[str], default: str) -> str:
        """The address by which a job means its metastore: of those it names the one that a configured source serves, or the
        first if none does; ``default`` if it names none."""
        served = {authority for source in self.sources if source.type == HIVE for authority in source.serves}
        served_first = (uri for uri in uris if normal_authority(uri) in served)
        return next(served_first, uris[0] if uris else default)


METASTORES_NAMED: Final = 10
"""How many addresses of one metastore a job may name."""


def metastores_named(uris: str) -> tuple[str, ...]:
    """The addresses in a value of ``hive.metastore.uris``: all of them are of one metastore."""
    return tuple(filter(None, map(str.strip, uris.split(","))))[:METASTORES_NAMED]


def adoption_key(source_type: str, authority: str) -> str:
    """The key of `Estate.adopted`."""
    return f"{source_type} {authority}"


def normal_authority(authority: str) -> str:
    """One spelling for one authority: lower case (host names and schemes have none), no slash after a host."""
    scheme, separator, host = authority.lower().partition("://")
    return scheme + separator + host.rstrip("/")
