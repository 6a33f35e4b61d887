"""Parse the configuration of a job that Sqoop submitted.

    import of a table    mapreduce.jdbc.input.table.name, .input.field.names, .input.conditions, the output directory
    import of a query    mapreduce.jdbc.input.query, with $CONDITIONS; avro.map.output.schema names its columns
    export               mapreduce.jdbc.output.table.name, .output.field.names, the input directory
    merge                sqoop.merge.old.path, sqoop.merge.new.path: the second job of an import of modified rows

These properties contain no passwords, except within a URL; only the parsed parts of a URL are kept. Clients may write
anything into properties, so an unsuitable value counts as missing, with a reason.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final

import orjson

from extractors.lineage.staging import is_moved
from extractors.yarn.configuration import ConfigurationGap, JobPath, Paths, split_paths
from extractors.yarn.sqoop_options import OPTIONS, SqoopOptions, is_option, options_of
from extractors.yarn.sqoop_texts import kept
from navlin.model.databases import Database, database_of, shown_url
from navlin.model.keys import split_location
from navlin.model.redaction import bounded, redact, without_credentials
from navlin.model.source import metastores_named
from navlin.model.sql_names import listed_names, table_parts

MAX_NAME_CHARS: Final = 1_000
MAX_COLUMNS: Final = 5_000
MAX_TEXT_BYTES: Final = 64 << 10
MAX_VALUE_CHARS: Final = 1 << 20
MAX_PATHS: Final = 50
MAX_PATH_CHARS: Final = 4_096

_URL, _USER = "mapreduce.jdbc.url", "mapreduce.jdbc.username"
_IN, _OUT = "mapreduce.jdbc.input.", "mapreduce.jdbc.output."
_MAPPER: Final = "mapreduce.job.map.class"
_OLD, _NEW, _MERGE_KEY = "sqoop.merge.old.path", "sqoop.merge.new.path", "sqoop.merge.key.col"
_CALL, _UPDATE_KEY = "sqoop.export.call", "sqoop.mapreduce.export.update.col"
_CLASS: Final = "sqoop.mapreduce.export.table.class"
_INPUTS, _OUTPUT = "mapreduce.input.fileinputformat.inputdir", "mapreduce.output.fileoutputformat.outputdir"
_KITE: Final = "kite.outputUri"
_SCHEMAS: Final = ("avro.map.output.schema", "parquetjob.avro.schema", "avro.output.schema")
_WORKING, _DEFAULT_FS, _DIRECTORY = "mapreduce.job.working.dir", "fs.defaultFS", "mapreduce.job.dir"
_METASTORES: Final = "hive.metastore.uris"
_HBASE: Final = "hbase.mapred.outputtable"
_READ: Final = frozenset(
    {_URL, _USER, _MAPPER, _OLD, _NEW, _MERGE_KEY, _CALL, _UPDATE_KEY, _CLASS, _INPUTS, _OUTPUT, _KITE}
    | {_WORKING, _DEFAULT_FS, _DIRECTORY, _METASTORES, _HBASE, *_SCHEMAS}
    | {_IN + each for each in ("table.name", "field.names", "conditions", "query")}
    | {_OUT + each for each in ("table.name", "field.names")}
)
_PACKAGES: Final = ("org.apache.sqoop.", "com.cloudera.sqoop.")
_TEMPORARY: Final = re.compile(r"/[0-9a-f]{32}_[^/]+/*\Z")
"""Name of a directory whose data Sqoop moves later. The directory above may have any name."""
_DATASET: Final = re.compile(
    r"(?:dataset|view):hive:/*(?:[^/?]+:\d+/)?([^/?]+)/([^/?]+)(?:\?.*)?\Z", re.DOTALL
)
_NO_IDENTIFIER: Final = re.compile(r"\W")


class TransferKind(StrEnum):
    """Kind of a Sqoop job, by the direction in which it moves data."""

    IMPORT = "IMPORT"
    EXPORT = "EXPORT"
    MERGE = "MERGE"


class Gap(StrEnum):
    """Reasons why the operation of a Sqoop job is incomplete, other than those in `ConfigurationGap`."""

    URL = "its configuration names the database by a URL that navlin cannot read"
    NO_URL = "its configuration does not name the database"
    TABLE = "its configuration names the table in a form that navlin cannot read"
    NO_TABLE = "its configuration names neither a table nor a query"
    COLUMNS = "its columns are not listed in a form that navlin can read"
    QUERY = "the query that it sends to the database could not be read, or not all of it"
    SCHEMA = "the Avro schema in its configuration could not be read"
    PERHAPS_HIVE = (
        "its directory is the default one, from which a Hive import moves the data into a table that its"
        " configuration does not name"
    )
    HIVE = "it loads the data into a Hive table that its configuration does not name"
    STAGED = "the table that it writes is perhaps a staging table, from which Sqoop moves the rows into another one"
    PROCEDURE = "it calls a procedure of the database, and nothing tells which tables the procedure changes"
    CATALOG = "it reads or writes a table by HCatalog that its configuration does not name"
    NO_FILES = "it writes into HBase or Accumulo"


@dataclass(frozen=True, slots=True)
class SqoopJob:
    """The relevant part of a job's configuration; unset values are empty. ``url`` is without secrets. ``table`` is the
    name of the dataset, ``columns`` are the columns of the database in order, ``written_as`` their names in the Avro
    schema, ``keys`` the columns that identify the rows to update or merge. ``reads`` and ``target`` are directories.
    ``hive`` is the (database, table) of Hive that Sqoop itself reads or writes. ``staged`` is the path of data that
    Sqoop moves afterwards. ``missing`` are reasons from `Gap` and `ConfigurationGap`.
    """

    kind: TransferKind
    url: str = ""
    namespace: str = ""
    database: str = ""
    user: str = ""
    table: str = ""
    query: str = ""
    columns: tuple[str, ...] = ()
    written_as: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    conditions: str = ""
    procedure: str = ""
    reads: tuple[JobPath, ...] = ()
    target: JobPath | None = None
    hive: tuple[str, str] | None = None
    staged: str = ""
    default_fs: str = ""
    metastores: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> SqoopJob:
        """Restore a job from what `told` returned."""
        lists = {name: tuple(each) for name, each in value.items() if isinstance(each, list | tuple)}
        target = value["target"]
        return cls(
            **{**value, **lists}
            | {
                "kind": TransferKind(value["kind"]),
                "reads": tuple(JobPath(**each) for each in value["reads"]),
                "target": JobPath(**target) if target else None,
            }
        )

    @property
    def in_database(self) -> Database:
        return Database(self.namespace, self.database)


def is_read(name: str) -> bool:
    """Whether a property with this name is read."""
    return name in _READ or is_option(name)


def run_of(properties: Mapping[str, str]) -> str:
    """Return an id of the run of a job; "" if Sqoop did not submit the job. An import and the job that merges its data
    have the same id.
    """
    if not properties.get(_MAPPER, "").startswith(_PACKAGES):
        return ""
    if _OLD in properties or _NEW in properties:
        staged = properties.get(_NEW, "")[:MAX_PATH_CHARS]
    else:
        staged = properties.get(_OUTPUT, "")
        staged = staged if _is_temporary(staged) else ""
    if staged:
        return hashlib.blake2b(_path(staged).encode("utf-8", "replace"), digest_size=16).hexdigest()
    # Each job has its own directory. If the property is missing, jobs with equal properties are one run, which does no
    # harm.
    own = properties.get(_DIRECTORY) or repr(sorted(properties.items()))
    return hashlib.blake2b(own.encode("utf-8", "replace"), digest_size=16).hexdigest()


def told(properties: Mapping[str, str]) -> dict[str, Any]:
    """Parse the properties of a job for which `run_of` is not "". Raises nothing, whatever their values."""
    return asdict(_Parsing(properties).job())


def to_published(kind: TransferKind, record: Mapping[str, str], options: Mapping[str, Any]) -> SqoopJob:
    """Return the job that a publisher reported, from the strings in its record and the options of the command."""
    given = {name: value for name, value in options.items() if isinstance(value, str)}
    columns, query = given.get("db.column.list", ""), record.get("storeQuery", "")
    table = "" if query else record.get("storeTable", "")
    side = _IN if kind is TransferKind.IMPORT else _OUT
    properties = {
        _URL: record.get("url", ""),
        _USER: given.get("db.username", ""),
        f"{side}table.name": table,
        f"{side}field.names": columns,
        f"{_IN}query": query,
        f"{_IN}conditions": given.get("db.where.clause", ""),
        OPTIONS + "hive.import": "true",
        OPTIONS + "hive.database.name": record.get("hiveDB", ""),
        OPTIONS + "hive.table.name": record.get("hiveTable", ""),
        OPTIONS + "hcatalog.database.name": record.get("hiveDB", "") if kind is TransferKind.EXPORT else "",
        OPTIONS + "hcatalog.table.name": record.get("hiveTable", "") if kind is TransferKind.EXPORT else "",
    }
    return _Parsing({name: value for name, value in properties.items() if value}).job()


class _Parsing:
    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = {name: _clean(value) for name, value in properties.items()}
        self._options: SqoopOptions = options_of(self._properties)
        self._paths = Paths(self._get(_WORKING)[:MAX_PATH_CHARS], ())
        self._missing: dict[str, None] = {}

    def job(self) -> SqoopJob:
        if _OLD in self._properties or _NEW in self._properties:
            job = self._merge()
        elif _OUT + "table.name" in self._properties or "Export" in self._get(_MAPPER):
            job = self._export(self._in_database(TransferKind.EXPORT))
        else:
            job = self._import(self._in_database(TransferKind.IMPORT))
        missing = (*self._missing, *sorted(self._paths.missing - {ConfigurationGap.MOVED}))
        return replace(
            job,
            default_fs=without_credentials(self._get(_DEFAULT_FS))[:MAX_NAME_CHARS],
            metastores=tuple(
                without_credentials(each)[:MAX_NAME_CHARS]
                for each in metastores_named(self._get(_METASTORES))
            ),
            missing=tuple(dict.fromkeys(map(str, missing))),
        )

    def _get(self, name: str) -> str:
        return self._properties.get(name, "")

    def _lacks(self, reason: Gap | ConfigurationGap) -> None:
        self._missing[reason] = None

    # -- The database ----------------------------------------------------------------------------------------------------

    def _in_database(self, kind: TransferKind) -> SqoopJob:
        url = self._get(_URL)
        database = database_of(url)
        if not database.namespace:
            self._lacks(Gap.URL if url else Gap.NO_URL)
        return SqoopJob(
            kind,
            url=shown_url(url),
            namespace=database.namespace,
            database=database.name,
            user=bounded(redact(self._get(_USER)), MAX_NAME_CHARS),
        )

    def _table(self, database: Database, text: str) -> str:
        """Return the name of the dataset; "" with a reason if the text is not the name of a table."""
        parts = table_parts(text) if len(text) <= MAX_NAME_CHARS else ()
        if not parts:
            self._lacks(Gap.TABLE)
            return ""
        return database.dataset_of(parts)

    def _columns(self, text: str, *, at_least_one: bool = True) -> tuple[str, ...]:
        names = listed_names(text)
        if names and len(names) <= MAX_COLUMNS and all(len(each) <= MAX_NAME_CHARS for each in names):
            return names
        if text or at_least_one:
            self._lacks(Gap.COLUMNS)
        return ()

    def _statement(self, text: str, job: SqoopJob) -> str:
        return bounded(kept(text, job.namespace), MAX_TEXT_BYTES) if len(text) <= MAX_VALUE_CHARS else ""

    # -- Imports ---------------------------------------------------------------------------------------------------------

    def _import(self, job: SqoopJob) -> SqoopJob:
        table, query = self._get(_IN + "table.name"), self._get(_IN + "query")
        if table:
            job = replace(
                job,
                table=self._table(job.in_database, table),
                columns=self._columns(self._get(_IN + "field.names")),
                conditions=self._statement(self._get(_IN + "conditions"), job),
            )
        elif query:
            job = replace(job, query=self._statement(query, job))
        elif self._get(_URL):
            self._lacks(Gap.NO_TABLE)
        return self._with_target(replace(job, written_as=self._schema()))

    def _schema(self) -> tuple[str, ...]:
        """Return the names of the fields of the Avro schema; none if there is no schema."""
        text = next((self._properties[key] for key in _SCHEMAS if key in self._properties), "")
        if not text:
            return ()
        try:
            schema = orjson.loads(text) if len(text) <= MAX_VALUE_CHARS else None
        except orjson.JSONDecodeError:
            schema = None
        fields = schema.get("fields") if isinstance(schema, dict) else None
        if isinstance(fields, list) and 0 < len(fields) <= MAX_COLUMNS:
            names = tuple(each.get("name") if isinstance(each, dict) else None for each in fields)
            strings = tuple(
                each for each in names if isinstance(each, str) and 0 < len(each) <= MAX_NAME_CHARS
            )
            if len(strings) == len(names) and sum(map(len, strings)) <= MAX_TEXT_BYTES:
                return strings
        self._lacks(Gap.SCHEMA)
        return ()

    def _with_target(self, job: SqoopJob) -> SqoopJob:
        options, output = self._options, self._get(_OUTPUT)
        if (named := _DATASET.match(self._get(_KITE))) is not None:
            # For Parquet, Sqoop writes directly into the Hive table, without a directory of its own.
            return replace(job, hive=self._hive_table(named[1], named[2]))
        if options.catalog_table:
            return replace(job, hive=self._hive_table(options.catalog_database, options.catalog_table))
        if options.hive_import:
            return replace(
                job, hive=self._hive_table(options.hive_database, options.hive_table or options.table)
            )
        if ".hcat." in self._get(_MAPPER):
            self._lacks(Gap.CATALOG)
            return job
        if self._get(_HBASE) or re.search(r"\.(?:HBase|Accumulo)\w*Mapper\Z", self._get(_MAPPER)):
            self._lacks(Gap.NO_FILES)
            return job
        if not _is_temporary(output):
            if output and not options.whole and self._is_default(output):
                self._lacks(Gap.PERHAPS_HIVE)
            if not output:
                self._lacks(ConfigurationGap.WRITTEN)
            return replace(job, target=self._place(output))
        job = replace(job, staged=_path(output)[:MAX_NAME_CHARS], target=self._place(self._final()))
        if job.target is None:
            self._lacks(ConfigurationGap.MOVED)
        return job

    def _final(self) -> str:
        """Return the directory to which Sqoop moves the data; "" if the options do not determine it."""
        options = self._options
        if options.target:
            return options.target
        if not options.whole or not options.table:
            return ""
        return f"{options.warehouse.rstrip('/')}/{options.table}" if options.warehouse else options.table

    def _is_default(self, output: str) -> bool:
        """Whether a directory is the one that Sqoop uses without ``--target-dir``: in the home directory, with the
        table's name.
        """
        home, _, name = _path(output).rpartition("/")
        working = _path(self._get(_WORKING)) if self._get(_WORKING) else ""
        parts = table_parts(self._get(_IN + "table.name"))
        return bool(parts) and home == working and name in (parts[-1], ".".join(parts))

    def _hive_table(self, database: str, table: str) -> tuple[str, str] | None:
        if database in ("", "default") and table.count(".") == 1:
            # Sqoop quotes `mart.orders` as a single name, and Hive before 4.0 splits that at the dot.
            database, _, table = table.partition(".")
        named = (database or "default", table)
        if all(named) and not any("." in each or len(each) > MAX_NAME_CHARS for each in named):
            return named
        self._lacks(Gap.HIVE)
        return None

    def _place(self, text: str) -> JobPath | None:
        found = self._paths.output(without_credentials(text)) if len(text) <= MAX_PATH_CHARS else ()
        return found[0] if found else None

    def _places(self, texts: list[str]) -> tuple[JobPath, ...]:
        short = [without_credentials(each) for each in texts[:MAX_PATHS] if len(each) <= MAX_PATH_CHARS]
        if len(short) < len(texts):
            self._lacks(ConfigurationGap.TOO_MANY)
        return self._paths.places(short)

    # -- Exports and merges ----------------------------------------------------------------------------------------------

    def _export(self, job: SqoopJob) -> SqoopJob:
        options = self._options
        # With --direct, an export to MySQL names its table as an import does.
        written = self._get(_OUT + "table.name") or self._get(_IN + "table.name")
        if (call := self._get(_CALL)) or not written:
            self._lacks(Gap.PROCEDURE if call else Gap.NO_TABLE)
            job = replace(job, procedure=bounded(redact(call), MAX_NAME_CHARS))
        elif options.staging_table and options.table:
            job = replace(job, table=self._table(job.in_database, options.table))
        else:
            job = replace(job, table=self._table(job.in_database, written))
            if not options.whole and self._is_perhaps_staging(written):
                self._lacks(Gap.STAGED)
        if job.table:
            job = replace(
                job,
                columns=self._columns(
                    self._get(_OUT + "field.names"), at_least_one=not self._get(_UPDATE_KEY)
                ),
                keys=self._columns(self._get(_UPDATE_KEY), at_least_one=False),
            )
        return self._reading(job)

    def _is_perhaps_staging(self, written: str) -> bool:
        """Whether the written table may be a staging table. Sqoop names the class of the rows after the target, so the
        class of a staging table has another name. It also has another name if the command gives one.
        """
        made_for, parts = self._get(_CLASS), table_parts(written)
        names = {".".join(parts), parts[-1]} if parts else set()
        short = made_for.rpartition(".")[2].removeprefix("codegen_")
        return bool(made_for and parts) and short.lower() not in {
            _NO_IDENTIFIER.sub("_", each).lower() for each in names
        } | {each.rpartition(".")[2].lower() for each in names}

    def _reading(self, job: SqoopJob) -> SqoopJob:
        options, inputs = self._options, self._get(_INPUTS)
        if options.catalog_table:
            return replace(job, hive=self._hive_table(options.catalog_database, options.catalog_table))
        if ".hcat." in self._get(_MAPPER):
            self._lacks(Gap.CATALOG)
        elif not inputs:
            self._lacks(ConfigurationGap.READ)
        return replace(job, reads=self._places(split_paths(inputs)))

    def _merge(self) -> SqoopJob:
        output = self._get(_OUTPUT)
        # Sqoop merges into a temporary directory, which then replaces the old one.
        target = self._place(self._get(_OLD) if _is_temporary(output) else output)
        if target is None:
            self._lacks(ConfigurationGap.MOVED if output else ConfigurationGap.WRITTEN)
        new = self._get(_NEW)
        staged = _path(new)[:MAX_NAME_CHARS] if _is_temporary(new) else ""
        reads = self._places([each for each in (self._get(_OLD), "" if staged else new) if each])
        return SqoopJob(
            TransferKind.MERGE,
            keys=self._columns(self._get(_MERGE_KEY), at_least_one=False),
            reads=reads,
            target=target,
            staged=staged,
        )


def _is_temporary(path: str) -> bool:
    return 0 < len(path) <= MAX_PATH_CHARS and (
        is_moved(_path(path)) or _TEMPORARY.search(_path(path)) is not None
    )


def _clean(text: str) -> str:
    """Return a text that can be stored. A lone surrogate becomes U+FFFD."""
    return (
        text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    )


def _path(uri: str) -> str:
    return split_location(uri)[2]
