"""Connection to Solr: a picklable address for Spark tasks, and a session that raises Solr's errors as exceptions."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from requests.adapters import BaseAdapter
from requests.auth import HTTPBasicAuth

from navlin.bounded_http import BoundedAdapter, bound
from navlin.causes import innermost
from navlin.kerberos.client import Login
from navlin.kerberos.messages import KerberosFailed, in_words
from navlin.kerberos.spnego import SERVICE, Spnego, wants_kerberos
from navlin.port_listener import check_listener
from navlin.urls import server_url

POOLED_CONNECTIONS = 16
MOST_BYTES: Final = 256 << 20
"""Maximum size of a response, except for streamed ones."""


class SolrError(Exception):
    """Solr refused a request or failed. ``status`` is the HTTP status; None if there was no response, or if the error
    is inside a response with status 200."""

    def __init__(self, host: str, core: str, status: int | None, message: str) -> None:
        super().__init__(host, core, status, message)
        self.host, self.core, self.status, self.message = host, core, status, message

    def __str__(self) -> str:
        text = f"HTTP {self.status}: {self.message}" if self.status else self.message
        return f"Solr at {self.host}, {self.core}: {text}" if self.core else f"Solr at {self.host}: {text}"


class SolrUnavailable(SolrError):
    """Solr cannot be reached, does not respond in time, or is temporarily unavailable. A later attempt may succeed."""


@dataclass(frozen=True, slots=True)
class SolrAddress:
    """A Solr server, given by its base URL (``https://host:8983/solr``). Small and picklable, because Spark tasks
    receive it and open their own connections.

    ``ca_file`` is a PEM file of CA certificates to trust instead of the system's. If the path does not exist, the base
    name is looked up in the working directory, where YARN puts files for executors. ``timeout_s`` limits the gap
    between two bytes of a response; the limit for the whole response is derived from it (`navlin.bounded_http`).
    ``login`` is for a Solr that requires Kerberos; its keytab must be on the connecting machine. ``listener_uid`` is the
    user of a Solr on this machine: nothing is sent to a process of another user.
    """

    url: str
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    timeout_s: float = 120.0
    connect_timeout_s: float = 10.0
    login: Login | None = None
    listener_uid: int | None = None

    def __post_init__(self) -> None:
        parts = server_url(self.url)
        if parts is None or parts.scheme not in ("http", "https"):
            raise ValueError(f"{self.url!r} is not the URL of a Solr, such as http://host:8983/solr")
        if parts.username or parts.password:
            raise ValueError("the URL of Solr must not contain a password")
        object.__setattr__(self, "url", self.url.rstrip("/"))

    @property
    def host(self) -> str:
        """Host and port, for messages."""
        return urlsplit(self.url).netloc


def _found(ca_file: str) -> str:
    in_container = Path(ca_file).name
    return in_container if not Path(ca_file).exists() and Path(in_container).exists() else ca_file


class SolrSession(requests.Session):
    """A pooled session that uses the credentials and CAs of a `SolrAddress`. It sets a timeout on every request and
    raises `SolrError` for every response other than a success. pysolr's clients share the session."""

    def __init__(self, address: SolrAddress) -> None:
        super().__init__()
        self.address = address
        # REQUESTS_CA_BUNDLE would override `verify`, ~/.netrc the password, HTTP_PROXY the route.
        self.trust_env = False
        self.verify = _found(address.ca_file) if address.ca_file else True
        if address.login is not None:
            self.auth = Spnego(address.login, at_once=True)
        elif address.user is not None:
            self.auth = HTTPBasicAuth(address.user, address.password or "")
        # Enough connections for the threads of one `Solr` and for other users of the session. Excess connections would
        # be opened and discarded, with a warning.
        pools: dict[str, Any] = {"pool_connections": 4, "pool_maxsize": 4 * POOLED_CONNECTIONS}
        if address.listener_uid is not None:
            pools["check"] = partial(check_listener, address.listener_uid)
        bound(self, MOST_BYTES, **pools)
        self._streams = BoundedAdapter(None, **pools)

    def get_adapter(self, url: str) -> BaseAdapter:
        """Return the adapter for a request. Exports get one without a size limit, because they are streams of any
        length."""
        return self._streams if urlsplit(url).path.endswith("/export") else super().get_adapter(url)

    def close(self) -> None:
        self._streams.close()
        super().close()

    def request(self, method: str | bytes, url: str | bytes, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request as `requests.Session.request` does; ``url`` is absolute. Raises `SolrUnavailable`,
        `SolrError`."""
        kwargs["allow_redirects"] = False
        kwargs["timeout"] = (self.address.connect_timeout_s, self.address.timeout_s)
        where = url.decode() if isinstance(url, bytes) else url
        try:
            response = super().request(method, url, *args, **kwargs)
        except KerberosFailed as error:
            raise SolrUnavailable(urlsplit(where).netloc, core_of(where), None, str(error)) from error
        except requests.exceptions.SSLError as error:
            raise SolrError(
                self.address.host, core_of(where), None, f"TLS failed: {innermost(error)}"
            ) from error
        except requests.exceptions.RequestException as error:
            raise SolrUnavailable(
                urlsplit(where).netloc, core_of(where), None, f"cannot be reached: {innermost(error)}"
            ) from error
        if response.status_code >= 300:
            kind = SolrUnavailable if response.status_code in (429, 502, 503, 504) else SolrError
            message = _refused(response, self.address) or _message(response)
            raise kind(urlsplit(where).netloc, core_of(where), response.status_code, message)
        return response


def core_of(url: str) -> str:
    """Return the name of the core in a Solr URL; "" for an admin URL."""
    parts = urlsplit(url).path.split("/")
    return parts[2] if len(parts) > 3 and parts[2] != "admin" else ""


def _refused(response: requests.Response, address: SolrAddress) -> str:
    """Explain why Solr rejects the credentials; "" if the request failed for another reason."""
    if address.login is not None and response.status_code in (401, 403):
        login, host = address.login, urlsplit(response.url).hostname
        said = " ".join(_MARKUP.sub(" ", response.text[:4000]).split())
        if "GSSException" in said or "Kerberos" in said:
            return in_words(said, login.principal, login.keytab, f"{SERVICE}/{host}", other=f"Solr at {host}")
        if response.status_code == 401:
            return f"refused the ticket for {SERVICE}/{host} (its own log says why)"
    if response.status_code != 401:
        return ""
    if wants_kerberos(response):
        return 'requires Kerberos: set auth = "kerberos", principal and keytab of [solr]'
    asked_with = response.request.headers.get("Authorization")
    return "rejected the user or password" if asked_with else "requires a password"


_MARKUP: Final = re.compile(r"<(style|script)\b.*?</\1>|<[^>]{0,500}>", re.DOTALL)


def _message(response: requests.Response) -> str:
    try:
        match response.json():
            case {"error": {"msg": str(message)}}:
                return message
            case {"error": {"trace": str(trace)}}:
                return trace.partition("\n")[0]
            case {"response": {"docs": [{"EXCEPTION": str(message)}]}}:
                return message
    except ValueError:
        pass
    return " ".join(response.text.split())[:500] or str(response.reason)
