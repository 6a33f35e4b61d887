"""Download of a named set of jars with the Ivy in PySpark's jars. Each jar is checked against a stored checksum.

A set is defined by two files in conf/jars: SET.xml, an ivy.xml with pinned revisions, and SET.sha256, in the format of
sha256sum. The directory of a set contains only jars, so that it can be a class path.

Ivy is already installed with Spark, and resolves the hundred jars of Solr from four coordinates. No maintained Python
package does that, so the alternative would be our own resolver.
"""

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO

from navlin.java import NoJava
from navlin.shipped import CONF
from navlin.solr_server.jars_repository import DEFAULT_REPOSITORY, JarsRepository

SETS = CONF / "jars"

SETTINGS = "ivysettings.xml"
_SUFFIXES = (".jar", ".war")
_PAUSES_S = (5.0, 20.0)
_POLL_S = 0.5
_SPARSE_S = 15.0
# Messages of Ivy that show that the network, not the content of the repository, is the cause.
_NETWORK = re.compile(
    r"timed out|timeout|connection (reset|refused)|unknown ?host|network is unreachable|premature|"
    r"unexpected end|HTTP response code: 5\d\d|server error|remote host terminated",
    re.IGNORECASE,
)
_LACK = re.compile(r": not found$|download failed|FAILED|error", re.IGNORECASE)


class JarsNotFetched(Exception):
    """A set could not be fetched completely. The directory is unchanged."""


def fetch(
    jar_set: str,
    into: Path,
    *,
    report: Callable[[str], None],
    java: str = "java",
    repository: JarsRepository = DEFAULT_REPOSITORY,
    sets: Path = SETS,
    pause: Callable[[float], None] = time.sleep,
) -> list[Path]:
    """Fetch the jars of the set into `into`, and return them, each verified by its stored checksum.

    If exactly these are there already, nothing else happens: no JVM, no network, no writes. Otherwise Ivy loads them
    into a hidden directory next to `into`, which then replaces `into` as a whole. The next fetch continues a killed
    one; if several run at once, one works and the others wait. `report` gets a progress line every half second. Raises
    JarsNotFetched, with a remedy, or OSError.
    """
    into = into.resolve()
    expected = _read_sums(sets, jar_set)
    if _deviations(into, expected):
        with workplace(into, report) as (work, lock):
            if _deviations(into, expected):
                load(
                    jar_set,
                    sets,
                    work,
                    len(expected),
                    lock,
                    java=java,
                    repository=repository,
                    report=report,
                    pause=pause,
                )
                if deviations := _deviations(work / "jars", expected):
                    shutil.rmtree(work)
                    raise JarsNotFetched(_explain(jar_set, sets, deviations))
                put_in_place(into, work)
                report(f"{jar_set}: {_amount(_jars_in(into), len(expected))}, checksums verified")
    return [into / name for name in expected]


@contextmanager
def progress_on(stream: TextIO) -> Iterator[Callable[[str], None]]:
    """Provide a `report` that updates one line on a terminal, and otherwise writes a line from time to time."""
    on_terminal = stream.isatty()
    pending = ""
    written_s = -_SPARSE_S

    def report(line: str) -> None:
        nonlocal pending, written_s
        if on_terminal:
            stream.write(f"\r\x1b[K{line}")
            pending = "\n"
        elif time.monotonic() - written_s >= _SPARSE_S:
            stream.write(f"{line}\n")
            pending = ""
            written_s = time.monotonic()
        else:
            pending = f"{line}\n"
        stream.flush()

    try:
        yield report
    finally:
        stream.write(pending)
        stream.flush()


def _read_sums(sets: Path, jar_set: str) -> dict[str, str]:
    path = sets / f"{jar_set}.sha256"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in sets.glob("*.sha256")))
        raise JarsNotFetched(f"unknown set of jars {jar_set!r}; known: {known}")
    lines = (line.split(maxsplit=1) for line in path.read_text().splitlines() if line.strip())
    return {name.lstrip("*"): digest for digest, name in lines}


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _deviations(directory: Path, expected: dict[str, str]) -> list[str]:
    """Return the differences between the directory and the set. Checking 50 MB takes a tenth of a second, so it is done
    every time."""
    present = {path.name: path for path in directory.iterdir()} if directory.is_dir() else {}
    found = [f"{name} is missing" for name in expected if name not in present]
    found += [f"{name} is not in the list" for name in sorted(present.keys() - expected.keys())]
    for name, digest in expected.items():
        if name in present and (actual := sha256(present[name])) != digest:
            found.append(f"{name} has the SHA-256 {actual}, not {digest}")
    return found


def _explain(jar_set: str, sets: Path, deviations: list[str]) -> str:
    shown = "; ".join(deviations[:5]) + (f"; and {len(deviations) - 5} more" if len(deviations) > 5 else "")
    return (
        f"the jars of the set {jar_set} do not match {sets / jar_set}.sha256: {shown}. None was "
        "kept. Run it again, in case a download was damaged; if the error repeats, the repository or a proxy "
        "in between serves other jars than those pinned: do not use it."
    )


def _refuse_foreign(into: Path) -> None:
    """Refuse a directory with other content, because the directory will be replaced as a whole."""
    if into.exists() and not into.is_dir():
        raise JarsNotFetched(f"{into} is not a directory; name one that is new, empty or holds only jars")
    foreign = [path.name for path in into.iterdir() if path.suffix not in _SUFFIXES] if into.exists() else []
    if foreign:
        raise JarsNotFetched(
            f"{into} holds {foreign[0]}, which is not a jar; name a directory that is new or empty"
        )


