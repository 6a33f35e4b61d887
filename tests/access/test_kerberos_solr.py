"""An external Solr that requires Kerberos tickets: a real Solr 8 with its Kerberos plugin, and a real KDC."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from navlin.cli.invocation import Exit
from navlin.export.connection import NotAllowed, ServerAddress, ServerConnection
from navlin.index.admin import cores
from navlin.index.admin.cores import CORES
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr, SolrError, SolrUnavailable
from navlin.kerberos.client import Login
from navlin.shipped import CONF
from tests.cli.test_cli import json_of, run
from tests.services.certificates import certificate
from tests.services.kerberized_solr import KerberizedSolr
from tests.services.kerberos import REALM, Kdc
from tests.support.solr_proxy import SolrProxy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.services
NAVLIN = f"navlin@{REALM}"
TOKENS = {"solr.kerberos.cookie.domain": "", "solr.kerberos.token.valid": "1"}
"""Solr settings for cookies that clients also send to ``localhost`` and that are valid for one second."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, solr_8_jars: Path, kdc: Kdc) -> Iterator[KerberizedSolr]:
    with KerberizedSolr(tmp_path_factory.mktemp("solr-8"), solr_8_jars, kdc) as running:
        yield running


@pytest.fixture
def login(kdc: Kdc) -> Login:
    return kdc.login("navlin", kdc.keytab("navlin.keytab", "navlin"))


@pytest.fixture
def ticketed(server: KerberizedSolr, login: Login) -> Iterator[Solr]:
    """A client that logs in to `server` with a keytab, after creating navlin's cores there."""
    with Solr(server.address(login)) as solr:
        cores.create(solr, CONF / "solr")
        yield solr


