"""navlin's HTTP API, through a real `navlin web` on a real Solr."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
import requests
from starlette.requests import Request
from starlette.responses import StreamingResponse

from navlin.access.authentication import Caller
from navlin.access.roles import Role
from navlin.access.store import AccessFile, User
from navlin.api import navigator
from navlin.api.answers import HttpError
from navlin.api.application import SECURITY_HEADERS, answered, closing_after
from navlin.api.bodies import SMALL_BYTES, Bodies
from navlin.api.callers import CSRF_HEADER, OPEN
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.limits import AT_ONCE, IN_ALL, Questions
from navlin.api.own import ENDPOINTS, ROOT
from navlin.api.walking import WALKS_IN_ALL
from navlin.console import PAGES
from navlin.index.journal.holder import this_process
from navlin.index.solr.solr import Solr
from navlin.questions.declare.shared import Nothing
from navlin.service.settings.configuration import BadConfiguration, read_configuration
from navlin.service.web_address import save_web_address, web_address, web_addresses
from tests.services.certificates import certificate
from tests.support.query_estate import World
from tests.support.web import PASSWORD, PATIENCE_S, Web, running_web, started_web


@pytest.fixture
def world(solr: Solr, request: pytest.FixtureRequest) -> World:
    return World(solr, request.node.name)


def path_of(endpoint: Any) -> str:
    return ROOT + re.sub(r"\{\w+\}", "x", endpoint.path)


def test_an_answer_does_not_wait_for_the_acknowledgement_of_its_headers(web: Web) -> None:
    """On a persistent connection, the kernel acknowledges the first packets immediately and later ones after 40 ms."""
    with requests.Session() as session:

        def took_s() -> float:
            began_s = time.perf_counter()
            assert session.get(f"{web.url}/healthz", timeout=PATIENCE_S).ok
            return time.perf_counter() - began_s

        for _ in range(40):
            took_s()
        # A response that waited would always take 40 ms. On a busy machine, most responses take longer anyway.
        assert any(took_s() < 0.03 for _ in range(1_000))


# -- Authentication ------------------------------------------------------------------------------------------------------


def test_three_addresses_need_no_authentication(web: Web) -> None:
    assert web.get("/api/version", user=None).content == b"v14"
    assert web.get("/healthz", user=None).status_code == 200
    assert web.get("/readyz", user=None).status_code == 200
    assert {"/api/version", "/healthz", "/readyz"} == OPEN


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: f"{each.method} {each.path}")
def test_every_endpoint_requires_its_role(web: Web, endpoint: Any) -> None:
    nobody = web.send(endpoint.method, path_of(endpoint), user=None)
    assert nobody.status_code == 401
    assert nobody.headers["WWW-Authenticate"].startswith("Basic ")
    assert web.send(endpoint.method, path_of(endpoint), user=f"nobody for {endpoint.path}").status_code == 401
    for name, role in (("viewer", 1), ("editor", 2), ("chief", 3)):
        status = web.send(endpoint.method, path_of(endpoint), user=name).status_code
        assert (status == 403) == (role < endpoint.role), f"{name}: {status}"
        assert status != 401


@pytest.mark.parametrize(
    "path", ["/", "/nothing", ROOT, ROOT + "/openapi.json", "/api/v9/entities", "/healthz/x"]
)
def test_an_unauthenticated_request_does_not_reveal_whether_an_address_exists(web: Web, path: str) -> None:
    assert web.get(path, user=None).status_code == 401


def test_a_token_replaces_a_password(web: Web) -> None:
    secret = AccessFile(web.file.parent / "state").add_token("viewer", "test", None, 0)
    headers = {"Authorization": f"Bearer {secret}"}
    assert web.send("GET", ROOT + "/search?query=x", None, headers=headers).status_code == 200
    assert web.send("POST", ROOT + "/link", None, headers=headers).status_code == 403


def test_guessing_is_throttled_and_logged(web: Web) -> None:
    statuses = [web.get(ROOT + "/status", user="guest").status_code for _ in range(8)]
    assert statuses[:5] == [401] * 5
    assert 429 in statuses
    assert len(web.logged("request refused", 8, user="guest")) == 8
    assert all(PASSWORD not in json.dumps(line) for line in web.log)


# -- Responses -------------------------------------------------------------------------------------------------------------


def test_answers_equal_those_of_the_command(web: Web, world: World) -> None:
    a, b = world.table("a", "x"), world.table("b", "x")
    world.operation("b from a", [a], [b])
    world.index()
    query = f"sourceId:{world.source('HIVE').id} AND type:TABLE"
    assert web.asked("/search", query=query, facet=["type", "deleted"], limit=1) == web.command(
        "search", query, "--facet", "type", "--facet", "deleted", "--limit", "1"
    )
    assert web.asked("/show", entity=a.identity) == web.command("show", a.identity)
    assert web.asked("/lineage", entity=b.identity, columns="true", direction="upstream") == web.command(
        "lineage", b.identity, "--columns", "--direction", "upstream"
    )
    assert web.asked("/lineage", entity=b.identity)["nodes"]


def test_the_status_equals_that_of_the_command(web: Web) -> None:
    ours, printed = web.asked("/status"), web.command("status")
    for each in (ours, printed):
        del each["now_ms"], each["space"]
    assert ours == printed


def test_a_trailing_slash_and_a_stripped_prefix_are_the_same_address(web: Web) -> None:
    without = web.url.removesuffix("/navlin")
    for url in (f"{web.url}{ROOT}/search/", f"{without}{ROOT}/search", f"{without}{ROOT}/search/"):
        answer = requests.get(url, {"query": "x"}, auth=("viewer", PASSWORD), timeout=PATIENCE_S)
        assert answer.status_code == 200, url


@pytest.mark.parametrize(
    ("path", "parameters", "status", "words"),
    [
        ("/search", {}, 400, "give either query or saved"),
        ("/search", {"query": "x", "saved": "y"}, 400, "give either query or saved"),
        ("/search", {"saved": "nothing of that name"}, 404, "there is no saved search"),
        ("/search", {"query": "x", "limit": "many"}, 400, "limit must be a whole number"),
        ("/search", {"query": "x", "limit": "-1"}, 400, "limit must be from 0 to 500,000"),
        ("/search", {"query": "x", "offset": "6888665966921"}, 400, "offset must be from 0 to 2,000,000,000"),
        ("/search", {"query": ""}, 400, "give either query or saved"),
        ("/runs", {"offset": "6888665966921"}, 400, "offset must be from 0 to 1,000,000"),
        ("/unlinked", {"limit": "0"}, 400, "limit must be from 1 to 10,000"),
        ("/search", {"query": "type:["}, 400, ""),
        ("/search", {"query": "{!join from=sourceId to=sourceId fromIndex=nav_runs v='*:*'}"}, 400, ""),
        ("/search", {"query": "x", "filter": "{!func}add(1,1)"}, 400, ""),
        ("/search", {"query": "x", "sort": "nothing asc"}, 400, "nothing"),
        ("/lineage", {"entity": "nothing.of.that.name"}, 404, "no entity named"),
        ("/lineage", {"entity": "a) OR (*:*"}, 404, "no entity named"),
        ("/lineage", {"entity": "x", "direction": "sideways"}, 400, "direction must be one of"),
        ("/lineage", {"entity": "x", "depth": "0"}, 400, "depth must be from 1 to 1,000"),
        ("/lineage", {"entity": "x", "columns": "maybe"}, 400, "columns must be true or false"),
        ("/show", {"entity": ""}, 400, "entity must be given"),
        ("/requests/../../../etc/passwd", {}, 404, ""),
        ("/requests/%2e%2e%2fx", {}, 404, ""),
        ("/nothing", {}, 404, "page not found"),
    ],
)
def test_an_invalid_request_is_refused_with_a_message(
    web: Web, path: str, parameters: dict[str, str], status: int, words: str
) -> None:
    answer = web.get(ROOT + path, **parameters)
    assert answer.status_code == status, answer.text
    assert words in answer.json()["message"]
    assert "Traceback" not in answer.text


def test_an_ambiguous_name_returns_all_candidates(web: Web, world: World) -> None:
    first, second = world.table("twice", database="one"), world.table("twice", database="two")
    world.index()
    answer = web.get(ROOT + "/show", entity="twice")
    assert answer.status_code == 409
    assert {first.identity, second.identity} <= {each["id"] for each in answer.json()["candidates"]}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "is not valid JSON"),
        (b"[]", "must be a JSON object"),
        (b'{"every": true}', "unknown parameter every"),
        (b'{"all": "yes"}', "all must be true or false"),
        (b"\xff", "is not valid JSON"),
        (b"[" * 50_000, ""),
    ],
    ids=("cut", "a list", "unknown", "of another type", "no text", "deep"),
)
def test_an_invalid_body_is_refused(web: Web, body: bytes, words: str) -> None:
    answer = web.send("POST", ROOT + "/link", "chief", data=body)
    assert answer.status_code == 400
    assert words in answer.json()["message"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/purge?dry_run=true", {"before": "2026-01-01"}),
        ("/edit?dry_run=true", {"query": "*", "tag": ["a"]}),
        ("/extract?dry_run=true", {"source": "x"}),
    ],
)
def test_query_parameters_are_refused_if_a_body_is_expected(
    web: Web, path: str, body: dict[str, Any]
) -> None:
    answer = web.send("POST", ROOT + path, "chief", json=body)
    assert answer.status_code == 400
    assert answer.json()["message"] == ("send parameters in the JSON body, not in the address: dry_run")


def test_an_oversized_body_is_refused_whatever_its_content_length(web: Web) -> None:
    declared = web.send("POST", ROOT + "/link", "chief", headers={"Content-Length": str(SMALL_BYTES + 1)})
    assert declared.status_code == 413
    pieces = (b" " * 1_000 for _ in range(SMALL_BYTES // 1_000 + 2))
    assert web.send("POST", ROOT + "/link", "chief", data=pieces).status_code == 413


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/extract", {}, "source is missing"),
        ("/purge", {}, "before is missing"),
        ("/purge", {"before": "soon"}, "must be a date"),
        ("/purge", {"before": "9999-01-01"}, "in the future"),
        ("/purge", {"before": "2020-01-01", "accept": -1}, "accept must be from 0"),
        ("/extract", {"source": ""}, "source must be given"),
    ],
)
def test_an_invalid_job_is_not_submitted(web: Web, path: str, body: dict[str, str], words: str) -> None:
    answer = web.send("POST", ROOT + path, "chief", json=body)
    assert answer.status_code == 400
    assert words in answer.json()["message"]


@pytest.mark.parametrize(
    ("path", "body"), [("/extract", {"source": "s"}), ("/link", {}), ("/purge", {"before": "2020-01-01"})]
)
def test_a_job_is_refused_if_no_daemon_runs(web: Web, path: str, body: dict[str, str]) -> None:
    answer = web.send("POST", ROOT + path, "chief", json=body)
    assert answer.status_code == 503
    assert "navlin serve is not running" in answer.json()["message"]


def test_every_answer_has_the_security_headers(web: Web) -> None:
    for path, user in (
        ("/healthz", None),
        (ROOT + "/search?query=x", "viewer"),
        ("/x", None),
        ("/x", "viewer"),
    ):
        headers = web.get(path, user).headers
        assert SECURITY_HEADERS.items() <= headers.items(), path
        assert "server" not in headers


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_a_cross_origin_request_is_refused(web: Web, origin: str) -> None:
    answer = web.send(
        "POST", ROOT + "/link", "chief", headers={"Origin": origin, "Content-Type": "text/plain"}
    )
    assert answer.status_code == 403
    own = web.url.removesuffix("/navlin")
    assert web.send("POST", ROOT + "/link", "chief", headers={"Origin": own}).status_code == 503


def test_a_users_concurrent_queries_are_limited() -> None:
    questions = Questions(most=2)
    with questions.of("ann"), questions.of("ann"):
        with pytest.raises(HttpError) as raised, questions.of("ann"):
            pass
        assert raised.value.status == 429
        with questions.of("bob"):
            pass
    with questions.of("ann"):
        pass
    assert AT_ONCE > 1


class AtOnce:
    """Context manager that records the highest number of simultaneous entries."""

    def __init__(self) -> None:
        self.most = 0
        self.together = threading.Event()
        """Set once two callers are inside at the same time."""
        self._inside = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
            if self._inside > 1:
                self.together.set()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1


def asked_by(number: int) -> Request:
    user = User(f"u{number}", Role.LINEAGE_VIEWER, "")
    state = {"user": user, "caller": Caller(user, "password")}
    return Request({"type": "http", "query_string": b"", "path_params": {}, "headers": [], "state": state})


def test_concurrent_queries_of_all_users_are_limited() -> None:
    at_once = AtOnce()

    def slow(_asked: ApiRequest) -> dict[str, int]:
        with at_once:
            assert at_once.together.wait(60)
            time.sleep(0.05)
        return {}

    endpoint = Endpoint("GET", "/slow", Role.LINEAGE_VIEWER, "", Nothing, slow)
    questions = Questions()
    service: Any = SimpleNamespace(index=SimpleNamespace(solr=nullcontext))

    async def ask() -> None:
        async with anyio.create_task_group() as users:
            for number in range(3 * IN_ALL):
                users.start_soon(answered, service, questions, Bodies(), "/slow", endpoint, asked_by(number))

    anyio.run(ask)
    assert 1 < at_once.most <= IN_ALL


def test_a_search_does_not_wait_for_graph_walks() -> None:
    over, walking = threading.Event(), threading.Semaphore(0)

    def walk(_asked: ApiRequest) -> dict[str, int]:
        walking.release()
        assert over.wait(120)
        return {}

    walks = Endpoint("GET", "/walk", Role.LINEAGE_VIEWER, "", Nothing, walk, walks=True)
    search = Endpoint("GET", "/quick", Role.LINEAGE_VIEWER, "", Nothing, lambda _asked: {})
    questions = Questions()
    service: Any = SimpleNamespace(index=SimpleNamespace(solr=nullcontext))

    async def ask(endpoint: Endpoint, number: int) -> int:
        return (
            await answered(service, questions, Bodies(), endpoint.path, endpoint, asked_by(number))
        ).status_code

    async def all_ask() -> None:
        async with anyio.create_task_group() as users:
            for number in range(2 * WALKS_IN_ALL):
                users.start_soon(ask, walks, number)
            for _ in range(WALKS_IN_ALL):
                await anyio.to_thread.run_sync(walking.acquire)
            with anyio.fail_after(60):
                for number in range(3 * IN_ALL):
                    assert await ask(search, number) == 200
            assert not walking.acquire(blocking=False), "no more of them begin meanwhile"
            over.set()

    anyio.run(all_ask)


def test_a_streamed_walk_counts_as_a_walk_until_its_end() -> None:
    at_once = AtOnce()

    def walk(_asked: ApiRequest) -> Iterator[bytes]:
        yield b"head"
        for number in range(3):
            with at_once:
                time.sleep(0.05)
            yield b" %d" % number

    walks = Endpoint("GET", "/walk", Role.LINEAGE_VIEWER, "", Nothing, walk, walks=True)
    service: Any = SimpleNamespace(index=SimpleNamespace(solr=nullcontext))
    questions, bodies = Questions(), list[bytes]()

    async def ask(number: int) -> None:
        response = await answered(service, questions, Bodies(), walks.path, walks, asked_by(number))
        assert isinstance(response, StreamingResponse)
        bodies.append(b"".join([piece async for piece in response.body_iterator]))  # type: ignore[misc]

    async def all_ask() -> None:
        async with anyio.create_task_group() as users:
            for number in range(WALKS_IN_ALL + 3):
                users.start_soon(ask, number)

    anyio.run(all_ask)
    assert bodies == [b"head 0 1 2"] * (WALKS_IN_ALL + 3)
    assert at_once.most <= WALKS_IN_ALL


def test_endpoints_that_walk_the_graph_are_marked() -> None:
    named = {"/lineage", "/impact", "/evidence", "/inherited", "/unused"}
    assert {each.path for each in ENDPOINTS if each.walks} == named
    assert {each.path for each in PAGES if each.walks} == named - {"/unused"}
    assert {each.path for _, _, each in navigator.addresses() if each.walks} == {
        "/lineage",
        "/lineage3/export",
    }


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_an_abandoned_answer_no_longer_counts(taken: int) -> None:
    questions = Questions(most=1)
    with ExitStack() as held:
        held.enter_context(questions.of("ann"))
        pieces = closing_after(iter([b"a", b"b", b"c"]), held.pop_all())
    assert b"".join(islice(pieces, taken)) == b"abc"[:taken]
    with pytest.raises(HttpError), questions.of("ann"):
        pass

    del pieces

    with questions.of("ann"):
        pass


# -- The API description ---------------------------------------------------------------------------------------------------


def test_the_openapi_document_lists_every_endpoint(web: Web) -> None:
    described = web.asked("/openapi.json")
    assert described["openapi"].startswith("3.1")
    addresses = {(path, method.upper()) for path, each in described["paths"].items() for method in each}
    assert addresses == {(f"/navlin{ROOT}{each.path}", each.method) for each in ENDPOINTS}
    for operations in described["paths"].values():
        for operation in operations.values():
            properties = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            named = [
                *operation.get("parameters", []),
                *properties.get("schema", {}).get("properties", {}).values(),
            ]
            assert all(each["description"] for each in named), operation["operationId"]


def test_the_openapi_document_names_every_means_of_authentication(web: Web) -> None:
    described = web.asked("/openapi.json")
    schemes = described["components"]["securitySchemes"]
    log_in = web.send("POST", "/login", None, json={"name": "viewer", "password": PASSWORD})
    assert schemes["session"] == {"type": "apiKey", "in": "cookie", "name": next(iter(log_in.cookies.keys()))}
    assert schemes["csrf"] == {"type": "apiKey", "in": "header", "name": CSRF_HEADER}
    for operations in described["paths"].values():
        for method, operation in operations.items():
            ways = operation.get("security", described["security"])
            by_session: dict[str, list[str]] = (
                {"session": []} if method == "get" else {"session": [], "csrf": []}
            )
            assert ways == [{"password": []}, {"token": []}, by_session], operation["operationId"]


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        ("/search?query=x", "application/json"),
        ("/search?query=x&csv=true", "*/*"),
        ("/search?query=x&jsonl=true", "*/*"),
        ("/search?query=x", "text/plain; width=100"),
        ("/unused?days=1&csv=true", "*/*"),
    ],
)
def test_the_media_type_of_an_answer_is_described(web: Web, path: str, accept: str) -> None:
    answer = web.send("GET", ROOT + path, "viewer", headers={"Accept": accept})
    described = web.asked("/openapi.json")["paths"][f"/navlin{ROOT}{path.partition('?')[0]}"]["get"]
    assert answer.headers["Content-Type"] in described["responses"]["200"]["content"]


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        (ROOT + "/saved", {"GET", "HEAD", "POST", "DELETE"}),
        (ROOT + "/link", {"POST"}),
        ("/api/v9/entities/x", {"GET", "HEAD", "PUT"}),
        ("/login", {"GET", "HEAD", "POST"}),
    ],
)
def test_an_unsupported_method_lists_the_allowed_ones(web: Web, path: str, methods: set[str]) -> None:
    answer = web.send("PATCH", path, "chief")
    assert answer.status_code == 405
    assert set(answer.headers["Allow"].split(", ")) == methods


# -- The process -----------------------------------------------------------------------------------------------------------


NO_PROCESS = 1 << 22
"""Greater than the kernel's largest process id."""


