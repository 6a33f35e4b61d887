"""YARN: applications of the ResourceManager, and MapReduce jobs of the JobHistoryServer with their inputs and outputs.

The ResourceManager keeps at most the last ten thousand ended applications, so an application that is not listed does
not count as deleted. The extractor requests the applications that have not ended, and those that ended since shortly
before the newest end seen. A MapReduce application is read once its job's configuration is available, or has been
missing for `history_wait_s`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, Literal

from extractors.odd_entries import OddSplit
from extractors.rest import RestAddress, RestUnavailable, asking, wrong_login, wrong_url
from extractors.yarn.engine_runs import MergingSplit, merged
from extractors.yarn.jobs import NO_HISTORY, read_jobs
from extractors.yarn.plan import JOBS, SavedYarnState, YarnPlanning
from extractors.yarn.records import ApplicationRecords
from extractors.yarn.splits import BeyondSplit, SeenSplit, UnansweredSplit
from navlin.kerberos.client import Login
from navlin.model.extractor import PULL, Extractor, extractor, keeps_positions
from navlin.model.keys import wrong_default_fs
from navlin.model.plan import Plan, Positions
from navlin.model.records import Record, Reject, Split
from navlin.model.source import YARN, Estate, Source

_EXAMPLES: Final = {"urls": "http://resourcemanager:8088", "history_urls": "http://historyserver:19888"}

TOO_MANY_OPEN: Final = (
    "{} open applications of {} are not remembered, because there are too many: the end of one stays unknown"
    " if the ResourceManager forgets it"
)


@extractor("yarn", source_type=YARN, mode=PULL, version=4)
@dataclass(frozen=True, slots=True)
class Yarn(Extractor):
    """Extractor for one YARN. ``urls`` are the web URLs of its ResourceManagers, ``history_urls`` those of the
    JobHistoryServer. Without ``history_urls``, MapReduce applications have no inputs and outputs. ``metastore`` is the
    address of the metastore for the queries of jobs without ``hive.metastore.uris``. ``page_size`` is the maximum
    number of entries in one response.
    """

    source: Source
    estate: Estate
    urls: tuple[str, ...]
    history_urls: tuple[str, ...] = ()
    overlap_s: int = 600
    history_wait_s: int = 1_800
    page_size: int = keeps_positions(5_000)
    metastore: str = ""
    default_fs: str = ""
    # Positions do not survive a change of this setting, because the ResourceManager hides an application's details
    # from users who may not view it.
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
        """Return the URLs of the ResourceManagers."""
        return tuple(settings.get("urls", ()))

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield problems that the types do not catch, as (setting, message)."""
        if not self.urls:
            yield "urls", f'urls must name the ResourceManager, as in ["{_EXAMPLES["urls"]}"]'
        for setting, example in _EXAMPLES.items():
            for url in getattr(self, setting):
                if wrong := wrong_url(url, example):
                    yield setting, f"{setting}: {wrong}"
        yield from wrong_default_fs(self.default_fs)
        for name in ("overlap_s", "history_wait_s", "connect_timeout_s", "read_timeout_s"):
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
        """Return the plan of a run. If nothing has changed, this costs two requests, or three with a JobHistoryServer."""
        planning = YarnPlanning(self.overlap_s * 1_000, self.history_wait_s * 1_000, self.page_size)
        with ExitStack() as stack:
            resource_manager = stack.enter_context(asking(self._resource_manager))
            history = stack.enter_context(asking(self._history)) if self.history_urls else None
            return planning.plan(resource_manager, history, SavedYarnState.of(positions))

    def read(self, split: Split) -> Iterator[Record]:
        applications = ApplicationRecords(self.source, self.estate, self.metastore, self.default_fs)
        match split:
            case SeenSplit(configured=False):
                for each in split.seen:
                    waited = self.history_urls and each.application and each.application.mapreduce
                    yield from applications.of(each, missing=NO_HISTORY if waited else "")
            case SeenSplit():
                with asking(self._history) as history:
                    yield from read_jobs(history, applications, split)
            case MergingSplit():
                yield from merged(applications.reading, split)
            case BeyondSplit(place=place, counts=counts):
                for user, count in counts:
                    yield Reject(place, TOO_MANY_OPEN.format(count, user or "nobody"), count=count)
            case OddSplit(entries=entries):
                yield from (each.reject() for each in entries)
            case UnansweredSplit(error=error):
                raise RestUnavailable(error)
            case _:
                raise TypeError(f"{split!r} is not a split of YARN")

    def check(self) -> Iterator[str]:
        """Yield lines for ``navlin check``: which ResourceManager responds, whether it shows applications, and whether
        the JobHistoryServer responds.
        """
        with asking(self._resource_manager) as service:
            listed = service.entries("/ws/v1/cluster/apps", ("apps", "app"), {"limit": 1})
            [info] = service.entries("/ws/v1/cluster/info", ("clusterInfo",)) or [{}]
            version, state = info.get("hadoopVersion", "unknown"), info.get("haState", "")
            shown = "shows applications" if listed else "shows no application"
            yield f"{service.url} answers: Hadoop {version}{f', {state}' if state else ''}, {shown}"
        if not self.history_urls:
            yield "without `history_urls` nothing shows what MapReduce jobs read and wrote"
            return
        with asking(self._history) as service:
            service.entries(JOBS, ("jobs", "job"), {"limit": 1})
            yield f"{service.url} answers: it shows what MapReduce jobs read and wrote"

    @property
    def _resource_manager(self) -> RestAddress:
        return self._address("ResourceManager", "urls", self.urls)

    @property
    def _history(self) -> RestAddress:
        return self._address("JobHistoryServer", "history_urls", self.history_urls)

    def _address(self, name: str, setting: str, urls: tuple[str, ...]) -> RestAddress:
        limits = (self.connect_timeout_s, self.read_timeout_s)
        cache = f"{self.estate.spool}/java" if self.estate.spool else ""
        login = Login(self.principal, self.keytab, self.krb5_conf, cache)
        shows = "every application (yarn.admin.acl, or its view ACLs)"
        return RestAddress(name, setting, urls, self.auth, self.user, self.ca_file, *limits, login, shows)
