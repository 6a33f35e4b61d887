"""SPNEGO for HTTP: an answer 401 that wants to negotiate is asked for again, with a token.

Hadoop's services answer with a cookie then, which the session sends from there on.
"""

from __future__ import annotations

import base64
import re
from typing import Any, Final
from urllib.parse import urlsplit

import requests

from extractors.kerberos.client import Login, kerberos

SERVICE: Final = "HTTP"
_WANTED: Final = re.compile(r"(^|,)\s*negotiate\b", re.IGNORECASE)


class Spnego(requests.auth.AuthBase):
    """For a session of requests. Raises `KerberosFailed` where there is no ticket. Not for two threads."""

    def __init__(self, login: Login) -> None:
        self._login = login

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.register_hook("response", self._answer)  # type: ignore[no-untyped-call]
        return request

    def _answer(self, response: requests.Response, **how: Any) -> requests.Response:
        asked = response.request
        wanted = _WANTED.search(response.headers.get("WWW-Authenticate", ""))
        if response.status_code != 401 or not wanted or "Authorization" in asked.headers:
            return response
        again = asked.copy()
        again.headers["Authorization"] = f"Negotiate {base64.b64encode(self._token(response.url)).decode()}"
        _ = response.content  # the connection is free for the next request
        response.close()
        answer: requests.Response = response.connection.send(again, **how)
        answer.history.append(response)
        answer.request = again
        return answer

    def _token(self, url: str) -> bytes:
        login, host = self._login, urlsplit(url).hostname or ""
        request = ("spnego", login.principal, login.keytab, SERVICE, host)
        return kerberos(login).ask(login, f"{SERVICE}/{host}", *request)[0]
