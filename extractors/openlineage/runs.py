"""Merge all events of a run, in whatever order they arrive.

An event never removes information from other events: a START is often empty, and a COMPLETE often has fewer datasets
than the START. The state kept between two reads is a short text (`JobRun.saved`).
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

import orjson

from extractors.openlineage.columns import MAX_COLUMNS, MAX_INPUTS, MORE, ColumnSource, columns_of
from extractors.openlineage.events import EventDataset, RunEvent, job_name, mapping, objects, text
from navlin.model.identity import SEPARATOR
from navlin.model.redaction import bounded, redact
from navlin.model.redaction.literals import masks_literals, said_in_state

ENDS: Final = ("COMPLETE", "FAIL", "ABORT")
MAX_DATASETS: Final = 2_000
"""Maximum number of inputs, and of outputs, of a run. Further ones are left out, and the run is incomplete."""
MAX_FIELDS: Final = 5_000
"""Maximum number of fields in the schema of one dataset."""
MAX_LINKS: Final = 50
"""Maximum number of symlinks of one dataset."""
MAX_FED: Final = 100
"""Maximum number of inputs of one event that are stored with each output of a stream."""
TEXT_BYTES: Final = 64 << 10
"""Maximum size of the description of a dataset or job."""
SQL_BYTES: Final = 4 << 10
"""Maximum number of bytes of a SQL text that are stored between two reads. A longer text is cut, and its hash is
stored.
"""
SAVED_BYTES: Final = 128 << 10
"""Maximum length of `JobRun.saved`. A longer state is shortened (`JobRun.bound`)."""
MORE_DATASETS: Final = "the run has more datasets than navlin follows"
MORE_LINKS: Final = "a dataset has more symlinks than navlin follows"
MORE_THAN_KEPT: Final = "the run's events say more of its datasets than navlin keeps of a run until its end"
_T = TypeVar("_T")
Name = tuple[str, str]
"""(namespace, name) of a dataset."""


@dataclass(slots=True)
class DatasetState:
    """State of one dataset. ``links`` are its symlinks, as [namespace, name, type]. ``fields`` maps the fields of its
    schema to their types. ``columns`` maps each written column to its sources. ``rows`` are the columns that control
    all rows. ``sources`` are the datasets named as a whole from which this one was made. ``decides`` is true for an
    input that is only control flow, as stated by navlin's own exports. ``change`` is the lifecycle state change,
    ``before`` the former [namespace, name].
    """

    links: list[list[str]] = field(default_factory=list)
    fields: dict[str, str] = field(default_factory=dict)
    columns: dict[str, list[ColumnSource]] = field(default_factory=dict)
    rows: list[ColumnSource] = field(default_factory=list)
    sources: list[list[str]] = field(default_factory=list)
    decides: bool = False
    change: str = ""
    before: list[str] = field(default_factory=list)
    kind: str = ""
    catalog: list[str] = field(default_factory=list)
    fed_by: list[list[str]] = field(default_factory=list)
    """[namespace, name] of the inputs named together with this output, by events read after the run was known to be
    streaming.
    """
    fed_by_more: bool = False
    """Whether inputs are missing from ``fed_by`` because there were too many."""
    about: dict[str, Any] = field(default_factory=dict)
    """Attributes of the dataset's own document: description, owner, format, and so on."""
    said_ms: dict[str, int] = field(default_factory=dict)
    """Name of a single value → time of the event that set it (epoch ms). The latest value takes precedence."""

    def learn(self, dataset: EventDataset, time_ms: int) -> set[str]:
        """Merge a dataset from an event at ``time_ms``. Return the reasons why the dataset is incomplete.

        The type of a field is the one read last, whatever its time.
        """
        problems: set[str] = set()
        for each in objects(dataset.facet("symlinks").get("identifiers")):
            link = [text(each.get(name)) for name in ("namespace", "name", "type")]
            if link[0] and link[1] and not _add(self.links, [link], MAX_LINKS):
                problems.add(MORE_LINKS)
        for each in objects(dataset.facet("schema").get("fields")):
            name = text(each.get("name"))
            if name in self.fields or (name and len(self.fields) < MAX_FIELDS):
                self.fields[name] = text(each.get("type")) or self.fields.get(name, "")
            elif name:
                problems.add(MORE)
        for facet in ("columnLineage", "lineage"):
            told = columns_of(dataset.facet(facet))
            problems |= told.problems
            for name, inputs in told.columns.items():
                fits = name in self.columns or len(self.columns) < MAX_COLUMNS
                if not fits or not _add(self.columns.setdefault(name, []), inputs):
                    problems.add(MORE)
            for known, more in ((self.rows, told.rows), (self.sources, told.sources)):
                if not _add(known, more):
                    problems.add(MORE)
        self.decides = self.decides or text(dataset.facet("navlin_flow").get("flow")) == "CONTROL"
        said = Latest(self.said_ms, time_ms)
        changed = dataset.facet("lifecycleStateChange")
        self.change = said.of("change", self.change, text(changed.get("lifecycleStateChange")).upper())
        previous = mapping(changed.get("previousIdentifier"))
        before = [text(previous.get(name)) for name in ("namespace", "name")]
        self.before = said.of("before", self.before, before if all(before) else [])
        kind = text(dataset.facet("datasetType").get("datasetType")).upper()
        self.kind = said.of("kind", self.kind, kind)
        catalog = dataset.facet("catalog")
        named = [text(catalog.get(name)).lower() for name in ("framework", "type")] if catalog else []
        self.catalog = said.of("catalog", self.catalog, named)
        said.update(self.about, _redacted(_about(dataset)))
        return problems


