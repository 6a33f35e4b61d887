"""``navlin --url``: a command prints the same result for a remote server as for the local index."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner, Result

from navlin.access.store import AccessFile
from navlin.api.answers import text_width
from navlin.api.own import ROOT
from navlin.cli import COMMANDS, main
from navlin.cli.invocation import Exit
from navlin.cli.terminal import print_csv, print_pieces
from navlin.index.solr.solr import Solr
from navlin.questions import NAMES
from tests.support.query_estate import World
from tests.support.web import Web

Navlin = Callable[..., Result]


@pytest.fixture
def world(solr: Solr) -> World:
    world = World(solr, "remote", "remote_db")
    first, second = world.table("remote_a", "id"), world.table("remote_b", "id", owner="remote_etl")
    world.operation("insert remote", [first], [second], parts={"remote_b.id": ["remote_a.id"]})
    world.index()
    return world


@pytest.fixture
def token_file(web: Web, tmp_path: Path) -> Path:
    file = tmp_path / "token"
    secret = AccessFile(web.file.parent / "state").add_token("chief", "test", None, 1_800_000_000_000, 0)
    file.write_text(secret + "\n")
    return file


@pytest.fixture
def here(web: Web) -> Navlin:
    return lambda *arguments: CliRunner().invoke(main, ["--config", str(web.file), *arguments])


@pytest.fixture
def remote(web: Web, token_file: Path, tmp_path: Path) -> Navlin:
    """Run commands on a remote server, without any configuration on this machine."""
    given = ["--config", str(tmp_path / "none.toml"), "--url", web.url, "--token-file", str(token_file)]
    return lambda *arguments: CliRunner().invoke(main, [*given, *arguments])


def test_an_answer_may_be_split_within_a_character(capsys: pytest.CaptureFixture[str]) -> None:
    whole = '{"name": "Tschüß €"}\n'.encode()
    for cut in range(len(whole)):
        print_pieces([whole[:cut], whole[cut:]])
        assert capsys.readouterr().out.encode() == whole
        print_csv([whole[:cut], whole[cut:]])
        assert capsys.readouterr().out.encode() == whole


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC"])
def test_a_date_option_is_utc_in_every_time_zone(
    here: Navlin, remote: Navlin, world: World, zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.elements[world.column("remote_a.id").identity].update(tags=["remotely"])
    world.elements[world.column("remote_b.id").identity].update(firstSeen="2025-12-31T23:30:00Z")
    world.index()
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for since, found in (("2025-12-31", 1), ("2026-01-01", 0)):
            for asked in (here, remote):
                answer = json.loads(asked("inherited", "remotely", "--since", since, "--json").stdout)
                assert len(answer["inherited"]) == found
    finally:
        monkeypatch.undo()
        time.tzset()


ASKED = [
    ("search", "owner:remote_etl"),
    ("search", "owner:remote_etl", "--facet", "type", "--filter", "type:TABLE", "--limit", "1"),
    ("search", "owner:remote_etl", "--sort", "originalName asc", "--offset", "1"),
    ("search", "owner:nobody_at_all"),
    ("count", "owner:remote_etl", "--by", "sourceType,type", "--filter", "type:TABLE", "--values", "3"),
    ("count", "owner:nobody_at_all", "--by", "type"),
    ("show", "remote_db.remote_b"),
    ("lineage", "remote_db.remote_b"),
    ("lineage", "remote_db.remote_b", "--columns", "--operations", "--direction", "upstream", "--depth", "1"),
    ("lineage", "remote_db.remote_a", "--deleted", "--control-flow", "--unlinked", "--all-executions"),
    ("impact", "remote_db.remote_a"),
    ("impact", "remote_db.remote_a.id", "--max-nodes", "5"),
    # Evidence lists every source in the index, and the tests leave thousands of sources.
    pytest.param(("evidence", "remote_db.remote_b"), marks=pytest.mark.services),
    ("status",),
    ("unlinked", "--limit", "3"),
    ("incomplete", "--limit", "3", "--offset", "1"),
    ("rejects", "--limit", "3"),
    ("runs", "--limit", "3", "--status", "failed", "--status", "held"),
]  # fmt: skip


@pytest.mark.parametrize("arguments", ASKED, ids=lambda words: " ".join(words))
def test_an_answer_equals_that_of_the_local_command(
    here: Navlin, remote: Navlin, world: World, arguments: tuple[str, ...]
) -> None:
    near, far = here(*arguments), remote(*arguments)
    assert far.exit_code == near.exit_code, far.output
    assert without_seconds(far.stdout) == without_seconds(near.stdout)

    near, far = here(*arguments, "--json"), remote(*arguments, "--json")
    assert far.exit_code == near.exit_code
    assert timeless(json.loads(far.stdout)) == timeless(json.loads(near.stdout))


@pytest.mark.parametrize(
    "arguments",
    [
        ("impact", "remote_db.remote_a", "--csv"),
        ("count", "owner:remote_etl", "--by", "type", "--by", "originalName", "--csv"),
        ("inherited", "nothing-has-this-tag", "--csv"),
    ],
    ids=" ".join,
)
def test_csv_output_equals_that_of_the_local_command(
    here: Navlin, remote: Navlin, world: World, arguments: tuple[str, ...]
) -> None:
    near, far = here(*arguments), remote(*arguments)
    assert (far.stdout, far.exit_code) == (near.stdout, near.exit_code)


@pytest.mark.parametrize("name", ["inherited", "unused"])
def test_a_streamed_answer_needs_json_or_csv(remote: Navlin, name: str) -> None:
    given = {"unused": ("--days", "30"), "inherited": ("nothing-has-this-tag",)}[name]
    refused = remote(name, *given)

    assert refused.exit_code == Exit.USAGE
    assert "--json or --csv" in refused.stderr


def test_streamed_json_is_passed_on(remote: Navlin) -> None:
    assert json.loads(remote("inherited", "nothing-has-this-tag", "--json").stdout)


@pytest.mark.parametrize(
    "arguments",
    [
        ("atlas",),
        ("atlas", "--hook", "--namespace", "x", "--no-texts", "--all-executions"),
        ("atlas", "-t", "remote_b", "--tables-only"),
        ("atlas", "-d", "no_such_database"),
        ("atlas", "-f", "names"),
        ("datahub", "--no-owners", "--env", "DEV", "--filter", "type:TABLE"),
        ("openlineage", "--parent"),
        ("sqlflow", "--table-level"),
    ],
    ids=" ".join,
)
def test_an_export_equals_that_of_the_local_command(
    here: Navlin, remote: Navlin, world: World, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    (names := tmp_path / "names").write_text("\nremote_db:remote_a\n")
    given = [str(names) if each == "names" else each for each in arguments]
    given.append(f"sourceId:({' '.join(source.id for source in world.sources.values())})")
    near, far = here("export", *given, "--out", "-"), remote("export", *given, "--out", "-")
    assert (near.exit_code, far.stdout) == (Exit.OK, near.stdout)
    assert far.exit_code == (Exit.OK if "no_such_database" not in given else Exit.NOTHING)

    files = [tmp_path / "near", tmp_path / "far"]
    near, far = (
        asked("export", *given, "--out", str(file)) for asked, file in zip((here, remote), files, strict=True)
    )
    assert files[0].read_text() == files[1].read_text()
    assert far.exit_code == near.exit_code
    # The local command also prints counts. Both commands print the start of the next export if a run exists.
    assert far.stdout.splitlines() == [each for each in near.stdout.splitlines() if "--since" in each]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "https://atlas.example:21000"), "--out must be a file"),
        (("--out", "-", "--position", "p"), "--position: available only on the server's own machine"),
        (("--out", "-", "--follow", "x", "--full"), "--follow, --full: available only on"),
        (("--out", "-", "--user", "u"), "--user: available only on"),
        (("--out", "-", "-t", "("), "is not a valid pattern"),
        (("--out", "-", "type:DATA_FLOW"), "finds relations"),
        (("--out", "-", "-f", "/no/such/file"), "cannot be read"),
    ],
)
def test_an_unsupported_remote_export_is_a_usage_error(
    remote: Navlin, options: tuple[str, ...], said: str
) -> None:
    result = remote("export", "atlas", *options)
    assert (result.exit_code, said in result.stderr) == (Exit.USAGE, True)


def test_an_interrupted_export_keeps_the_existing_file(token_file: Path, tmp_path: Path) -> None:
    class Broken(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Navlin-Mark", "end")
            self.end_headers()
            self.wfile.write(b'{"entities": []}\n')

        def log_message(self, format: str, *args: object) -> None:  # http.server chose the parameter's name
            pass

    (file := tmp_path / "graph").write_text("of yesterday")
    with HTTPServer(("127.0.0.1", 0), Broken) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        asked = ["--url", url, "--token-file", str(token_file), "export", "atlas", "--out", str(file)]
        result = CliRunner().invoke(main, asked)
        server.shutdown()
    assert result.exit_code == Exit.FAILED
    assert "the answer broke off" in result.stderr
    assert file.read_text() == "of yesterday"
    assert {each.name for each in tmp_path.iterdir()} == {"graph", "token"}


def test_an_edit_is_attributed_to_the_tokens_user(remote: Navlin, world: World) -> None:
    world.table("remote_edited")
    world.index()
    given = ("edit", "remote_db.remote_edited", "--tag", "seen", "--description", "from elsewhere")

    assert "would change" in remote(*given, "--dry-run").stdout
    assert remote(*given).exit_code == 0
    [edit] = json.loads(remote("edits", "remote_db.remote_edited", "--json").stdout)["edits"]
    assert edit["who"] == "chief"
    assert {each["field"]: each["new"] for each in edit["changes"]} == {
        "tags": ["seen"],
        "description": "from elsewhere",
    }
    assert "from elsewhere" in remote("edits", "remote_db.remote_edited").stdout
    erased = remote("edit", "remote_db.remote_edited", "--description", "", "--json")
    [change] = json.loads(erased.stdout)["edits"][0]["changes"]
    assert (change["field"], change["new"]) == ("description", None)
    assert remote("edits", "remote_db.remote_a").exit_code == Exit.NOTHING


def without_seconds(text: str) -> list[str]:
    return [line for line in text.rstrip("\n").splitlines() if not line.startswith("no space")]


def timeless(answer: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in answer.items() if key not in ("now_ms", "space", "made")}


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {*NAMES, "export"}))
def test_a_local_only_command_is_refused(remote: Navlin, name: str) -> None:
    result = remote(name)

    assert result.exit_code == Exit.USAGE
    assert "only on the server's own machine" in result.stderr


def test_an_unknown_name_suggests_similar_ones(remote: Navlin, world: World) -> None:
    result = remote("lineage", "remote_db.remote_bb")

    assert result.exit_code == Exit.NOTHING
    assert "remote_b " in result.stderr


def test_an_invalid_query_is_a_usage_error(remote: Navlin) -> None:
    result = remote("search", "type:(TABLE")

    assert result.exit_code == Exit.USAGE
    assert result.stderr.startswith("navlin: http://127.0.0.1")


@pytest.mark.parametrize("job", [("extract", "HIVE-1"), ("link",), ("purge", "--before", "2020-01-01")])
def test_a_job_fails_if_no_daemon_runs(remote: Navlin, job: tuple[str, ...]) -> None:
    result = remote(*job)

    assert result.exit_code == Exit.FAILED
    assert "navlin serve is not running" in result.stderr


def test_a_missing_or_wrong_token_is_reported(web: Web, tmp_path: Path) -> None:
    def asked(*options: str) -> Result:
        return CliRunner().invoke(main, ["--url", web.url, *options, "status"])

    assert "navlin token add" in asked().stderr
    assert "cannot be read" in asked("--token-file", str(tmp_path / "none")).stderr
    (empty := tmp_path / "empty").write_text("\n")
    assert "has no token" in asked("--token-file", str(empty)).stderr
    (wrong := tmp_path / "wrong").write_text("guessed\n")
    result = asked("--token-file", str(wrong))
    assert result.exit_code == Exit.FAILED
    assert "unknown or expired token" in result.stderr


def test_an_unreachable_or_foreign_server_is_reported(token_file: Path) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(500)

        def log_message(self, format: str, *args: object) -> None:  # http.server chose the parameter's name
            pass

    def asked(url: str) -> Result:
        return CliRunner().invoke(main, ["--url", url, "--token-file", str(token_file), "status"])

    with HTTPServer(("127.0.0.1", 0), Other) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        assert "not a navlin" in asked(f"http://127.0.0.1:{server.server_port}").stderr
        server.shutdown()
    for url in (f"http://127.0.0.1:{server.server_port}", "nowhere", "ftp://a"):
        result = asked(url)
        assert result.exit_code == Exit.FAILED
        assert f"{url} does not answer" in result.stderr


def test_an_interrupted_answer_is_a_failure(token_file: Path) -> None:
    class Broken(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"4\r\nid\n1\r\n")
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # http.server chose the parameter's name
            pass

    with HTTPServer(("127.0.0.1", 0), Broken) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        asked = ["--url", url, "--token-file", str(token_file), "search", "*", "--csv"]
        result = CliRunner().invoke(main, asked)
        server.shutdown()
    assert result.exit_code == Exit.FAILED
    assert f"{url}: the answer broke off" in result.stderr


@pytest.mark.parametrize(
    ("ending", "exit_code"),
    [
        (b"", Exit.FAILED),
        (b"\x00end 0\n", Exit.OK),
        (b"\x00end 3\n", Exit.NOTHING),
        (b"\x00end 0", Exit.FAILED),
    ],
    ids=["cut off", "whole", "nothing found", "cut off in its last letter"],
)
def test_an_answer_ended_by_close_is_complete_only_with_its_end_mark(
    token_file: Path, ending: bytes, exit_code: Exit
) -> None:
    asked_for: list[str | None] = []

    class OfAProxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked_for.append(self.headers["Navlin-Mark"])
            self.send_response(200)
            self.send_header("Navlin-Mark", "end")
            self.end_headers()
            self.wfile.write(b'"id"\n"1"\n' + ending)

        def log_message(self, format: str, *args: object) -> None:  # http.server chose the parameter's name
            pass

    with HTTPServer(("127.0.0.1", 0), OfAProxy) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        asked = ["--url", url, "--token-file", str(token_file), "unused", "--days", "9", "--csv"]
        result = CliRunner().invoke(main, asked)
        server.shutdown()
    assert asked_for == ["end"]
    assert result.exit_code == exit_code
    assert ("the answer broke off" in result.stderr) is (exit_code == Exit.FAILED)
    assert result.stdout == '"id"\n"1"\n' or exit_code == Exit.FAILED


@pytest.mark.parametrize(
    ("accept", "width_chars"),
    [
        ("", 0),
        ("*/*", 0),
        ("application/json, text/plain, */*", 0),
        ("text/plain", 160),
        ("text/plain; width=80", 80),
        ("text/plain;width=3", 20),
        ("text/plain; width=9999", 1_000),
        ("text/plain; width=99999999999", 160),
        ("TEXT/PLAIN, */*", 160),
        ("text/plain; q=0.5", 160),
    ],
)
def test_text_is_sent_only_to_clients_that_prefer_it(accept: str, width_chars: int) -> None:
    assert text_width(accept) == width_chars


def test_a_text_answer_has_no_control_characters(web: Web, world: World) -> None:
    table = world.table("remote_c", owner="\x1b[31mred\x07")
    world.index()

    answer = web.send(
        "GET", f"{ROOT}/show", params={"entity": table.identity}, headers={"Accept": "text/plain"}
    )

    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert "red" in answer.text
    assert not set(answer.text) & {"\x1b", "\x07"}
