"""Authentication before every endpoint and page: the caller, the means, and whether the user intends the request.

A browser sends a cookie with every request, so it is trusted less than a password or a token. A cookie alone never
permits a write: the session's token is required as well. It never permits a read for something that a page of another
site loads.

Cookies are SameSite=Lax, not Strict: with Strict, a link to a table in Hue, a wiki or a mail, which may well be on
another site, would take a logged-in user to the login page. Lax sends the cookie from another site only for a top-level
navigation, and no GET writes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias
from urllib.parse import parse_qs

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from navlin.access.authentication import AuthenticationFailed, Caller, CheckKind, DeferredCheck
from navlin.access.roles import Role
from navlin.access.sessions import Session
from navlin.access.store import User
from navlin.api.answers import HttpError, error_answer
from navlin.api.audit import address_of, audit
from navlin.api.bodies import EDIT_BYTES, Bodies
from navlin.api.hosts import BELOW
from navlin.api.json_bounds import Octets
from navlin.api.pages import Pages, wants_page
from navlin.api.service import Service

OPEN: Final = frozenset({"/api/version", "/healthz", "/readyz"})
"""Paths that need no user."""
LOG_IN: Final = "/login"
"""Path of the login. Requests to it have no known caller yet."""
CSRF_HEADER: Final = "X-Navlin-CSRF"
CSRF_FIELD: Final = "csrf"
FORM: Final = "application/x-www-form-urlencoded"
_SAFE: Final = frozenset({"GET", "HEAD"})
_READING_AT_ONCE: Final = 4
_AT_ONCE: Final[Mapping[CheckKind, int]] = {"known": 1, "stranger": 1, "directory": 8}
_WAITING: Final[Mapping[CheckKind, int]] = {"known": 20, "stranger": 20, "directory": 100}
"""Kind → maximum number of waiting requests. Checking a password takes 0.1 s, so a request that would wait for more
than two seconds is refused."""
_Look: TypeAlias = Callable[[], Caller | AuthenticationFailed | DeferredCheck]


def caller_of(request: Request) -> Caller:
    """Return the caller of a request: the user, the means of authentication, and the token for writes
    (`Caller.csrf`)."""
    caller: Caller = request.state.caller
    return caller


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """The cookie with a session's id. Its name depends on the state directory: it differs between navlins on one host,
    but not between several ``navlin web`` of one state directory."""

    name: str
    path: str
    secure: bool

    @classmethod
    def of(cls, service: Service) -> SessionCookie:
        # With these prefixes, browsers accept the cookie only from this host, over TLS, and not from a sibling domain.
        prefix = "" if not service.secure else "__Secure-" if service.base_path else "__Host-"
        name = f"{prefix}navlin-{service.authentication.sessions.instance()}"
        return cls(name, service.base_path or "/", service.secure)

    def sent_with(self, request: Request) -> str | None:
        """Return the cookie's value in a request; None if the cookie is missing or sent twice. If sent twice, one of
        the two was planted, and it is unknown which."""
        found = [
            value.strip()
            for header in request.headers.getlist("cookie")
            for name, _, value in (each.partition("=") for each in header.split(";"))
            if name.strip() == self.name
        ]
        return found[0] if len(found) == 1 else None

    def set(self, response: Response, session: Session) -> None:
        """Set the cookie. It expires with the browser session; the server may end the session earlier."""
        self._put(response, session.secret, "")

    def clear(self, response: Response) -> None:
        self._put(response, "", "; Max-Age=0")

    def _put(self, response: Response, value: str, more: str) -> None:
        secure = "; Secure" if self.secure else ""
        text = f"{self.name}={value}; Path={self.path}; HttpOnly; SameSite=Lax{secure}{more}"
        response.headers.append("Set-Cookie", text)


class CheckQueues:
    """Identifies callers. Slow look-ups run in threads, with a queue for each kind (`DeferredCheck`), so that a slow
    directory, or strangers who send passwords, delay only callers of the same kind."""

    def __init__(self) -> None:
        self._reading = CapacityLimiter(_READING_AT_ONCE)
        self._lanes = {kind: CapacityLimiter(at_once) for kind, at_once in _AT_ONCE.items()}

    async def caller(self, look: _Look, *, reads: bool = False) -> Caller | AuthenticationFailed:
        """Return the final result of ``look``. ``reads`` means that ``look`` reads a file, so it runs in a thread;
        otherwise it is too fast to be worth a thread."""
        found = await to_thread.run_sync(look, limiter=self._reading) if reads else look()
        if not isinstance(found, DeferredCheck):
            return found
        lane = self._lanes[found.kind]
        if lane.statistics().tasks_waiting >= _WAITING[found.kind]:
            return AuthenticationFailed("too many login attempts; try again", found.name, wait_s=1.0)
        return await to_thread.run_sync(found.ask, limiter=lane)


class Callers:
    """Middleware that identifies the caller and refuses unidentified requests. ``forms`` maps the paths that take forms
    of a browser to the required roles: a form at another path, or of a caller without the role, is not read.
    """

    def __init__(
        self,
        app: ASGIApp,
        service: Service,
        checks: CheckQueues,
        cookie: SessionCookie,
        bodies: Bodies,
        forms: Mapping[str, Role],
        pages: Pages | None = None,
    ) -> None:
        self.app, self.service, self.checks, self.cookie = app, service, checks, cookie
        self.bodies, self.forms, self.pages = bodies, forms, pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        writes = request.method not in _SAFE
        if writes and _of_another_page(request, self.service):
            audit("request refused", request, "", reason="another page")
            await _another_page()(scope, receive, send)
            return
        if self.service.hosts is not None and scope["path"].startswith(BELOW):
            if (host := self.service.hosts.host(request)) is None:
                audit("request refused", request, "", reason="no valid token of a host")
                await error_answer(401, _NO_HOST)(scope, receive, send)
                return
            scope["state"].update(host=host)
            await self.app(scope, receive, send)
            return
        pages = self.pages if wants_page(request) else None
        open_to_all = scope["path"] in OPEN or (self.pages is not None and self.pages.is_open(scope["path"]))
        if open_to_all or (writes and scope["path"] == LOG_IN):
            await self.app(scope, receive, send)
            return
        cookie = self.cookie.sent_with(request)
        by_session = cookie is not None and "authorization" not in request.headers
        found = await self.checks.caller(self._look(request, cookie), reads=by_session)
        if isinstance(found, AuthenticationFailed):
            if found.name or "authorization" in request.headers:
                refused(request, found)
            if pages is not None and not writes and not found.wait_s and not found.failed:
                await pages.unknown(request)(scope, receive, send)
                return
            by_script = request.headers.get("sec-fetch-mode", "navigate") != "navigate"
            await refusal(found, challenge=cookie is None and not by_script)(scope, receive, send)
            return
        if found.session is not None:
            try:
                receive = await self._meant(request, found.user, found.session, writes=writes)
            except HttpError as problem:
                audit("request refused", request, found.user.name, reason=problem.message)
                answer = (
                    error_answer(problem.status, problem.message)
                    if pages is None
                    else pages.error(request, problem.status, problem.message, {})
                )
                await answer(scope, receive, send)
                return
        scope["state"].update(user=found.user, caller=found)
        await self.app(scope, receive, send)

    def _look(self, request: Request, cookie: str | None) -> _Look:
        proxy = self.service.authentication.proxy
        named = request.headers.getlist(proxy.header) if proxy is not None else []
        # Two joined headers cannot be parsed as one, so they are refused.
        header = ", ".join(request.headers.getlist("authorization"))
        return partial(self.service.authentication.caller, header, address_of(request), named, cookie)

    async def _meant(self, request: Request, user: User, session: Session, *, writes: bool) -> Receive:
        """Raise `HttpError` unless the owner of the session intends this request. Return the ``receive`` to use from here
        on, because the body of a form has been read to find the token."""
        if not writes:
            goes_there = request.headers.get("sec-fetch-mode") == "navigate"
            in_a_page = request.headers.get("sec-fetch-dest", "document") != "document"
            if _from_another_site(request) and (in_a_page or not goes_there):
                raise HttpError(403, _ANOTHER_PAGE)
            return request.receive
        receive = request.receive
        shown = request.headers.getlist(CSRF_HEADER)
        needed = self.forms.get(request.scope["path"])
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not shown and kind == FORM and needed is not None:
            if user.role < needed:
                raise role_missing(user, needed)
            async with self.bodies.read(request, user.name, EDIT_BYTES) as body:
                fields = await self.bodies.parse(user.name, len(body), partial(fields_of, body))
            receive, shown = _again(body, receive), fields.get(CSRF_FIELD, [])
        if len(shown) != 1 or not session.confirms(shown[0]):
            raise HttpError(
                403,
                "a cookie is not enough to change anything: also send the session's token (see GET /session)"
                f" as {CSRF_HEADER}, or as the field {CSRF_FIELD} of a form",
            )
        return receive


def role_missing(user: User, needed: Role) -> HttpError:
    return HttpError(403, f"this needs the {needed.words} role; you are logged in as {user.role.words}")


def refused(request: Request, found: AuthenticationFailed) -> None:
    audit("request refused", request, found.name[:128], reason=found.failed or found.reason)


def refusal(found: AuthenticationFailed, *, challenge: bool) -> Response:
    """Return the response to a refused caller. ``challenge`` makes browsers prompt for a password."""
    if found.wait_s:
        return error_answer(429, found.reason, {"Retry-After": str(round(found.wait_s) + 1)})
    if found.failed:
        return error_answer(503, found.reason, {"Retry-After": "5"})
    headers = {"WWW-Authenticate": 'Basic realm="navlin", charset="UTF-8"'} if challenge else {}
    return error_answer(401, found.reason, headers)


def fields_of(body: Octets) -> dict[str, list[str]]:
    """Return the fields of a form, each with its values. Raises `HttpError` if the form cannot be parsed."""
    try:
        return parse_qs(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=1_000)
    except ValueError as error:
        raise HttpError(400, f"the form cannot be parsed: {error}") from None


_NO_HOST: Final = "a host's token is required: `navlin host-token add` makes one"
_ANOTHER_PAGE: Final = "cross-site request refused"


def _another_page() -> Response:
    return error_answer(403, _ANOTHER_PAGE)


def _from_another_site(request: Request) -> bool:
    return request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none")


def _of_another_page(request: Request, service: Service) -> bool:
    """Whether a browser sends this request for a page of another site, with a remembered password or cookie."""
    if _from_another_site(request):
        return True
    origins = request.headers.getlist("origin")
    schemes = ("https",) if service.secure else ("http", "https")
    own = {f"{scheme}://{request.headers.get('host', '')}".lower() for scheme in schemes}
    if service.public_origin:
        own.add(service.public_origin.lower())
    return any(each.lower() not in own for each in origins)


def _again(body: Octets, receive: Receive) -> Receive:
    """Return a ``receive`` that replays a body that has already been read."""
    unread = [body]

    async def received() -> Message:
        if unread:
            return {"type": "http.request", "body": unread.pop(), "more_body": False}
        return await receive()

    return received
