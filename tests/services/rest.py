"""The part of Hadoop's REST services that navlin queries. Tests set the contents, which are served over a real
socket."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import SplitResult, parse_qsl, urlsplit

Query = Mapping[str, str]
Answer = tuple[int, Mapping[str, str], bytes]


class RestServer:
    """A server of GET requests whose ``routes`` tests may change at any time.

    A key of ``routes`` is a path, or a path prefix that ends with /. ``asked`` lists the requested paths with their
    parameters; a repeated parameter is an error. ``now_ms`` is the server's clock.
    """

    def __init__(self, now_ms: int = 1_800_000_000_000, port: int = 0) -> None:
        self.routes: dict[str, Callable[[str, Query], Answer]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.now_ms = now_ms
        outer = self

        class Requests(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # With Nagle's algorithm, a response of a header and a body is delayed by some 40 ms.
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                outer._serve(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Requests)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        status, headers, body = self._answer(urlsplit(request.path))
        request.send_response_only(status)
        for _ in range(2):  # as Hadoop does
            request.send_header("Date", formatdate(self.now_ms // 1000, usegmt=True))
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    def _answer(self, url: SplitResult) -> Answer:
        given = parse_qsl(url.query)
        query = dict(given)
        self.asked.append((url.path, query))
        if len(query) < len(given):
            return 400, {}, b"a parameter is said twice"
        known = [route for route in self.routes if url.path == route]
        known += [route for route in self.routes if route.endswith("/") and url.path.startswith(route)]
        return self.routes[known[0]](url.path, query) if known else not_found(url.path)


def as_json(value: Any) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def not_found(path: str) -> Answer:
    payload = {"RemoteException": {"exception": "NotFoundException", "message": f"{path} not found"}}
    return 404, {"Content-Type": "application/json"}, json.dumps(payload).encode()


class ResourceManager(RestServer):
    """Lists ``apps`` by state and time window, as ClientRMService does. A limited response contains an unspecified
    choice."""

    def __init__(self, *apps: dict[str, Any], now_ms: int = 1_800_000_000_000, port: int = 0) -> None:
        super().__init__(now_ms, port)
        self.apps = list(apps)
        self.routes["/ws/v1/cluster/apps"] = self._apps
        self.routes["/ws/v1/cluster/apps/"] = self._app
        self.routes["/ws/v1/cluster/info"] = lambda *_: as_json(
            {"clusterInfo": {"hadoopVersion": "3.5.0", "haState": "ACTIVE"}}
        )

    def _apps(self, _: str, query: Query) -> Answer:
        found = [app for app in self.apps if _listed(app, query, "finishedTime")]
        if "states" in query:
            states = query["states"].split(",")
            found = [app for app in found if app["state"] in states]
        return as_json({"apps": {"app": found[: int(query.get("limit", len(found)))]} if found else None})

    def _app(self, path: str, _: Query) -> Answer:
        found = [app for app in self.apps if app["id"] == path.rsplit("/", 1)[1]]
        return as_json({"app": found[0]}) if found else not_found(path)


class JobHistory(RestServer):
    """Lists ``jobs``. ``configurations`` maps the id of a job to the properties of its configuration."""

    def __init__(self, now_ms: int = 1_800_000_000_000) -> None:
        super().__init__(now_ms)
        self.jobs: list[dict[str, Any]] = []
        self.configurations: dict[str, dict[str, Any]] = {}
        self.routes["/ws/v1/history/mapreduce/jobs"] = self._jobs
        self.routes["/ws/v1/history/mapreduce/jobs/"] = self._configuration

    def add(self, job: dict[str, Any], **properties: Any) -> None:
        """Add a job. In the names of ``properties``, _ replaces a dot."""
        self.jobs.append(job)
        self.configurations[job["id"]] = {name.replace("_", "."): text for name, text in properties.items()}

    def _jobs(self, _: str, query: Query) -> Answer:
        found = [job for job in self.jobs if _listed(job, query, "finishTime")]
        return as_json({"jobs": {"job": found[: int(query.get("limit", len(found)))]} if found else {}})

    def _configuration(self, path: str, _: Query) -> Answer:
        job = path.split("/")[-2]
        if job not in self.configurations:
            return not_found(path)
        listed = [{"name": n, "value": v, "source": ["job.xml"]} for n, v in self.configurations[job].items()]
        return as_json({"conf": {"path": f"hdfs://ns1/{job}.xml", "property": listed}})


def _listed(thing: Mapping[str, Any], query: Query, finish: str) -> bool:
    begin, end = int(query.get("finishedTimeBegin", 0)), int(query.get("finishedTimeEnd", 1 << 62))
    return begin <= int(thing[finish]) <= end
