"""``/login``, ``/logout`` and ``/session``: browser sessions, with JSON or forms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from navlin.access.authentication import AuthenticationFailed, Caller
from navlin.api.answers import HttpError, json_answer
from navlin.api.audit import address_of, audit
from navlin.api.bodies import Bodies, json_of
from navlin.api.callers import (
    FORM,
    LOG_IN,
    CheckQueues,
    SessionCookie,
    caller_of,
    fields_of,
    refusal,
    refused,
)
from navlin.api.pages import Pages, wants_page
from navlin.api.service import Service
from navlin.questions.declare.question import JSON

LOG_OUT: Final = "/logout"
SESSION: Final = "/session"
MOST_BYTES: Final = 32 << 10
"""Maximum size of a body with name, password and next page. It is small because anyone may send such a body."""
_NOBODY: Final = ""
"""User name for the bodies of logins, whose caller is not known yet."""


def routes(
    service: Service, checks: CheckQueues, cookie: SessionCookie, bodies: Bodies, pages: Pages | None = None
) -> list[Route]:
    return [
        Route(LOG_IN, partial(_log_in, service, checks, cookie, bodies, pages), methods=["POST"]),
        Route(LOG_OUT, partial(_log_out, service, cookie, bodies), methods=["POST"]),
        Route(SESSION, _session),
    ]


async def _log_in(
    service: Service,
    checks: CheckQueues,
    cookie: SessionCookie,
    bodies: Bodies,
    pages: Pages | None,
    request: Request,
) -> Response:
    """Log a user in by name and password. This always begins a new session; the browser's old session ends."""
    fields, by_form = await _fields(bodies, _NOBODY, request)
    name, password = _text(fields, "name"), _text(fields, "password")
    authentication = service.authentication
    found = await checks.caller(partial(authentication.by_password, name, password, address_of(request)))
    if isinstance(found, AuthenticationFailed):
        refused(request, found)
        response = refusal(found, challenge=False)
        if pages is None or not wants_page(request):
            return response
        page = pages.log_in(str(fields.get("next", "")), found.reason, response.status_code)
        if again := response.headers.get("retry-after"):
            page.headers["Retry-After"] = again
        return page

    def begin() -> Caller:
        if old := authentication.sessions.find(cookie.sent_with(request) or ""):
            authentication.sessions.end(old)
        return Caller(found.user, "session", authentication.log_in(found))

    try:
        caller = await run_in_threadpool(begin)
    except OSError as error:
        # The disk may be full, for example. Requests that need no session are still answered.
        words = f"the session cannot be saved on the server's disk: {error.strerror}; passwords and tokens still work"
        audit("log-in failed", request, name, reason=str(error))
        if pages is None or not wants_page(request):
            raise HttpError(503, words) from error
        return pages.log_in(str(fields.get("next", "")), words, 503)
    assert caller.session is not None
    audit("logged in", request, caller.user.name)
    response = _onward(service, fields) if by_form else json_answer(_as_json(caller))
    cookie.set(response, caller.session)
    return response


async def _log_out(service: Service, cookie: SessionCookie, bodies: Bodies, request: Request) -> Response:
    fields, by_form = await _fields(bodies, caller_of(request).user.name, request)
    everywhere = fields.get("everywhere", False)
    if everywhere not in (True, False, "true", "false"):
        raise HttpError(400, "everywhere must be true or false")
    caller, sessions = caller_of(request), service.authentication.sessions

    def end() -> int:
        if everywhere in (True, "true"):
            return sessions.end_all(caller.user.name)
        if caller.session is None:
            return 0
        sessions.end(caller.session)
        return 1

    ended = await run_in_threadpool(end)
    audit("logged out", request, caller.user.name, sessions=ended)
    response = _onward(service, fields) if by_form else json_answer({"ended": ended})
    cookie.clear(response)
    return response


async def _session(request: Request) -> Response:
    return json_answer(_as_json(caller_of(request)))


def _as_json(caller: Caller) -> dict[str, Any]:
    session = caller.session
    return {
        "user": caller.user.name,
        "role": caller.user.role.words,
        "means": caller.means,
        "csrf": caller.csrf or None,
        "ends_ms": session.ends_ms if session else None,
    }


async def _fields(bodies: Bodies, user: str, request: Request) -> tuple[Mapping[str, Any], bool]:
    """Return the fields of the body, and whether the body was a form. Other content types than JSON and forms are
    refused, because a page of another site may send any text."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    async with bodies.read(request, user, MOST_BYTES) as body:
        if kind == FORM:
            several = fields_of(body)
            if any(len(values) > 1 for values in several.values()):
                raise HttpError(400, "duplicate field")
            return {name: values[0] for name, values in several.items()}, True
        if kind != JSON and body:
            raise HttpError(415, f"send {JSON} or {FORM}")
        read = json_of(body)
    if not isinstance(read, dict):
        raise HttpError(400, "the body must be a JSON object")
    return read, False


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise HttpError(400, f"{name} is missing" if value is None else f"{name} must be text")
    return value


def _onward(service: Service, fields: Mapping[str, Any]) -> Response:
    """Redirect to the path in a form's ``next``, if it is a path on this server, else to the start page."""
    wanted = str(fields.get("next", ""))
    # Browsers read a backslash as a slash, skip control characters, and take two slashes for another host.
    fine = (
        wanted.startswith("/") and not wanted.startswith("//") and "\\" not in wanted and wanted.isprintable()
    )
    return RedirectResponse(wanted if fine else service.base_path + "/", 303)
