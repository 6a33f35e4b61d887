"""``navlin check``: checks that everything needed for a start is available. Each finding is one line, with a remedy if
something is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from navlin.export.answers import Unavailable
from navlin.export.connection import NotAllowed, ServerConnection
from navlin.index.admin import cores
from navlin.index.admin.cores import CORES
from navlin.index.graph.sources import KnownSource, known_sources
from navlin.index.solr.solr import Solr, SolrError
from navlin.java import OLDEST_JAVA
from navlin.model.plurals import counted
from navlin.model.redaction.literals import without_quoted
from navlin.pipeline.failing import in_words
from navlin.pipeline.masking_literals import masked
from navlin.service.loader import Loaded, SharedIdentity, load
from navlin.service.settings.configuration import Configuration
from navlin.service.settings.export_settings import ExportSettings
from navlin.service.solr import external_address, jars_directory
from navlin.solr_server.embedded import NoSolr, running_solr
from navlin.urls import without_userinfo

LEAST_FREE_BYTES: Final = 2 << 30
"""Minimum free disk space for a start, in bytes. Solr merges segments into new files before it removes the old ones,
and Spark spills to disk."""

EXPORT_S: Final = 20.0
"""Timeout for the server of one export, in seconds."""
HADOOP_SITES: Final = ("core-site.xml", "yarn-site.xml")

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. ``text`` describes the subject, without the users and passwords of URLs; if ``fine`` is
    false, it also gives the remedy."""

    subject: str
    fine: bool
    text: str
    needed: bool = True
    """Whether navlin cannot start without the subject. False, for example, for a source, which is retried at its next
    interval."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", without_userinfo(self.text))


def check(
    configuration: Configuration, environment: Mapping[str, str], left_out: Sequence[str] = ()
) -> Iterator[Finding]:
    """Check everything in the order of a start, and yield the findings. A failed check does not prevent further checks.

    The configuration itself is valid, because it has been read already. Nothing is written, and Solr is not started.
    ``left_out`` are names of environment variables that navlin does not pass on to its processes.
    """
    sources = counted(len(configuration.sources), "source")
    yield Finding("configuration", True, f"{configuration.file}, {sources}")
    if left_out:
        text = (
            f"ignored, because navlin has its own Spark, with its options in [spark]: {', '.join(left_out)}"
        )
        yield Finding("environment", True, text)
    yield _java(environment)
    yield from _state_directory(configuration)
    if configuration.spark.on_yarn:
        yield from _yarn(configuration)
    known: tuple[KnownSource, ...] = ()
    if configuration.solr.embedded:
        yield from _embedded(configuration)
    else:
        finding, known = _external(configuration, environment)
        yield finding
    if (users := configuration.ldap.directory) is not None:
        # LDAP is not needed, because local users can log in without it.
        yield from (Finding("ldap", fine, text, needed=False) for fine, text in users.check())
    yield from map(_export, configuration.exports)
    try:
        configured = load(configuration, known)
    except SharedIdentity as error:
        yield Finding("sources", False, str(error))
        return
    for loaded in configured.sources:
        yield from _source(loaded)


def _java(environment: Mapping[str, str]) -> Finding:
    home = environment.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    wanted = f"install Java {OLDEST_JAVA} or newer, or set JAVA_HOME"
    if java is None:
        return Finding("java", False, f"no java was found on the PATH: {wanted}")
    try:
        output = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("java", False, f"{java} does not start ({error}): {wanted}")
    version = _VERSION.search(output)
    if version is None or int(version[1]) < OLDEST_JAVA:
        return Finding(
            "java", False, f"{java} reports {output.partition(chr(10))[0] or 'no version'}: {wanted}"
        )
    return Finding("java", True, f"{java}, version {version[1]}")


def _state_directory(configuration: Configuration) -> Iterator[Finding]:
    state = configuration.navlin.state_directory
    nearest = next(path for path in (state, *state.parents) if path.exists())
    if not os.access(nearest, os.W_OK | os.X_OK):
        detail = f"{nearest} cannot be written: make it writable for the user that runs navlin"
        yield Finding("state directory", False, detail)
        return
    yield Finding("state directory", True, str(state) if nearest == state else f"{state}, to be created")
    free_bytes = shutil.disk_usage(nearest).free
    free = f"{free_bytes / (1 << 30):.1f} GiB free"
    if free_bytes < LEAST_FREE_BYTES:
        detail = f"{free}: the index and Spark's scratch files need at least {LEAST_FREE_BYTES >> 30} GiB"
        # `navlin serve` waits until there is enough space.
        yield Finding("disk", False, detail, needed=False)
    else:
        yield Finding("disk", True, free)


def _yarn(configuration: Configuration) -> Iterator[Finding]:
    """Check the requirements of Spark on YARN on this machine. YARN itself is not contacted."""
    spark = configuration.spark
    assert spark.hadoop_configuration_directory is not None
    keytab = () if spark.keytab is None else (spark.keytab,)
    wanted = [*(spark.hadoop_configuration_directory / name for name in HADOOP_SITES), *keytab]
    unread = [file for file in wanted if not os.access(file, os.R_OK)]
    for file in unread:
        key = "keytab" if file == spark.keytab else "hadoop_configuration_directory"
        what = "cannot be read" if file.exists() else "does not exist"
        yield Finding("spark", False, f"{file} {what}: correct {key} of [spark]")
    if is_loopback(urlsplit(configuration.solr.url).hostname or ""):
        text = (
            f"[solr] url = {configuration.solr.url} means the local machine on every machine, so executors on other"
            " machines do not find Solr: name the host as they know it"
        )
        yield Finding("spark", False, text, needed=False)
    elif not unread:
        yield Finding("spark", True, f"on YARN, by {spark.hadoop_configuration_directory}")


def is_loopback(host: str) -> bool:
    """Whether a host name or IP address refers to the local machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _embedded(configuration: Configuration) -> Iterator[Finding]:
    jars = jars_directory(configuration)
    if not any(jars.glob("solr-core-*.jar")):
        detail = f"there are no jars of Solr in {jars}: fetch them with `navlin index create`"
        yield Finding("solr", False, detail)
        return
    running = running_solr(configuration.navlin.state_directory)
    detail = f"embedded, running at {running.host}" if running else f"embedded, not running, jars in {jars}"
    yield Finding("solr", True, detail)


