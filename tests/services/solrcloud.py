"""A Solr in SolrCloud mode with its own ZooKeeper, for estates that have outgrown the embedded Solr."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, EmbeddedSolrOptions
from navlin.solr_server.home import PASSWORD_FILE

ZOO_CFG = "tickTime=2000\ninitLimit=10\nsyncLimit=5\n"
ZOOKEEPER_PORT = 1_000
"""Distance of the ZooKeeper's port from Solr's port. Both are in the same process."""


@contextmanager
def solr_cloud(state: Path, jars: Path) -> Iterator[EmbeddedSolr]:
    """Run one node of a SolrCloud without collections, password-protected like the embedded Solr."""
    home = state / "solr"
    home.mkdir(parents=True)
    (home / "zoo.cfg").write_text(ZOO_CFG)
    with _node(state, jars, "-DzkRun") as server:
        yield server


@contextmanager
def another_node(first: EmbeddedSolr, state: Path, jars: Path) -> Iterator[EmbeddedSolr]:
    """Run another node of the same SolrCloud, without a ZooKeeper, so that the node may be killed. All nodes have
    the same password."""
    home = state / "solr"
    home.mkdir(parents=True)
    for name in (PASSWORD_FILE, "security.json"):
        shutil.copy2(first.home / name, home / name)
    port = urlsplit(first.address.url).port or 0
    with _node(state, jars, f"-DzkHost=127.0.0.1:{port + ZOOKEEPER_PORT}") as server:
        yield server


def _node(state: Path, jars: Path, mode: str) -> EmbeddedSolr:
    # On a busy machine a ZooKeeper that starts may need more than the 15 s that Solr waits for it.
    patience = "-DzkConnectTimeout=120000"
    java_options = (mode, patience, "-Dzookeeper.admin.enableServer=false")
    settings = EmbeddedSolrOptions(java_options=java_options, memory="768m")
    cache = jars.parent / "solr-launcher"
    return EmbeddedSolr(state, jars, CONF / "solr", settings=settings, cores=(), cache=cache)