class Latest(NamedTuple):
    """Merges the single values of an event. The latest value takes precedence, in whatever order events are read."""

    said_ms: dict[str, int]
    time_ms: int

    def of(self, name: str, known: _T, said: _T) -> _T:
        """Return the value to keep under a name: ``said``, unless it is empty or older than ``known``."""
        known_ms = self.said_ms.get(name, 0)
        # For two events with the same time, the choice does not depend on their order.
        if not said or self.time_ms < known_ms or (self.time_ms == known_ms and str(said) < str(known)):
            return known
        self.said_ms[name] = self.time_ms
        return said

    def update(self, known: dict[str, Any], said: Mapping[str, Any]) -> None:
        """Merge several values into ``known``, as `of` does for one."""
        for name, value in said.items():
            if value:
                known[name] = self.of(name, known.get(name), value)


def _about(dataset: EventDataset) -> dict[str, Any]:
    owners = objects(dataset.facet("ownership").get("owners"))
    storage = dataset.facet("storage")
    return {
        "originalDescription": text(dataset.facet("documentation").get("description"), TEXT_BYTES),
        "owner": ", ".join(text(each.get("name")) for each in owners),
        "storageLayer": text(storage.get("storageLayer")),
        "fileFormat": text(storage.get("fileFormat")),
        "datasetType": text(dataset.facet("datasetType").get("datasetType")),
        "sourceTags": tags(dataset.facet("tags")),
    }


def _redacted(values: Mapping[str, Any]) -> dict[str, Any]:
    """Redact texts, and lists of texts, because they are saved between two reads."""
    return {
        name: redact(value) if isinstance(value, str) else [redact(each) for each in value]
        for name, value in values.items()
    }


def tags(facet: Mapping[str, Any]) -> list[str]:
    """Return ``key=value`` of each tag; ``field:key=value`` for a tag of a field."""
    found = []
    for each in objects(facet.get("tags")):
        key, value, of_field = (text(each.get(name)) for name in ("key", "value", "field"))
        if key:
            found.append(f"{of_field + ':' if of_field else ''}{key}{'=' + value if value else ''}")
    return found[:100]


