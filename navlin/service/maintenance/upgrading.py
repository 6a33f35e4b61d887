"""Upgrades an index written by an earlier version of navlin, while no other process writes to it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from navlin.index.admin.cores import (
    CONFIGSET,
    CORES,
    create_beside,
    create_edits,
    opened_schema,
    outdated,
    remove_replaced,
    replace_by_beside,
)
from navlin.index.admin.schema import VERSION, UnusableIndex, require_known
from navlin.index.admin.schema_upgrade import Report, copy_index
from navlin.index.graph.sources import known_sources
from navlin.index.journal.leases import LEASE_S, Lease, Leased, LeaseLost, lease
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr


@dataclass(frozen=True, slots=True)
class Upgraded:
    """The result of an upgrade from version ``since`` of the index to ``version``. ``documents`` maps cores to the
    present number of documents; it is empty if there was nothing to do."""

    since: int
    version: int
    documents: dict[str, int]


def upgrade_index(
    solr: Solr,
    server: EmbeddedSolr | None,
    *,
    lease_s: float = LEASE_S,
    shards: int = 1,
    replicas: int = 1,
    report: Report = lambda done, total: None,
) -> Upgraded:
    """Upgrade the index, or continue an interrupted upgrade. The leases of all sources are held during the upgrade, so
    that no other process writes.

    ``shards`` and ``replicas`` are for new collections. Raises `UnusableIndex` or `NotCreated`.
    """
    schema = opened_schema(solr)
    require_known(schema)
    if schema.version < VERSION:
        try:
            with ExitStack() as leases:
                taken = _take_leases(leases, solr, lease_s)

                def report_while_leased(done: int, total: int) -> None:
                    for each in taken:
                        each.check()
                    report(done, total)

                cores = outdated(solr)
                create_beside(solr, CONF / "solr", cores, shards=shards, replicas=replicas)
                copy_index(solr, cores, schema.version, report_while_leased)
                for each in taken:
                    each.renew()
                if server is None:
                    for core in cores:
                        replace_by_beside(solr, core)
                else:
                    server.use(CONFIGSET)
        except LeaseLost as error:
            raise UnusableIndex(f"{error}: the index is unchanged; run the upgrade again") from error
    if server is None:
        remove_replaced(solr)
    create_edits(solr, CONF / "solr")
    documents = {core: solr.count(core) for core in CORES} if schema.version < VERSION else {}
    return Upgraded(schema.version, VERSION, documents)


def _take_leases(leases: ExitStack, solr: Solr, lease_s: float) -> list[Lease]:
    known = solr.cursor(RUNS, "kind:lease", "source")
    names = {
        "upgrade",
        "purge",
        *(source.id for source in known_sources(solr)),
        *(each["source"] for each in known),
    }
    try:
        return [leases.enter_context(lease(solr, name, length_s=lease_s)) for name in sorted(names)]
    except Leased as error:
        raise UnusableIndex(f"{error}: stop every navlin that uses this index first") from error
