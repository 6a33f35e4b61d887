"""Plan and read a bucket as the pipeline does, without an index."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest

from extractors.s3 import S3
from navlin.model.plan import Plan, Positions
from navlin.model.records import Entity, Listing, Position, Record, Reject, Split
from navlin.model.source import Estate, Source, source_id

BUCKET = "lake"
SOURCE = Source(source_id("c", "S3-1"), "S3", "S3-1", "c", (f"s3://{BUCKET}",), f"s3://{BUCKET}")
ESTATE = Estate("c", (SOURCE,))
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "not-a-real-one",
    "AWS_CONFIG_FILE": "/nowhere",
    "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
    "AWS_EC2_METADATA_DISABLED": "true",
}
AT_MS = 1_800_000_000_000


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials for a stub, in the environment, and none of this machine's. Modules that import this use it."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_PROFILE", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def settings_of_credentials(folder: Path) -> dict[str, Any]:
    """Write credentials for a stub into a folder. Return the settings of an extractor that uses them, and no other ones,
    in any process, such as one whose environment was set earlier.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "s3-credentials"
    key_id, secret = ENVIRONMENT["AWS_ACCESS_KEY_ID"], ENVIRONMENT["AWS_SECRET_ACCESS_KEY"]
    file.write_text(f"[stub]\naws_access_key_id = {key_id}\naws_secret_access_key = {secret}\n")
    return {"profile": "stub", "credentials_file": str(file)}


def extractor(endpoint: str, **settings: Any) -> S3:
    return S3(SOURCE, ESTATE, BUCKET, endpoint, timeout_s=5.0, **settings)


@dataclass
class Round:
    """The records and positions of one plan."""

    plan: Plan
    records: list[Record] = field(default_factory=list)
    splits: list[Split] = field(default_factory=list)

    @property
    def rejects(self) -> list[Reject]:
        return [each for each in self.records if isinstance(each, Reject)]

    @property
    def rows(self) -> dict[str, dict[str, Any]]:
        """Path → the fields that have a value, with ``type`` and ``as_of_ms``. The latest of several rows counts; rows of
        the same time must be the same.
        """
        rows: dict[str, dict[str, Any]] = {}
        for record in self.records:
            for path, row in rows_of(record):
                known = rows.get(path)
                if known is not None and known["as_of_ms"] == row["as_of_ms"]:
                    assert known == row
                elif known is None or known["as_of_ms"] < row["as_of_ms"]:
                    rows[path] = row
        return rows

    @property
    def kinds(self) -> dict[str, str]:
        """Path → FILE, DIRECTORY or S3BUCKET; in order of the paths."""
        return {path: row["type"] for path, row in sorted(self.rows.items())}

    @property
    def repeated(self) -> dict[str, int]:
        """Path → number of rows, for the files that have more than one."""
        paths = [path for each in self.records for path, row in rows_of(each) if row["type"] == "FILE"]
        return {path: count for path, count in Counter(paths).items() if count > 1}


def rows_of(record: Record) -> list[tuple[str, dict[str, Any]]]:
    match record:
        case Entity(key=key, attributes=attributes, as_of_ms=as_of_ms):
            return [(key.tree_path, {"type": key.type.value, "as_of_ms": as_of_ms, **attributes})]
        case Listing():
            return [(path, _row(record, at)) for at, path in enumerate(record.paths)]
    return []


def _row(listing: Listing, at: int) -> dict[str, Any]:
    values = {name: column[at] for name, column in listing.attributes.items()}
    kind = "DIRECTORY" if listing.directories[at] else "FILE"
    return {
        "type": kind,
        "as_of_ms": listing.as_of_ms,
        **{name: value for name, value in values.items() if value is not None and value != ""},
    }


@dataclass
class Rounds:
    """Reads a bucket again and again, with the positions that were saved."""

    extractor: S3
    saved: dict[str, Any] = field(default_factory=dict)

    def run(self, now_ms: int = AT_MS, *, complete: bool = False) -> Round:
        """Plan, read everything, and save the positions."""
        done = Round(self.extractor.plan(Positions(dict(self.saved), now_ms, complete)))
        waiting = list(done.plan.splits)
        positions: list[Position] = []
        while waiting:
            split = waiting.pop(0)
            done.splits.append(split)
            for record in self.extractor.read(split):
                match record:
                    case Split():
                        waiting.append(record)
                    case Position():
                        positions.append(record)
                    case _:
                        done.records.append(record)
        for position in (*positions, *done.plan.positions):
            if position.value is None:
                self.saved.pop(position.key, None)
            else:
                self.saved[position.key] = orjson.loads(orjson.dumps(position.value))
        return done
