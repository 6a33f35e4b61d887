"""Checks that an answer comes from the target's server: a page, another shape or a smaller count confirms nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NoReturn

import orjson
import requests

MESSAGE_CHARS: Final = 500
TOO_LARGE: Final = frozenset({413, 414, 431})
"""A proxy answers so with a page of its own, about one request only."""


class Unavailable(Exception):
    """The server cannot be reached, or accepts nothing now: sending the same later may help."""


class NotConfirmed(Unavailable):
    """The answer is not the target's: a log-in page, a proxy or another server sent it."""


def words_of(answer: requests.Response) -> str:
    """The reason of a server that refused a request: its status, and its message on one line."""
    return f"HTTP {answer.status_code}: " + (
        " ".join(answer.text.split())[:MESSAGE_CHARS] or str(answer.reason)
    )


def is_page(answer: requests.Response) -> bool:
    """Whether an answer is a page for people."""
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return kind in ("text/html", "application/xhtml+xml") or answer.content.lstrip()[:1] == b"<"


def not_confirmed(answer: requests.Response, wanted: str) -> NoReturn:
    """Raises `NotConfirmed` with the answer's words."""
    kind = answer.headers.get("Content-Type") or "no content type"
    raise NotConfirmed(
        f"{answer.url.partition('?')[0]} did not answer with {wanted} but with {words_of(answer)} ({kind}): correct the"
        " address, or let navlin past the log-in page or proxy before it"
    )


def object_of(answer: requests.Response, wanted: str) -> dict[str, Any]:
    """The JSON object of an answer. Raises `NotConfirmed` for anything else; ``wanted`` names what was expected."""
    try:
        found = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        not_confirmed(answer, wanted)
    return found


def all_named(answer: requests.Response, wanted: Iterable[str], confirmed: Iterable[str], what: str) -> None:
    """Raises `NotConfirmed` unless everything that was sent is confirmed."""
    missing = sorted(set(wanted) - set(confirmed))
    if missing:
        not_confirmed(answer, f"{what} of everything that was sent ({len(missing)} missing)")
