"""Debian's nginx as the proxy in front of navlin, unpacked and not installed."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.services import debian

PROGRAM: Final = Path("usr/sbin/nginx")
START_S: Final = 300.0
_CONFIGURATION: Final = """\
daemon off;
error_log stderr;
pid {home}/nginx.pid;
events {{}}
http {{
    access_log off;
    {temporary}
    server {{
        listen 127.0.0.1:{port};
        {locations}
    }}
}}
"""
_TEMPORARY: Final = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class NoNginx(RuntimeError):
    """nginx is not available here; the message has the reason."""


def unpack(home: Path) -> Path:
    """Return the nginx program, unpacking it into ``home`` unless this machine has one. Raises `NoNginx`."""
    if found := shutil.which("nginx"):
        return Path(found)
    try:
        debian.unpack("nginx", home)
    except debian.NoPackage as error:
        raise NoNginx(str(error)) from error
    return home / PROGRAM


@contextmanager
def running_nginx(program: Path, home: Path, locations: str) -> Iterator[str]:
    """Run nginx with these locations, and yield its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    temporary = "\n    ".join(f"{name}_temp_path {home}/{name};" for name in _TEMPORARY)
    file = home / "nginx.conf"
    file.write_text(_CONFIGURATION.format(home=home, temporary=temporary, port=port, locations=locations))
    process = subprocess.Popen([program, "-p", home, "-e", "stderr", "-c", file])
    try:
        deadline_s = time.monotonic() + START_S
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > deadline_s:
                raise NoNginx(f"nginx does not start (exit code {process.poll()})")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
