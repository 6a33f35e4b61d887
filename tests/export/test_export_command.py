"""``navlin export`` into a file that can be resumed, to standard output, to a server, and through the API."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from navlin.api.own import ROOT
from navlin.cli import main
from navlin.cli.export import command
from navlin.cli.invocation import Exit
from navlin.export import batches, writing
from navlin.export.answers import Unavailable
from navlin.export.atlas import Options
from navlin.export.batches import Batch, StagePosition
from navlin.export.choosing import Selection
from navlin.export.connection import ServerAddress, ServerConnection
from navlin.export.following import follow
from navlin.export.target import RefusedRecord, targets
from navlin.export.writing import Exported, ExportQuestion, PositionFile, Progress, send, write_file
from navlin.index.journal.export_positions import ExportPosition, load_export, save_export
from navlin.index.solr.solr import Solr
from tests.support.atlas_server import BULK, Atlas, running_atlas
from tests.support.export_table import FATES, MODEL
from tests.support.manual import page
from tests.support.query_estate import AS_OF_MS, HIVE, World
from tests.support.web import Web

NUMBERS = itertools.count(1)


@pytest.fixture
def world(solr: Solr) -> World:
    """Three tables, each written from the previous one."""
    world = World(solr, f"export-command-{next(NUMBERS)}")
    tables = [world.table(f"t{number}", "a") for number in range(3)]
    for one, other in itertools.pairwise(tables):
        query = world.operation(f"insert {other.name}", [one], [other], operationType="INSERT")
        world.execution(query, other.name, started=AS_OF_MS)
    world.index()
    return world


def of(world: World) -> str:
    return f"sourceId:({' '.join(source.id for source in world.sources.values())})"


def run(web: Web, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--config", str(web.file), "export", "atlas", *arguments])


def question(world: World) -> ExportQuestion:
    return ExportQuestion(targets()["atlas"], Selection(of(world)), Options())


def nobody(_: Exported) -> None:
    """Ignore the progress."""


# -- Files -----------------------------------------------------------------------------------------------------------------


def test_a_file_standard_output_and_the_api_have_the_same_records(
    web: Web, world: World, tmp_path: Path
) -> None:
    file = tmp_path / "graph.jsonl"
    written = run(web, of(world), "--out", str(file))
    printed = run(web, of(world), "--out", "-")
    answer = web.get(f"{ROOT}/export/atlas", query=of(world))

    assert (written.exit_code, printed.exit_code) == (Exit.OK, Exit.OK)
    assert file.read_text() == printed.stdout == answer.text
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    assert "4 datasets, 2 operations, 2 executions exported" in written.stdout
    assert [each.name for each in tmp_path.iterdir()] == ["graph.jsonl"]


def test_the_api_accepts_the_commands_options(web: Web, world: World) -> None:
    printed = run(web, of(world), "--out", "-", "--hook", "--namespace", "x", "--no-texts").stdout
    asked = {"query": of(world), "no_texts": "true"}
    answer = web.get(f"{ROOT}/export/atlas?option=hook&option=namespace%3Dx", **asked)

    assert printed == answer.text
    assert {json.loads(line)["message"]["type"] for line in printed.splitlines()} == {"ENTITY_CREATE_V2"}
    assert "db.t0@x" in printed


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("atlas?query=type:DATA_FLOW", 400, "finds relations"),
        ("atlas?query=(", 400, "unclosed parenthesis"),
        ("atlas?option=nothing", 400, "no option nothing"),
        ("atlas?since=yesterday", 400, "neither the id of a run nor a date"),
        ("atlas?since=no%23%231", 410, "no record of the run"),
        ("atlases", 404, "there are atlas"),
    ],
)
def test_an_impossible_export_is_refused_by_the_api(web: Web, path: str, status: int, said: str) -> None:
    answer = web.get(f"{ROOT}/export/{path}", check=False)

    assert (answer.status_code, said in answer.json()["message"]) == (status, True)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["type:DATA_FLOW"], Exit.USAGE, "finds relations"),
        (["--since", "yesterday"], Exit.USAGE, "neither the id of a run nor a date"),
        (["--since", "no##1"], Exit.FAILED, "leave out --since"),
        (["-t", "("], Exit.USAGE, "is not a valid pattern"),
        (["originalName:nothing_is_called_so"], Exit.NOTHING, ""),
    ],
)
def test_an_impossible_export_is_refused_by_the_command(
    web: Web, tmp_path: Path, arguments: list[str], code: Exit, said: str
) -> None:
    result = run(web, *arguments, "--out", str(tmp_path / "graph"))

    assert (result.exit_code, said in result.stderr) == (code, True)


class _CutOff(Exception):
    """Simulates that the process is killed."""


def contents(file: Path) -> dict[tuple[str, str], object]:
    """Maps (type, qualified name) to an entity's attributes. An entity may be in the file twice, because a resumed
    export does not know which records were already written.
    """
    found = [each for line in file.read_text().splitlines() for each in json.loads(line)["entities"]]
    return {(each["typeName"], each["attributes"]["qualifiedName"]): each["attributes"] for each in found}


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "BATCH", dict.fromkeys(batches.STAGES, 1))


def test_a_truncated_file_is_resumed(
    world: World, tmp_path: Path, small_batches: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, cut, ask = tmp_path / "whole", tmp_path / "cut", question(world)
    done = write_file(world.solr, ask, whole, PositionFile(tmp_path / "whole.position"), nobody)
    every = whole.read_bytes().splitlines()

    def cut_off(done: Exported) -> None:
        if sum(done.counts.values()) >= 4:
            with cut.open("ab") as half:
                half.write(b'{"half')
            raise _CutOff

    positions = PositionFile(tmp_path / "position")
    with pytest.raises(_CutOff):
        write_file(world.solr, ask, cut, positions, cut_off)
    read: list[Batch] = []

    def noted(solr: Solr, selection: Selection, after: StagePosition | None = None) -> Iterator[Batch]:
        for batch in batches.read(solr, selection, after):
            read.append(batch)
            yield batch

    monkeypatch.setattr(writing, "read", noted)
    again = write_file(world.solr, ask, cut, positions, nobody)

    assert (done.resumed, again.resumed, again.until) == (False, True, done.until)
    assert contents(cut) == contents(whole)
    assert len(read) < len(every)
    assert not positions.file.exists()
    # An export with other options does not resume at this position.
    positions.save(ask, StagePosition("operations", "f"), "", 0)
    other = ExportQuestion(ask.target, Selection(of(world), tables_only=True), ask.options)
    assert not write_file(world.solr, other, cut, positions, nobody).resumed


# -- A server --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def atlas() -> Iterator[Atlas]:
    with running_atlas() as atlas:
        yield atlas


def sent(
    world: World, atlas: Atlas, positions: PositionFile | None = None
) -> tuple[Exported, list[RefusedRecord]]:
    refused: list[RefusedRecord] = []
    connection = ServerConnection(ServerAddress(atlas.url), wait=lambda _: None, again_after_s=(0, 0))
    done = send(world.solr, question(world), connection, positions, refused.append, nobody)
    connection.close()
    return done, refused


def test_sending_repeatedly_is_idempotent(world: World, atlas: Atlas) -> None:
    done, refused = sent(world, atlas)
    before = dict(atlas.entities)
    sent(world, atlas)

    assert atlas.entities == before
    assert (done.sent, refused) == (len(before), [])
    assert len([name for kind, name in before if kind == "hive_table"]) == 3
    assert len([name for kind, name in before if kind == "impala_process"]) == 2


def test_the_rest_of_a_refused_request_arrives(world: World, atlas: Atlas) -> None:
    atlas.refused_names = {"db.t1@estate"}
    done, refused = sent(world, atlas)

    tables = {name for kind, name in atlas.entities if kind == "hive_table"}
    assert tables == {"db.t0@estate", "db.t2@estate"}
    what = [each.what for each in refused]
    assert what[0] == "hive_table db.t1@estate"
    assert "mandatory attribute value missing" in refused[0].reason
    # Only the processes that refer to the refused table are refused as well.
    assert {each.partition(" ")[0] for each in what[1:]} == {"impala_process"}
    assert done.refusals == len(refused)


def test_labels_are_updated_only_for_existing_entities(world: World, atlas: Atlas) -> None:
    table = next(each for each in world.elements.values() if each.get("originalName") == "t1")
    table["tags"] = ["pii"]
    world.index()
    sent(world, atlas)
    assert atlas.entities["hive_table", "db.t1@estate"]["labels"] == ["pii"]
    assert not [path for _, path in atlas.requests if path.endswith("/labels")]

    table["tags"] = ["gdpr"]
    world.index()
    sent(world, atlas)
    assert atlas.entities["hive_table", "db.t1@estate"]["labels"] == ["gdpr"]
    assert len([path for _, path in atlas.requests if path.endswith("/labels")]) == 1


def test_an_entity_that_fails_the_server_is_refused_alone_and_otherwise_retried(
    world: World, atlas: Atlas
) -> None:
    atlas.failing_names = {"db.t1@estate"}
    _, refused = sent(world, atlas)
    tables = {name for kind, name in atlas.entities if kind == "hive_table"}
    assert tables == {"db.t0@estate", "db.t2@estate"}
    assert [each.what for each in refused if "HTTP 500" in each.reason] == ["hive_table db.t1@estate"]

    atlas.entities.clear()
    atlas.failing_names = {"db@estate", "db.t0@estate", "db.t1@estate", "db.t2@estate"}
    with pytest.raises(Unavailable, match="HTTP 500: NullPointerException"):
        sent(world, atlas)


def test_a_refused_column_does_not_drop_its_table(world: World, atlas: Atlas) -> None:
    atlas.refused_names = {"db.t1.a@estate"}
    _, refused = sent(world, atlas)

    assert [each.what for each in refused] == ["hive_column db.t1.a@estate"]
    assert ("hive_table", "db.t1@estate") in atlas.entities
    assert ("hive_storagedesc", "db.t1@estate_storage") in atlas.entities


def test_a_busy_server_is_retried_and_finally_a_failure(
    world: World, atlas: Atlas, tmp_path: Path, small_batches: None
) -> None:
    atlas.busy = 2
    _, refused = sent(world, atlas)
    assert refused == []
    everything = dict(atlas.entities)
    atlas.entities.clear()

    positions = PositionFile(tmp_path / "position")
    atlas.busy = 3
    with pytest.raises(Unavailable, match="HTTP 503: later"):
        sent(world, atlas, positions)
    done, _ = sent(world, atlas, positions)
    assert atlas.entities == everything
    assert not done.resumed
    assert not positions.file.exists()


def test_deletions_are_sent_and_a_renamed_table_keeps_its_entity(world: World, atlas: Atlas) -> None:
    from navlin.export.atlas.catalog import reference, renamed
    from navlin.export.atlas.entities import Deletion
    from navlin.export.atlas.names import Namespace
    from navlin.export.atlas.requests import requests
    from navlin.export.atlas.sending import send as send_lines
    from navlin.export.values import DatasetName, Renamed
    from navlin.index.graph.sources import KnownSource

    sent(world, atlas)
    kept = atlas.entities["hive_table", "db.t1@estate"]
    source = KnownSource("", "HIVE", "", "estate", (), placeholder=False)
    names = [DatasetName(name, "TABLE", source, name, "db") for name in ("t1", "new", "t2", "never")]
    changes = [
        *renamed(Renamed(names[0], names[1], ("a",)), Namespace()),
        *(Deletion(reference(each, Namespace())) for each in names[2:]),
    ]
    connection = ServerConnection(ServerAddress(atlas.url), wait=lambda _: None)
    outcomes = list(send_lines(connection, requests(changes), Options()))

    assert outcomes == [1] * 5
    assert atlas.entities["hive_table", "db.new@estate"] is kept
    assert ("hive_column", "db.new.a@estate") in atlas.entities
    assert ("hive_storagedesc", "db.new@estate_storage") in atlas.entities
    assert ("hive_table", "db.t2@estate") not in atlas.entities


def test_follow_sends_everything_once_and_then_only_changes(
    web: Web, world: World, atlas: Atlas, small_batches: None
) -> None:
    connection = ServerConnection(ServerAddress(atlas.url), wait=lambda _: None, again_after_s=())
    name, refused = world.name, list[RefusedRecord]()

    def followed(progress: Progress = nobody, **how: bool) -> Exported:
        now_ms = lambda: AS_OF_MS  # noqa: E731
        return follow(
            world.solr,
            name,
            question(world),
            connection,
            now_ms=now_ms,
            refused=refused.append,
            progress=progress,
            **how,
        )

    first = world.finished(HIVE, 2)
    atlas.busy = 1
    with pytest.raises(Unavailable):
        followed()
    assert load_export(world.solr, name).until == ""

    def cut_off(done: Exported) -> None:
        if done.counts["datasets"] > 2:
            raise _CutOff

    with pytest.raises(_CutOff):
        followed(cut_off)
    done = followed()
    assert (done.resumed, done.until) == (True, first)
    assert len([name for kind, name in atlas.entities if kind == "hive_table"]) == 3
    assert load_export(world.solr, name) == ExportPosition(name, first, question(world).digest, AS_OF_MS)

    assert followed().records == 0
    changed = next(each for each in world.elements.values() if each.get("originalName") == "t1")
    changed |= {"owner": "ann", "extractorRunId": world.finished(HIVE, 3)}
    world.index()
    again = followed()
    assert again.counts == {**dict.fromkeys(again.counts, 0), "datasets": 2}
    assert atlas.entities["hive_table", "db.t1@estate"]["attributes"]["owner"] == "ann"

    atlas.entities.clear()
    assert followed(full=True).counts["operations"] == 2
    # If the previous run is no longer on record, the changes since that run are unknown.
    save_export(world.solr, replace(load_export(world.solr, name), until="long ago##1"))
    assert followed().counts["operations"] == 2
    assert refused == []


def test_refusals_before_an_interruption_still_count(world: World, atlas: Atlas, small_batches: None) -> None:
    atlas.refused_names = {"db.t1@estate"}
    connection = ServerConnection(ServerAddress(atlas.url), wait=lambda _: None, again_after_s=())
    world.finished(HIVE, 2)
    refused: list[RefusedRecord] = []

    def followed(progress: Progress) -> None:
        follow(
            world.solr,
            world.name,
            question(world),
            connection,
            now_ms=lambda: AS_OF_MS,
            refused=refused.append,
            progress=progress,
            full=not refused,
        )

    def cut_off(done: Exported) -> None:
        if refused:
            raise _CutOff

    with pytest.raises(_CutOff):
        followed(cut_off)
    before = len(refused)
    followed(nobody)

    assert before > 0
    assert load_export(world.solr, world.name).refused == len(refused)


def test_refusals_of_an_export_that_cannot_be_resumed_do_not_count(world: World, atlas: Atlas) -> None:
    """The index no longer has the run from which the interrupted export began, so everything is sent again."""
    world.finished(HIVE, 2)
    asked = question(world)
    since = replace(asked, selection=replace(asked.selection, since_run="gone##1"))
    pending = {"question": since.digest, "place": asdict(StagePosition()), "until": "gone##2", "refused": 5}
    save_export(world.solr, ExportPosition(world.name, until="gone##1", asked=asked.digest, pending=pending))
    connection = ServerConnection(ServerAddress(atlas.url), wait=lambda _: None, again_after_s=())

    follow(
        world.solr,
        world.name,
        asked,
        connection,
        now_ms=lambda: AS_OF_MS,
        refused=lambda _: None,
        progress=nobody,
    )

    assert load_export(world.solr, world.name).refused == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--follow", "x", "--out", "file"],
        ["--full", "--out", "http://h"],
        ["--follow", "x", "--since", "2026-01-01", "--out", "http://h"],
    ],
)
def test_follow_needs_a_server_and_its_own_position(web: Web, arguments: list[str]) -> None:
    assert run(web, *arguments).exit_code == Exit.USAGE


def test_the_password_is_read_from_a_file_and_a_wrong_one_reported(
    web: Web, world: World, tmp_path: Path
) -> None:
    password = tmp_path / "password"
    with running_atlas(user="admin", password="right") as atlas:
        password.write_text("right\n")
        how = ("--out", atlas.url, "--user", "admin", "--password-file", str(password))
        assert run(web, of(world), *how).exit_code == Exit.OK
        assert {path for method, path in atlas.requests if method == "POST"} == {BULK}
        password.write_text("wrong")
        refused = run(web, of(world), *how)
        assert (refused.exit_code, "refused the log-in: HTTP 401" in refused.stderr) == (Exit.FAILED, True)
        hook = run(web, of(world), *how, "--hook")
        assert (hook.exit_code, "are for Kafka" in hook.stderr) == (Exit.USAGE, True)


def test_a_refusal_is_printed_and_fails_the_command(web: Web, world: World, atlas: Atlas) -> None:
    atlas.refused_names = {"db.t1.a@estate"}
    result = run(web, of(world), "--out", atlas.url, "--json")

    assert result.exit_code == Exit.FAILED
    assert "refused: hive_column db.t1.a@estate: HTTP 404" in result.stderr
    assert json.loads(result.stdout)["refused"] == 1


# -- All targets -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", targets())
def test_every_target_has_a_command_with_its_options_and_examples(name: str) -> None:
    shown = CliRunner().invoke(command, [name, "--help"])

    assert shown.exit_code == Exit.OK
    assert f"navlin export {name}" in shown.stdout.partition("Examples:")[2]
    for each in fields(targets()[name].options):
        assert f"--{each.name.replace('_', '-')}" in shown.stdout
    assert shown.stdout.count("--user ") <= 2


def test_the_manual_lists_every_target_and_what_becomes_of_each_part_of_the_model() -> None:

    assert FATES.keys() == targets().keys()
    for name in targets():
        assert re.search(rf"^\| `{name}` \|", page("how-to/export"), re.MULTILINE), (
            f"a line for the target {name}"
        )
        assert all(re.match(r"(kept|folded|dropped): \S", FATES[name][part]) for part in MODEL)
