"""A real Hive metastore, metastores of later releases, and the few calls with which tests change them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from getpass import getuser
from pathlib import Path
from types import NoneType
from typing import Final, Self

from extractors.hms import idl
from extractors.hms.client import MetastoreAddress, MetastoreConnection, MetastoreRefused, connected
from extractors.hms.events import DEFAULT_CATALOG
from extractors.hms.thrift import Call, Struct, at, refusal, struct
from navlin.demo import metastore
from navlin.java import QUICK, find_java, pyspark_jars


@struct
class Catalog(Struct):
    name: str | None = at(1)
    description: str | None = at(2)
    locationUri: str | None = at(3)


@struct
class CreateCatalogRequest(Struct):
    catalog: Catalog | None = at(1)


@struct
class CreateTableRequest(Struct):
    table: idl.Table | None = at(1)
    processorCapabilities: list[str] | None = at(9)


AlreadyExists = refusal("AlreadyExistsException")
_REFUSALS = (idl.InvalidOperationException, idl.MetaException)

CREATE_DATABASE = Call("create_database", (idl.Database,), NoneType, throws=(AlreadyExists, *_REFUSALS))
DROP_DATABASE = Call(
    "drop_database", (str, bool, bool), NoneType, throws=(idl.NoSuchObjectException, *_REFUSALS)
)
CREATE_CATALOG = Call(
    "create_catalog", (CreateCatalogRequest,), NoneType, throws=(AlreadyExists, idl.MetaException)
)
CREATE_TABLE_REQ = Call(
    "create_table_req", (CreateTableRequest,), NoneType, throws=(AlreadyExists, *_REFUSALS)
)
CREATE_TABLE = Call("create_table", (idl.Table,), NoneType, throws=(AlreadyExists, *_REFUSALS))
ALTER_TABLE = Call("alter_table", (str, str, idl.Table), NoneType, throws=_REFUSALS)
DROP_TABLE = Call(
    "drop_table", (str, str, bool), NoneType, throws=(idl.NoSuchObjectException, idl.MetaException)
)
ADD_PARTITION = Call("add_partition", (idl.Partition,), idl.Partition, throws=(*_REFUSALS, AlreadyExists))
APPEND_PARTITION = Call(
    "append_partition", (str, str, list[str]), idl.Partition, throws=(*_REFUSALS, AlreadyExists)
)
ALTER_PARTITION = Call("alter_partition", (str, str, idl.Partition), NoneType, throws=_REFUSALS)
DROP_PARTITION = Call(
    "drop_partition",
    (str, str, list[str], bool),
    bool,
    throws=(idl.NoSuchObjectException, idl.MetaException),
)


class Metastore(metastore.Metastore):
    """The demo's metastore, which can be ended and started again with the same data.

    Without ``listener`` the metastore records no events. ``short_lived`` makes it quick to start rather than quick to
    run. ``settings`` are additional properties of Hive and Hadoop; ``java_options`` are passed to the JVM.
    """

    def __init__(
        self,
        directory: Path,
        jars: Path,
        *,
        listener: bool = True,
        short_lived: bool = True,
        port: int | None = None,
        settings: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        super().__init__(directory, jars)
        self._listener, self._short_lived = listener, short_lived
        self.port = port or self.port
        self._settings = dict(settings or {})
        self._java_options = tuple(java_options)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def warehouse(self) -> Path:
        """The directory of managed tables."""
        return self.directory / "warehouse"

    def start(self) -> None:
        """Start the metastore on the existing data in the directory, and wait until it answers (some 6 to 10 s)."""
        self.launch()
        self.await_ready()

    def launch(self) -> None:
        conf = self.directory / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "core-site.xml").write_text(metastore.site(self._settings))
        super().launch()

    def java_options(self, conf: Path) -> list[str]:
        options = super().java_options(conf)
        return [*(each for each in options if self._short_lived or each not in QUICK), *self._java_options]

    def properties(self) -> dict[str, str]:
        properties = super().properties() | self._settings
        if not self._listener:
            del properties["hive.metastore.transactional.event.listeners"]
        return properties

    @property
    def address(self) -> MetastoreAddress:
        """Address for a client that waits a minute for an answer, however busy the machine is."""
        return MetastoreAddress((self.uri,), connect_timeout_s=60, call_timeout_s=60)

    def client(self) -> MetastoreConnection:
        return MetastoreConnection(self.address)


@dataclass(frozen=True, slots=True)
class Release:
    """A Hive metastore of another release than PySpark's jars. ``listener`` is the class that writes the
    notification log, either in the release's jars or in a Java source file next to this module.
    """

    version: str
    listener: str
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def jars(self) -> str:
        """Name of the release's jar set."""
        return f"hive-metastore-{self.version}"


