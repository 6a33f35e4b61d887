"""YARN: applications of the ResourceManager, and MapReduce jobs of the JobHistoryServer with their inputs and outputs.

The ResourceManager keeps at most the last ten thousand ended applications, so an application that is not listed does
not count as deleted. The extractor requests the applications that have not ended, and those that ended since shortly
before the newest end seen. A MapReduce application is read once its job's configuration is available, or has been
missing for `history_wait_s`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Final

from extractors.odd_entries import OddSplit
from extractors.rest import RestService, RestUnavailable
from extractors.rest_extractor import RestExtractor
from extractors.yarn.engine_runs import MergingSplit, merged
from extractors.yarn.jobs import NO_HISTORY, read_jobs
from extractors.yarn.plan import JOBS, SavedYarnState, YarnPlanning
from extractors.yarn.records import ApplicationRecords
from extractors.yarn.splits import BeyondSplit, SeenSplit, UnansweredSplit
from navlin.model.extractor import PULL, extractor, keeps_positions
from navlin.model.plan import Plan, Positions
from navlin.model.records import Record, Reject, Split
from navlin.model.source import YARN

TOO_MANY_OPEN: Final = (
    "{} open applications of {} are not remembered, because there are too many: the end of one stays unknown"
    " if the ResourceManager forgets it"
)


@extractor("yarn", source_type=YARN, mode=PULL, version=4)
@dataclass(frozen=True, slots=True)
class Yarn(RestExtractor):
    """Extractor for one YARN. ``urls`` are the web URLs of its ResourceManagers, ``history_urls`` those of the
    JobHistoryServer. Without ``history_urls``, MapReduce applications have no inputs and outputs. ``metastore`` is the
    address of the metastore for the queries of jobs without ``hive.metastore.uris``.
    """

    history_urls: tuple[str, ...] = ()
    _: KW_ONLY
    history_wait_s: int = 1_800
    page_size: int = keeps_positions(5_000)
    metastore: str = ""

    service = "the ResourceManager"
    examples: ClassVar[Mapping[str, str]] = {
        "urls": "http://resourcemanager:8088",
        "history_urls": "http://historyserver:19888",
    }
    shows = "every application (yarn.admin.acl, or its view ACLs)"

    def plan(self, positions: Positions) -> Plan:
        """Return the plan of a run. If nothing has changed, this costs two requests, or three with a JobHistoryServer."""
        planning = YarnPlanning(self.overlap_s * 1_000, self.history_wait_s * 1_000, self.page_size)
        with ExitStack() as stack:
            resource_manager = stack.enter_context(closing(self._resource_manager()))
            history = stack.enter_context(closing(self._history())) if self.history_urls else None
            return planning.plan(resource_manager, history, SavedYarnState.of(positions))

    def read(self, split: Split) -> Iterator[Record]:
        applications = ApplicationRecords(self.source, self.estate, self.metastore, self.default_fs)
        match split:
            case SeenSplit(configured=False):
                for each in split.seen:
                    waited = self.history_urls and each.application and each.application.mapreduce
                    yield from applications.of(each, missing=NO_HISTORY if waited else "")
            case SeenSplit():
                with closing(self._history()) as history:
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
        with closing(self._resource_manager()) as service:
            listed = service.entries("/ws/v1/cluster/apps", ("apps", "app"), {"limit": 1})
            [info] = service.entries("/ws/v1/cluster/info", ("clusterInfo",)) or [{}]
            version, state = info.get("hadoopVersion", "unknown"), info.get("haState", "")
            shown = "shows applications" if listed else "shows no application"
            yield f"{service.url} answers: Hadoop {version}{f', {state}' if state else ''}, {shown}"
        if not self.history_urls:
            yield "without `history_urls` nothing shows what MapReduce jobs read and wrote"
            return
        with closing(self._history()) as service:
            service.entries(JOBS, ("jobs", "job"), {"limit": 1})
            yield f"{service.url} answers: it shows what MapReduce jobs read and wrote"

    def _resource_manager(self) -> RestService:
        return RestService(self.address("ResourceManager"))

    def _history(self) -> RestService:
        return RestService(self.address("JobHistoryServer", "history_urls"))