@dataclass(slots=True)
class JobRun:
    """One run, or the static description of a job (``id`` is then ""). Times are epoch ms, 0 if unknown."""

    id: str
    namespace: str
    name: str
    type: str = ""
    """The strongest type so far: the latest end if there was one, else RUNNING, START or OTHER."""
    first_ms: int = 0
    last_ms: int = 0
    started_ms: int = 0
    ended_ms: int = 0
    seen_ms: int = 0
    """Time at which navlin last read an event of the run."""
    sql: str = ""
    sql_ms: int = 0
    sql_digest: str = ""
    """Hash of the full text if it is longer than `SQL_BYTES`, otherwise ""."""
    sql_at: list[Any] = field(default_factory=list)
    """Location of the line with the event, if the text is not stored whole: [path, offset, size in bytes]; else []."""
    sql_hidden: str = ""
    """Hash of a text that is not stored at all, because literals must not be stored."""
    sender: str = ""
    engine: str = ""
    streaming: bool = False
    ran: bool = False
    """Whether the run was reported as running. A streaming job has then moved data, however it ends."""
    parent: list[str] = field(default_factory=list)
    """[run id, namespace, name]."""
    root: list[str] = field(default_factory=list)
    application: str = ""
    """The engine's application id, which is YARN's id if the application runs on YARN."""
    principal: str = ""
    error: str = ""
    incomplete: list[str] = field(default_factory=list)
    of_job: dict[str, Any] = field(default_factory=dict)
    of_run: dict[str, Any] = field(default_factory=dict)
    inputs: dict[Name, DatasetState] = field(default_factory=dict)
    outputs: dict[Name, DatasetState] = field(default_factory=dict)
    said_ms: dict[str, int] = field(default_factory=dict)
    """Name of a single value → time of the event that set it (epoch ms). The latest value takes precedence."""
    operation: str = ""
    """Tree path of the operation under which the run was last written."""

    @property
    def above(self) -> list[str]:
        """Ids of the parent and root runs."""
        return [each[0] for each in (self.parent, self.root) if each and each[0] != self.id]

    @property
    def ended(self) -> bool:
        """Whether the end of the run is known."""
        return self.type in ENDS

    @property
    def as_of_ms(self) -> int:
        """Time of the newest event of the run."""
        return self.last_ms

    @property
    def sql_is_cut(self) -> bool:
        """Whether only the beginning of the SQL text is available."""
        return bool(self.sql_hidden) or (bool(self.sql_digest) and self.sql == _beginning(self.sql))

    def cut_sql(self) -> None:
        """Cut a long SQL text to the part that `saved` stores, to save memory."""
        if self.sql_digest:
            self.sql = _beginning(self.sql)

    @property
    def sql_identity(self) -> str:
        """The part of the SQL text that identifies the operation. It does not depend on whether a long text was cut. A
        hidden text (`sql_hidden`) must be restored first (`make_whole`).
        """
        return _beginning(self.sql) + SEPARATOR + self.sql_digest if self.sql_digest else self.sql

    def learn(self, event: RunEvent, seen_ms: int, at: tuple[Any, ...] = ()) -> None:
        """Merge an event. ``at`` is the event's location: (path, offset, size in bytes).

        If two events have the same time, the one read later gives the name, the SQL text and the end.
        """
        self.seen_ms = max(self.seen_ms, seen_ms)
        self.first_ms = min(self.first_ms or event.time_ms, event.time_ms)
        self.ran = self.ran or event.type == "RUNNING"
        if event.type in ENDS:
            if not self.ended or event.time_ms >= self.ended_ms:
                self.type, self.ended_ms = event.type, event.time_ms
        elif not self.ended and (event.type != "OTHER" or not self.type) and self.type != "RUNNING":
            self.type = event.type
        if event.time_ms >= self.last_ms:
            # Spark adds the output to a job's name once the output is known.
            self.namespace, self.name = event.namespace, event.name
        if event.type == "START":
            self.started_ms = min(self.started_ms or event.time_ms, event.time_ms)
        self.last_ms = max(self.last_ms, event.time_ms)
        self._learn_job(event, at)
        self._learn_run(event)
        for datasets, known in ((event.inputs, self.inputs), (event.outputs, self.outputs)):
            for each in datasets:
                self._learn_dataset(known, each, event.time_ms)
        for each in event.outputs if self.streaming else ():
            if (fed := self.outputs.get((each.namespace, each.name))) is not None:
                fits = _add(fed.fed_by, ([read.namespace, read.name] for read in event.inputs[:MAX_FED]))
                fed.fed_by_more = fed.fed_by_more or not fits or len(event.inputs) > MAX_FED
        entries = mapping(event.job_facets.get("lineage")).get("entries")
        for entry in objects(entries):
            if text(entry.get("type")).upper() == "DATASET" and text(entry.get("name")):
                target = EventDataset(text(entry.get("namespace")), text(entry["name"]), {"lineage": entry})
                self._learn_dataset(self.outputs, target, event.time_ms)
            elif text(entry.get("type")).upper() == "JOB" and _own(entry, event):
                for given in objects(entry.get("inputs")):
                    read = EventDataset(text(given.get("namespace")), text(given.get("name")), {})
                    if text(given.get("type")).upper() in ("", "DATASET") and read.namespace and read.name:
                        self._learn_dataset(self.inputs, read, event.time_ms)
        if event.problems:
            self.missing("a part of an event could not be read")

    def _learn_dataset(self, known: dict[Name, DatasetState], dataset: EventDataset, time_ms: int) -> None:
        name = (dataset.namespace, dataset.name)
        if name not in known and len(known) >= MAX_DATASETS:
            self.missing(MORE_DATASETS)
            return
        for reason in sorted(known.setdefault(name, DatasetState()).learn(dataset, time_ms)):
            self.missing(reason)

    def _learn_job(self, event: RunEvent, at: tuple[Any, ...]) -> None:
        facets, said = event.job_facets, Latest(self.said_ms, event.time_ms)
        # The text is part of the operation's identity, so the identity must not change when the text is restored from
        # a position.
        sql = sql_in(facets)
        if sql and event.time_ms >= self.sql_ms:
            self.sql, self.sql_ms, self.sql_digest = sql, event.time_ms, digest_of(sql)
            self.sql_at = list(at) if self.sql_digest or masks_literals() else []
            self.sql_hidden = ""
        job = mapping(facets.get("jobType"))
        self.streaming = self.streaming or text(job.get("processingType")).upper() == "STREAMING"
        engine = mapping(event.run_facets.get("processing_engine"))
        named = text(job.get("integration")) or text(engine.get("name"))
        self.engine = said.of("engine", self.engine, named.upper()) or producer_name(event.producer)
        owners = objects(mapping(facets.get("ownership")).get("owners"))
        place = mapping(facets.get("sourceCodeLocation"))
        of_job = {
            "operationType": text(job.get("jobType")).upper(),
            "originalDescription": text(mapping(facets.get("documentation")).get("description"), TEXT_BYTES),
            "owner": ", ".join(text(each.get("name")) for each in owners),
            "sourceCodeLocation": text(place.get("url")) or text(place.get("repoUrl")),
            "sqlDialect": text(mapping(facets.get("sql")).get("dialect")),
            "sourceTags": tags(mapping(facets.get("tags"))),
        }
        said.update(self.of_job, _redacted(of_job))

    def _learn_run(self, event: RunEvent) -> None:
        facets, said = event.run_facets, Latest(self.said_ms, event.time_ms)
        # The producers of Airflow and Great Expectations used the name parentRun before the specification had one.
        parent = mapping(facets.get("parent") or facets.get("parentRun"))
        self.parent = said.of("parent", self.parent, _run_of(parent))
        self.root = said.of("root", self.root, _run_of(mapping(parent.get("root"))))
        details = mapping(facets.get("spark_applicationDetails"))
        properties = mapping(mapping(facets.get("spark_properties")).get("properties"))
        application = text(details.get("applicationId")) or text(properties.get("spark.app.id"))
        self.application = said.of("application", self.application, application)
        hive = mapping(facets.get("hive_session"))
        own = mapping(facets.get("navlin_run"))
        named = (details.get("userName"), hive.get("username"), own.get("principal"))
        principal = next((each for each in map(text, named) if each), "")
        self.principal = said.of("principal", self.principal, principal)
        error = redact(text(mapping(facets.get("errorMessage")).get("message"), 4 << 10))
        self.error = said.of("error", self.error, error)
        if mapping(facets.get("extractionError")).get("failedTasks"):
            self.missing("the producer could not extract all of the job's lineage")
        nominal = mapping(facets.get("nominalTime"))
        engine = mapping(facets.get("processing_engine"))
        query = mapping(facets.get("externalQuery"))
        hive_query = mapping(facets.get("hive_query"))
        of_run = {
            "nominalStartTime": text(nominal.get("nominalStartTime")),
            "nominalEndTime": text(nominal.get("nominalEndTime")),
            "engineVersion": text(engine.get("version")),
            "adapterVersion": text(engine.get("openlineageAdapterVersion")),
            "queryId": text(query.get("externalQueryId")) or text(hive_query.get("queryId")),
            "sourceTags": tags(mapping(facets.get("tags"))),
            "producer": text(event.producer, 1_000),
            "outputStatistics": _statistics(event.outputs, "outputStatistics"),
            "inputStatistics": _statistics(event.inputs, "inputStatistics"),
        }
        said.update(self.of_run, _redacted(of_run))

    def missing(self, reason: str) -> None:
        """Record a reason why the data on the run is incomplete."""
        if reason not in self.incomplete:
            self.incomplete.append(reason)

    # -- Between two reads ---------------------------------------------------------------------------

    def saved(self) -> str:
        """Return the run as a string, compressed because column lineage is repetitive. If literals are masked, leave
        out the SQL text, and of the error keep only the length.
        """
        value = asdict(self)
        if self.sql_digest:
            value["sql"] = _beginning(self.sql)
        if masks_literals() and self.sql:
            value |= {"sql": "", "sql_hidden": self.sql_digest or hash_of(self.sql)}
        value["error"] = said_in_state(self.error)
        for side in ("inputs", "outputs"):
            value[side] = [[*name, known] for name, known in value[side].items()]
        return base64.b85encode(zlib.compress(orjson.dumps(value), 6)).decode()

    def bound(self) -> bool:
        """If `saved` is longer than `SAVED_BYTES`, keep only one symlink and `decides` of each dataset, or, if that is
        not enough, no dataset and no attribute. Mark the run as incomplete, and return True.
        """
        if len(self.saved()) <= SAVED_BYTES:
            return False
        for side in (self.inputs, self.outputs):
            side.update(
                (name, DatasetState(links=known.links[:1], decides=known.decides))
                for name, known in side.items()
            )
        if len(self.saved()) > SAVED_BYTES:
            for each in (self.inputs, self.outputs, self.of_job, self.of_run, self.incomplete):
                each.clear()
        self.missing(MORE_THAN_KEPT)
        return True


