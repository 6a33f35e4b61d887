"""The Solr server of a configuration: the operator's own server, given by its URL, or the embedded server in the state
directory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from navlin.index.admin import cores
from navlin.index.solr.solr import SolrAddress
from navlin.java import QUICK
from navlin.kerberos.client import Login
from navlin.service.settings.configuration import PASSWORD_VARIABLE, Configuration
from navlin.shipped import CONF
from navlin.solr_server import embedded
from navlin.solr_server.embedded import EmbeddedSolr, NoSolr, running_solr
from navlin.solr_server.jars import JarsNotFetched
from navlin.solr_server.jars_repository import PASSWORD_VARIABLE as JARS_PASSWORD_VARIABLE
from navlin.solr_server.jars_repository import JarsRepository


def jars_directory(configuration: Configuration) -> Path:
    """Return the directory of Solr's jars: the configured directory, or else the directory that ``make jars`` fills, or
    that a package or the bundle installs, or else a directory below the state directory."""
    if configuration.solr.jars_directory is not None:
        return configuration.solr.jars_directory
    for folder in (CONF.parent / ".jars" / "solr", Path(sys.prefix) / "jars" / "solr"):
        if folder.is_dir():
            return folder
    return configuration.navlin.state_directory / "jars" / "solr"


def jars_repository(configuration: Configuration, environment: Mapping[str, str]) -> JarsRepository:
    """Return the repository of Solr's jars. The password comes from the configured file, or else from the environment.

    Raises `JarsNotFetched` if there is a user without a password, or the file cannot be read.
    """
    solr = configuration.solr
    if not solr.jars_repository_user:
        return JarsRepository(solr.jars_repository)
    password = environment.get(JARS_PASSWORD_VARIABLE)
    if solr.jars_repository_password_file is not None:
        try:
            password = solr.jars_repository_password_file.read_text().strip()
        except OSError as error:
            raise JarsNotFetched(f"the password of jars_repository cannot be read: {error}") from error
    if not password:
        raise JarsNotFetched(
            f"jars_repository_user has no password: set jars_repository_password_file, or {JARS_PASSWORD_VARIABLE}"
        )
    return JarsRepository(solr.jars_repository, solr.jars_repository_user, password)


def embedded_solr(
    configuration: Configuration, environment: Mapping[str, str], *, java_options: Sequence[str] = ()
) -> EmbeddedSolr:
    """Return the embedded Solr, not yet started."""
    solr = configuration.solr
    java_home = environment.get("JAVA_HOME")
    return EmbeddedSolr(
        configuration.navlin.state_directory,
        jars_directory(configuration),
        CONF / "solr",
        cores=cores.CORES,
        settings=embedded.EmbeddedSolrOptions(solr.memory, solr.port, tuple(java_options)),
        java_home=Path(java_home) if java_home else None,
    )


def external_address(configuration: Configuration, environment: Mapping[str, str]) -> SolrAddress:
    """Return the address of the operator's Solr, with the Kerberos login or the password. The password comes from the
    configured file, or else from the environment.

    Raises `NoSolr` if the password file cannot be read.
    """
    solr = configuration.solr
    ca_file = str(solr.ca_file) if solr.ca_file else None
    if solr.auth == "kerberos":
        # Use the same directory as sources do, so that all Kerberos logins share one child process.
        cache = configuration.navlin.state_directory / "spool" / "java"
        login = Login(solr.principal, _text(solr.keytab), _text(solr.krb5_conf), str(cache))
        return SolrAddress(solr.url, ca_file=ca_file, timeout_s=solr.timeout_s, login=login)
    password = environment.get(PASSWORD_VARIABLE)
    if solr.password_file is not None:
        try:
            password = solr.password_file.read_text().strip()
        except OSError as error:
            raise NoSolr(f"the password of Solr cannot be read: {error}") from error
    return SolrAddress(solr.url, solr.user or None, password, ca_file, timeout_s=solr.timeout_s)


def _text(path: Path | None) -> str:
    return str(path) if path else ""


@dataclass(frozen=True, slots=True)
class RunningSolr:
    """The address of a running Solr. ``server`` is the embedded Solr if this process started it."""

    address: SolrAddress
    server: EmbeddedSolr | None = None


@contextmanager
def reachable_solr(
    configuration: Configuration,
    environment: Mapping[str, str],
    starting: Callable[[], object] = lambda: None,
) -> Iterator[RunningSolr]:
    """Provide a Solr that runs as long as the context lasts.

    An external Solr is used as configured. If another navlin process runs the embedded Solr, that Solr is used.
    Otherwise ``starting`` is called, and an embedded Solr is started, and stopped at the end of the context.
    """
    if not configuration.solr.embedded:
        yield RunningSolr(external_address(configuration, environment))
        return
    state = configuration.navlin.state_directory
    if running := running_solr(state):
        yield RunningSolr(running)
        return
    starting()
    # This Solr runs for one command only. Without the optimizing compiler, it is ready sooner and does more in its
    # first minute.
    own = embedded_solr(configuration, environment, java_options=QUICK)
    try:
        try:
            reached = RunningSolr(own.start(), own)
        except NoSolr:
            # Another process may have started its Solr first; if so, use that Solr.
            other = running_solr(state)
            if other is None:
                raise
            reached = RunningSolr(other)
        yield reached
    finally:
        own.stop()
