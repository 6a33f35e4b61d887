"""``[redaction] literals = "all"``: every way by which text leaves an extractor, and the treatment of literals there.

The table of ways is compared with the records' own fields, so a new field needs a row.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, get_args

import pyarrow as pa
import pytest

from extractors.hdfs.errors import to_error
from extractors.hms import HiveMetastore
from extractors.hms.idl import FieldSchema, Partition, SerDeInfo, StorageDescriptor, Table
from extractors.lineage.file_split import FileSplit
from extractors.openlineage.events import to_event
from extractors.openlineage.runs import JobRun, run_of
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS, Extractor
from navlin.model.keys import EntityType, RelationType, execution_key, operation_key, table_key
from navlin.model.plan import Plan, Positions, SourceTime
from navlin.model.records import Entity, Record, Reject, Relation, Split
from navlin.model.redaction.literals import masking, without_quoted
from navlin.model.source import HIVE, Estate, Source, source_id
from navlin.pipeline.masking_literals import (
    ExtractorFailed,
    masked,
    plan_without_literals,
    without_literals_in,
)
from navlin.pipeline.planning import Planner
from navlin.pipeline.reading import FAILURE, REJECT, read_splits, summarize
from navlin.service.check import check
from navlin.service.settings.configuration import read_configuration
from tests.services.thrift_metastore import ThriftMetastore
from tests.support.openlineage import FIRST_MS, event, of_fields, source, table
from tests.support.poisoned_lines import PoisonedLines

PLANTED: Final = "hunter7Zx"
SOURCE: Final = Source(source_id("ways", "hms"), HIVE, "hms", "ways")
ESTATE: Final = Estate("ways", (SOURCE,), masks_literals=True)
VIEW_TEXT: Final = f"SELECT '{PLANTED}' AS a, \"{PLANTED}\" AS b FROM db.t -- {PLANTED}"  # noqa: S608 (a text of a view)

STATEMENTS: Final = (EntityType.OPERATION, EntityType.SUB_OPERATION, EntityType.OPERATION_EXECUTION)

MASKED, NAMES, NUMBERS, STATE, WORDS = "masked", "names", "numbers", "state", "sentence"
"""Treatments: literals are masked; names, ids and locations, which stay; numbers and flags; values that each extractor
masks itself, because it reads them again; a sentence of navlin's, whose quotations are masked."""

WAYS: Final = {
    ("Entity", "key"): MASKED,
    ("Entity", "as_of_ms"): NUMBERS,
    ("Entity", "attributes"): MASKED,
    ("Entity", "volatile"): MASKED,
    ("Entity", "ages"): NUMBERS,
    ("Entity", "renamed_from"): NAMES,
    ("Listing", "source"): NAMES,
    ("Listing", "as_of_ms"): NUMBERS,
    ("Listing", "paths"): NAMES,
    ("Listing", "directories"): NUMBERS,
    ("Listing", "attributes"): NAMES,
    ("Listing", "volatile"): NUMBERS,
    ("Listing", "where_claimed"): NUMBERS,
    ("Relation", "type"): NAMES,
    ("Relation", "ep1"): MASKED,
    ("Relation", "ep2"): MASKED,
    ("Relation", "tree_path"): NAMES,
    ("Relation", "as_of_ms"): NUMBERS,
    ("Relation", "attributes"): MASKED,
    ("Relation", "ages"): NUMBERS,
    ("Reject", "place"): NAMES,
    ("Reject", "reason"): WORDS,
    ("Reject", "offset"): NUMBERS,
    ("Reject", "sample"): MASKED,
    ("Reject", "tree_path"): NAMES,
    ("Reject", "count"): NUMBERS,
    ("Position", "key"): NAMES,
    ("Position", "value"): STATE,
    ("Covered", "path"): NAMES,
    ("Covered", "as_of_ms"): NUMBERS,
    ("Covered", "depth"): NAMES,
    ("Covered", "except_paths"): NAMES,
    ("Covered", "reported"): NUMBERS,
    ("Covered", "matching"): NAMES,
    ("Covered", "proved"): NUMBERS,
    ("Plan", "splits"): STATE,
    ("Plan", "positions"): STATE,
    ("Plan", "found"): STATE,
    ("Plan", "covers"): NAMES,
    ("Plan", "note"): WORDS,
    ("Plan", "more"): NUMBERS,
    ("Plan", "source_time"): NAMES,
    ("Plan", "moves"): NAMES,
    ("SourceTime", "at_ms"): NUMBERS,
    ("SourceTime", "of"): NAMES,
    ("SourceTime", "exact"): NUMBERS,
    ("Extractor", "plan"): WORDS,
    ("Extractor", "read"): WORDS,
    ("Extractor", "still_there"): WORDS,
    ("Extractor", "check"): WORDS,
    ("Extractor", "problems"): NAMES,
    ("Extractor", "serves"): NAMES,
    ("Extractor", "directories"): NAMES,
    ("Extractor", "local"): NUMBERS,
    ("Extractor", "receives"): NAMES,
}
"""(class, field or method) → treatment. For a method, the treatment is that of its errors and sentences."""


