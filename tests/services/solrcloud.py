"""A Solr in SolrCloud mode, with its own ZooKeeper: what an estate has that outgrew the embedded Solr."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from navlin.shipped import CONF
from navlin.solr_server.embedded import EmbeddedSolr, SolrSettings

ZOO_CFG = "tickTime=2000\ninitLimit=10\nsyncLimit=5\n"


@contextmanager
def solr_cloud(state: Path, jars: Path) -> Iterator[EmbeddedSolr]:
    """One node of a SolrCloud without collections, password-protected like the embedded Solr."""
    home = state / "solr"
    home.mkdir(parents=True)
    (home / "zoo.cfg").write_text(ZOO_CFG)
    settings = SolrSettings(java_options=("-DzkRun",), memory="768m")
    with EmbeddedSolr(
        state, jars, CONF / "solr", settings=settings, cores=(), cache=jars.parent / "solr-launcher"
    ) as server:
        yield server