def sql_in(job_facets: Mapping[str, Any]) -> str:
    """Return the SQL text in the facets of a job, redacted and at most 1 MiB; "" if there is none."""
    return redact(text(mapping(job_facets.get("sql")).get("query"), 1 << 20))


def digest_of(sql: str) -> str:
    """Return the hash of a text that is longer than `SQL_BYTES`; "" for a shorter text."""
    return hash_of(sql) if len(sql.encode("utf-8", "replace")) > SQL_BYTES else ""


def hash_of(sql: str) -> str:
    return hashlib.blake2b(sql.encode("utf-8", "replace"), digest_size=16).hexdigest()


def _beginning(sql: str) -> str:
    return sql.encode("utf-8", "replace")[:SQL_BYTES].decode("utf-8", "ignore")


def run_of(saved: str) -> JobRun:
    """Restore a run from the result of `JobRun.saved`."""
    value = orjson.loads(zlib.decompress(base64.b85decode(saved)))
    for side in ("inputs", "outputs"):
        value[side] = {(namespace, name): _known(known) for namespace, name, known in value[side]}
    return JobRun(**value)


def _known(value: dict[str, Any]) -> DatasetState:
    value["columns"] = {
        name: [ColumnSource(*each.values()) for each in inputs] for name, inputs in value["columns"].items()
    }
    value["rows"] = [ColumnSource(*each.values()) for each in value["rows"]]
    return DatasetState(**value)


