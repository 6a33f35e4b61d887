"""A real Hive metastore from PySpark's own jars, and the few calls by which tests change what it holds."""

from __future__ import annotations

import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from types import NoneType
from typing import Self

from extractors import _hms_idl as idl
from extractors._hms_client import Address, Connection, MetastoreError, connected
from extractors._hms_thrift import Call, refusal

LISTENER_JAR = "hive-hcatalog-server-extensions-*.jar"
_START_S = 90

AlreadyExists = refusal("AlreadyExistsException")
_REFUSALS = (idl.InvalidOperationException, idl.MetaException)

CREATE_DATABASE = Call("create_database", (idl.Database,), NoneType, throws=(AlreadyExists, *_REFUSALS))
DROP_DATABASE = Call(
    "drop_database", (str, bool, bool), NoneType, throws=(idl.NoSuchObjectException, *_REFUSALS)
)
CREATE_TABLE = Call("create_table", (idl.Table,), NoneType, throws=(AlreadyExists, *_REFUSALS))
ALTER_TABLE = Call("alter_table", (str, str, idl.Table), NoneType, throws=_REFUSALS)
DROP_TABLE = Call(
    "drop_table", (str, str, bool), NoneType, throws=(idl.NoSuchObjectException, idl.MetaException)
)
ADD_PARTITION = Call("add_partition", (idl.Partition,), idl.Partition, throws=(*_REFUSALS, AlreadyExists))
ALTER_PARTITION = Call("alter_partition", (str, str, idl.Partition), NoneType, throws=_REFUSALS)
DROP_PARTITION = Call(
    "drop_partition",
    (str, str, list[str], bool),
    bool,
    throws=(idl.NoSuchObjectException, idl.MetaException),
)


class Metastore:
    """A metastore of its own in ``directory``: it can be ended and started again with what it holds."""

    def __init__(
        self, directory: Path, jars: Path, *, listener: bool = True, short_lived: bool = True
    ) -> None:
        self._directory = directory.resolve()
        self._jars = jars.resolve()
        self._listener = listener
        self._short_lived = short_lived
        self.port = _free_port()
        self.uri = f"thrift://127.0.0.1:{self.port}"
        self.address = Address((self.uri,), connect_timeout_s=5, call_timeout_s=60)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Starts it and waits until it answers (some 6 to 10 s)."""
        conf = self._directory / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        (conf / "hive-site.xml").write_text(_hive_site(self._directory, listener=self._listener))
        opens = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in ("lang", "net", "util")]
        classes = [str(conf), *map(str, self._jars.glob("*.jar")), f"{_pyspark_jars()}/*"]
        # Quick to start is worth more in a test than quick to run; not so in a benchmark.
        compiler = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"] if self._short_lived else []
        options = [
            *compiler,
            "-Xmx512m",
            "-Dderby.system.durability=test",
            f"-Dderby.stream.error.file={conf}/derby.log",
        ]
        main = "org.apache.hadoop.hive.metastore.HiveMetaStore"
        log_file = self._directory / "metastore.log"
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                ["java", *options, *opens, "-cp", ":".join(classes), main, "-p", str(self.port)],
                cwd=self._directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        deadline_s = time.monotonic() + _START_S
        while True:
            try:
                with connected(self.address) as connection:
                    connection.databases()
                return
            except MetastoreError:
                if self._process.poll() is not None or time.monotonic() > deadline_s:
                    self.kill()
                    raise MetastoreError(f"it did not start:\n{log_file.read_text()[-2000:]}") from None
                time.sleep(0.2)

    def kill(self) -> None:
        """Ends it at once, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def client(self) -> Connection:
        """A connection of one's own."""
        return Connection(self.address)


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
    """A table to be created: columns as name → type."""
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
    )


def partition(of: idl.Table, *values: str, location: str | None = None) -> idl.Partition:
    """A partition to be added."""
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
    )


def _columns(types: dict[str, str]) -> list[idl.FieldSchema]:
    return [idl.FieldSchema(name, kind, None) for name, kind in types.items()]


def _hive_site(directory: Path, *, listener: bool) -> str:
    properties = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={directory}/db;create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": f"file:{directory}/warehouse",
        # Else it dies at start: the asynchronous logger's library is not among PySpark's jars.
        "hive.async.log.enabled": "false",
        # Else no database can be dropped: the default pool's library is not among them either.
        "datanucleus.connectionPoolingType": "none",
        "hive.metastore.event.db.listener.timetolive": "86400s",
    }
    if listener:
        properties["hive.metastore.transactional.event.listeners"] = (
            "org.apache.hive.hcatalog.listener.DbNotificationListener"
        )
    lines = (f"<property><name>{k}</name><value>{v}</value></property>" for k, v in properties.items())
    return "<configuration>" + "".join(lines) + "</configuration>"


def _pyspark_jars() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("pyspark is not installed: the metastore's classes are among its jars")
    return Path(spec.origin).parent / "jars"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
