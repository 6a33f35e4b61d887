"""HTTP responses: JSON in exactly the shape that clients expect, HTML pages, text, and errors as a single sentence."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from rich.console import RenderableType
from starlette.responses import Response

from navlin.model.refusal import Refusal
from navlin.questions.declare.question import JSON
from navlin.render.console import CleanConsole

TEXT = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Html:
    """An HTML page. ``policy`` is its Content-Security-Policy."""

    text: str
    policy: str

    def response(self, status: int = 200) -> Response:
        headers = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": self.policy,
            # With the policy no-referrer, browsers send no origin with a form, and navlin refuses forms without an
            # origin.
            "Referrer-Policy": "same-origin",
        }
        # Text from people or sources may contain a lone surrogate, which is not valid UTF-8.
        return Response(self.text.encode("utf-8", "replace"), status, headers)


@dataclass(frozen=True, slots=True)
class NoContent:
    """A response without a body (204)."""


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirect to this path after a completed request."""

    path: str


class HttpError(Refusal):
    """Ends a request with an HTTP status and a sentence; ``more`` adds members to the JSON of the response."""

    def __init__(self, status: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.message, self.more = status, message, more


def json_answer(answer: Any, status: int = 200) -> Response:
    """Return a JSON response. Navigator's clients accept only ``application/json``, without a character set."""
    # Text from people or sources may contain a lone surrogate, which is not valid UTF-8.
    try:
        body = orjson.dumps(answer)
    except TypeError:
        body = orjson.dumps(_mended(answer))
    return Response(body, status, {"Content-Type": JSON})


def error_answer(
    status: int, message: str, headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    """Return an error response: JSON with ``message`` and the members of ``more``."""
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


# -- For people ----------------------------------------------------------------------------------------------------------

WIDTH_CHARS: Final = 160
MOST_WIDTH_CHARS: Final = 1_000
MARKED: Final = "Navlin-Mark"
"""Header of a request for an end mark after the last piece of the response, and of a response that has one."""
END_MARK: Final = b"\x00end %d\n"
UNTIL: Final = "Navlin-Until"
"""Header of an export: the run from which the next export may continue."""
EXIT_CODE: Final = "Navlin-Exit-Code"
"""Header with the exit code of the equivalent command: 0; 1 if something needs attention or was refused; 3 if nothing
was found."""
_TEXT: Final = re.compile(r"\s*text/plain\s*(?:;\s*width=(\d{1,4})\s*)?(?:[;,].*)?", re.I)


def text_width(accept: str) -> int:
    """Return the text width in characters that an ``Accept`` header requests (``text/plain; width=120``); 0 if text is
    not requested."""
    found = _TEXT.fullmatch(accept)
    return min(MOST_WIDTH_CHARS, max(20, int(found[1] or WIDTH_CHARS))) if found else 0


def text_answer(view: RenderableType, width_chars: int) -> Response:
    """Return a text response that equals the command's output, without colour."""
    out = io.StringIO()
    CleanConsole(file=out, width=width_chars, highlight=False, color_system=None).show(view)
    text = out.getvalue().encode("utf-8", "replace")
    return Response(text, headers={"Content-Type": TEXT})
