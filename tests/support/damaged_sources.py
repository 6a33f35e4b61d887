"""A source of each extractor whose records are damaged, and what becomes of each of them.

Every one goes in by ``plan`` and ``read``, and comes out of the function that a Spark task runs. Beside what is damaged
stand sound records, which have to be there in the end whatever stood beside them.
"""

from __future__ import annotations

import itertools
import json
import pickle
import random
import re
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

import cramjam
import orjson
import pyarrow as pa
import zstandard

from extractors.hdfs import Hdfs
from extractors.hdfs.child import Child
from extractors.hive_events import HiveEvents
from extractors.hms import HiveMetastore, idl
from extractors.impala_events import ImpalaEvents
from extractors.lineage.line_logs import LineLogs
from extractors.spark import SparkEvents, SparkLineageEvents, events
from extractors.yarn import Yarn
from navlin.model.extractor import Extractor
from navlin.model.plan import Positions
from navlin.model.records import Split
from navlin.model.source import HDFS, HIVE, IMPALA, SPARK, YARN, Estate, Source, source_id
from navlin.pipeline.reading import ReadSummary, read_splits, summarize
from tests import test_hive_events, test_impala_events, test_spark_lineage_events
from tests.services.rest import Answer, RestServer
from tests.services.thrift_metastore import ThriftMetastore
from tests.support import damage, spark_logs, stream_logs, yarn_rounds
from tests.support.image_trees import varied
from tests.support.images import Tree

LONGEST_S: Final = 20.0
"""What reading one split may take, of some hundred records at most, on a machine that others use as well."""
FILES_A_PLAN: Final = 100
LARGEST_BYTES: Final = 40_000
"""Larger records of the corpora are left out: what they show, smaller ones do."""


class Outcome(StrEnum):
    """What became of a damaged record."""

    VALID = "still valid"
    REJECTED = "rejected with its place"
    PASSED_OVER = "no record of ours any more"
    """By a rule of the format: a blank line, or another logger's."""
    WHOLE = "the whole refused"
    """Of an image or an answer that is one: its split fails, with words that name it, and nothing of it is believed."""


class Damaged(AssertionError):
    """A damaged record did what none may."""


@dataclass(slots=True)
class Tally:
    """What became of how many, by damage and outcome."""

    counts: Counter[tuple[str, Outcome]] = field(default_factory=Counter)

    def add(self, way: str, outcome: Outcome) -> None:
        self.counts[way, outcome] += 1

    @property
    def total(self) -> int:
        return self.counts.total()

    def of(self, outcome: Outcome) -> int:
        return sum(count for (_, each), count in self.counts.items() if each is outcome)

    def __str__(self) -> str:
        by_outcome = ", ".join(f"{self.of(each)} {each}" for each in Outcome if self.of(each))
        return f"{self.total} damaged in {len({way for way, _ in self.counts})} ways: {by_outcome}"


@dataclass(frozen=True, slots=True)
class Task:
    """What a Spark task made of splits."""

    documents: tuple[dict[str, Any], ...]
    summary: ReadSummary

    @property
    def executions(self) -> set[str]:
        return {each["identity"] for each in self.documents if each["type"] == "OPERATION_EXECUTION"}


Reader = Callable[[Path, random.Random, int, Sequence[Path]], Tally]
"""Damages so many records of a source in a directory of its own; the last are folders of the corpora, or none."""


@contextmanager
def in_time(what: str) -> Iterator[None]:
    """Raises `Damaged` if what is inside does not come to an end."""

    def too_long(*_: object) -> None:
        raise Damaged(f"{what} takes more than {LONGEST_S} s")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, LONGEST_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def in_a_task(extractor: Extractor, *splits: Split) -> Task:
    """Reads splits, and those that they yield, as Spark tasks do."""
    documents: list[dict[str, Any]] = []
    summary = ReadSummary()
    waiting = splits
    while waiting:
        pickled = pa.array([pickle.dumps(each) for each in waiting], pa.binary())
        batch = pa.RecordBatch.from_arrays([pickled], names=["split"])
        rows = [row for out in read_splits(extractor)([batch]) for row in out.to_pylist()]
        elements = (row for row in rows if row["core"] == "nav_elements")
        documents += (orjson.loads(row["document"]) | {"identity": row["identity"]} for row in elements)
        of_round = summarize(rows)
        summary, waiting = summary + of_round, of_round.splits
    # Not what is granted to it of others.
    return Task(tuple(each for each in documents if each.get("sourceId") == extractor.source.id), summary)


def _source(name: str, kind: str) -> tuple[Source, Estate]:
    hive = Source(source_id("damaged", "HIVE-1"), HIVE, "HIVE-1", "damaged", ("thrift://hms:9083",))
    source = (
        hive if kind == HIVE and name == "hms" else Source(source_id("damaged", name), kind, name, "damaged")
    )
    return source, Estate("damaged", tuple(dict.fromkeys((hive, source))))


