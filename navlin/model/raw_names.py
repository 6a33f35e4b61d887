"""File names as the file system has them: bytes that may not be UTF-8, which Python represents as halves of surrogate
pairs.

Neither JSON nor Arrow accepts such a half. `stored` returns the form that navlin saves, `raw` restores the name from
that form, and `shown` returns the form for users. No name contains a NUL, so nothing else looks like the stored form.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

_ODD: Final = re.compile("[\0\ud800-\udfff]")
_STORED: Final = re.compile("\0([0-9a-f]{4})")
_HALF: Final = re.compile("[\ud800-\udfff]")


def stored(name: str) -> str:
    """Return a name in the stored form."""
    return name if name.isascii() and "\0" not in name else _ODD.sub(lambda odd: f"\0{ord(odd[0]):04x}", name)


def raw(kept: str) -> str:
    """Return the name that `stored` converted."""
    return _STORED.sub(lambda found: chr(int(found[1], 16)), kept)


def shown(name: str) -> str:
    """Return the name with an escape for each byte that is not a character: ``\\xff``."""
    return _HALF.sub(lambda half: _escape(ord(half[0])), name)


def _escape(half: int) -> str:
    return f"\\x{half - 0xDC00:02x}" if 0xDC80 <= half <= 0xDCFF else f"\\u{half:04x}"


def texts_by(form: Callable[[str], str], value: Any) -> Any:
    """Apply ``form`` to each string of a JSON value, keys included."""
    match value:
        case str():
            return form(value)
        case dict():
            return {form(key): texts_by(form, each) for key, each in value.items()}
        case list() | tuple():
            return [texts_by(form, each) for each in value]
    return value
