"""Serve the responses in a folder `rest` like a ResourceManager and a JobHistoryServer, on a free port of loopback.

`python serve_rest.py FOLDER` prints the URL. FOLDER contains apps.json, jobs.json and conf-JOB.json, and optionally
faults.json: {JOB: {"status": 500} or {"delay_s": 120}}. The process serves until it is killed.
"""

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

INFO = {
    "id": 1795000000000,
    "state": "STARTED",
    "haState": "ACTIVE",
    "hadoopVersion": "3.5.0",
    "resourceManagerVersion": "3.5.0",
}
HISTORY = ["ws", "v1", "history", "mapreduce", "jobs"]


def listed(file: Path, key: str, inner: str) -> list[dict[str, Any]]:
    return list(json.loads(file.read_text())[key][inner])


def within(rows: list[dict[str, Any]], time_key: str, query: dict[str, list[str]]) -> list[dict[str, Any]]:
    """Return the rows that match the query's end times and states, up to the query's limit."""
    first = int(query.get("finishedTimeBegin", ["0"])[0])
    last = int(query.get("finishedTimeEnd", [str(1 << 62)])[0])
    states = [state for text in query.get("states", []) for state in text.upper().split(",")]
    kept = [row for row in rows if first <= row[time_key] <= last and (not states or row["state"] in states)]
    return kept[: int(query["limit"][0])] if "limit" in query else kept


class Answers(BaseHTTPRequestHandler):
    folder = Path()

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query, parts = parse_qs(url.query), [part for part in url.path.split("/") if part]
        if parts == ["ws", "v1", "cluster", "info"]:
            self.answer({"clusterInfo": INFO})
        elif parts == ["ws", "v1", "history", "info"]:
            self.answer({"historyInfo": {"startedOn": 1795000000000, "hadoopVersion": "3.5.0"}})
        elif parts[:4] == ["ws", "v1", "cluster", "apps"]:
            self.rows("apps.json", "apps", "app", "finishedTime", query, parts[4:])
        elif parts[:5] == HISTORY and parts[6:] == ["conf"]:
            self.configuration(parts[5])
        elif parts[:5] == HISTORY:
            self.rows("jobs.json", "jobs", "job", "finishTime", query, parts[5:])
        else:
            self.missing(self.path)

    def rows(
        self, name: str, key: str, inner: str, times: str, query: dict[str, list[str]], ids: list[str]
    ) -> None:
        rows = listed(self.folder / name, key, inner)
        if not ids:
            kept = within(rows, times, query)
            self.answer({key: {inner: kept} if kept else None})
        elif found := [row for row in rows if row["id"] == ids[0]]:
            self.answer({inner: found[0]})
        else:
            self.missing(ids[0])

    def configuration(self, job: str) -> None:
        faults = self.folder / "faults.json"
        fault = json.loads(faults.read_text()).get(job, {}) if faults.exists() else {}
        file = self.folder / f"conf-{job}.json"
        time.sleep(fault.get("delay_s", 0))
        if fault.get("status", 200) != 200:
            self.answer(
                {"RemoteException": {"exception": "WebApplicationException", "message": f"{job}_conf.xml"}},
                fault["status"],
            )
        elif file.exists():
            self.answer(json.loads(file.read_text()))
        else:
            self.missing(job)

    def missing(self, name: str) -> None:
        self.answer({"RemoteException": {"exception": "NotFoundException", "message": name}}, 404)

    def answer(self, body: dict[str, Any], status: int = 200) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json;charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Do not log requests."""


if __name__ == "__main__":
    Answers.folder = Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()
