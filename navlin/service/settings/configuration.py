"""The configuration: one TOML file, which is read and checked completely before anything starts.

All problems in the file are reported at once, each with its line. The fields of an extractor define its settings
(`navlin.service.settings.typed`). The file never contains secrets, only the names of files or ``${VARIABLES}`` of the
environment.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from navlin.access.directory import LdapSettings
from navlin.model.extractor import GIVEN, PUSH, Extractor, Mode, Registration
from navlin.model.source import Estate, Source, normal_authority, source_id
from navlin.service import FILE_VARIABLE
from navlin.service.settings.solr_settings import SolrSettings
from navlin.service.settings.toml_positions import KeyPath, line_of, syntax_error
from navlin.service.settings.typed import (
    SIZE,
    Complain,
    beside,
    build,
    default_of,
    expand,
    named_tables,
    suggest,
)
from navlin.service.settings.web_settings import WebSettings
from navlin.urls import without_userinfo

if TYPE_CHECKING:
    from navlin.service.settings.export_settings import ExportSettings

PASSWORD_VARIABLE: Final = "NAVLIN_SOLR_PASSWORD"

PULL_INTERVAL_S: Final = 600.0
PUSH_INTERVAL_S: Final = 5.0

_LOCKED_SETTINGS: Final = (
    "spark.authenticate",
    "spark.network.crypto.enabled",
    "spark.network.crypto.saslFallback",
)
YARN: Final = "yarn"
_LOCAL_MASTER = re.compile(r"local(\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\])?")
KERBEROS_ON_YARN: Final = (
    'master = "yarn" cannot be combined with auth = "kerberos" of [solr], because executors have no'
    " keytab: use a password"
)
EMBEDDED_ON_YARN: Final = (
    'master = "yarn" needs a url in [solr]: executors on other machines write to the index, and the embedded Solr listens'
    " on this machine alone"
)
Problems = Iterator[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class NavlinSettings:
    """The section ``[navlin]``: general settings."""

    cluster: str
    state_directory: Path = Path("/var/lib/navlin")
    least_free: str = "512m"

    @property
    def least_free_bytes(self) -> int:
        """Minimum free bytes on the disk of the state directory."""
        return int(self.least_free[:-1]) << {"k": 10, "m": 20, "g": 30}[self.least_free[-1].lower()]

    def problems(self) -> Problems:
        if not self.cluster.strip():
            yield "cluster", "cluster must not be empty: it is part of every identity"
        if not SIZE.fullmatch(self.least_free):
            yield "least_free", 'least_free must be a size, like "512m"'


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Settings of Spark, which runs on this machine or on a YARN cluster."""

    master: str = "local[*,4]"
    driver_memory: str = "1g"
    hadoop_configuration_directory: Path | None = None
    executor_python: str = ""
    principal: str = ""
    keytab: Path | None = None
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def on_yarn(self) -> bool:
        return self.master == YARN

    def problems(self) -> Problems:
        if not self.on_yarn and not _LOCAL_MASTER.fullmatch(self.master):
            yield (
                "master",
                'master must be "yarn", or local as in "local[*,4]" (all cores, four attempts a task) or "local[2]"',
            )
        if self.on_yarn and self.hadoop_configuration_directory is None:
            yield (
                "master",
                'master = "yarn" needs hadoop_configuration_directory: the directory with core-site.xml and yarn-site.xml',
            )
        for key in ("hadoop_configuration_directory", "executor_python", "principal", "keytab"):
            if not self.on_yarn and getattr(self, key) != default_of(SparkSettings, key):
                yield key, f'{key} is for YARN: it needs master = "yarn"'
        if bool(self.principal) != (self.keytab is not None):
            given, other = ("principal", "keytab") if self.principal else ("keytab", "principal")
            yield given, f"{given} needs a {other} as well"
        if self.executor_python and not self.executor_python.startswith("/"):
            yield (
                "executor_python",
                "executor_python must be a path that each node has, beginning with a slash",
            )
        if not SIZE.fullmatch(self.driver_memory):
            yield "driver_memory", 'driver_memory must be a size as Spark writes it, like "1g"'
        for key in self.conf:
            if not key.startswith("spark."):
                yield "conf", f'"{key}" is not a setting of Spark: those begin with "spark."'
            if key.startswith(_LOCKED_SETTINGS):
                yield (
                    "conf",
                    f'"{key}" cannot be set: Spark always requires a secret, and makes a new one at each start',
                )
            if key in ("spark.master", "spark.remote"):
                yield "conf", f'"{key}" cannot be set here: master of [spark] says where Spark runs'


@dataclass(frozen=True, slots=True)
class PurgeSettings:
    """The daily purge of ``navlin serve``."""

    scheduled: bool = True
    before_days: int = 60
    at: str = "03:00"
    deleted_files: bool = True

    def problems(self) -> Problems:
        if self.before_days < 1:
            yield "before_days", "before_days must be at least 1"
        if not re.fullmatch(r"([01]\d|2[0-3]):[0-5]\d", self.at):
            yield "at", 'at must be a time of day, like "03:00"'


