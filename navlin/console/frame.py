"""The console as the web application takes it: its pages, its files, and how it says that something went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from rich.filesize import decimal
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from navlin.access.store import User
from navlin.api.answers import Html, Onward
from navlin.api.endpoint import Asked, Endpoint
from navlin.api.service import Service
from navlin.console.page import POLICY, Page
from navlin.console.static_files import StaticFiles
from navlin.index.fields import solr_date
from navlin.render.counts import count_lines
from navlin.render.status import span
from navlin.render.text import in_page

_TEMPLATES: Final = Path(__file__).parent / "templates"
LOG_IN: Final = "/login"
_INITIALS: Final = frozenset({"HDFS", "YARN", "S3", "SDK", "MAPREDUCE"})
"""Source types that are written so; the others are names."""
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
NAME_CHARS: Final = 80
"""Of a longer name the middle is not shown; it is whole on its own page, and where one points at it."""


class BrowserPages:
    """Made once a process. ``service`` says what a proxy puts before each path, and which version this is."""

    def __init__(self, service: Service, pages: Iterable[Page]) -> None:
        self._service, self._pages = service, tuple(pages)
        self._files = StaticFiles(service.base_path)
        self._templates = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=select_autoescape(default=True),
            undefined=StrictUndefined,
            # Where a form has to bring back to the letter what it was given, `e` keeps this from it.
            finalize=in_page,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.tests["date"] = lambda text: _DATE.fullmatch(text) is not None
        self._templates.filters["entity"] = lambda name: urlencode({"entity": name})
        self._templates.filters["date"] = lambda at_ms: solr_date(int(at_ms))
        self._templates.filters["utc"] = lambda date: f"{date[:10]} {date[11:19]} UTC"
        self._templates.filters["size"] = decimal
        self._templates.filters["span"] = span
        self._templates.filters["count_lines"] = count_lines
        self._templates.filters["engine"] = lambda kind: kind if kind in _INITIALS else kind.title()
        self._templates.filters["middle"] = cut_in_middle
        self._templates.filters["quoted"] = lambda text: quote(str(text), safe="")

    @property
    def endpoints(self) -> list[Endpoint]:
        """A page is an endpoint that answers with HTML."""
        return [
            Endpoint(
                page.method,
                page.path,
                page.role,
                page.title,
                page.parameters,
                partial(self._answer, page),
                takes_form=page.method == "POST",
                walks=page.walks,
                writes=page.method == "POST",
            )
            for page in self._pages
        ]

    @property
    def routes(self) -> list[Route]:
        """What is there for everybody: the files of pages, and the page to log in by."""
        return [
            Route(self._files.path + "/{file:path}", self._files.answer),
            Route(LOG_IN, self._log_in, methods=["GET"]),
        ]

    def is_open(self, path: str) -> bool:
        """Whether a path is answered to everybody: files that say nothing of the estate, and the page to log in by."""
        return path == LOG_IN or path.startswith(self._files.path + "/")

    def root(self, query: Mapping[str, str]) -> Response:
        """The first page; or the one that Navigator had at an address (``/?view=detailsView&id=…&tab=lineage``): Hue and
        scripts link to it."""
        identity = query.get("id", "")
        page = "/search"
        if query.get("view") == "detailsView" and identity:
            page = "/lineage" if query.get("tab") == "lineage" else "/details"
            page += "?" + urlencode({"entity": identity})
        return RedirectResponse(self._service.base_path + page, 303)

    def unknown(self, request: Request) -> Response:
        """Asks somebody to log in, and then goes on to the page that was asked for."""
        wanted = self._service.base_path + request.url.path
        if request.url.query:
            wanted += "?" + request.url.query
        return RedirectResponse(f"{self._service.base_path}{LOG_IN}?{urlencode({'next': wanted})}", 303)

    def error(self, request: Request, status: int, message: str, more: Mapping[str, Any]) -> Response:
        """A page that says what went wrong."""
        values = {"status": status, "phrase": HTTPStatus(status).phrase, "message": message, "more": more}
        caller = request.scope.get("state", {}).get("caller")
        user, csrf = (caller.user, caller.csrf) if caller is not None else (None, "")
        return self._page("error.html", "Error", user, csrf, values).response(status)

    def log_in(self, onward: str, wrong: str = "", status: int = 200) -> Response:
        """The page to log in by, which goes on to the address ``onward``."""
        return self._page("login.html", "Log in", None, "", {"next": onward, "wrong": wrong}).response(status)

    def _answer(self, page: Page, asked: Asked) -> Html | Onward:
        values = page.values(asked)
        if isinstance(values, Html | Onward):
            return values
        return self._page(page.template, page.title, asked.user, asked.csrf, values)

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
        }
        return Html(self._templates.get_template(template).render({**around, **values}), POLICY)


def cut_in_middle(name: str) -> str:
    """A name, or the beginning and the end of a long one: paths and statements differ at either."""
    return name if len(name) <= NAME_CHARS else f"{name[: NAME_CHARS // 2]}…{name[1 - NAME_CHARS // 2 :]}"
