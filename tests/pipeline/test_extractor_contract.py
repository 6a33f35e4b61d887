"""The contract of every extractor: for each, `plan` and `read` are tested on one case.

A new extractor needs a function here that yields its `Case`, and has the extractor's name. The case contains at least one
entity, and something unreadable that becomes a `Reject`.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from extractors.hdfs import Hdfs
from extractors.hdfs.child import Child
from extractors.hive_events import HiveEvents
from extractors.hms import HiveMetastore
from extractors.hms.client import connected
from extractors.hms.idl import Database
from extractors.impala_events import ImpalaEvents
from extractors.oozie import Oozie
from extractors.openlineage import OpenLineageEvents
from extractors.s3 import S3
from extractors.spark import SparkEvents, SparkLineageEvents
from extractors.yarn import SqoopPublications, Yarn
from navlin.index.write.documents import entity_envelope, relation_envelope
from navlin.model.extractor import GIVEN, Extractor
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Entity, Listing, Position, Record, Reject, Relation, Split
from navlin.model.source import Estate, Source, source_id
from navlin.service.settings.configuration import SourceKeys
from navlin.service.settings.typed import settings_of
from tests.lineage_logs import test_hive_events, test_impala_events
from tests.repository.test_documents import as_toml
from tests.services.metastore import CREATE_DATABASE, CREATE_TABLE, DROP_DATABASE, table
from tests.services.rest import JobHistory, ResourceManager
from tests.services.s3 import StubS3
from tests.services.wire import Wire
from tests.spark import test_spark_lineage_events
from tests.support import oozie_rounds, openlineage, s3_rounds, spark_logs, yarn_rounds
from tests.support.manual import page
from tests.support.shipped_extractors import SHIPPED, SHOWN_SOURCES
from tests.yarn import test_sqoop_publications

FILES_MS = 1_000_000_000_000
"""Earlier than the modification time of any file here, so that no file counts as complete."""


@dataclass
class Case:
    """An extractor whose source has readable and unreadable content.

    ``asked`` returns the number of requests sent to the source so far. ``at_rest`` is the number of requests that a
    plan may send if there is nothing new.
    """

    extractor: Extractor
    now_ms: int = FILES_MS
    asked: Callable[[], int] = lambda: 0
    at_rest: int = 0


Services = Callable[[str], Any]
"""Maps the name of a fixture to the session's service."""


def source_of(name: str, **more: Any) -> tuple[Source, Estate]:
    source = Source(source_id("contract", name), SHIPPED[name].source_type, name, "contract")
    return source, Estate("contract", (source,), **more)


# -- The cases -----------------------------------------------------------------------------------------------------------


@contextmanager
def hms(services: Services, directory: Path) -> Iterator[Case]:
    metastore = services("metastore")
    broken = {"spark.sql.sources.schema.numParts": "2", "spark.sql.sources.schema.part.0": '{"type":'}
    with connected(metastore.address) as client, Wire(metastore.port) as wire:
        client.call(CREATE_DATABASE, Database("contract", None, None, {}))
        client.call(CREATE_TABLE, table("contract", "orders", partitioned_by={"ds": "string"}))
        client.call(CREATE_TABLE, table("contract", "broken", {}, parameters=broken))
        extractor = HiveMetastore(*source_of("hms"), (wire.uri,), databases=("contract",))
        yield Case(extractor, _now_ms(), lambda: len(wire.calls), at_rest=2)
        client.call(DROP_DATABASE, "contract", True, True)


