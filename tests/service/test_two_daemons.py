"""Two whole daemons with the same sources, each with a state directory of its own, on one external Solr."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from tests.cli.test_cli import configuration, run
from tests.support.served_daemon import Served, ready, record

SOURCE = """
[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = "{directory}"
"""
MOST_LINES = 60


@pytest.mark.services
def test_two_daemons_read_each_line_once_and_either_goes_on_without_the_other(
    private_solr: Solr, tmp_path: Path
) -> None:
    directory = tmp_path / "impala"
    directory.mkdir()
    log, numbers = directory / "impala_lineage_log_1.0-1700000000000", iter(range(1, MOST_LINES))

    def home(name: str) -> Path:
        made = tmp_path / name
        made.mkdir()
        configuration(private_solr, made, SOURCE.format(directory=directory))
        return made

    def found(kind: str) -> int:
        return private_solr.count(ELEMENTS, f"+type:{kind} +deleted:false")

    def add(served: Served) -> int:
        """Append a line, wait until it is found, and return its number."""
        number = next(numbers)
        with log.open("a") as file:
            file.write(record(number, f"two.t{number}"))
        served.until(lambda: private_solr.count(ELEMENTS, f"originalName:t{number}"), f"line {number}")
        return number

    def finished(served: Served) -> Callable[[], bool]:
        return lambda: any(line.get("event") == "run finished" for line in served.log)

    homes = home("one"), home("other")
    one, other = (ready(Served(each)) for each in homes)
    again = None
    try:
        last = add(one)
        while not (finished(one)() and finished(other)()):
            last = add(one)
        assert found("OPERATION_EXECUTION") == found("OPERATION") == last

        one.process.kill()
        one.process.wait()
        last = add(other)
        again = ready(Served(homes[0]))
        other.process.send_signal(signal.SIGTERM)
        assert other.process.wait(120) == 0
        last = add(again)
        assert found("OPERATION_EXECUTION") == found("OPERATION") == last
        assert found("SOURCE +sourceType:IMPALA") == 1
        for each in (one, other, again):
            assert not any("Traceback" in str(line) or line.get("event") == "run failed" for line in each.log)
        asked = run(homes[0] / "navlin.toml", "status")
        assert asked.exit_code == 0, asked.output
        again.process.send_signal(signal.SIGTERM)
        assert again.process.wait(120) == 0
    finally:
        for each in filter(None, (one, other, again)):
            each.end()
