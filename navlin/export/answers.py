"""Checks that a response comes from the target's server. A request is not confirmed by an HTML page, by content of
another shape, or by a response that lacks names of sent records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NoReturn

import orjson
import requests

MESSAGE_CHARS: Final = 500
TOO_LARGE: Final = frozenset({413, 414, 431})
"""Statuses for a request that is too large. A proxy may send such a status with an HTML page. It concerns only that
request, not the whole export."""


class Unavailable(Exception):
    """The server cannot be reached, or does not accept requests now. Sending the same request later may help."""


class NotConfirmed(Unavailable):
    """The response does not come from the target but from a log-in page, a proxy or another server."""


def message_of(answer: requests.Response) -> str:
    """Return the status and the message of a response, on one line, for an error message."""
    return f"HTTP {answer.status_code}: " + (
        " ".join(answer.text.split())[:MESSAGE_CHARS] or str(answer.reason)
    )


def is_page(answer: requests.Response) -> bool:
    kind = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    return kind in ("text/html", "application/xhtml+xml") or answer.content.lstrip()[:1] == b"<"


def not_confirmed(answer: requests.Response, wanted: str) -> NoReturn:
    """Raise `NotConfirmed`, quoting the response. ``wanted`` names the expected content."""
    kind = answer.headers.get("Content-Type") or "no content type"
    raise NotConfirmed(
        f"{answer.url.partition('?')[0]} did not answer with {wanted} but with {message_of(answer)} ({kind}): correct the"
        " address, or let navlin pass the log-in page or proxy in front of it"
    )


def object_of(answer: requests.Response, wanted: str) -> dict[str, Any]:
    """Return the JSON object in a response. Raises `NotConfirmed` for anything else; ``wanted`` names the expected
    content."""
    try:
        found = orjson.loads(answer.content)
    except orjson.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        not_confirmed(answer, wanted)
    return found


def all_named(answer: requests.Response, wanted: Iterable[str], confirmed: Iterable[str], what: str) -> None:
    """Raise `NotConfirmed` unless ``confirmed`` includes every name in ``wanted``. ``what`` is the kind of
    confirmation, for the message."""
    missing = sorted(set(wanted) - set(confirmed))
    if missing:
        not_confirmed(answer, f"{what} of everything that was sent ({len(missing)} missing)")
