"""Recognize the relevant events of a log by the first bytes of a line, and read their fields.

Usually a few lines in ten thousand are relevant; only those are parsed. Adaptive updates are skipped, because they
repeat whole plans. Also, they do not name any scan if one side of a join turned out to be empty.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

_SQL = "org.apache.spark.sql.execution.ui."
_THRIFT = (
    "org.apache.spark.sql.hive.thriftserver.ui.",
    "org.apache.spark.sql.thriftserver.ui.",
)
_CATALOG = "org.apache.spark.sql.catalyst.catalog."
_STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$Query"

LOG_START: Final = "log start"
ENVIRONMENT: Final = "environment"
APPLICATION_START: Final = "application start"
APPLICATION_END: Final = "application end"
JOB_START: Final = "job start"
JOB_END: Final = "job end"
EXECUTION_START: Final = "execution start"
EXECUTION_END: Final = "execution end"
STATEMENT: Final = "statement"
CATALOG_CHANGE: Final = "catalog change"
STREAM_START: Final = "stream start"
STREAM_PROGRESS: Final = "stream progress"
STREAM_IDLE: Final = "stream idle"
STREAM_END: Final = "stream end"

KINDS: Final[Mapping[bytes, str]] = {
    name.encode(): kind
    for name, kind in {
        "SparkListenerLogStart": LOG_START,
        "DBCEventLoggingListenerMetadata": LOG_START,
        "SparkListenerEnvironmentUpdate": ENVIRONMENT,
        "SparkListenerApplicationStart": APPLICATION_START,
        "SparkListenerApplicationEnd": APPLICATION_END,
        "SparkListenerJobStart": JOB_START,
        "SparkListenerJobEnd": JOB_END,
        _SQL + "SparkListenerSQLExecutionStart": EXECUTION_START,
        _SQL + "SparkListenerSQLExecutionEnd": EXECUTION_END,
        **{prefix + "SparkListenerThriftServerOperationStart": STATEMENT for prefix in _THRIFT},
        _CATALOG + "CreateTableEvent": CATALOG_CHANGE,
        _CATALOG + "AlterTableEvent": CATALOG_CHANGE,
        _STREAMING + "StartedEvent": STREAM_START,
        _STREAMING + "ProgressEvent": STREAM_PROGRESS,
        _STREAMING + "IdleEvent": STREAM_IDLE,
        _STREAMING + "TerminatedEvent": STREAM_END,
        # Spark 2.0.0.
        _STREAMING + "Started": STREAM_START,
        _STREAMING + "Progress": STREAM_PROGRESS,
        _STREAMING + "Terminated": STREAM_END,
    }.items()
}

_USUAL: Final = b'{"Event":"'
_EVENT: Final = re.compile(rb'\s*\{\s*"Event"\s*:\s*"([^"\\]{1,200})"')

# These match only keys of the job's properties, because quotes within a JSON string are escaped.
_JOB_ID: Final = re.compile(rb'"Job ID":\s*(\d{1,18})')
_JOB_EXECUTION: Final = re.compile(rb'"spark\.sql\.execution\.id":\s*"(\d{1,18})"')
_JOB_GROUP: Final = re.compile(rb'"spark\.jobGroup\.id":\s*("(?:[^"\\]|\\.){1,400}")')

_LONE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


class NotASparkEvent(ValueError):
    """A line is not an event, or cannot be parsed."""


def kind_of(line: bytes) -> str | None:
    """Return the kind of event on a line; None if the event is not relevant. Raises `NotASparkEvent` if the line is not an
    event."""
    if line.startswith(_USUAL):
        stop = line.find(b'"', 10, 210)
        if stop > len(_USUAL):
            return KINDS.get(line[len(_USUAL) : stop])
    match = _EVENT.match(line)
    if match is None:
        raise NotASparkEvent("not a line of an event log")
    return KINDS.get(match[1])


def is_event(line: bytes) -> bool:
    """Whether a line begins like an event. Other lines may contain anything, so they must not be shown."""
    return _EVENT.match(line) is not None


def parse(line: bytes) -> dict[str, Any]:
    """Return the event on a line as a JSON object. Raises `NotASparkEvent`."""
    try:
        try:
            event = orjson.loads(line)
        except orjson.JSONDecodeError:
            # Java writes lone surrogates, which must be replaced, and deeply nested plans; orjson refuses both.
            event = json.loads(_LONE.sub(r"\\ufffd", line.decode("utf-8", "replace")))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise NotASparkEvent(f"not JSON: {reason}") from error
    if not isinstance(event, dict):
        raise NotASparkEvent("not a JSON object")
    return event


@dataclass(frozen=True, slots=True)
class JobStart:
    """Start of a job: number of the job, number of its execution (-1 if none), and its group."""

    job: int
    execution: int
    group: str


def job_start(line: bytes) -> JobStart | None:
    """Return the start of a job without parsing the line, which lists every stage and is long. Return None if the line
    has no job number.
    """
    job = _JOB_ID.search(line, 0, 400)
    if job is None:
        return None
    execution = _JOB_EXECUTION.search(line)
    group = _JOB_GROUP.search(line) if execution else None
    name = ""
    if group:
        try:
            name = str(orjson.loads(group[1]))
        except orjson.JSONDecodeError:
            name = ""
    return JobStart(int(job[1]), int(execution[1]) if execution else -1, name)


def integer(value: object, default: int | None = None) -> int:
    """Return a value of an event if it is an integer, else the default. Raises `NotASparkEvent` if no default is given."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62:
        return value
    if default is None:
        raise NotASparkEvent(f"a number was expected: {str(value)[:40]!r}")
    return default


def text(value: object) -> str:
    """Return a value of an event if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """Return a value of an event if it is an object, else an empty mapping."""
    return value if isinstance(value, dict) else {}