def test_spark_workers_write_to_a_kerberized_solr(
    ticketed: Solr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    from tests.support.pipeline_estate import SmallEstate

    estate = SmallEstate(ticketed, spark, tmp_path)
    estate.tables({f"db.t{number}": ["id", "name"] for number in range(30)})

    record = estate.pull()

    assert (record.status, record.error) == (Status.FINISHED, "")
    assert len(estate.live("TABLE")) == 30
    assert len(estate.live("FIELD")) == 60


def test_the_commands_use_the_kerberos_settings(ticketed: Solr, login: Login, tmp_path: Path) -> None:
    file = configuration(tmp_path, ticketed, login)

    assert run(file, "index", "create").exit_code == Exit.OK
    finding = solr_finding(file)
    assert (finding["fine"], finding["text"]) == (True, f"{ticketed.address.url}, a single server")
    assert run(file, "status").exit_code == Exit.OK


def test_a_large_request_is_sent_once(ticketed: Solr, server: KerberizedSolr, login: Login) -> None:
    sent: list[int] = []
    with Solr(server.address(login)) as solr:
        solr.session.hooks["response"].append(lambda answer, **_: sent.append(answer.status_code))
        solr.add(RELATIONS, [{"identity": f"r{number}", "rule": "x" * 1_000} for number in range(1_000)])

    assert sent == [200]


def test_an_export_reaches_a_kerberized_server_and_fails_without_a_ticket(
    ticketed: Solr, login: Login
) -> None:
    """Any server that accepts JSON will do, so this Solr is the target of the export."""
    what: dict[str, Any] = {"params": {"commit": "true"}, "headers": {"Content-Type": "application/json"}}
    path, body = f"/{RELATIONS}/update", b'[{"identity": "exported"}]'
    with closing(ServerConnection(ServerAddress(ticketed.address.url, login=login))) as connection:
        assert connection.send("POST", path, body, **what).status_code == 200
    assert ticketed.count(RELATIONS, "identity:exported") == 1

    with (
        closing(ServerConnection(ServerAddress(ticketed.address.url))) as nobody,
        pytest.raises(NotAllowed, match="HTTP 401"),
    ):
        nobody.send("POST", path, body, **what)


def test_kerberos_works_over_tls(
    ticketed: Solr, server: KerberizedSolr, login: Login, tmp_path: Path
) -> None:
    made = certificate(tmp_path, "dns:localhost")
    with SolrProxy(server.address(login), certificate=made.certificate, key=made.key) as proxy:
        url = proxy.address.url.replace("127.0.0.1", "localhost")
        with Solr(replace(proxy.address, url=url, ca_file=str(made.certificate))) as solr:
            assert solr.add(RELATIONS, [{"identity": "enciphered"}]).applied.keys() == {"enciphered"}


def test_a_kerberized_solr_is_backed_up_and_restored(
    ticketed: Solr, server: KerberizedSolr, login: Login, tmp_path: Path
) -> None:
    location = server.home / "backups"
    location.mkdir()
    file = configuration(tmp_path, ticketed, login)
    ticketed.add(RELATIONS, [{"identity": "kept"}])

    assert run(file, "backup", str(location / "monday")).exit_code == Exit.OK
    ticketed.delete_ids(RELATIONS, ["kept"])
    assert run(file, "restore", str(location / "monday"), "--overwrite").exit_code == Exit.OK
    assert ticketed.get(RELATIONS, ["kept"], "identity") == [{"identity": "kept"}]


def test_runs_and_queries_reach_both_nodes_of_a_kerberized_solrcloud(
    kdc: Kdc, login: Login, solr_8_jars: Path, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    from tests.support.pipeline_estate import SmallEstate

    with (
        KerberizedSolr(tmp_path / "one", solr_8_jars, kdc, cloud=True) as one,
        KerberizedSolr(tmp_path / "two", solr_8_jars, kdc, beside=one) as two,
        Solr(one.address(login)) as solr,
    ):
        assert cores.create(solr, CONF / "solr", shards=2) == cores.CORES
        nodes = {urlsplit(shard).netloc for shard in solr.shards(ELEMENTS)}
        assert nodes == {urlsplit(each.address(login).url).netloc for each in (one, two)}
        estate = SmallEstate(solr, spark, tmp_path)
        estate.tables({f"db.t{number}": ["id", "name"] for number in range(30)})

        assert estate.pull().status == Status.FINISHED

        assert (len(estate.live("TABLE")), len(estate.live("FIELD"))) == (30, 60)
        exported = {each["identity"] for each in solr.export(ELEMENTS, "type:TABLE", "identity")}
        assert len(exported) == 30, "each shard is asked at its own node"
        with Solr(two.address(None)) as nobody, pytest.raises(SolrError, match="requires Kerberos"):
            nobody.count(ELEMENTS)


def test_an_expired_cookie_is_replaced(kdc: Kdc, login: Login, solr_8_jars: Path, tmp_path: Path) -> None:
    with (
        KerberizedSolr(tmp_path, solr_8_jars, kdc, properties=TOKENS) as server,
        Solr(server.address(login)) as solr,
    ):
        solr.admin("info/system", {})
        first = solr.session.cookies["hadoop.auth"]
        time.sleep(1.5)
        solr.admin("info/system", {})

        assert solr.session.cookies["hadoop.auth"] != first


def test_a_ticket_expiring_during_a_run_is_replaced(
    kdc_jars: Path, solr_8_jars: Path, tmp_path: Path
) -> None:
    life_s = 5
    with (
        Kdc(tmp_path / "kdc", kdc_jars, life_s=life_s) as kdc,
        KerberizedSolr(tmp_path / "solr", solr_8_jars, kdc) as server,
        Solr(server.address(kdc.login("navlin", kdc.keytab("navlin.keytab", "navlin")))) as solr,
    ):
        cores.create(solr, CONF / "solr")
        for number in range(3):
            assert solr.add(ELEMENTS, [{"identity": f"e{number}", "type": "TABLE"}]).applied
            time.sleep(life_s * 0.6)
        solr.commit(ELEMENTS, soft=True)

        assert solr.count(ELEMENTS) == 3


@pytest.fixture
def still_running() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def test_a_kerberos_error_is_reported(
    ticketed: Solr, login: Login, kdc: Kdc, kdc_jars: Path, tmp_path: Path, still_running: ExitStack
) -> None:
    other = still_running.enter_context(Kdc(tmp_path / "other", kdc_jars))
    stopped = Kdc(tmp_path / "stopped", kdc_jars)
    with stopped:
        of_a_kdc_that_is_down = stopped.login("navlin", stopped.keytab("n.keytab", "navlin"))
    wrong = {
        "is not the one that the KDC has": replace(
            login, keytab=str(other.keytab("navlin.keytab", "navlin"))
        ),
        f"has no key of {NAVLIN}": replace(login, keytab=str(kdc.keytab("else.keytab", "somebody"))),
        "there is no keytab /absent": replace(login, keytab="/absent"),
        "there is no ticket for": replace(login, keytab=""),
        "no KDC answers": of_a_kdc_that_is_down,
    }
    if shutil.which("cc"):
        moved = still_running.enter_context(Kdc(tmp_path / "moved", kdc_jars, ahead_s=600))
        wrong["differ by more than five minutes"] = moved.login("navlin", moved.keytab("m.keytab", "navlin"))
    for words, each in wrong.items():
        file = configuration(tmp_path, ticketed, each)
        finding = solr_finding(file)
        assert (finding["fine"], words in finding["text"]) == (False, True), (words, finding)
        shown = run(file, "status")
        assert shown.exit_code != Exit.OK
        assert words in " ".join(shown.stderr.split()), (words, shown.stderr)
        with Solr(replace(ticketed.address, login=each)) as solr, pytest.raises(SolrUnavailable, match=words):
            solr.ping(CORES[0])

    without = configuration(tmp_path, ticketed, None)
    assert 'requires Kerberos: set auth = "kerberos"' in solr_finding(without)["text"]


def test_clock_skew_of_solr_is_reported(kdc: Kdc, login: Login, solr_8_jars: Path, tmp_path: Path) -> None:
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler, which makes the library that moves a clock")
    with (
        KerberizedSolr(tmp_path, solr_8_jars, kdc, ahead_s=600) as server,
        Solr(server.address(login)) as solr,
        pytest.raises(SolrError, match="the clocks of this machine and of Solr at localhost differ"),
    ):
        solr.admin("info/system", {})


def configuration(folder: Path, solr: Solr, login: Login | None) -> Path:
    file = folder / "navlin.toml"
    text = f'[navlin]\ncluster = "kept"\nstate_directory = "state"\n[solr]\nurl = "{solr.address.url}"\n'
    if login is not None:
        text += 'auth = "kerberos"\n' + "".join(
            f'{name} = "{value}"\n'
            for name in ("principal", "keytab", "krb5_conf")
            if (value := getattr(login, name))
        )
    file.write_text(text)
    return file


def solr_finding(file: Path) -> dict[str, Any]:
    findings: list[dict[str, Any]] = json_of(run(file, "check", "--json"))
    return next(each for each in findings if each["subject"] == "solr")
