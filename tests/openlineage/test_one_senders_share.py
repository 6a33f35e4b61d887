"""A sender cannot use up the resources of other senders: its stored input is limited, and the service survives any
input."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from extractors.openlineage.openlineage_events import OpenLineageEvents
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RUNS
from navlin.index.solr.solr import Solr
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from tests.support.openlineage import FIRST_MS, event, table

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; from tests.support.deadly_files import main; main(*sys.argv[1:7], int(sys.argv[7]))"


@pytest.mark.services
def test_many_long_start_events_neither_kill_spark_nor_affect_another_sender(
    solr: Solr, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    cluster = f"share-{uuid.uuid4().hex[:8]}"
    source = Source(source_id(cluster, "OL"), "SDK", "OL", cluster, claimable=False)
    extractor = OpenLineageEvents(source, Estate(cluster, (source,)), str(tmp_path))
    now_ms = FIRST_MS + 60_000
    pipeline = Pipeline(solr.address, spark, lambda: now_ms)

    def run(sender: str, *events: dict[str, Any]) -> int:
        nonlocal now_ms
        now_ms += 5_000
        with (tmp_path / f"events-20231114-1-1-{sender}.jsonl").open("a") as file:
            file.writelines(json.dumps(each) + "\n" for each in events)
        record = pipeline.run(EXTRACTORS["openlineage_events"], extractor)
        assert (record.status, record.failures) == (Status.FINISHED, ()), record.error
        return record.counts.rejects

    noise = random.Random(1)
    run("quiet", event("START", 0, inputs=[table("a.a")]))
    loud = [
        event("START", 1, f"r{n}", job_facets={"sql": {"query": "SELECT " + noise.randbytes(30_000).hex()}})
        for n in range(1_500)
    ]
    rejects = run("loud", *loud)
    positions = solr.cursor(
        RUNS, "*:*", "identity,body", filters=["kind:position", f"{{!term f=sourceId}}{source.id}"]
    )
    kept_bytes = sum(len(each["body"]) for each in positions)
    assert 4 << 20 < kept_bytes < 13 << 20
    # Runs are evicted only if the sender's share is nearly full.
    assert rejects == 0 or kept_bytes > 11 << 20
    run("quiet", event("COMPLETE", 9, outputs=[table("b.b")]))
    solr.commit(ELEMENTS, soft=True)
    (done,) = solr.select(
        ELEMENTS,
        {"q": "*:*", "fq": [f"{{!term f=sourceId}}{source.id}", "type:OPERATION", "outputs:*"], "rows": 9},
    )["response"]["docs"]
    assert "a.a" in str(done["inputs"])
    assert spark().range(3).count() == 3


@pytest.mark.services
def test_a_split_that_kills_spark_twice_is_set_aside_and_the_others_are_read(
    solr: Solr, tmp_path: Path
) -> None:
    folder, cluster = tmp_path / "files", f"deadly-{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    for name, text in (("a", "plain"), ("b", "deadly"), ("c", "plain")):
        (folder / name).write_text(text)
    address = solr.address
    finished = subprocess.run(
        [
            *(sys.executable, "-c", PROGRAM),
            *(
                address.url,
                address.user or "",
                address.password or "",
                str(folder),
                str(tmp_path / "state"),
                cluster,
                "4",
            ),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=1800,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    runs = [json.loads(line) for line in finished.stdout.splitlines()]
    assert [(each["status"], each["records"]) for each in runs] == [
        ("failed", 0),
        ("failed", 0),
        ("finished", 2),
        ("idle", 0),
    ]
    # The first failure does not reveal which of the three files caused it.
    assert f"ended while {folder}/a and 2 more was read" in runs[0]["error"]
    assert f"ended while {folder}/b was read" in runs[1]["error"]
    (reject,) = solr.select(RUNS, {"q": "*:*", "fq": ["kind:reject", f"{{!term f=place}}{folder}/b"]})[
        "response"
    ]["docs"]
    assert (
        reject["reason"]
        == "it is set aside for a day: reading it crashed Spark, or a process of Spark's, twice"
    )
