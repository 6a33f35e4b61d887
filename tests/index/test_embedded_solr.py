"""The embedded Solr as a process: its owner, authentication, and the state after Solr or navlin is killed."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import requests

from navlin.index.admin.cores import CONFIGSET, CORES
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr, SolrAddress, SolrError, SolrUnavailable
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, EmbeddedSolrOptions, NoSolr, running_solr
from tests.services.solr_archive import make_archive


@pytest.fixture
def own_server(tmp_path: Path, solr_jars: Path) -> EmbeddedSolr:
    """A server used by one test only, not yet started."""
    return EmbeddedSolr(
        tmp_path, solr_jars, CONF / "solr", cores=CORES, cache=solr_jars.parent / "solr-launcher"
    )


def within(limit_s: float, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + limit_s
    while not (true := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return true


def ended(pid: int) -> bool:
    """Whether an orphaned process has ended, even if it is still a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def kill(server: EmbeddedSolr) -> None:
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    assert within(120, lambda: not server.alive)


def test_a_second_navlin_on_one_state_directory_is_refused_with_the_reason(
    solr_server: EmbeddedSolr, solr_jars: Path
) -> None:
    second = EmbeddedSolr(
        solr_server.home.parent,
        solr_jars,
        CONF / "solr",
        cores=CORES,
        cache=solr_jars.parent / "solr-launcher",
    )
    with pytest.raises(NoSolr, match=f"another navlin already runs Solr on {solr_server.home}"):
        second.start()
    assert not second.alive
    with Solr(solr_server.address) as solr:
        solr.ping(ELEMENTS)


def test_killing_navlin_leaves_no_java_process(tmp_path: Path, solr_jars: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from navlin.index.admin.cores import CONFIGSET, CORES\n"
        "from navlin.solr_server.embedded import EmbeddedSolr\n"
        "state, jars, conf, cache = map(Path, sys.argv[1:])\n"
        "server = EmbeddedSolr(state, jars, conf, cores=CORES, cache=cache)\n"
        "server.start(); print(server.pid, flush=True); time.sleep(600)"
    )
    places = (tmp_path, solr_jars, CONF / "solr", solr_jars.parent / "solr-launcher")
    navlin = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, places)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=CONF.parent,
    )
    assert navlin.stdout is not None
    java_pid = int(navlin.stdout.readline())
    navlin.kill()
    navlin.wait()
    navlin.stdout.close()
    assert within(120, lambda: ended(java_pid))
    assert running_solr(tmp_path) is None


@pytest.mark.services
def test_killing_java_loses_no_acknowledged_write(own_server: EmbeddedSolr) -> None:
    with own_server:
        address = own_server.address
        with Solr(address) as solr:
            solr.add(ELEMENTS, [{"identity": f"e{n}", "asOf": n, "treePath": f"/d/{n}"} for n in range(500)])
            solr.commit(ELEMENTS, soft=False)
            solr.add(ELEMENTS, [{"identity": f"late{n}", "type": "TABLE"} for n in range(500)])
            solr.add(ELEMENTS, [{"identity": "e1", "_version_": 1, "asOf": {"set": 77}}])
            solr.delete_ids(ELEMENTS, ["e0"])
        kill(own_server)
        assert own_server.start() == address, "Spark tasks that were given the address must find it again"
        with Solr(address) as solr:
            assert solr.count(ELEMENTS) == 999
            assert solr.get(ELEMENTS, ["e0", "e1", "late499"], "identity,asOf") == [
                {"identity": "e1", "asOf": 77},
                {"identity": "late499"},
            ]


def test_another_server_on_the_port_of_a_killed_one_is_not_mistaken_for_it(
    solr_server: EmbeddedSolr, tmp_path: Path
) -> None:
    # This copy of the server's home, with its server.json and password, points to a server that accepts the password
    # but serves the original home.
    (tmp_path / "solr").mkdir()
    for name in ("server.json", "password"):
        shutil.copy(solr_server.home / name, tmp_path / "solr" / name)

    assert running_solr(tmp_path) is None
    assert running_solr(solr_server.home.parent) == solr_server.address


