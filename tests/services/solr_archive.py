"""Creates an archive of the classes that Solr loads, so that every later start takes about half as long.

Solr writes the archive when it first ends normally, which takes at least ten seconds of CPU time. This program
(``python -m tests.services.solr_archive JARS CACHE``) has Solr write the archive when a checkout is set up.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

# `make` runs this module every time, so the other modules are imported only if there is something to do.
from navlin.solr_server.launcher import Launcher

WRITE_S: Final = 900.0
"""Maximum time for Solr to write the archive on a busy machine, in seconds."""


def make_archive(jars: Path, cache: Path) -> Path:
    """Create the class archive for the installed Java and the Solr jars in ``cache`` unless it exists, and return its
    path. Raises `NoSolr`."""
    archive = Launcher(jars, cache, None).archive()
    if archive.exists():
        return archive
    from navlin.index.admin.cores import CORES
    from navlin.index.schema.fields import ELEMENTS
    from navlin.index.solr.solr import Solr
    from navlin.shipped import CONF
    from navlin.solr_server.embedded import EmbeddedSolr

    with TemporaryDirectory() as folder:
        server = EmbeddedSolr(Path(folder), jars, CONF / "solr", cores=CORES, cache=cache)
        try:
            with Solr(server.start()) as solr:
                solr.add_all(ELEMENTS, [{"identity": "1", "originalName": "orders", "type": "TABLE"}])
                solr.commit(ELEMENTS, soft=False)
                solr.select(
                    ELEMENTS, {"q": "orders", "sort": "identity asc", "facet": "true", "facet.field": "type"}
                )
        finally:
            server.stop(wait_s=WRITE_S)
    return archive


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the archive of Solr's classes.")
    parser.add_argument("jars", type=Path, help="the directory of Solr's jars")
    parser.add_argument("cache", type=Path, help="where the launcher and its archive are kept")
    given = parser.parse_args()
    make_archive(given.jars.absolute(), given.cache.absolute())


if __name__ == "__main__":
    main()
