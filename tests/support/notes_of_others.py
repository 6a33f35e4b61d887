"""An extractor for a folder of notes, one entity per file, as a site might write its own extractor. Tests copy it to
where navlin finds extractors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from navlin.model.extractor import PULL, Extractor, extractor
from navlin.model.keys import EntityType, path_key
from navlin.model.plan import Plan, Positions
from navlin.model.records import Covered, Entity, Record, Reject, Split
from navlin.model.source import Estate, Source


@dataclass(frozen=True, slots=True)
class Folder(Split):
    path: str
    now_ms: int

    @property
    def name(self) -> str:
        return self.path


@extractor("notes", source_type="NOTES", mode=PULL, version=1)
@dataclass(frozen=True, slots=True)
class Notes(Extractor):
    source: Source
    estate: Estate
    folder: str

    def plan(self, positions: Positions) -> Plan:
        return Plan((Folder(self.folder, positions.now_ms),), covers=(Covered("/", positions.now_ms),))

    def read(self, split: Split) -> Iterator[Record]:
        assert isinstance(split, Folder)
        for file in sorted(Path(split.path).iterdir()):
            if file.suffix != ".note":
                yield Reject(str(file), f"is no note: {file.read_text()}", sample=file.read_text())
                continue
            key = path_key(self.source, f"/{file.name}", EntityType.FILE)
            yield Entity(key, split.now_ms, {"originalDescription": file.read_text(), "paper": "vellum"})
