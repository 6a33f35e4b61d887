"""The form of answers: JSON to the letter, and errors that are a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.responses import Response

JSON = "application/json"
CSV = "text/csv; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Table:
    """An answer as lines of CSV, sent as they come."""

    lines: Iterator[bytes]


class Problem(Exception):
    """Ends a request with a status of HTTP and a sentence; ``more`` stands beside it in the answer."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.more = status, message, more


def json_answer(answer: Any, status: int = 200) -> Response:
    """An answer. Clients of Navigator's take nothing but ``application/json``, without a character set."""
    # What people wrote and what sources had may hold half of a pair of surrogates, which is no UTF-8.
    try:
        body = orjson.dumps(answer)
    except TypeError:
        body = orjson.dumps(_mended(answer))
    return Response(body, status, {"Content-Type": JSON})


def error_answer(
    status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """An error: ``message``, and what else there is to say."""
    response = json_answer({"message": message, **more}, status)
    response.headers.update(headers or {})
    return response


def _mended(value: Any) -> Any:
    match value:
        case str():
            return value.encode("utf-8", "replace").decode()
        case Mapping():
            return {_mended(str(key)): _mended(each) for key, each in value.items()}
        case list() | tuple():
            return [_mended(each) for each in value]
    return value
