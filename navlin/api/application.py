"""The web application: its routes, access to them, and the headers of every response.

Every path except ``/api/version``, ``/healthz`` and ``/readyz`` requires a user, even on loopback, because other users
of the machine can connect too.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import Any, Final

import orjson
import structlog
from anyio import to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from navlin.access.roles import Role
from navlin.access.store import User
from navlin.api import forwarding, lines, logging_in, navigator, openlineage, own
from navlin.api.answers import (
    END_MARK,
    EXIT_CODE,
    MARKED,
    Html,
    HttpError,
    NoContent,
    Redirect,
    error_answer,
    json_answer,
    text_answer,
    text_width,
)
from navlin.api.audit import audit
from navlin.api.bodies import Bodies, json_of
from navlin.api.callers import CSRF_HEADER, Callers, CheckQueues, SessionCookie, caller_of, role_missing
from navlin.api.endpoint import ApiRequest, Endpoint
from navlin.api.json_bounds import Octets
from navlin.api.limits import TURN_S, Questions
from navlin.api.metrics import CONTENT_TYPE, UNASKED_S, Metrics, Timed
from navlin.api.navigator.out_of_scope import why_not
from navlin.api.openapi import document
from navlin.api.pages import Pages, wants_page
from navlin.api.parameters import texts_of
from navlin.api.repeated import Repeated
from navlin.api.service import Service
from navlin.api.walking import Walking
from navlin.index.schema.fields import RUNS
from navlin.index.solr.solr import SolrError, SolrUnavailable
from navlin.index.write.rewriting import TooManyConflicts
from navlin.model.refusal import Refusal
from navlin.questions.declare.parameters import from_both, from_json, from_query
from navlin.questions.declare.question import JSON, Lines, exit_code

log = structlog.stdlib.get_logger(__name__)

DESCRIPTION: Final = own.ROOT + "/openapi.json"
PING_EVERY_S: Final = 1.0
MOST_PING_AGE_S: Final = 5.0
PING_WAITED_S: Final = 2.0
PIECE_BYTES: Final = 64 << 10
"""Maximum number of bytes of an answer that are given to a connection at once. The next ones follow when its peer has
read these, so that peers which do not read cost little memory."""
PACKED_FROM_BYTES: Final = 1_000
PACKED_LEVEL: Final = 3
"""Level of gzip, 1 to 9. Higher levels take up to five times as long for a tenth less."""
SECURITY_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def application(service: Service, pages: Pages | None = None) -> Starlette:
    """Return the application, with the web console if ``pages`` is given. Its processes share no state except the index
    and the state directory, so any number of them may serve one index."""
    questions, bodies, metrics = Questions(), Bodies(), Metrics(service)
    checks, cookie = CheckQueues(), SessionCookie.of(service)
    pings = Repeated("ping", partial(_pinged, service), every_s=PING_EVERY_S, until_unasked_s=UNASKED_S)
    answering = partial(answered, service, questions, bodies)
    routes = [
        Route("/", partial(_root, service, pages)),
        Route("/healthz", _healthy),
        Route("/readyz", partial(_ready, pings)),
        Route("/api/version", _api_version),
        Route("/metrics", partial(_measured, metrics)),
        *logging_in.routes(service, checks, cookie, bodies, pages),
        *openlineage.routes(service.events, bodies),
        *(lines.routes(service.hosts, bodies) if service.hosts else ()),
        *(forwarding.routes(service.hosts, bodies) if service.hosts else ()),
        Route(DESCRIPTION, partial(_described, service, cookie)),
        Route("/api-console/index.html", partial(_console, service)),
        *(
            Route(address, partial(answering, address, each), methods=[each.method])
            for each in own.ENDPOINTS
            for address in [own.ROOT + each.path]
        ),
        *(
            Route(path, partial(answering, name, each), methods=[each.method])
            for path, name, each in navigator.addresses()
        ),
        *(pages.routes if pages else ()),
        *(
            Route(each.path, partial(answering, each.path, each), methods=[each.method])
            for each in (pages.endpoints if pages else ())
        ),
    ]
    forms = {
        logging_in.LOG_OUT: Role.LINEAGE_VIEWER,
        **{each.path: each.role for each in (pages.endpoints if pages else ()) if each.takes_form},
    }
    handlers: dict[Any, Any] = {
        each: partial(_as_page, pages, answer)
        for each, answer in (
            (Refusal, _refused),
            (HTTPException, _http_error),
            (SolrError, _solr_error),
            (TooManyConflicts, _too_many_conflicts),
            (Exception, _unforeseen),
        )
    }
    middleware = [
        Middleware(_Pieces),
        Middleware(Timed, metrics=metrics),
        Middleware(_Headers, tls=service.tls),
        Middleware(_StrippedPaths, base_path=service.base_path),
        # Each streamed piece is compressed and sent by itself. Pages are not compressed, because a page has a session's
        # token as well as text that another site may have put into the URL. The length of both compressed together
        # would reveal the token.
        Middleware(
            GZipMiddleware,
            minimum_size=PACKED_FROM_BYTES,
            compresslevel=PACKED_LEVEL,
            exclude_content_types=("text/html", *DEFAULT_EXCLUDED_CONTENT_TYPES),
        ),
        Middleware(
            Callers, service=service, checks=checks, cookie=cookie, bodies=bodies, forms=forms, pages=pages
        ),
    ]
    app = Starlette(routes=routes, exception_handlers=handlers, middleware=middleware)
    app.router.redirect_slashes = False
    return app


# -- Addresses -----------------------------------------------------------------------------------------------------------


async def _root(service: Service, pages: Pages | None, request: Request) -> Response:
    if pages is not None and wants_page(request):
        return pages.root(request.query_params)
    here = {
        "navlin": service.version,
        "described": DESCRIPTION,
        "navigator": f"/api/v{navigator.NEWEST}",
    }
    return json_answer(
        {name: service.base_path + path if path[0] == "/" else path for name, path in here.items()}
    )


async def _console(service: Service, _request: Request) -> Response:
    """Redirect from Navigator's URL of the API description to navlin's."""
    return RedirectResponse(service.base_path + DESCRIPTION)


async def _healthy(_request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _pinged(service: Service) -> str:
    """Ping the index. Return "" if it is ready, else the reason."""
    try:
        with service.index.solr() as solr:
            solr.ping(RUNS)
    except SolrError as error:
        return str(error)
    return ""


async def _ready(pings: Repeated[str], _request: Request) -> Response:
    await pings.wait(MOST_PING_AGE_S, PING_WAITED_S)
    why_not, age_s = pings.last
    if why_not is None or age_s > MOST_PING_AGE_S:
        why_not = f"no answer for {age_s:.0f} s"
    if why_not:
        return error_answer(503, f"the index does not answer: {why_not}", {"Retry-After": "5"})
    return PlainTextResponse("ready\n")


async def _measured(metrics: Metrics, _request: Request) -> Response:
    return Response(await metrics.text(), headers={"Content-Type": CONTENT_TYPE})


async def _api_version(_request: Request) -> Response:
    # Exactly this text, because clients build URLs from it.
    return Response(f"v{navigator.NEWEST}", media_type="text/plain")


async def _described(service: Service, cookie: SessionCookie, _request: Request) -> Response:
    root = service.base_path + own.ROOT
    return json_answer(document(root, own.ENDPOINTS, service.version, cookie.name, CSRF_HEADER))


async def answered(
    service: Service, questions: Questions, bodies: Bodies, address: str, endpoint: Endpoint, request: Request
) -> Response:
    """Answer a request for an endpoint. ``address`` is the endpoint's name in the metrics."""
    user: User = request.state.user
    csrf = caller_of(request).csrf
    request.state.address = address
    if user.role < endpoint.role:
        audit("request refused", request, user.name, reason="role")
        raise role_missing(user, endpoint.role)
    questions.require_room(user.name)
    parameters, body = await _parameters(endpoint, bodies, request)
    width_chars = text_width(request.headers.get("accept", "")) if endpoint.view is not None else 0

    def answer() -> Response:
        with ExitStack() as resources:
            resources.enter_context(questions.of(user.name))
            solr = resources.enter_context(service.index.solr())
            result = endpoint.answer(ApiRequest(service, solr, user, parameters, csrf, body, width_chars > 0))
            if isinstance(result, Html):
                return result.response()
            if isinstance(result, NoContent):
                return Response(status_code=204)
            if isinstance(result, Redirect):
                return RedirectResponse(service.base_path + result.path, 303)
            form, ended, beside = JSON, None, dict[str, str]()
            if isinstance(result, Lines):
                form, ended, beside = result.media_type, result.exit_code, {**result.headers}
                result = result.lines
            if not isinstance(result, Iterator):
                return _whole(endpoint, result, width_chars)
            # Compute the first piece now, because the status can no longer be changed if a later piece fails.
            lines: Iterator[bytes] = chain([next(result, b"")], result)
            headers = {"Content-Type": form, **beside}
            if request.headers.get(MARKED):
                lines, headers[MARKED] = marked(lines, ended), "end"
            pieces = closing_after(lines, resources.pop_all())
            walked = by_turns(pieces, questions.walking) if endpoint.walks else pieces
            return StreamingResponse(walked, endpoint.status, headers)

    if endpoint.writes or endpoint.role > Role.LINEAGE_VIEWER:
        word = "read requested" if endpoint.method == "GET" else _WORDS[endpoint.role]
        audit(endpoint.logged or word, request, user.name)
    if endpoint.walks:
        async with questions.walk_turns.turn(user.name):
            return await questions.walking.run(answer)
    async with questions.turns.turn(user.name):
        return await to_thread.run_sync(answer, limiter=questions.limiter)


