"""Compiles navlin's Java programs into its wheel, so that an installation needs no JDK, and adds the manual's pages.

``make wheel`` has fetched the jars that they are compiled against. An editable installation, a checkout's, compiles each
program when it is first needed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAMS: Final = {
    "navlin/solr_server/SolrServer.java": "solr",
    "navlin/solr_server/IvyWithLogin.java": "",
    "navlin/demo/HadoopServices.java": "hadoop",
    "navlin/demo/MetastoreServer.java": "hive-metastore",
    "extractors/hdfs/HdfsClient.java": "",
    "navlin/kerberos/KerberosClient.java": "",
    "conf/sqoop/NavlinSqoopPublisher.java": "sqoop",
}
"""Each program, and the set of jars in ``.jars`` that it needs. Those but the first need PySpark's jars too."""
RELEASES: Final = {"conf/sqoop/NavlinSqoopPublisher.java": 8}
"""The oldest Java that loads a program, if that is not navlin's own. Sqoop runs this one."""


class CompiledJava(BuildHookInterface[Any]):
    """Adds ``Program.jar`` beside each ``Program.java`` of the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles the programs. Ends the build with a sentence if that cannot be, and if a source distribution is asked
        for, because no wheel could be made of it."""
        if self.target_name == "sdist":
            sys.exit(
                "navlin has no source distribution: its wheel is made of the jars and the manual of a checkout, by"
                " `make wheel`"
            )
        if version == "editable":
            return
        root = Path(self.root)
        sys.path.insert(0, self.root)
        from navlin.java import OLDEST_JAVA, NoJava, compile_program, find_java, pyspark_jars

        home = os.environ.get("JAVA_HOME")
        self._folder = TemporaryDirectory()
        try:
            for source, jar_set in PROGRAMS.items():
                jars = _jars(root, jar_set)
                if jar_set != "solr":
                    jars += sorted(pyspark_jars().glob("*.jar"))
                compiled = Path(self._folder.name) / Path(source).with_suffix(".jar").name
                java = find_java(Path(home) if home else None)
                compile_program(root / source, jars, compiled, java, RELEASES.get(source, OLDEST_JAVA))
                build_data["force_include"][str(compiled)] = _in_the_wheel(source)
            build_data["force_include"][str(_manual(root))] = "navlin/_manual"
        except (NoJava, FileNotFoundError) as error:
            sys.exit(
                f"navlin is not built: {error}. Its wheel is made in a checkout, with a JDK, by `make wheel`"
            )

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Removes what was compiled, once it is in the wheel."""
        if version != "editable" and self.target_name != "sdist":
            self._folder.cleanup()


def _manual(root: Path) -> Path:
    """Returns the folder of the manual's pages. Raises FileNotFoundError if they have not been built."""
    pages = root / "build" / "manual" / "html"
    if not (pages / "index.html").is_file():
        raise FileNotFoundError(f"the manual's pages are not in {pages}; `make docs` builds them")
    return pages


def _in_the_wheel(source: str) -> str:
    """Returns the path of the compiled program in the wheel, whose ``conf`` is a part of the package."""
    compiled = str(Path(source).with_suffix(".jar"))
    return f"navlin/_{compiled}" if compiled.startswith("conf/") else compiled


def _jars(root: Path, jar_set: str) -> list[Path]:
    if not jar_set:
        return []
    jars = sorted((root / ".jars" / jar_set).glob("*.jar"))
    if not jars:
        raise FileNotFoundError(
            f"the jars that its Java is compiled against are not in {root / '.jars' / jar_set}"
        )
    return jars
