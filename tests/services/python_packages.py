"""Python packages in their own environments: readers of navlin's exports that are not dependencies of navlin."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

EXPORT_READERS: Final = ("acryl-datahub==1.7.0.17", "gsp-datahub-sidecar==0.1.0", "lxml==6.0.2")
"""DataHub's own classes and file source; a reader of SQLFlow's JSON by the makers of SQLFlow (Apache-2.0); a
validator of XML schemas."""
INSTALLED_WITHIN_S: Final = 600
ANSWERED_WITHIN_S: Final = 900


class NotInstalled(Exception):
    """pip could not install the packages; the message has the reason."""


@dataclass(frozen=True)
class Environment:
    """A Python environment, given by its interpreter."""

    python: Path

    def answer(self, script: Path, *arguments: str | Path) -> Any:
        """Run a script, and return the JSON in the last line that it prints."""
        ran = subprocess.run(
            [self.python, script, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=ANSWERED_WITHIN_S,
            check=False,
            env={**os.environ, "DATAHUB_TELEMETRY_ENABLED": "false", "PYTHONPATH": ""},
        )
        assert ran.returncode == 0, ran.stdout[-2_000:] + ran.stderr[-4_000:]
        return json.loads(ran.stdout.splitlines()[-1])


def environment(cache: Path, *packages: str) -> Environment:
    """Return an environment with exactly these packages, creating it if it is not in the cache. Raises
    `NotInstalled`."""
    digest = hashlib.sha256("\n".join((sys.version, *packages)).encode()).hexdigest()[:12]
    folder = cache / f"python-{digest}"
    cache.mkdir(exist_ok=True)
    with (cache / f"python-{digest}.lock").open("w") as lock:
        # Tests in other processes may create the same environment.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "whole").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _run(sys.executable, "-m", "venv", str(folder))
            _run(str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input", *packages)
            (folder / "whole").touch()
    return Environment(folder / "bin" / "python")


def _run(*command: str) -> None:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLED_WITHIN_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise NotInstalled(f"{command[0]} took longer than {INSTALLED_WITHIN_S} s") from error
    if ran.returncode != 0:
        raise NotInstalled(" ".join((ran.stderr or ran.stdout).split())[-500:])