@contextmanager
def hdfs(services: Services, directory: Path) -> Iterator[Case]:
    namenode, writer = services("hdfs"), services("hdfs_writer")
    writer.create("/contract/orders/part-0", b"123")
    writer.create("/contract/orders/.part-0.navigator", b"no JSON")
    namenode.save_namespace()
    extractor = Hdfs(
        *source_of("hdfs", spool=f"{directory}-spool"),
        namenode.url,
        hadoop_configuration_directory=str(namenode.configuration_directory),
        include=("/contract",),
    )
    requests: list[Mapping[str, Any]] = []
    ask = Child.ask

    def counted(child: Child, request: Mapping[str, Any], *more: Any) -> Any:
        requests.append(request)
        return ask(child, request, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Child, "ask", counted)
        # Four requests: the NameNode's transaction id, the later events (none in this directory), the ids of the
        # namespace, and the last followed events again.
        yield Case(extractor, _now_ms(), lambda: len(requests), at_rest=4)


@contextmanager
def yarn(services: Services, directory: Path) -> Iterator[Case]:
    with ResourceManager() as resource_manager, JobHistory() as history:
        resource_manager.apps = [yarn_rounds.app(1), yarn_rounds.app(2, name="word count", type="MAPREDUCE")]
        history.add(yarn_rounds.job(2))
        refused = f"/ws/v1/history/mapreduce/jobs/{yarn_rounds.job(2)['id']}/conf"
        history.routes[refused] = lambda *_: (403, {}, b"dr.who has no permission")
        extractor = Yarn(*source_of("yarn"), (resource_manager.url,), (history.url,))
        asked = (resource_manager.asked, history.asked)
        yield Case(extractor, yarn_rounds.NOW_MS, lambda: sum(map(len, asked)), at_rest=3)


@contextmanager
def oozie(services: Services, directory: Path) -> Iterator[Case]:
    made = oozie_rounds
    copied = made.action("copy", "fs", conf='<fs><move source="/a" target="/b"/></fs>')
    jobs = (made.workflow(1, copied), made.coordinator(1, made.coordinator_action(1)), made.bundle(1))
    with made.serving(*jobs, W=made.definition("copy"), C="no XML", B="<bundle-app name='b'/>") as server:
        extractor = Oozie(*source_of("oozie"), (server.address,))
        # Four requests: workflows by change and those that run, coordinators, bundles.
        yield Case(extractor, made.NOW_MS, lambda: len(server.asked), at_rest=4)


@contextmanager
def s3(services: Services, directory: Path) -> Iterator[Case]:
    made = s3_rounds
    with (
        pytest.MonkeyPatch.context() as patch,
        StubS3("contract", "orders/part-0", "orders//part-1") as server,
    ):
        for name, value in made.ENVIRONMENT.items():
            patch.setenv(name, value)
        extractor = S3(*source_of("s3"), "contract", server.url)
        # No request: the bucket was listed less than an hour ago.
        yield Case(extractor, made.AT_MS, lambda: len(server.asked), at_rest=0)


@contextmanager
def spark_events(services: Services, directory: Path) -> Iterator[Case]:
    plan = spark_logs.insert("file:/data/out", spark_logs.scan("sales.orders"), table="sales.totals")
    log = spark_logs.write_log(
        directory,
        spark_logs.log_start(),
        spark_logs.application(),
        spark_logs.start(1, plan),
        spark_logs.end(1),
    )
    with log.open("ab") as more:
        more.write(
            b'{"Event":"SparkListenerSQLExecution broken\n' + spark_logs.lines(spark_logs.application_end())
        )
    yield Case(SparkEvents(*source_of("spark_events"), str(directory)))


@contextmanager
def spark_lineage_events(services: Services, directory: Path) -> Iterator[Case]:
    made = test_spark_lineage_events
    record = made.record([made.table("sales.orders")], [made.path("hdfs://ns1/out")])
    (directory / "spark_lineage_log_app.log").write_text(json.dumps(record) + "\nno JSON\n")
    yield Case(SparkLineageEvents(*source_of("spark_lineage_events"), str(directory)))


@contextmanager
def impala_events(services: Services, directory: Path) -> Iterator[Case]:
    record = json.dumps(test_impala_events.of_5_0())
    (directory / "impala_lineage_log_1.0-1").write_text(record + "\nno JSON\n")
    yield Case(ImpalaEvents(*source_of("impala_events"), str(directory)))