def test_every_field_of_every_record_and_every_method_of_an_extractor_has_a_row() -> None:
    kinds = [each for each in get_args(Record) if each.__name__ != "Split"]
    ways = {(kind.__name__, each.name) for kind in (*kinds, Plan, SourceTime) for each in fields(kind)}
    methods = {name for name in vars(Extractor) if not name.startswith("_")} - {"source", "estate"}

    assert WAYS.keys() == ways | {("Extractor", name) for name in methods}


OPERATION: Final = operation_key(SOURCE, VIEW_TEXT, (), name=f"insert into t select '{PLANTED}'")
TABLE: Final = table_key(SOURCE, "db", "t")
PLANTED_ENTITY: Final = {"queryText": VIEW_TEXT, "params": {"note": PLANTED}, "anything": PLANTED}


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(Entity(OPERATION, 1), id="Entity.key"),
        pytest.param(Entity(execution_key(OPERATION, "1"), 1), id="Entity.key of a part"),
        pytest.param(Entity(OPERATION, 1, {"queryText": VIEW_TEXT}), id="Entity.attributes"),
        pytest.param(Entity(OPERATION, 1, {}, {"errorMessage": PLANTED}), id="Entity.volatile"),
        pytest.param(Entity(TABLE, 1, {}, {"numRows": PLANTED}), id="Entity.volatile of a table"),
        pytest.param(Relation(RelationType.DATA_FLOW, OPERATION, TABLE, "/", 1), id="Relation.ep1"),
        pytest.param(Relation(RelationType.DATA_FLOW, TABLE, OPERATION, "/", 1), id="Relation.ep2"),
        pytest.param(
            Relation(RelationType.LOGICAL_PHYSICAL, TABLE, TABLE, "/", 1, {"anything": PLANTED}),
            id="Relation.attributes",
        ),
        pytest.param(Reject("/log", f"no key '{PLANTED}'", 7), id="Reject.reason"),
        pytest.param(Reject("/log", f"it is 'a '{PLANTED}' b', not c"), id="Reject.reason with quotes in it"),
        pytest.param(Reject("/log", "damaged", 7, PLANTED), id="Reject.sample"),
    ],
)
def test_no_field_of_a_record_lets_a_literal_out(record: Record) -> None:
    assert PLANTED in repr(record).replace(OPERATION.identity, "")

    assert PLANTED not in repr(without_literals_in(record))


@pytest.mark.parametrize("kind", [each for each in EntityType if each not in STATEMENTS])
def test_an_attribute_that_is_not_known_to_be_a_name_is_masked(kind: EntityType) -> None:
    key = replace(TABLE, type=kind)

    masked = without_literals_in(Entity(key, 1, {**PLANTED_ENTITY, "owner": "o'neil", "up_team": "team 'a'"}))

    assert isinstance(masked, Entity)
    assert masked.key == key
    assert masked.attributes == {
        "queryText": "SELECT '?' AS a, '?' AS b FROM db.t",
        "params": {"note": "[9 characters]"},
        "anything": "[9 characters]",
        "owner": "o'neil",
        "up_team": "team 'a'",
    }


def test_a_parameter_stays_only_if_it_is_a_name_a_place_or_a_switch() -> None:
    parameters = {
        "spark.sql.sources.provider": "delta",
        "view.query.out.col.0": "id",
        "view.catalogAndNamespace.part.0": "spark_catalog",
        "EXTERNAL": "TRUE",
        "transactional": "true",
        "comment": "the team's own",
        "metadata_location": "s3a://b/t/metadata/1.json",
        "view.sqlConfig.spark.app.note": PLANTED,
        "numbers": "31415926535",
        "iceberg.schema": json.dumps({"default": PLANTED}),
        "field.delim": ",",
    }

    masked = without_literals_in(Entity(TABLE, 1, {"params": parameters, "serdeProps": {"a": PLANTED}}))

    assert isinstance(masked, Entity)
    assert masked.attributes == {
        "params": {
            "spark.sql.sources.provider": "delta",
            "view.query.out.col.0": "id",
            "view.catalogAndNamespace.part.0": "spark_catalog",
            "EXTERNAL": "TRUE",
            "transactional": "true",
            "comment": "the team's own",
            "metadata_location": "s3a://b/t/metadata/1.json",
            "view.sqlConfig.spark.app.note": "[9 characters]",
            "numbers": "[11 characters]",
            "iceberg.schema": "[24 characters]",
            "field.delim": "[1 characters]",
        },
        "serdeProps": {"a": "[9 characters]"},
    }


