"""Runs inside a minimal Debian, with its Python alone: starts an installed navlin, asks it, and stops it.

The standard input is a JSON object: ``program``, ``entity``, and the ``user`` and ``group`` that run the program. The
standard output is a JSON object with what the answers were.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

PATIENCE_S = 1_500.0
ADDRESS = "http://127.0.0.1:7187"


def run(given: dict[str, Any], *arguments: str) -> dict[str, Any]:
    command = [given["program"], *arguments]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        user=given["user"],
        group=given["group"],
        extra_groups=[],
        cwd="/",
    )
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr[-2_000:]}


def get(path: str, login: str = "") -> tuple[int, str]:
    request = urllib.request.Request(ADDRESS + path, headers={"Accept": "text/html"})
    if login:
        request.add_header("Authorization", f"Basic {base64.b64encode(login.encode()).decode()}")
    try:
        with urllib.request.urlopen(request, timeout=300) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def until(condition: Any, process: subprocess.Popen[bytes]) -> float:
    begun_s = time.monotonic()
    while time.monotonic() - begun_s < PATIENCE_S and process.poll() is None:
        if condition():
            return time.monotonic() - begun_s
        time.sleep(1.0)
    return -1.0


def memory_mib() -> int:
    """The memory of all processes here; pages that several of them share are counted once."""
    kib = 0
    for file in Path("/proc").glob("[0-9]*/smaps_rollup"):
        try:
            lines = file.read_text().splitlines()
        except OSError:  # the process has ended
            continue
        kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib >> 10


def main() -> None:
    given = json.load(sys.stdin)
    found: dict[str, Any] = {"version": run(given, "--version"), "check": run(given, "check", "--start")}
    with open("/tmp/serve.log", "wb") as log:
        served = subprocess.Popen(
            [given["program"], "serve"],
            stderr=log,
            stdout=log,
            user=given["user"],
            group=given["group"],
            extra_groups=[],
            cwd="/var/lib/navlin",
        )
        found["ready_s"] = until(lambda: get("/readyz")[0] == 200, served)
        lineage = {}

        def answered() -> bool:
            lineage.update(run(given, "lineage", given["entity"]))
            return bool(lineage["code"] == 0)

        found["answered_s"] = until(answered, served)
        found["lineage"] = lineage
        found["memory_mib"] = memory_mib()
        password = Path("/var/lib/navlin/administrator.password")
        login = f"admin:{password.read_text().strip()}" if password.exists() else ""
        found["page"] = get(f"/search?query={given['entity']}", login)
        found["manual"] = get("/docs/how-to/install.html", login)
        served.send_signal(signal.SIGTERM)
        found["stopped"] = served.wait(timeout=PATIENCE_S)
    found["log"] = Path("/tmp/serve.log").read_text(errors="replace")[-4_000:]
    own = os.getpid()
    left = [
        Path(f"/proc/{number}/cmdline").read_text().replace("\0", " ")
        for number in os.listdir("/proc")
        if number.isdigit() and int(number) not in (1, own)
    ]
    found["left"] = [line for line in left if "navlin" in line or "java" in line]
    json.dump(found, sys.stdout)


main()