def _own(entry: Mapping[str, Any], event: RunEvent) -> bool:
    """Whether an entry about a job concerns the event's own job, which may be left unnamed."""
    named = text(entry.get("namespace")), job_name(entry.get("name"))
    return named in (("", ""), (event.namespace, event.name))


def _add(known: list[Any], more: Iterable[Any], limit: int = MAX_INPUTS) -> bool:
    """Append the new elements, up to ``limit`` elements in all. Return whether all fitted."""
    seen = set(map(str, known))
    new = [each for each in more if str(each) not in seen]
    room = max(limit - len(known), 0)
    known.extend(new[:room])
    return len(new) <= room


def _run_of(facet: Mapping[str, Any]) -> list[str]:
    run, job = mapping(facet.get("run")), mapping(facet.get("job"))
    found = [text(run.get("runId")), text(job.get("namespace")), job_name(job.get("name"))]
    return found if all(found) else []


def _statistics(datasets: Iterable[EventDataset], facet: str) -> list[str]:
    found = []
    for each in datasets:
        numbers = each.facet(facet)
        told = [
            f"{name} {numbers[name]}"
            for name in ("rowCount", "size", "fileCount")
            if numbers.get(name) is not None
        ]
        if told:
            found.append(bounded(f"{each.name}: {', '.join(told)}", 500))
    return found[:100]


def producer_name(producer: str) -> str:
    """Return a producer's name, derived from its URI: SPARK for ``…/integration/spark``, AIRFLOW for
    ``…/apache/airflow/…``, OPENLINEAGE for any other.
    """
    parts = [each for each in producer.split("?")[0].rstrip("/").split("/") if each]
    if "integration" in parts[:-1]:
        return parts[parts.index("integration") + 1].upper()
    if "airflow" in parts:
        return "AIRFLOW"
    return "OPENLINEAGE"
