"""Operations with which tests change a real HDFS, through Hadoop's own client."""

from __future__ import annotations

import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Final, Self

from navlin.java import JavaProgram, pyspark_jars
from navlin.kerberos.client import Login
from tests.services.hadoop import Hadoop

SOURCE: Final = Path(__file__).with_name("HdfsWriter.java")
BLOCK_BYTES: Final = 1 << 20


class Refused(Exception):
    """HDFS refused an operation."""


class Writer:
    """A client that changes an HDFS, with some thousand operations a second.

    Files that it opened stay open until `close`. Creating an existing file overwrites the file. ``cache`` keeps the
    compiled program; ``login`` is the client's identity if HDFS requires tickets.
    """

    def __init__(self, hadoop: Hadoop, cache: Path, user: str = "", *, login: Login | None = None) -> None:
        jars = [
            jar
            for name in ("hadoop-client-api-*", "hadoop-client-runtime-*", "slf4j-api-*")
            for jar in sorted(pyspark_jars().glob(f"{name}.jar"))
        ]
        options = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        options += ["-Dslf4j.internal.verbosity=ERROR", *([f"-DHADOOP_USER_NAME={user}"] if user else [])]
        if login is not None:
            options += [f"-Djava.security.krb5.conf={login.krb5_conf}"]
            options += [f"-Dprincipal={login.principal}", f"-Dkeytab={login.keytab}"]
        arguments = (hadoop.url, str(hadoop.configuration_directory))
        command = JavaProgram(SOURCE, jars, cache).command(options, arguments, archive_classes=True)
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End the client. Its open files stay open, as when a writer dies."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.close()
        self._child.wait(30)
        self._child.stdout.close()

    def mkdirs(self, path: str) -> None:
        self._do("mkdirs", path)

    def create(
        self, path: str, data: bytes = b"", *, block_bytes: int = BLOCK_BYTES, close: bool = True
    ) -> None:
        self._do("create", path, b64encode(data).decode(), str(block_bytes))
        if close:
            self.close(path)

    def append(self, path: str, data: bytes, *, close: bool = True) -> None:
        self._do("append", path, b64encode(data).decode())
        if close:
            self.close(path)

    def write(self, path: str, data: bytes) -> None:
        """Append to an open file, and flush to the DataNode."""
        self._do("write", path, b64encode(data).decode())

    def close(self, path: str) -> None:
        self._do("close", path)

    def rename(self, path: str, to: str) -> None:
        """Rename a path, overwriting an existing file or empty directory."""
        self._do("rename", path, to)

    def delete(self, path: str) -> None:
        self._do("delete", path)

    def chmod(self, path: str, mode: str) -> None:
        self._do("chmod", path, mode)

    def chown(self, path: str, owner: str, group: str) -> None:
        self._do("chown", path, owner, group)

    def touch(self, path: str, modified_ms: int, accessed_ms: int = -1) -> None:
        self._do("touch", path, str(modified_ms), str(accessed_ms))

    def replicate(self, path: str, replication: int) -> None:
        self._do("replicate", path, str(replication))

    def acl(self, path: str, entries: str) -> None:
        """Add ACL entries, for instance ``user:bob:r-x,default:group:staff:r--``."""
        self._do("acl", path, entries)

    def truncate(self, path: str, length: int) -> None:
        self._do("truncate", path, str(length))

    def concat(self, path: str, source: str) -> None:
        self._do("concat", path, source)

    def erasure_code(self, path: str, policy: str) -> None:
        self._do("erasure code", path, policy)

    def quota(self, path: str, names: int) -> None:
        """Limit the number of names below a directory."""
        self._do("quota", path, str(names))

    def snapshot(self, path: str, name: str) -> None:
        self._do("allow snapshots", path)
        self._do("snapshot", path, name)

    def _do(self, *words: str) -> None:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(("\t".join(words).replace("\n", "\u2424") + "\n").encode())
        self._child.stdin.flush()
        if (answer := self._child.stdout.readline().decode().strip()) != "OK":
            raise Refused(f"{words[0]} {words[1]}: {answer or 'the client ended'}")