@dataclass(frozen=True, slots=True)
class RedactionSettings:
    """The literals to mask in texts: only literals marked as secrets, or all literals."""

    literals: Literal["marked", "all"] = "marked"


@dataclass(frozen=True, slots=True)
class LogSettings:
    format: Literal["json", "console"] = "json"
    level: Literal["debug", "info", "warning", "error"] = "info"


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """One ``[[source]]``. ``template`` is the extractor with checked settings. Its estate contains only this source
    until the loader replaces it."""

    name: str
    registration: Registration
    template: Extractor
    interval_s: float
    serves: tuple[str, ...] = ()

    @property
    def mode(self) -> Mode:
        return self.registration.mode

    def settings(self) -> dict[str, Any]:
        """Return name → value of the extractor's settings, including defaults."""
        names = [item.name for item in fields(self.registration.make) if item.name not in GIVEN]
        return {name: getattr(self.template, name) for name in names}


@dataclass(frozen=True, slots=True)
class Configuration:
    file: Path
    navlin: NavlinSettings
    solr: SolrSettings
    spark: SparkSettings
    purge: PurgeSettings
    web: WebSettings
    ldap: LdapSettings
    log: LogSettings
    sources: tuple[SourceSettings, ...]
    exports: tuple[ExportSettings, ...] = ()
    redaction: RedactionSettings = RedactionSettings()


SECTIONS: Final[Mapping[str, type[Any]]] = {
    "navlin": NavlinSettings,
    "solr": SolrSettings,
    "spark": SparkSettings,
    "purge": PurgeSettings,
    "web": WebSettings,
    "ldap": LdapSettings,
    "log": LogSettings,
    "redaction": RedactionSettings,
}


PATHS_OF_SOURCES: Final = frozenset(
    {"ca_file", "credentials_file", "directory", "hadoop_configuration_directory", "keytab", "krb5_conf"}
)
"""Names of the extractor settings whose values are local paths, unless they are URLs."""
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


@dataclass(frozen=True, slots=True)
class ConfigurationProblem:
    """One problem in the configuration file. ``line`` is 0 if the problem has no line."""

    file: Path
    line: int
    text: str

    def __str__(self) -> str:
        text = without_userinfo(self.text)
        return f"{self.file}:{self.line}: {text}" if self.line else f"{self.file}: {text}"


