"""Read Oozie's workflows, coordinators and bundles, their runs, and the inputs and outputs of coordinators.

Oozie purges jobs some weeks after their end, so a job that is no longer listed does not count as deleted. The extractor
requests the jobs that have changed since shortly before the newest known change, and those that have not ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

from extractors.odd_entries import OddSplit
from extractors.oozie.answers import JobKind
from extractors.oozie.plan import Planning, SavedOozieState
from extractors.oozie.reading import SplitReader
from extractors.oozie.records import JobRecords
from extractors.oozie.server import OozieServer as Server
from extractors.oozie.wanted import JobsSplit, LeftOutSplit
from extractors.rest import RestAddress, asking, wrong_login, wrong_url
from navlin.kerberos.client import Login
from navlin.model.extractor import PULL, Extractor, extractor, keeps_positions
from navlin.model.keys import wrong_default_fs
from navlin.model.plan import Plan, Positions
from navlin.model.records import Record, Reject, Split
from navlin.model.source import OOZIE, Estate, Source

_EXAMPLE: Final = "http://oozie:11000/oozie"


@extractor("oozie", source_type=OOZIE, mode=PULL, version=1)
@dataclass(frozen=True, slots=True)
class Oozie(Extractor):
    """Extractor for one Oozie. ``urls`` are the addresses of its servers, which share one database, or the single
    address of a load balancer. ``page_size`` is the maximum number of entries in one answer. ``yarn`` is the address of
    the ResourceManager of jobs whose records do not show a configured one.
    """

    source: Source
    estate: Estate
    urls: tuple[str, ...]
    overlap_s: int = 600
    page_size: int = keeps_positions(1_000)
    yarn: str = ""
    default_fs: str = ""
    # Positions do not survive a change of this setting, because Oozie may hide jobs from users who may not view them.
    auth: Literal["none", "kerberos"] = "none"
    user: str = ""
    principal: str = keeps_positions("")
    keytab: str = keeps_positions("")
    krb5_conf: str = keeps_positions("")
    ca_file: str = keeps_positions("")
    connect_timeout_s: float = keeps_positions(10.0)
    read_timeout_s: float = keeps_positions(120.0)

    @classmethod
    def serves(cls, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the URLs of the servers."""
        return tuple(settings.get("urls", ()))

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield problems that the types do not catch, as (setting, message)."""
        if not self.urls:
            yield "urls", f'urls must name Oozie, as in ["{_EXAMPLE}"]'
        for url in self.urls:
            if wrong := wrong_url(url, _EXAMPLE):
                yield "urls", f"urls: {wrong}"
        yield from wrong_default_fs(self.default_fs)
        for name in ("overlap_s", "connect_timeout_s", "read_timeout_s"):
            if not getattr(self, name) > 0:
                yield name, f"{name} must be more than 0"
        if self.page_size < 2:
            yield "page_size", "page_size must be at least 2"
        yield from wrong_login(self)

    @property
    def local(self) -> bool:
        # The keytab, the ticket cache, krb5.conf and the CA certificates are files of this machine.
        return self.auth == "kerberos" or bool(self.ca_file)

    def plan(self, positions: Positions) -> Plan:
        """Return the plan of a run. If nothing has changed and nothing runs, this costs four requests."""
        with self._asking() as oozie:
            return Planning(self.overlap_s * 1_000, self.page_size).plan(oozie, SavedOozieState.of(positions))

    def read(self, split: Split) -> Iterator[Record]:
        match split:
            case JobsSplit():
                records = JobRecords(self.source, self.estate, self.yarn, self.default_fs)
                with self._asking() as oozie:
                    yield from SplitReader(oozie, records, split).read()
            case LeftOutSplit(place=place, counts=counts):
                for sentence, count in counts:
                    yield Reject(place, sentence, count=count)
            case OddSplit(entries=entries):
                yield from (each.reject() for each in entries)
            case _:
                raise TypeError(f"{split!r} is not a split of Oozie")

    def check(self) -> Iterator[str]:
        """Yield lines for ``navlin check``: the server that answers, its version, and whether it shows workflows."""
        with self._asking() as oozie:
            page = next(oozie.pages(JobKind.WORKFLOW, "", 1), ())
            shown = "shows workflows" if page else "shows no workflow"
            yield f"{oozie.url} answers: Oozie {oozie.version()}, {shown}"

    @contextmanager
    def _asking(self) -> Iterator[Server]:
        limits = (self.connect_timeout_s, self.read_timeout_s)
        cache = f"{self.estate.spool}/java" if self.estate.spool else ""
        login = Login(self.principal, self.keytab, self.krb5_conf, cache)
        shows = "every job (the ACLs of jobs, or oozie.service.AuthorizationService)"
        address = RestAddress(
            "server of Oozie", "urls", self.urls, self.auth, self.user, self.ca_file, *limits, login, shows
        )
        with asking(address) as service:
            yield Server(service)