def _whole(endpoint: Endpoint, answered: Any, width_chars: int) -> Response:
    """Return a response in one piece: as text if ``width_chars`` is not 0, else as JSON."""
    form = endpoint.form(answered)
    if endpoint.view is None:
        return json_answer(form, endpoint.status)
    response = (
        text_answer(endpoint.view(answered), width_chars)
        if width_chars
        else json_answer(form, endpoint.status)
    )
    response.headers[EXIT_CODE] = str(exit_code(form))
    return response


def marked(pieces: Iterable[bytes], ended: Callable[[], int] | None) -> Iterator[bytes]:
    """Yield the pieces, then a mark that contains the command's exit code. A response without the mark was cut off,
    which HTTP alone does not always show."""
    yield from pieces
    yield END_MARK % (ended() if ended else 0)


def closing_after(pieces: Iterator[bytes], resources: ExitStack) -> Iterator[bytes]:
    """Return an iterator over the pieces. It closes ``resources`` after the last piece, or as soon as the iterator is
    dropped, even before the first piece."""

    def sent() -> Iterator[bytes]:
        with resources:
            yield b""
            yield from pieces

    begun = sent()
    # A generator runs its cleanup when dropped only if it has started.
    next(begun)
    return begun


async def by_turns(pieces: Iterator[bytes], walking: Walking) -> AsyncIterator[bytes]:
    """Yield the pieces, computed in turns of `TURN_S`, because most of a walk may come after the first piece. The
    pieces of one turn are joined. With a turn for each piece, a long response would never end while others are
    computed."""
    ended = False

    def some() -> bytes:
        nonlocal ended
        until_s, made = time.monotonic() + TURN_S, list[bytes]()
        for piece in pieces:
            made.append(piece)
            if time.monotonic() >= until_s:
                break
        else:
            ended = True
        return b"".join(made)

    while not ended:
        yield await walking.run(some)


