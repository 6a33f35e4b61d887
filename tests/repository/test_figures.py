"""Every measured figure in README, CHANGELOG and the manual is printed by a benchmark."""

from __future__ import annotations

import re
import sys

import pytest

from bench.__main__ import benches, main
from bench.figures import FIGURES
from tests.support.manual import documents

TEXTS = {name: " ".join(text.split()) for name, text in documents().items()}
MEASURE = re.compile(
    r"\b(\d[\d.,]*|one|two|five|ten|forty|a)[ -]"
    r"(ms|s|seconds?|minutes?|hours?|MB|GB|MiB|GiB|gigabyte|inodes/s|documents/s|times|%)(?![\w/])"
)
"""A number with a unit of measurement."""
SET_NOT_MEASURED = {
    "ten minutes after its last run ended": "an interval",
    "more than ten seconds or a gigabyte": "bounds of a child process",
    "until a minute after its last line": "for how long a descriptor is kept",
    "more than 256 MiB and to more than 1,000 times its size": "bounds of an event log",
    "if one reading takes a minute": "a bound as well",
    "are more than ten minutes apart": "how far clocks may differ",
    "watches the lease for two minutes": "the length of a lease",
    "did not answer it, for two minutes": "the same",
    "does not answer within a minute": "a bound of a search",
    "differs by more than five minutes": "what a KDC takes",
    "may wait two minutes for leases": "the same",
    "in the state directory: 90 MB at most": "bounds of logs",
    "cut after 15 seconds or 64 MB": "when Solr commits by itself",
    "a dead one loses the lease in two minutes": "the length of a lease",
    "the page looks for five seconds": "a bound of the page",
    "| 0.6 to 0.8 GB | 2 GB and the 512 MB that must stay free |": "computed from what 1 million takes",
    "| 2 to 2.8 GB | 6 GB |": "likewise",
    "| 9.4 to 13.8 GB | 28 GB |": "likewise",
    "index of 10 to 14 GB": "likewise",
    "Below `least_free` (512 MB)": "the default of a setting",
    "linked within five seconds, mostly": "measured, and the next row has the whole of it",
    "looked at every five seconds": "an interval",
    "at least 2 GiB of room": "what `navlin check` wants",
    "with at most 32 MiB unpacked": "a bound of a body",
    "sees changes within a second or so (inotify), else every five seconds": "an interval",
    "a heartbeat every five minutes": "an interval",
    "A host may keep 20 GiB and 20,000 files here": "a bound of a host",
    "A run reads some 8,000 events or 64 MiB of what has arrived": "bounds of a run",
    "(at most 16 MiB as sent, 32 MiB unpacked)": "bounds of a body",
    "Each host has 1 GiB for lines that are not read yet, each source 8 GiB": "bounds of lines",
    "Vector drops the line at 100 KiB": "limits of shippers",
    "A body has at most 64 KiB, an edit 2 MiB, a query 4 MiB, what Cloudera's SDK writes 8 MiB, events 16 MiB": "bounds",
    "a snapshot of at most 15 seconds with its age": "how old what `/metrics` answers may be",
    "a walk ends after 30 s": "the default of `--max-seconds`",
    "a walk of more than 30 seconds": "the same",
    "The walk ends after 30 seconds": "the same",
    "in some 192 MiB at most": "the bound of what a process remembers of the graph",
    "at least 4 GiB of memory, and 90 seconds to stop": "the manifest's request, and the unit's setting",
    "all of navlin's processes take 4 GB": "the sum of the heaps and of what stands beside them",
}
"""Figures that are defined in the code instead of measured: quoted text → meaning."""


def covered(text: str, at: int) -> bool:
    quotes = (*FIGURES, *SET_NOT_MEASURED)
    return any(
        found.start() <= at < found.end() for quote in quotes for found in re.finditer(re.escape(quote), text)
    )


@pytest.mark.parametrize("name", TEXTS)
def test_every_figure_in_the_documents_has_a_bench(name: str) -> None:
    text = TEXTS[name]
    without = [
        text[max(0, found.start() - 60) : found.end() + 20]
        for found in MEASURE.finditer(text)
        if not covered(text, found.start())
    ]
    assert without == []


def test_every_quoted_figure_is_in_the_documents() -> None:
    stated = "\n".join(TEXTS.values())
    assert [quote for quote in (*FIGURES, *SET_NOT_MEASURED) if quote not in stated] == []


@pytest.mark.parametrize("bench", sorted({*FIGURES.values(), *benches()}))
def test_every_bench_has_a_help_and_the_named_options(
    bench: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = bench.split()
    assert name in benches()
    monkeypatch.setattr(sys, "argv", ["bench", name, "--help"])
    with pytest.raises(SystemExit, match=r"^0$"):
        main()
    helped = capsys.readouterr().out
    assert [option for option in options if option.startswith("--") and option not in helped] == []
