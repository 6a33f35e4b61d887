"""``/api/forward/v1``: files of other hosts, as ``navlin forward`` sends them. For the protocol's state see
`navlin.forward.host_files`.

A response to a range is sent when the range is on the disk. 503 asks for another try, 507 says that there is no room.
No response has content of a file.
"""

from __future__ import annotations

import hashlib
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import structlog
from anyio import CapacityLimiter, to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from navlin.api.answers import HttpError, error_answer, json_answer
from navlin.api.audit import address_of
from navlin.api.bodies import Bodies, json_of
from navlin.api.hosts import FILES_BELOW, HostAddress, HostReceiver
from navlin.api.json_bounds import Octets
from navlin.api.turns import Turns
from navlin.forward.host_files import RANGE_BYTES, DoesNotFollow, HostFiles, NoRoom
from navlin.model.extractor import FILES

log = structlog.stdlib.get_logger(__name__)
T = TypeVar("T")
MOST_AT_ONCE: Final = 50
"""Maximum number of requests in progress. Many agents may report at once after a restart of navlin."""
MOST_OF_HOST: Final = 8
"""Maximum number of one host's requests in progress. An agent has one."""
THREADS: Final = 4
ALIVE_BYTES: Final = 4 << 10
MOST_NAME_CHARS: Final = 4_096
_Handler = Callable[[Request], Awaitable[Response]]
_FILE: Final = (
    ("id", "path", "inode in hex, `-`, and 8 random hex digits"),
    ("source", "query", "name of the source"),
)
LIST: Final = HostAddress(
    "GET",
    FILES_BELOW + "files",
    "List the files of this host, with sizes and BLAKE2b hashes (16 bytes, in hex) of parts of them.",
    answers=(
        (200, "`files`: for each `id`, `source`, `name`, `inode`, `size`, `gone`, `head` (hash of the first `head_bytes`) "
              "and `mark` (hash of the last 4,096 bytes)"),
    ),
)  # fmt: skip
APPEND: Final = HostAddress(
    "PUT",
    FILES_BELOW + "files/{id}",
    "Append a range of at most 4 MiB to a file, or begin a file at offset 0.",
    (
        *_FILE,
        ("offset", "query", "size of the file in bytes before this range"),
        ("X-Navlin-Mark", "header", "hash of the last 4,096 bytes before the range"),
        ("X-Navlin-Sum", "header", "hash of the body as it is sent"),
        ("Content-Encoding", "header", "`gzip`, or none"),
    ),
    (
        (200, "the range is on disk; `size` is the new size"),
        (409, "the range does not continue the file, whose `size` and `mark` follow"),
        (507, "the host has no room left"),
    ),
)
RENAME: Final = HostAddress(
    "PUT",
    FILES_BELOW + "files/{id}/name",
    "Tell the name that a file has on its host. Sources see a file only once it has a name.",
    (*_FILE, ("name", "query", "the name, perhaps with one directory")),
    ((404, "the host has sent no such file"),),
)
GONE: Final = HostAddress(
    "PUT",
    FILES_BELOW + "files/{id}/gone",
    "Tell that a file is not on its host any more.",
    _FILE,
)
ALIVE: Final = HostAddress(
    "POST",
    FILES_BELOW + "alive",
    "Heartbeat. The body is a JSON object, of at most 4 KiB.",
    (
        ("behind_bytes", "body", "bytes that are not sent yet"),
        ("behind_files", "body", "number of files that are not sent yet"),
        ("unreadable", "body", "number of files that the agent cannot read"),
        ("problem", "body", "a message for `navlin status`, of at most 500 characters"),
    ),
    ((200, "`boot` changes if navlin's machine was started again: its files are to be asked for again"),),
)
ADDRESSES: Final = (LIST, APPEND, RENAME, GONE, ALIVE)


def routes(receiver: HostReceiver, bodies: Bodies) -> list[Route]:
    forwarding = _Forwarding(receiver, receiver.files, bodies)
    handlers = {
        LIST: forwarding.listed,
        APPEND: forwarding.append,
        RENAME: forwarding.rename,
        GONE: forwarding.gone,
        ALIVE: forwarding.alive,
    }
    return [
        Route(each.path, partial(forwarding.bounded, each.path, handlers[each]), methods=[each.method])
        for each in ADDRESSES
    ]