_WORDS: Final = {
    Role.LINEAGE_VIEWER: "edit requested",
    Role.METADATA_ADMINISTRATOR: "edit requested",
    Role.ADMINISTRATOR: "run requested",
}
"""Required role → log event, for requests that change something."""


async def _parameters(endpoint: Endpoint, bodies: Bodies, request: Request) -> tuple[Any, Any]:
    """Return the parameters, and the body as in `ApiRequest.body`."""
    query, in_path, user = request.scope["query_string"], request.path_params, request.state.user.name
    if endpoint.method in ("GET", "DELETE"):
        return await bodies.parse(user, len(query), partial(_read, endpoint, query, in_path, b""))
    async with bodies.read(request, user, endpoint.most_bytes) as body:
        size_bytes = len(query) + len(body)
        return await bodies.parse(user, size_bytes, partial(_read, endpoint, query, in_path, body))


def _read(endpoint: Endpoint, query: bytes, in_path: Mapping[str, Any], body: Octets) -> tuple[Any, Any]:
    raw = query.decode("latin-1")
    if endpoint.takes_pairs:
        pairs = [*texts_of(raw), *texts_of(body.decode("latin-1"))]
        return from_query(endpoint.parameters, [*in_path.items()]), pairs
    given = [*texts_of(raw, lenient=endpoint.lenient), *in_path.items()]
    if endpoint.method in ("GET", "DELETE"):
        return from_query(endpoint.parameters, given), None
    if endpoint.takes_form:
        return from_query(endpoint.parameters, texts_of(body.decode("utf-8", "replace"))), None
    read = json_of(body, endpoint.most_values)
    if endpoint.takes_body:
        if not body and endpoint.method == "PUT":
            raise HttpError(400, "the body is missing: send what is to be written, as JSON")
        return from_query(endpoint.parameters, given), read
    if endpoint.lenient:
        return from_both(endpoint.parameters, given, read), None
    if raw:
        # Query parameters are refused. If they were ignored, a dry_run=true among them would start a real run.
        names = ", ".join(dict.fromkeys(name for name, _ in texts_of(raw))) or raw
        raise HttpError(400, f"send parameters in the JSON body, not in the address: {names:.200}")
    return from_json(endpoint.parameters, read), None


