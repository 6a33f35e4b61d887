"""``navlin serve`` with Spark's scratch directory, or the directories of all logs, on a small disk of their own that is
filled and emptied. Must run inside a mount namespace; prints the observations as JSON.
"""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

from navlin.solr_server import home as solr_home
from tests.support.full_disk import empty, fill, mount
from tests.support.served_daemon import ROOT, Served, ready

CONFIGURATION = """\
[navlin]
cluster = "full"
state_directory = "state"

[solr]
memory = "512m"

[[source]]
name = "IMPALA-1"
extractor = "impala_events"
directory = "{home}/impala"
"""
FAILURES = 2
WAIT_S = 60.0
"""Maximum time for the runs that fail, in seconds. A run of few records may need no scratch file."""
TO_A_FILE = 'exec "$@" 2>>"$0"'
"""Shell command that runs its arguments, with the log in the file named first."""


def main() -> None:
    home, which = Path(sys.argv[1]), sys.argv[2]
    state, log = home / "state", home / "log"
    state.mkdir()
    (home / "impala").mkdir()
    (home / "navlin.toml").write_text(CONFIGURATION.format(home=home))
    (state / "class-archives").symlink_to(ROOT / ".jars" / "class-archives")
    if which == "scratch":
        disks = [state / "scratch"]
    else:
        solr_home.logs(state / "solr").parent.mkdir(parents=True, mode=0o700)
        disks = [log, solr_home.logs(state / "solr")]
    for disk in disks:
        mount(disk, 64)
    before = () if which == "scratch" else ("sh", "-c", TO_A_FILE, str(log / "navlin.log"))
    served = ready(Served(home, before=before))

    def found(name: str) -> int:
        served.until(lambda: served.find(f"originalName:{name}"), f"the table {name} is found")
        return served.find(f"originalName:{name}")

    def failures() -> list[str]:
        return [str(line.get("error")) for line in served.log if line.get("event") == "run failed"]

    seen: dict[str, Any] = {}
    try:
        served.append("full.before")
        found("before")
        for disk in disks:
            fill(disk)
        served.append("full.meanwhile")
        if which == "scratch":
            end_s = time.monotonic() + WAIT_S
            while (
                len(failures()) < FAILURES
                and not served.find("originalName:meanwhile")
                and time.monotonic() < end_s
            ):
                time.sleep(0.5)
        else:
            found("meanwhile")
        seen["failures"] = failures()
        seen["alive"] = served.process.poll() is None
        seen["answers"] = served.find("originalName:before")
        status = served.ask("status")
        seen["status"] = [status.returncode, status.stdout + status.stderr]
        for disk in disks:
            empty(disk)
        found("meanwhile")
        written = len((log / "navlin.log").read_text().splitlines()) if which == "logs" else 0
        served.append("full.after")
        found("after")
        served.process.send_signal(signal.SIGTERM)
        seen["exit_code"] = served.process.wait(120)
        # Names of events that were logged after there was space again.
        lines = (log / "navlin.log").read_text().splitlines()[written:] if which == "logs" else []
        seen["logged_after"] = [json.loads(line)["event"] for line in lines if line.startswith("{")]
        seen["solr_log_bytes"] = sum(
            each.stat().st_size for each in solr_home.logs(state / "solr").iterdir() if each.is_file()
        )
    finally:
        served.end()
    sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    main()
