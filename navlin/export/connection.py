"""HTTP connection to a target's server, with authentication, TLS, and retries while the server is unavailable."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from requests.auth import HTTPBasicAuth

from navlin.bounded_http import bound
from navlin.causes import innermost
from navlin.export.answers import TOO_LARGE, Unavailable, is_page, message_of, not_confirmed
from navlin.kerberos.client import Login
from navlin.kerberos.messages import KerberosFailed
from navlin.kerberos.spnego import Spnego
from navlin.urls import server_url

AGAIN_AFTER_S: Final = (1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds to wait before each retry."""
LATER: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses of a server that may accept the same request later."""
MOST_BYTES: Final = 16 << 20
"""Maximum size of a response, in bytes. Responses are small because they only confirm a request."""


class Failing(Unavailable):
    """The server repeatedly answers this request with status 500, so the request may be the cause."""


class NotAllowed(Exception):
    """Authentication or TLS verification failed, or the server redirects to another URL."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """URL and credentials of a server. ``ca_file`` is a PEM file of the CA certificates to trust instead of the
    system's. Only the first of these that is set is used: user and password, token, login."""

    url: str
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    login: Login | None = None
    ca_file: Path | None = None
    timeout_s: float = 120.0

    def __post_init__(self) -> None:
        parts = server_url(self.url)
        if parts is None or parts.scheme not in ("http", "https"):
            raise ValueError(f"{self.url!r} is not the URL of a server, such as http://host:21000")
        if parts.username or parts.password:
            raise ValueError("the URL must not contain a password")


@dataclass(slots=True)
class ServerConnection:
    """A connection to a server; the caller must close it. ``wait`` sleeps for a number of seconds (tests replace
    it)."""

    address: ServerAddress
    wait: Callable[[float], None] = time.sleep
    again_after_s: tuple[float, ...] = AGAIN_AFTER_S
    _session: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        address, session = self.address, self._session
        bound(session, MOST_BYTES)
        # Otherwise REQUESTS_CA_BUNDLE would override `verify`, ~/.netrc the password, and HTTP_PROXY the route.
        session.trust_env = False
        session.verify = str(address.ca_file) if address.ca_file else True
        if address.user:
            session.auth = HTTPBasicAuth(address.user.encode(), address.password.encode())
        elif address.token:
            session.headers["Authorization"] = f"Bearer {address.token}"
        elif address.login is not None:
            session.auth = Spnego(address.login)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        *,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Send a request and return the response. Connection errors and the statuses in `LATER` are retried; after the
        last retry, `Unavailable` is raised, or `Failing` after a 500. ``path`` is appended to the server's URL. Raises
        `NotAllowed` for 401, 403 and redirects, and `NotConfirmed` for an HTML page."""
        why = ""
        kind: type[Unavailable] = Unavailable
        for wait_s in (*self.again_after_s, None):
            try:
                answer = self._once(method, path, body, params, headers)
            except requests.exceptions.SSLError as error:
                raise NotAllowed(f"{self._host}: TLS failed: {innermost(error)}") from error
            except KerberosFailed as error:
                raise NotAllowed(f"{self._host}: {error}") from error
            except requests.exceptions.RequestException as error:
                why, kind = f"cannot be reached: {innermost(error)}", Unavailable
            else:
                if answer.status_code in (401, 403):
                    raise NotAllowed(f"{self._host} refused the log-in: {message_of(answer)}")
                if 300 <= answer.status_code < 400:
                    raise NotAllowed(f"{self._host} redirects to another address: {message_of(answer)}")
                if answer.status_code not in LATER:
                    if is_page(answer) and answer.status_code not in TOO_LARGE:
                        not_confirmed(answer, "content for programs")
                    return answer
                why, kind = message_of(answer), Failing if answer.status_code == 500 else Unavailable
            if wait_s is not None:
                self.wait(wait_s)
        raise kind(f"{self._host} {why}")

    def close(self) -> None:
        self._session.close()

    @property
    def _host(self) -> str:
        return urlsplit(self.address.url).netloc

    def _once(
        self,
        method: str,
        path: str,
        body: bytes | None,
        params: Mapping[str, str] | None,
        headers: Mapping[str, str] | None,
    ) -> requests.Response:
        sent: dict[str, Any] = {"Accept": "application/json", **(headers or {})}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        return self._session.request(
            method,
            self.address.url.rstrip("/") + path,
            data=body,
            params=params,
            headers=sent,
            timeout=self.address.timeout_s,
            allow_redirects=False,
        )
