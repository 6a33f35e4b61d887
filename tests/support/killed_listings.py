"""A bucket that is listed by processes that are killed and restarted.

Run as a program (``python -m tests.support.killed_listings``), this module is one of these processes. It prints each step on
a line, and begins it when it gets a line on stdin.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import orjson

from extractors.s3 import S3
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS, RUNS
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import S3 as S3_TYPE
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.pipeline.session import start_session
from tests.services.versitygw import REGION
from tests.support.killed_runs import Life
from tests.support.pipeline_estate import unstamped
from tests.support.s3_rounds import BUCKET, settings_of_credentials

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS: Final = ("plan", "read", "reconcile and write", "link", "save")
RANGES: Final = 4
_SETTINGS: Final = "listing.json"
_PROGRAM: Final = "tests.support.killed_listings"


class Listings:
    """A bucket in an index. ``folder`` has the settings for all processes; ``lists`` writes them."""

    def __init__(self, solr: Solr, spark: Callable[[], SparkSession], folder: Path, cluster: str) -> None:
        settings = json.loads((folder / _SETTINGS).read_text())
        self.solr, self._spark = solr, spark
        self.source = Source(source_id(cluster, "S3"), S3_TYPE, "S3", cluster, (f"s3://{BUCKET}",))
        estate = Estate(cluster, (self.source,))
        self._extractor = S3(
            self.source,
            estate,
            BUCKET,
            region=REGION,
            entries="all",
            **settings,
            **settings_of_credentials(folder),
        )

    @staticmethod
    def prepare(folder: Path, url: str, objects: int) -> None:
        """Store the address of a server and the size of a range, so that four ranges have all objects."""
        settings = {"endpoint": url, "objects_in_split": objects // RANGES}
        (folder / _SETTINGS).write_text(json.dumps(settings))

    def list(self, step: Callable[[str], None] = lambda step: None) -> None:
        """List the bucket once, to its end."""
        pipeline = Pipeline(self.solr.address, self._spark, lambda: time.time_ns() // 1_000_000)
        record = pipeline.run(EXTRACTORS["s3"], self._extractor, complete=True, step=step)
        if (record.status, record.failures) != (Status.FINISHED, ()):
            raise AssertionError(str(record))

    @property
    def ranges(self) -> int:
        """Number of ranges that the last listing had."""
        of_source = f"+kind:position +sourceId:{self.source.id}"
        found = self.solr.cursor(RUNS, of_source, "key")
        return sum(str(each["key"]).startswith("objects after") for each in found)

    def contents(self) -> dict[bytes, str]:
        """Return digest → path of every document of the bucket. The digest leaves out ids and the times of the listings."""
        found = {}
        for core in (ELEMENTS, RELATIONS):
            self.solr.commit(core, soft=True)
            for document in self.solr.cursor(core, f"+writer:{self.source.id} -type:SOURCE", "*"):
                fields = {
                    name: value for name, value in unstamped(document).items() if not _of_one_listing(name)
                }
                digest = hashlib.blake2b(
                    orjson.dumps(fields, option=orjson.OPT_SORT_KEYS), digest_size=16
                ).digest()
                found[digest] = str(fields.get("fileSystemPath") or fields.get("endpoint2Name"))
        return found


def _of_one_listing(name: str) -> bool:
    return name in (
        "identity",
        "sourceId",
        "writer",
        "asOf",
        "firstSeen",
        "firstClassParentId",
        "claimedIds",
    ) or (name.startswith("endpoint") and name.endswith(("Ids", "SourceId")))


def list_with_kills(
    solr: Solr, folder: Path, cluster: str, first: int, delays_s: Sequence[tuple[str, float]]
) -> int:
    """List a bucket by processes. Each is killed some seconds after the start of a step, and the last one is not
    killed. ``first`` is the number of the first process. Return the number after the last one.
    """
    for number, (step, delay_s) in enumerate((*delays_s, ("", 0.0)), first):
        life = Life(folder, number, _PROGRAM)
        try:
            life.begin(solr.address, cluster)
            while (said := life.next_step()) not in ("", "through"):
                if said == step:
                    if delay_s:
                        life.go_on()
                        time.sleep(delay_s)
                    break
                life.go_on()
            if said != (step or "through"):
                raise AssertionError(f"process {number} came to {said!r}, not to {step!r}")
        finally:
            life.close()
    return first + len(delays_s) + 1


def main() -> None:
    spark = start_session(Path(sys.argv[1]))
    orders = json.loads(sys.stdin.readline())

    def step(begun: str) -> None:
        sys.stdout.write(f"{begun}\n")
        sys.stdout.flush()
        sys.stdin.readline()

    with Solr(SolrAddress(**orders["address"])) as solr:
        listings = Listings(solr, lambda: spark, Path(orders["folder"]), orders["cluster"])
        listings.list(step)
        solr.commit(RUNS, soft=True)
    sys.stdout.write("through\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
