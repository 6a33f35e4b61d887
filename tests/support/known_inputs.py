"""Loads known inputs into an index, always in the same way, so that the results of two versions of navlin can be
compared.

Times come from the inputs or from a clock that is fixed during a run, so that only navlin's own stamps differ.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import zstandard
from pyspark.sql import SparkSession

from extractors.hive_events import HiveEvents
from extractors.impala_events import ImpalaEvents
from extractors.spark import SparkEvents
from linker.purge import purge
from navlin.index.graph.sources import known_sources
from navlin.index.journal.holder import Holder
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import HIVE, IMPALA, SPARK, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.service.loader import load, load_extractors
from navlin.service.maintenance.forget import forget, to_forget
from navlin.service.settings.configuration import read_configuration
from tests.services.frozen import IN_ORDER, NOW_MS, FrozenEstate
from tests.support.pipeline_estate import SmallEstate

TABLE_FORMATS = Path(__file__).parents[1] / "table_formats"
BEFORE_FORGETTING_MS = 1_000_000_000_000
"""A time in September 2001. A purge up to then removes only entities that a test has given an earlier time."""
DAY_MS = 86_400_000


class NotLoaded(Exception):
    """Raised if a run failed, so that the index is incomplete."""


@dataclass
class Loader:
    """Loads inputs into one Solr. ``folder`` is a scratch directory whose name is in no document."""

    solr: Solr
    spark: Callable[[], SparkSession]
    folder: Path
    now_ms: int = NOW_MS
    pipeline: Pipeline = field(init=False)

    def __post_init__(self) -> None:
        self.pipeline = Pipeline(self.solr.address, self.spark, lambda: self.now_ms)

    def load_corpora(self, corpora: Path) -> None:
        """Load the event logs and lineage logs of other projects."""
        hive, impala, spark = self._sources("corpora", claimable_hive=False)
        estate = Estate("corpora", (hive, impala, spark))
        self._run("impala_events", ImpalaEvents(impala, estate, str(corpora / "impala")))
        self._run("spark_events", SparkEvents(spark, estate, str(corpora / "spark-event-logs")))
        self._run("hive_events", HiveEvents(hive, estate, str(corpora / "hive"), "*.log"))

    def load_table_formats(self) -> None:
        """Load the tests' event logs of Delta and Iceberg, each in a separate cluster."""
        for part in sorted(each.name for each in TABLE_FORMATS.iterdir()):
            logs = self.folder / part
            logs.mkdir()
            for log in (TABLE_FORMATS / part).glob("*.zst"):
                text = zstandard.ZstdDecompressor().decompress(log.read_bytes(), max_output_size=1 << 30)
                (logs / log.stem).write_bytes(text)
            sources = self._sources(part)
            self._run("spark_events", SparkEvents(sources[2], Estate(part, sources), str(logs)))
            shutil.rmtree(logs)

    def load_frozen(self, estate: FrozenEstate) -> None:
        """Load HDFS, metastore, YARN, Spark, Impala and Hive of the frozen estate, as configured. Each source is run
        twice.
        """
        file = self.folder / "navlin.toml"
        state = self.folder / "state"
        file.write_text(f'[navlin]\ncluster = "frozen"\nstate_directory = "{state}"\n{estate.sources()}')
        for _ in range(2):
            for name in IN_ORDER:
                configuration = read_configuration(file, load_extractors(), {})
                sources = load(configuration, known_sources(self.solr))
                loaded = next(source for source in sources.sources if source.name == name)
                more = True
                while more:
                    self.now_ms += 60_000
                    run = self.pipeline.run(loaded.settings.registration, loaded.extractor)
                    more = _check(name, run).more

    def load_scripted(self) -> None:
        """Load a scripted metastore and engine. Their entities change, disappear, come back, and are unlinked,
        rejected, held, renamed, forgotten and purged; users edit some of them.
        """
        estate = SmallEstate(self.solr, self.spark, self.folder, cluster="scripted")
        estate.now_ms = NOW_MS
        estate.pipeline = Pipeline(self.solr.address, self.spark, lambda: estate.now_ms)
        orders = {"columns": ["id", "amount", "day"], "location": "hdfs://nn/warehouse/orders", "rows": 5}
        plain = {f"many.t{number}": ["a", "b"] for number in range(12)}
        tables = {
            "sales.orders": {
                **orders,
                "attributes": {"name": "Orders", "tags": ["gold"], "up_steward": "eve"},
            },
            "sales.customers": ["id", "name"],
            "sales.daily": ["day", "amount"],
            "sales.gone": ["id"],
            "sales.old": {"columns": ["id"], "created_ms": 1_000},
            **plain,
        }
        estate.tables(tables)
        _check("listing", estate.pull())
        self._write_words(estate)
        estate.happen(
            "insert into daily select day, sum(amount) from orders",
            ["sales.orders"],
            ["sales.daily"],
            at_ms=NOW_MS + 10,
            parts=[["sales.orders.day", "sales.daily.day"], ["sales.orders.amount", "sales.daily.amount"]],
        )
        estate.happen("create temporary", ["sales.customers"], ["tmp.never_seen"], at_ms=NOW_MS + 20)
        estate.happen("use temporary", ["tmp.never_seen"], ["sales.daily"], at_ms=NOW_MS + 30)
        estate.happen("export", ["sales.daily"], ["hdfs://nn/export/daily"], at_ms=NOW_MS + 40)
        estate.happen("read old", ["hdfs://nn/warehouse/orders/part-0"], ["sales.old"], at_ms=NOW_MS + 50)
        estate.happen("select from gone", ["sales.gone"], [], at_ms=NOW_MS + 60)
        for day in range(3):
            at_ms = BEFORE_FORGETTING_MS - (10 + day) * DAY_MS
            estate.happen("select * from customers", ["sales.customers"], [], at_ms=at_ms, id=f"old {day}")
        estate.happen(
            "nightly", ["sales.customers"], ["sales.old"], at_ms=BEFORE_FORGETTING_MS - 9 * DAY_MS, id="first"
        )
        estate.happen("nightly", ["sales.customers"], ["sales.old"], at_ms=NOW_MS + 70, id="last")
        estate.line('{"text": "no JSON')
        _check("happenings", estate.follow())
        del tables["sales.gone"]
        tables["sales.old"] = {"columns": ["id", "added"], "created_ms": 2_000}
        tables["sales.patrons"] = {"columns": ["id", "name"], "was": "sales.customers"}
        del tables["sales.customers"]
        estate.tables(tables)
        _check("listing", estate.pull())
        estate.tables({"sales.orders": orders})
        if estate.pull().status is not Status.HELD:
            raise NotLoaded("the loss of nearly all tables was not held")
        self._forget(estate)
        self._purge()

    def _write_words(self, estate: SmallEstate) -> None:
        words = {
            "description": {"set": "who bought"},
            "tags": {"set": ["gold", "checked"]},
            "up_owner": {"set": "ann"},
        }
        self.solr.add(ELEMENTS, [{"identity": estate.key("sales.customers").identity, **words}])
        column = {"name": {"set": "Sum of the day"}, "cp_finance.class": {"set": ["public"]}}
        self.solr.add(ELEMENTS, [{"identity": estate.key("sales.daily.amount").identity, **column}])
        self.solr.commit(ELEMENTS, soft=False)

    def _forget(self, estate: SmallEstate) -> None:
        (known,) = (each for each in known_sources(self.solr) if each.id == estate.hive.id)
        forget(self.solr, to_forget(self.solr, known, "/MANY/T11"), lambda: estate.now_ms, configured=True)

    def _purge(self) -> None:
        me = Holder("host", 1, "1")
        report = purge(
            self.solr,
            BEFORE_FORGETTING_MS,
            holder=me,
            lives=lambda _: True,
            clock=lambda: NOW_MS + DAY_MS,
        )
        if not any(tally.removed for _, tally in report.rules):
            raise NotLoaded("the purge removed nothing")

    def _sources(self, cluster: str, *, claimable_hive: bool = True) -> tuple[Source, Source, Source]:
        hive, impala, spark = (
            Source(source_id(cluster, kind), kind, kind, cluster, claimable=claimable_hive or kind != HIVE)
            for kind in (HIVE, IMPALA, SPARK)
        )
        return hive, impala, spark

    def _run(self, name: str, extractor: HiveEvents | ImpalaEvents | SparkEvents) -> None:
        while _check(name, self.pipeline.run(EXTRACTORS[name], extractor)).more:
            pass


def _check(name: str, record: RunRecord) -> RunRecord:
    if record.status not in (Status.FINISHED, Status.IDLE) or record.failures:
        raise NotLoaded(f"{name}: {record}")
    return record
