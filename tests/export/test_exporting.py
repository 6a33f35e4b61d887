"""``[[export]]``: read from the configuration, run next to the daemon after each run, and reported in status and
metrics.
"""

from __future__ import annotations

import io
import itertools
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import fields, replace
from pathlib import Path

import pytest

from navlin.api.metrics import gauges
from navlin.export.connection import ServerConnection
from navlin.export.following import follow
from navlin.index.journal.export_positions import (
    ExportPosition,
    export_identity,
    load_export,
    note_failure,
    save_export,
)
from navlin.index.journal.leases import Leased
from navlin.index.journal.runs import RunRecord, Status, save_run
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import Solr
from navlin.model.identity import run_id
from navlin.render.console import CleanConsole
from navlin.render.status import status_view
from navlin.service.daemon.exporting import PAUSE_POLLS, Exporting
from navlin.service.settings.configuration import BadConfiguration, Configuration, read_configuration
from navlin.service.settings.export_settings import ExportKeys
from navlin.service.status import Overall, status
from navlin.shipped import CONF
from tests.support.atlas_server import Atlas, running_atlas
from tests.support.leases import held_by
from tests.support.query_estate import AS_OF_MS, HIVE, World

NUMBERS = itertools.count(1)


def configured(folder: Path, *sections: str) -> Configuration:
    file = folder / "navlin.toml"
    file.write_text("\n".join(['[navlin]\ncluster = "c"', *(f"[[export]]\n{each}" for each in sections)]))
    return read_configuration(file, {}, {})


GOOD = 'name = "A"\ntarget = "atlas"\nurl = "http://h:21000"'


def test_a_configured_export_has_its_targets_options(tmp_path: Path) -> None:
    (tmp_path / "word").write_text("secret\n")
    more = (
        'query = "tags:pii"\ntexts = false\nuser = "u"\npassword_file = "word"\nnamespace = "n"\nhook = false'
    )
    (one,) = configured(tmp_path, f"{GOOD}\n{more}").exports

    question, address = one.question(), one.address()
    assert (question.selection.query, question.selection.texts) == ("tags:pii", False)
    assert (question.target.name, question.options.namespace) == ("atlas", "n")
    assert (address.url, address.user, address.password) == ("http://h:21000", "u", "secret")
    assert "secret" not in repr(address)


@pytest.mark.parametrize(
    ("section", "said"),
    [
        (GOOD.replace("atlas", "atlass"), 'unknown export target "atlass"; did you mean "atlas"?'),
        (GOOD.replace("http://h:21000", "h:21000"), "is not the URL of a server"),
        (GOOD.replace("http://h", "http://u:p@h"), "the URL must not contain a password"),
        (f'{GOOD}\nquery = "("', "unclosed parenthesis"),
        (f'{GOOD}\nnamespaces = "x"', 'unknown setting "namespaces"; did you mean "namespace"?'),
        (f'{GOOD}\nhook = "yes"', "hook must be"),
        (f'{GOOD}\nuser = "u"', "user and password_file must be set together"),
        (f'{GOOD}\nkeytab = "k"', "principal and keytab must be set together"),
        ('target = "atlas"\nurl = "http://h"', "name is missing"),
        (f"{GOOD}\n[[export]]\n{GOOD}", 'duplicate export "A"'),
    ],
)  # fmt: skip
def test_an_invalid_export_is_reported_with_its_line(tmp_path: Path, section: str, said: str) -> None:
    with pytest.raises(BadConfiguration) as raised:
        configured(tmp_path, section)

    (problem,) = raised.value.problems
    assert "[[export]] " in problem.text
    assert said in problem.text
    assert problem.line > 2


def test_the_example_shows_every_key_of_an_export() -> None:
    text = (CONF / "navlin.toml").read_text().partition("One section for each.\n#   name       its name")[2]

    shown = set(re.findall(r"\w+", text)) | {"name"}
    assert {each.name for each in fields(ExportKeys)} <= shown


# -- Running next to the daemon --------------------------------------------------------------------------------------------


@pytest.fixture
def atlas() -> Iterator[Atlas]:
    with running_atlas() as atlas:
        yield atlas


@pytest.fixture
def world(solr: Solr) -> World:
    world = World(solr, f"exporting-{next(NUMBERS)}")
    one, other = world.table("t0", "a"), world.table("t1", "a")
    world.execution(
        world.operation("insert", [one], [other], operationType="INSERT"), "run", started=AS_OF_MS
    )
    world.index()
    return world


def export_of(world: World, url: str, folder: Path) -> Configuration:
    sources = " ".join(source.id for source in world.sources.values())
    return configured(
        folder, f'name = "{world.name}"\ntarget = "atlas"\nurl = "{url}"\nquery = "sourceId:({sources})"'
    )


def finished(world: World, iteration: int) -> str:
    source, now_ms = world.source(HIVE), int(time.time() * 1000)
    save_run(world.solr, RunRecord(source.name, source.id, iteration, Status.FINISHED, now_ms, now_ms + 1))
    world.solr.commit(RUNS, soft=True)
    return run_id(source.id, iteration)


PATIENCE_S = 240.0
"""Timeout for steps that take a second on an idle machine."""