def _external(
    configuration: Configuration, environment: Mapping[str, str]
) -> tuple[Finding, tuple[KnownSource, ...]]:
    try:
        with Solr(external_address(configuration, environment)) as solr:
            if absent := cores.missing(solr):
                detail = f"{', '.join(absent)} missing: create them with `navlin index create`"
                return Finding("solr", False, detail), ()
            for core in CORES:
                solr.ping(core)
            mode = "SolrCloud" if solr.cloud else "a single server"
            return Finding("solr", True, f"{solr.address.url}, {mode}"), known_sources(solr)
    except (NoSolr, SolrError) as error:
        return Finding("solr", False, str(error)), ()


def _source(loaded: Loaded) -> Iterator[Finding]:
    subject = f"source {loaded.name}"
    extractor = loaded.extractor
    found = [_directory(subject, directory) for directory in extractor.directories()]
    yield from found
    if not all(finding.fine for finding in found):
        return
    try:
        with masked(extractor):
            for said in extractor.check():
                text = without_quoted(said) if extractor.estate.masks_literals else said
                found.append(Finding(subject, True, text, needed=False))
                yield found[-1]
    except Exception as error:
        # Client libraries raise many types of errors; the message describes the problem of this connection.
        yield Finding(subject, False, in_words(error), needed=False)
    else:
        if not found:
            yield Finding(subject, True, "nothing to check", needed=False)


def _export(settings: ExportSettings) -> Finding:
    subject, ask = f"export {settings.name}", settings.question().target.ask
    assert ask is not None
    try:
        address = replace(settings.address(), timeout_s=EXPORT_S)
        with closing(ServerConnection(address, again_after_s=())) as connection:
            return Finding(subject, True, f"{address.url}, {ask(connection, settings.options)}", needed=False)
    except (Unavailable, NotAllowed, OSError, ValueError) as error:
        return Finding(subject, False, str(error), needed=False)


def _directory(subject: str, directory: str) -> Finding:
    try:
        with os.scandir(directory):
            fine, text = True, f"{directory} can be read"
    except FileNotFoundError:
        fine, text = False, f"{directory} does not exist: correct the setting, or create it"
    except OSError as error:
        user = f"the user that runs navlin (id {os.geteuid()})"
        fine, text = False, f"{directory} cannot be read ({error.strerror}): allow {user} to list and read it"
    return Finding(subject, fine, text, needed=False)