@contextmanager
def workplace(into: Path, report: Callable[[str], None]) -> Iterator[tuple[Path, IO[bytes]]]:
    """Provide (hidden directory next to `into`, lock), to one fetch at a time.

    Ivy inherits the descriptor of the lock, so that an Ivy whose parent was killed still holds the lock.
    """
    _refuse_foreign(into)
    into.parent.mkdir(parents=True, exist_ok=True)
    with into.with_name(f".{into.name}.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"{into.name}: another fetch is under way, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield into.with_name(f".{into.name}.fetching"), lock


def load(
    jar_set: str,
    sets: Path,
    work: Path,
    total: int | None,
    lock: IO[bytes],
    *,
    java: str,
    repository: JarsRepository = DEFAULT_REPOSITORY,
    report: Callable[[str], None],
    pause: Callable[[float], None],
) -> None:
    """Load the jars into work/jars, retrying after a pause if the network fails. work/cache keeps the files fetched so
    far."""
    work.mkdir(exist_ok=True)
    for pause_s in (*_PAUSES_S, None):
        shutil.rmtree(work / "jars", ignore_errors=True)
        code = _run_ivy(jar_set, sets, work, total, lock, java=java, repository=repository, report=report)
        if code == 0:
            return
        log = (work / "ivy.log").read_text(errors="replace")
        if pause_s is None or not _NETWORK.search(log):
            raise JarsNotFetched(
                f"Ivy could not fetch the jars of the set {jar_set} (code {code}). {_reasons(log)} "
                f"Its log is {work / 'ivy.log'}. The jars that arrived are kept: run it again once the "
                "cause is fixed (behind a proxy, set -Dhttps.proxyHost and -Dhttps.proxyPort in JAVA_TOOL_OPTIONS; "
                "for a mirror, set jars_repository of [solr])."
            )
        report(f"{jar_set}: the repository did not answer; trying again in {pause_s:.0f} s")
        pause(pause_s)


def _run_ivy(
    jar_set: str,
    sets: Path,
    work: Path,
    total: int | None,
    lock: IO[bytes],
    *,
    java: str,
    repository: JarsRepository,
    report: Callable[[str], None],
) -> int:
    # Paths are relative to `work`, because Ivy would read a bracket in the path of `work` as part of the pattern.
    arguments = ["-settings", str(sets / SETTINGS), "-ivy", str(sets / f"{jar_set}.xml")]
    arguments += ["-cache", "cache", "-types", "jar", "bundle", "war"]
    arguments += ["-retrieve", "jars/[artifact]-[revision](-[classifier]).[ext]"]
    try:
        program = repository.ivy(_ivy_jar(), java, work)
    except NoJava as error:
        raise JarsNotFetched(str(error)) from error
    with (work / "ivy.log").open("wb") as log:
        try:
            ivy = subprocess.Popen(
                [java, "-Xmx256m", *program, *arguments],
                cwd=work,
                env={**os.environ, **repository.environment()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(lock.fileno(),),
            )
        except OSError as error:
            raise JarsNotFetched(
                f"{java} does not start ({error.strerror}): Java 17 or newer is needed"
            ) from error
    try:
        while True:
            try:
                return ivy.wait(timeout=_POLL_S)
            except subprocess.TimeoutExpired:
                report(f"{jar_set}: {_how_far(work / 'cache', total)}")
    finally:
        if ivy.poll() is None:
            ivy.kill()
            ivy.wait()


def _ivy_jar() -> Path:
    # Find the jar without importing PySpark, because the import takes longer than everything else if nothing is to be
    # fetched.
    spec = importlib.util.find_spec("pyspark")
    places = (spec.submodule_search_locations if spec else None) or []
    for place in places:
        for jar in Path(place).glob("jars/ivy-*.jar"):
            return jar
    raise JarsNotFetched("there is no Ivy among PySpark's jars: install navlin's locked Python packages")


def _how_far(cache: Path, total: int | None) -> str:
    jars = _jars_in(cache)
    if not jars:
        return f"resolving dependencies, {len(list(cache.rglob('ivy-*.xml')))} modules read"
    return _amount(jars, total)


def _jars_in(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.suffix in _SUFFIXES]


def _amount(jars: list[Path], total: int | None) -> str:
    # A file that Ivy is renaming at this moment is counted the next time.
    sizes = [jar.stat().st_size for jar in jars if jar.exists()]
    of_total = f" of {total}" if total else ""
    return f"{len(sizes)}{of_total} jars, {sum(sizes) / 1e6:.1f} MB"


def _reasons(log: str) -> str:
    """Return Ivy's own warnings. Network errors take precedence, because Ivy also reports unreachable modules as "not
    found"."""
    lines = dict.fromkeys(line.strip(" :\t") for line in log.splitlines())
    causes = [line for line in lines if _NETWORK.search(line)] or [
        line for line in lines if _LACK.search(line)
    ]
    return f"It says: {'; '.join(causes[:3])}." if causes else f"Its last output: {log.strip()[-300:]}"


def put_in_place(into: Path, work: Path) -> None:
    if into.exists():
        into.rename(work / "replaced")
    (work / "jars").rename(into)
    shutil.rmtree(work)
