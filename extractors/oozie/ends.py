"""Find the files, directories and tables that Oozie's jobs read and wrote.

The configuration of an action is resolved: it has what an fs action moved, and the inputs and outputs of MapReduce and
of DistCp. The configuration of a coordinator's workflow has the coordinator's inputs and outputs. Other properties are
not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from xml.etree.ElementTree import Element

from extractors.lineage.staging import is_staging
from extractors.oozie.answers import Action
from extractors.oozie.definitions import CoordinatorDefinition
from extractors.oozie.xml_texts import parsed, properties, words
from extractors.yarn.configuration import split_paths
from navlin.model.keys import is_location, split_location
from navlin.model.redaction import without_credentials

MAX_ENDS: Final = 10_000
"""Maximum number of ends kept for one action, or for one run of a coordinator."""
MAX_LOCATION_CHARS: Final = 8_000
_INPUTS: Final = ("mapreduce.input.fileinputformat.inputdir", "mapred.input.dir")
_OUTPUTS: Final = ("mapreduce.output.fileoutputformat.outputdir", "mapred.output.dir")
_GLOB: Final = re.compile(r"(?<!\\)[*?\[{]")
_EXPRESSION: Final = re.compile(r"\$\{\s*([^{}]*?)\s*\}")
_BETWEEN: Final = re.compile(r",(?=\s*(?:[A-Za-z][\w+.-]*:)?/)")
"""The comma between two locations in a list that Oozie wrote. A comma within a location is not followed by a path."""
_HCAT: Final = re.compile(r"hcat://([^/]+)/([^/]+)/([^/]+)", re.IGNORECASE)
_WITH_VALUE: Final = frozenset(
    "-m -f -filters -log -bandwidth -strategy -tmp -diff -rdiff -mapredSslConf -sizelimit -filelimit -blocksperchunk"
    " -copybuffersize -numListstatusThreads -D -conf -fs -jt -libjars -files -archives".split()
)
"""Options of DistCp that take a value as the next argument."""
_TWO_VALUES: Final = frozenset({"-diff", "-rdiff"})


class OozieGap(StrEnum):
    """Reasons why the lineage of an operation is incomplete."""

    RELATIVE = "an action names a relative path, and its configuration does not say below which directory"
    EVERYWHERE = "an action names its input by a pattern for the whole file system"
    TOO_MANY = "a job names more files and directories than navlin keeps"
    LISTED = "DistCp reads a list of what it copies, which the action does not have"
    UNRESOLVED = "the configuration of a coordinator's run does not have its inputs or outputs resolved"
    MIXED = "a property of a coordinator names inputs and outputs together"
    MANY_ACTIONS = "a run has more actions than navlin reads"


@dataclass(frozen=True, slots=True)
class Place:
    """A location that a job read or wrote: a URI, or a path on ``default_fs``. It is ``inferred`` if the text names it
    by a pattern, or only a directory above it.
    """

    uri: str
    default_fs: str = ""
    inferred: bool = False


@dataclass(frozen=True, slots=True)
class Ends:
    """One step of data: everything in ``outputs`` comes from everything in ``inputs``."""

    inputs: tuple[Place, ...]
    outputs: tuple[Place, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The steps of data of an action or of a coordinator's run, and what is missing."""

    steps: tuple[Ends, ...] = ()
    missing: tuple[OozieGap, ...] = ()


def ends_of(action: Action) -> Found:
    """Return what an action that succeeded read and wrote, as far as its configuration shows it."""
    reader = _READERS.get(action.type.lower())
    root = parsed(action.conf) if reader is not None and action.succeeded else None
    if reader is None or root is None:
        return Found()
    name_node = without_credentials(words(root.find("name-node")))
    places = _Places(name_node if is_location(name_node) else "")
    steps = [each for each in reader(places, root) if each.inputs or each.outputs]
    return Found(tuple(steps), tuple(sorted(places.missing)))


def ends_of_coordinator(definition: CoordinatorDefinition, conf: str) -> Found:
    """Return what one run of a coordinator's workflow read and wrote, by the configuration of that workflow.

    Where no property names an input or output, the part of the dataset's template before the first expression of time
    is its directory.
    """
    values = properties(parsed(conf))
    places = _Places(without_credentials(values.get("nameNode", "")))
    sides = [
        [place for name in names for place in places.resolved(values.get(name, ""))]
        for names in (definition.inputs, definition.outputs)
    ]
    for event in definition.unnamed:
        sides[event.output] += places.prefix(event.template, values)
    if definition.mixed:
        places.missing.add(OozieGap.MIXED)
    inputs, outputs = ({place.uri: place for place in side} for side in sides)
    step = Ends(tuple(inputs.values()), tuple(outputs.values()))
    return Found((step,) if inputs or outputs else (), tuple(sorted(places.missing)))


def missing_by_definition(definition: CoordinatorDefinition) -> tuple[OozieGap, ...]:
    """Return the reasons why no run of a coordinator can show all of its inputs and outputs."""
    unknown = any(not each.template for each in definition.unnamed)
    return (*((OozieGap.MIXED,) if definition.mixed else ()), *((OozieGap.UNRESOLVED,) if unknown else ()))


