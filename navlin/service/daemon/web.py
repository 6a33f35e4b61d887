"""The HTTP server: provides `navlin.api` with the settings of a configuration, and runs it in uvicorn."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

import structlog
import uvicorn

from navlin.access.attempts import Attempts
from navlin.access.authentication import Authentication
from navlin.access.host_tokens import HostTokens
from navlin.access.known_addresses import KnownAddresses
from navlin.access.sessions import Sessions
from navlin.access.store import AccessFile
from navlin.api.application import application
from navlin.api.event_spool import EventSpool, ReadToEnd
from navlin.api.hosts import HostReceiver
from navlin.api.openlineage import EventReceiver
from navlin.api.service import Index, Service
from navlin.console import PAGES
from navlin.console.frame import BrowserPages
from navlin.forward.contacts import Contacts
from navlin.forward.host_files import HostFiles
from navlin.index.journal.read_files import paths_read_to_end, read_to_end
from navlin.index.solr.solr import Solr, SolrAddress, SolrError, SolrUnavailable
from navlin.model.forwarded import FORWARDED
from navlin.service.daemon.connections import (
    BoundedProtocol,
    Connections,
    Loop,
    OnceAMinute,
    most_connections,
)
from navlin.service.daemon.listening import WAITING, Listening
from navlin.service.heartbeat import read_heartbeat
from navlin.service.settings.configuration import Configuration
from navlin.service.settings.web_settings import WebSettings
from navlin.service.solr import external_address
from navlin.service.status import status
from navlin.service.web_address import save_web_address
from navlin.shipped import MANUAL
from navlin.solr_server.embedded import running_solr

log = structlog.stdlib.get_logger(__name__)

CLOSE_S: Final = 10
ASK_S: Final = 2.0
TURN_S: Final = 0.001
"""Time slice of a Python thread while other threads wait, in seconds. It is short because a search needs only two
milliseconds of CPU time, spread over many slices, and must not wait for graph walks that need a hundred."""
KEEP_ALIVE_S: Final = 75
"""Timeout of idle connections, in seconds. It is longer than uvicorn's default of five seconds, because users pause for
longer, and a request that is sent just when its connection is closed fails."""


def service_of(configuration: Configuration, environment: Mapping[str, str]) -> Service:
    """Return the `Service` with the objects that the endpoints use. The index is located at the first request."""
    state = configuration.navlin.state_directory
    web = configuration.web

    def address() -> SolrAddress:
        if not configuration.solr.embedded:
            return external_address(configuration, environment)
        if (running := running_solr(state)) is None:
            raise SolrUnavailable("loopback", "", None, f"no Solr is running on {state}")
        return running

    return Service(
        Index(address),
        Authentication(
            AccessFile(state),
            Attempts(time.monotonic),
            now_ms,
            Sessions(state, web.session_idle_s, web.session_lifetime_s, now_ms),
            KnownAddresses(state),
            web.proxy,
            configuration.ldap.directory,
        ),
        lambda solr: status(solr, configuration, now_ms()).as_json(),
        lambda: read_heartbeat(state) is not None,
        now_ms,
        version("navlin"),
        configuration.purge.deleted_files,
        configuration.web.solr_passthrough,
        web.base_path,
        web.certificate_file is not None,
        web.secure,
        web.public_origin,
        configuration.purge.before_days,
        web.hue_url,
        _event_receiver(web, _asking(address, read_to_end)),
        _host_receiver(configuration, address),
        MANUAL,
        web.public_docs,
    )


def _event_receiver(web: WebSettings, read: ReadToEnd) -> EventReceiver | None:
    if web.openlineage_directory is None:
        return None
    # Create the directory, because the source that reads it fails while the directory is missing.
    web.openlineage_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return EventReceiver(EventSpool(web.openlineage_directory, read), frozenset(web.openlineage_users))


def _host_receiver(configuration: Configuration, address: Callable[[], SolrAddress]) -> HostReceiver:
    root = configuration.navlin.state_directory.absolute() / FORWARDED
    contacts = Contacts(root, now_ms)
    return HostReceiver(
        root,
        HostTokens(configuration.navlin.state_directory),
        {each.name: each.registration.make.receives for each in configuration.sources},
        contacts,
        configuration.navlin.least_free_bytes,
        _asking(address, read_to_end),
        HostFiles(root, _asking(address, paths_read_to_end), contacts.lost),
        now_ms,
    )


def _asking(
    address: Callable[[], SolrAddress], ask: Callable[[Solr, Mapping[str, int]], set[str]]
) -> ReadToEnd:
    """Return a function that asks the index which files were read to the end; none if it does not answer."""

    def read(sizes_bytes: Mapping[str, int]) -> set[str]:
        try:
            # Use a short timeout, because the sender waits for the response.
            with Solr(replace(address(), timeout_s=ASK_S, connect_timeout_s=ASK_S)) as solr:
                return ask(solr, sizes_bytes)
        except SolrError:  # files are removed only if they are known to have been read
            return set()

    return read


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def make_first_user(state: Path) -> None:
    """Create an administrator if there are no users yet, and log the name of the file with the password."""
    if (file := AccessFile(state).make_first_user()) is not None:
        log.info("first user created", user="admin", file=str(file))


def answer(
    service: Service,
    listening: Listening,
    settings: WebSettings,
    state: Path,
    *,
    ended: Callable[[], None] | None = None,
) -> None:
    """Serve HTTP until a signal arrives, or until ``ended`` returns, which is called in a separate thread. The URL is
    written to a file in ``state`` for `web_address`."""
    proxies = settings.proxy.addresses if settings.proxy is not None else ()
    connections = Connections(most_connections(), proxies)
    for name in ("asyncio", "uvicorn.error"):
        logging.getLogger(name).addFilter(OnceAMinute())
    config = uvicorn.Config(
        application(service, BrowserPages(service, PAGES)),
        http=partial(BoundedProtocol, all_connections=connections),  # type: ignore[arg-type]  # a factory
        loop=f"{Loop.__module__}:{Loop.__name__}",
        backlog=WAITING,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=True,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=CLOSE_S,
        timeout_keep_alive=KEEP_ALIVE_S,
        ssl_certfile=settings.certificate_file,
        ssl_keyfile=settings.key_file,
    )
    server = _Server(config)
    sys.setswitchinterval(TURN_S)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, server.handle_exit)
    if ended is not None:

        def stop() -> None:
            ended()
            server.should_exit = True

        threading.Thread(target=stop, name="web-end", daemon=True).start()
    address: Path | None = None
    try:
        address = save_web_address(state, listening.url, alone=ended is None)
    except OSError as error:
        # With a full disk, requests are still answered.
        log.warning("web address not written: `navlin status` does not show it", error=str(error))
    log.info("web ready", url=listening.url)
    try:
        server.run([listening.socket])
    finally:
        if address is not None:
            address.unlink(missing_ok=True)


class _Server(uvicorn.Server):
    """A server that shuts down cleanly at a signal, with exit code 0. uvicorn's own server would send itself the signal
    again."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do not change the signal handlers."""
        yield


def standard_input_ends() -> None:
    """Wait until standard input is closed, because the process that writes to it has ended for whatever reason."""
    while sys.stdin.buffer.read(4_096):
        pass