@pytest.mark.services
def test_a_running_server_is_found_until_it_stops_or_dies(own_server: EmbeddedSolr) -> None:
    state = own_server.home.parent
    assert running_solr(state) is None
    with own_server:
        assert running_solr(state) == own_server.address
    assert running_solr(state) is None
    own_server.start()
    try:
        kill(own_server)
        assert running_solr(state) is None
    finally:
        own_server.stop()
    assert own_server.pid is None


def test_solr_requires_the_password(solr_server: EmbeddedSolr) -> None:
    address = solr_server.address
    for path in ("nav_elements/select?q=*:*", "nav_elements/admin/ping", "admin/info/system", "admin/cores"):
        assert requests.get(f"{address.url}/{path}", timeout=300).status_code == 401
    with (
        Solr(replace(address, user=None)) as stranger,
        pytest.raises(SolrError, match="nav_runs: HTTP 401: requires a password"),
    ):
        stranger.ping(RUNS)
    with (
        Solr(replace(address, password="guess")) as guesser,
        pytest.raises(SolrError, match="rejected the user or password"),
    ):
        guesser.ping(RUNS)


def test_the_password_is_only_in_its_own_file(solr_server: EmbeddedSolr) -> None:
    home, word = solr_server.home, solr_server.address.password
    assert word
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    assert stat.S_IMODE((home / "password").stat().st_mode) == 0o600
    holders = [file for file in home.iterdir() if file.is_file() and word in file.read_text(errors="replace")]
    assert holders == [home / "password"]
    assert set(json.loads((home / "server.json").read_text())) == {"url", "pid", "user"}
    assert word not in repr(solr_server.address)
    assert Path(f"/proc/{solr_server.pid}/cmdline").read_bytes().find(word.encode()) == -1


def test_solr_listens_only_on_loopback(solr_server: EmbeddedSolr) -> None:
    assert solr_server.address.url.startswith("http://127.0.0.1:")
    port = int(solr_server.address.host.partition(":")[2])
    with socket.socket() as elsewhere, pytest.raises(ConnectionRefusedError):
        elsewhere.connect(("127.0.0.2", port))


def test_an_address_can_be_pickled(solr_server: EmbeddedSolr) -> None:
    travelled: SolrAddress = pickle.loads(pickle.dumps(solr_server.address))  # noqa: S301 (our own)
    with Solr(travelled) as solr:
        solr.ping(RELATIONS)


def test_an_address_without_a_scheme_or_with_a_password_is_refused() -> None:
    with pytest.raises(ValueError, match="not the URL of a Solr"):
        SolrAddress("localhost:8983/solr")
    with pytest.raises(ValueError, match="must not contain a password"):
        SolrAddress("http://me:secret@localhost:8983/solr")


def test_an_unreachable_server_is_distinguished_from_a_refusing_one(solr: Solr) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{taken.getsockname()[1]}"
        with (
            Solr(SolrAddress(f"http://{host}/solr")) as nobody,
            pytest.raises(SolrUnavailable, match=f"Solr at {host}, nav_runs: cannot be reached: .*refused"),
        ):
            nobody.ping(RUNS)
    with pytest.raises(SolrError, match=r"nav_elements: HTTP 400: undefined field nowhere") as refusal:
        solr.count(ELEMENTS, "nowhere:1")
    assert not isinstance(refusal.value, SolrUnavailable)
    assert (refusal.value.core, refusal.value.status) == (ELEMENTS, 400)
    assert pickle.loads(pickle.dumps(refusal.value)).args == refusal.value.args  # noqa: S301 (our own)


