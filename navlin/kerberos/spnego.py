"""SPNEGO for HTTP: a request answered with 401 Negotiate is sent again with a token.

Hadoop's services, and Solr with Hadoop's filter, then set a cookie, which the session sends with later requests.
"""

from __future__ import annotations

import base64
import re
from typing import Any, Final
from urllib.parse import urlsplit

import requests

from navlin.kerberos.client import Login, kerberos

SERVICE: Final = "HTTP"
_WANTED: Final = re.compile(r"(^|,)\s*negotiate\b", re.IGNORECASE)


def wants_kerberos(response: requests.Response) -> bool:
    """Whether a service refused a request, and would accept it with a token."""
    offered = response.headers.get("WWW-Authenticate", "")
    return response.status_code == 401 and _WANTED.search(offered) is not None


class Spnego(requests.auth.AuthBase):
    """SPNEGO authentication for a `requests` session. Raises `KerberosFailed` if there is no ticket.

    ``at_once`` sends a token with each request that has no cookie, without waiting for a 401, because posted bodies are
    large and would otherwise cross the network twice.
    """

    def __init__(self, login: Login, *, at_once: bool = False) -> None:
        self._login = login
        self._at_once = at_once

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._at_once and "Cookie" not in request.headers:
            self._sign(request)
        request.register_hook("response", self._answer)  # type: ignore[no-untyped-call]
        return request

    def _sign(self, request: requests.PreparedRequest) -> None:
        token = base64.b64encode(self._token(str(request.url))).decode()
        request.headers["Authorization"] = f"Negotiate {token}"

    def _answer(self, response: requests.Response, **how: Any) -> requests.Response:
        asked = response.request
        if not wants_kerberos(response) or "Authorization" in asked.headers:
            return response
        again = asked.copy()
        self._sign(again)
        _ = response.content  # frees the connection for the next request
        response.close()
        answer: requests.Response = response.connection.send(again, **how)
        answer.history.append(response)
        answer.request = again
        return answer

    def _token(self, url: str) -> bytes:
        login, host = self._login, urlsplit(url).hostname or ""
        request = ("spnego", login.principal, login.keytab, SERVICE, host)
        return kerberos(login).ask(login, f"{SERVICE}/{host}", *request)[0]