@contextmanager
def hive_events(services: Services, directory: Path) -> Iterator[Case]:
    record = json.dumps(test_hive_events.record())
    (directory / "lineage.log").write_text(record + '\n{"queryText": 7}\n')
    yield Case(HiveEvents(*source_of("hive_events"), str(directory)))


@contextmanager
def openlineage_events(services: Services, directory: Path) -> Iterator[Case]:
    made = openlineage
    (directory / "events.jsonl").write_text(
        f"{json.dumps(made.START)}\nno JSON\n{json.dumps(made.COMPLETE)}\n"
    )
    yield Case(OpenLineageEvents(*source_of("openlineage_events"), str(directory)))


@contextmanager
def sqoop_publications(services: Services, directory: Path) -> Iterator[Case]:
    record = {**test_sqoop_publications.RECORD, "startTime": FILES_MS, "endTime": FILES_MS}
    (directory / "sqoop-1.json").write_text(json.dumps(record) + "\nno JSON\n")
    yield Case(SqoopPublications(*source_of("sqoop_publications"), str(directory)))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


CASES: Mapping[str, Callable[[Services, Path], AbstractContextManager[Case]]] = {
    name: globals()[name] for name in SHIPPED if name in globals()
}


# -- Reading the cases ---------------------------------------------------------------------------------------------------


