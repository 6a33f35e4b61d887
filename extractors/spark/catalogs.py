"""Resolve catalogues that plans print only as class and hash, such as
``org.apache.iceberg.spark.SparkCatalog@27539d45``.

CREATE TABLE, with or without AS SELECT, prints this form; reads and writes print the full name, ``local.db.t``. If an
application has only one catalogue of the class, the hash belongs to it. If it has several, a table that was created under a
single hash, and written later under its full name, shows to which catalogue the hash belongs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from extractors.spark.plan.reads import EndKind, PlanEnd
from extractors.spark.plan.writes import Write

MAX_TABLES: Final = 500
"""Maximum number of tables remembered as created, and as seen. Beyond it, catalogues stay ambiguous."""
MAX_NAME_CHARS: Final = 1_000


@dataclass(slots=True)
class Catalogs:
    """Evidence about catalogues in a log, as JSON values. ``created`` maps a printed form (class and hash) to the
    tables created under it. ``names`` maps a printed form to the name of the catalogue, "" if ambiguous. ``seen`` are
    tables read or written under their full names.
    """

    created: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def learn(
        self, writes: Iterable[Write], read: Iterable[PlanEnd], configured: Mapping[str, frozenset[str]]
    ) -> None:
        """Learn from the commands and reads of one run. ``configured`` maps a class to the names of its catalogues."""
        ends = list(read)
        for write in writes:
            if "@" in write.catalog and (name := write.end.readable if write.end else write.subject):
                # If a table of this name had already been seen in another catalogue, it would be mistaken for this
                # one.
                known = any(each.endswith(f".{name}") for each in self.seen)
                room = sum(map(len, self.created.values())) < MAX_TABLES
                if room and not known and len(write.catalog) + len(name) <= MAX_NAME_CHARS:
                    tables = self.created.setdefault(write.catalog, [])
                    tables += [name] if name not in tables else []
            elif write.moves_data and write.end:
                self._written(write.end, configured)
                ends.append(write.end)
        whole = {end.readable for end in ends if end.kind is EndKind.TABLE and "." in end.database}
        whole = {each for each in whole if len(each) <= MAX_NAME_CHARS}
        self.seen += sorted(whole - set(self.seen))[: MAX_TABLES - len(self.seen)]

    def _written(self, end: PlanEnd, configured: Mapping[str, frozenset[str]]) -> None:
        catalog, _, database = end.database.partition(".")
        if end.kind is not EndKind.TABLE or not database:
            return
        table = f"{database}.{end.name}"
        owners = [each for each, tables in self.created.items() if table in tables]
        if len(owners) == 1 and catalog in configured.get(implementation(owners[0]), ()):
            known = self.names.setdefault(owners[0], catalog)
            uncertain = [each for each, name in self.names.items() if name == catalog and each != owners[0]]
            if known != catalog or uncertain:
                self.names |= dict.fromkeys((owners[0], *uncertain), "")


def implementation(printed: str) -> str:
    """Return the class in the printed form of a catalogue."""
    return printed.partition("@")[0].partition("(")[0]
