"""A minimal Debian in a folder, with Python and a Java runtime, whose commands have no network."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

SUITE: Final = "bookworm"
PACKAGES: Final = "python3,python3-venv,openjdk-17-jre-headless,tini,libnss-wrapper"
_READ_ONLY: Final = (
    'mount --bind "$0" "$0" && mount --bind "$0/var/lib/navlin" "$0/var/lib/navlin"'
    ' && mount -o remount,ro,bind "$0" && mount -t tmpfs -o noexec,nosuid,nodev tmpfs "$0/tmp" && '
)
"""Leaves /tmp and navlin's state writable, as a container does. Like Docker's --tmpfs, /tmp lets nothing be executed."""
_ENTER: Final = (
    'ip link set lo up && mount -t proc proc "$0/proc" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"'
)


class NoRoot(RuntimeError):
    """This machine cannot make such a folder; the message has the reason."""


class BareRoot:
    """The folder of a minimal Debian. Commands run in namespaces of their own, and end with their caller."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def command(self, *arguments: str, read_only: bool = False) -> list[str]:
        """Return the command line that runs a command inside, with loopback alone and its own processes."""
        script = _READ_ONLY + _ENTER if read_only else _ENTER
        isolated = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child"]
        return [*isolated, "sh", "-c", script, str(self.folder), *arguments]

    def run(self, *arguments: str, timeout_s: float = 900.0) -> subprocess.CompletedProcess[str]:
        """Run a command inside to its end, as root."""
        environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        return subprocess.run(
            self.command(*arguments),
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout_s,
        )


def make_bare_root(folder: Path, kept: Path) -> BareRoot:
    """Make the folder as a copy of ``kept``, which is downloaded if it is missing. Raises `NoRoot`."""
    if os.geteuid() != 0:
        raise NoRoot("only root can enter another root")
    for program in ("debootstrap", "unshare", "ip", "chroot"):
        if shutil.which(program) is None:
            raise NoRoot(f"{program} is not installed")
    if not (kept / "made").exists():
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True)
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(kept / "root")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise NoRoot(f"debootstrap failed: {(done.stdout + done.stderr)[-500:]}")
        (kept / "made").touch()
    subprocess.run(["cp", "-a", "--reflink=auto", str(kept / "root"), str(folder)], check=True)
    return BareRoot(folder)
