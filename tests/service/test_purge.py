"""Purge: what it removes and what it never removes, also if it is interrupted or other processes write at the same
time."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from linker import purge_suspicion
from linker.purge import PurgeReport, Tally, purge
from navlin.cli.invocation import Exit
from navlin.cli.jobs import exit_code
from navlin.index.journal.holder import Holder
from navlin.index.journal.leases import held_lease
from navlin.index.journal.purges import forget_purged_before, open_purge, purged_before_ms
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS, date_ms
from navlin.index.solr.solr import AddOutcome, Solr, SolrUnavailable
from navlin.model.keys import EntityType, Key, RelationType, path_key
from navlin.model.records import Entity, Relation
from tests.cli.test_cli import configuration, run
from tests.support.indexed_estate import DAY_MS, NOW_MS, World
from tests.support.leases import held_by
from tests.support.solr_proxy import Call, SolrProxy

BEFORE_MS = NOW_MS
ME = Holder("here", 1, "today")
SOMEBODY = Holder("elsewhere", 2, "today")


@pytest.fixture
def world(private_solr: Solr, request: pytest.FixtureRequest) -> World:
    world = World(private_solr, request.node.name)
    world.now_ms = BEFORE_MS - DAY_MS
    return world


def run_purge(solr: Solr, before_ms: int = BEFORE_MS, **options: Any) -> PurgeReport:
    options = {"holder": ME, "lives": lambda _: True, "clock": lambda: BEFORE_MS + DAY_MS, **options}
    return purge(solr, before_ms, **options)


def tally(report: PurgeReport, rule: str) -> Tally:
    return next(tally for each, tally in report.rules if each.name == rule)


def gone(world: World, *keys: Key) -> list[bool]:
    return [world.entity_of(key) is None for key in keys]


def kinds(world: World) -> list[str]:
    """Return the relations in the index, as ``TYPE from -> to``."""
    world.commit()
    return sorted(
        # An implied relation contains the names of its entities. The database itself is not indexed here.
        f"{d['type']} {d.get('endpoint1Name', '?')} -> {d['endpoint2Name']}"
        for d in world.documents(RELATIONS)
    )


def run_of(world: World, operation: Key, name: str, **attributes: Any) -> Entity:
    return world.entity(world.execution(operation, name), attributes, as_of_ms=world.now_ms)


def put_deleted(world: World, *keys: Key, delete_ms: int) -> None:
    world.put(keys[0].source, *[world.entity(key) for key in keys])
    back, world.now_ms = world.now_ms, delete_ms
    world.drop(keys[0].source, *keys)
    world.now_ms = back


class TestExecutions:
    """An execution that ran before the date is removed with its INSTANCE_OF relation."""

    @pytest.mark.parametrize(
        ("dates", "goes"),
        [
            ({"ended": BEFORE_MS - 1}, True),
            ({"ended": BEFORE_MS}, False),
            ({"started": BEFORE_MS - DAY_MS, "ended": BEFORE_MS}, False),
            ({"started": BEFORE_MS - 1}, True),
            ({"started": BEFORE_MS}, False),
            ({}, True),
        ],
        ids=[
            "ended before",
            "ended on the date",
            "began before, ended on the date",
            "began before",
            "began on it",
            "undated",
        ],
    )
    def test_an_execution_is_purged_if_it_ended_before_the_date(
        self, world: World, dates: dict[str, int], *, goes: bool
    ) -> None:
        operation = world.operation("create")
        made = world.flow(operation, world.table("s.made"))
        execution = run_of(world, operation, "1", **dates)
        world.put(world.impala, world.entity(operation), execution, made)

        run_purge(world.solr)

        assert gone(world, execution.key, operation) == [goes, False]
        assert ("INSTANCE_OF create -> " in " ".join(kinds(world))) is not goes

    def test_an_undated_execution_is_as_old_as_its_record(self, world: World) -> None:
        operation = world.operation("create")
        world.now_ms = BEFORE_MS
        execution = run_of(world, operation, "1")
        world.put(world.impala, execution)

        run_purge(world.solr)

        assert gone(world, execution.key) == [False]

    def test_an_operation_keeps_its_last_run_user_and_execution_count(self, world: World) -> None:
        operation = world.operation("create")
        runs = [
            run_of(world, operation, "1", ended=BEFORE_MS - 3, principal="ann"),
            run_of(world, operation, "2", ended=BEFORE_MS - 1, principal="bob"),
            run_of(world, operation, "3", ended=BEFORE_MS - 2, principal="eve"),
            run_of(world, operation, "4", ended=BEFORE_MS + 5, principal="joe"),
        ]
        made = world.flow(operation, world.table("s.made"))
        world.put(world.impala, world.entity(operation), *runs, made)

        run_purge(world.solr, batch=2)
        kept = world.entity_of(operation) or {}
        assert (kept["purgedExecutions"], date_ms(kept["lastExecuted"]), kept["lastPrincipal"]) == (
            3,
            BEFORE_MS - 1,
            "bob",
        )

        run_purge(world.solr, BEFORE_MS + 10)
        kept = world.entity_of(operation) or {}
        assert (kept["purgedExecutions"], date_ms(kept["lastExecuted"]), kept["lastPrincipal"]) == (
            4,
            BEFORE_MS + 5,
            "joe",
        )

    def test_an_executions_other_relations_are_purged_with_it(self, world: World) -> None:
        operation, job = world.operation("create"), world.operation("job", source=world.spark)
        execution, ran_as = run_of(world, operation, "1", ended=1), run_of(world, job, "2", ended=BEFORE_MS)
        runs_as = Relation(
            RelationType.LOGICAL_PHYSICAL, execution.key, ran_as.key, execution.key.tree_path, world.now_ms
        )
        made = world.flow(operation, world.table("s.made"))
        world.put(world.spark, world.entity(job), ran_as)
        world.put(world.impala, world.entity(operation), execution, runs_as, made)

        report = run_purge(world.solr)

        assert gone(world, execution.key, ran_as.key) == [True, False]
        assert not [kind for kind in kinds(world) if kind.startswith("LOGICAL_PHYSICAL")]
        assert tally(report, "executions").relations == 2


class TestOperations:
    """An operation without output loses its data flow if all its executions are older than the date; then the whole
    operation is removed."""

    def reading(self, world: World, *ended_ms: int) -> tuple[Key, Key]:
        operation = world.operation("select")
        part = world.part(operation, "c")
        world.put(world.hive, world.entity(world.table("s.read")), world.entity(world.column("s.read.c")))
        world.put(
            world.impala,
            world.entity(operation),
            world.entity(part),
            world.flow(world.table("s.read"), operation),
            world.flow(world.column("s.read.c"), part),
            *[run_of(world, operation, str(number), ended=ended) for number, ended in enumerate(ended_ms)],
        )
        return operation, part

    def test_an_operation_without_output_and_with_old_executions_is_purged(self, world: World) -> None:
        operation, part = self.reading(world, BEFORE_MS - 2, BEFORE_MS - 1)

        run_purge(world.solr)

        assert gone(world, operation, part, world.table("s.read"), world.column("s.read.c")) == [
            True,
            True,
            False,
            False,
        ]
        assert kinds(world) == ["PARENT_CHILD s.read -> s.read.c", "PARENT_CHILD ? -> s.read"][::-1]

    def test_an_operation_without_executions_is_as_old_as_its_last_record(self, world: World) -> None:
        operation, _ = self.reading(world)
        assert gone(world, operation) == [False]
        run_purge(world.solr, world.now_ms)
        assert gone(world, operation) == [False]
        run_purge(world.solr, world.now_ms + 1)
        assert gone(world, operation) == [True]

    def test_an_operation_executed_since_the_date_is_kept_whole(self, world: World) -> None:
        operation, part = self.reading(world, BEFORE_MS - 1, BEFORE_MS)

        report = run_purge(world.solr)

        assert gone(world, operation, part) == [False, False]
        assert [kind for kind in kinds(world) if kind.startswith("DATA_FLOW")] == [
            "DATA_FLOW s.read -> select",
            "DATA_FLOW s.read.c -> c",
        ]
        assert tally(report, "operations").kept == {"executed since": 1}

    @pytest.mark.parametrize("output", ["table", "view", "directory", "column"])
    def test_a_producing_operation_is_kept_even_if_its_output_is_deleted(
        self, world: World, output: str
    ) -> None:
        operation, part = self.reading(world, BEFORE_MS - 1)
        made = {
            "table": world.table("s.made"),
            "view": world.table("s.made", EntityType.VIEW),
            "directory": world.path("/made"),
            "column": world.column("s.made.c"),
        }[output]
        put_deleted(world, made, delete_ms=1)
        world.put(world.impala, world.flow(part if output == "column" else operation, made))

        report = run_purge(world.solr)

        assert gone(world, operation, part, made) == [False, False, False]
        assert tally(report, "operations").kept == {"has output": 1}
        assert next(each.count for each in report.never if each.never.name == "producing operations") == 1

    def test_a_withdrawn_output_does_not_count(self, world: World) -> None:
        operation, _ = self.reading(world, BEFORE_MS - 1)
        made = world.flow(operation, world.table("s.made"))
        world.put(world.impala, made)
        world.drop(world.impala, made)

        run_purge(world.solr)

        assert gone(world, operation) == [True]

    def test_inferred_relations_of_purged_paths_are_removed_as_by_linking_everything(
        self, world: World
    ) -> None:
        table, directory, day = world.table("s.orders"), world.path("/s/orders"), world.path("/s/orders/ds=1")
        operation = world.operation("read", source=world.spark)
        lies = world.location(table, directory)
        world.put(world.hdfs, world.entity(directory), world.entity(day))
        runs = [
            world.put(world.hive, world.entity(table), lies),
            world.put(
                world.spark,
                world.entity(operation),
                world.flow(day, operation),
                run_of(world, operation, "1", ended=BEFORE_MS - 1),
            ),
        ]
        world.link(*runs)
        assert world.added() == {("s.orders", "/s/orders/ds=1", "certain")}

        run_purge(world.solr)

        assert gone(world, operation, day) == [True, False]
        assert world.added() == set()
        assert world.relation(world.hive, lies)["unlinked"] is False
        after = world.index()
        world.link(everything=True)
        assert world.index() == after


class TestDirectories:
    """PARENT_CHILD is removed only if the directory was flagged deleted before the date."""

    @pytest.mark.parametrize(
        ("delete_ms", "goes"),
        [(BEFORE_MS - 1, True), (BEFORE_MS, False), (0, False)],
        ids=["before", "on", "unknown"],
    )
    def test_a_deleted_directory_is_purged_with_its_containment_relations(
        self, world: World, delete_ms: int, *, goes: bool
    ) -> None:
        above, directory, file = world.path("/a"), world.path("/a/d"), world.file("/a/d/f")
        contained = Entity(_child(file, directory), world.now_ms)
        world.put(world.hdfs, world.entity(above), Entity(_child(directory, above), world.now_ms), contained)
        back, world.now_ms = world.now_ms, delete_ms
        _flag(world, directory, file)
        world.now_ms = back

        run_purge(world.solr, deleted_files=False)

        assert gone(world, above, directory, file) == [False, goes, False]
        assert kinds(world) == ([] if goes else ["PARENT_CHILD /a -> /a/d", "PARENT_CHILD /a/d -> /a/d/f"])

    def test_a_deleted_file_in_a_live_directory_keeps_its_relation(self, world: World) -> None:
        directory, file = world.path("/d"), world.file("/d/f")
        world.put(world.hdfs, world.entity(directory), Entity(_child(file, directory), world.now_ms))
        _flag(world, file)

        run_purge(world.solr, deleted_files=False)

        assert kinds(world) == ["PARENT_CHILD /d -> /d/f"]

    @pytest.mark.parametrize("reason", ["in a flow", "a table's location", "described"])
    def test_a_kept_deleted_directory_loses_its_containment_relations(
        self, world: World, reason: str
    ) -> None:
        directory, file = world.path("/d"), world.file("/d/f")
        world.put(world.hdfs, world.entity(directory), Entity(_child(file, directory), world.now_ms))
        _hold(world, directory, reason)
        _flag(world, directory, file)

        report = run_purge(world.solr, deleted_files=False)

        assert gone(world, directory, file) == [False, False]
        assert "PARENT_CHILD /d -> /d/f" not in kinds(world)
        assert tally(report, "directories").kept == {reason: 1}
        assert tally(report, "directories").kept_examples == {reason: ["/d"]}

    def test_a_table_and_its_location_are_kept_though_long_dropped(self, world: World) -> None:
        table, directory = world.table("s.t"), world.path("/s/t")
        lies = world.location(table, directory)
        world.put(world.hdfs, world.entity(directory))
        world.link(world.put(world.hive, world.entity(table), lies))
        _flag(world, table, directory)

        report = run_purge(world.solr)

        assert gone(world, table, directory) == [False, False]
        kept = world.relation(world.hive, lies)
        assert (kept["unlinked"], kept["deleted"]) == (False, False)
        counts = {each.never.name: each.count for each in report.never}
        assert counts == {"tables": 1, "producing operations": 0, "locations": 1}

    def test_a_relation_that_lost_its_end_is_unlinked_as_purged(self, world: World) -> None:
        partition, directory = world.partition("s.t", "ds=1"), world.path("/s/t/ds=1")
        lies = world.location(partition, directory)
        world.put(world.hdfs, world.entity(directory))
        world.link(world.put(world.hive, world.entity(partition), lies))
        _flag(world, directory)

        report = run_purge(world.solr)

        assert gone(world, directory, partition) == [True, False]
        left = world.relation(world.hive, lies)
        assert (left["unlinked"], left["unlinkedReason"]) == (True, "purged")
        assert tally(report, "directories").unlinked == 1

        world.link(world.put(world.hdfs, world.entity(directory)))
        assert world.relation(world.hive, lies)["unlinked"] is False


class TestFiles:
    """A rule that Navigator does not have: a file flagged deleted before the date is removed if it has no data flow
    and no managed metadata."""

    def one(self, world: World, delete_ms: int = BEFORE_MS - 1) -> Key:
        directory, file = world.path("/d"), world.file("/d/f")
        world.put(world.hdfs, world.entity(directory), Entity(_child(file, directory), world.now_ms))
        back, world.now_ms = world.now_ms, delete_ms
        _flag(world, file)
        world.now_ms = back
        return file

    def test_a_deleted_file_is_purged_with_its_parent_relation(self, world: World) -> None:
        file = self.one(world)
        report = run_purge(world.solr)
        assert gone(world, file, world.path("/d")) == [True, False]
        assert kinds(world) == []
        assert (tally(report, "files").removed, tally(report, "files").relations) == (1, 1)

    def test_a_file_deleted_on_the_date_is_kept(self, world: World) -> None:
        file = self.one(world, BEFORE_MS)
        run_purge(world.solr)
        assert gone(world, file) == [False]

    def test_deleted_files_are_kept_if_their_rule_is_off(self, world: World) -> None:
        file = self.one(world)
        report = run_purge(world.solr, deleted_files=False)
        assert gone(world, file) == [False]
        assert "files" not in [rule.name for rule, _ in report.rules]

    @pytest.mark.parametrize("reason", ["in a flow", "a table's location", "described"])
    def test_a_deleted_file_still_in_use_is_kept(self, world: World, reason: str) -> None:
        file = self.one(world)
        _hold(world, file, reason)
        report = run_purge(world.solr)
        assert gone(world, file) == [False]
        assert tally(report, "files").kept == {reason: 1}

    def test_a_withdrawn_flow_does_not_keep_a_file(self, world: World) -> None:
        file = self.one(world)
        flow = _hold(world, file, "in a flow")
        assert flow is not None
        world.drop(world.spark, flow)

        run_purge(world.solr)

        assert gone(world, file) == [True]
        assert world.relation(world.spark, flow)["unlinkedReason"] == "purged"


def _child(key: Key, parent: Key) -> Key:
    return Key(
        key.type,
        key.identity,
        key.source,
        key.name,
        key.tree_path,
        key.parent_path,
        key.file_system_path,
        parent,
    )


def _flag(world: World, *keys: Key) -> None:
    for key in keys:
        world.drop(key.source, key)


def _hold(world: World, key: Key, reason: str) -> Relation | None:
    match reason:
        case "in a flow":
            job = world.operation("job", source=world.spark)
            flow = world.flow(job, key)
            world.put(world.spark, world.entity(job, as_of_ms=BEFORE_MS), flow)
            return flow
        case "a table's location":
            world.put(world.hive, world.location(world.table("s.t"), key))
        case _:
            document = world.entity_of(key) or {}
            world.solr.add(ELEMENTS, [{**document, "up_reviewed": "yes"}])
            world.commit()
    return None


# -- One world with something for every rule -----------------------------------------------------------------------------


def fill(world: World) -> None:
    """Index an example of every kind that is removed, and of every kind that stays."""
    table, location = world.table("s.t"), world.path("/s/t")
    world.put(world.hive, world.entity(table), world.location(table, location))
    made = world.operation("create s.t")
    reads = [world.operation(f"read {number}") for number in range(5)]
    world.put(
        world.impala,
        world.entity(made),
        world.flow(made, table),
        *[
            run_of(world, made, f"m{number}", ended=BEFORE_MS - number, principal=f"u{number}")
            for number in range(6)
        ],
        *[world.entity(each) for each in reads],
        *[world.entity(world.part(each, "1")) for each in reads],
        *[world.flow(table, each) for each in reads],
        *[run_of(world, each, f"r{number}", ended=BEFORE_MS - number) for number, each in enumerate(reads)],
    )
    partition, directories = (
        world.partition("s.t", "ds=1"),
        [world.path(f"/x/{number}") for number in range(4)],
    )
    files = [
        _child(world.file(f"{directory.file_system_path}/{name}"), directory)
        for directory in directories
        for name in "fg"
    ]
    tree = [_child(directory, world.path("/x")) for directory in directories]
    world.put(
        world.hdfs,
        world.entity(world.path("/x")),
        world.entity(location),
        *[world.entity(key) for key in (*tree, *files)],
    )
    world.put(world.hive, world.entity(partition), world.location(partition, directories[0]))
    job = world.operation("job", source=world.spark)
    world.put(
        world.spark,
        world.entity(job),
        world.flow(world.path("/s/t/ds=1"), job),
        run_of(world, job, "j", ended=BEFORE_MS - 1),
    )
    world.link(everything=True)
    world.drop(world.hdfs, *tree[:2], *files[:6])
    assert world.added() == {("s.t", "/s/t/ds=1", "certain")}


def snapshot(world: World) -> dict[str, Any]:
    """Return every document, without `_version_` and stamps."""
    world.commit()
    return world.index()


def counts(report: PurgeReport) -> dict[str, tuple[int, int, int, Mapping[str, int]]]:
    return {rule.name: (t.candidates, t.removed, t.relations, t.kept) for rule, t in report.rules}


def test_a_dry_run_reports_exactly_what_a_purge_removes_and_writes_nothing(world: World) -> None:
    fill(world)
    before = world.versions()
    world.solr.commit(RUNS, soft=True)
    runs_before = world.solr.count(RUNS)

    forecast = run_purge(world.solr, dry_run=True, batch=2)
    world.commit()
    world.solr.commit(RUNS, soft=True)
    assert world.versions() == before
    assert world.solr.count(RUNS) == runs_before
    assert purged_before_ms(world.solr) == 0

    done = run_purge(world.solr, batch=3)
    assert counts(forecast) == counts(done)
    assert counts(done) == {
        "directories": (2, 2, 6, {}),
        "files": (6, 6, 2, {}),
        "executions": (10, 10, 10, {}),
        "operations": (7, 5, 9, {"has output": 1, "executed since": 1}),
    }
    assert [forecast.dry_run, done.dry_run] == [True, False]
    assert tally(forecast, "files").examples == tally(done, "files").examples


def test_a_second_purge_removes_nothing(world: World) -> None:
    fill(world)
    run_purge(world.solr)
    before = world.versions()

    report = run_purge(world.solr)

    assert report.status == "finished"
    assert {(removed, relations) for _, removed, relations, _ in counts(report).values()} == {(0, 0)}
    assert world.versions() == before


def test_an_empty_purge_finishes_without_a_note(world: World) -> None:
    report = run_purge(world.solr)
    assert (report.status, report.resumed, report.note) == ("finished", False, "")
    assert all(t == Tally() for _, t in report.rules)


def test_the_threshold_is_stored_before_the_first_removal(world: World) -> None:
    fill(world)
    seen: list[int] = []

    class Watching(Solr):
        def delete_versions(self, core: str, versions: Mapping[str, int]) -> tuple[str, ...]:
            seen.append(purged_before_ms(self))
            return super().delete_versions(core, versions)

    run_purge(Watching(world.solr.address))
    assert set(seen) == {BEFORE_MS}
    run_purge(world.solr, BEFORE_MS - DAY_MS)
    assert purged_before_ms(world.solr) == BEFORE_MS, "what was purged once stays purged"


# -- Interrupted and resumed ---------------------------------------------------------------------------------------------


class Killed(BaseException):
    """Simulated death of the process, because nothing catches a BaseException."""


class Dying(Solr):
    """The real Solr, which raises Killed after a limited number of writes."""

    left = 0

    def _dies(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def add(self, core: str, documents: Any) -> AddOutcome:
        self._dies()
        return super().add(core, documents)

    def delete_versions(self, core: str, versions: Mapping[str, int]) -> tuple[str, ...]:
        self._dies()
        return super().delete_versions(core, versions)

    def delete_ids(self, core: str, ids: Any) -> None:
        self._dies()
        super().delete_ids(core, ids)


@pytest.mark.soak
def test_a_purge_cut_off_at_any_write_and_continued_ends_the_same(world: World) -> None:
    fill(world)
    filled = {core: world.stored(core) for core in (ELEMENTS, RELATIONS)}
    whole_counts = _entities(run_purge(world.solr, batch=6))
    whole = snapshot(world)

    for writes in range(1_000):
        _restore(world, filled)
        dying = Dying(world.solr.address)
        dying.left = writes
        with suppress(Killed):
            run_purge(dying, batch=6)
            break
        world.commit()
        was_done = bool(world.solr.get(RUNS, [f"purge:{BEFORE_MS + DAY_MS}"])) and not open_purge(world.solr)
        report = run_purge(
            world.solr, batch=6, holder=SOMEBODY, lives=lambda _: False, clock=lambda: BEFORE_MS + 2 * DAY_MS
        )
        assert report.status == "finished", f"cut off at write {writes}"
        assert snapshot(world) == whole, f"cut off at write {writes}"
        assert was_done or _entities(report) == whole_counts, f"cut off at write {writes}"
    assert writes > 20


@pytest.mark.soak
def test_a_purge_cut_off_repeatedly_and_continued_ends_the_same(world: World, seed: str) -> None:
    chance = random.Random(seed)
    fill(world)
    filled = {core: world.stored(core) for core in (ELEMENTS, RELATIONS)}
    run_purge(world.solr)
    whole = snapshot(world)
    for _ in range(20):
        _restore(world, filled)
        batch = chance.randrange(1, 10)
        report, lives = None, 0
        while report is None:
            lives += 1
            dying = Dying(world.solr.address)
            dying.left = chance.randrange(15)
            with suppress(Killed):
                report = run_purge(
                    dying, batch=batch, holder=Holder("here", lives, "x"), lives=lambda _: False
                )
            world.commit()
        assert (report.status, snapshot(world)) == ("finished", whole), f"batches of {batch}, {lives} lives"


def _entities(report: PurgeReport) -> dict[str, tuple[int, int]]:
    return {rule: (candidates, removed) for rule, (candidates, removed, *_) in counts(report).items()}


def _restore(world: World, documents: Mapping[str, list[dict[str, Any]]]) -> None:
    world.clear()
    for core, each in documents.items():
        added = world.solr.add(core, [{**document, "_version_": 0} for document in each])
        assert not added.refused
    world.solr.client(RUNS).delete(q="*:*", commit=False)
    world.solr.commit(RUNS, soft=True)
    world.commit()


SCRIPT = """
import os, signal, sys
from navlin.index.journal.leases import Holder
from navlin.index.solr.solr import Solr, SolrAddress
from linker.purge import purge