def test_a_port_in_use_is_reported(tmp_path: Path, solr_jars: Path, solr_server: EmbeddedSolr) -> None:
    host = solr_server.address.host
    settings = EmbeddedSolrOptions(port=int(host.partition(":")[2]))
    cache = solr_jars.parent / "solr-launcher"
    with pytest.raises(NoSolr, match=f"cannot listen: {host}: Address already in use"):
        EmbeddedSolr(tmp_path, solr_jars, CONF / "solr", cores=CORES, settings=settings, cache=cache).start()


@pytest.mark.services
def test_an_invalid_schema_is_reported_with_its_core(tmp_path: Path, solr_jars: Path) -> None:
    conf = shutil.copytree(CONF / "solr", tmp_path / "conf")
    schema = conf / CONFIGSET / "schema.xml"
    schema.write_text(schema.read_text().replace('name="digest" type="long"', 'name="digest" type="nothing"'))
    server = EmbeddedSolr(tmp_path, solr_jars, conf, cores=CORES, cache=solr_jars.parent / "solr-launcher")
    with pytest.raises(NoSolr, match=r"Solr could not open a core: nav_\w+: .*nothing.*solr\.log"):
        server.start()
    assert not server.alive


@pytest.mark.services
def test_a_new_release_updates_the_schema_and_keeps_the_index(tmp_path: Path, solr_jars: Path) -> None:
    conf = shutil.copytree(CONF / "solr", tmp_path / "conf")
    server = EmbeddedSolr(tmp_path, solr_jars, conf, cores=CORES, cache=solr_jars.parent / "solr-launcher")
    with server, Solr(server.address) as solr:
        old = {"identity": "old", "type": "TABLE"}
        assert solr.add(ELEMENTS, [old, {"identity": "new", "novelty": "x"}]).refused[0].identity == "new"
    schema = conf / CONFIGSET / "schema.xml"
    schema.write_text(
        schema.read_text().replace("<field ", '<field name="novelty" type="string"/>\n<field ', 1)
    )
    with server, Solr(server.address) as solr:
        assert not solr.add(ELEMENTS, [{"identity": "new", "novelty": "x"}]).refused
        solr.commit(ELEMENTS, soft=True)
        assert solr.count(ELEMENTS, "type:TABLE") == 1
        assert solr.count(ELEMENTS, "novelty:x") == 1


def test_missing_java_jars_or_compiler_are_reported_with_the_remedy(tmp_path: Path, solr_jars: Path) -> None:
    with pytest.raises(NoSolr, match=r"no jars of Solr in .*empty.*navlin index create"):
        EmbeddedSolr(tmp_path, tmp_path / "empty", CONF / "solr", cores=CORES).start()
    with pytest.raises(NoSolr, match="install Java 17 or newer"):
        EmbeddedSolr(tmp_path, solr_jars, CONF / "solr", cores=CORES, java_home=tmp_path / "nowhere").start()
    jre = tmp_path / "jre" / "bin" / "java"
    jre.parent.mkdir(parents=True)
    jre.write_text(
        "#!/bin/sh\n"
        "echo Error occurred during initialization of boot layer >&2\n"
        "echo java.lang.module.FindException: Module jdk.compiler not found >&2\n"
        "exit 1\n"
    )
    jre.chmod(0o755)
    with pytest.raises(NoSolr, match=r"has no compiler \(it is a JRE\): install a JDK"):
        EmbeddedSolr(tmp_path, solr_jars, CONF / "solr", cores=CORES, java_home=tmp_path / "jre").start()


@pytest.mark.services
def test_solr_of_a_checkout_starts_with_the_class_archive(solr_jars: Path, own_server: EmbeddedSolr) -> None:
    cache = solr_jars.parent / "solr-launcher"
    archive = make_archive(solr_jars, cache)
    assert archive.exists()
    own_server.start()
    try:
        command = Path(f"/proc/{own_server.pid}/cmdline").read_bytes().decode().split("\0")
        assert f"-XX:SharedArchiveFile={archive}" in command
    finally:
        own_server.stop()
