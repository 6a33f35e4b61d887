"""The web console as the web application mounts it: its pages, its static files, and its login and error pages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from navlin.access.store import User
from navlin.api.answers import Html, Redirect
from navlin.api.bodies import EDIT_BYTES
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.service import Service
from navlin.console.manual import ROOT as DOCS
from navlin.console.manual import Manual
from navlin.console.page import POLICY, ConsolePage
from navlin.console.page_templates import page_templates
from navlin.console.static_files import StaticFiles

LOG_IN: Final = "/login"


class BrowserPages:
    """All pages of the console, created once per process. ``service`` provides a proxy's path prefix and the
    version."""

    def __init__(self, service: Service, pages: Iterable[ConsolePage]) -> None:
        self._service, self._pages = service, tuple(pages)
        self._files = StaticFiles(service.base_path)
        self._manual = Manual(service.manual, service.base_path)
        self._templates = page_templates()

    @property
    def endpoints(self) -> list[Endpoint]:
        """The pages as endpoints, with HTML responses."""
        return [
            Endpoint(
                page.method,
                page.path,
                page.role,
                page.title,
                page.parameters,
                partial(self._answer, page),
                takes_form=page.method == "POST",
                most_bytes=EDIT_BYTES,
                walks=page.walks,
                writes=page.method == "POST",
            )
            for page in self._pages
        ]

    @property
    def routes(self) -> list[Route]:
        """Routes of the static files, of the login page, and of the manual."""
        return [
            Route(self._files.path + "/{file:path}", self._files.answer),
            Route(LOG_IN, self._log_in, methods=["GET"]),
            *self._manual.routes,
        ]

    def is_open(self, path: str) -> bool:
        """Whether a path needs no login. This holds for the login page, and for static files, which reveal nothing
        about the data, and for the manual if the configuration says so."""
        if path == DOCS or path.startswith(DOCS + "/"):
            return self._service.public_docs
        return path == LOG_IN or path.startswith(self._files.path + "/")

    def root(self, query: Mapping[str, str]) -> Response:
        """Redirect to the search page. Redirect a URL of Navigator (``/?view=detailsView&id=…&tab=lineage``) to the
        corresponding page, because Hue and scripts link to such URLs."""
        identity = query.get("id", "")
        page = "/search"
        if query.get("view") == "detailsView" and identity:
            page = "/lineage" if query.get("tab") == "lineage" else "/details"
            page += "?" + urlencode({"entity": identity})
        return RedirectResponse(self._service.base_path + page, 303)

    def unknown(self, request: Request) -> Response:
        """Redirect to the login page. After the login, the browser is redirected to the requested page."""
        wanted = self._service.base_path + request.url.path
        if request.url.query:
            wanted += "?" + request.url.query
        return RedirectResponse(f"{self._service.base_path}{LOG_IN}?{urlencode({'next': wanted})}", 303)

    def error(self, request: Request, status: int, message: str, more: Mapping[str, Any]) -> Response:
        values = {"status": status, "phrase": HTTPStatus(status).phrase, "message": message, "more": more}
        caller = request.scope.get("state", {}).get("caller")
        user, csrf = (caller.user, caller.csrf) if caller is not None else (None, "")
        return self._page("error.html", "Error", user, csrf, values).response(status)

    def log_in(self, onward: str, wrong: str = "", status: int = 200) -> Response:
        """Return the login page. After the login, the browser is redirected to the URL ``onward``."""
        return self._page("login.html", "Log in", None, "", {"next": onward, "wrong": wrong}).response(status)

    def _answer(self, page: ConsolePage, request: ApiRequest) -> Html | Redirect:
        values = page.values(request)
        if isinstance(values, Html | Redirect):
            return values
        return self._page(page.template, page.title, request.user, request.csrf, values)

    async def _log_in(self, request: Request) -> Response:
        return self.log_in(request.query_params.get("next", ""))

    def _page(
        self, template: str, title: str, user: User | None, csrf: str, values: Mapping[str, Any]
    ) -> Html:
        around = {
            "title": title,
            "base": self._service.base_path,
            "version": self._service.version,
            "file": self._files.address,
            "user": user,
            "csrf": csrf,
            "menu": [
                page for page in self._pages if page.menu and user is not None and user.role >= page.role
            ],
            "here": template,
            "manual": self._manual.address if user is not None else "",
            "help": self._manual.help_address(template.removesuffix(".html")) if user is not None else "",
        }
        return Html(self._templates.get_template(template).render({**around, **values}), POLICY)
