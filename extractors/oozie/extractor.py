"""Read Oozie's workflows, coordinators and bundles, their runs, and the inputs and outputs of coordinators.

Oozie purges jobs some weeks after their end, so a job that is no longer listed does not count as deleted. The extractor
requests the jobs that have changed since shortly before the newest known change, and those that have not ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import ClassVar

from extractors.odd_entries import OddSplit
from extractors.oozie.answers import JobKind
from extractors.oozie.plan import Planning, SavedOozieState
from extractors.oozie.reading import SplitReader
from extractors.oozie.records import JobRecords
from extractors.oozie.server import OozieServer as Server
from extractors.oozie.wanted import JobsSplit, LeftOutSplit
from extractors.rest import RestService
from extractors.rest_extractor import RestExtractor
from navlin.model.extractor import PULL, extractor
from navlin.model.plan import Plan, Positions
from navlin.model.records import Record, Reject, Split
from navlin.model.source import OOZIE


@extractor("oozie", source_type=OOZIE, mode=PULL, version=1)
@dataclass(frozen=True, slots=True)
class Oozie(RestExtractor):
    """Extractor for one Oozie. ``urls`` are the addresses of its servers, which share one database, or the single
    address of a load balancer. ``yarn`` is the address of the ResourceManager of jobs whose records do not show a
    configured one.
    """

    yarn: str = ""

    service = "Oozie"
    examples: ClassVar[Mapping[str, str]] = {"urls": "http://oozie:11000/oozie"}
    shows = "every job (the ACLs of jobs, or oozie.service.AuthorizationService)"

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
        with closing(RestService(self.address("server of Oozie"))) as service:
            yield Server(service)
