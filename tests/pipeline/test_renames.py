"""Managed metadata and first-seen times follow an entity, not a name, through every sequence of renames.

A small model computes the expected result for every sequence of up to four creations, drops and renames over three
names. Each sequence runs on a real metastore, in one batch and split in two at each position.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pyspark.sql import SparkSession

from extractors.hms import HiveMetastore
from extractors.hms.client import MetastoreConnection, connected
from extractors.hms.idl import Database
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS, RUNS
from navlin.index.solr.solr import Solr
from navlin.index.write.renames import RenamedValues, values_after
from navlin.model.extractor import EXTRACTORS
from navlin.model.keys import Key, column_key, table_key
from navlin.model.source import HIVE, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from tests.services.metastore import ALTER_TABLE, CREATE_DATABASE, CREATE_TABLE, DROP_TABLE, Metastore, table

Step = tuple[str, ...]
Row = tuple[Step, ...]
NAMES = ("a", "b", "c")


@dataclass
class Names:
    """Model of the expected result: the thing at each name, and the metadata waiting at each free name. A thing is
    identified by its metadata; a thing created in the sequence has none ("")."""

    things: dict[str, str] = field(default_factory=lambda: {"a": "A", "b": "B"})
    waiting: dict[str, str] = field(default_factory=dict)

    def steps(self) -> Iterator[Step]:
        for name in NAMES:
            if name in self.things:
                yield "drop", name
                yield from (("rename", name, to) for to in NAMES if to not in self.things)
            else:
                yield "create", name

    def do(self, step: Step) -> None:
        match step:
            case "create", name:
                self.things[name] = self.waiting.pop(name, "")
            case "drop", name:
                words = self.things.pop(name)
                if words:
                    self.waiting[name] = words
            case "rename", name, to:
                words, left = self.things.pop(name), self.waiting.pop(to, "")
                self.things[to] = words or left
            case _:
                raise ValueError(step)


def after(row: Row) -> Names:
    names = Names()
    for step in row:
        names.do(step)
    return names


def rows(longest: int) -> list[Row]:
    """Return every possible sequence, shorter ones first."""
    found: list[Row] = [()]
    for length in range(longest):
        found += [(*row, step) for row in found if len(row) == length for step in after(row).steps()]
    return found[1:]


TABLE: dict[Row, dict[str, str]] = {
    (("rename", "a", "c"), ("rename", "b", "a"), ("rename", "c", "b")): {"a": "B", "b": "A"},
    (("drop", "b"), ("rename", "a", "b")): {"b": "A"},
    (("drop", "b"), ("create", "b"), ("rename", "a", "c")): {"b": "B", "c": "A"},
    (("rename", "a", "c"), ("create", "a")): {"a": "", "b": "B", "c": "A"},
    (("drop", "a"), ("create", "a")): {"a": "A", "b": "B"},
    (("rename", "a", "c"), ("drop", "c"), ("create", "a")): {"a": "", "b": "B"},
    (("create", "c"), ("drop", "a"), ("rename", "c", "a")): {"a": "A", "b": "B"},
    (("rename", "a", "c"), ("rename", "c", "a")): {"a": "A", "b": "B"},
}


@pytest.mark.parametrize(("row", "owners"), TABLE.items())
def test_the_model_gives_the_expected_owners(row: Row, owners: dict[str, str]) -> None:
    assert after(row).things == owners
    assert row in rows(3)


@pytest.mark.parametrize("cuts", [0, 1, 2, 3])
def test_metadata_moved_by_path_agrees_with_the_model(cuts: int) -> None:
    for row in rows(4):
        known: dict[str, Any] = {"/a": {"description": "A"}, "/a/x": {}, "/b": {"description": "B"}}
        for part in (row[:cuts], row[cuts:]):
            known = values_after(
                known, [(f"/{step[1]}", f"/{step[2]}") for step in part if step[0] == "rename"]
            )
        owners = {name: known.get(f"/{name}", {}).get("description", "") for name in after(row).things}
        assert owners == after(row).things, row


def test_a_cycle_of_three_moves_everything_below() -> None:
    known = {f"/{name}{below}": {"tags": [name, below]} for name in NAMES for below in ("", "/x")}
    moves = [("/a", "/tmp"), ("/c", "/a"), ("/b", "/c"), ("/tmp", "/b")]

    assert values_after(known, moves) == {
        f"/{to}{below}": {"tags": [name, below]}
        for name, to in zip("abc", "bca", strict=True)
        for below in ("", "/x")
    }


def test_a_path_sharing_only_a_prefix_is_unaffected() -> None:
    moved = RenamedValues(frozenset(("/a", "/b")), {"/a/x": {"name": "it"}})

    assert [moved.concerns(path) for path in ("/a", "/a/x", "/ab", "/c", "/", "")] == [
        True,
        True,
        *[False] * 4,
    ]


# -- A metastore -------------------------------------------------------------------------------------------------------


class Renamed:
    """A database with three names for each sequence of steps, and the index of that database."""

    def __init__(
        self, solr: Solr, spark: Callable[[], SparkSession], metastore: Metastore, client: MetastoreConnection
    ) -> None:
        self.solr, self.client = solr, client
        self.database = f"r{uuid.uuid4().hex[:10]}"
        client.call(CREATE_DATABASE, Database(self.database, "", None, {}))
        cluster = f"cluster-{self.database}"
        self.source = Source(source_id(cluster, "HIVE"), HIVE, "HIVE", cluster)
        estate = Estate(cluster, (self.source,))
        self.hms = HiveMetastore(self.source, estate, (metastore.uri,), databases=(self.database,))
        self.now_ms = 1_800_000_000_000
        self.ticks = itertools.count(1)
        self.pipeline = Pipeline(solr.address, spark, lambda: self.now_ms + next(self.ticks))

    def run(self, **options: Any) -> RunRecord:
        self.now_ms += 60_000
        record = self.pipeline.run(EXTRACTORS["hms"], self.hms, **options)
        self.solr.commit(ELEMENTS, soft=True)
        return record

    def do(self, prefix: str, step: Step) -> None:
        database, name = self.database, f"{prefix}_{step[1]}"
        match step[0]:
            case "create":
                self.client.call(CREATE_TABLE, table(database, name, {"id": "int"}))
            case "drop":
                self.client.call(DROP_TABLE, database, name, False)
            case "rename":
                (as_it_is,) = self.client.tables(database, [name])
                as_it_is.tableName = f"{prefix}_{step[2]}"
                self.client.call(ALTER_TABLE, database, name, as_it_is)

    def key(self, prefix: str, name: str) -> Key:
        return table_key(self.source, self.database, f"{prefix}_{name}")

    def write(self, prefixes: list[str]) -> None:
        """Write different metadata and first-seen times to the two tables of each sequence and to their columns."""
        documents = []
        for prefix, (name, words) in itertools.product(prefixes, (("a", "A"), ("b", "B"))):
            key = self.key(prefix, name)
            for each in (key, column_key(key, "id")):
                fields = {"description": words, "tags": [words], "up_owner": words, "firstSeen": SEEN[words]}
                set_ = {field: {"set": value} for field, value in fields.items()}
                documents.append({"identity": each.identity, **set_})
        self.solr.add(ELEMENTS, documents)
        self.solr.commit(ELEMENTS, soft=True)

    def owners(self, prefix: str) -> dict[str, tuple[str, ...]]:
        """Map each existing name to the things whose metadata the table and its column have, field by field."""
        found = {}
        for name in NAMES:
            key = self.key(prefix, name)
            ids = [key.identity, column_key(key, "id").identity]
            documents = self.solr.get(ELEMENTS, ids)
            if any(each["identity"] == key.identity and not each["deleted"] for each in documents):
                assert len(documents) == 2
                found[name] = tuple(
                    word
                    for each in documents
                    for word in (
                        each.get("description", ""),
                        "".join(each.get("tags", ())),
                        each.get("up_owner", ""),
                        BY_TIME.get(each["firstSeen"], ""),
                    )
                )
        return found


SEEN = {"A": "2020-01-01T00:00:00.001Z", "B": "2021-01-01T00:00:00.001Z"}
BY_TIME = {seen: words for words, seen in SEEN.items()}


@pytest.fixture
def renamed(solr: Solr, spark: Callable[[], SparkSession], metastore: Metastore) -> Iterator[Renamed]:
    with connected(metastore.address) as client:
        yield Renamed(solr, spark, metastore, client)


def do_and_compare(renamed: Renamed, every: list[Row]) -> None:
    """Run each sequence in one batch and split in two at each position. Compare whose metadata each table has with
    the model."""
    cut = {f"t{at}x{k}": (row, k) for at, row in enumerate(every) for k in range(len(row))}
    for prefix in cut:
        renamed.do(prefix, ("create", "a"))
        renamed.do(prefix, ("create", "b"))
    assert renamed.run().status is Status.FINISHED
    renamed.write(list(cut))
    for first in (True, False):
        for prefix, (row, k) in cut.items():
            for step in row[:k] if first else row[k:]:
                renamed.do(prefix, step)
        record = renamed.run()
        assert (record.status, record.note) == (Status.FINISHED, ""), (record.error, record.failures)
    wrong: list[object] = []
    for prefix, (row, k) in cut.items():
        things = after(row).things
        # First-seen times are compared below. A thing created in the sequence may be seen between two batches, and
        # a name keeps its first-seen time.
        found = {name: words[:3] + words[4:7] for name, words in renamed.owners(prefix).items()}
        if found != {name: (words,) * 6 for name, words in things.items()}:
            wrong.append((row, k, things, found))
        for name, words in renamed.owners(prefix).items():
            if (
                things.get(name)
                and untouched_by_creation(row)
                and (words[3], words[7]) != (things[name],) * 2
            ):
                wrong.append((row, k, "first seen", name, words))
    assert wrong == []


def untouched_by_creation(row: Row) -> bool:
    return all(step[0] != "create" for step in row)


SWAP: Row = (("rename", "a", "c"), ("rename", "b", "a"), ("rename", "c", "b"))


@pytest.mark.soak
def test_metadata_follows_through_every_two_steps_and_a_swap(renamed: Renamed) -> None:
    do_and_compare(renamed, [*rows(2), SWAP])


@pytest.mark.soak
def test_metadata_follows_through_every_three_steps(renamed: Renamed) -> None:
    do_and_compare(renamed, [row for row in rows(3) if len(row) == 3])


@pytest.mark.soak
def test_metadata_follows_through_every_four_steps(renamed: Renamed) -> None:
    do_and_compare(renamed, [row for row in rows(4) if len(row) == 4])


@pytest.mark.parametrize("dies_at", ["link", "save"])
def test_a_run_repeated_after_dying_does_not_swap_back(renamed: Renamed, dies_at: str) -> None:
    class Died(Exception):
        pass

    def step(name: str) -> None:
        if name == dies_at:
            raise Died

    for each in ("a", "b"):
        renamed.do("t", ("create", each))
    renamed.run()
    renamed.write(["t"])
    for name, to in (("a", "c"), ("b", "a"), ("c", "b")):
        renamed.do("t", ("rename", name, to))
    assert renamed.run(step=step).status is Status.FAILED
    orders = renamed.key("t", "a").identity
    renamed.solr.add(ELEMENTS, [{"identity": orders, "tags": {"set": ["written since"]}}])
    renamed.solr.commit(RUNS, soft=True)
    assert renamed.run().status is Status.FINISHED

    owners = renamed.owners("t")
    assert owners["b"] == ("A",) * 8
    assert owners["a"] == ("B", "written since", *("B",) * 6)
    assert renamed.run().status is Status.IDLE