_WITHOUT_HIVE: Final = {
    # The default values of both settings are classes in hive-exec.
    "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy",
    "metastore.task.threads.always": "org.apache.hadoop.hive.metastore.events.EventCleanerTask",
}
RELEASES: Final = {
    release.version: release
    for release in (
        Release("3.1", "org.apache.hive.hcatalog.listener.DbNotificationListener", _WITHOUT_HIVE),
        Release("4.0", "NotificationLog", {**_WITHOUT_HIVE, "metastore.thrift.bind.host": "127.0.0.1"}),
    )
}
_VERSION = re.compile(r"-\d[^/]*\.jar$")


class MetastoreOfHive(Metastore):
    """A metastore started by Hive's own main class, which supports SASL and listens on every address."""

    def command(self, options: Sequence[str], configuration: Path) -> list[str]:
        path = ":".join(map(str, (configuration, *self.class_path())))
        main = "org.apache.hadoop.hive.metastore.HiveMetaStore"
        return [find_java(), *options, "-cp", path, main, "-p", str(self.port)]


class LaterMetastore(MetastoreOfHive):
    """A real metastore of another release than PySpark's. ``jars`` is the directory of the release's jar set."""

    def __init__(self, directory: Path, jars: Path, release: Release, *, shows_log: bool = True) -> None:
        asked = f"hadoop.proxyuser.{getuser()}"
        settings = {
            **release.settings,
            "hive.metastore.transactional.event.listeners": release.listener,
            # From Hive 3 on, only users who may impersonate others can read the notification log.
            **({f"{asked}.hosts": "*", f"{asked}.groups": "*"} if shows_log else {}),
        }
        super().__init__(directory, jars, settings=settings)
        self.release = release

    def await_ready(self) -> None:
        super().await_ready()
        with connected(self.address) as client, suppress(MetastoreRefused):
            # These calls create the tables of the notification log, which otherwise do not exist before the first
            # write.
            client.current_event_id()
            client.events(0, 1)

    def class_path(self) -> list[Path]:
        """Return PySpark's jars, except its metastore and jars that the release has in another version."""
        own = sorted(self.jars.glob("*.jar"))
        names = {_VERSION.sub("", jar.name) for jar in own}
        theirs = [
            jar
            for jar in sorted(pyspark_jars().glob("*.jar"))
            if _VERSION.sub("", jar.name) not in names and not jar.name.startswith("hive-metastore-")
        ]
        # Hive 4 needs an exception class of HDFS's server.
        hadoop = sorted(self.jars.with_name("hadoop").glob("hadoop-client-minicluster-*.jar"))
        classes = [*own, *theirs, *hadoop]
        source = Path(__file__).with_name(f"{self.release.listener}.java")
        if source.exists():
            compiled = self.directory / "classes"
            path = ":".join(map(str, classes))
            subprocess.run(["javac", "-nowarn", "-d", compiled, "-cp", path, source], check=True)
            classes.insert(0, compiled)
        return classes


def table(
    database: str,
    name: str,
    columns: dict[str, str] | None = None,
    *,
    partitioned_by: dict[str, str] | None = None,
    location: str | None = None,
    parameters: dict[str, str] | None = None,
    kind: str = "EXTERNAL_TABLE",
    view_text: str | None = None,
) -> idl.Table:
    """Return a table to create. ``columns`` and ``partitioned_by`` map names to types."""
    descriptor = idl.StorageDescriptor(
        cols=_columns(columns if columns is not None else {"id": "int", "name": "string"}),
        location=location,
        inputFormat="org.apache.hadoop.mapred.TextInputFormat",
        outputFormat="org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat",
        compressed=False,
        numBuckets=-1,
        serdeInfo=idl.SerDeInfo(name, "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", {}),
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
    external = {"EXTERNAL": "TRUE"} if kind == "EXTERNAL_TABLE" else {}
    return idl.Table(
        tableName=name,
        dbName=database,
        owner="tester",
        createTime=1_700_000_000,
        sd=descriptor,
        partitionKeys=_columns(partitioned_by or {}),
        parameters={**external, **(parameters or {})},
        tableType=kind,
        viewOriginalText=view_text,
        viewExpandedText=view_text,
        catName=DEFAULT_CATALOG,
    )


def partition(of: idl.Table, *values: str, location: str | None = None) -> idl.Partition:
    return idl.Partition(
        values=list(values),
        dbName=of.dbName,
        tableName=of.tableName,
        sd=idl.StorageDescriptor(
            cols=of.sd.cols if of.sd else [],
            location=location,
            serdeInfo=idl.SerDeInfo("", "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe", {}),
        ),
        parameters={},
        catName=DEFAULT_CATALOG,
    )


def _columns(types: dict[str, str]) -> list[idl.FieldSchema]:
    return [idl.FieldSchema(name, kind, None) for name, kind in types.items()]
