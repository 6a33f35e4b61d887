"""The launcher of the embedded Solr, a Java program, and the command that starts it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from navlin.java import JavaProgram, NoCompiler, NoJava

SOURCE: Final = Path(__file__).with_name("SolrServer.java")


class NoSolr(Exception):
    """The embedded Solr does not run; the text gives the reason and a remedy."""


class StateInUse(NoSolr):
    """Another navlin runs its Solr on the state directory."""


class Launcher:
    """The launcher for one set of jars. It is compiled again when the source, the jars or Java change."""

    def __init__(self, jars: Path, cache: Path, java_home: Path | None) -> None:
        self._jars = jars
        self._cache = cache
        self._java_home = java_home

    def command(self, options: Sequence[str], arguments: Sequence[str]) -> list[str]:
        """Return the whole command line. When Solr first ends normally, it writes an archive of the loaded classes,
        with which later starts take about half as long. Raises `NoSolr`."""
        with _no_solr():
            return self._program().command(options, arguments, archive_classes=True)

    def archive(self) -> Path:
        """Return the path of the class archive, which may not exist. Raises `NoSolr`."""
        with _no_solr():
            return self._program().archive()

    def _program(self) -> JavaProgram:
        return JavaProgram(SOURCE, self._jar_files(), self._cache, self._java_home)

    def _jar_files(self) -> list[Path]:
        jars = sorted(self._jars.glob("*.jar"))
        if not any(jar.name.startswith("solr-core-") for jar in jars):
            raise NoSolr(f"there are no jars of Solr in {self._jars}: fetch them with `navlin index create`")
        return jars


@contextmanager
def _no_solr() -> Iterator[None]:
    try:
        yield
    except NoCompiler as error:
        raise NoSolr(f"{error}, or use an external Solr") from error
    except NoJava as error:
        raise NoSolr(str(error)) from error
