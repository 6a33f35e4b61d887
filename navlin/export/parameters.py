"""Parameters of an export, the same on the command line and over HTTP, and those that only the machine of the index
has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from navlin.export.choosing import Selection, since
from navlin.export.connection import ServerAddress
from navlin.export.name_patterns import NamePattern, patterns_of_lines
from navlin.kerberos.client import Login
from navlin.questions.declare.parameters import Typed


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters that select the entities to export."""

    query: Annotated[
        str, "Query in Solr's syntax for what is exported (default: everything).", Typed(first=True)
    ] = ""
    saved: Annotated[str, "Use this saved search instead of QUERY: NAME, or OWNER/NAME.", Typed("NAME")] = ""
    since: Annotated[
        str,
        "Only changes (including deletions) since this run or date.",
        Typed("RUN|DATE"),
    ] = ""
    filter: Annotated[
        tuple[str, ...], "A further query that results must match. Repeatable.", Typed("QUERY")
    ] = ()
    database: Annotated[
        str, "Only databases matching PATTERN, with their tables.", Typed("PATTERN", short="d")
    ] = ""
    table: Annotated[str, "Only tables matching PATTERN.", Typed("PATTERN", short="t")] = ""
    name: Annotated[
        tuple[str, ...],
        "Instead of --database and --table: DATABASE or DATABASE:TABLE, as patterns. Repeatable.",
    ] = ()
    all_executions: Annotated[bool, "All executions of an operation, not only the latest."] = False
    tables_only: Annotated[bool, "No columns."] = False
    no_texts: Annotated[bool, "Leave out texts of queries and views, and expressions."] = False
    placeholders: Annotated[
        bool, "Also export inputs and outputs that are not in the index, as placeholders."
    ] = False

    def selection(self, query: str) -> Selection:
        """Return the selection. ``query`` is the given query, or the saved one. Raises `Refusal`."""
        since_run, since_ms = since(self.since)
        return Selection(
            query,
            self.filter,
            since_run,
            since_ms,
            self.all_executions,
            self.tables_only,
            not self.no_texts,
            self.placeholders,
            tuple(self._patterns()),
        )

    def _patterns(self) -> Iterator[NamePattern]:
        if self.name:
            yield from patterns_of_lines(self.name)
        elif self.database or self.table:
            yield NamePattern(self.database, self.table)


@dataclass(frozen=True, slots=True)
class OutputParameters:
    """Parameters of the command that say where the records go."""

    out: Annotated[
        str,
        "Destination: a file, - for standard output, or the URL of the target's server, if it has one.",
        Typed("FILE"),
    ]
    file: Annotated[Path | None, "Patterns from a file of lines DATABASE:TABLE.", Typed(short="f")] = None
    position: Annotated[
        Path | None,
        "File that stores export progress (default: next to the output).",
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """Identity for a target's server. The secrets are in files."""

    user: Annotated[str, "User name on the server."] = ""
    password_file: Annotated[Path | None, "The file with that user's password."] = None
    token_file: Annotated[Path | None, "The file with a token for the server."] = None
    principal: Annotated[str, "Kerberos principal."] = ""
    keytab: Annotated[Path | None, "The keytab of that principal."] = None
    ca_file: Annotated[Path | None, "CA bundle (PEM)."] = None

    def address(self, url: str, read: Callable[[Path], str] = Path.read_text) -> ServerAddress:
        """Return the URL and the credentials. ``read`` returns the content of a file with a secret. Raises ValueError
        for a wrong URL, and the errors of ``read``."""
        password, token = (
            read(file).strip() if file is not None else "" for file in (self.password_file, self.token_file)
        )
        login = Login(self.principal, str(self.keytab)) if self.principal and self.keytab else None
        return ServerAddress(url, self.user, password, token, login, self.ca_file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending(Credentials):
    """Parameters of the command for a target that has a server."""

    follow: Annotated[
        str,
        "Only changes since the last export with this name; the first time, everything.",
        Typed("NAME"),
    ] = ""
    full: Annotated[bool, "With --follow: export everything again."] = False
