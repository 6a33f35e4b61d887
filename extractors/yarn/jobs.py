"""Read the configurations of MapReduce jobs. A missing or unreadable configuration affects only its own job."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from extractors.rest import NotThere, RestError, RestService, RestUnavailable
from extractors.yarn.applications import Seen
from extractors.yarn.configuration import to_configuration
from extractors.yarn.engine_runs import JobsOfEngines
from extractors.yarn.plan import JOBS, UnreadConfiguration
from extractors.yarn.records import ApplicationRecords
from extractors.yarn.splits import SeenSplit
from navlin.model.records import Position, Record, Reject

NO_HISTORY: Final = "the JobHistoryServer has no history of its job"
GONE: Final = "the JobHistoryServer does not have its job's configuration any more"
UNREADABLE: Final = "its job's configuration could not be read, or never arrived"
SLOW_ONES: Final = 3
"""Number of consecutive requests without a response after which the rest of a split is postponed, because each has
cost a whole timeout.
"""
MAX_TRIES: Final = 8
"""Number of attempts, spread over most of a day, after which a job is reported without inputs and outputs."""


def read_jobs(history: RestService, applications: ApplicationRecords, split: SeenSplit) -> Iterator[Record]:
    """Yield the records of a split's jobs, each with its configuration. Raises `RestUnavailable` if the
    JobHistoryServer does not respond at all, so that the whole split is read again later.
    """
    of_engines = JobsOfEngines(split.kept)
    slow = 0
    for place, seen in enumerate(split.seen):
        if slow >= SLOW_ONES:
            yield from _put_off(history, applications, split, split.seen[place:])
            break
        try:
            answer = _asked(history, seen)
        except RestUnavailable as error:
            if not _answers(history):
                raise
            slow += 1
            yield from _unread(history, applications, seen, split, error)
        else:
            slow = 0
            yield from _with(history, applications, seen, answer, of_engines)
            if split.unread:
                yield Position(UnreadConfiguration.key(seen), None)
    yield from of_engines.records(applications.reading, split.name)


def _asked(history: RestService, seen: Seen) -> Any:
    """Return the response with a job's configuration, None if the configuration no longer exists, or an error if it
    cannot be read. Raises `RestUnavailable`.
    """
    assert seen.job is not None
    path = f"{JOBS}/{seen.job.id}/conf"
    try:
        properties = history.entries(path, ("conf", "property"))
    except NotThere:
        return None
    except RestUnavailable:
        raise
    except RestError as error:
        # This user may not view the configuration, or its files are broken.
        return error
    if not properties:
        return RestError(f"{history.url}{path}: the answer has no property")
    return {"conf": {"property": properties}}


def _with(
    history: RestService,
    applications: ApplicationRecords,
    seen: Seen,
    answer: Any,
    of_engines: JobsOfEngines | None = None,
) -> Iterator[Record]:
    if isinstance(answer, RestError):
        yield _reject(history, seen, answer)
        yield from applications.of(seen, missing=UNREADABLE)
    elif answer is None:
        yield from applications.of(seen, missing=GONE)
    else:
        configuration = to_configuration(answer)
        if of_engines is not None and of_engines.take(seen, answer):
            configuration = configuration.without_ends
        yield from applications.of(seen, configuration)


def _answers(history: RestService) -> bool:
    """Whether the JobHistoryServer responds at all."""
    try:
        history.get(JOBS, "jobs", {"limit": 1})
    except RestUnavailable:
        return False
    except RestError:
        pass
    return True


def _unread(
    history: RestService, applications: ApplicationRecords, seen: Seen, split: SeenSplit, error: RestError
) -> Iterator[Record]:
    """Postpone a job, so that its configuration is requested again. After enough attempts, yield the job without a
    configuration.
    """
    if split.tries + 1 < MAX_TRIES and seen.id in split.may_wait:
        yield _reject(history, seen, error, "; it will be requested again")
        yield UnreadConfiguration(seen, split.tries + 1, split.now_ms).position()
        return
    yield from _with(history, applications, seen, error)
    yield Position(UnreadConfiguration.key(seen), None)


def _put_off(
    history: RestService, applications: ApplicationRecords, split: SeenSplit, rest: Sequence[Seen]
) -> Iterator[Record]:
    waiting = [seen for seen in rest if seen.id in split.may_wait]
    others = [seen for seen in rest if seen.id not in split.may_wait]
    for some, what in (
        (waiting, "are postponed"),
        (others, "are given up, because too many are still to be retried"),
    ):
        if some:
            yield Reject(
                history.url,
                f"the configurations of {len(some)} jobs {what}: those of {SLOW_ONES} in a row did not arrive",
                sample=f"{some[0].id} and {len(some) - 1} more",
                count=len(some),
            )
    for seen in waiting:
        yield UnreadConfiguration(seen, 0, split.now_ms).position()
    for seen in others:
        yield from applications.of(seen, missing=UNREADABLE)


def _reject(history: RestService, seen: Seen, error: RestError, more: str = "") -> Reject:
    job = seen.job.id if seen.job else seen.id
    return Reject(history.url, f"the configuration of a job: {error}{more}", sample=job)
