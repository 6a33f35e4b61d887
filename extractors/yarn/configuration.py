"""Parse the configuration of a MapReduce job to find the inputs, the outputs and the program.

A configuration has hundreds of properties. Only those named here are read, by their new and old names; no others are
stored, and none with a secret. Clients write anything into properties, so an unsuitable value counts as absent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final
from urllib.parse import unquote_plus

from extractors.lineage.staging import is_moved, is_staging
from extractors.yarn.applications import MAX_NAME_BYTES
from navlin.model.redaction import bounded, without_credentials
from navlin.model.source import metastores_named

MAX_PATHS: Final = 10_000
"""Maximum number of inputs stored for one job. Hive has been seen to name every partition of a table."""

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "default_fs": ("fs.defaultFS", "fs.default.name"),
    "working": ("mapreduce.job.working.dir", "mapred.working.dir"),
    "inputs": ("mapreduce.input.fileinputformat.inputdir", "mapred.input.dir"),
    "recursive": ("mapreduce.input.fileinputformat.input.dir.recursive", "mapred.input.dir.recursive"),
    "formats": ("mapreduce.input.multipleinputs.dir.formats", "mapred.input.dir.formats"),
    "outputs": ("mapreduce.output.fileoutputformat.outputdir", "mapred.output.dir"),
    "input_format": (
        "mapreduce.job.inputformat.class",
        "mapreduce.inputformat.class",
        "mapred.input.format.class",
    ),
    "output_format": (
        "mapreduce.job.outputformat.class",
        "mapreduce.outputformat.class",
        "mapred.output.format.class",
    ),
    "copied": ("distcp.target.final.path",),
    "new_mapper": ("mapreduce.job.map.class", "mapreduce.map.class"),
    "old_mapper": ("mapred.mapper.class",),
    "new_reducer": ("mapreduce.job.reduce.class", "mapreduce.reduce.class"),
    "old_reducer": ("mapred.reducer.class",),
    "combiner": ("mapreduce.job.combine.class", "mapreduce.combine.class", "mapred.combiner.class"),
    "output_key": ("mapreduce.job.output.key.class", "mapred.output.key.class"),
    "output_value": ("mapreduce.job.output.value.class", "mapred.output.value.class"),
    "new_api": ("mapred.mapper.new-api",),
    "name": ("mapreduce.job.name", "mapred.job.name"),
    "workflow": ("mapreduce.workflow.id",),
    "hive_query": ("hive.query.id",),
    "hive_text": ("hive.query.string",),
    "hive_session": ("hive.session.id",),
    "metastores": ("hive.metastore.uris",),
    "oozie_job": ("oozie.job.id",),
    "oozie_action": ("oozie.action.id",),
}
_SCRATCH: Final = ("hive.exec.scratchdir", "yarn.app.mapreduce.am.staging-dir", "pig.temp.dir")
_READ: Final = frozenset([key for keys in _KEYS.values() for key in keys] + list(_SCRATCH))

_NO_INPUT: Final = re.compile(r"(?:Sleep|Random|Range|Null|Empty|Launcher)InputFormat$")
"""Formats that generate the records themselves."""
_NO_OUTPUT: Final = re.compile(r"(?:\bNull|OozieLauncher)OutputFormat$")
_HIVES_OWN: Final = "org.apache.hadoop.hive."
_GLOB: Final = re.compile(r"(?<!\\)[*?\[{]")
_HIVE: Final = "hive_"


class ConfigurationGap(StrEnum):
    """Reasons why the operation of a job is incomplete, because its configuration lacks this information."""

    PLACE = "its configuration names a relative path without its working directory"
    EVERYWHERE = "its configuration names its input by a pattern for the whole file system"
    TOO_MANY = "its configuration names more inputs than navlin keeps"
    COPIED = "DistCp reads a list of what it copies, which its configuration does not have"
    READ = "its input is not in a directory"
    WRITTEN = "its output is not in a directory"
    MOVED = "its data are in a directory from which Sqoop moves them elsewhere"


@dataclass(frozen=True, slots=True)
class JobPath:
    """A path that a job read or wrote. ``text`` is the original path, ``uri`` the directory to which it resolves. For
    a glob, ``uri`` is only ``inferred``: it is the deepest directory above the glob.
    """

    text: str
    uri: str
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class JobConfiguration:
    """The relevant part of a job's configuration. Unset values are empty. ``missing`` are the reasons why further
    inputs or outputs do not resolve to directories. ``moved`` are directories from which the data is moved elsewhere.
    """

    name: str = ""
    inputs: tuple[JobPath, ...] = ()
    outputs: tuple[JobPath, ...] = ()
    missing: tuple[ConfigurationGap, ...] = ()
    moved: tuple[JobPath, ...] = ()
    recursive: bool = False
    mapper: str = ""
    reducer: str = ""
    combiner: str = ""
    output_key: str = ""
    output_value: str = ""
    default_fs: str = ""
    metastores: tuple[str, ...] = ()
    hive_query_id: str = ""
    hive_query_text: str = ""
    hive_session_id: str = ""
    oozie_job_id: str = ""
    oozie_action_id: str = ""

    @property
    def incomplete(self) -> bool:
        return bool(self.missing)

    @property
    def without_ends(self) -> JobConfiguration:
        """The same configuration without inputs and outputs, for a job of an engine whose own operation has them. They
        become ``moved``, so that the operation that an earlier version of navlin recorded with them is found and replaced.
        """
        return replace(self, inputs=(), outputs=(), missing=(), moved=(*self.inputs, *self.outputs))


def to_configuration(answer: Any) -> JobConfiguration:
    """Parse the response of ``/jobs/{id}/conf``."""
    properties = properties_of(answer, _READ.__contains__)

    def get(name: str) -> str:
        return next((properties[key] for key in _KEYS[name] if key in properties), "")

    new_api = get("new_api").lower() != "false"
    default_fs = without_credentials(get("default_fs"))
    reading = Paths(get("working"), _scratch(properties))
    inputs = reading.places([*split_paths(get("inputs")), *_first_of_pairs(get("formats"))])
    # DistCp reads its paths from a list. For its log, it uses the property that other jobs use for their output
    # directory.
    copied = get("copied")
    outputs = reading.output(copied or get("outputs"))
    if copied:
        reading.missing.add(ConfigurationGap.COPIED)
    if _without_path(get("input_format"), get("inputs") or get("formats"), _NO_INPUT):
        reading.missing.add(ConfigurationGap.READ)
    if _without_path(get("output_format"), get("outputs"), _NO_OUTPUT):
        reading.missing.add(ConfigurationGap.WRITTEN)
    workflow = get("workflow")
    hive = get("hive_query") or (workflow.removeprefix(_HIVE) if workflow.startswith(_HIVE) else "")
    return JobConfiguration(
        bounded(get("name"), MAX_NAME_BYTES),
        inputs,
        outputs,
        tuple(sorted(reading.missing)),
        tuple(reading.moved),
        get("recursive").lower() == "true",
        _either(get("new_mapper"), get("old_mapper"), first=new_api),
        _either(get("new_reducer"), get("old_reducer"), first=new_api),
        get("combiner"),
        get("output_key"),
        get("output_value"),
        default_fs,
        metastores_named(get("metastores")),
        hive,
        _query_text(get("hive_text")),
        get("hive_session"),
        get("oozie_job"),
        get("oozie_action"),
    )


def _without_path(format_class: str, paths: str, none: re.Pattern[str]) -> bool:
    """Whether a format reads or writes data outside the job's paths, such as a database, HBase or a catalog."""
    return bool(
        format_class
        and not paths
        and not format_class.startswith(_HIVES_OWN)  # Hive's own record has the tables
        and none.search(format_class) is None
    )


