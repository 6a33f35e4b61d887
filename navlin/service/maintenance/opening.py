"""Opens an index. An index of an older version is upgraded if that takes only seconds; an index of a newer version is
refused.

Every command uses this module, so it imports little. The upgrade itself is in `navlin.service.maintenance.upgrading`.
"""

from __future__ import annotations

from typing import Final

from navlin.index.admin.cores import CONFIGSET, CORES, create_edits, missing, opened_schema
from navlin.index.admin.schema import VERSION, UnusableIndex, require_known
from navlin.index.admin.schema_fields import require_fields
from navlin.index.solr.solr import Solr, SolrError, SolrUnavailable
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr

AT_ONCE_DOCUMENTS: Final = 50_000
"""Maximum number of documents in an index that is upgraded when it is opened. Such an upgrade takes seconds."""
DOCUMENTS_A_SECOND: Final = 2_000
"""Assumed rate of an upgrade, for the message about a larger index."""


REMEDY: Final = (
    "Solr's schema was changed, the core was replaced, or an earlier navlin created it. Restore the original"
    " core, or navlin's schema: the embedded Solr gets it when navlin is restarted, another one by `navlin index"
    " create`, and the core of an earlier navlin needs nothing else. Documents written with a changed schema are stored"
    " differently: in that case restore a backup, or remove the cores and extract all sources again"
)


def open_index(solr: Solr, server: EmbeddedSolr | None) -> None:
    """Ensure that the index exists, has the current version and has all its fields. Upgrade it if necessary, which
    takes seconds.

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
    from navlin.service.maintenance.upgrading import upgrade_index

    upgrade_index(solr, server)
