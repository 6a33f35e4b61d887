"""``navlin serve`` with its state directory on a small disk that is filled and emptied. Must run inside a mount
namespace; prints the observations as JSON.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import requests

from tests.support.full_disk import empty, fill, mount
from tests.support.served_daemon import PATIENCE_S, ROOT, Served

CONFIGURATION = """\
[navlin]
cluster = "full"
state_directory = "state"
least_free = "{least_free}"

[solr]
memory = "512m"

[purge]
at = "{at}"

[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = "{home}/impala"
"""
WAIT_S = 8.0
REQUESTS = ("extract IMPALA-1", "link", "purge --before 2020-01-01")
"""Commands that send requests to the running ``navlin serve``."""


def log_in(served: Served) -> list[object]:
    """Return the status and text of a browser login, the status of a request with a password, and the partial session
    files left on the disk.
    """
    url = next(str(line["url"]) for line in served.log if line.get("event") == "web ready")
    password = (served.state / "administrator.password").read_text().strip()
    who = {"name": "admin", "password": password}
    logged_in = requests.post(f"{url}/login", json=who, timeout=PATIENCE_S)
    asked = requests.get(f"{url}/session", auth=("admin", password), timeout=PATIENCE_S)
    left = [each.name for each in (served.state / "sessions").iterdir() if each.suffix == ".new"]
    return [logged_in.status_code, logged_in.text, asked.status_code, left]


def main() -> None:
    home = Path(sys.argv[1])
    state = home / "state"
    mount(state, 400)
    (state / "class-archives").symlink_to(ROOT / ".jars" / "class-archives")
    (home / "impala").mkdir()
    seen: dict[str, Any] = {}

    def configure(least_free: str, at: str = "03:00") -> None:
        (home / "navlin.toml").write_text(CONFIGURATION.format(home=home, least_free=least_free, at=at))

    def found(name: str) -> int:
        served.until(lambda: served.find(f"originalName:{name}"), f"what happened while {name}")
        return served.find(f"originalName:{name}")

    def lines(event: str) -> int:
        return sum(line.get("event") == event for line in served.log)

    configure("48m")
    fill(state)
    served = Served(home)
    try:
        served.logged("disk space too low: sources paused")
        time.sleep(3)
        status = served.ask("status")
        seen["start"] = {
            "alive": served.process.poll() is None,
            "ready": lines("navlin ready"),
            "logged": lines("disk space too low: sources paused"),
            "status": [status.returncode, status.stdout + status.stderr],
            "reported": any(line.startswith("STATUS=waiting: the disk of") for line in served.reported),
            "extended": sum(line.startswith("EXTEND_TIMEOUT_USEC=") for line in served.reported),
        }
        empty(state)
        served.logged("navlin ready")
        served.append("full.before")
        found("before")

        for name, least_free in (("guarded", "48m"), ("unguarded", "1k")):
            # Schedule the daily purge for a time when the disk is full.
            soon = f"{datetime.now(UTC).astimezone() + timedelta(seconds=80):%H:%M}"
            configure(least_free, soon if name == "guarded" else "03:00")
            served.process.send_signal(signal.SIGHUP)
            served.logged("configuration reloaded", after=len(served.log) - 1)
            begun, filled_s = len(served.log), time.monotonic()
            fill(state, but_bytes=20 << 20 if name == "guarded" else 0)
            if name == "guarded":
                served.logged("disk space too low: sources paused", after=begun)
            served.append(f"full.{name}")
            time.sleep(WAIT_S)
            if name == "guarded":
                served.logged("daily purge postponed", after=begun)
            asked = {each: served.ask(*each.split()) for each in REQUESTS} if name == "guarded" else {}
            status = served.ask("status")
            unasked = [line.get("event") for line in served.log[begun:]]
            lasted_s = time.monotonic() - filled_s
            seen[name] = {
                "unasked": [event for event in unasked if not str(event).startswith("request ")],
                "lasted_s": lasted_s,
                "log_in": log_in(served),
                "requests": {
                    each: [done.returncode, done.stdout + done.stderr] for each, done in asked.items()
                },
                "alive": served.process.poll() is None,
                "answers": served.find("originalName:before"),
                "extracted": served.find(f"originalName:{name}"),
                "lines": [line.get("event") for line in served.log[begun:]],
                "status": [status.returncode, status.stdout + status.stderr],
                "traceback": any("Traceback" in str(line) for line in served.log[begun:]),
            }
            again = len(served.log)
            empty(state)
            found(name)
            seen[name]["then"] = [line.get("event") for line in served.log[again:]]
        served.append("full.after")
        found("after")
        seen["left"] = {
            name: served.find(f"originalName:{name}") for name in ("before", "guarded", "unguarded", "after")
        }
        served.process.send_signal(signal.SIGTERM)
        seen["exit_code"] = served.process.wait(60)
    finally:
        served.end()
    sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    main()