# -- Logs with a record a line -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LineLog:
    """An extractor that follows lines. ``not_ours``: whether a text is no record of it, by a rule of the format."""

    extractor: Callable[[str], LineLogs]
    records: Sequence[Any]
    sound: tuple[bytes, bytes]
    not_ours: Callable[[bytes], bool]
    ways: Callable[[Any, random.Random], tuple[str, bytes]] = damage.damaged_json

    def damage(self, folder: Path, chance: random.Random, count: int) -> Tally:
        tally = Tally()
        before, after = self.sound
        directory = folder / "sound"
        directory.mkdir(parents=True)
        (directory / "log").write_bytes(before + b"\n" + after + b"\n")
        (task,) = self._read(directory).values()
        sound = task.executions
        if len(sound) != 2:
            raise Damaged(f"the sound records themselves do not read: {task.summary}")
        for number in itertools.count():
            if tally.total >= count:
                return tally
            directory = folder / str(number)
            directory.mkdir()
            damaged: dict[str, tuple[str, bytes]] = {}
            for file in range(min(FILES_A_PLAN, count - tally.total)):
                way, text = self.ways(chance.choice(self.records), chance)
                (path := directory / f"log{file}").write_bytes(b"\n".join((before, text, after, b"")))
                damaged[str(path)] = way, text
            for name, task in self._read(directory).items():
                way, text = damaged[name]
                tally.add(way, self._outcome(task, Path(name), text, sound))
            shutil.rmtree(directory)
        raise AssertionError("it counts for ever")

    def _read(self, directory: Path) -> dict[str, Task]:
        extractor = self.extractor(str(directory))
        tasks = {}
        for split in extractor.plan(Positions()).splits:
            with in_time(split.name):
                tasks[split.name] = in_a_task(extractor, split)
        return tasks

    def _outcome(self, task: Task, path: Path, text: bytes, sound: set[str]) -> Outcome:
        begin = len(self.sound[0]) + 1
        summary = task.summary
        if summary.failures:
            raise Damaged(f"the file failed: {summary.failures}: {text[:2_000]!r}")
        if lost := sound - task.executions:
            raise Damaged(
                f"{len(lost)} sound records beside it are lost, {summary.rejects}: {text[:2_000]!r}"
            )
        for reject in summary.rejects:
            if (
                reject.place != str(path)
                or not begin <= reject.offset <= begin + len(text)
                or not reject.reason
            ):
                raise Damaged(f"{reject} is not where the damage is: {text[:2_000]!r}")
        if summary.rejects:
            return Outcome.REJECTED
        if task.executions - sound:
            return Outcome.VALID
        if not self.not_ours(text):
            raise Damaged(f"neither read nor rejected: {text[:2_000]!r}")
        return Outcome.PASSED_OVER


def _blank(text: bytes) -> bool:
    return not text.strip()


def _no_key_of_lineage(text: bytes) -> bool:
    """Hive's hook writes into a log among other loggers' lines: those have none of its keys."""
    return not re.search(rb'"(?:queryText|vertexType|edgeType)"\s*:', text)


def _end_of_an_application(text: bytes) -> bool:
    if _blank(text):
        return True
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return isinstance(record, dict) and record.get("ended") is True


def _cases(corpora: Sequence[Path], *names: str) -> list[Any]:
    """Records of the corpora, one a line; without those that are very large."""
    found = []
    for folder in corpora:
        for name in names:
            for path in sorted(folder.glob(name)):
                for line in path.read_bytes().splitlines():
                    at = line.find(b"{")
                    if at >= 0 and len(line) <= LARGEST_BYTES:
                        found.append(json.loads(line[at:]))
    return found


def _line(record: Any) -> bytes:
    return damage.to_json(record).encode()