# -- A metastore, from its port to the rows of a split -------------------------------------------------------------------


def a_metastore(*, refuses: str = "") -> ThriftMetastore:
    planted = {"note": PLANTED, "spark.sql.create.version": f"'{PLANTED}'"}
    descriptor = StorageDescriptor(
        cols=[FieldSchema("id", "int")],
        location="hdfs://ns1/w/t",
        serdeInfo=SerDeInfo(name="s", serializationLib="l", parameters=dict(planted)),
    )
    day = Partition(["1"], "damaged", "t", sd=descriptor, parameters=dict(planted))
    days = [FieldSchema("ds", "int")]
    metastore = ThriftMetastore()
    metastore.refusal = f"Cannot cast {PLANTED} to INT"
    table = Table("t", "damaged", "etl", sd=descriptor, partitionKeys=days, parameters=dict(planted))
    view = Table("v", "damaged", sd=StorageDescriptor(), parameters=dict(planted), tableType="VIRTUAL_VIEW")
    view.viewOriginalText = view.viewExpandedText = VIEW_TEXT
    metastore.tables = {"t": table, "v": view, "refused": Table("refused", "damaged")}
    metastore.partitions = {"t": {"ds=1": day}}
    metastore.mishaps["get_table_objects_by_name_req", "refused"] = "refused"
    if refuses:
        metastore.mishaps["get_all_tables", refuses] = "refused"
    return metastore


def rows_of(extractor: Extractor, splits: tuple[Split, ...]) -> list[dict[str, Any]]:
    """All rows that reading the splits, and the splits that they yield, gives."""
    rows: list[dict[str, Any]] = []
    while splits:
        batch = pa.RecordBatch.from_arrays([pa.array([pickle.dumps(each) for each in splits])], ["split"])
        read = [row for out in read_splits(extractor)([batch]) for row in out.to_pylist()]
        splits = summarize(read).splits
        rows += read
    return rows


@pytest.mark.parametrize("masks", [True, False])
def test_a_metastore_is_read_without_a_literal(masks: bool) -> None:
    with a_metastore() as metastore:
        extractor = HiveMetastore(
            SOURCE, replace(ESTATE, masks_literals=masks), (metastore.uri,), call_timeout_s=5
        )
        with masked(extractor):
            plan = extractor.plan(Positions({}, 1_700_000_000_000))
        rows = rows_of(extractor, plan.splits)

    found = sorted({row["core"] for row in rows if PLANTED in repr(row)})
    # A split that is due to a refusal has no text of it.
    assert found == ([] if masks else ["#reject", "nav_elements"])
    assert sum(row["core"] == "nav_elements" for row in rows) > 4


def test_a_note_of_a_plan_and_an_error_of_a_plan_have_no_literal() -> None:
    with a_metastore(refuses="damaged") as metastore:
        metastore.databases = ["damaged", "good"]
        extractor = HiveMetastore(SOURCE, ESTATE, (metastore.uri,), call_timeout_s=5)
        with masked(extractor):
            plan = plan_without_literals(extractor.plan(Positions({}, 1_700_000_000_000)))
        assert "the tables of damaged are not listed" in plan.note
        assert PLANTED not in plan.note
        metastore.databases = ["damaged"]
        with pytest.raises(ExtractorFailed) as raised, masked(extractor):
            extractor.plan(Positions({}, 1_700_000_000_000))

    assert "the tables of no database can be listed" in str(raised.value)
    assert PLANTED not in str(raised.value)


@dataclass(frozen=True, slots=True)
class Quoting(PoisonedLines):
    """An extractor whose sentences and errors quote a literal."""

    def plan(self, positions: Positions) -> Plan:
        if positions.complete:
            raise ValueError(f"no key '{PLANTED}'")
        return Plan(note=f"no key '{PLANTED}'")

    def read(self, split: Split) -> Iterator[Record]:
        yield Entity(TABLE, 1, {"created": PLANTED})
        raise ValueError(f"no key '{PLANTED}'")

    def check(self) -> Iterator[str]:
        yield f"it has '{PLANTED}'"
        raise ValueError(f"no key '{PLANTED}'")