def split_paths(text: str) -> list[str]:
    """Split a list of paths as Hadoop writes it. Commas within a path are escaped, except within ``{a,b}``, where the
    escape is optional.
    """
    paths, current, depth = [], [], 0
    characters = iter(text)
    for each in characters:
        if each == "\\":
            after = next(characters, "")
            current.append(after if after in (",", "\\") else each + after)
        elif each == "," and depth <= 0:
            paths.append("".join(current))
            current, depth = [], 0
        else:
            depth += (each == "{") - (each == "}")
            current.append(each)
    paths.append("".join(current))
    return [path for path in map(str.strip, paths) if path]


class Paths:
    """Resolves paths to directories. ``working`` is the job's working directory, ``scratch`` are directories of
    temporary files. ``missing`` are the reasons why some could not be resolved, ``moved`` the places from which data is
    moved elsewhere.
    """

    def __init__(self, working: str, scratch: tuple[str, ...]) -> None:
        self._working, self._scratch = working, scratch
        self.missing: set[ConfigurationGap] = set()
        self.moved: list[JobPath] = []

    def places(self, texts: list[str]) -> tuple[JobPath, ...]:
        if len(texts) > MAX_PATHS:
            self.missing.add(ConfigurationGap.TOO_MANY)
        found = (self.place(text) for text in dict.fromkeys(texts[:MAX_PATHS]))
        return tuple(place for place in found if place is not None)

    def output(self, text: str) -> tuple[JobPath, ...]:
        """Resolve the directory of an output. The text is one literal path, without separators or wildcards."""
        place = self.place(text, literal=True) if text else None
        return (place,) if place is not None else ()

    def place(self, text: str, *, literal: bool = False) -> JobPath | None:
        """Resolve one path; a ``literal`` one has no wildcards. Return None for temporary files, and for a path that
        leads to no directory, with a reason in ``missing``.
        """
        uri = without_credentials(text)
        if "://" not in uri and not uri.startswith("/") and not re.match(r"[a-zA-Z][\w+.-]*:/", uri):
            if not self._working:
                self.missing.add(ConfigurationGap.PLACE)
                return None
            uri = f"{self._working.rstrip('/')}/{uri}"
        uri, inferred = (uri, False) if literal else _without_glob(uri)
        path = path_of(uri)
        if is_staging(path) or any(path == each or path.startswith(each + "/") for each in self._scratch):
            if is_moved(path):
                self.missing.add(ConfigurationGap.MOVED)
                self.moved.append(JobPath(bounded(text), uri, inferred))
            return None
        if inferred and path.strip("/") == "":
            self.missing.add(ConfigurationGap.EVERYWHERE)
            return None
        return JobPath(bounded(text), uri, inferred)


