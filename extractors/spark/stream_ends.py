"""Parse the sources and the sink of a streaming query, as described in its progress events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from extractors.spark.plan.names import dotted_table, is_path
from extractors.spark.plan.reads import EndKind, PlanEnd, path_end, table_end
from navlin.model.keys import split_location
from navlin.model.redaction import redact, without_credentials

_LOCATED: Final = re.compile(r"\w*\[(.*)\]$", re.DOTALL)
_KAFKA: Final = re.compile(
    r"Kafka\w*\[(?P<how>Subscribe|SubscribePattern|Assign)\[(?P<what>.*)\]\]$", re.DOTALL
)
_PARTITION: Final = re.compile(r"-\d+$")
_MADE_UP: Final = re.compile(r"(?:[\w.$]*\.)?Rate(?:Stream|Source|PerMicroBatch)\w*\b")
_KEPT: Final = re.compile(r"(?:[\w.$]*\.)?(?:Console|Memory|Noop)\w*")
_BATCHES: Final = re.compile(r"(?:[\w.$]*\.)?ForeachBatchSink")
_OBJECT: Final = re.compile(r"@[0-9a-f]{1,16}\b")
_FAMILIES: Final = {
    "kafka": re.compile(r"kafka", re.IGNORECASE),
    "rate": re.compile(r"\bRate(?:Stream|Source|PerMicroBatch)", re.IGNORECASE),
    "socket": re.compile(r"TextSocket"),
    "memory": re.compile(r"\bMemoryStream|ContinuousMemory"),
    "iceberg": re.compile(r"iceberg", re.IGNORECASE),
}
_GLOB: Final = re.compile(r"[*?\[\]{}]")


class SourceKind(StrEnum):
    """Kinds of a stream's sources. ENDS: a path or topics. GLOB: paths that match a glob. MADE_UP: rows that Spark
    generates. UNKNOWN: any other source.
    """

    ENDS = "ends"
    GLOB = "glob"
    MADE_UP = "made up"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class StreamSource:
    """One source of a stream. ``topics`` are the Kafka topics named in the description or the offsets."""

    description: str
    topics: tuple[str, ...] = ()

    @property
    def kind(self) -> SourceKind:
        if _MADE_UP.match(self.description):
            return SourceKind.MADE_UP
        if self.path and _GLOB.search(self.path):
            return SourceKind.GLOB
        return SourceKind.ENDS if self.path or self.topics else SourceKind.UNKNOWN

    @property
    def path(self) -> str:
        """Path in descriptions such as ``FileStreamSource[file:/in]`` and ``DeltaSource[hdfs://nn/t]``; "" in others."""
        found = _LOCATED.match(self.description)
        return found[1] if found and is_path(found[1]) else ""

    @property
    def ends(self) -> tuple[PlanEnd, ...]:
        if self.kind is not SourceKind.ENDS:
            return ()
        return (
            (path_end(self.path),)
            if self.path
            else tuple(PlanEnd(EndKind.TOPIC, each) for each in self.topics)
        )

    @property
    def readable(self) -> str:
        return _OBJECT.sub("", self.description)[:200]

    def holds(self, path: str) -> str:
        """Return the directory of this source that contains a path. This is the source's own path, or the directory
        that matches its glob; "" if there is none.
        """
        if not self.path:
            return ""
        own_type, own_authority, own = split_location(self.path)
        kind, authority, given = split_location(path)
        if kind != own_type and authority and own_authority:
            return ""
        if authority and own_authority and authority != own_authority:
            return ""
        if self.kind is not SourceKind.GLOB:
            return self.path if given == own or given.startswith(f"{own.rstrip('/')}/") else ""
        pattern, parts = own.split("/"), given.split("/")
        if len(parts) < len(pattern) or not all(map(_fits, parts, pattern)):
            return ""
        # A path that matches the whole glob may be a file. In that case the source reads the neighboring files as
        # well.
        depth = min(len(pattern), len(parts) - 1)
        return path[: len(path) - len(given)] + "/".join(parts[:depth]) if path.endswith(given) else ""


def _fits(part: str, pattern: str) -> bool:
    """Whether a name matches one component of a Hadoop glob; unsupported syntax never matches."""
    translated = ""
    depth = 0
    for mark in re.findall(r"\[\^?[^\[\]]+\]|.", pattern, re.DOTALL):
        if mark in ("*", "?"):
            translated += "." + ("*" if mark == "*" else "")
        elif mark == "{":
            depth += 1
            translated += "(?:"
        elif mark == "}" and depth:
            depth -= 1
            translated += ")"
        elif mark == "," and depth:
            translated += "|"
        else:
            translated += mark if len(mark) > 1 else re.escape(mark)
    try:
        return not depth and re.fullmatch(translated, part, re.DOTALL) is not None
    except re.error:
        return False


def source_of(described: Any) -> StreamSource | None:
    """Parse an element of ``progress.sources``. Return None if it has no description."""
    description = described.get("description") if isinstance(described, dict) else None
    if not isinstance(description, str) or not description:
        return None
    found = _KAFKA.match(description)
    if found is None:
        return StreamSource(_kept(description))
    named = [each.strip() for each in found["what"].split(",") if each.strip()]
    match found["how"]:
        case "Subscribe":
            topics = named
        case "Assign":
            topics = [_PARTITION.sub("", each) for each in named]
        case _:
            topics = list(_offset_topics(described))
    return StreamSource(_kept(description), tuple(dict.fromkeys(topics)))


def _kept(description: str) -> str:
    """Return a source's description in the form in which it is stored. It identifies the source across restarts."""
    return redact(without_credentials(description))[:2000]


def _offset_topics(described: dict[str, Any]) -> Iterator[str]:
    """Yield the topics of an offset such as ``{"clicks": {"0": 17}}``, which is given as JSON or as a string of JSON."""
    for name in ("startOffset", "endOffset"):
        offset = described.get(name)
        if isinstance(offset, str):
            try:
                offset = json.loads(offset)
            except (ValueError, RecursionError):
                continue
        if isinstance(offset, dict):
            yield from (topic for topic, partitions in offset.items() if isinstance(partitions, dict))


@dataclass(frozen=True, slots=True)
class Sink:
    """The target of a query's rows. ``kept`` is true if the rows stay within the program. ``batches`` is true if a
    function of the program receives the rows; the writes of that function are separate executions.
    """

    end: PlanEnd | None = None
    kept: bool = False
    batches: bool = False


def sink_of(description: str) -> Sink:
    """Parse ``progress.sink``, which is like ``FileSink[/out]``, the name of a table, or a class about which nothing
    is known.
    """
    located = _LOCATED.match(description)
    if located and is_path(located[1]):
        return Sink(path_end(located[1]))
    if _BATCHES.match(description):
        return Sink(batches=True)
    if _KEPT.match(description):
        return Sink(kept=True)
    if is_path(description):
        return Sink(path_end(description))
    table = dotted_table(description) if "." in description and "$" not in description else None
    return Sink(table_end(table) if table else None)


def readable_sink(description: str) -> str:
    """Return the class of a sink without a location. Text in the sink's description that differs between objects is
    removed.
    """
    return re.split(r"[@(\[]", description, maxsplit=1)[0].rstrip("$")[:200]


def family(described: str) -> str:
    """Return the system to which a source's description or a scan's class belongs; "" if unknown."""
    return next((name for name, pattern in _FAMILIES.items() if pattern.search(described)), "")
