"""A scanner calls every endpoint of navlin's own API, with input that matches the API description and with other
input.

The scanner is Schemathesis in its own environment (`make scan`). It reports server errors, responses that do not
match the description, and invalid input that is accepted.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from navlin.api.own import ROOT as API
from navlin.index.solr.solr import Solr
from tests.support.indexed_estate import World
from tests.support.web import PASSWORD, running_web

SCANNER = Path(__file__).parents[2] / ".scan" / "bin" / "schemathesis"
SEED = 20_261_123
EXAMPLES = 20
SETTINGS = """\
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 503]
"""
"""503 is allowed, because requests that need `navlin serve` return it if `navlin serve` is not running."""
LONGEST_S = 900.0
NOT_ASKED = {
    "positive_data_acceptance": "queries, dates and names have grammars that a schema cannot express",
    "ignored_auth": "wrong passwords lock out, with 429; `test_api` asks every endpoint with none and with a wrong one",
}
"""Checks of the scanner that do not apply here → the reason."""

pytestmark = pytest.mark.skipif(not SCANNER.exists(), reason="there is no scanner: make scan")


@pytest.mark.parametrize(
    "user",
    [pytest.param("viewer", marks=pytest.mark.soak), pytest.param("chief", marks=pytest.mark.services)],
)
def test_the_scanner_finds_no_error(private_solr: Solr, tmp_path: Path, user: str) -> None:
    world = World(private_solr, "scanned")
    world.put(
        world.hive, world.entity(world.table("shop.orders")), world.entity(world.column("shop.orders.id"))
    )
    with running_web(private_solr.address, tmp_path) as web:
        (tmp_path / "schemathesis.toml").write_text(SETTINGS)
        command = [
            str(SCANNER),
            "run",
            f"{web.url}{API}/openapi.json",
            "--url",
            web.url.removesuffix("/navlin"),
            "--auth",
            f"{user}:{PASSWORD}",
            "--header",
            # A client that only accepts JSON gets JSON.
            "Accept: application/json",
            "--seed",
            str(SEED),
            "--max-examples",
            str(EXAMPLES),
            "--generation-database",
            "none",
            "--no-color",
            "--warnings",
            "off",
            "--exclude-checks",
            ",".join(NOT_ASKED),
        ]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-8_000:] + done.stderr[-2_000:]
        assert [line for line in web.log if line["event"] == "request failed"] == []
