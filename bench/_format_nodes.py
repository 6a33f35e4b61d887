"""Statements and reads of ``bench.every_node`` that need the jars of Delta, Iceberg or Hudi."""

# ruff: noqa: E501, S608 - statements as they are run

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

DELTA: Final = {
    "delta_changes": "{made} select id, k, _change_type from table_changes('src.d', 1)",
    "delta_changes_by_path": "{made} select id, k from table_changes_by_path('{dir}/warehouse/src.db/d', 1)",
    "delta_clone": "create table {out} shallow clone src.d",
    "delta_restore": "restore table src.d to version as of 1",
    "delta_update": "create table {out} using delta as select id, k, v from src.a;; update {out} set k = 'z' where id = 1",
    "delta_delete": "create table {out} using delta as select id, k, v from src.a;; delete from {out} where id = 1",
    "delta_merge": "create table {out} using delta as select id, k from src.a;; merge into {out} t using src.b s on t.id = s.id when matched then update set k = s.k",
    "delta_replace_using": "create table {out} using delta as select id, k from src.a;; insert into {out} replace using (id) select id, k from src.b",
    "delta_replace_on": "create table {out} using delta as select id, k from src.a;; insert into {out} as t replace on t.id = s.id (select id, k from src.b) as s",
}
DELTA_V2: Final = {
    "delta_v2_read": "{made} select id, k from src.d where id > 0",
    "delta_v2_read_path": "{made} select id, k from delta.`{dir}/warehouse/src.db/d` where id > 0",
}
_ICEBERG_TABLE: Final = "create table local.{out} using iceberg as select id, k from src.a"
_ON_READ: Final = (
    "create table local.{out} using iceberg tblproperties ('write.merge.mode' = 'merge-on-read', "
    "'write.update.mode' = 'merge-on-read', 'write.delete.mode' = 'merge-on-read', 'format-version' = '2') as select id, k from src.a"
)
_MERGE: Final = "merge into local.{out} t using local.src.i s on t.id = s.id when matched then update set k = s.k when not matched then insert (id, k) values (s.id, s.k)"
ICEBERG: Final = {
    "iceberg_read": "{made} select id, k from local.src.i where v > 1",
    "iceberg_insert": _ICEBERG_TABLE + ";; insert into local.{out} select id, k from local.src.i",
    "iceberg_merge": f"{_ICEBERG_TABLE};; {_MERGE}",
    "iceberg_delete": _ICEBERG_TABLE + ";; delete from local.{out} where id in (select id from local.src.i)",
    "iceberg_delete_all": _ICEBERG_TABLE + ";; delete from local.{out} where id > 0",
    "iceberg_update": _ICEBERG_TABLE + ";; update local.{out} set k = 'z' where id = 1",
    "iceberg_merge_on_read": f"{_ON_READ};; {_MERGE}",
    "iceberg_delete_on_read": _ON_READ
    + ";; delete from local.{out} where id in (select id from local.src.i)",
    "iceberg_update_on_read": _ON_READ + ";; update local.{out} set k = 'z' where id = 1",
}
HUDI: Final = {
    "hudi_changes": "{made} select id, k from hudi_table_changes('{dir}/hudi_mor', 'latest_state', 'earliest')",
    "hudi_timeline": "{made} select action from hudi_query_timeline('{dir}/hudi_mor', 'true')",
    "hudi_file_view": "{made} select file_id from hudi_filesystem_view('{dir}/hudi_mor')",
    "hudi_metadata": "{made} select key from hudi_metadata('{dir}/hudi_mor')",
}
_SESSION_CATALOG: Final = "spark.sql.catalog.spark_catalog"
_SETTINGS: Final = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        _SESSION_CATALOG: "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.databricks.delta.snapshotPartitions": "1",
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.local": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.local.type": "hadoop",
    },
    "hudi": {
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        _SESSION_CATALOG: "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
    },
}
_LEGACY: Final = {"hoodie.file.group.reader.enabled": "false"}
_EVOLVES: Final = _LEGACY | {"hoodie.schema.on.read.enable": "true"}
_INCREMENTAL: Final = {
    "hoodie.datasource.query.type": "incremental",
    "hoodie.datasource.read.begin.instanttime": "20000101000000000",
}
_READS: Final = {
    "snapshot": {},
    "incremental": _INCREMENTAL,
    "optimized": {"hoodie.datasource.query.type": "read_optimized"},
    "changes": _LEGACY | _INCREMENTAL | {"hoodie.datasource.query.incremental.format": "cdc"},
    "legacy": _LEGACY,
    "legacy_incremental": _LEGACY | _INCREMENTAL,
    "legacy_evolves": _EVOLVES,
}
"""Read options of each kind of read of a Hudi table."""