@dataclass(slots=True)
class _Forwarding:
    receiver: HostReceiver
    files: HostFiles
    bodies: Bodies
    _in_progress: Counter[str] = field(default_factory=Counter)
    _turns: Turns = field(default_factory=lambda: Turns(THREADS // 2))
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(THREADS))

    async def bounded(self, address: str, handler: _Handler, request: Request) -> Response:
        request.state.address = address
        host = request.state.host.host
        if self._in_progress[host] >= MOST_OF_HOST or self._in_progress.total() >= MOST_AT_ONCE:
            return error_answer(503, "too much is being sent at the moment: try again", {"Retry-After": "10"})
        self._in_progress[host] += 1
        try:
            return await handler(request)
        except NoRoom as full:
            if self.receiver.is_due(host, "room"):
                log.warning("range refused", reason=str(full), host=host)
            self._refused(host, str(full))
            return error_answer(507, str(full), {"Retry-After": "60"})
        except DoesNotFollow as there:
            return json_answer({"message": str(there), "size": there.size, "mark": there.mark}, 409)
        except FileNotFoundError:
            raise HttpError(404, "there is no such file of this host") from None
        except OSError as error:
            if self.receiver.is_due(host, "error"):
                log.error("range not stored", error=str(error), host=host)
            self._refused(host, f"nothing can be stored: {error.strerror}")
            said = f"the range cannot be stored now: {error.strerror}"
            return error_answer(503, said, {"Retry-After": "30"})
        finally:
            self._in_progress[host] -= 1
            if not self._in_progress[host]:
                del self._in_progress[host]

    async def listed(self, request: Request) -> Response:
        host = request.state.host.host

        def listed() -> Response:
            self.receiver.contacts.note(host, address_of(request))
            return json_answer({"files": self.files.files(host)})

        return await self._in_thread(host, listed)

    async def append(self, request: Request) -> Response:
        source, file_id = _parameter(request, "source"), request.path_params["id"]
        host = self.receiver.require(request, source, FILES).host
        offset = _parameter(request, "offset")
        if not (offset.isascii() and offset.isdigit() and len(offset) <= 18):
            raise HttpError(400, "offset must be a number of bytes")
        mark, wanted = (request.headers.get(f"x-navlin-{name}", "") for name in ("mark", "sum"))
        encoding = request.headers.get("content-encoding", "")

        def append(body: Octets) -> Response:
            if hashlib.blake2b(body, digest_size=16).hexdigest() != wanted:
                raise HttpError(400, "the body does not have the hash that X-Navlin-Sum gives")
            data = _range(body, encoding)
            self.receiver.require_room()
            with _known_id():
                size = self.files.append(host, source, file_id, int(offset), mark, data)
            size_bytes, files = self.files.used(host)
            self.receiver.contacts.note(host, address_of(request), bytes=size_bytes, files=files)
            return json_answer({"size": size})

        async with self.bodies.read(request, host, RANGE_BYTES) as body:
            return await self._in_thread(host, partial(append, body))

    async def rename(self, request: Request) -> Response:
        source, name = _parameter(request, "source"), _parameter(request, "name")
        host = self.receiver.require(request, source, FILES).host
        if not 0 < len(name) <= MOST_NAME_CHARS:
            raise HttpError(400, f"name must have 1 to {MOST_NAME_CHARS:,} characters")
        return await self._change(
            host, partial(self.files.rename, host, source, request.path_params["id"], name)
        )

    async def gone(self, request: Request) -> Response:
        source = _parameter(request, "source")
        host = self.receiver.require(request, source, FILES).host
        return await self._change(host, partial(self.files.gone, host, source, request.path_params["id"]))

    async def alive(self, request: Request) -> Response:
        host = request.state.host.host

        def note(body: Octets) -> Response:
            told = json_of(body)
            if not isinstance(told, dict):
                raise HttpError(400, "the body must be a JSON object")
            changes: dict[str, Any] = {
                name: value
                for name in ("behind_bytes", "behind_files", "unreadable")
                if type(value := told.get(name)) is int and 0 <= value < 1 << 63
            }
            problem = told.get("problem")
            changes["problem"] = (
                "".join(each if each.isprintable() else "?" for each in problem[:500])
                if isinstance(problem, str)
                else ""
            )
            self.files.release(host)
            changes["bytes"], changes["files"] = self.files.used(host)
            now_ms = self.receiver.now_ms()
            self.receiver.contacts.note(host, address_of(request), now=True, alive_ms=now_ms, **changes)
            return json_answer({"boot": self.files.boot})

        async with self.bodies.read(request, host, ALIVE_BYTES) as body:
            return await self._in_thread(host, partial(note, body))

    async def _change(self, host: str, change: Callable[[], None]) -> Response:
        def changed() -> Response:
            with _known_id():
                change()
            return json_answer({})

        return await self._in_thread(host, changed)

    async def _in_thread(self, host: str, work: Callable[[], T]) -> T:
        async with self._turns.turn(host):
            return await to_thread.run_sync(work, limiter=self._threads)

    def _refused(self, host: str, reason: str) -> None:
        self.receiver.contacts.note(host, now=True, refused=reason, refused_ms=self.receiver.now_ms())


@contextmanager
def _known_id() -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise HttpError(400, str(error)) from None


def _range(body: Octets, encoding: str) -> Octets:
    """Return the decompressed range. Raises `HttpError`."""
    if encoding not in ("", "gzip"):
        raise HttpError(415, "a range is sent as gzip, or without an encoding")
    if not encoding:
        return body
    unpacking = zlib.decompressobj(wbits=31)
    try:
        data = unpacking.decompress(body, RANGE_BYTES + 1)
    except zlib.error as error:
        raise HttpError(400, f"the body is not valid gzip: {error}") from None
    if len(data) > RANGE_BYTES:
        raise HttpError(413, f"the range is too large: at most {RANGE_BYTES >> 20} MiB are accepted")
    if not unpacking.eof or unpacking.unused_data:
        raise HttpError(400, "the body is not valid gzip: it is not exactly one member")
    return data


def _parameter(request: Request, name: str) -> str:
    """Return a parameter of the query. Raises `HttpError` if it is missing or given twice."""
    given = request.query_params.getlist(name)
    if len(given) != 1:
        raise HttpError(400, f"{name} is missing, or given twice")
    return given[0]
