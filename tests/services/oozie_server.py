"""A real Oozie 5.2.1 on a cluster that runs jobs of MapReduce, from the jar set "oozie".

Not all dependencies of ``oozie-server`` are published, so the jars are those of Oozie's web archive, with the clients of
Hadoop 2.10.2 in place of its own. These clients speak to the servers of Hadoop 3.5.
"""

from __future__ import annotations

import getpass
import re
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self
from xml.etree import ElementTree
from xml.sax.saxutils import escape
from zipfile import ZipFile

import requests

from navlin.demo.children import end_with_parent
from navlin.java import QUICK, find_java
from navlin.kerberos.spnego import Spnego
from tests.services.kerberos import REALM, Kdc, free_port
from tests.services.mapreduce_cluster import MapReduceCluster

OLD: Final = re.compile(
    r"(hadoop-.*-2\.6\.0|jetty-all-7\.6|jetty-schemas|hive-|calcite|j2v8|guava|curator|zookeeper|slf4j-.*-1\.6\.6"
    r"|commons-io-2\.4|commons-collections-3\.2\.1|commons-lang3-3\.3\.2|httpc|ant-|log4j-slf4j)"
)
"""Jars of the web archive that Hadoop's clients bring in later releases, or that clash with Jetty 9.3."""
UNWANTED: Final = re.compile(r".*-tests\.jar|servlet-api-2|jsp-api|asm(-commons|-tree)?-6")
"""Jars of Hadoop's clients that clash with Oozie's: its cglib, for instance, needs the web archive's asm 3.1."""
SHARED: Final = ("oozie-sharelib-oozie-5.2.1", "oozie-client-5.2.1", "json-simple-1.1.1", "commons-lang-2.6")
"""The jars that launchers of shell and map-reduce actions need on HDFS."""
PROXY_USER: Final = {f"hadoop.proxyuser.{getpass.getuser()}.{each}": "*" for each in ("hosts", "groups")}
"""Hadoop properties with which Oozie may act for its users."""
_OPENED: Final = ("lang", "util", "net", "io", "util.concurrent", "lang.reflect", "text")
START_S: Final = 300.0