def present(jars: Path) -> list[str]:
    """Return the formats whose jars are in a directory."""
    names = [each.name for each in jars.glob("*.jar")]
    return [each for each in _SETTINGS if any(name.startswith(f"{each}-spark") for name in names)]


def settings_of(jars: Path, directory: Path) -> dict[str, str]:
    """Return Spark's settings for the formats whose jars are in a directory."""
    found: dict[str, str] = {
        "spark.jars": ",".join(map(str, sorted(jars.glob("*.jar")))),
        "spark.sql.catalog.local.warehouse": str(directory / "local"),
    }
    formats = present(jars)
    for each in reversed(formats):
        found |= _SETTINGS[each]
    return found | {
        "spark.sql.extensions": ",".join(_SETTINGS[each]["spark.sql.extensions"] for each in formats)
    }


def run_formats(
    spark: Any,
    directory: Path,
    formats: Iterable[str],
    case: Callable[..., None],
    statements: Callable[..., None],
) -> None:
    if "delta" in formats:
        case("delta_setup", partial(_make_delta, spark))
    if "iceberg" in formats:
        spark.sql("create table local.src.i using iceberg as select id, k, v from src.a")
    if "hudi" in formats:
        _run_hudi(spark, directory, case)
        statements(HUDI)
    if "delta" in formats:
        statements(DELTA)
    if "iceberg" in formats:
        statements(ICEBERG)
        for mode in ("extended", "cost"):
            spark.conf.set("spark.sql.ui.explainMode", mode)
            statements({f"{mode}_{name}": text for name, text in ICEBERG.items()})
        spark.conf.set("spark.sql.ui.explainMode", "formatted")
    if "delta" in formats:
        spark.conf.set("spark.databricks.delta.v2.enableMode", "STRICT")
        statements(DELTA_V2)


def _make_delta(spark: Any) -> None:
    spark.sql(
        "create table src.d (id int, k string, v int) using delta tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    spark.sql("insert into src.d select id, k, v from src.a")
    spark.sql("update src.d set v = 9 where id = 1")


def _run_hudi(spark: Any, directory: Path, case: Callable[..., None]) -> None:
    a = spark.table("src.a").select("id", "k", "v")

    def save(kind: str, rows: Any, **options: str) -> None:
        short = "mor" if kind.startswith("MERGE") else "cow"
        writer = rows.write.format("hudi").option("hoodie.table.name", "t").mode("append")
        own = {"recordkey.field": "id", "precombine.field": "v", "table.type": kind}
        given = {f"hoodie.datasource.write.{key}": value for key, value in own.items()} | options
        for key, value in given.items():
            writer = writer.option(key, value)
        writer.save(f"{directory}/{options.get('to', 'hudi')}_{short}")

    def read(name: str, path: str, options: dict[str, str]) -> None:
        reader = spark.read.format("hudi").options(**options)
        columns = ("op", "after") if "changes" in name else ("id", "k")
        reader.load(f"{directory}/{path}").select(*columns).write.parquet(f"{directory}/{name}")

    a.coalesce(1).write.parquet(f"{directory}/old")
    bootstrap = {
        "to": "moved",
        "hoodie.datasource.write.operation": "bootstrap",
        "hoodie.bootstrap.base.path": f"{directory}/old",
        "hoodie.bootstrap.keygen.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
        "hoodie.bootstrap.mode.selector": "org.apache.hudi.client.bootstrap.selector.MetadataOnlyBootstrapModeSelector",
        "hoodie.bootstrap.parallelism": "1",
        "hoodie.metadata.index.column.stats.enable": "false",
    }
    for kind in ("MERGE_ON_READ", "COPY_ON_WRITE"):
        logged = {"hoodie.table.cdc.enabled": "true"}
        case(f"hudi_save_{kind}", partial(save, kind, a, **logged))
        case(f"hudi_save_again_{kind}", partial(save, kind, a.selectExpr("id", "k", "v + 1 v"), **logged))
        case(f"hudi_bootstrap_{kind}", partial(save, kind, a.limit(0), **bootstrap))
        case(
            f"hudi_bootstrap_again_{kind}",
            partial(save, kind, a.selectExpr("id", "k", "v + 1 v"), to="moved"),
        )
    for short in ("mor", "cow"):
        for name, options in _READS.items():
            case(f"hudi_{name}_{short}", partial(read, f"hudi_{name}_{short}", f"hudi_{short}", options))
        for name in ("snapshot", "legacy", "legacy_evolves"):
            case(
                f"moved_{name}_{short}",
                partial(read, f"moved_{name}_{short}", f"moved_{short}", _READS[name]),
            )
