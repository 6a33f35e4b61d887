"""``[[export]]`` in the configuration: targets to which changes are sent after each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from navlin.export.choosing import Selection
from navlin.export.connection import ServerAddress
from navlin.export.parameters import Credentials
from navlin.export.target import targets
from navlin.export.writing import ExportQuestion
from navlin.query.scanner import QueryError
from navlin.query.syntax import parse
from navlin.service.settings.toml_positions import KeyPath
from navlin.service.settings.typed import Complain, beside, build, named_tables, suggest


@dataclass(frozen=True, slots=True)
class ExportKeys(Credentials):
    """The keys of an ``[[export]]`` that do not depend on the target."""

    name: str
    target: str
    url: str
    query: str = ""
    all_executions: bool = False
    tables_only: bool = False
    texts: bool = True
    placeholders: bool = False

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield (key, sentence) for each problem other than a wrong type."""
        if not self.name.strip():
            yield "name", "name must not be empty"
        try:
            ServerAddress(self.url)
        except ValueError as error:
            yield "url", f"url: {error}"
        try:
            parse(self.query or "*")
        except QueryError as error:
            yield "query", str(error)
        for given, other in (("user", "password_file"), ("principal", "keytab")):
            if bool(getattr(self, given)) != bool(getattr(self, other)):
                yield given if getattr(self, given) else other, f"{given} and {other} must be set together"


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """One ``[[export]]``, with the options of its target."""

    keys: ExportKeys
    options: Any

    @property
    def name(self) -> str:
        return self.keys.name

    def question(self) -> ExportQuestion:
        """Return the target, the selection of entities, and the target's options."""
        keys = self.keys
        selection = Selection(
            keys.query,
            all_executions=keys.all_executions,
            tables_only=keys.tables_only,
            texts=keys.texts,
            placeholders=keys.placeholders,
        )
        return ExportQuestion(targets()[keys.target], selection, self.options)

    def address(self) -> ServerAddress:
        """Return the URL and the credentials of the server, reading the secrets from their files. Raises OSError and
        UnicodeDecodeError."""
        return self.keys.address(self.keys.url)


def read_exports(tables: Any, directory: Path, complain: Complain) -> tuple[ExportSettings, ...]:
    """Return the valid exports in a configuration, with relative paths resolved against a directory. Problems are
    reported to ``complain``."""
    found = [_export(table, at, complain) for at, table in named_tables("export", tables, complain)]
    return tuple(replace(each, keys=beside(directory, each.keys)) for each in found if each is not None)


def _export(table: Mapping[str, Any], at: KeyPath, complain: Complain) -> ExportSettings | None:
    common = {each.name for each in fields(ExportKeys)}
    known = {name: target for name, target in targets().items() if target.send is not None}
    kind = table.get("target")
    if isinstance(kind, str) and kind not in known:
        words = f'unknown export target "{kind}"{suggest(kind, known)} (known: {", ".join(known)})'
        complain((*at, "target"), words)
    keys = build(ExportKeys, {key: table[key] for key in table if key in common}, at, complain)
    if not isinstance(kind, str) or kind not in known:
        return None
    own = {key: table[key] for key in table if key not in common}
    options = build(known[kind].options, own, at, complain)
    return None if keys is None or options is None else ExportSettings(keys, options)