class RealOozie:
    """An Oozie on ``cluster``, in ``directory``. ``jars`` is the directory of the jar set "oozie". With ``kerberos``, it
    requires tickets of this KDC, and ``ticket`` is of the user who submits the jobs. It ends with the block.
    """

    def __init__(
        self,
        directory: Path,
        jars: Path,
        cluster: MapReduceCluster,
        *,
        kerberos: Kdc | None = None,
        ticket: Spnego | None = None,
    ) -> None:
        self._directory, self._cluster, self._kdc = directory, cluster, kerberos
        self._session = requests.Session()
        self._session.auth = ticket
        self._jars = [*_of_web_archive(jars), *sorted(jars.glob("*.jar"))]
        self._jars = [each for each in self._jars if not UNWANTED.match(each.name)]
        self._port = free_port()
        self.url = f"http://localhost:{self._port}/oozie"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        conf = self._directory / "conf"
        for each in (
            conf / "webapp",
            conf / "action-conf",
            self._directory / "data",
            self._directory / "log",
        ):
            each.mkdir(parents=True)
        (conf / "webapp" / "index.jsp").write_text("")
        (conf / "oozie-log4j.properties").write_text(
            "log4j.rootLogger=WARN, oozie\nlog4j.appender.oozie=org.apache.log4j.ConsoleAppender\n"
            "log4j.appender.oozie.layout=org.apache.log4j.PatternLayout\n"
        )
        hadoop = self._cluster.hadoop
        self._share()
        service = "oozie.service"
        settings = {
            f"{service}.HadoopAccessorService.hadoop.configurations": f"*={hadoop.configuration_directory}",
            f"{service}.JPAService.jdbc.url": f"jdbc:derby:{self._directory}/data/db;create=true",
            f"{service}.JPAService.jdbc.driver": "org.apache.derby.jdbc.EmbeddedDriver",
            f"{service}.JPAService.create.db.schema": "true",
            f"{service}.JPAService.validate.db.connection": "false",
            f"{service}.ProxyUserService.proxyuser.{getpass.getuser()}.hosts": "*",
            f"{service}.ProxyUserService.proxyuser.{getpass.getuser()}.groups": "*",
            f"{service}.AuthorizationService.authorization.enabled": "false",
            f"{service}.URIHandlerService.uri.handlers": "org.apache.oozie.dependency.FSURIHandler",
            f"{service}.WorkflowAppService.system.libpath": f"{hadoop.url}/share/lib",
            f"{service}.CoordMaterializeTriggerService.lookup.interval": "10",
            f"{service}.ActionCheckerService.action.check.interval": "15",
            f"{service}.ActionCheckerService.action.check.delay": "20",
            f"{service}.StatusTransitService.statusTransit.interval": "10",
            **self._authentication(),
        }
        (conf / "oozie-site.xml").write_text(configuration(settings))
        defined = {
            "oozie.home.dir": self._directory,
            "oozie.config.dir": conf,
            "oozie.data.dir": self._directory / "data",
            "oozie.log.dir": self._directory / "log",
            "oozie.http.hostname": "127.0.0.1",
            "oozie.http.port": self._port,
            "user.timezone": "UTC",
        }
        class_path = ":".join(map(str, (conf, *self._jars)))
        self._process = subprocess.Popen(
            [
                *(find_java(), *QUICK, "-Xmx512m"),
                *(f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in _OPENED),
                *((f"-Djava.security.krb5.conf={self._kdc.krb5_conf}",) if self._kdc else ()),
                *(f"-D{name}={value}" for name, value in defined.items()),
                *("-cp", class_path, "org.apache.oozie.server.EmbeddedOozieServer"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=(self._directory / "oozie.log").open("ab"),
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent,
        )
        self._await_ready()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _authentication(self) -> dict[str, str]:
        if self._kdc is None:
            return {"oozie.authentication.type": "simple"}
        return {
            "oozie.authentication.type": "kerberos",
            "oozie.authentication.kerberos.principal": f"HTTP/localhost@{REALM}",
            "oozie.authentication.kerberos.keytab": str(self._kdc.keytab("oozie.keytab", "HTTP/localhost")),
            "oozie.authentication.kerberos.name.rules": f"RULE:[1:$1@$0](.*@{REALM})s/@.*//",
            "oozie.authentication.signature.secret": "of the cookies",
        }

    def submit(self, *, user: str = "alice", **properties: str) -> str:
        """Start a job of ``user``, and return its id. In the names of ``properties``, __ replaces a dot."""
        manager = self._resource_manager
        known = {
            "user.name": user,
            "nameNode": self._cluster.hadoop.url,
            "resourceManager": manager,
            "jobTracker": manager,
            "oozie.use.system.libpath": "true",
            "db.password": "hunter2",
        }
        given = {name.replace("__", "."): value for name, value in properties.items()}
        answer = self._send("POST", "/v1/jobs?action=start", {**known, **given}, user)
        return str(answer.json()["id"])

    def run_again(self, job: str, **properties: str) -> None:
        """Run a workflow again, with these properties in addition to its own."""
        self._send(
            "PUT", f"/v1/job/{job}?action=rerun", {n.replace("__", "."): v for n, v in properties.items()}
        )

    def info(self, job: str) -> dict[str, Any]:
        answer = self._session.get(f"{self.url}/v2/job/{job}?show=info&len=100", timeout=300)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def await_status(self, job: str, *wanted: str, timeout_s: float = 600) -> dict[str, Any]:
        """Wait until a job has one of these statuses, and return Oozie's answer about it. Raises TimeoutError."""
        return self.await_info(job, lambda info: info["status"] in wanted, timeout_s)

    def await_info(
        self, job: str, holds: Callable[[Mapping[str, Any]], bool], timeout_s: float = 600
    ) -> dict[str, Any]:
        deadline_s = time.monotonic() + timeout_s
        while not holds(info := self.info(job)) and time.monotonic() < deadline_s:
            time.sleep(1)
        if holds(info):
            return info
        raise TimeoutError(f"{job} is {info['status']} after {timeout_s} s: {info}")

    def _send(
        self, method: str, path: str, properties: Mapping[str, str], user: str = "alice"
    ) -> requests.Response:
        answer = self._session.request(
            method,
            f"{self.url}{path}&user.name={user}",
            data=configuration(properties).encode(),
            headers={"Content-Type": "application/xml;charset=UTF-8"},
            timeout=300,
        )
        if not answer.ok:
            raise RuntimeError(
                f"{answer.status_code}: {answer.headers.get('oozie-error-message', answer.text)}"
            )
        return answer

    @property
    def _resource_manager(self) -> str:
        """``host:port`` to which clients of YARN speak."""
        site = self._cluster.hadoop.configuration_directory / "yarn-site.xml"
        for each in ElementTree.parse(site).iter("property"):
            if each.findtext("name") == "yarn.resourcemanager.address":
                return str(each.findtext("value"))
        raise LookupError(f"{site} has no address of the ResourceManager")

    def _share(self) -> None:
        """Put the jars of launchers on HDFS."""
        for name in SHARED:
            jar = next(each for each in self._jars if each.name == f"{name}.jar")
            put(self._cluster, f"/share/lib/lib_20260101000000/oozie/{jar.name}", jar.read_bytes())

    def _await_ready(self) -> None:
        deadline_s = time.monotonic() + START_S
        while time.monotonic() < deadline_s:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            try:
                status = self._session.get(f"{self.url}/v2/admin/status", timeout=5).json()
            except (requests.RequestException, ValueError):
                time.sleep(0.5)
                continue
            if status.get("systemMode") == "NORMAL":
                return
        log = (self._directory / "oozie.log").read_text(errors="replace")
        self.__exit__()
        raise RuntimeError(f"Oozie did not start: {log[-4000:]}")


def put(cluster: MapReduceCluster, path: str, content: bytes) -> None:
    """Write a file to the cluster's HDFS."""
    answer = requests.put(
        f"{cluster.hadoop.http[0]}/webhdfs/v1{path}",
        params={"op": "CREATE", "overwrite": "true", "permission": "777"},
        data=content,
        timeout=300,
    )
    answer.raise_for_status()


def configuration(properties: Mapping[str, str]) -> str:
    """A configuration of Hadoop as XML."""
    listed = (
        f"<property><name>{n}</name><value>{escape(v)}</value></property>" for n, v in properties.items()
    )
    return f"<configuration>{''.join(listed)}</configuration>"


def _of_web_archive(jars: Path) -> Iterator[Path]:
    """Yield the jars in Oozie's web archive that are used, unpacked next to the jar set."""
    unpacked = jars.parent / "oozie-webapp"
    unpacked.mkdir(exist_ok=True)
    [archive] = jars.glob("*.war")
    with ZipFile(archive) as packed:
        for entry in packed.infolist():
            name = entry.filename.rpartition("/")[2]
            if not entry.filename.startswith("WEB-INF/lib/") or not name.endswith(".jar") or OLD.match(name):
                continue
            target = unpacked / name
            if not target.exists() or target.stat().st_size != entry.file_size:
                target.write_bytes(packed.read(entry))
            yield target
