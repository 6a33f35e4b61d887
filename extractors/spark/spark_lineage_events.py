"""Extractor for Cloudera's Spark lineage log, which Spark writes for Navigator in CDH 5 to CDP: one JSON record per
query.

The listeners ``NavigatorAppListener`` and ``NavigatorQueryListener`` (``spark.lineage.enabled``) write it on the
driver's host, to ``spark_lineage_log_<application>-<random>.log`` in ``spark.lineage.log.dir``. The last line marks
the application's end; a killed driver does not write that line. A record names the tables and paths that a query read
and wrote, but not how columns were used. If Spark's own event log can be read, use only
`extractors.spark.spark_events`, which gives more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from extractors.lineage.file_split import FileSplit
from extractors.lineage.followed_files import MAX_LINE_BYTES, Line
from extractors.lineage.line_logs import LineLogs, parted
from extractors.spark.application import SparkApplication
from extractors.spark.effect import RunEffect
from extractors.spark.incomplete import Incomplete
from extractors.spark.lineage import FAILED, SUCCEEDED, ApplicationKeys, Occurrence, occurrence_records
from extractors.spark.plan.names import dotted_table, is_path
from extractors.spark.plan.reads import PlanEnd, path_end, table_end
from extractors.spark.times import instant, no_time
from navlin.model.extractor import PUSH, extractor, keeps_positions
from navlin.model.keys import application_id, is_location, wrong_default_fs
from navlin.model.records import Record, Reject, Split
from navlin.model.redaction import bounded, sample
from navlin.model.source import METASTORES_NAMED, SPARK, Estate, Source, metastores_named

_START = re.compile(rb'\{"(?:version|applicationID)"\s*:')
"""Beginning of a record."""
SHOWN_CHARS = 80
_KEYS = re.compile(rb'"(?:applicationID|yarnApplicationId|dataSourceType)"\s*:')
"""Keys that only these records have. A line without any of these keys must not be shown."""
FINE, NOT_SUPPORTED = "00", "01"
"""Values of ``errorCode``. `FINE`: the lineage is complete. `NOT_SUPPORTED`: the plan has aggregates, for which Spark
1.6's listener wrote no lineage.
"""


class NotAQueryRecord(ValueError):
    """A line is not the record of a query. The message is the reason."""


@extractor("spark_lineage_events", source_type=SPARK, mode=PUSH, version=3)
@dataclass(frozen=True, slots=True)
class SparkLineageEvents(LineLogs):
    """Extractor that follows the lineage logs on this host.

    ``directory`` is one or several directories, which may be globs. ``metastore`` is the address of the metastore for
    records that do not name one; ``yarn`` is the address of the YARN that ran the applications, needed if several are
    configured. ``default_fs`` completes paths that do not name a host.
    """

    source: Source
    estate: Estate
    # Each file has its own position and is recognized by its content, wherever it is.
    directory: str | tuple[str, ...] = keeps_positions("/var/log/spark/lineage")
    pattern: str = keeps_positions("spark_lineage_log_*")
    metastore: str = ""
    yarn: str = ""
    default_fs: str = ""
    max_line_bytes: int = MAX_LINE_BYTES

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from wrong_default_fs(self.default_fs)

    def read(self, split: Split) -> Iterator[Record]:
        assert isinstance(split, FileSplit)
        yield from self._read(split, partial(self._records, written_ms=split.written_ms))

    def _records(self, line: Line, path: str, written_ms: int) -> Iterator[Record]:
        text = line.text.strip()
        if not text:
            return
        try:
            record = _parse(text)
            if record.get("ended") is True and not (record.get("inputs") or record.get("outputs")):
                return  # the application's end
            application, occurrence, effect = _query(record, written_ms)
        except NotAQueryRecord as broken:
            if pieces := parted(text, _START):
                for at, piece in pieces:
                    yield from self._records(Line(line.offset + at, piece), path, written_ms)
                return
            yield Reject(path, str(broken), line.offset, sample(text) if _KEYS.search(text) else "")
            return
        if not occurrence.ended_ms:
            reason = no_time("invalid time in the record: timestamp", record["timestamp"])
            yield Reject(path, reason, line.offset, sample(text))
        application = replace(application, default_fs=self.default_fs)
        names = ApplicationKeys(self.source, self.estate, application, self.metastore, self.yarn)
        yield from occurrence_records(occurrence, effect, names)


def _parse(text: bytes) -> Mapping[str, Any]:
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise NotAQueryRecord(f"the line is not JSON: {error}") from None
    if not isinstance(record, dict):
        raise NotAQueryRecord(f"the line is not a JSON object but a {type(record).__name__}")
    return record


def _query(record: Mapping[str, Any], written_ms: int) -> tuple[SparkApplication, Occurrence, RunEffect]:
    given = _text(record, "applicationID") or _text(record, "yarnApplicationId")
    timestamp, duration_ms = record.get("timestamp"), _number(record, "duration")
    ended_ms = instant(_number(record, "timestamp"))
    if not given or timestamp is None:
        raise NotAQueryRecord("the record has no applicationID or no timestamp")
    run = _text(record, "yarnApplicationId") or given
    inputs, hidden = _ends(record.get("inputs"))
    outputs, unknown_outputs = _ends(record.get("outputs"))
    metastores = _metastores(record)
    # An id belongs to one run. Only the setting spark.lineage.app.name gives the name of the application.
    name = given if application_id(given) is None else ""
    application = SparkApplication(run, name=name, user=_text(record, "user"), metastores=metastores)
    code = _text(record, "errorCode") or FINE
    succeeded = code in (FINE, NOT_SUPPORTED)
    shown = name or ", ".join(end.readable for end in (outputs or inputs)[:3])
    occurrence = Occurrence(
        operation_text=f"{name}##lineage log",
        name=bounded(shown) or run,
        run=f"{run}-exec.{timestamp!s:.40}",
        original_name=f"{run}-exec.{timestamp!s:.40}",
        # The listener is called after the end of the query.
        started_ms=instant(ended_ms - duration_ms),
        ended_ms=ended_ms,
        # The newest record takes precedence, so a record with an invalid time must not be the newest forever.
        as_of_ms=ended_ms or written_ms,
        status=SUCCEEDED if succeeded else FAILED,
        flows=succeeded,
        principal=application.user,
        error="" if succeeded else _text(record, "message"),
    )
    reasons = (
        *([Incomplete.UNKNOWN_INPUT] if code != FINE or hidden else ()),
        *([Incomplete.UNKNOWN_OUTPUT] if unknown_outputs else ()),
    )
    effect = RunEffect(
        operation="",
        inputs=inputs,
        outputs=outputs,
        stored=(),
        complete=not reasons,
        reasons=reasons,
        unknown=hidden,
        subjects=(),
        query_text="",
        shape="",
    )
    return application, occurrence, effect


def _ends(value: Any) -> tuple[tuple[PlanEnd, ...], tuple[str, ...]]:
    """Split named sources into (tables and paths, names that are neither)."""
    ends: dict[PlanEnd, None] = {}
    hidden: dict[str, None] = {}
    if value is not None and not isinstance(value, list):
        hidden[repr(value)[:SHOWN_CHARS]] = None
    for each in value if isinstance(value, list) else ():
        if not isinstance(each, dict) or not (named := _text(each, "source")):
            hidden[repr(each)[:SHOWN_CHARS]] = None
            continue
        kind = _text(each, "dataSourceType").upper()
        table = dotted_table(named) if kind == "HIVE" else None
        if table is not None and table.database:
            ends[table_end(table)] = None
        elif is_path(named) and is_location(named):
            local = kind == "LOCAL" and named.startswith("/")
            ends[path_end(f"file:{named}" if local else named)] = None
        else:
            hidden[named] = None
    return tuple(ends), tuple(hidden)


def _metastores(record: Mapping[str, Any]) -> tuple[str, ...]:
    sides = [side for name in ("inputs", "outputs") if isinstance(side := record.get(name), list)]
    named = (
        _text(each, "hiveMetastoreLocation") for side in sides for each in side if isinstance(each, dict)
    )
    return tuple(dict.fromkeys(uri for uris in named for uri in metastores_named(uris)))[:METASTORES_NAMED]


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    return value if isinstance(value, str) else ""


def _number(record: Mapping[str, Any], name: str) -> int:
    value = record.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 63 else 0