def _without_glob(uri: str) -> tuple[str, bool]:
    """Cut a URI before its first name with a glob: ``/a/b-*/c`` → (``/a/``, True)."""
    # A `?` or `[` in a URI's host is not a glob.
    start = uri.find("/", uri.find("://") + 3) if "://" in uri else 0
    found = _GLOB.search(uri, max(start, 0))
    inferred = found is not None
    if found is not None:
        uri = uri[: uri.rindex("/", 0, found.start()) + 1]
    return re.sub(r"\\(?=[*?\[\]{}])", "", uri), inferred


def path_of(uri: str) -> str:
    """Return the path of a URI, without its host, and without doubled slashes and those at the end."""
    if "://" in uri:
        uri = "/" + uri.split("://", 1)[1].partition("/")[2]
    elif not uri.startswith("/"):
        uri = uri.partition(":")[2]  # file:/a
    return "/" + "/".join(part for part in uri.split("/") if part)


def properties_of(answer: Any, reads: Callable[[str], bool]) -> dict[str, str]:
    """Return property name → value for the properties whose names ``reads`` accepts and that are not redacted."""
    conf = answer.get("conf") if isinstance(answer, Mapping) else None
    listed = conf.get("property") if isinstance(conf, Mapping) else None
    each_of = [listed] if isinstance(listed, Mapping) else listed if isinstance(listed, list) else []
    properties: dict[str, str] = {}
    for each in each_of:
        match each:
            case {"name": str(name), "value": str() | int() | float() as value} if reads(name):
                text = _text(value)
                if text and "(redacted)" not in text:
                    properties[name] = text
    return properties


def _text(value: str | float) -> str:
    """Return a value as Hadoop writes it. The JobHistoryServer of Hadoop 3 returns JSON numbers and booleans instead."""
    return str(value).lower() if isinstance(value, bool) else str(value).strip()


def _scratch(properties: Mapping[str, str]) -> tuple[str, ...]:
    paths = (path_of(without_credentials(properties[key])) for key in _SCRATCH if key in properties)
    # If Pig or Hive keeps temporary files in /tmp, /tmp as a whole is not temporary.
    return tuple(path for path in paths if path.count("/") > 1)


def _first_of_pairs(text: str) -> Iterator[str]:
    """Yield the paths of ``path;format,path;format``."""
    for pair in text.split(",") if text else ():
        path = pair.partition(";")[0].strip()
        if path:
            yield path


def _either(new: str, old: str, *, first: bool) -> str:
    return (new or old) if first else (old or new)


def _query_text(text: str) -> str:
    """Return the text of a query, decoded, because newer releases of Hive encode it as a URL parameter."""
    encoded = text and not re.search(r"\s", text) and re.search(r"%[0-9A-Fa-f]{2}|\+", text)
    return bounded(unquote_plus(text) if encoded else text)