def table_at(uri: str) -> tuple[str, str, str] | None:
    """Return the (address of the metastore, database, table) of a location ``hcat://host:port/db/table/…``; None for
    other locations. Partitions do not count.
    """
    found = _HCAT.match(uri)
    return (f"thrift://{found[1]}", found[2], found[3]) if found else None


class _Places:
    """Makes places from texts. ``missing`` are the reasons for those that could not be made."""

    def __init__(self, default_fs: str) -> None:
        self._default_fs = default_fs
        self._left = MAX_ENDS
        self.missing: set[OozieGap] = set()

    def of(self, text: str, *, literal: bool = False, default_fs: str = "") -> list[Place]:
        """Return the place that a text names, in a list; an empty list if there is none."""
        uri = without_credentials(text.strip())
        if not uri or len(uri) > MAX_LOCATION_CHARS or "${" in uri or not is_location(uri):
            return []
        if not re.match(r"/|[A-Za-z][\w+.-]*:/", uri):
            self.missing.add(OozieGap.RELATIVE)
            return []
        uri, inferred = (uri, False) if literal else _without_glob(uri)
        path = split_location(uri)[2]
        if is_staging(path):
            return []
        if inferred and path == "/":
            self.missing.add(OozieGap.EVERYWHERE)
            return []
        if not self._left:
            self.missing.add(OozieGap.TOO_MANY)
            return []
        self._left -= 1
        return [Place(uri, default_fs or self._default_fs, inferred)]

    def of_each(self, texts: Iterable[str]) -> list[Place]:
        return [place for text in dict.fromkeys(texts) for place in self.of(text)]

    def resolved(self, value: str) -> Iterator[Place]:
        """Yield the places in a list that Oozie resolved, as in the value of ``${coord:dataIn('X')}``."""
        if not value or "${" in value:
            self.missing.add(OozieGap.UNRESOLVED)
            return
        for text in _BETWEEN.split(value):
            yield from self.of(text, literal=True)

    def prefix(self, template: str, values: Mapping[str, str]) -> Iterator[Place]:
        """Yield the directory before the first expression of time in a template. Other expressions are names of
        properties.
        """
        text, at = "", 0
        for found in _EXPRESSION.finditer(template):
            text += template[at : found.start()]
            at = found.start()
            if (value := values.get(found[1])) is None or "${" in value:
                break
            text, at = text + value, found.end()
        else:
            text, at = text + template[at:], len(template)
        whole = at == len(template)
        if table_at(text) is None and not whole:
            text = text[: text.rfind("/") + 1]
        places = self.of(text, literal=True) if template and split_location(text)[2] != "/" else []
        if not places:
            self.missing.add(OozieGap.UNRESOLVED)
        yield from (Place(each.uri, each.default_fs, inferred=True) for each in places)


def _moves(places: _Places, root: Element) -> Iterator[Ends]:
    for each in root.iter("move"):
        source, target = each.get("source", ""), each.get("target", "")
        # A target without a host is on the file system of its source.
        base = source if "://" in source else ""
        yield Ends(
            tuple(places.of(source)), tuple(places.of(target, literal=True, default_fs=_authority(base)))
        )


def _map_reduce(places: _Places, root: Element) -> Iterator[Ends]:
    values = properties(root.find("configuration"))
    inputs = next((values[key] for key in _INPUTS if values.get(key)), "")
    output = next((values[key] for key in _OUTPUTS if values.get(key)), "")
    yield Ends(tuple(places.of_each(split_paths(inputs))), tuple(places.of(output, literal=True)))


def _dist_cp(places: _Places, root: Element) -> Iterator[Ends]:
    arguments = [words(each) for each in root.iter("arg")]
    paths, listed = _operands(arguments)
    if listed or len(paths) < 2:
        places.missing.add(OozieGap.LISTED)
    *sources, target = paths or [""]
    yield Ends(tuple(places.of_each(sources)), tuple(places.of(target, literal=True)))


_READERS: Final = {"fs": _moves, "map-reduce": _map_reduce, "distcp": _dist_cp}
"""Type of an action → reader of its configuration. For all other types, the engine that ran records the lineage."""


def _operands(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """Return the arguments of DistCp that are not options, and whether it reads its sources from a list."""
    paths, listed, skipped = [], False, 0
    for each in arguments:
        if skipped:
            skipped -= 1
        elif each.startswith("-"):
            listed |= each == "-f"
            skipped = 2 if each in _TWO_VALUES else int(each in _WITH_VALUE)
        elif each:
            paths.append(each)
    return paths, listed


def _authority(uri: str) -> str:
    scheme, found, rest = uri.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if found else ""


def _without_glob(uri: str) -> tuple[str, bool]:
    """Cut a location before its first name with a glob: ``/a/b-*/c`` → (``/a/``, True)."""
    start = uri.find("/", uri.find("://") + 3) if "://" in uri else 0
    found = _GLOB.search(uri, max(start, 0))
    if found is None:
        return re.sub(r"\\(?=[*?\[\]{}])", "", uri), False
    return uri[: uri.rindex("/", 0, found.start()) + 1], True