@pytest.mark.parametrize(("masks", "said"), [(True, "'?'"), (False, f"'{PLANTED}'")])
def test_the_failure_of_a_split_and_an_impossible_date_quote_no_literal(said: str, *, masks: bool) -> None:
    extractor = Quoting(SOURCE, replace(ESTATE, masks_literals=masks))

    rows = rows_of(extractor, (FileSplit("key", "/log", 1, 1, 1, 1),))

    reasons = {row["core"]: row["document"].decode() for row in rows if row["core"] in (FAILURE, REJECT)}
    assert reasons[FAILURE] == f"no key {said}"
    assert json.loads(reasons[REJECT])["reason"] == f"invalid date: created {said}"


@pytest.mark.parametrize(("masks", "said"), [(True, "'?'"), (False, f"'{PLANTED}'")])
def test_a_plan_of_a_run_quotes_no_literal(solr: Solr, said: str, *, masks: bool) -> None:
    extractor = Quoting(SOURCE, replace(ESTATE, masks_literals=masks))
    planner = Planner(solr, EXTRACTORS["poisoned_lines"], extractor, lambda: 1)

    _, plan = planner.plan(complete=False)

    assert plan.note == f"no key {said}"
    with pytest.raises(Exception, match=f"no key {re.escape(said)}"):
        planner.plan(complete=True)


@pytest.mark.parametrize(("masks", "said"), [(True, "'?'"), (False, f"'{PLANTED}'")])
def test_a_check_of_a_source_quotes_no_literal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, *, masks: bool
) -> None:
    file = tmp_path / "navlin.toml"
    literals = "all" if masks else "marked"
    file.write_text(
        f'[navlin]\ncluster = "c"\nstate_directory = "state"\n[redaction]\nliterals = "{literals}"\n'
        f'[[source]]\nname = "p"\nextractor = "poisoned_lines"\ndirectory = "{tmp_path}"\n'
    )
    registration = EXTRACTORS["poisoned_lines"]
    monkeypatch.setitem(EXTRACTORS, "poisoned_lines", replace(registration, make=Quoting))

    findings = [
        each for each in check(read_configuration(file, EXTRACTORS, {}), {}) if each.subject == "source p"
    ]

    assert [each.text for each in findings[1:]] == [f"it has {said}", f"no key {said}"]


def test_an_error_of_an_extractor_keeps_its_type_if_literals_are_stored() -> None:
    extractor = HiveMetastore(SOURCE, replace(ESTATE, masks_literals=False), ("thrift://localhost:1",))

    with pytest.raises(KeyError, match="hunter7Zx"), masked(extractor):
        raise KeyError(PLANTED)


@pytest.mark.parametrize(
    "kind", ["java.io.IOException", "java.net.ConnectException", "java.io.FileNotFoundException"]
)
def test_a_message_of_a_namenode_is_its_length(kind: str) -> None:
    answer = {"class": kind, "message": f"Cannot open {PLANTED}", "path": "/p"}

    with masking(True):
        hidden = str(to_error(answer, "hdfs://ns1"))

    assert hidden.startswith("hdfs://ns1/p: [21 characters]")
    assert PLANTED in str(to_error(answer, "hdfs://ns1"))


@pytest.mark.parametrize(
    ("sentence", "masked_sentence"),
    [
        ("no key 'a b' in \"c\"", "no key '?' in '?'"),
        ("the metastore's list isn't 'it's S'", "the metastore's list isn't '?'"),
        ("it says a'S'b", "[13 characters]"),
        ("it says 'a' b' c'", "[17 characters]"),
        ("it says x='S'", "it says x='?'"),
        ("no quotes", "no quotes"),
    ],
)
def test_quotations_are_masked_and_a_sentence_with_unclear_ones_is_its_length(
    sentence: str, masked_sentence: str
) -> None:
    assert without_quoted(sentence) == masked_sentence


def test_the_saved_state_of_a_run_has_no_literal_of_a_statement_an_expression_or_an_error() -> None:
    how = [{"type": "DIRECT", "subtype": "TRANSFORMATION", "description": f"concat(y, '{PLANTED}')"}]
    output = table("b.b", **of_fields({"x": [{**source("a.a", "y"), "transformations": how}]}))
    reasons = event(
        "START",
        outputs=[output],
        job_facets={"sql": {"query": VIEW_TEXT}},
        run_facets={"errorMessage": {"message": f"Cannot cast {PLANTED}"}},
    )

    with masking(True):
        run = JobRun("r", "n", "job")
        run.learn(to_event(reasons, latest_ms=FIRST_MS), FIRST_MS)
        restored = run_of(run.saved())

    assert PLANTED not in repr(restored)
    [known] = restored.outputs.values()
    assert [each.description for each in known.columns["x"]] == ["concat(y, '?')"]
