"""A metastore on PostgreSQL. The server is this machine's; Debian's JDBC driver is unpacked, not installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from navlin.demo.children import end_with_parent
from tests.services import debian
from tests.services.kerberos import free_port
from tests.services.metastore import Metastore

DRIVER: Final = Path("usr/share/java/postgresql.jar")
DEBIANS: Final = Path("/usr/lib/postgresql")
START_S: Final = 300.0
USER: Final = "hive"


class NoPostgres(RuntimeError):
    """PostgreSQL is not available here; the message has the reason."""


class MetastoreOnPostgres(Metastore):
    """A real metastore on another database. ``url`` is the JDBC URL of the database, and ``driver`` is a jar."""

    def __init__(self, directory: Path, jars: Path, url: str, driver: Path) -> None:
        settings = {
            "javax.jdo.option.ConnectionURL": url,
            "javax.jdo.option.ConnectionDriverName": "org.postgresql.Driver",
            "javax.jdo.option.ConnectionUserName": USER,
            "javax.jdo.option.ConnectionPassword": "",
        }
        super().__init__(directory, jars, settings=settings)
        self.driver = driver

    def class_path(self) -> list[Path]:
        return [self.driver, *super().class_path()]


def driver(home: Path) -> Path:
    """Return the JDBC driver, unpacking it into ``home`` unless this machine has it. Raises `NoPackage`."""
    if (installed := Path("/") / DRIVER).exists():
        return installed
    debian.unpack("libpostgresql-jdbc-java", home)
    return home / DRIVER


@contextmanager
def running_postgres() -> Iterator[str]:
    """Run a PostgreSQL on loopback, and yield the JDBC URL of an empty database. Raises `NoPostgres`."""
    programs = sorted(DEBIANS.glob("*/bin/initdb"))
    if not programs:
        raise NoPostgres(f"there is no {DEBIANS}/…/bin/initdb: install Debian's postgresql")
    # PostgreSQL refuses to run as root, and its user must be able to access its files.
    user = "postgres" if os.geteuid() == 0 else None
    home = Path(tempfile.mkdtemp(prefix="navlin-postgres-"))
    try:
        if user is not None:
            os.chown(home, pwd.getpwnam(user).pw_uid, -1)
        made = [
            str(programs[-1]),
            "-D",
            str(home / "data"),
            "--username",
            USER,
            "--auth",
            "trust",
            "--no-sync",
        ]
        ran = subprocess.run(made, user=user, cwd=home, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise NoPostgres(f"initdb ended with code {ran.returncode}: {ran.stderr.strip()[-500:]}")
        yield from _serving(programs[-1].with_name("postgres"), home, user)
    finally:
        shutil.rmtree(home)


def _serving(program: Path, home: Path, user: str | None) -> Iterator[str]:
    port = free_port()
    options = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "fsync": "off"}
    settings = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [program, "-D", home / "data", "-p", str(port), *settings],
            user=user,
            cwd=home,
            stdout=log,
            stderr=log,
            preexec_fn=end_with_parent,
        )
    try:
        deadline_s = time.monotonic() + START_S
        while "ready to accept connections" not in (home / "log").read_text():
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise NoPostgres(f"postgres does not start: {(home / 'log').read_text()[-500:]}")
            time.sleep(0.05)
        yield f"jdbc:postgresql://127.0.0.1:{port}/postgres"
    finally:
        process.terminate()
        process.wait()
