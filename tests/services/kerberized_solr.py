"""A customer's own Solr that requires Kerberos tickets. Solr 8 is the last release whose Kerberos plugin is in
Solr's own jar."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from navlin.demo.children import end_with_parent
from navlin.index.solr.solr import SolrAddress
from navlin.java import QUICK, JavaProgram
from navlin.kerberos.client import Login
from navlin.shipped import CONF
from tests.services.kerberos import REALM, Kdc, free_port, moved_clock
from tests.services.solrcloud import ZOO_CFG, ZOOKEEPER_PORT

SOURCE: Final = Path(__file__).with_name("KerberizedSolr.java")
SECURITY: Final = '{"authentication": {"class": "org.apache.solr.security.KerberosPlugin"}}'
_CONFIGSET: Final = "navlin-3"
_JAAS: Final = """Client {{
  com.sun.security.auth.module.Krb5LoginModule required
  useKeyTab=true storeKey=true useTicketCache=false keyTab="{keytab}" principal="{principal}";
}};
"""


class KerberizedSolr:
    """A Solr without cores in ``directory``, on loopback, which accepts tickets of the KDC.

    ``jars`` is the directory of the jar set "solr-8"; ``properties`` are Java properties of Solr, for instance for
    its Kerberos plugin. Solr's clock is ``ahead_s`` ahead. With ``cloud``, Solr is a SolrCloud with a ZooKeeper in
    its process; with ``beside``, it is another node in the cloud of that Solr.
    """

    def __init__(
        self,
        directory: Path,
        jars: Path,
        kdc: Kdc,
        *,
        properties: Mapping[str, str] | None = None,
        ahead_s: int = 0,
        cloud: bool = False,
        beside: KerberizedSolr | None = None,
    ) -> None:
        self._ahead_s = ahead_s
        self._beside = beside
        self._cloud = cloud or beside is not None
        self.home = directory / "home"
        self._log = directory / "solr.log"
        self._kdc = kdc
        self._properties = {
            "java.security.krb5.conf": str(kdc.krb5_conf),
            "solr.kerberos.principal": f"HTTP/localhost@{REALM}",
            "solr.kerberos.cookie.domain": "localhost",
            "solr.log.dir": str(directory),
            "solr.allowPaths": "*",
            **(properties or {}),
        }
        self._program = JavaProgram(SOURCE, sorted(jars.glob("*.jar")), jars.parent / "solr-launcher")
        self._port = 0
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        (self.home / "configsets").mkdir(parents=True)
        shutil.copytree(CONF / "solr" / _CONFIGSET, self.home / "configsets" / _CONFIGSET / "conf")
        shutil.copy(CONF / "solr" / "solr.xml", self.home)
        (self.home / "security.json").write_text(SECURITY)
        keytab = self.home / "solr.keytab"
        shutil.copy(self._kdc.keytab("solr.keytab", "HTTP/localhost"), keytab)
        self._properties["solr.kerberos.keytab"] = str(keytab)
        if self._cloud:
            self._properties |= self._of_a_node(keytab)
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start Solr with its existing home, on its former port."""
        options = [*QUICK, "-Xmx512m", *(f"-D{key}={value}" for key, value in self._properties.items())]
        self._process = subprocess.Popen(
            self._program.command(options, (str(self.home), str(self._port)), archive_classes=False),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log.open("ab"),
            text=True,
            env={**os.environ, **moved_clock(self.home.parent, self._ahead_s)},
            preexec_fn=end_with_parent,
        )
        assert self._process.stdout is not None
        said = self._process.stdout.readline()
        if not said.startswith("READY "):
            self.stop()
            raise RuntimeError(f"Solr said {said!r}: {self._log.read_text()[-3000:]}")
        self._port = int(said.split()[1])

    def _of_a_node(self, keytab: Path) -> dict[str, str]:
        """Return the properties with which a node finds ZooKeeper and nodes trust each other."""
        jaas = self.home / "jaas.conf"
        jaas.write_text(_JAAS.format(keytab=keytab, principal=f"HTTP/localhost@{REALM}"))
        found = {
            "host": "localhost",
            "java.security.auth.login.config": str(jaas),
            "zookeeper.sasl.client": "false",
            "zookeeper.admin.enableServer": "false",
        }
        if self._beside is not None:
            return found | {"zkHost": f"127.0.0.1:{self._beside._port + ZOOKEEPER_PORT}"}
        self._port = free_port()
        (self.home / "zoo.cfg").write_text(ZOO_CFG)
        return found | {"zkRun": "true"}

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def address(self, login: Login | None) -> SolrAddress:
        """Return Solr's address, for a client with this login."""
        return SolrAddress(f"http://localhost:{self._port}/solr", timeout_s=60, login=login)
