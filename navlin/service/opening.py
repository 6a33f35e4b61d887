"""Opens an index: one of the present version as it is, an older one after an upgrade, a newer one not at all.

Every command uses this module, so it imports little: the upgrade itself is in `navlin.service.upgrading`.
"""

from __future__ import annotations

from typing import Final

from navlin.index.cores import CONFIGSET, CORES, create_edits, missing, opened_schema
from navlin.index.schema import VERSION, UnusableIndex, require_known
from navlin.index.schema_fields import require_fields
from navlin.index.solr import Solr, SolrError, SolrUnavailable
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr

AT_ONCE_DOCUMENTS: Final = 50_000
"""Largest index, in documents, that is upgraded when it is opened, which takes seconds."""
DOCUMENTS_A_SECOND: Final = 2_000
"""Rate assumed in the message about a larger one."""


REMEDY: Final = (
    "somebody changed Solr's schema, or put another core there, or an earlier navlin made it. Put the core back that was"
    " there, or put navlin's schema there: the embedded Solr gets it when navlin is started again, another one by `navlin"
    " index create`, and an earlier navlin's core needs no more. What was written meanwhile with a schema that somebody"
    " changed is kept otherwise: restore a backup then, or remove the cores and extract all sources again"
)


def open_index(solr: Solr, server: EmbeddedSolr | None) -> None:
    """Returns if the index exists, in the present version and with its fields, if necessary after an upgrade that takes
    seconds.

    ``server`` is the embedded Solr if this process runs it. Raises `NotCreated` or `UnusableIndex`.
    """
    _bring_up_to_date(solr, server)
    schema = CONF / "solr" / CONFIGSET / "schema.xml"
    try:
        require_fields(solr, schema, REMEDY)
    except SolrError as error:
        if isinstance(error, SolrUnavailable) or not missing(solr):
            raise
        create_edits(solr, CONF / "solr")
        require_fields(solr, schema, REMEDY)


def _bring_up_to_date(solr: Solr, server: EmbeddedSolr | None) -> None:
    schema = opened_schema(solr)
    require_known(schema)
    if schema.version == VERSION:
        return
    absent = missing(solr)
    documents = sum(solr.count(core) for core in CORES if core not in absent)
    reason = f"the index is of version {schema.version}, and this navlin needs version {VERSION}: "
    if server is None:
        raise UnusableIndex(reason + "stop every navlin that uses it, and run `navlin index upgrade`")
    if documents > AT_ONCE_DOCUMENTS:
        minutes = round(documents / DOCUMENTS_A_SECOND / 60) + 1
        raise UnusableIndex(
            reason + f"run `navlin index upgrade` ({documents:,} documents, some {minutes} min)"
        )
    from navlin.service.upgrading import upgrade_index

    upgrade_index(solr, server)
