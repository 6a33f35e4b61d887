"""An export accepts a server's response only in the target's own form, so that a gateway's response is never taken for
a delivery.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

import pytest

from navlin.export.answers import NotConfirmed
from navlin.export.choosing import Selection
from navlin.export.connection import ServerAddress, ServerConnection
from navlin.export.following import follow
from navlin.export.target import targets
from navlin.export.writing import Exported, ExportQuestion
from navlin.index.journal.export_positions import load_export
from navlin.index.solr.solr import Solr
from navlin.service.check import Finding, check
from navlin.service.settings.configuration import read_configuration
from tests.support.atlas_server import running_atlas
from tests.support.query_estate import AS_OF_MS, World

NUMBERS = count()
PAGE = b"<html><body>Please log in</body></html>"
HTML, JSON, TEXT = "text/html; charset=utf-8", "application/json", "text/plain"
Answer = tuple[int, str, bytes]
OF_ANOTHER: dict[str, Answer] = {
    "a log-in page": (200, HTML, PAGE),
    "a log-in page without its type": (200, "", PAGE),
    "a page for each address": (404, HTML, PAGE),
    "a page that says bad request": (400, HTML, PAGE),
    "a text": (200, TEXT, b"welcome"),
    "an object cut off": (200, JSON, b'{"value": "succ'),
}
NOT_THIS: dict[str, Answer] = {
    "nothing": (200, JSON, b""),
    "another service's object": (200, JSON, b'{"ok": true}'),
    "a list": (200, JSON, b"[]"),
    "another service's 404": (404, JSON, b'{"message": "no route"}'),
}
ROWS = [
    *((target, name, answer) for target in ("atlas", "datahub", "openlineage") for name, answer in OF_ANOTHER.items()),
    *((target, name, answer) for target in ("atlas", "datahub") for name, answer in NOT_THIS.items()),
    ("openlineage", "another service's 404", NOT_THIS["another service's 404"]),
    ("openlineage", "no such method", (405, JSON, b"{}")),
]  # fmt: skip
RIGHT: dict[str, tuple[Answer, int]] = {
    "datahub": ((200, JSON, b'{"value":"success"}'), 29),
    "openlineage": ((201, "", b""), 4),
}
"""Target → (a valid response of a server, number of records in the estate's export)."""
CONFIGURATION = (200, JSON, b'{"noCode":"true","versions":{"acryldata/datahub":{"version":"v1.1.0"}}}')


@contextmanager
def gateway(answer: Answer) -> Iterator[tuple[str, list[Answer], list[str]]]:
    """Run a server that gives the same response to every request. Yield its URL, a list whose only element is the
    response and may be replaced, and the list of requests.
    """
    answers, asked = [answer], list[str]()

    class Requests(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            asked.append(f"{self.command} {self.path}")
            status, kind, body = answers[0]
            self.send_response(status)
            if kind:
                self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_DELETE = do_POST

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Requests)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", answers, asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def world(solr: Solr) -> World:
    world = World(solr, f"answers-{next(NUMBERS)}")
    one, other = world.table("t0", "a"), world.table("t1", "a")
    world.execution(
        world.operation("insert", [one], [other], operationType="INSERT"), "run", started=AS_OF_MS
    )
    world.index()
    return world


def followed(world: World, target: str, name: str, url: str) -> Exported:
    sources = " ".join(source.id for source in world.sources.values())
    made = targets()[target]
    question = ExportQuestion(made, Selection(f"sourceId:({sources})"), made.options())
    with closing(ServerConnection(ServerAddress(url), again_after_s=())) as connection:
        return follow(
            world.solr,
            name,
            question,
            connection,
            now_ms=lambda: AS_OF_MS,
            refused=lambda _: None,
            progress=lambda _: None,
        )


@pytest.mark.parametrize(("target", "kind", "answer"), ROWS, ids=[f"{row[0]}: {row[1]}" for row in ROWS])
def test_a_foreign_servers_answer_is_not_a_delivery_and_keeps_the_position(
    world: World, target: str, kind: str, answer: Answer
) -> None:
    name = f"{world.name}-{next(NUMBERS)}"
    with gateway(answer) as (url, answers, asked):
        with pytest.raises(NotConfirmed, match="correct the address"):
            followed(world, target, name, url)
        assert len(asked) <= 2
        assert load_export(world.solr, name).until == ""
        if target in RIGHT:
            answers[0], records = RIGHT[target]
            done = followed(world, target, name, url)
            assert (done.sent, done.records, done.refusals) == (records, records, 0)


def test_an_incomplete_confirmation_by_atlas_is_retried(world: World) -> None:
    name = f"{world.name}-{next(NUMBERS)}"
    with running_atlas() as atlas:
        atlas.forgets = True
        with pytest.raises(NotConfirmed, match=r"guids of everything that was sent \(1 missing\)"):
            followed(world, "atlas", name, atlas.url)
        assert load_export(world.solr, name).until == ""
        atlas.forgets = False
        assert followed(world, "atlas", name, atlas.url).refusals == 0


@pytest.mark.parametrize(
    ("body", "refused"),
    [(b"", False), (b"OK", False), (b'{"status":"success"}', False), (b'{"status":"failure","why":"x"}', True)],
    ids=["nothing", "OK", "success", "failure"],
)  # fmt: skip
def test_answers_of_openlineage_servers_are_understood(world: World, body: bytes, refused: bool) -> None:
    name = f"{world.name}-{next(NUMBERS)}"
    with gateway((200, JSON if body[:1] == b"{" else TEXT, body)) as (url, _, _):
        done = followed(world, "openlineage", name, url)
    assert (done.sent, done.refusals) == ((0, done.records) if refused else (done.records, 0))


def test_a_proxys_413_refuses_only_that_request(world: World) -> None:
    with gateway((413, HTML, b"<html>Request Entity Too Large</html>")) as (url, _, _):
        done = followed(world, "openlineage", f"{world.name}-{next(NUMBERS)}", url)
    assert (done.sent, done.refusals) == (0, done.records)


# -- navlin check ----------------------------------------------------------------------------------------------------------


def asked(folder: Path, target: str, url: str) -> Finding:
    file = folder / "navlin.toml"
    file.write_text(f'[navlin]\ncluster = "c"\n[[export]]\nname = "E"\ntarget = "{target}"\nurl = "{url}"\n')
    found = [each for each in check(read_configuration(file, {}, {}), {}) if each.subject == "export E"]
    (one,) = found
    return one


@pytest.mark.parametrize("target", ["atlas", "datahub", "openlineage"])
@pytest.mark.parametrize(
    "kind", ["nobody", "a log-in page", "a page for each address", "another service's 404"]
)
def test_check_reports_an_export_without_a_server_of_its_target(
    tmp_path: Path, target: str, kind: str
) -> None:
    with gateway({**OF_ANOTHER, **NOT_THIS}.get(kind, (500, TEXT, b""))) as (url, _, sent):
        finding = asked(tmp_path, target, "http://127.0.0.1:1" if kind == "nobody" else url)
    assert not finding.fine and not finding.needed
    assert "127.0.0.1" in finding.text
    assert not any(each.startswith("POST") for each in sent)


def test_check_queries_each_target_without_sending_data(tmp_path: Path) -> None:
    with running_atlas() as atlas:
        finding = asked(tmp_path, "atlas", atlas.url)
        assert (finding.fine, finding.text) == (True, f"{atlas.url}, Atlas with 2 types")
        assert {method for method, _ in atlas.requests} == {"GET"}
    with running_atlas(user="ann", password="right") as atlas:
        assert "refused the log-in" in asked(tmp_path, "atlas", atlas.url).text
    with gateway(CONFIGURATION) as (url, _, sent):
        assert asked(tmp_path, "datahub", url).text == f"{url}, DataHub v1.1.0"
        assert sent == ["GET /config"]
    with gateway((405, JSON, b"{}")) as (url, _, sent):
        assert asked(tmp_path, "openlineage", url).text == f"{url}, answers at /api/v1/lineage"
        assert sent == ["GET /api/v1/lineage"]