def impala_events(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = test_impala_events
    records = [made.of_5_0(), made.of_5_0_in_full(), *_cases(corpora, "impala/impala_lineage_log*")]
    before, after = (_line({**made.of_5_0(), "queryId": f"sound:{each}"}) for each in "ab")

    def follow(directory: str) -> LineLogs:
        return ImpalaEvents(*_source("impala", IMPALA), directory, "log*")

    return LineLog(follow, records, (before, after), _blank).damage(folder, chance, count)


def hive_events(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = test_hive_events
    records = [made.record(), *_cases(corpora, "hive/*.log")]
    before, after = (_line(made.record(user=f"sound-{each}")) for each in "ab")

    def follow(directory: str) -> LineLogs:
        return HiveEvents(*_source("hive", HIVE), directory, "log*")

    return LineLog(follow, records, (before, after), _no_key_of_lineage).damage(folder, chance, count)


def spark_lineage_events(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = test_spark_lineage_events
    ends = [made.table("sales.orders"), made.path("hdfs://ns1/in")], [made.path("hdfs://ns1/out")]
    records = [made.record(*ends), made.record(*ends, errorCode="10", message="failed"), made.END]
    before, after = (
        _line(made.record(*ends, applicationID=f"application_1700000000000_90{each}", yarnApplicationId=""))
        for each in (1, 2)
    )

    def follow(directory: str) -> LineLogs:
        return SparkLineageEvents(*_source("spark lineage", SPARK), directory, "log*")

    return LineLog(follow, records, (before, after), _end_of_an_application).damage(folder, chance, count)


# -- Event logs ----------------------------------------------------------------------------------------------------------

_SPARK_EVENT = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([^"]{1,200})"')
_NOT_PARSED: Final = frozenset(
    {None, events.JOB_START, events.JOB_END, events.LOG_START, events.APPLICATION_END}
)
"""Of most kinds of events a line is passed over by its first bytes; of these so is its rest."""
_PACKED: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "zstandard": lambda data: zstandard.ZstdCompressor(level=1, write_checksum=True).compress(data),
    "gzip": lambda data: bytes(cramjam.gzip.compress(data)),
}
"""With a sum: without one a changed letter is another letter, and nobody can tell."""
PACKED_SHARE: Final = 0.15
"""Of so many logs it is not one event that is damaged, but the compressed log."""


def spark_events(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = spark_logs
    copies = [made.insert(f"/w/sound_{each}", made.scan("db.a"), table=f"db.sound_{each}") for each in "ab"]
    beginning = made.lines(
        made.log_start(), made.application(), made.start(900_001, copies[0]), made.end(900_001)
    )
    ending = made.lines(made.start(900_002, copies[1]), made.end(900_002), made.application_end())
    records = [*_spark_records(), *_spark_events_of(corpora)]
    extractor = SparkEvents(*_source("spark", SPARK), str(folder))
    tally = Tally()
    for number in itertools.count():
        if tally.total >= count:
            return tally
        directory = folder / str(number)
        directory.mkdir(parents=True)
        extractor = SparkEvents(extractor.source, extractor.estate, str(directory))
        damaged: dict[str, tuple[str, bytes | None]] = {}
        for _ in range(min(FILES_A_PLAN, count - tally.total)):
            log = directory / f"application_1_{len(damaged):04d}"
            if chance.random() < PACKED_SHARE:
                codec, of_bytes = chance.choice(list(_PACKED)), chance.choice(damage.OF_BYTES)
                log.write_bytes(of_bytes(_PACKED[codec](beginning + ending), chance))
                damaged[str(log)] = f"{codec}, {of_bytes.__name__}", None
            else:
                way, text = damage.damaged_json(chance.choice(records), chance)
                log.write_bytes(beginning + text + b"\n" + ending)
                damaged[str(log)] = way, text
        splits = {split.name: split for split in extractor.plan(Positions()).splits}
        for path, (way, event) in damaged.items():
            if path not in splits:
                if event is not None or Path(path).stat().st_size:
                    raise Damaged(f"{way}: the log is not read at all")
                tally.add(way, Outcome.PASSED_OVER)
                continue
            with in_time(path):
                task = in_a_task(extractor, splits[path])
            tally.add(way, _of_a_log(task, way, path, event))
        shutil.rmtree(directory)
    raise AssertionError("it counts for ever")


def _of_a_log(task: Task, way: str, path: str, event: bytes | None) -> Outcome:
    about = f"{task.summary.rejects}: {(event or b'')[:2_000]!r}"
    if task.summary.failures:
        raise Damaged(f"the log failed: {task.summary.failures}, {about}")
    for reject in task.summary.rejects:
        if reject.place != path or not reject.reason:
            raise Damaged(f"{reject} does not name the log")
    written = {
        name
        for each in task.documents
        if each["type"] == "OPERATION_EXECUTION"
        for name in ("sound_a", "sound_b")
        if name in str(each.get("outputs"))
    }
    if event is not None and len(written) < 2:
        raise Damaged(f"a sound execution beside it is lost, {about}")
    if task.summary.rejects:
        return Outcome.REJECTED
    if event is None:
        if not Path(path).read_bytes().strip(b"\0 \t\r\n"):
            return Outcome.PASSED_OVER
        if len(written) < 2:
            raise Damaged(f"{way}: executions are lost without a word: {task}")
        return Outcome.VALID
    for line in event.split(b"\n"):
        if not _passed_over(line) and not _is_an_event(line):
            raise Damaged(f"neither read nor rejected: {line[:2_000]!r}")
    return Outcome.PASSED_OVER if all(map(_passed_over, event.split(b"\n"))) else Outcome.VALID


def _passed_over(line: bytes) -> bool:
    found = _SPARK_EVENT.match(line)
    return not line.replace(b"\0", b"").strip() or (
        found is not None and events.KINDS.get(found[1]) in _NOT_PARSED
    )


def _is_an_event(line: bytes) -> bool:
    try:
        event = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return False
    return isinstance(event, dict) and isinstance(event.get("Event"), str)


def _spark_records() -> list[Any]:
    made = spark_logs
    plan = made.insert("/w/b", made.scan("db.a"), made.scan("db.c"), table="db.b")
    return [
        made.log_start(),
        made.environment(fs__defaultFS="hdfs://ns1"),
        made.application(),
        made.application_end(),
        made.start(1, plan),
        made.start(2, made.command("CreateViewCommand", "`db`.`v`, select 1"), root=1),
        made.end(1),
        made.end(2, error="it failed"),
        made.job_start(1, 1, group="group"),
        made.job_end(1, failed=True),
        stream_logs.started(),
        stream_logs.terminated(),
    ]


def _spark_events_of(corpora: Sequence[Path]) -> list[Any]:
    """Events that matter, of some plain and some compressed logs."""
    found: dict[str, list[Any]] = {}
    for folder in corpora:
        for path in sorted((folder / "spark-event-logs").iterdir()):
            if not path.is_file() or path.suffix == ".jsonl":
                continue
            data = path.read_bytes()
            if path.suffix == ".zstd":
                with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
                    data = reader.read()
            for line in data.splitlines():
                known = _SPARK_EVENT.match(line)
                kind = events.KINDS.get(known[1]) if known else None
                if kind and len(line) < LARGEST_BYTES and len(found.setdefault(kind, [])) < 60:
                    try:
                        found[kind].append(json.loads(line))
                    except ValueError:
                        continue
    return [each for of_kind in found.values() for each in of_kind]


# -- YARN ----------------------------------------------------------------------------------------------------------------

APPLICATIONS_AN_ANSWER: Final = 200


def yarn(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    made = yarn_rounds
    applications = [
        made.app(1),
        made.app(2, type="MAPREDUCE"),
        made.running(3),
        made.app(4, finalStatus="FAILED"),
    ]
    jobs = [made.job(1), made.job(2, state="FAILED")]
    properties = {
        "mapreduce.input.fileinputformat.inputdir": "hdfs://ns1/in/a,hdfs://ns1/in/b*",
        "mapreduce.output.fileoutputformat.outputdir": "hdfs://ns1/out",
        "mapreduce.job.map.class": "M",
        "hive.query.id": "hive_1",
        "hive.metastore.uris": "thrift://hms:9083",
        "fs.defaultFS": "hdfs://ns1",
    }
    conf = {
        "conf": {
            "path": "x",
            "property": [{"name": name, "value": value} for name, value in properties.items()],
        }
    }
    tally = Tally()
    with RestServer(made.NOW_MS) as resource_manager, RestServer(made.NOW_MS) as history:
        source, estate = _source("yarn", YARN)
        extractor = Yarn(source, estate, (resource_manager.url,), (history.url,))
        while tally.total < count:
            answers = _YarnAnswers(resource_manager, history)
            of_jobs = chance.random() < 0.3
            if of_jobs:
                answers.conf = damage.to_json(_value_damaged(conf, chance)[1]).encode()
            sound = [json.dumps(made.app(each)).encode() for each in (9_998, 9_999)]
            ways: dict[str, str] = {}
            entries = []
            for number in range(min(APPLICATIONS_AN_ANSWER, count - tally.total)):
                identity = f"1799000000000_{number:04d}"
                kind, known = ("job", jobs) if of_jobs else ("application", applications)
                way, record = _value_damaged({**chance.choice(known), "id": f"{kind}_{identity}"}, chance)
                ways[identity] = way
                entries.append(damage.to_json(record).encode())
            if of_jobs:
                answers.jobs = b'{"jobs":{"job":[' + b",".join(entries) + b"]}}"
                entries = []
            answers.applications = b'{"apps":{"app":[' + b",".join((sound[0], *entries, sound[1])) + b"]}}"
            _of_an_answer(extractor, tally, ways, {"1799000000000_9998", "1799000000000_9999"})
            for _ in range(min(20, count - tally.total)):
                of_bytes = chance.choice((*damage.OF_BYTES, _nested))
                whole = _YarnAnswers(resource_manager, history)
                whole.applications = of_bytes(json.dumps({"apps": {"app": [made.app(1)]}}).encode(), chance)
                tally.add(f"an answer, {of_bytes.__name__}", _of_a_whole_answer(extractor))
    return tally


def _value_damaged(record: Any, chance: random.Random) -> tuple[str, Any]:
    """Without what would make no JSON of the answer as a whole."""
    of_value = chance.choice([each for each in damage.OF_VALUES if each is not damage.nested_deep])
    return of_value.__name__, of_value(record, chance)


def _nested(record: bytes, chance: random.Random) -> bytes:
    depth = chance.choice((900, 5_000, 100_000))
    return b'{"apps":{"app":[{"id":' + b"[" * depth + b"]" * depth + b"}]}}"


class _YarnAnswers:
    """What both services answer, as bytes."""

    def __init__(self, resource_manager: RestServer, history: RestServer) -> None:
        self.applications = self.jobs = self.conf = b"{}"
        resource_manager.routes["/ws/v1/cluster/apps"] = lambda _, query: (200, {}, self._of_states(query))
        history.routes["/ws/v1/history/mapreduce/jobs"] = lambda *_: (200, {}, self.jobs)
        history.routes["/ws/v1/history/mapreduce/jobs/"] = self._configuration

    def _of_states(self, query: Mapping[str, str]) -> bytes:
        """All are listed once: with those that have not ended."""
        return self.applications if "NEW" in query.get("states", "") else b"{}"

    def _configuration(self, *_: object) -> Answer:
        return 200, {}, self.conf


def _of_an_answer(extractor: Yarn, tally: Tally, ways: Mapping[str, str], sound: set[str]) -> None:
    with in_time("an answer of YARN"):
        plan = extractor.plan(Positions(now_ms=yarn_rounds.NOW_MS))
        task = in_a_task(extractor, *plan.splits)
    if task.summary.failures:
        raise Damaged(f"splits of an answer failed: {task.summary.failures}")
    known = {each["originalName"] for each in task.documents if each["type"] == "OPERATION_EXECUTION"}
    # What has not ended, and what waits for its history.
    known.update(*(position.value for position in plan.positions if position.key == "open"))
    known = {each.partition("_")[2] for each in known}
    if lost := sound - known:
        raise Damaged(f"sound applications are lost: {lost}")
    # The plan counts those of an answer that have no id, and names the service.
    without_id = sum(map(int, re.findall(r"http://\S+: (\d+) entries have no id", plan.note)))
    unknown = ways.keys() - known
    if len(unknown) != without_id:
        raise Damaged(
            f"{len(unknown)} entries are not known, and {without_id} rejected: {sorted(unknown)[:20]}"
        )
    for identity, way in ways.items():
        tally.add(way, Outcome.REJECTED if identity in unknown else Outcome.VALID)


def _of_a_whole_answer(extractor: Yarn) -> Outcome:
    try:
        with in_time("an answer of YARN"):
            plan = extractor.plan(Positions(now_ms=yarn_rounds.NOW_MS))
            task = in_a_task(extractor, *plan.splits)
    except Exception as error:
        if extractor.urls[0] not in str(error):
            raise Damaged(f"{type(error).__name__} does not name the service: {error}") from error
        return Outcome.WHOLE
    if task.summary.failures:
        raise Damaged(f"splits of an answer failed: {task.summary.failures}")
    return Outcome.VALID


# -- A metastore ---------------------------------------------------------------------------------------------------------

TABLES_A_DATABASE: Final = 150
_TEXTS: Final = tuple(each for each in damage.ODD_TEXTS if "\ud800" not in each and "\udc00" not in each)
_I32: Final = (0, -1, (1 << 31) - 1, -(1 << 31), 1)


def hms(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    """Damaged fields of tables and partitions, and damaged bytes of answers that hold them."""
    tally = Tally()
    with ThriftMetastore() as metastore:
        source, estate = _source("hms", HIVE)
        extractor = HiveMetastore(source, estate, (metastore.uri,), call_timeout_s=0.3)
        while tally.total < count:
            metastore.tables, metastore.partitions, metastore.damage = {}, {}, {}
            ways: dict[str, str] = {}
            for number in range(min(TABLES_A_DATABASE, count - tally.total)):
                name = f"t{number:03d}"
                table = _table(name)
                ways[name] = _damage_fields(table, chance)
                metastore.tables[name] = table
                if chance.random() < 0.3:
                    partition = _partition(name)
                    _damage_fields(partition, chance)
                    metastore.partitions[name] = {"ds=1": partition, "ds=2": _partition(name, "2")}
            for name in chance.sample(sorted(ways), chance.random() < 0.4):
                of_bytes = chance.choice(WIRE)
                ways[name] = f"on the wire, {of_bytes.__name__}"
                metastore.tables[name] = _table(name, owner="damaged on the wire")
                metastore.damage[name] = partial(of_bytes, chance=chance)
            metastore.tables |= {each: _table(each) for each in ("sound_a", "sound_b")}
            _of_a_database(extractor, tally, ways)
    return tally


def wrong_utf_8(record: bytes, chance: random.Random) -> bytes:
    """In the bytes of a text: Thrift counts them, and does not look at them."""
    return record.replace(b"damaged on the wire", b"damaged \xff\xfe the wire")


def other_bytes(record: bytes, chance: random.Random) -> bytes:
    """Behind the head of the message."""
    damaged = bytearray(record)
    for _ in range(chance.choice((1, 3, 20))):
        damaged[chance.randrange(30, len(damaged))] = chance.randrange(256)
    return bytes(damaged)


def cut_on_the_wire(record: bytes, chance: random.Random) -> bytes:
    return record[: chance.randrange(len(record))]


WIRE: Final = (wrong_utf_8, other_bytes, cut_on_the_wire)


def _of_a_database(extractor: HiveMetastore, tally: Tally, ways: Mapping[str, str]) -> None:
    plan = extractor.plan(Positions(now_ms=1))
    task = Task((), ReadSummary())
    for split in plan.splits:
        with in_time(split.name):
            of_split = in_a_task(extractor, split)
        task = Task(task.documents + of_split.documents, task.summary + of_split.summary)
    if task.summary.failures:
        raise Damaged(f"splits failed: {task.summary.failures}")
    paths = {each["treePath"] for each in task.documents}
    if lost := {"/DAMAGED/SOUND_A", "/DAMAGED/SOUND_B"} - paths:
        raise Damaged(f"sound tables are lost: {lost}")
    for reject in task.summary.rejects:
        if "thrift://" not in reject.place or not reject.reason:
            raise Damaged(f"{reject} does not name the metastore")
    rejected = " ".join(reject.place for reject in task.summary.rejects).upper()
    for name, way in ways.items():
        if f"DAMAGED.{name}".upper() in rejected or f"/DAMAGED/{name}".upper() in rejected:
            tally.add(way, Outcome.REJECTED)
        elif f"/DAMAGED/{name}".upper() in paths:
            tally.add(way, Outcome.VALID)
        else:
            raise Damaged(f"{name} is neither read nor rejected: {way}")


def _table(name: str, **more: Any) -> idl.Table:
    return idl.Table(
        tableName=name,
        dbName="damaged",
        owner=more.get("owner", "etl"),
        createTime=1_700_000_000,
        lastAccessTime=1_700_000_000,
        sd=_descriptor(f"hdfs://ns1/w/{name}"),
        partitionKeys=[idl.FieldSchema("ds", "string", None)],
        parameters={"comment": "a table", "numRows": "3", "transient_lastDdlTime": "1700000000"},
        viewExpandedText="SELECT 1",
        tableType="EXTERNAL_TABLE",
    )


def _partition(table: str, value: str = "1") -> idl.Partition:
    location = f"hdfs://ns1/w/{table}/ds={value}"
    return idl.Partition([value], "damaged", table, 1_700_000_000, 0, _descriptor(location), {"numRows": "1"})


def _descriptor(location: str) -> idl.StorageDescriptor:
    return idl.StorageDescriptor(
        cols=[idl.FieldSchema("id", "int", None), idl.FieldSchema("amount", "decimal(9,2)", "how much")],
        location=location,
        inputFormat="I",
        outputFormat="O",
        compressed=False,
        numBuckets=-1,
        serdeInfo=idl.SerDeInfo("s", "lib", {"path": location}),
        bucketCols=["id"],
        sortCols=[idl.Order("id", 1)],
        parameters={},
    )


def _damage_fields(thing: Any, chance: random.Random) -> str:
    """Exchanges a field of a structure, or of one within it, for another value that the wire can carry."""
    name = chance.choice([each.name for each in fields(thing)])
    value = getattr(thing, name)
    match value:
        case idl.StorageDescriptor() | idl.SerDeInfo() if chance.random() < 0.8:
            return _damage_fields(value, chance)
        case [idl.FieldSchema() | idl.Order(), *_] if chance.random() < 0.6:
            return _damage_fields(chance.choice(value), chance)
    way, other = _other_field(name, value, chance)
    setattr(thing, name, other)
    return way


def _other_field(name: str, value: Any, chance: random.Random) -> tuple[str, Any]:
    if chance.random() < 0.2:
        return "a field is missing", None
    match value:
        case bool():
            return "a flag turned", not value
        case int():
            return "another number", chance.choice(_I32)
        case str() | None if not isinstance(value, int):
            return "an odd text", chance.choice(_TEXTS) if name not in ("sd", "serdeInfo") else None
        case list():
            return "a list cut, or many times", chance.choice(([], value[:0], value * 300))
        case dict():
            odd = {chance.choice(_TEXTS): chance.choice(_TEXTS) for _ in range(chance.choice((0, 1, 40)))}
            spark = {
                "spark.sql.sources.schema": chance.choice(('{"type":', "[" * 5_000, "null", '{"fields":7}'))
            }
            return "other parameters", chance.choice((odd, {**value, **odd}, {**value, **spark}))
    return "a field is missing", None


# -- HDFS ----------------------------------------------------------------------------------------------------------------

IMAGES_SHARE: Final = 0.01
"""Of what is damaged of an HDFS: an image is read in some ten milliseconds. The rest are sidecars, rows and inodes."""
FILES_A_LISTING: Final = 300


def hdfs(folder: Path, chance: random.Random, count: int, corpora: Sequence[Path]) -> Tally:
    """A NameNode's answers with odd values, sidecars that are damaged, images with odd inodes, and damaged images."""
    tally = Tally()
    folder.mkdir(parents=True, exist_ok=True)
    while tally.total < count:
        _damage_listing(tally, chance, min(FILES_A_LISTING, count - tally.total))
        if tally.total < count:
            _damage_inodes(folder, tally, chance, min(FILES_A_LISTING, count - tally.total))
        for _ in range(min(int(2 * FILES_A_LISTING * IMAGES_SHARE), count - tally.total)):
            _damage_image(folder, tally, chance)
    return tally


_SIDECAR: Final = {
    "name": "n",
    "description": "what it is",
    "tags": ["a", "b"],
    "properties": {"owner": "ana"},
}


def _hdfs_extractor(folder: Path, **settings: Any) -> Hdfs:
    source = Source(source_id("damaged", "HDFS-1"), HDFS, "HDFS-1", "damaged", ("hdfs://ns1",))
    return Hdfs(source, Estate("damaged", (source,), spool=f"{folder}-spool"), "hdfs://ns1", **settings)


def _damage_listing(tally: Tally, chance: random.Random, count: int) -> None:
    namenode = _NameNode()
    ways: dict[str, str] = {}
    for number in range(count):
        path = f"/d/f{number:04d}"
        if chance.random() < 0.5:
            row = _row(path.rpartition("/")[2])
            at, other = chance.choice(_ROWS)
            row[at] = chance.choice(other)
            ways[path] = f"a row with another {_ROW_NAMES[at]}"
            namenode.rows[path] = row
        else:
            way, text = damage.damaged_json(_SIDECAR, chance)
            namenode.rows[path] = _row(path.rpartition("/")[2])
            sidecar = f"/d/.f{number:04d}.navigator"
            namenode.rows[sidecar] = _row(sidecar.rpartition("/")[2])
            namenode.contents[sidecar] = text
            ways[path] = f"a sidecar, {way}"
    namenode.rows["/d/sound"] = _row("sound")
    extractor = _hdfs_extractor(Path("/nowhere"), image="namenode", roots=("/d",))
    with namenode.answers():
        plan = extractor.plan(Positions(now_ms=1))
        with in_time("a listing"):
            task = in_a_task(extractor, *plan.splits)
    if task.summary.failures:
        raise Damaged(f"a listing failed: {task.summary.failures}")
    paths = {each["fileSystemPath"] for each in task.documents if "fileSystemPath" in each}
    rejected = {reject.place.removeprefix("hdfs://ns1") for reject in task.summary.rejects}
    if lost := {*ways, "/d/sound"} - paths:
        raise Damaged(f"{len(lost)} files are lost: {sorted(lost)[:5]}")
    for path, way in ways.items():
        beside = f"/d/.{path.rpartition('/')[2]}.navigator"
        tally.add(way, Outcome.REJECTED if {path, beside} & rejected else Outcome.VALID)


_ROW_NAMES: Final = (
    *(
        "name",
        "directory",
        "size",
        "block size",
        "replication",
        "owner",
        "group",
        "permissions",
        "modified_ms",
    ),
    *("accessed_ms", "inode", "symlink", "under construction", "zone", "policy", "acl"),
)
_NUMBERS: Final = (0, -1, (1 << 31) - 1, (1 << 63) - 1, -(1 << 63))
_NAMES: Final = (*_TEXTS[:-1], None)
_ROWS: Final[tuple[tuple[int, Sequence[Any]], ...]] = (
    *((at, _NUMBERS) for at in (2, 3, 8, 9, 10)),
    (4, (0, -1, 32_767)),
    *((at, _NAMES) for at in (5, 6, 7, 11, 13, 14)),
    (12, (True,)),
    (15, ([], [""], ["user:\0:rwx"] * 500)),
)


def _row(name: str) -> list[Any]:
    """What the Java child answers about a file; in a listing with its name first."""
    return [name, False, 3, 1024, 3, "etl", "users", "rw-r--r--", 1, 1, 17, None, False, None, None, []]


class _NameNode:
    """What the Java child would answer about a directory ``/d`` of files."""

    def __init__(self) -> None:
        self.rows: dict[str, list[Any]] = {}
        self.contents: dict[str, bytes] = {}
        self._open: list[bytes] = []

    @contextmanager
    def answers(self) -> Iterator[None]:
        """Every child answers so."""
        ask = Child.ask
        Child.ask = lambda child, request, *_: self._answer(request)  # type: ignore[method-assign]
        try:
            yield
        finally:
            Child.ask = ask  # type: ignore[method-assign]

    def _answer(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        match request:
            case {"op": "list"}:
                return {"rows": list(self.rows.values())}, b""
            case {"op": "describe", "paths": paths}:
                top = ["", True, 0, 0, 0, "hdfs", "users", "rwxr-xr-x", 1, 0, 16, None, False, None, None, []]
                return {"rows": [top if path == "/d" else self.rows.get(path) for path in paths]}, b""
            case {"op": "open", "path": path}:
                self._open.append(self.contents[path])
                return {"file": len(self._open) - 1, "length": len(self._open[-1])}, b""
            case {"op": "read", "file": file, "offset": offset, "length": length}:
                return {}, self._open[file][offset : offset + length]
            case {"op": "transaction"}:
                return {"transaction": 7}, b""
            case {"op": "namespace"}:
                return {"cluster": "c", "pool": "p"}, b""
            case {"op": "events"}:
                return {"events": [], "through": request["after"], "end": True}, b""
            case {"op": "offered"}:
                from extractors.hdfs.errors import HdfsRefused

                raise HdfsRefused("images are for superusers")
        return {}, b""


def _damage_inodes(folder: Path, tally: Tally, chance: random.Random, count: int) -> None:
    """An image that is sound, of inodes that are odd."""
    tree = Tree(transaction_id=chance.randrange(1, 1 << 40))
    names: dict[str, str] = {}
    for number in range(count):
        name = f"f{number:04d}"
        odd = chance.choice(_INODES)
        names[name] = f"an inode with another {odd[0]}"
        path: bytes = f"/d/{name}".encode()
        if odd[0] == "name":
            path += chance.choice(odd[1])
            tree.file(path)
        else:
            tree.file(path, **{odd[0]: chance.choice(odd[1])})
    image = tree.write(folder / "fsimage_0000000000000000001")
    task = _read_image(_hdfs_extractor(folder, image=str(image), events=False, sidecars=False))
    if task.summary.failures:
        raise Damaged(f"an image with odd inodes failed: {task.summary.failures}")
    read = {
        each["fileSystemPath"].rpartition("/")[2][:5] for each in task.documents if "fileSystemPath" in each
    }
    if lost := names.keys() - read:
        raise Damaged(f"inodes are lost: {sorted(lost)[:5]}")
    for way in names.values():
        tally.add(way, Outcome.VALID)


_INODES: Final[tuple[tuple[str, Sequence[Any]], ...]] = (
    (
        "name",
        (b"\xff\xfe", b"\xed\xa0\x80", b"\x00", b"\n", b"%", b"##", b"x" * 8_000, "é".encode(), b"\x1b[31m"),
    ),
    ("owner", [each for each in _TEXTS if len(each) < 100]),
    ("group", [each for each in _TEXTS if len(each) < 100]),
    ("mode", (0, 0o7777, 0o1000)),
    ("modified_ms", (0, (1 << 63) - 1, 253_402_300_800_000)),
    ("accessed_ms", (0, (1 << 63) - 1)),
    ("blocks", ((), (0,), ((1 << 40),) * 3, (1,) * 500)),
    ("replication", (0, 1, 512)),
    ("block_size", (0, 1, 1 << 40)),
)


def _damage_image(folder: Path, tally: Tally, chance: random.Random) -> None:
    tree = varied()
    sound = tree.rows()
    image = tree.write(folder / "fsimage_0000000000000004711", md5=chance.random() < 0.5)
    content = image.read_bytes()
    of_bytes = chance.choice(damage.OF_BYTES)
    image.write_bytes(of_bytes(content, chance))
    task = Task((), ReadSummary())
    message = ""
    try:
        task = _read_image(_hdfs_extractor(folder, image=str(image), events=False, sidecars=False))
    except Damaged:
        raise
    except Exception as error:
        message = f"{error}"
    message += " ".join(task.summary.failures.values())
    if message and image.name not in message:
        raise Damaged(f"a damaged image is not named: {message}")
    read = sum("fileSystemPath" in each for each in task.documents)
    # Flipped where no checksum is, a byte may be another letter of a name: a row it is all the same.
    if not message and read < len(sound):
        raise Damaged(f"{of_bytes.__name__}: of {len(sound)} rows {read} are read, without a failure")
    tally.add(f"an image, {of_bytes.__name__}", Outcome.WHOLE if message else Outcome.VALID)


def _read_image(extractor: Hdfs) -> Task:
    shutil.rmtree(extractor.estate.spool, ignore_errors=True)
    with in_time("an image"):
        plan = extractor.plan(Positions(now_ms=1))
        return in_a_task(extractor, *plan.splits)


READERS: Final[Mapping[str, Reader]] = {
    each.__name__: each
    for each in (hms, hdfs, yarn, spark_events, spark_lineage_events, impala_events, hive_events)
}
"""By the name of the extractor."""