class Dying(Solr):
    left = int(sys.argv[5])
    def delete_versions(self, core, versions):
        self.left -= 1
        if self.left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().delete_versions(core, versions)

url, user, password, before_ms = sys.argv[1:5]
solr = Dying(SolrAddress(url, user, password))
purge(solr, int(before_ms), holder=Holder("here", os.getpid(), "x"), lives=lambda _: True, clock=lambda: 1, batch=3)
"""


@pytest.mark.services
def test_a_killed_purge_is_continued_with_its_threshold_once_its_lease_is_free(world: World) -> None:
    fill(world)
    address = world.solr.address
    arguments = [address.url, address.user or "", address.password or "", str(BEFORE_MS), "6"]
    killed = subprocess.run(
        [sys.executable, "-c", SCRIPT, *arguments], cwd=Path(__file__).parents[2], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert open_purge(world.solr) is not None
    halfway = snapshot(world)

    with held_by(world.solr, "purge", SOMEBODY):
        assert run_purge(world.solr).status == "leased"
    assert snapshot(world) == halfway

    report = run_purge(world.solr, BEFORE_MS + 99 * DAY_MS, lives=lambda _: False)
    assert (report.status, report.resumed, report.before_ms) == ("finished", True, BEFORE_MS)
    assert "threshold" in report.note
    continued = snapshot(world)
    assert open_purge(world.solr) is None

    world.clear()
    fill(world)
    run_purge(world.solr)
    assert snapshot(world) == continued


@pytest.mark.services
def test_a_stopped_purge_continues_next_time(world: World) -> None:
    fill(world)
    asked = iter([False, False, True])
    report = run_purge(world.solr, batch=2, stop=lambda: next(asked))
    assert report.status == "stopped"
    removed_at_first = sum(t.removed for _, t in report.rules)
    assert removed_at_first > 0

    report = run_purge(world.solr, batch=2)
    assert (report.status, report.resumed) == ("finished", True)
    assert sum(t.removed for _, t in report.rules) == 23


def test_a_concurrent_second_purge_is_refused(world: World) -> None:
    fill(world)
    before = world.versions()

    with held_by(world.solr, "purge", SOMEBODY):
        report = run_purge(world.solr)

    assert (report.status, report.rules) == ("leased", ())
    assert "elsewhere" in report.note
    assert world.versions() == before


@pytest.mark.services
@pytest.mark.parametrize(
    "again", [ME, SOMEBODY], ids=["the same process", "another, when it was still for its length"]
)
def test_a_solr_outage_mid_purge_leaves_no_blocking_lease(world: World, again: Holder) -> None:
    fill(world)
    away = threading.Event()

    def passes(call: Call) -> bool:
        if call.core == ELEMENTS and call.handler == "update":
            away.set()
        return not away.is_set()

    with SolrProxy(world.solr.address, passes) as proxy, Solr(proxy.address) as behind:
        with pytest.raises(SolrUnavailable):
            run_purge(behind, lease_s=12)
        held = held_lease(world.solr, "purge")
        assert held is not None
        assert held.holder == ME, "it could not be given back"
    report = run_purge(world.solr, holder=again, lease_s=1.5 if again != ME else 3_600)
    assert (report.status, report.resumed) == ("finished", True)


@pytest.mark.services
def test_a_purge_that_lost_its_lease_records_nothing_more(world: World) -> None:
    fill(world)
    other: list[PurgeReport] = []

    def taken_over() -> bool:
        if not other:
            other.append(
                run_purge(world.solr, batch=2)
            )  # as another process would once the lease has expired
        return False

    report = run_purge(world.solr, batch=2, stop=taken_over)
    assert (other[0].status, other[0].resumed) == ("finished", True)
    assert report.status == "leased"
    # On a busy machine the thread that renews the lease may notice the loss before a write does.
    assert re.search(r"has taken the lease of the purge|the lease of purge was taken by", report.note)
    assert open_purge(world.solr) is None


# -- Alongside other writers ---------------------------------------------------------------------------------------------


class Crossed(Solr):
    """The real Solr; another writer writes to it just before the next removal of entities."""

    meanwhile: Callable[[], None] | None = None

    def delete_versions(self, core: str, versions: Mapping[str, int]) -> tuple[str, ...]:
        if core == ELEMENTS and (others := self.meanwhile):
            self.meanwhile = None
            others()
        return super().delete_versions(core, versions)


def crossing(world: World, meanwhile: Callable[[], Any]) -> PurgeReport:
    solr = Crossed(world.solr.address)
    solr.meanwhile = lambda: meanwhile() and None
    report = run_purge(solr)
    world.commit()
    return report


def test_a_file_returning_during_the_purge_keeps_its_relations(world: World) -> None:
    directory, file = world.path("/d"), world.file("/d/f")
    found = Entity(_child(file, directory), world.now_ms)
    world.put(world.hdfs, world.entity(directory), found)
    _flag(world, file)

    report = crossing(world, lambda: world.put(world.hdfs, found))

    assert (world.entity_of(file) or {})["deleted"] is False
    assert kinds(world) == ["PARENT_CHILD /d -> /d/f"]
    assert tally(report, "files").kept == {"changed meanwhile": 1}
    assert tally(report, "files").removed == 0


def test_a_directory_returning_during_the_purge_keeps_its_contents(world: World) -> None:
    directory, file = world.path("/d"), world.file("/d/f")
    found = world.entity(directory)
    world.put(world.hdfs, found, Entity(_child(file, directory), world.now_ms))
    _flag(world, directory)

    crossing(world, lambda: world.put(world.hdfs, found))

    assert gone(world, directory) == [False]
    assert kinds(world) == ["PARENT_CHILD /d -> /d/f"]


def test_a_kept_directory_returning_during_the_purge_keeps_its_contents(world: World) -> None:
    held, other, file = world.path("/d"), world.path("/e"), world.file("/d/f")
    found = world.entity(held)
    world.put(world.hdfs, found, world.entity(other), Entity(_child(file, held), world.now_ms))
    _hold(world, held, "described")
    _flag(world, held, other)

    crossing(world, lambda: world.put(world.hdfs, found))

    assert gone(world, held, other) == [False, True]
    assert kinds(world) == ["PARENT_CHILD /d -> /d/f"]


def test_an_execution_rewritten_during_the_purge_is_not_counted_as_purged(world: World) -> None:
    operation = world.operation("create")
    made = world.flow(operation, world.table("s.made"))
    runs = [run_of(world, operation, str(number), ended=BEFORE_MS - 1) for number in range(2)]
    world.put(world.impala, world.entity(operation), made, *runs)
    again = world.entity(runs[0].key, {"ended": BEFORE_MS + 1})

    crossing(world, lambda: world.put(world.impala, again))

    assert gone(world, runs[0].key, runs[1].key) == [False, True]
    assert (world.entity_of(operation) or {})["purgedExecutions"] == 1


def test_an_operation_executed_during_the_purge_is_restored(world: World) -> None:
    operation = world.operation("select")
    part = world.part(operation, "1")
    read = world.flow(world.table("s.read"), operation)
    world.put(world.impala, world.entity(operation), world.entity(part), read)
    again = run_of(world, operation, "2", ended=BEFORE_MS)

    report = crossing(world, lambda: world.put(world.impala, again))

    assert gone(world, operation, part, again.key) == [False, False, False]
    assert len(kinds(world)) == 3
    assert tally(report, "operations").kept == {"changed meanwhile": 1}


def test_an_edit_of_an_operation_survives_the_purges_own_write(world: World) -> None:
    operation = world.operation("create")
    made = world.flow(operation, world.table("s.made"))
    world.put(world.impala, world.entity(operation), made, run_of(world, operation, "1", ended=BEFORE_MS - 1))

    def describe() -> None:
        world.solr.add(ELEMENTS, [{**(world.entity_of(operation) or {}), "description": "the nightly one"}])

    crossing(world, describe)

    kept = world.entity_of(operation) or {}
    assert (kept["description"], kept["purgedExecutions"]) == ("the nightly one", 1)


# -- Blocked purges, and entities described by people --------------------------------------------------------------------


def old_executions(world: World, count: int, *, ended_ms: int = BEFORE_MS - 1) -> list[Entity]:
    operation = world.operation("create")
    made = world.flow(operation, world.table("s.made"))
    runs = [
        run_of(world, operation, str(each), started=ended_ms - 1, ended=ended_ms) for each in range(count)
    ]
    world.put(world.impala, world.entity(operation), made, *runs)
    return runs


def test_a_purge_of_half_of_the_history_is_blocked_until_that_number_is_accepted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purge_suspicion, "LEAST", 10)
    old_executions(world, 20)
    before = world.versions()

    held = run_purge(world.solr)

    assert held.status == "held"
    assert "20 of 20 executions are older than that" in held.note
    assert "--accept 21" in held.note, "the operation is looked at too"
    assert (world.versions(), purged_before_ms(world.solr)) == (before, 0)
    assert run_purge(world.solr, accepted=20).status == "held"
    assert run_purge(world.solr, dry_run=True).note == held.note

    done = run_purge(world.solr, accepted=21)
    assert (done.status, tally(done, "executions").removed) == ("finished", 20)


def test_a_stopped_purge_does_not_exit_successfully() -> None:
    assert exit_code({"status": "stopped"}) == Exit.FAILED
    assert exit_code({"status": "finished"}) == Exit.OK


def test_a_blocked_purge_has_its_own_exit_code(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(purge_suspicion, "LEAST", 10)
    old_executions(world, 20)

    held = run(configuration(world.solr, tmp_path), "purge", "--before", "2001-09-10")

    assert held.exit_code == Exit.HELD
    assert "--accept 21" in held.stdout


def test_a_purge_with_a_clock_ahead_is_blocked_even_on_a_small_index(world: World, tmp_path: Path) -> None:
    old_executions(world, 3)
    before = world.versions()
    file = configuration(world.solr, tmp_path)

    held = run(file, "purge", "--before", "2001-09-10")

    assert held.exit_code == Exit.HELD, held.output
    assert "nothing was executed or modified in the last" in held.stdout
    assert world.versions() == before
    [command] = re.findall(r"navlin (purge --before \S+ --accept \d+)", " ".join(held.stdout.split()))
    accepted = run(file, *command.split())
    assert (accepted.exit_code, "executions: removed 3" in accepted.stdout) == (Exit.OK, True), (
        accepted.stdout
    )


@pytest.mark.parametrize("told", ["started", "modified"])
def test_a_clock_is_trusted_if_a_source_has_a_recent_but_not_a_future_record(world: World, told: str) -> None:
    old_executions(world, 3)
    in_30_days = BEFORE_MS + 30 * DAY_MS

    def tell(name: str, when_ms: int) -> None:
        if told == "started":
            world.put(world.impala, run_of(world, world.operation("new"), name, started=when_ms))
        else:
            file = path_key(world.hdfs, f"/{name}", EntityType.FILE)
            world.put(world.hdfs, world.entity(file, {"lastModified": when_ms}))

    tell("a mistake", in_30_days + 5 * 365 * DAY_MS)
    assert run_purge(world.solr, clock=lambda: in_30_days).status == "held"

    tell("new", in_30_days - DAY_MS)
    assert run_purge(world.solr, clock=lambda: in_30_days).status == "finished"


def test_described_or_tagged_executions_and_operations_are_kept(world: World) -> None:
    plain, tagged, ran = (world.operation(name) for name in ("plain", "tagged", "ran"))
    runs = {each: run_of(world, each, each.name, ended=BEFORE_MS - 1) for each in (plain, tagged, ran)}
    world.put(world.impala, *[world.entity(each) for each in runs], *runs.values())
    words: dict[Key, dict[str, Any]] = {
        tagged: {"tags": ["quarter end"]},
        runs[ran].key: {"up_ticket": "FIN-7"},
    }
    for key, fields in words.items():
        atomic = {name: {"set": value} for name, value in fields.items()}
        world.solr.add(ELEMENTS, [{"identity": key.identity, **atomic}])
    world.commit()

    report = run_purge(world.solr)

    assert gone(world, plain, tagged, ran) == [True, False, False]
    assert gone(world, *(run.key for run in runs.values())) == [True, True, False]
    assert tally(report, "executions").kept == {"described": 1}
    assert tally(report, "operations").kept == {"described": 1, "an execution described": 1}
    assert any(each.startswith("INSTANCE_OF ran -> ") for each in kinds(world))


def test_forgetting_the_purge_threshold_resets_it(world: World) -> None:
    old_executions(world, 2)
    run_purge(world.solr)
    assert purged_before_ms(world.solr) == BEFORE_MS
    forget_purged_before(world.solr)
    assert purged_before_ms(world.solr) == 0
