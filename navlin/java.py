"""Java programs that consist of one source file. A wheel contains them compiled; a checkout compiles each once and
caches the result."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Final
from zipfile import ZipFile, ZipInfo

OLDEST_JAVA: Final = 17
RECORD_S: Final = 600
"""Time after which another process may write a class archive that the first process has not finished."""
QUICK: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData")
"""Options for a JVM that runs only for minutes. Without the optimizing compiler, starting takes half the work. Without
performance data, a killed JVM leaves no file in the system's temporary directory."""


class NoJava(Exception):
    """No Java can compile and run the program; the message gives a remedy."""


class NoCompiler(NoJava):
    """The Java found is a JRE, which has no compiler."""


def find_java(java_home: Path | None = None) -> str:
    """Return the path of ``java`` in ``java_home``, or else on the PATH. The program may not exist."""
    return str(java_home / "bin" / "java") if java_home else shutil.which("java") or "java"


def identity_of_java(java: str) -> bytes:
    """Return a text that identifies a Java installation, because a class archive works only with the Java that wrote
    it. Raises `NoJava`."""
    try:
        program = Path(java).resolve(strict=True)
    except OSError as error:
        raise _no_java(java) from error
    return f"{program}:{program.stat().st_mtime_ns}\n".encode()


def _no_java(java: str) -> NoJava:
    return NoJava(f"there is no {java}: install Java {OLDEST_JAVA} or newer, or set JAVA_HOME")


def class_sharing(archive: Path, *, record: bool) -> list[str]:
    """Return the options with which Java loads classes from an archive or, with ``record``, writes one when it ends.

    A missing or unsuitable archive is ignored silently, because it only affects speed.
    """
    flag = "ArchiveClassesAtExit" if record else "SharedArchiveFile"
    return [f"-XX:{flag}={archive}", "-Xshare:auto", "-Xlog:disable"]


def pyspark_jars() -> Path:
    """Return the directory of PySpark's jars, which include Hadoop's client and the metastore's classes. PySpark is not
    imported.

    Raises FileNotFoundError if PySpark is not installed.
    """
    spec = find_spec("pyspark")
    folders = [Path(spec.origin).parent / "jars"] if spec is not None and spec.origin is not None else []
    with suppress(PackageNotFoundError):
        # In a Spark task the modules come from an archive, which has no jars.
        folders.append(Path(str(distribution("pyspark").locate_file("pyspark/jars"))))
    for folder in folders:
        if folder.is_dir():
            return folder
    raise FileNotFoundError("pyspark is not installed: it contains the jars of Hadoop and Hive")


class JavaProgram:
    """A program that consists of one source file; its main class is named after the file.

    A wheel contains the compiled program, in a jar next to the source. Otherwise the program is compiled into
    ``cache``, again if its source, a jar or Java changes. Several processes may compile at the same time. The class
    archive is in ``cache``, too. ``jars`` is the class path, in order.
    """

    def __init__(
        self, source: Path, jars: Sequence[Path], cache: Path, java_home: Path | None = None
    ) -> None:
        self._source = source
        self._jars = tuple(jars)
        self._cache = cache.absolute()
        self.java = find_java(java_home)

    def command(
        self,
        options: Sequence[str],
        arguments: Sequence[str],
        *,
        archive_classes: bool,
        before: Sequence[Path] = (),
    ) -> list[str]:
        """Return the whole command line; compile first if necessary. Raises `NoJava`.

        ``archive_classes``: the first process that ends normally writes an archive of the loaded classes, with which
        all later starts take about half as long. An archive requires a class path without folders. ``before`` are
        folders to put first on the class path.
        """
        program, archive = self._files()
        sharing: list[str] = []
        if archive_classes and (archive.exists() or _begins_to_record(archive)):
            sharing = class_sharing(archive, record=not archive.exists())
        # Jars are listed individually and in order, because an archive is valid for exactly one class path.
        path = os.pathsep.join(map(str, (*before, program, *self._jars)))
        return [self.java, *sharing, *options, "-cp", path, self._source.stem, *arguments]

    def archive(self) -> Path:
        """Return the path of the class archive, which may not exist; compile first if necessary. Raises `NoJava`."""
        return self._files()[1]

    def _files(self) -> tuple[Path, Path]:
        """Return the compiled program and the path of its class archive, which may not exist."""
        known = hashlib.sha256(self._source.read_bytes() + identity_of_java(self.java))
        for jar in self._jars:
            known.update(f"{jar}:{jar.stat().st_size}\n".encode())
        compiled = self._cache / f"{self._source.stem}-{known.hexdigest()[:16]}.jar"
        self._cache.mkdir(parents=True, exist_ok=True)
        archive = compiled.with_suffix(".jsa")
        if (shipped := self._source.with_suffix(".jar")).exists():
            return shipped, archive
        if not compiled.exists():
            compile_program(self._source, self._jars, compiled, self.java)
        return compiled, archive


def _begins_to_record(archive: Path) -> bool:
    """Claim the right to write the archive, which takes seconds of CPU time. Return False if another process has
    claimed it. A claim expires after `RECORD_S`, because its process may have been killed."""
    mark = archive.with_suffix(".recording")
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        with suppress(OSError):
            if time.time() - mark.stat().st_mtime > RECORD_S:
                mark.touch()
                return True
        return False
    return True


def own_directory() -> Path:
    """Return a cache directory in the system's temporary directory, created if missing. Raises PermissionError if
    another user could place a program in the directory."""
    directory = Path(gettempdir()) / f"navlin-java-{os.getuid()}"
    directory.mkdir(mode=0o700, exist_ok=True)
    found = directory.lstat()
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o022:
        raise PermissionError(f"{directory} must belong to this user, and be writable by nobody else")
    return directory


def compile_program(
    source: Path, jars: Sequence[Path], into: Path, java: str, release: int = OLDEST_JAVA
) -> None:
    """Compile a program of one source file against ``jars`` into the jar ``into``, whole or not at all. ``release`` is
    the oldest Java that can load it.

    Raises `NoJava`; `NoCompiler` if ``java`` belongs to a JRE.
    """
    with TemporaryDirectory(dir=into.parent) as folder:
        _compile(source, jars, Path(folder), java, release)
        # As a jar, because an archive of loaded classes does not support folders.
        finished = Path(folder) / "finished"
        with ZipFile(finished, "w") as archive:
            for file in sorted(Path(folder).glob("*.class")):
                # Without a timestamp, so that the same source gives the same jar.
                archive.writestr(ZipInfo(file.name), file.read_bytes())
        finished.replace(into)


def _compile(source: Path, jars: Sequence[Path], folder: Path, java: str, release: int) -> None:
    # The compiler is a module of the JDK, so it needs no javac on the PATH, only a Java that is not a bare JRE.
    compiler = [java, "-m", "jdk.compiler/com.sun.tools.javac.Main", "--release", str(release)]
    path = os.pathsep.join(map(str, jars))
    command = [*compiler, "-nowarn", "-encoding", "UTF-8", "-d", str(folder), "-cp", path, str(source)]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise _no_java(java) from error
    if done.returncode != 0:
        output = (done.stderr + done.stdout).strip()
        if "Module jdk.compiler not found" in output:
            raise NoCompiler(
                f"{java} has no compiler (it is a JRE): install a JDK of version {OLDEST_JAVA} or newer"
            )
        raise NoJava(f"{source.name} could not be compiled with {java}: {output}")
