"""Collect the jobs of engines' runs, of which some may be listed later than others.

Each job is kept in a position, so that a run gets the records of all its jobs when one more arrives. The jobs of a run
may also be in two splits of one plan. Then the next plan has a split that merges them.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from extractors.yarn.applications import Seen
from extractors.yarn.configuration import properties_of
from extractors.yarn.engines import EngineJob, YarnReading
from extractors.yarn.readers import ENGINES, engine_of
from extractors.yarn.records import as_seen
from navlin.model.records import Position, Record, Split
from navlin.model.shares import shares

JOB: Final = "job "
"""Prefix of the key of a position for a job of an engine. The application's id follows."""
KEPT_MS: Final = 7 * 86_400_000
"""Time for which a run's jobs are kept after the end of its last one."""
MAX_KEPT_BYTES, MAX_KEPT_BYTES_OF_USER = 16 << 20, 4 << 20
"""Maximum size of the jobs that are kept, in total and per user. The runs that ended first are forgotten first. A job
takes some 1.5 kB.
"""
RunKey = tuple[str, str, str]
"""(engine, user, the engine's name of the run)"""


@dataclass(frozen=True, slots=True)
class KeptJob:
    """A job of an engine, and the split whose records contain the job (``merged_in``). ``packed`` is the compressed
    `EngineJob`, because a plan carries all kept jobs of a user.
    """

    engine: str
    user: str
    run: str
    application: str
    ended_ms: int
    merged_in: str
    packed: str

    @classmethod
    def of_job(cls, engine: str, job: EngineJob, merged_in: str = "") -> KeptJob:
        ended_ms = max(job.ended_ms, job.as_of_ms)
        # Names may have bytes that are not UTF-8, which orjson refuses.
        packed = base64.b64encode(zlib.compress(json.dumps(asdict(job)).encode())).decode()
        return cls(engine, job.user, job.run, job.application, ended_ms, merged_in, packed)

    @property
    def key(self) -> str:
        return f"{JOB}{self.application}"

    @property
    def run_key(self) -> RunKey:
        """The run. A job of another user belongs to another run, whatever its configuration names."""
        return (self.engine, self.user, self.run)

    @property
    def size_bytes(self) -> int:
        return len(self.packed) + len(self.run) + len(self.user) + 200

    @property
    def job(self) -> EngineJob:
        return EngineJob(**json.loads(zlib.decompress(base64.b64decode(self.packed))))

    def position(self) -> Position:
        return Position(self.key, asdict(self))

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> KeptJob:
        """Return a job restored from the value of its `position`."""
        return cls(**value)


@dataclass(frozen=True, slots=True)
class MergingSplit(Split):
    """Kept jobs of runs whose jobs were read in several splits."""

    kept: tuple[KeptJob, ...]

    @property
    def name(self) -> str:
        return f"{self.kept[0].application} and the other jobs of its run"


@dataclass(frozen=True, slots=True)
class KeptRuns:
    """The jobs that are kept, as far as there is room for them. ``forgotten`` are keys of the positions of others."""

    jobs: tuple[KeptJob, ...] = ()
    forgotten: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Any], now_ms: int) -> KeptRuns:
        """Return the jobs in the saved positions, without those of runs that ended too long before ``now_ms``."""
        runs = _by_run(KeptJob.of(value) for key, value in values.items() if key.startswith(JOB))
        sizes_bytes = {run: sum(each.size_bytes for each in jobs) for run, jobs in runs.items()}
        of_users: Counter[str] = Counter()
        for (_, user, _), size_bytes in sizes_bytes.items():
            of_users[user] += size_bytes
        left_bytes = shares(of_users, of_one=MAX_KEPT_BYTES_OF_USER, in_all=MAX_KEPT_BYTES)
        found: list[KeptJob] = []
        forgotten: list[str] = []
        for run in sorted(runs, key=lambda run: (-_ended_ms(runs[run]), run)):
            _, user, _ = run
            if sizes_bytes[run] <= left_bytes[user] and _ended_ms(runs[run]) > now_ms - KEPT_MS:
                left_bytes[user] -= sizes_bytes[run]
                found += runs[run]
            else:
                forgotten += [each.key for each in runs[run]]
        return cls(tuple(found), tuple(sorted(forgotten)))

    def of_users(self, users: Collection[str]) -> tuple[KeptJob, ...]:
        return tuple(each for each in self.jobs if each.user in users)

    def to_merge(self) -> Iterator[MergingSplit]:
        """Yield a split for each run whose jobs were read in several splits."""
        for jobs in _by_run(self.jobs).values():
            if len({each.merged_in for each in jobs}) > 1:
                yield MergingSplit(tuple(jobs))


def _by_run(jobs: Iterable[KeptJob]) -> dict[RunKey, list[KeptJob]]:
    runs: dict[RunKey, list[KeptJob]] = {}
    for each in jobs:
        runs.setdefault(each.run_key, []).append(each)
    return runs


def _ended_ms(jobs: Iterable[KeptJob]) -> int:
    return max(each.ended_ms for each in jobs)


class JobsOfEngines:
    """The jobs of one split that engines submitted, together with those of the same runs that are ``kept``."""

    def __init__(self, kept: Iterable[KeptJob] = ()) -> None:
        self._kept = {each.key: each for each in kept}
        self._taken: dict[str, KeptJob] = {}

    def take(self, seen: Seen, answer: Any) -> bool:
        """Take a job with the response to a request for its configuration. Return whether an engine submitted it."""
        properties = properties_of(answer, _is_read)
        engine = engine_of(properties)
        if engine is None:
            return False
        run, told = engine.run_of(properties), engine.told(properties)
        taken = KeptJob.of_job(engine.type, as_seen(seen, run, told))
        self._taken[taken.key] = taken
        return True

    def records(self, reading: YarnReading, merged_in: str) -> Iterator[Record]:
        """Yield the records of all runs with a job in the split, and the positions that keep the jobs."""
        runs = {each.run_key for each in self._taken.values()}
        known = {key: each for key, each in self._kept.items() if each.run_key in runs} | self._taken
        yield from _records(reading, known.values(), merged_in)


def merged(reading: YarnReading, split: MergingSplit) -> Iterator[Record]:
    """Yield the records of the runs in a split."""
    yield from _records(reading, split.kept, split.name)


def _records(reading: YarnReading, kept: Iterable[KeptJob], merged_in: str) -> Iterator[Record]:
    jobs = sorted(kept, key=lambda each: each.application)
    for engine in ENGINES:
        of_engine = [each.job for each in jobs if each.engine == engine.type]
        if of_engine:
            yield from engine.records(reading, of_engine)
    for each in jobs:
        yield replace(each, merged_in=merged_in).position()


def _is_read(name: str) -> bool:
    return any(engine.reads(name) for engine in ENGINES)
