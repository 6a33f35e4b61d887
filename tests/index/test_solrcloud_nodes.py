"""A SolrCloud of two nodes, with two shards and two replicas each. A node dies in the middle of a write and returns
out of date, and nothing is lost or duplicated."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from navlin.index.admin.cores import CONFIGSET, CORES, create
from navlin.index.journal.runs import RunRecord, Status
from navlin.index.schema.fields import ELEMENTS, RELATIONS
from navlin.index.solr.solr import Solr, SolrError, SolrUnavailable
from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr
from tests.services.solrcloud import another_node, solr_cloud
from tests.support.killed_runs import GENERATION_MS, GENERATIONS, Played, differences, index_of, wipe
from tests.support.pipeline_estate import FIRST_MS, SmallEstate
from tests.support.solr_proxy import Call, SolrProxy

pytestmark = pytest.mark.services
THROUGH = (Status.FINISHED, Status.IDLE)
RECOVERS_S = 180.0


@dataclass(frozen=True)
class TwoNodes:
    """A SolrCloud of two nodes. ``first`` runs ZooKeeper; ``second`` may be killed."""

    solr: Solr
    first: EmbeddedSolr
    second: EmbeddedSolr

    def replicas(self, core: str) -> list[Mapping[str, Any]]:
        """Return all replicas of a collection, including their state."""
        status = self.solr.admin("collections", {"action": "CLUSTERSTATUS", "collection": core})
        (collection,) = status["cluster"]["collections"].values()
        return [each for shard in collection["shards"].values() for each in shard["replicas"].values()]

    def wait_until_all_are_active(self, cores: Sequence[str] = CORES) -> None:
        """Wait until all replicas are active. A replica that returns first gets the updates that it missed."""
        deadline_s = time.monotonic() + RECOVERS_S
        while any(each["state"] != "active" for core in cores for each in self.replicas(core)):
            assert time.monotonic() < deadline_s, [self.replicas(core) for core in cores]
            time.sleep(0.2)

    @contextmanager
    def collection_that_second_leads(self, name: str) -> Iterator[None]:
        """Create a collection of one shard with a replica on each node. The second node leads, so the first node
        forwards all updates."""
        here, there = (urlsplit(each.address.url).netloc + "_solr" for each in (self.first, self.second))
        layout = {"numShards": "1", "replicationFactor": "1", "createNodeSet": there}
        self._collections("CREATE", {"name": name, "collection.configName": CONFIGSET, **layout})
        self._collections("ADDREPLICA", {"collection": name, "shard": "shard1", "node": here})
        self.wait_until_all_are_active([name])
        assert {each["node_name"]: each.get("leader") for each in self.replicas(name)} == {
            here: None,
            there: "true",
        }
        yield
        self._collections("DELETE", {"name": name})

    def _collections(self, action: str, params: Mapping[str, str]) -> None:
        assert "failure" not in self.solr.admin("collections", {"action": action, **params})

    def kill_second(self) -> None:
        os.kill(self.second.pid or 0, signal.SIGKILL)
        while self.second.alive:
            time.sleep(0.01)

    def identities(self, core: str, replica: Mapping[str, Any]) -> dict[str, int]:
        """Map identity to version for the documents of one replica alone."""
        url = f"{replica['base_url']}/{replica['core']}/select"
        params = {"q": "*:*", "fl": "identity,_version_", "rows": "100000", "distrib": "false"}
        found = self.solr.session.get(url, params=params).json()["response"]["docs"]
        return {document["identity"]: document["_version_"] for document in found}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory, solr_jars: Path) -> Iterator[TwoNodes]:
    folder = tmp_path_factory.mktemp("two-nodes")
    with (
        solr_cloud(folder / "1", solr_jars) as first,
        another_node(first, folder / "2", solr_jars) as second,
        Solr(first.address) as solr,
    ):
        assert create(solr, CONF / "solr", shards=2, replicas=2) == CORES
        nodes = TwoNodes(solr, first, second)
        nodes.wait_until_all_are_active()
        for core in CORES:
            assert len(nodes.replicas(core)) == 4
        yield nodes


KILLED_IN_RUN = {2: ELEMENTS, 7: RELATIONS, 10: ELEMENTS}
"""Run number → the core whose write triggers killing the second node."""


def test_a_node_that_dies_mid_write_and_returns_loses_and_duplicates_nothing(
    nodes: TwoNodes, spark: Callable[[], SparkSession], tmp_path: Path
) -> None:
    undisturbed = SmallEstate(nodes.solr, spark, tmp_path)
    Played(undisturbed).play()
    expected = index_of(undisturbed)
    wipe(undisturbed)

    came_to: list[tuple[int, Status]] = []
    with SolrProxy(nodes.solr.address) as proxy, Solr(proxy.address) as through_the_proxy:
        estate = SmallEstate(through_the_proxy, spark, tmp_path, cluster=undisturbed.cluster)
        played = Played(estate)
        for number in range(2 * len(GENERATIONS)):
            played.lay(number // 2)
            estate.now_ms = FIRST_MS + (number // 2 + 1) * GENERATION_MS
            run = (estate.pull, estate.follow)[number % 2]
            if number in KILLED_IN_RUN:
                proxy.passes = _kills_at(nodes, KILLED_IN_RUN[number])
                came_to.append((number, run().status))
                proxy.passes = lambda call: True
                assert not nodes.second.alive
            record = _repeated(run)
            assert record.status in THROUGH, (number, record)
            if number - 1 in KILLED_IN_RUN:
                # The node has missed the rest of one run and the whole next run.
                nodes.second.start()
                nodes.wait_until_all_are_active()
        unlike = differences(expected, index_of(estate))
    assert [number for number, _ in came_to] == list(KILLED_IN_RUN)
    assert unlike == []

    for core in CORES:
        nodes.solr.commit(core, soft=False)
        by_shard: dict[str, list[dict[str, int]]] = {}
        for replica in nodes.replicas(core):
            by_shard.setdefault(replica["core"].split("_shard")[1][0], []).append(
                nodes.identities(core, replica)
            )
        assert {len(copies) for copies in by_shard.values()} == {2}
        for one, other in by_shard.values():
            assert one == other


BATCHES = tuple(tuple(f"{number}-{each}" for each in range(100)) for number in range(300))
KILLED_AFTER = 1_000


def while_second_dies(nodes: TwoNodes, write: Callable[[Sequence[str]], Iterable[str]]) -> list[str]:
    """Write batches of ids until a batch has been refused and a later one accepted. Return the acknowledged ids."""
    acknowledged: list[str] = []
    refused = False
    # The node is killed from a thread, so that a batch is being written.
    dies = threading.Thread(target=nodes.kill_second)
    for batch in BATCHES:
        if len(acknowledged) >= KILLED_AFTER and dies.ident is None:
            dies.start()
        try:
            acknowledged += write(batch)
        except (SolrUnavailable, SolrError):
            refused = True
            # Retry every 0.3 s until the first node is the leader.
            time.sleep(0.3)
            continue
        if refused:
            break
    dies.join()
    assert refused
    return acknowledged


@pytest.mark.parametrize(
    ("name", "version"), [("unversioned", {}), ("absent", {"_version_": -1}), ("present", {"_version_": 1})]
)
def test_writes_acknowledged_while_a_leader_dies_are_kept(
    nodes: TwoNodes, name: str, version: dict[str, int]
) -> None:
    with nodes.collection_that_second_leads(name):
        if name == "present":
            for batch in BATCHES:
                nodes.solr.add(name, [_entity(identity, 0) for identity in batch])

        def write(ids: Sequence[str]) -> Iterable[str]:
            return nodes.solr.add(name, [{**_entity(identity, 1), **version} for identity in ids]).applied

        acknowledged = while_second_dies(nodes, write)
        found = nodes.solr.get(name, acknowledged, "identity,asOf")
        there = {each["identity"] for each in found if each["asOf"] == 1}
        assert set(acknowledged) - there == set()
        nodes.second.start()
        nodes.wait_until_all_are_active([*CORES, name])


def test_deletions_acknowledged_while_a_leader_dies_are_kept(nodes: TwoNodes) -> None:
    with nodes.collection_that_second_leads("deleted"):
        versions: dict[str, int] = {}
        for batch in BATCHES:
            nodes.solr.add("deleted", [_entity(identity, 0) for identity in batch])
            found = nodes.solr.get("deleted", batch, "identity,_version_")
            versions |= {each["identity"]: each["_version_"] for each in found}

        def write(ids: Sequence[str]) -> Iterable[str]:
            stayed = nodes.solr.delete_versions("deleted", {each: versions[each] for each in ids})
            return set(ids) - set(stayed)

        acknowledged = while_second_dies(nodes, write)
        assert nodes.solr.get("deleted", acknowledged, "identity") == []
        nodes.second.start()
        nodes.wait_until_all_are_active([*CORES, "deleted"])


def _entity(identity: str, as_of: int) -> dict[str, Any]:
    return {"identity": identity, "type": "TABLE", "originalName": "orders", "asOf": as_of}


def _repeated(run: Callable[[], RunRecord]) -> RunRecord:
    """Repeat a run as the daemon does, because runs may fail until Solr has elected new leaders."""
    deadline_s = time.monotonic() + RECOVERS_S
    record = run()
    while record.status not in THROUGH and time.monotonic() < deadline_s:
        time.sleep(1)
        record = run()
    return record


def _kills_at(nodes: TwoNodes, core: str) -> Callable[[Call], bool]:
    killed = [False]

    def passes(call: Call) -> bool:
        if not killed[0] and call.core == core and call.documents and not call.answered:
            killed[0] = True
            nodes.kill_second()
        return True

    return passes
