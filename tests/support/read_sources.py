"""The sources of a configuration, read again and again as `navlin serve` reads them, and the index that they make."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from navlin.index.graph.sources import known_sources
from navlin.index.journal.runs import Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr
from navlin.pipeline.run import Pipeline
from navlin.service.loader import load, load_extractors
from navlin.service.settings.configuration import read_configuration
from tests.support.pipeline_estate import unstamped

PAUSE_S = 0.5
Index = dict[tuple[str, str], dict[str, Any]]


class ReadSources(threading.Thread):
    """Runs the sources of a configuration in turns until `finish`."""

    def __init__(self, file: Path, solr: Solr, spark: Callable[[], SparkSession]) -> None:
        super().__init__(name="reading")
        self.file, self.solr = file, solr
        self.pipeline = Pipeline(solr.address, spark, lambda: time.time_ns() // 1_000_000)
        self.rounds, self.failed = 0, list[str]()
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(PAUSE_S) and not self.failed:
            self._round()

    def finish(self) -> Index:
        """Read what is left. Return the index: (core, identity) → document, without navlin's own stamps."""
        self.end()
        while self._round():
            pass
        assert not self.failed
        return {
            (core, each["identity"]): unstamped(each)
            for core in (ELEMENTS, RELATIONS)
            for each in self.solr.cursor(core, "*:*", "*")
        }

    def end(self) -> None:
        self._ended.set()
        if self.ident is not None:
            self.join()

    def _round(self) -> bool:
        """Run each source once. Return whether one had something new, and none failed."""
        configured = load(read_configuration(self.file, load_extractors(), {}), known_sources(self.solr))
        new = False
        for each in configured.sources:
            record = self.pipeline.run(each.settings.registration, each.extractor)
            if record.status not in (Status.FINISHED, Status.IDLE) or record.failures:
                self.failed.append(str(record))
            new |= record.status is not Status.IDLE
        for core in (ELEMENTS, RELATIONS):
            self.solr.commit(core, soft=True)
        self.rounds += 1
        return new and not self.failed
