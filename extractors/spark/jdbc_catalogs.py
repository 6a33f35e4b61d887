"""Find the JDBC catalogues of an application: their databases, and the catalogue to which a printed table belongs.

``JDBCTable(app.people,…,…JDBCOptions@7bd1215b,…)`` does not name the catalogue. The number is a hash of the table's
options, which consist of the catalogue's options and the table's name. The settings of a catalogue therefore show
whether the table belongs to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from extractors.spark.plan.jdbc import CATALOG_CLASS
from navlin.model.databases import Database, database_of

MAX_CATALOGS: Final = 50
_PRINTED: Final = re.compile(r"\((?P<table>[^()]+), (?P<hash>[0-9a-f]{1,8})\)$")
_QUOTES: Final = (('"', '"'), ("`", "`"), ("[", "]"))
_BITS: Final = 0xFFFFFFFF
_PRODUCT, _PREFIX, _MAP = 0xCAFEBABE, "Tuple2", "Map"
"""Start values of Scala's hashes. The first two are for a pair (2.12 omits the second), the third is for a map."""


@dataclass(frozen=True, slots=True)
class JdbcCatalog:
    """A JDBC catalogue. ``options`` holds the contribution of its settings to the hash of a table's options, for Scala
    2.13 and for 2.12; () if a setting is redacted in the log.
    """

    name: str
    database: Database
    options: tuple[tuple[int, ...], ...] = ()

    def has(self, printed: str) -> bool:
        """Whether a printed table belongs to the catalogue, that is, whether the hash of the table's options matches."""
        match = _PRINTED.search(printed)
        if match is None:
            return False
        parts = match["table"].split(".")
        tables = (".".join(f"{begin}{part}{end}" for part in parts) for begin, end in _QUOTES)
        wanted = int(match["hash"], 16)
        return any(
            _finished(_added(sums, "dbtable", table, prefixed=prefixed)) == wanted
            for table in tables
            for sums, prefixed in zip(self.options, (True, False), strict=False)
        )


def jdbc_catalogs(properties: Mapping[str, Any], prefix: str, blanked: str) -> tuple[JdbcCatalog, ...]:
    """Return the JDBC catalogues in Spark's properties. A value is unknown if it contains ``blanked``."""
    spark = {key: value for key, value in properties.items() if isinstance(value, str)}
    found = []
    for name in sorted(
        key for key, value in spark.items() if key.startswith(prefix) and value.strip() == CATALOG_CLASS
    ):
        own = {
            key.removeprefix(f"{name}."): value for key, value in spark.items() if key.startswith(f"{name}.")
        }
        known = not any(blanked in value for value in own.values())
        url = next((value for key, value in own.items() if key.lower() == "url"), "")
        sums = tuple(_sums(own, prefixed=prefixed) for prefixed in (True, False)) if known else ()
        database = database_of("" if blanked in url else url)
        found.append(JdbcCatalog(name.removeprefix(prefix), database, sums))
    return tuple(found[:MAX_CATALOGS])


def restored(saved: Iterable[Any]) -> tuple[JdbcCatalog, ...]:
    """Return catalogues restored from JSON."""
    return tuple(
        JdbcCatalog(each["name"], Database(*each["database"]), tuple(map(tuple, each["options"])))
        for each in saved
    )


# -- Scala's hash of a map (MurmurHash3) ---------------------------------------------------------------------------------


def _sums(options: Mapping[str, str], *, prefixed: bool) -> tuple[int, ...]:
    sums: tuple[int, ...] = (0, 0, 1, 0)
    for name, value in options.items():
        sums = _added(sums, name.lower(), value, prefixed=prefixed)
    return sums


def _added(sums: tuple[int, ...], name: str, value: str, *, prefixed: bool) -> tuple[int, ...]:
    """Return the sum, the XOR, the product and the count of a map's pairs after adding another pair. With
    ``prefixed``, the pair is hashed as in Scala 2.13.
    """
    words = [_of_text(_PREFIX)] if prefixed else []
    pair = _ended(_mixed(_PRODUCT, *words, _of_text(name), _of_text(value)), 2)
    total, either, product, count = sums
    factor = pair | 1 if prefixed else pair or 1
    return (total + pair) & _BITS, either ^ pair, product * factor & _BITS, count + 1


def _finished(sums: tuple[int, ...]) -> int:
    total, either, product, count = sums
    return _ended(_mixed(_of_text(_MAP), total, either) ^ _scattered(product), count)


def _of_text(text: str) -> int:
    """Return Java's hash of a string."""
    units, found = text.encode("utf-16-be", "surrogatepass"), 0
    for place in range(0, len(units), 2):
        found = (31 * found + int.from_bytes(units[place : place + 2], "big")) & _BITS
    return found


def _turned(value: int, bits: int) -> int:
    return ((value << bits) | (value >> (32 - bits))) & _BITS


def _scattered(value: int) -> int:
    return _turned(value * 0xCC9E2D51 & _BITS, 15) * 0x1B873593 & _BITS


def _mixed(value: int, *words: int) -> int:
    for word in words:
        value = (_turned(value ^ _scattered(word), 13) * 5 + 0xE6546B64) & _BITS
    return value


def _ended(value: int, count: int) -> int:
    value ^= count
    value = (value ^ value >> 16) * 0x85EBCA6B & _BITS
    value = (value ^ value >> 13) * 0xC2B2AE35 & _BITS
    return value ^ value >> 16
