"""An HDFS that is followed through the pipeline into the session's index, and compared with a fresh image.

Run as a program (``python -m tests.support.hdfs_estate``), this module is a process to be killed. It follows once and
prints each step.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from extractors.hdfs import Hdfs
from extractors.hdfs.image.contents import SUMS
from navlin.index.graph.presentation import with_end_names
from navlin.index.journal.runs import RunRecord
from navlin.index.schema.fields import ELEMENTS, RELATIONS, STAMPS
from navlin.index.solr.solr import Solr, SolrAddress
from navlin.model.extractor import EXTRACTORS
from navlin.model.source import HDFS, Estate, Source, source_id
from navlin.pipeline.run import Pipeline
from navlin.pipeline.session import start_session
from tests.support.killed_runs import REPOSITORY, session_of

FIRST_MS = 1_800_000_000_000
MINUTE_MS = 60_000
Documents = dict[tuple[str, str], dict[str, Any]]

_OF_A_SOURCE = {"identity", "digest", "writer", "sourceId", "asOf", "endpoint1SourceId", "endpoint2SourceId"}
_OF_A_SOURCE |= {"endpoint1Ids", "endpoint2Ids", "_version_"}
_OF_IMAGES = frozenset(SUMS)
"""Fields that events do not contain. They keep the values of the last image until the next one."""


@dataclass
class HdfsEstate:
    """An HDFS source. ``settings`` are the settings of its extractor. `follow` runs the source; `fresh` reads an image
    into a new source.
    """

    solr: Solr
    spark: Callable[[], SparkSession]
    spool: Path
    settings: Mapping[str, Any]
    cluster: str = ""
    now_ms: int = FIRST_MS

    def __post_init__(self) -> None:
        self.cluster = self.cluster or f"cluster-{uuid.uuid4().hex[:8]}"
        self._ticks = itertools.count(1)
        self.pipeline = Pipeline(self.solr.address, self.spark, lambda: self.now_ms + next(self._ticks))

    def extractor(self, name: str = "HDFS", **more: Any) -> Hdfs:
        source = Source(source_id(self.cluster, name), HDFS, name, self.cluster)
        return Hdfs(
            source, Estate(self.cluster, (source,), spool=str(self.spool)), **{**self.settings, **more}
        )

    def follow(self, **options: Any) -> RunRecord:
        """Run the source once, a minute after the previous run."""
        self.now_ms += MINUTE_MS
        return self.pipeline.run(EXTRACTORS["hdfs"], self.extractor(), **options)

    def fresh(self) -> Documents:
        """Read the newest image with a new source, return its documents, and remove them from the index."""
        name = f"fresh-{uuid.uuid4().hex[:8]}"
        extractor = self.extractor(name, events=False)
        record = self.pipeline.run(EXTRACTORS["hdfs"], extractor)
        if record.status != "finished" or record.failures:
            raise AssertionError(record)
        documents = self.documents(extractor.source.id)
        for core in (ELEMENTS, RELATIONS):
            owner = "sourceId" if core == ELEMENTS else "writer"
            ids = [
                d["identity"] for d in self.solr.cursor(core, f"{owner}:{extractor.source.id}", "identity")
            ]
            self.solr.delete_ids(core, ids)
        return documents

    def documents(self, writer: str = "") -> Documents:
        """Map (core, path) to each live document. Left out are stamps, identities, and fields that are refreshed only
        when another field changes.
        """
        found: Documents = {}
        writer = writer or self.extractor().source.id
        for core in (ELEMENTS, RELATIONS):
            field = "sourceId" if core == ELEMENTS else "writer"
            every = list(self.solr.cursor(core, f"{field}:{writer}", "*"))
            for document in with_end_names(self.solr, every) if core == RELATIONS else every:
                if document["deleted"] or document["type"] == "SOURCE":
                    continue
                left_out = STAMPS | _OF_A_SOURCE | _OF_IMAGES | {"lastAccessed"}
                if document.get("tp_underConstruction"):
                    left_out = left_out | {"size"}
                path = (
                    document.get("fileSystemPath")
                    or f"{document['endpoint1Name']} > {document['endpoint2Name']}"
                )
                found[core, path] = {name: value for name, value in document.items() if name not in left_out}
        live = {path for core, path in found if core == ELEMENTS}
        # Leave out relations from a directory to a deleted file, which remain in the index.
        return {
            (core, path): document
            for (core, path), document in found.items()
            if core == ELEMENTS or document["endpoint2Name"] in live
        }


def differences(followed: Documents, fresh: Documents) -> list[str]:
    """Return the differences between two indexes, one line per document."""
    lines = []
    for key in sorted(followed.keys() | fresh.keys()):
        one, other = followed.get(key), fresh.get(key)
        if one is None or other is None:
            lines.append(f"{' '.join(key)}: only {'the image' if one is None else 'the index'} has it")
        elif one != other:
            names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
            unlike = ", ".join(f"{name} {one.get(name)!r}, not {other.get(name)!r}" for name in names)
            lines.append(f"{' '.join(key)}: {unlike}")
    return lines


# -- A process that is killed ------------------------------------------------------------------------------------------


class Killed:
    """A process that follows once. It starts Spark immediately, and waits for `follow_until` before it follows."""

    def __init__(self, estate: HdfsEstate, scratch: Path) -> None:
        self._estate = estate
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.hdfs_estate", str(scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=REPOSITORY,
            text=True,
            start_new_session=True,
        )

    def follow_until(self, step: str) -> list[str]:
        """Let the process run until it reports the beginning of ``step``, then kill it. Return the steps reported."""
        estate = self._estate
        reported = {
            "address": asdict(estate.solr.address),
            "spool": str(estate.spool),
            "settings": dict(estate.settings),
            "cluster": estate.cluster,
            "now_ms": estate.now_ms + MINUTE_MS,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(reported) + "\n")
        self._process.stdin.flush()
        answer: list[str] = []
        for line in self._process.stdout:
            answer.append(line.strip())
            if answer[-1] == step:
                break
        self.kill()
        return answer

    def kill(self) -> None:
        """Send SIGKILL to all processes of the session. Does nothing if they have ended."""
        for pid in session_of(self._process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()


def main() -> None:
    spark = start_session(Path(sys.argv[1]))
    orders = sys.stdin.readline()
    if not orders:
        return
    reported = json.loads(orders)

    def say(step: str) -> None:
        sys.stdout.write(step + "\n")
        sys.stdout.flush()

    with Solr(SolrAddress(**reported["address"])) as solr:
        settings = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in reported["settings"].items()
        }
        estate = HdfsEstate(
            solr, lambda: spark, Path(reported["spool"]), settings, reported["cluster"], reported["now_ms"]
        )
        record = estate.follow(step=say)
    say(f"through: {record.status}")


if __name__ == "__main__":
    main()
