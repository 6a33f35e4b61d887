"""A browser, as far as a server sees one: it keeps the cookie of a log-in and sends it along with everything."""

from __future__ import annotations

from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

import requests

from tests.support.web import PASSWORD, PATIENCE_S, Web


@dataclass
class Browser:
    """One, at one server. ``cookies`` are by name, and ``csrf`` is the token of its session."""

    web: Web
    cookies: dict[str, str] = field(default_factory=dict)
    csrf: str = ""
    connection: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        self.connection.trust_env = False

    def log_in(self, name: str, password: str = PASSWORD, **how: Any) -> requests.Response:
        """By JSON, unless ``how`` has a body of its own."""
        answer = self.send("POST", "/login", **(how or {"json": {"name": name, "password": password}}))
        if answer.ok and answer.headers.get("Content-Type") == "application/json":
            self.csrf = answer.json()["csrf"]
        return answer

    def send(self, method: str, path: str, **how: Any) -> requests.Response:
        """With the cookies, and nothing else that would let somebody in."""
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
        """A POST with the session's token, as a page of navlin's does it."""
        headers = {"X-Navlin-CSRF": self.csrf if token is None else token, **how.pop("headers", {})}
        return self.send("POST", path, headers=headers, **how)

    def known(self) -> bool:
        """Whether it is still logged in."""
        return self.send("GET", "/session").status_code == 200