# -- Errors --------------------------------------------------------------------------------------------------------------


async def _as_page(
    pages: Pages | None,
    answer: Callable[[Request, Any], Awaitable[Response]],
    request: Request,
    error: Exception,
) -> Response:
    """Return an error as JSON, or as a page if a browser requests one."""
    response = await answer(request, error)
    if pages is None or not wants_page(request):
        return response
    more = orjson.loads(bytes(response.body))
    page = pages.error(request, response.status_code, more.pop("message"), more)
    if again := response.headers.get("retry-after"):
        page.headers["Retry-After"] = again
    return page


async def _refused(_request: Request, refusal: Refusal) -> Response:
    return error_answer(refusal.status, str(refusal), **refusal.more)


async def _http_error(request: Request, error: HTTPException) -> Response:
    nothing = why_not(request.url.path) or "page not found"
    words = {404: nothing, 405: "this address does not support that method"}
    headers = dict(error.headers or {})
    if error.status_code == 405:
        # Starlette names only the methods of the first matching route.
        routes = (each for each in request.app.routes if each.matches(request.scope)[0] is not Match.NONE)
        headers["Allow"] = ", ".join(sorted({method for each in routes for method in each.methods or ()}))
    return error_answer(error.status_code, words.get(error.status_code, error.detail), headers)


async def _solr_error(_request: Request, error: SolrError) -> Response:
    if isinstance(error, SolrUnavailable):
        return error_answer(503, f"the index does not answer: {error}", {"Retry-After": "5"})
    return await _unforeseen(_request, error)


async def _too_many_conflicts(_request: Request, error: Exception) -> Response:
    return error_answer(503, f"{error}: try again", {"Retry-After": "1"})


async def _unforeseen(request: Request, error: Exception) -> Response:
    """Log the error, and respond with the number under which the log has it."""
    number = uuid.uuid4().hex[:12]
    log.error("request failed", number=number, path=request.url.path, exc_info=error)
    return error_answer(500, f"internal error; see reference {number} in navlin's log")


# -- Around every request ------------------------------------------------------------------------------------------------


class _Pieces:
    """Sends every response in pieces of at most `PIECE_BYTES`. The server waits after each piece until the peer has read
    enough; without the pieces it would copy a whole response first."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_pieces(message: Message) -> None:
            body = message.get("body", b"")
            last = max(0, len(body) - 1) // PIECE_BYTES * PIECE_BYTES
            for at in range(0, last, PIECE_BYTES):
                await send({**message, "body": body[at : at + PIECE_BYTES], "more_body": True})
            await send({**message, "body": body[last:]} if last else message)

        await self.app(scope, receive, send_pieces if scope["type"] == "http" else send)


class _Headers:
    """Adds the security headers to every response."""

    def __init__(self, app: ASGIApp, tls: bool) -> None:
        headers = {**SECURITY_HEADERS, **({"Strict-Transport-Security": "max-age=31536000"} if tls else {})}
        self.app = app
        self.headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = message.get("headers", [])
                named = {name.lower() for name, _ in given}
                # A page sets its own policy, and a static file sets its own caching.
                message["headers"] = [*given, *(each for each in self.headers if each[0] not in named)]
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class _StrippedPaths:
    """Strips a proxy's prefix and a trailing slash from each path. Clients send paths with and without the slash."""

    def __init__(self, app: ASGIApp, base_path: str) -> None:
        self.app, self.base_path = app, base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path: str = scope["path"]
            if self.base_path and (path + "/").startswith(self.base_path + "/"):
                path = path[len(self.base_path) :]
            scope = {**scope, "path": path.rstrip("/") or "/"}
        await self.app(scope, receive, send)
