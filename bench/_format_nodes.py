"""Settings, tables and reads of ``bench.every_node`` that need the jars of Delta, Iceberg or Hudi."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench._referee_parts import DELTA

_SETTINGS: Final = {
    "delta": DELTA,
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.local": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.local.type": "hadoop",
    },
    "hudi": {
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
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
        statements("hudi")
    if "delta" in formats:
        statements("delta")
    if "iceberg" in formats:
        statements("iceberg")
        for mode in ("extended", "cost"):
            spark.conf.set("spark.sql.ui.explainMode", mode)
            statements("iceberg", f"{mode}_")
        spark.conf.set("spark.sql.ui.explainMode", "formatted")
    if "delta" in formats:
        spark.conf.set("spark.databricks.delta.v2.enableMode", "STRICT")
        statements("delta v2")


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
