"""Doors for other hosts: authentication by a host's token, and the room for what a host sends.

A host's token is accepted at these addresses alone, and no other means of authentication is accepted there. The token
decides the host. Nothing in a request does.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from starlette.requests import Request

from navlin.access.host_tokens import HostToken, HostTokens
from navlin.api.answers import HttpError
from navlin.api.audit import address_of, audit
from navlin.api.event_spool import EventSpool, ReadToEnd
from navlin.forward.contacts import Contacts
from navlin.forward.host_files import HostFiles
from navlin.model.forwarded import lines_directory

LINES_BELOW: Final = "/api/navlin/v1/lines/"
FILES_BELOW: Final = "/api/forward/v1/"
BELOW: Final = (LINES_BELOW, FILES_BELOW)
"""Beginnings of the addresses that take a host's token."""

LOGGED_MS: Final = 60_000


@dataclass(frozen=True, slots=True)
class HostAddress:
    """An address that takes a host's token. ``given`` lists (name, place, meaning) of what a request may have, and
    ``answers`` (status, meaning) of the responses that only this address has."""

    method: str
    path: str
    summary: str
    given: tuple[tuple[str, str, str], ...] = ()
    answers: tuple[tuple[int, str], ...] = ()


@dataclass(slots=True)
class HostReceiver:
    """Access of hosts, and the directories below ``root`` in which their data is kept. ``receives`` maps each source to
    the forms (`FILES`, `LINES`) that it reads. ``least_free_bytes`` stay free on the disk."""

    root: Path
    tokens: HostTokens
    receives: Mapping[str, frozenset[str]]
    contacts: Contacts
    least_free_bytes: int
    read_to_end: ReadToEnd
    files: HostFiles
    now_ms: Callable[[], int]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _logged_ms: dict[tuple[str, str], int] = field(default_factory=dict)
    _lines: dict[str, EventSpool] = field(default_factory=dict)

    def host(self, request: Request) -> HostToken | None:
        """Return the token that a request shows; None if it shows none that is valid."""
        scheme, _, secret = ", ".join(request.headers.getlist("authorization")).partition(" ")
        return self.tokens.find(secret.strip(), self.now_ms()) if scheme.lower() == "bearer" else None

    def require(self, request: Request, source: str, form: str) -> HostToken:
        """Return the token of a request for a source. Raises `HttpError` if the token does not name the source, or the
        source does not read this form."""
        token: HostToken = request.state.host
        if source not in token.sources:
            if self.is_due(token.host, "source"):
                audit("request refused", request, token.host, reason="source")
            named = ", ".join(token.sources)
            raise HttpError(
                403, f"this token is for {named}: `navlin host-token add` makes one for other sources"
            )
        forms = self.receives.get(source, frozenset[str]())
        if not forms:
            raise HttpError(
                403, f"no source {source} reads data of other hosts: see [[source]] of the configuration"
            )
        if form not in forms:
            raise HttpError(400, f"{source} reads whole files, not lines: send them with `navlin forward`")
        self.contacts.note(token.host, address_of(request))
        return token

    def is_due(self, host: str, reason: str) -> bool:
        """Whether a refusal of a host is to be logged: each reason is logged once in `LOGGED_MS`, so that a host does
        not fill the log."""
        now_ms = self.now_ms()
        with self._lock:
            due = now_ms - self._logged_ms.get((host, reason), -LOGGED_MS) >= LOGGED_MS
            if due:
                self._logged_ms[host, reason] = now_ms
        return due

    def require_room(self) -> None:
        """Raise OSError if the disk has less room left than navlin needs itself."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        disk = os.statvfs(self.root)
        if (free_bytes := disk.f_bavail * disk.f_frsize) < self.least_free_bytes:
            raise OSError(28, f"only {free_bytes >> 20} MiB are left on the disk")

    def lines_of(self, source: str) -> EventSpool:
        """Return the files to which a source's lines are appended."""
        with self._lock:
            if source not in self._lines:
                directory = Path(lines_directory(str(self.root), source))
                self._lines[source] = EventSpool(directory, self.read_to_end)
            return self._lines[source]