def polled(exporting: Exporting, until: Callable[[], bool]) -> None:
    """Poll as a daemon does, but at shorter intervals, until a condition is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not until():
        assert time.monotonic() < deadline, "it never came to that"
        exporting.poll()
        time.sleep(0.02)


def overall(world: World, configuration: Configuration) -> Overall:
    return status(world.solr, configuration, AS_OF_MS + 10_000)


def test_changes_are_sent_after_a_run_and_the_status_shows_the_lag(
    world: World, atlas: Atlas, tmp_path: Path
) -> None:
    configuration = export_of(world, atlas.url, tmp_path)
    exporting = Exporting(world.solr.address, lambda: AS_OF_MS)
    exporting.configure(configuration.exports)
    assert overall(world, configuration).exports[0].lag_s is None

    first = finished(world, 2)
    polled(exporting, lambda: load_export(world.solr, world.name).until == first)
    assert {name for kind, name in atlas.entities if kind == "hive_table"} == {"db.t0@estate", "db.t1@estate"}
    assert overall(world, configuration).exports[0].lag_s == 0.0

    polled(exporting, lambda: not exporting.running())
    before = len(atlas.requests)
    second = finished(world, 3)
    changed = next(each for each in world.elements.values() if each.get("originalName") == "t1")
    changed |= {"owner": "ann", "extractorRunId": second}
    world.index()
    behind = overall(world, configuration)
    assert (behind.exports[0].lag_s, behind.failing) == (10.0, ())
    polled(exporting, lambda: load_export(world.solr, world.name).until == second)
    assert atlas.entities["hive_table", "db.t1@estate"]["attributes"]["owner"] == "ann"
    assert len(atlas.requests) == before + 1


@pytest.mark.services
def test_refusals_are_shown_until_everything_is_sent_again(
    world: World, atlas: Atlas, tmp_path: Path
) -> None:
    configuration = export_of(world, atlas.url, tmp_path)
    exporting = Exporting(world.solr.address, lambda: AS_OF_MS)
    exporting.configure(configuration.exports)
    atlas.refused_names = {"db.t1@estate"}
    for iteration in (2, 3):
        run = finished(world, iteration)
        polled(exporting, lambda: load_export(world.solr, world.name).until == run)  # noqa: B023
        polled(exporting, lambda: not exporting.running())
        assert overall(world, configuration).exports[0].refused > 0

    atlas.refused_names = set()
    (settings,) = configuration.exports
    with closing(ServerConnection(settings.address())) as connection:
        follow(
            world.solr,
            world.name,
            settings.question(),
            connection,
            now_ms=lambda: AS_OF_MS,
            refused=print,
            progress=lambda *_: None,
            full=True,
        )
    assert overall(world, configuration).exports[0].refused == 0


def test_an_unavailable_server_is_retried_later_and_delays_nothing(
    world: World, atlas: Atlas, tmp_path: Path
) -> None:
    configuration = export_of(world, atlas.url, tmp_path)
    exporting = Exporting(world.solr.address, lambda: AS_OF_MS, again_after_s=(), pauses=(1,))
    exporting.configure(configuration.exports)
    finished(world, 2)
    atlas.busy = 1_000
    polled(exporting, lambda: bool(load_export(world.solr, world.name).error))

    said = overall(world, configuration)
    assert said.failing == (world.name,)
    assert "HTTP 503: later" in said.exports[0].error
    shown = io.StringIO()
    CleanConsole(file=shown, width=200).show(status_view(said.as_json()))
    assert f"export {world.name} (atlas): nothing sent yet; error: " in shown.getvalue()
    found = {sample.name: sample.value for each in gauges(said.as_json()) for sample in each.samples}
    assert found["navlin_export_failing"] == 1.0
    assert "navlin_export_lag_seconds" not in found

    atlas.busy = 0
    polled(exporting, lambda: not load_export(world.solr, world.name).error)
    assert ("hive_table", "db.t1@estate") in atlas.entities


def test_an_export_that_lost_its_lease_leaves_the_position_of_the_new_holder(
    world: World, atlas: Atlas, tmp_path: Path
) -> None:
    with ExitStack() as another:

        def lose_the_lease() -> int:
            another.enter_context(held_by(world.solr, export_identity(world.name)))
            save_export(world.solr, replace(load_export(world.solr, world.name), until="a newer run"))
            return AS_OF_MS

        exporting = Exporting(world.solr.address, lose_the_lease, pauses=(1_000_000,))
        exporting.configure(export_of(world, atlas.url, tmp_path).exports)
        finished(world, 2)
        polled(exporting, lambda: load_export(world.solr, world.name).until != "")
        polled(exporting, lambda: not exporting.running())

    kept = load_export(world.solr, world.name)
    assert (kept.until, kept.ended_ms, kept.error) == ("a newer run", 0, "")


def test_a_failure_is_not_recorded_while_another_process_exports(solr: Solr) -> None:
    name = f"exporting-{next(NUMBERS)}"
    kept = save_export(solr, ExportPosition(name, "a run"))
    with held_by(solr, export_identity(name)), pytest.raises(Leased):
        note_failure(solr, name, "the server is busy")

    assert load_export(solr, name) == kept


def test_a_removed_export_sends_nothing(world: World, atlas: Atlas, tmp_path: Path) -> None:
    exporting = Exporting(world.solr.address, lambda: AS_OF_MS)
    exporting.configure(export_of(world, atlas.url, tmp_path).exports)
    exporting.configure(())
    for _ in range(3):
        exporting.poll()

    assert (exporting.running(), atlas.requests) == ([], [])


def test_pauses_increase() -> None:
    assert list(PAUSE_POLLS) == sorted(PAUSE_POLLS)