class BadConfiguration(Exception):
    """The configuration file is invalid. ``problems`` lists all problems, sorted by line."""

    def __init__(self, problems: tuple[ConfigurationProblem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


def read_configuration(
    file: Path, extractors: Mapping[str, Registration] | None, environment: Mapping[str, str]
) -> Configuration:
    """Read and check the configuration file, without making connections. Raises `BadConfiguration` with all problems at
    once.

    ``extractors`` maps names to registered extractors. If it is None, sources are left out and not checked. That is
    enough to query the index, and no extractor needs to be loaded.
    """
    try:
        # Some editors begin a file with a byte order mark, which is not part of the text.
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        hint = f"name one with --config or {FILE_VARIABLE}; navlin's conf/navlin.toml is an example"
        raise BadConfiguration((ConfigurationProblem(file, 0, f"the file does not exist: {hint}"),)) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        words = f"byte 0x{error.object[error.start]:02x} is not valid UTF-8: save the file as UTF-8"
        raise BadConfiguration((ConfigurationProblem(file, line, words),)) from None
    except OSError as error:
        raise BadConfiguration((ConfigurationProblem(file, 0, f"cannot be read: {error}"),)) from None
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line, words = syntax_error(error, text)
        raise BadConfiguration((ConfigurationProblem(file, line, words),)) from None

    found: list[ConfigurationProblem] = []

    def complain(path: KeyPath, words: str) -> None:
        found.append(ConfigurationProblem(file, line_of(text, path), _heading(path) + words))

    sources_of, exports_of = tables.pop("source", []), tables.pop("export", [])
    tables = expand(tables, environment, (), complain)
    for name in tables.keys() - SECTIONS.keys():
        complain((name,), f'unknown section "{name}"{suggest(name, [*SECTIONS, "source", "export"])}')
    sections = {name: _section(name, tables.get(name, {}), complain) for name in SECTIONS}
    if sections["spark"] and sections["spark"].on_yarn and sections["solr"] and sections["solr"].embedded:
        complain(("spark", "master"), EMBEDDED_ON_YARN)
    if (
        sections["spark"]
        and sections["spark"].on_yarn
        and sections["solr"]
        and sections["solr"].auth == "kerberos"
    ):
        complain(("spark", "master"), KERBEROS_ON_YARN)
    cluster = sections["navlin"].cluster if sections["navlin"] else ""
    sources: tuple[SourceSettings, ...] = ()
    if extractors is not None:
        sources_of = _paths_beside(file, expand(sources_of, environment, ("source",), complain))
        sources = _sources(sources_of, cluster, extractors, complain)
    exports = _exports(expand(exports_of, environment, ("export",), complain), file, complain)
    if found:
        raise BadConfiguration(tuple(sorted(found, key=lambda problem: problem.line)))
    here = file.absolute().parent
    settings = {name: beside(here, section) for name, section in sections.items()}
    return Configuration(file, **settings, sources=sources, exports=exports)


def _heading(path: KeyPath) -> str:
    if path[:1] == ("source",):
        return "[[source]] "
    if path[:1] == ("export",):
        return "[[export]] "
    return f"[{path[0]}] " if path and path[0] in SECTIONS else ""


def _exports(tables: Any, file: Path, complain: Complain) -> tuple[ExportSettings, ...]:
    if not tables:
        # Return early, because reading exports imports modules that most commands do not need.
        return ()
    from navlin.service.settings.export_settings import read_exports

    return read_exports(tables, file.absolute().parent, complain)


def _section(name: str, table: Any, complain: Complain) -> Any:
    if not isinstance(table, dict):
        complain((name,), f"must be a section: [{name}]")
        return None
    if name == "spark" and isinstance(table.get("conf"), dict):
        table = {**table, "conf": dict(_dotted(table["conf"]))}
    return build(SECTIONS[name], table, (name,), complain)


def _dotted(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    # Without quotes, TOML parses the dots in `spark.executor.memory` as nested tables.
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _dotted(value, f"{prefix}{key}.")
        else:
            yield prefix + key, str(value).lower() if isinstance(value, bool) else str(value)


def _sources(
    tables: Any, cluster: str, extractors: Mapping[str, Registration], complain: Complain
) -> tuple[SourceSettings, ...]:
    sources: list[SourceSettings] = []
    served_by: dict[tuple[str, str], str] = {}
    for at, table in named_tables("source", tables, complain):
        source = _source(table, at, cluster, extractors, complain)
        if source is None:
            continue
        for authority in source.serves:
            other = served_by.setdefault((source.registration.source_type, authority), source.name)
            if other != source.name:
                complain((*at, "serves"), f'{authority} is already served by the source "{other}"')
        sources.append(source)
    return tuple(sources)


@dataclass(frozen=True, slots=True)
class SourceKeys:
    """The keys of a ``[[source]]`` that do not depend on the extractor."""

    name: str
    extractor: str
    interval_s: float | None = None
    serves: tuple[str, ...] = ()

    def problems(self) -> Problems:
        if not self.name.strip():
            yield "name", "name must not be empty"
        if self.interval_s is not None and not self.interval_s > 0:
            yield "interval_s", "interval_s must be more than 0"


def _source(
    table: Mapping[str, Any],
    at: KeyPath,
    cluster: str,
    extractors: Mapping[str, Registration],
    complain: Complain,
) -> SourceSettings | None:
    common = {item.name for item in fields(SourceKeys)}
    kind = table.get("extractor")
    registration = extractors.get(kind) if isinstance(kind, str) else None
    if isinstance(kind, str) and registration is None:
        known = ", ".join(sorted(extractors))
        complain(
            (*at, "extractor"),
            f'unknown extractor "{kind}"{suggest(kind, extractors)} (known: {known})',
        )
    keys = build(SourceKeys, {key: table[key] for key in table if key in common}, at, complain)
    if registration is None:
        return None
    name = str(table.get("name", ""))
    # The extractor is only checked here, so an estate with its own source is enough. The loader replaces it with the
    # configured estate.
    alone = Source(source_id(cluster, name), registration.source_type, name, cluster)
    template = build(
        registration.make,
        {key: table[key] for key in table if key not in common},
        at,
        complain,
        source=alone,
        estate=Estate(cluster, (alone,)),
    )
    if keys is None or template is None:
        return None
    try:
        template.directories()
    except ValueError as error:
        complain(at, str(error))
        return None
    interval_s = keys.interval_s or (PUSH_INTERVAL_S if registration.mode is PUSH else PULL_INTERVAL_S)
    settings = SourceSettings(keys.name, registration, template, interval_s)
    authorities = (*keys.serves, *template.serves(settings.settings()))
    return replace(settings, serves=tuple(dict.fromkeys(map(normal_authority, authorities))))


def _paths_beside(file: Path, tables: Any) -> Any:
    """Return the tables of sources, with relative local paths resolved against the directory of the file."""
    here = file.absolute().parent

    def placed(value: Any) -> Any:
        if isinstance(value, list):
            return [placed(each) for each in value]
        relative = isinstance(value, str) and value and not value.startswith("/") and not _URL.match(value)
        return str(here / value) if relative else value

    if not isinstance(tables, list):
        return tables
    return [
        {key: placed(value) if key in PATHS_OF_SOURCES else value for key, value in table.items()}
        if isinstance(table, dict)
        else table
        for table in tables
    ]
