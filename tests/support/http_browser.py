"""A browser from the server's point of view: it keeps the login cookie and sends it with every request."""

from __future__ import annotations

from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

import requests

from tests.support.web import PASSWORD, PATIENCE_S, Web


@dataclass
class Browser:
    """``cookies`` are by name, ``csrf`` is the session's token."""

    web: Web
    cookies: dict[str, str] = field(default_factory=dict)
    csrf: str = ""
    connection: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        self.connection.trust_env = False

    def log_in(self, name: str, password: str = PASSWORD, **how: Any) -> requests.Response:
        """Logs in with JSON, unless ``how`` has a body of its own."""
        answer = self.send("POST", "/login", **(how or {"json": {"name": name, "password": password}}))
        if answer.ok and answer.headers.get("Content-Type") == "application/json":
            self.csrf = answer.json()["csrf"]
        return answer

    def send(self, method: str, path: str, **how: Any) -> requests.Response:
        """Sends the cookies, and no other credentials."""
        headers = {**how.pop("headers", {})}
        if self.cookies:
            headers["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        self.connection.cookies.clear()
        answer = self.connection.request(
            method, self.web.url + path, headers=headers, timeout=PATIENCE_S, allow_redirects=False, **how
        )
        for name, morsel in SimpleCookie(answer.headers.get("Set-Cookie", "")).items():
            self.cookies[name] = morsel.value
            if morsel["max-age"] == "0":
                del self.cookies[name]
        return answer

    def write(self, path: str, *, token: str | None = None, **how: Any) -> requests.Response:
        """A POST with the session's token, as navlin's pages send it."""
        headers = {"X-Navlin-CSRF": self.csrf if token is None else token, **how.pop("headers", {})}
        return self.send("POST", path, headers=headers, **how)

    def known(self) -> bool:
        """Whether it is still logged in."""
        return self.send("GET", "/session").status_code == 200
