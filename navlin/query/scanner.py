"""Scanner for queries: words, numbers, quoted texts, ranges and local parameters.

Escapes are Lucene's. Malformed text is refused with its position in the query as typed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from navlin.index.search.query_tree import Boost, Range, Wild
from navlin.model.refusal import Refusal

SPACE: Final = frozenset(" \t\r\n\u3000")
_SPECIAL = frozenset(' \t\r\n\u3000()[]{}":^~')
_LOCAL_PARAM = re.compile(
    r"""\s*(?:(?P<key>[\w.]+)\s*=\s*)?(?P<value>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s}'"=]+)""", re.DOTALL
)
_NUMBER = re.compile(r"\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}", re.ASCII)
_TO = re.compile(r"to(?=[ \t\r\n\u3000\"])", re.IGNORECASE)


class QueryError(Refusal):
    """The query cannot be understood. ``message`` describes the problem, ``position`` is the position in the query (in
    characters from 0; -1 if unknown)."""

    def __init__(self, message: str, position: int = -1) -> None:
        super().__init__(message, position)
        self.message, self.position = message, position

    def __str__(self) -> str:
        return self.message if self.position < 0 else f"{self.message}, at character {self.position + 1}"


@dataclass(slots=True)
class Scanner:
    """A query and the position up to which it is read."""

    query: str
    at: int = 0

    def refuse(self, message: str, at: int) -> NoReturn:
        """Raise `QueryError`."""
        raise QueryError(message, at)

    # -- Words and texts -----------------------------------------------------------------------------------------------

    def read_parts(self, *, value: bool) -> tuple[str | Wild, ...]:
        """Read a word, resolving escapes. In a value, a colon is an ordinary character, because it cannot mean anything
        else."""
        parts: list[str | Wild] = []
        text: list[str] = []
        while self.at < len(self.query):
            char = self.query[self.at]
            if char == "\\":
                text.append(self.read_escape())
                continue
            if char in _SPECIAL and not (value and char == ":"):
                break
            self.at += 1
            if char not in "*?":
                text.append(char)
                continue
            if text:
                parts.append("".join(text))
                text.clear()
            if char == "?" or parts[-1:] != [Wild.MANY]:
                parts.append(Wild(char))
        if text:
            parts.append("".join(text))
        return tuple(parts)

    def read_escape(self) -> str:
        """Read a backslash and the escaped character; ``\\u0041`` is one character, as in Lucene."""
        start = self.at
        if start + 1 >= len(self.query):
            self.refuse("a backslash must be followed by a character", start)
        code = self.query[start + 2 : start + 6]
        if self.query[start + 1] == "u" and re.fullmatch(r"[0-9A-Fa-f]{4}", code):
            self.at += 6
            char = chr(int(code, 16))
            if "\ud800" <= char <= "\udfff":
                self.refuse("half of a surrogate pair is not a character", start)
            return char
        self.at += 2
        return self.query[start + 1]

    def read_quoted(self) -> str:
        """Read a text in quotation marks, resolving escapes."""
        start = self.at
        self.at += 1
        text: list[str] = []
        while self.at < len(self.query):
            char = self.query[self.at]
            if char == "\\" and self.at + 1 < len(self.query):
                text.append(self.read_escape())
                continue
            self.at += 1
            if char == '"':
                return "".join(text)
            text.append(char)
        raise QueryError("a quotation mark is not closed", start)

    def read_range(self) -> Range:
        """Read ``[from TO to]``, with braces for an excluded bound."""
        start = self.at
        self.at += 1
        low = self._read_bound(start)
        if not _TO.match(self.query, self.at):
            self._refuse_range(start)
        self.at += 2
        high = self._read_bound(start)
        if self.at >= len(self.query) or self.query[self.at] not in "]}":
            self._refuse_range(start)
        self.at += 1
        return Range(low, high, self.query[start] == "[", self.query[self.at - 1] == "]")

    def _read_bound(self, opened: int) -> str | None:
        self.skip_space()
        start = self.at
        if self.query.startswith('"', start):
            text: str | None = self.read_quoted()
        else:
            read: list[str] = []
            while self.at < len(self.query) and self.query[self.at] not in SPACE | {"]", "}", '"'}:
                if self.query[self.at] == "\\":
                    read.append(self.read_escape())
                else:
                    read.append(self.query[self.at])
                    self.at += 1
            if self.at == start:
                self._refuse_range(opened)
            text = None if self.query[start : self.at] == "*" else "".join(read)
        self.skip_space()
        return text

    def _refuse_range(self, start: int) -> NoReturn:
        closed = any(char in self.query[start:] for char in "]}")
        self.refuse("a range must have the form [from TO to]" if closed else "a range is not closed", start)

    def skip_space(self) -> None:
        while self.at < len(self.query) and self.query[self.at] in SPACE:
            self.at += 1

    # -- Numbers -------------------------------------------------------------------------------------------------------

    def read_distance(self, *, words: bool) -> str:
        """Read ``~2`` after a word or a phrase. Return "~" if it has no number, "" if there is no distance."""
        if not self.query.startswith("~", self.at):
            return ""
        start = self.at
        self.at += 1
        number = self.read_number()
        if not words and not number.isdigit():
            self.refuse('a phrase\'s distance must be a whole number, as in "a b"~2', start)
        if words and "." in number and not number.startswith("0."):
            self.refuse("a word's distance must be 0, 1 or 2, as in name~1", start)
        return number or "~"

    def read_boost(self) -> Boost | None:
        """Read ``^2`` or ``^=2`` after a clause; None if there is no boost."""
        if self.query.startswith("~", self.at):
            self.refuse("a distance must follow a word or a phrase", self.at)
        if not self.query.startswith("^", self.at):
            return None
        start = self.at
        self.at += 1
        constant = self.query.startswith("=", self.at)
        self.at += constant
        factor = self.read_number()
        if not factor:
            self.refuse("a boost needs a number, as in name^2", start)
        if self.query.startswith(("^", "~"), self.at):
            self.refuse(f"{self.query[self.at]!r} cannot follow a boost", self.at)
        return Boost(factor, constant)

    def read_number(self) -> str:
        """Read a decimal number; "" if there is none."""
        found = _NUMBER.match(self.query, self.at)
        if found is None:
            return ""
        self.at = found.end()
        whole, _, rest = found.group().partition(".")
        return decimal("", whole, rest)

    # -- Local parameters ----------------------------------------------------------------------------------------------

    def read_params(self) -> dict[str, str]:
        """Read ``{!parser key=value}``; the parser's name is returned under the key ``type``."""
        start = self.at
        self.at += 2
        local: dict[str, str] = {}
        while found := _LOCAL_PARAM.match(self.query, self.at):
            value, key = found["value"], found["key"] or "type"
            if value[0] in "\"'":
                value = re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL)
            elif value.startswith("$"):
                self.refuse("references to parameters are not available here", found.start("value"))
            if key in local:
                self.refuse(f"the local parameter {key} is given twice", found.start("value"))
            local[key] = value
            self.at = found.end()
        self.skip_space()
        if self.at >= len(self.query) or self.query[self.at] != "}":
            self.refuse("{! is not closed by }", start)
        self.at += 1
        return local

    def read_parser_value(self) -> str:
        """Read up to a space or an unmatched closing parenthesis; the rest of the query follows."""
        start, depth, last = self.at, 0, ""
        while self.at < len(self.query):
            char = self.query[self.at]
            if char in SPACE:
                if not depth and last != ",":
                    break
            else:
                if char == ")" and not depth:
                    break
                depth += (char == "(") - (char == ")")
                last = char
            self.at += 1
        return self.query[start : self.at].strip()


def decimal(sign: str, whole: str, rest: str) -> str:
    """Return a number without redundant zeros."""
    whole, rest = whole.lstrip("0") or "0", rest.rstrip("0")
    text = f"{whole}.{rest}" if rest else whole
    return "-" + text if sign == "-" and text != "0" else text