@dataclass
class Extracted:
    """The result of reading until nothing is left. ``read`` has each split with its records and those of its pickled
    copy.
    """

    source: Source
    read: list[tuple[Split, list[Any], list[Any]]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    saved: dict[str, Any] = field(default_factory=dict)
    at_rest: Plan = field(default_factory=Plan)
    """The first plan without splits, made after everything was read."""
    requests: int = 0
    opened: list[str] = field(default_factory=list)
    """Files below the case's directory that this last plan opened."""

    def save(self, positions: list[Position]) -> None:
        for position in positions:
            self.saved[position.key] = orjson.loads(orjson.dumps(position.value))


@pytest.fixture(scope="module", params=SHIPPED)
def case(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, hadoop_jars: Path
) -> Iterator[tuple[Case, Extracted]]:
    # The jars in the parameters assign these tests to the process with the session's HDFS and metastore, see
    # `tests.tiers`.
    directory = tmp_path_factory.mktemp("contract")
    with CASES[request.param](request.getfixturevalue, directory) as made:
        yield made, extracted_of(made, directory)


@pytest.fixture(scope="module")
def extracted(case: tuple[Case, Extracted]) -> Extracted:
    return case[1]


def extracted_of(case: Case, directory: Path) -> Extracted:
    """Plan and read, as the pipeline does, until a plan has no splits."""
    done = Extracted(case.extractor.source)
    for _ in range(4):
        asked_before = case.asked()
        with files_opened(directory) as opened:
            plan = case.extractor.plan(Positions(dict(done.saved), case.now_ms))
        if not plan.splits:
            return replace(done, at_rest=plan, requests=case.asked() - asked_before, opened=opened)
        waiting, positions = list(plan.splits), list(plan.positions)
        while waiting:
            split = waiting.pop(0)
            records = list(case.extractor.read(split))
            copy = pickle.loads(pickle.dumps(split))  # noqa: S301  # made here
            again = list(case.extractor.read(copy))
            done.read.append((split, [*map(comparable, records)], [*map(comparable, again)]))
            done.records += records
            waiting += (each for each in records if isinstance(each, Split))
            positions += (each for each in records if isinstance(each, Position))
        done.save(positions)
    raise AssertionError("it finds something new again and again")


def comparable(record: Record) -> Any:
    """A record in a form that `==` compares: listings become tuples of lists."""
    if not isinstance(record, Listing):
        return record

    def columns(named: Mapping[str, Any]) -> dict[str, list[Any]]:
        return {name: listed(column) for name, column in named.items()}

    return (
        *(record.source, record.as_of_ms, listed(record.paths), listed(record.directories)),
        *(columns(record.attributes), columns(record.volatile)),
    )


def listed(column: Any) -> list[Any]:
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


_opened: list[str] = []
_hooked: list[bool] = []


@contextmanager
def files_opened(directory: Path) -> Iterator[list[str]]:
    """Yield a list that, after the block, contains the files below a directory that were opened in the block."""
    if not _hooked:  # audit hooks cannot be removed
        sys.addaudithook(
            lambda event, arguments: _opened.append(str(arguments[0])) if event == "open" else None
        )
        _hooked.append(True)
    found: list[str] = []
    _opened.clear()
    yield found
    found += (path for path in _opened if path.startswith(f"{directory}/"))


# -- The contract --------------------------------------------------------------------------------------------------------


def test_every_extractor_has_a_case() -> None:
    assert [name for name in SHIPPED if name not in CASES] == []


def test_splits_can_be_pickled_and_have_a_name(extracted: Extracted) -> None:
    assert extracted.read
    for split, _, _ in extracted.read:
        assert pickle.loads(pickle.dumps(split)) == split  # noqa: S301  # made here
        assert split.name


def test_rereading_a_split_yields_the_same(extracted: Extracted) -> None:
    assert any(isinstance(each, Entity | Listing) for each in extracted.records)
    for _, first, second in extracted.read:
        assert second == first


def test_records_become_documents(extracted: Extracted) -> None:
    for record in extracted.records:
        match record:
            case Entity():
                assert entity_envelope(record).writer == extracted.source.id
            case Relation():
                assert relation_envelope(record, extracted.source.id).fields()["type"] == record.type


def test_nothing_that_a_split_yields_is_older_than_what_it_covers(extracted: Extracted) -> None:
    """The pipeline takes a record that is older than the coverage around it for one that is gone."""
    for _, records, _ in extracted.read:
        for covered in (each for each in records if isinstance(each, Covered)):
            for each in records:
                if isinstance(each, Entity | Relation) and tree_path_of(each).startswith(f"{covered.path}/"):
                    assert each.as_of_ms >= covered.as_of_ms, each


def tree_path_of(record: Entity | Relation) -> str:
    return record.key.tree_path if isinstance(record, Entity) else record.tree_path


def test_a_plan_without_news_is_empty_and_cheap(case: tuple[Case, Extracted]) -> None:
    made, extracted = case

    assert (extracted.at_rest.splits, extracted.at_rest.covers) == ((), ())
    assert [each for each in extracted.at_rest.positions if extracted.saved.get(each.key) != each.value] == []
    assert extracted.requests <= made.at_rest
    assert extracted.opened == []


def test_unreadable_input_is_rejected_with_its_place(extracted: Extracted) -> None:
    rejects = [each for each in extracted.records if isinstance(each, Reject)]

    assert rejects
    for reject in rejects:
        assert reject.place
        assert reject.reason
        # The location is a file or the URL of a service.
        assert Path(reject.place.split(" ")[0]).exists() or "://" in reject.place


@pytest.mark.parametrize("name", SHIPPED)
def test_the_example_shows_every_setting_with_its_default(name: str) -> None:
    example = SHOWN_SOURCES[name]
    known = settings_of(SHIPPED[name].make, GIVEN)

    assert set(example) - {"name", "extractor"} == set(known)
    for key, item in known.items():
        if (default := as_toml(item)) is not MISSING:
            assert example[key] == default, key


@pytest.mark.parametrize("name", SHIPPED)
def test_the_manual_has_a_line_for_every_extractor(name: str) -> None:
    assert re.search(rf"^\| `{name}` \|", page("reference/extractors"), re.MULTILINE)


@pytest.mark.parametrize("name", SHIPPED)
def test_no_extractor_redefines_a_common_setting(name: str) -> None:
    assert {item.name for item in fields(SourceKeys)}.isdisjoint(settings_of(SHIPPED[name].make, GIVEN))
