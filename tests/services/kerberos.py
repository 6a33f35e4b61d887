"""A private KDC on loopback (Kerby, from the jar set "kdc"), and services that require its tickets."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path
from typing import Final, Self

from navlin.demo.children import end_with_parent
from navlin.java import QUICK, JavaProgram, pyspark_jars
from navlin.kerberos.client import Login
from tests.services.metastore import MetastoreOfHive

REALM: Final = "NAVLIN.TEST"
SOURCE: Final = Path(__file__).with_name("KeyDistribution.java")
CLOCK: Final = Path(__file__).with_name("moved_clock.c")
_LOGGING: Final = "slf4j-api-*.jar"


class Kdc:
    """A KDC in ``directory``, which runs as long as this context lasts.

    Its tickets last ``life_s``, and its clock is ``ahead_s`` ahead. ``jars`` is the directory of the jar set "kdc".
    """

    def __init__(self, directory: Path, jars: Path, *, life_s: int = 86_400, ahead_s: int = 0) -> None:
        self.directory = directory
        self.port = free_port()
        self.krb5_conf = directory / "krb5.conf"
        jar_files = (*sorted(jars.glob("*.jar")), *sorted(pyspark_jars().glob(_LOGGING)))
        self._program = JavaProgram(SOURCE, jar_files, jars.parent / "kdc-launcher")
        self._life_s = life_s
        self._ahead_s = ahead_s
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start the KDC, and write a ``krb5.conf`` that names it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.krb5_conf.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n udp_preference_limit = 1\n dns_lookup_kdc = false\n"
            f" rdns = false\n kdc_timeout = 30000\n max_retries = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{self.port}\n }}\n"
        )
        arguments = (str(self.directory), REALM, str(self.port), str(self._life_s))
        self._process = subprocess.Popen(
            self._program.command(QUICK, arguments, archive_classes=False),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self.directory / "kdc.log").open("ab"),
            text=True,
            env={**os.environ, **moved_clock(self.directory, self._ahead_s)},
            preexec_fn=end_with_parent,
        )
        self._await()

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def keytab(self, name: str, *principals: str) -> Path:
        """Write a new keytab with the keys of these principals, which are created if missing. Return its path."""
        assert self._process is not None
        assert self._process.stdin is not None
        keytab = self.directory / name
        keytab.unlink(missing_ok=True)
        self._process.stdin.write(f"keytab {keytab} {' '.join(principals)}\n")
        self._process.stdin.flush()
        self._await()
        keytab.chmod(0o600)
        return keytab

    def login(self, principal: str, keytab: Path) -> Login:
        return Login(f"{principal}@{REALM}", str(keytab), str(self.krb5_conf))

    def _await(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        if (line := self._process.stdout.readline()) != "READY\n":
            raise RuntimeError(f"the KDC said {line!r}: {(self.directory / 'kdc.log').read_text()[-2000:]}")


def moved_clock(directory: Path, ahead_s: int) -> dict[str, str]:
    """Return environment variables that shift a process's clock. The library that shifts it is compiled in
    ``directory``."""
    if not ahead_s:
        return {}
    library = directory / "moved_clock.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(CLOCK)], check=True)
    return {"LD_PRELOAD": str(library), "AHEAD_S": str(ahead_s)}


def kerberized_metastore(
    directory: Path, jars: Path, kdc: Kdc, *, protection: str = "authentication"
) -> MetastoreOfHive:
    """Return a metastore that requires tickets of the KDC. ``protection`` is the value of hadoop.rpc.protection."""
    principal = "hive/localhost"
    settings = {
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": protection,
        "hive.metastore.sasl.enabled": "true",
        "hive.metastore.kerberos.principal": f"{principal}@{REALM}",
        "hive.metastore.kerberos.keytab.file": str(kdc.keytab("hive.keytab", principal)),
    }
    options = [f"-Djava.security.krb5.conf={kdc.krb5_conf}"]
    return MetastoreOfHive(directory, jars, settings=settings, java_options=options)


def of_hdfs(kdc: Kdc) -> dict[str, str]:
    """Return the settings of an HDFS that requires tickets of the KDC."""
    servers = str(kdc.keytab("hdfs.keytab", "hdfs/localhost", "HTTP/localhost"))
    return {
        "hadoop.security.authentication": "kerberos",
        "dfs.block.access.token.enable": "true",
        "dfs.namenode.kerberos.principal": f"hdfs/localhost@{REALM}",
        "dfs.namenode.keytab.file": servers,
        "dfs.datanode.kerberos.principal": f"hdfs/localhost@{REALM}",
        "dfs.datanode.keytab.file": servers,
        "dfs.web.authentication.kerberos.principal": f"HTTP/localhost@{REALM}",
        "dfs.web.authentication.kerberos.keytab": servers,
        "dfs.data.transfer.protection": "authentication",
        # With Kerberos, a NameNode returns its fsimage only to these users.
        "dfs.cluster.administrators": "navlin",
        # By default, a DataNode with Kerberos requires ports below 1024, or HTTPS.
        "ignore.secure.ports.for.testing": "true",
        "hadoop.user.group.static.mapping.overrides": "navlin=supergroup;hdfs=supergroup",
    }


def of_the_web(kdc: Kdc, folder: Path) -> dict[str, str]:
    """Return the settings with which Hadoop's web pages require tickets of the KDC."""
    (folder / "signature").write_text("of the cookies")
    return {
        "hadoop.http.filter.initializers": "org.apache.hadoop.security.AuthenticationFilterInitializer",
        "hadoop.http.authentication.type": "kerberos",
        "hadoop.http.authentication.kerberos.principal": f"HTTP/localhost@{REALM}",
        "hadoop.http.authentication.kerberos.keytab": str(kdc.keytab("http.keytab", "HTTP/localhost")),
        "hadoop.http.authentication.signature.secret.file": str(folder / "signature"),
    }


def of_yarn(kdc: Kdc) -> dict[str, str]:
    """Return the settings, in addition to `of_hdfs`, of a YARN that requires tickets of the KDC."""
    servers = str(kdc.keytab("yarn.keytab", "yarn/localhost"))
    return {
        "yarn.resourcemanager.principal": f"yarn/localhost@{REALM}",
        "yarn.resourcemanager.keytab": servers,
        "yarn.nodemanager.principal": f"yarn/localhost@{REALM}",
        "yarn.nodemanager.keytab": servers,
    }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