@pytest.mark.services
def test_each_process_has_its_own_address_and_serves_is_listed_first(web: Web) -> None:
    state = web.file.parent / "state"
    assert web_addresses(state) == [web.url]
    # This process plays the web process started by serve: it is alive and has saved its URL.
    file = save_web_address(state, "http://127.0.0.1:7187", alone=False)
    try:
        with started_web(web.file) as other:
            assert web_addresses(state)[0] == web_address(state) == "http://127.0.0.1:7187"
            assert sorted(web_addresses(state)[1:]) == sorted([web.url, other.url])
            assert web.command("status")["web_addresses"] == web_addresses(state)
        assert web_addresses(state) == ["http://127.0.0.1:7187", web.url]
        killed = replace(this_process(), pid=NO_PROCESS)
        left = state / f"web-{NO_PROCESS}.json"
        left.write_text(json.dumps({"holder": asdict(killed), "url": "http://127.0.0.1:1"}))
        assert web_addresses(state) == ["http://127.0.0.1:7187", web.url]
        with started_web(web.file):
            assert not left.exists(), "what one that was killed has left is removed by the next"
    finally:
        file.unlink()


def test_a_port_in_use_is_reported(web: Web) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        file = web.file.with_name("taken.toml")
        file.write_text(web.file.read_text().replace("port = 0", f"port = {port}"))
        done = subprocess.run(
            [sys.executable, "-m", "navlin", "--config", str(file), "web"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
    assert done.returncode == 1
    assert f"127.0.0.1:{port} cannot be opened" in done.stderr
    assert "set another port in [web]" in done.stderr


@pytest.mark.services
def test_tls_uses_the_configured_certificate(solr: Solr, tmp_path: Path) -> None:
    server = certificate(tmp_path / "tls")
    lines = (
        f'certificate_file = "{server.certificate}"',
        f'key_file = "{server.key}"',
        'address = "0.0.0.0"',
    )
    with running_web(solr.address, tmp_path, *lines) as web:
        web.url = web.url.replace("0.0.0.0", "127.0.0.1")
        assert web.url.startswith("https://")
        answer = web.send("GET", ROOT + "/search?query=x", verify=str(server.certificate))
        assert answer.status_code == 200
        assert answer.headers["Strict-Transport-Security"]
        with pytest.raises(requests.exceptions.SSLError):
            web.get("/healthz", user=None)
        with pytest.raises(requests.exceptions.ConnectionError):
            requests.get(web.url.replace("https:", "http:") + "/healthz", timeout=PATIENCE_S)


@pytest.mark.services
def test_a_trusted_proxy_names_the_user(solr: Solr, tmp_path: Path) -> None:
    lines = ('trusted_proxies = ["127.0.0.1"]', 'user_header = "X-Forwarded-User"')
    with running_web(solr.address, tmp_path, *lines) as web:

        def asked(path: str, *names: str, method: str = "GET") -> int:
            with socket.create_connection(("127.0.0.1", int(web.url.split(":")[2].split("/")[0]))) as raw:
                headers = "".join(f"X-Forwarded-User: {name}\r\n" for name in names)
                raw.sendall(
                    f"{method} /navlin{path} HTTP/1.1\r\nHost: x\r\n{headers}Content-Length: 0\r\n"
                    "Connection: close\r\n\r\n".encode()
                )
                return int(raw.makefile("rb").readline().split()[1])

        assert asked(f"{ROOT}/search?query=x", "viewer") == 200
        assert asked(f"{ROOT}/search?query=x") == 401
        assert asked(f"{ROOT}/search?query=x", "stranger") == 401
        assert asked(f"{ROOT}/search?query=x", "viewer", "chief") == 401
        assert asked(f"{ROOT}/link", "viewer", method="POST") == 403
        assert asked(f"{ROOT}/link", "chief", method="POST") == 503, "there is no daemon"
        assert web.get(f"{ROOT}/search?query=x").status_code == 200, "a password does as before"


OFF_LOOPBACK = {
    'address = "0.0.0.0"': "passwords would cross the network unencrypted",
    'address = "::"': "passwords would cross the network unencrypted",
    'address = "localhost"': "must be an IP address",
    'certificate_file = "x.pem"': "certificate_file needs key_file",
    'base_path = "navlin"': "must begin with a slash",
    'base_path = "/"': "must begin with a slash",
    "port = 70000": "port must be from 0",
    'user_header = "X-Forwarded-User"': "user_header needs trusted_proxies",
    'trusted_proxies = ["127.0.0.1"]': "trusted_proxies needs user_header",
    'proxy_role = "lineage-viewer"': "proxy_role needs user_header",
    'trusted_proxies = ["knox"]\nuser_header = "X-U"': "'knox' is not one",
    'trusted_proxies = ["127.0.0.1"]\nuser_header = "X U"': "must be the name of a header",
    'trusted_proxies = ["127.0.0.1"]\nuser_header = "Authorization"': "must be the name of a header",
    'trusted_proxies = ["127.0.0.1"]\nuser_header = "X-U"\nproxy_role = "chief"': "proxy_role must be one of",
}


@pytest.mark.parametrize(("setting", "words"), OFF_LOOPBACK.items(), ids=OFF_LOOPBACK)
def test_insecure_or_inconsistent_settings_are_refused(tmp_path: Path, setting: str, words: str) -> None:
    file = tmp_path / "navlin.toml"
    file.write_text(f'[navlin]\ncluster = "c"\n\n[web]\n{setting}\n')
    with pytest.raises(BadConfiguration, match=words):
        read_configuration(file, None, {})
    file.write_text('[navlin]\ncluster = "c"\n\n[web]\naddress = "0.0.0.0"\ntls_by_proxy = true\n')
    assert read_configuration(file, None, {}).web.tls_by_proxy
