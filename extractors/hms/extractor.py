"""Extractor for a Hive Metastore: databases, tables, views, columns and partitions, their locations, and renames of
tables.

The first plan lists everything. After that, the metastore's notification log names the objects that were touched, and
these are read in their current state. Everything is listed again if the log does not suffice, because there is none,
it has a gap, or the metastore was restored. Everything is also listed every ``complete_every_s`` seconds, because some
changes cause no event, such as an insert into an unpartitioned table or a change of a database.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from extractors.hms.client import (
    MetastoreAddress,
    MetastoreConnection,
    MetastoreError,
    MetastoreRefused,
    connected,
    host_and_port,
)
from extractors.hms.continuity import EVENT_DIGEST, event_at, time_of, why_not_continued
from extractors.hms.entities import HmsReading, to_rename
from extractors.hms.events import DEFAULT_CATALOG
from extractors.hms.plan import (
    COMPLETE_MS,
    EVENT_ID,
    HmsPlanning,
    LogBroken,
    TableFilters,
    at_event,
    plan_complete,
    plan_incremental,
    read_log,
)
from extractors.hms.reading import (
    BatchSizes,
    read_databases,
    read_partition_lists,
    read_partitions,
    read_tables,
)
from extractors.hms.splits import DatabaseSplit, PartitionListSplit, PartitionSplit, RenameSplit, TableSplit
from extractors.hms.still_there import places_there
from extractors.hms.touched import TouchedObjects
from navlin.kerberos.client import Login
from navlin.model.extractor import PULL, Extractor, extractor, keeps_positions
from navlin.model.keys import wrong_default_fs
from navlin.model.plan import Plan, Positions
from navlin.model.records import Record, Split
from navlin.model.source import HIVE, Estate, Source

NO_LOG = (
    "the metastore has no notification log, or an empty one (hive.metastore.transactional.event.listeners = "
    "org.apache.hive.hcatalog.listener.DbNotificationListener writes one): everything is read at every run"
)


@extractor("hms", source_type=HIVE, mode=PULL, version=2)
@dataclass(frozen=True, slots=True)
class HiveMetastore(Extractor):
    """Extractor for one metastore. ``uris`` are its instances, tried in order. Globs ignore case. A glob in ``tables``
    or ``exclude_tables`` matches ``db.table`` if it contains a dot, otherwise a table's name in any database.
    """

    source: Source
    estate: Estate
    uris: tuple[str, ...]
    catalog: str = DEFAULT_CATALOG
    databases: tuple[str, ...] = ("*",)
    exclude_databases: tuple[str, ...] = ()
    tables: tuple[str, ...] = ("*",)
    exclude_tables: tuple[str, ...] = ()
    partitions: bool = True
    batch_size: int = keeps_positions(200)
    partition_batch_size: int = keeps_positions(500)
    # Each plan compares this with the time since the last complete plan.
    complete_every_s: int = keeps_positions(86_400)
    default_fs: str = ""
    framed: bool = keeps_positions(False)
    tls: bool = keeps_positions(False)
    ca_file: str = keeps_positions("")
    # Positions do not survive a change of this setting, because with Kerberos the metastore knows the caller, and may
    # show less or more.
    sasl: Literal["none", "kerberos"] = "none"
    # Principal of the metastore itself.
    metastore_principal: str = keeps_positions("")
    # Principal of the caller.
    principal: str = keeps_positions("")
    keytab: str = keeps_positions("")
    krb5_conf: str = keeps_positions("")
    connect_timeout_s: float = keeps_positions(10.0)
    call_timeout_s: float = keeps_positions(120.0)

    @classmethod
    def serves(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the metastore's URIs as claims spell them, with the port. Return none for another catalog, because
        claims name tables of the default catalog.
        """
        if settings.get("catalog", DEFAULT_CATALOG) != DEFAULT_CATALOG:
            return ()
        addresses = map(host_and_port, settings.get("uris", ()))
        return tuple(f"thrift://{host}:{port}" for host, port in addresses)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield problems that the types do not catch, as (setting, message)."""
        if not self.uris:
            yield "uris", 'uris must name the metastore, as in ["thrift://host:9083"]'
        for uri in self.uris:
            try:
                host_and_port(uri)
            except MetastoreError as error:
                yield "uris", f"uris: {error}"
        yield from wrong_default_fs(self.default_fs)
        for name in (
            "batch_size",
            "partition_batch_size",
            "connect_timeout_s",
            "call_timeout_s",
            "complete_every_s",
        ):
            if not getattr(self, name) > 0:
                yield name, f"{name} must be more than 0"
        if not self.catalog or self.catalog != self.catalog.lower():
            yield (
                "catalog",
                f"catalog = {self.catalog!r} is not the name of a catalog: a metastore keeps them in lower case",
            )
        if self.keytab and not self.principal:
            yield "keytab", "keytab needs a principal"
        for name in ("metastore_principal", "principal", "keytab", "krb5_conf"):
            if getattr(self, name) and self.sasl == "none":
                yield name, f'{name} is for Kerberos: it needs sasl = "kerberos"'
        if self.ca_file and not self.tls:
            yield "ca_file", "ca_file is for TLS: it needs tls = true"
        if self.framed and self.sasl != "none":
            yield "framed", "framed and sasl cannot be combined: SASL has frames of its own"

    @property
    def local(self) -> bool:
        # This must run here, because the keytab, ticket cache, krb5.conf and CA certificates are files on this
        # machine.
        return self.sasl == "kerberos" or bool(self.ca_file)

    def plan(self, positions: Positions) -> Plan:
        """Return the plan of a run. If nothing has changed, this costs two calls."""
        with connected(self._address) as metastore:
            last = positions.values.get(EVENT_ID)
            current, no_log = _current_event_id(metastore)
            newest = event_at(metastore, current)
            clock = time_of(newest, metastore.uri)
            followed = newest if current == last else event_at(metastore, last or 0)
            if last is None:
                because = "it is the first run with these settings"
            elif positions.complete:
                because = "it was requested"
            elif no_log:
                because = no_log
            elif current < last:
                because = (
                    f"the metastore was restored: its last event is {current}, {last} was followed already"
                )
            elif restored := why_not_continued(followed, last, positions.values.get(EVENT_DIGEST, "")):
                because, last = restored, None
            elif self._overdue(positions):
                because = f"the last one is more than {self.complete_every_s} s old"
            elif current == last:
                return Plan(source_time=clock)
            else:
                because = ""
            planning = self._planning(positions.now_ms)
            touched, event = TouchedObjects(), newest
            if last is not None and current > last:
                try:
                    touched, event = read_log(metastore, last, current, self.catalog)
                except (LogBroken, MetastoreRefused) as error:
                    because = because or str(error)
            position = at_event(event, current)
            if not because:
                return replace(plan_incremental(planning, touched, position), source_time=clock)
            # The event is older than the listing, so changes in between are read twice rather than missed.
            note = f"full listing: {because}"
            return replace(plan_complete(planning, metastore, touched, position, note), source_time=clock)

    def read(self, split: Split) -> Iterator[Record]:
        if isinstance(split, RenameSplit):
            for rename in split.renames:
                yield from to_rename(self.source, rename)
            return
        with connected(self._address) as metastore:
            yield from self._read(metastore, split)

    def _read(self, metastore: MetastoreConnection, split: Split) -> Iterator[Record]:
        sizes = BatchSizes(self.batch_size, self.partition_batch_size)
        match split:
            case DatabaseSplit(as_of_ms=as_of_ms):
                yield from read_databases(metastore, self._reading(metastore, as_of_ms), split)
            case TableSplit(as_of_ms=as_of_ms):
                yield from read_tables(metastore, self._reading(metastore, as_of_ms), split, sizes)
            case PartitionListSplit(as_of_ms=as_of_ms):
                yield from read_partition_lists(metastore, self._reading(metastore, as_of_ms), split, sizes)
            case PartitionSplit(as_of_ms=as_of_ms):
                yield from read_partitions(metastore, self._reading(metastore, as_of_ms), split, sizes)
            case _:
                raise TypeError(f"{split!r} is not a split of a metastore")

    def still_there(self, paths: Sequence[str]) -> Collection[str]:
        with connected(self._address) as metastore:
            return set(places_there(metastore, paths, self.batch_size))

    def check(self) -> Iterator[str]:
        """Yield lines for ``navlin check``: the databases that the metastore shows, other catalogs, and whether there
        is a notification log.
        """
        with connected(self._address) as metastore:
            names = metastore.databases()
            taken = sum(map(self._filters.take_database, names))
            yield f"{metastore.uri} answers: {len(names)} databases, {taken} of them selected by the filters"
            if others := sorted(set(metastore.catalogs()) - {self.catalog}):
                yield f"it has other catalogs, each of which needs a source of its own: {', '.join(others)}"
            event_id, no_log = _current_event_id(metastore)
            yield no_log or f"its notification log is at event {event_id}"

    @property
    def _address(self) -> MetastoreAddress:
        cache = f"{self.estate.spool}/java" if self.estate.spool else ""
        return MetastoreAddress(
            self.uris,
            self.framed,
            self.connect_timeout_s,
            self.call_timeout_s,
            self.sasl,
            self.metastore_principal,
            Login(self.principal, self.keytab, self.krb5_conf, cache),
            self.catalog,
            self.tls,
            self.ca_file,
        )

    @property
    def _filters(self) -> TableFilters:
        return TableFilters(self.databases, self.exclude_databases, self.tables, self.exclude_tables)

    def _planning(self, now_ms: int) -> HmsPlanning:
        return HmsPlanning(self.source, self._filters, self.partitions, self.partition_batch_size, now_ms)

    def _reading(self, metastore: MetastoreConnection, as_of_ms: int) -> HmsReading:
        return HmsReading(self.source, self.estate, self.default_fs, as_of_ms, metastore.uri)

    def _overdue(self, positions: Positions) -> bool:
        last_ms: int = positions.values.get(COMPLETE_MS, 0)
        # The clock may have been ahead when the last complete plan was made.
        return not 0 <= positions.now_ms - last_ms < self.complete_every_s * 1000


def _current_event_id(metastore: MetastoreConnection) -> tuple[int, str]:
    """Return (id of the newest event, ""), or (0, reason) if there is no log to follow."""
    try:
        current = metastore.current_event_id()
    except MetastoreRefused as error:
        return (
            0,
            "the metastore does not show its notification log: everything is read at every run. From Hive 3 on it shows it "
            "to the users that hadoop.proxyuser.*.hosts of its core-site.xml names, or to all with "
            f"hive.metastore.event.db.notification.api.auth = false ({error})",
        )
    return current, "" if current else NO_LOG
