"""Java, and the launcher compiled for it: the command that starts the embedded Solr."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from zipfile import ZipFile

SOURCE: Final = Path(__file__).with_name("SolrServer.java")
MAIN_CLASS: Final = "SolrServer"
OLDEST_JAVA: Final = 17


class NoSolr(Exception):
    """The embedded Solr does not run; the text says why and what to do."""


class Launcher:
    """The launcher for one set of jars; compiled once for each state of its source, of the jars and of Java."""

    def __init__(self, jars: Path, cache: Path, java_home: Path | None) -> None:
        self._jars = jars
        self._cache = cache
        self._java = str(java_home / "bin" / "java") if java_home else shutil.which("java") or "java"

    def command(
        self, options: Sequence[str], arguments: Sequence[str], *, archive_classes: bool
    ) -> list[str]:
        """The whole command line. The first orderly end leaves an archive of the loaded classes behind, with which
        all later starts take about half as long."""
        jars = self._jar_files()
        launcher = self._compiled(jars)
        sharing: list[str] = []
        if archive_classes:
            archive = launcher.with_suffix(".jsa")
            flag = "SharedArchiveFile" if archive.exists() else "ArchiveClassesAtExit"
            # An archive that does not fit is passed over in silence: it is only about speed.
            sharing = [f"-XX:{flag}={archive}", "-Xshare:auto", "-Xlog:disable"]
        # Named one by one, in order: an archive is for exactly one class path.
        path = os.pathsep.join(map(str, (launcher, *jars)))
        return [self._java, *sharing, *options, "-cp", path, MAIN_CLASS, *arguments]

    def _jar_files(self) -> list[Path]:
        jars = sorted(self._jars.glob("*.jar"))
        if not any(jar.name.startswith("solr-core-") for jar in jars):
            raise NoSolr(f"there are no jars of Solr in {self._jars}: fetch them with `make jars`")
        return jars

    def _compiled(self, jars: Sequence[Path]) -> Path:
        known = hashlib.sha256(SOURCE.read_bytes() + self._identity_of_java())
        for jar in jars:
            known.update(f"{jar}:{jar.stat().st_size}\n".encode())
        compiled = self._cache / f"launcher-{known.hexdigest()[:16]}.jar"
        if not compiled.exists():
            self._cache.mkdir(parents=True, exist_ok=True)
            with TemporaryDirectory(dir=self._cache) as folder:
                self._compile(jars, Path(folder))
                # As a jar, because the archive of loaded classes knows no folders.
                finished = Path(folder) / "finished"
                with ZipFile(finished, "w") as archive:
                    for file in sorted(Path(folder).glob("*.class")):
                        archive.write(file, file.name)
                finished.replace(compiled)
        return compiled

    def _identity_of_java(self) -> bytes:
        # An archive of classes is of use to the very Java that wrote it.
        try:
            program = Path(self._java).resolve(strict=True)
        except OSError as error:
            raise NoSolr(
                f"there is no {self._java}: install a JDK of version {OLDEST_JAVA} or newer"
            ) from error
        return f"{program}:{program.stat().st_mtime_ns}\n".encode()

    def _compile(self, jars: Sequence[Path], folder: Path) -> None:
        # The compiler is a module of the JDK: it needs no javac on the path, only that this Java is no bare JRE.
        compiler = [self._java, "-m", "jdk.compiler/com.sun.tools.javac.Main", "--release", str(OLDEST_JAVA)]
        path = os.pathsep.join(map(str, jars))
        command = [*compiler, "-nowarn", "-d", str(folder), "-cp", path, str(SOURCE)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError as error:
            raise NoSolr(
                f"there is no {self._java}: install a JDK of version {OLDEST_JAVA} or newer"
            ) from error
        if done.returncode != 0:
            said = (done.stderr + done.stdout).strip()
            if "Module jdk.compiler not found" in said:
                raise NoSolr(
                    f"{self._java} has no compiler (it is a JRE): install a JDK of version {OLDEST_JAVA} or newer,"
                    " or use an external Solr"
                )
            raise NoSolr(f"Solr's launcher could not be compiled with {self._java}: {said}")
