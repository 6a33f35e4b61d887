"""A nameservice with two NameNodes: after a failover, following continues on the other NameNode without a gap."""

from __future__ import annotations

from pathlib import Path

import pytest

from extractors.hdfs import Hdfs
from extractors.hdfs.client import HdfsAddress, HdfsClient
from navlin.model.source import HDFS, Estate, Source, source_id
from tests.services.hadoop import Hadoop
from tests.services.hdfs import Writer
from tests.support.hdfs_runs import Follower

SOURCE = Source(source_id("cluster", "HDFS"), HDFS, "HDFS", "cluster", ("hdfs://ns1",))


@pytest.mark.services
def test_a_failover_between_two_runs_loses_no_event(tmp_path: Path, hadoop_jars: Path) -> None:
    cache = hadoop_jars.parent / "hadoop-launcher"
    with Hadoop(tmp_path / "pair", hadoop_jars, cache=cache, ha=True) as pair, Writer(pair, cache) as writer:
        by_directory = HdfsAddress(
            pair.url, configuration_directory=str(pair.configuration_directory), cache=str(cache)
        )
        client = HdfsClient(by_directory)
        # The client finds the NameNodes through the configuration directory, the follower through its settings.
        estate = Estate("cluster", (SOURCE,), spool=str(tmp_path / "spool"))
        follower = Follower(Hdfs(SOURCE, estate, pair.url, namenodes=pair.namenodes, http=pair.http))
        writer.create("/f", b"1")
        assert "it is the first" in follower.run().plan.note
        follower.run()
        position = client.transaction()

        pair.kill(0)
        pair.activate(1)
        writer.append("/f", b"2")
        events = client.events(position)
        assert [event.kind for event in events] == ["APPEND", "CLOSE"]
        assert b"".join(client.read("/f")) == b"12"
        run = follower.run()
        assert (run.plan.note, run.rows["/f"]["size"]) == ("", 2)

        pair.restart(0)
        assert client.fetch_image(tmp_path).name.startswith("fsimage_"), "the standby's, or the active's"
        pair.activate(0)
        writer.delete("/f")
        assert [event.kind for event in client.events(events.through)] == ["UNLINK"]
        run = follower.run()
        assert run.plan.note == "" and run.is_gone("/f")
        client.stop()
