"""Ask an Oozie server for lists of jobs, for single jobs, and for their definitions.

Lists are 1-based, and ordered by the time of creation or of the last change, newest first. While pages are read, new
jobs move the others to later places, and a purge moves them to earlier ones; so pages overlap, and a job counts once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from extractors.oozie.answers import (
    CoordinatorAction,
    JobKind,
    JobSchedule,
    Listed,
    Workflow,
    to_coordinator_action,
    to_listed,
    to_schedule,
    to_workflow,
)
from extractors.rest import BadRequest, NotThere, RestError, RestService, RestUnavailable

JOB, JOBS = "/v2/job", "/v2/jobs"
GMT: Final[Mapping[str, str]] = {"timezone": "GMT"}
"""Asks for times in GMT, because the names of other zones are ambiguous."""
MOST_LISTED: Final = 1_000_000
"""Maximum number of jobs of one list, and of actions of one coordinator, that are read at once."""
BY_CHANGE: Final = "sortby=lastModifiedTime"
RUNNING: Final = "status=RUNNING;status=PREP;status=SUSPENDED"
_GONE: Final = re.compile(r"E060[45]\b")
"""Oozie's errors for a job, or an action, that does not exist."""
_PARTS_OF_A_PAGE: Final = 10
"""Two pages have one of so many parts in common."""


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


_T = TypeVar("_T", bound=_Identified)


@dataclass(frozen=True, slots=True)
class ListPart(Generic[_T]):
    """A part of a list: its entries, their number including those without an id, and the length of the whole list; 0
    if unknown.
    """

    entries: Sequence[_T]
    count: int
    total: int


class Odd(RestError):
    """An answer about a job that is not about that job."""


class OozieServer:
    """Oozie at an address. ``odd`` counts entries of lists without an id, and ``cut`` the lists that were too long."""

    def __init__(self, service: RestService) -> None:
        self._service = service
        self.odd = 0
        self.cut = 0

    @property
    def url(self) -> str:
        return self._service.url

    @property
    def now_ms(self) -> int:
        """The server's time in its last answer (epoch ms); 0 if unknown."""
        return self._service.now_ms

    def place(self, identity: str) -> str:
        """Return the URL of a job."""
        return f"{self.url}{JOB}/{identity}"

    def pages(self, kind: JobKind, chosen: str, page: int) -> Iterator[Sequence[Listed]]:
        """Yield the jobs of a kind, a page at a time, each job once. ``chosen`` is a filter; "" for all jobs, newest
        first. Raises a `RestError`.
        """
        asked: dict[str, str | int] = {"jobtype": kind.value, **({"filter": chosen} if chosen else {}), **GMT}

        def ask(offset: int) -> ListPart[Listed]:
            parameters = {**asked, "offset": offset, "len": page}
            answer = self._service.get(JOBS, kind.listed_as, parameters)
            payloads = self._service.entries_of(answer, JOBS, (kind.listed_as,))
            entries = [each for payload in payloads if (each := to_listed(payload, kind)) is not None]
            self.odd += len(payloads) - len(entries)
            return ListPart(entries, len(payloads), _whole(answer.get("total")))

        yield from self._overlapping(ask, page)

    def workflow(self, identity: str) -> Workflow | None:
        """Return a workflow; None if Oozie does not have it any more. Raises a `RestError`."""
        answer = self._job(identity, JobKind.WORKFLOW.id_field)
        return None if answer is None else self._about(identity, to_workflow(answer))

    def bundle(self, identity: str) -> JobSchedule | None:
        """Return a bundle; None if Oozie does not have it any more. Raises a `RestError`."""
        answer = self._job(identity, JobKind.BUNDLE.id_field)
        return None if answer is None else self._about(identity, to_schedule(answer, JobKind.BUNDLE))

    def coordinator(self, identity: str) -> JobSchedule | None:
        """Return a coordinator; None if Oozie does not have it any more. Raises a `RestError`."""
        answer = self._job(identity, JobKind.COORDINATOR.id_field, {"len": 1})
        return None if answer is None else self._about(identity, to_schedule(answer, JobKind.COORDINATOR))

    def actions(self, coordinator: str, page: int) -> Iterator[Sequence[CoordinatorAction]]:
        """Yield a coordinator's actions, a page at a time, from the highest number down; older servers may list them
        the other way. Raises a `RestError`.
        """

        def ask(offset: int) -> ListPart[CoordinatorAction]:
            # Without a length, Oozie shows no actions.
            parameters: dict[str, str | int] = {"offset": offset, "len": page, "order": "desc"}
            answer = self._job(coordinator, JobKind.COORDINATOR.id_field, parameters)
            listed = (answer or {}).get("actions")
            payloads = listed if isinstance(listed, list) else []
            found = (to_coordinator_action(each) for each in payloads if isinstance(each, Mapping))
            entries = [each for each in found if each is not None and each.id.startswith(f"{coordinator}@")]
            return ListPart(entries, len(payloads), _whole((answer or {}).get("total")))

        yield from self._overlapping(ask, page)

    def coordinator_action(self, identity: str) -> CoordinatorAction | None:
        """Return one action of a coordinator; None if Oozie does not have it any more. Raises a `RestError`."""
        answer = self._job(identity, "id")
        return None if answer is None else self._about(identity, to_coordinator_action(answer))

    def definition(self, identity: str) -> str:
        """Return the text of a job's definition; "" if Oozie does not have the job any more. Raises a `RestError`."""
        try:
            return self._service.text(f"{JOB}/{identity}", {"show": "definition"})
        except RestError as error:
            if _is_gone(error):
                return ""
            raise

    def version(self) -> str:
        """Return the server's version. Raises a `RestError`."""
        answer = self._service.get("/v1/admin/build-version", "buildVersion")
        return str(answer.get("buildVersion", "unknown"))[:100]

    def answers(self) -> bool:
        """Whether the server answers at all."""
        try:
            self._service.get(JOBS, JobKind.WORKFLOW.listed_as, {"jobtype": JobKind.WORKFLOW.value, "len": 1})
        except RestUnavailable:
            return False
        except RestError:
            pass
        return True

    def _overlapping(self, ask: Callable[[int], ListPart[_T]], page: int) -> Iterator[Sequence[_T]]:
        seen: set[str] = set()
        offset, without_new = 1, 0
        while without_new < 2:
            found = ask(offset)
            new = list({each.id: each for each in found.entries if each.id not in seen}.values())
            seen.update(each.id for each in new)
            without_new = 0 if new else without_new + 1
            if new:
                yield new
            if not found.count or (found.total and offset + found.count > found.total):
                return
            if len(seen) >= MOST_LISTED:
                self.cut += 1
                return
            offset += max(1, found.count - page // _PARTS_OF_A_PAGE) if new else found.count

    def _job(
        self, identity: str, key: str, more: Mapping[str, str | int] | None = None
    ) -> Mapping[str, Any] | None:
        try:
            answer = self._service.get(f"{JOB}/{identity}", key, {"show": "info", **GMT, **(more or {})})
        except RestError as error:
            if _is_gone(error):
                return None
            raise
        if answer.get(key) != identity:
            raise Odd(f"{self.place(identity)}: the answer is not about this job")
        return answer

    def _about(self, identity: str, found: _T | None) -> _T:
        if found is None:
            raise Odd(f"{self.place(identity)}: the answer is not about this job")
        return found


def _is_gone(error: RestError) -> bool:
    """Whether a server says that a job does not exist. It answers with HTTP 400, not 404."""
    return isinstance(error, NotThere) or (
        isinstance(error, BadRequest) and _GONE.search(error.words) is not None
    )


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
