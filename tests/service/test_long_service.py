"""A long-running daemon needs no more memory, threads, descriptors and files than at its start."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from tests.support.served_daemon import Served, served

CYCLES_A_ROUND = 50
SAMPLED_EVERY = 5
ROTATED_EVERY, ROTATED_KEPT = 7, 5
MIB = 1 << 20
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Figures:
    memory_mib: float = 0.0
    threads: int = 0
    descriptors: int = 0
    files: int = 0

    def __str__(self) -> str:
        if self.files:
            return f"{self.files} files"
        return f"{self.memory_mib:.0f} MiB, {self.threads} threads, {self.descriptors} descriptors"


MORE: dict[str, Figures] = {
    "navlin": Figures(16, 2, 8),
    # Options limit a JVM's resources, but the JVM reaches these limits only gradually.
    "Solr": Figures(120, 12, 60),
    "Spark": Figures(200, 12, 40),
    "Python workers": Figures(120, 4, 40),
    "state directory": Figures(files=150),
}
"""Kind → allowed increase from the second quarter of the cycles to the last quarter. The middles of these quarters are
half of all cycles apart. In a run of a thousand cycles, a leak of one thread per hundred cycles exceeds the limit.
"""


def kind_of(pid: int, navlin: int) -> str:
    words = Path(f"/proc/{pid}/cmdline").read_bytes()
    if pid == navlin:
        return "navlin"
    if b"java" in words.split(b"\0")[0]:
        return "Spark" if b"SparkSubmit" in words else "Solr"
    return "Python workers" if b"worker_daemon" in words else "other children"


def figures_of(daemon: Served) -> dict[str, Figures]:
    """Kind of process → resources, including the files in the state directory and in Spark's scratch directory."""
    found: dict[str, Figures] = {}
    for pid in (daemon.process.pid, *daemon.children()):
        try:
            kind = kind_of(pid, daemon.process.pid)
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
            threads, descriptors = (len(os.listdir(f"/proc/{pid}/{each}")) for each in ("task", "fd"))
        except OSError:  # it has ended meanwhile
            continue
        so_far = found.get(kind, Figures())
        found[kind] = Figures(
            so_far.memory_mib + pages * PAGE_BYTES / MIB,
            so_far.threads + threads,
            so_far.descriptors + descriptors,
        )
    count = sum(len(files) for _, _, files in os.walk(daemon.state))
    return {**found, "state directory": Figures(files=count)}


def middle_of(samples: list[dict[str, Figures]], kind: str) -> Figures:
    """The medians of all samples, because single samples may be high or low by chance."""
    of_kind = [each.get(kind, Figures()) for each in samples]
    return Figures(
        median(each.memory_mib for each in of_kind),
        int(median(each.threads for each in of_kind)),
        int(median(each.descriptors for each in of_kind)),
        int(median(each.files for each in of_kind)),
    )


def grown(before: Figures, after: Figures, more: Figures) -> Iterator[str]:
    for name in Figures.__slots__:
        was, now, allowed = (getattr(each, name) for each in (before, after, more))
        if now > was + allowed:
            yield f"{name} {was:.0f} → {now:.0f}, and {allowed:.0f} more are allowed"


def test_a_figure_that_grows_beyond_its_bound_is_named() -> None:
    before, more = Figures(100, 10, 20), Figures(16, 2, 8)
    assert list(grown(before, Figures(116, 12, 28), more)) == []
    assert [each.split()[0] for each in grown(before, Figures(117, 13, 29), more)] == [
        "memory_mib",
        "threads",
        "descriptors",
    ]


@pytest.mark.soak
def test_a_thousand_cycles_leave_memory_threads_descriptors_and_files_constant(
    tmp_path: Path, solr_jars: Path, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each cycle writes a record, sometimes to a new file, and waits until it has been read and found. Meanwhile,
    another source fails every second.
    """
    option = pytestconfig.option
    cycles = CYCLES_A_ROUND * max(1, option.rounds - option.first + 1)
    daemon = served(tmp_path, solr_jars)
    samples: list[dict[str, Figures]] = []
    log = tmp_path / "impala" / "impala_lineage_log_1.0-1700000000000"
    try:
        for cycle in range(cycles):
            if cycle % ROTATED_EVERY == 0 and log.exists():
                log.rename(log.with_name(f"impala_lineage_log_1.0-{cycle:06d}"))
                # Delete the oldest files, as logrotate does, because the daemon keeps every existing file open, up to
                # 64 per source.
                for old in sorted(log.parent.glob("*-0?????"))[:-ROTATED_KEPT]:
                    old.unlink()
            daemon.append(f"long.t{cycle % 100}")
            daemon.until(
                lambda wanted=cycle + 1: daemon.find("type:OPERATION_EXECUTION") >= wanted,  # type: ignore[misc]
                f"the record of cycle {cycle}",
            )
            if cycle % SAMPLED_EVERY == 0:
                samples.append(figures_of(daemon))
    finally:
        daemon.end()
    quarter = len(samples) // 4
    begun, ended = samples[quarter : 2 * quarter], samples[-quarter:]
    with capsys.disabled():
        sys.stdout.write(f"\n{cycles} cycles: at their start, in the middle, at the end\n")
        for kind in sorted(samples[-1]):
            three = (samples[0], samples[len(samples) // 2], samples[-1])
            sys.stdout.write(f"  {kind}: {'; '.join(str(each.get(kind, '-')) for each in three)}\n")
    assert set(samples[-1]) <= {*MORE, "other children"}
    beyond = [
        f"{kind}: {each}"
        for kind, more in MORE.items()
        for each in grown(middle_of(begun, kind), middle_of(ended, kind), more)
    ]
    assert beyond == []
