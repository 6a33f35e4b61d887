"""A browser as the server sees it: it keeps the login cookie and sends it with every request."""

from __future__ import annotations

from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

import requests

from tests.support.web import PASSWORD, PATIENCE_S, Web


@dataclass
class Browser:
    """``cookies`` maps names to values; ``csrf`` is the session's CSRF token."""

    web: Web
    cookies: dict[str, str] = field(default_factory=dict)
    csrf: str = ""
    connection: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        self.connection.trust_env = False

    def log_in(self, name: str, password: str = PASSWORD, **how: Any) -> requests.Response:
        """Log in with JSON, unless ``how`` contains another body."""
        answer = self.send("POST", "/login", **(how or {"json": {"name": name, "password": password}}))
        if answer.ok and answer.headers.get("Content-Type") == "application/json":
            self.csrf = answer.json()["csrf"]
        return answer

    def send(self, method: str, path: str, **how: Any) -> requests.Response:
        """Send a request with the cookies, and no other credentials."""
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
        """Send a POST request with the session's CSRF token, as navlin's pages do."""
        headers = {"X-Navlin-CSRF": self.csrf if token is None else token, **how.pop("headers", {})}
        return self.send("POST", path, headers=headers, **how)

    def known(self) -> bool:
        """Whether the browser is still logged in."""
        return self.send("GET", "/session").status_code == 200
