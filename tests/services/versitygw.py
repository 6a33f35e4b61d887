"""versitygw: a real server of S3's interface over a directory (Apache-2.0). Go builds it from its module.

A bucket is a directory of ``buckets``, and an object is a file in it, so that tests can make very many objects quickly.
The server checks signatures.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from navlin.demo.children import end_with_parent
from tests.services.kerberos import free_port
from tests.support.s3_rounds import ENVIRONMENT

MODULE: Final = "github.com/versity/versitygw"
VERSION: Final = "v1.8.0"
SUM: Final = "h1:au+wI+aybno/STsQiSm35Uu6Q6iK5MWReQxgO6SEMFc="
"""Go's checksum of the module, in which go.sum has those of all others."""
BUILT_WITHIN_S: Final = 1_800
"""A build takes some 140 s of CPU time."""
START_S: Final = 300.0
REGION: Final = "us-east-1"


class NoVersitygw(RuntimeError):
    """versitygw is not available here; the message has the reason."""


def built(cache: Path) -> Path:
    """Return the program, built into ``cache`` if it is missing there. Raises `NoVersitygw`."""
    program = cache / f"versitygw-{VERSION}" / "versitygw"
    if not program.exists():
        if not shutil.which("go"):
            raise NoVersitygw("Go, which builds versitygw, is not on the PATH: install Debian's golang")
        cache.mkdir(exist_ok=True)
        with (cache / ".versitygw.lock").open("w") as lock:
            # Tests in other processes may build the same program.
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not program.exists():
                _build(program)
    return program


def _build(program: Path) -> None:
    downloaded = json.loads(_go("mod", "download", "-json", f"{MODULE}@{VERSION}"))
    if downloaded["Sum"] != SUM:
        raise NoVersitygw(f"the checksum of {MODULE} {VERSION} is {downloaded['Sum']}, not {SUM}")
    program.parent.mkdir(exist_ok=True)
    unfinished = program.with_suffix(".unfinished")
    _go(
        "build", "-mod=readonly", "-o", str(unfinished.resolve()), "./cmd/versitygw", folder=downloaded["Dir"]
    )
    unfinished.rename(program)


def _go(*arguments: str, folder: str | None = None) -> str:
    # The Go that is installed, not one that it would download.
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"}
    try:
        ran = subprocess.run(
            ["go", *arguments],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=BUILT_WITHIN_S,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoVersitygw(f"go {arguments[0]} took longer than {BUILT_WITHIN_S} s") from error
    if ran.returncode:
        raise NoVersitygw(f"go {arguments[0]} failed: {(ran.stderr or ran.stdout).strip()[-500:]}")
    return ran.stdout


@dataclass(frozen=True)
class Versitygw:
    """A running server. It accepts the credentials of the tests, which may do everything, and those of added users."""

    url: str
    buckets: Path
    program: Path

    def bucket(self, name: str) -> Path:
        """Make a bucket, and return its directory."""
        folder = self.buckets / name
        folder.mkdir()
        return folder

    def add_user(self, key_id: str, secret: str) -> None:
        """Make a user, who may do only what policies of buckets allow."""
        root = {
            "ADMIN_ENDPOINT_URL": self.url,
            "ADMIN_ACCESS_KEY_ID": ENVIRONMENT["AWS_ACCESS_KEY_ID"],
            "ADMIN_SECRET_ACCESS_KEY": ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
            "ADMIN_REGION": REGION,
        }
        order = [str(self.program), "admin", "create-user", "-a", key_id, "-s", secret, "-r", "user"]
        subprocess.run(order, env={**os.environ, **root}, check=True, capture_output=True)

    @property
    def client(self) -> Any:
        """AWS's own client of this server."""
        import botocore.session

        return botocore.session.Session().create_client(
            "s3",
            region_name=REGION,
            endpoint_url=self.url,
            aws_access_key_id=ENVIRONMENT["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
        )


@contextmanager
def running_versitygw(program: Path, folder: Path) -> Iterator[Versitygw]:
    """Run a server on loopback, with its buckets, and the older versions of their objects, in ``folder``. Raises
    `NoVersitygw`.
    """
    buckets, versions, users = (folder / name for name in ("buckets", "versions", "users"))
    for each in (buckets, versions, users):
        each.mkdir(parents=True)
    port = free_port()
    environment = {
        **os.environ,
        "ROOT_ACCESS_KEY": ENVIRONMENT["AWS_ACCESS_KEY_ID"],
        "ROOT_SECRET_KEY": ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
    }
    command = [
        str(program),
        "--quiet",
        "--region",
        REGION,
        "--port",
        f"127.0.0.1:{port}",
        "--iam-dir",
        str(users),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "posix", "--versioning-dir", str(versions), str(buckets)],
            env=environment,
            stdout=log,
            stderr=log,
            preexec_fn=end_with_parent,
        )
    try:
        deadline_s = time.monotonic() + START_S
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise NoVersitygw(f"versitygw does not start: {(folder / 'log').read_text()[-500:]}")
            time.sleep(0.05)
        yield Versitygw(f"http://127.0.0.1:{port}", buckets, program)
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
