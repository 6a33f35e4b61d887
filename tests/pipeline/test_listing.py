"""A listing of many files in columns produces the same documents as a separate entity for each file."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from navlin.index.schema.envelope import Envelope
from navlin.index.write.documents import entity_envelope, implied_relation
from navlin.index.write.listing import listing_envelopes
from navlin.model.keys import EntityType, listed_path_key
from navlin.model.records import Entity, Listing
from navlin.model.source import Source

HDFS = Source("0123", "HDFS", "HDFS-1", "c")
NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1, max_size=12)
MOMENTS_MS = st.none() | st.integers(0, 2**42) | st.sampled_from([-(2**60), 2**60, 253_402_300_799_999])
ROWS = st.fixed_dictionaries(
    {
        "path": st.lists(NAMES, max_size=5).map(lambda names: "/" + "/".join(names)),
        "directory": st.booleans(),
        "size": st.none() | st.integers(0, 2**62),
        "replication": st.none() | st.integers(0, 512),
        "owner": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        "lastModified": MOMENTS_MS,
        "inodeId": st.integers(0, 2**40),
        "underConstruction": st.none() | st.just(True),
        "acl": st.none() | st.lists(st.sampled_from(["user:a:r--", 'group:"b":rwx']), max_size=2),
        "lastAccessed": MOMENTS_MS,
        "description": st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    }
)
TYPES = {
    "size": pa.int64(),
    "replication": pa.int32(),
    "owner": pa.string(),
    "lastModified": pa.int64(),
    "inodeId": pa.int64(),
    "underConstruction": pa.bool_(),
    "acl": pa.list_(pa.string()),
    "description": pa.string(),
}


def one_by_one(rows: list[dict[str, Any]]) -> list[Envelope]:
    return [
        entity_envelope(
            Entity(
                listed_path_key(
                    HDFS, row["path"], EntityType.DIRECTORY if row["directory"] else EntityType.FILE
                ),
                7,
                {name: row[name] for name in TYPES},
                {"lastAccessed": row["lastAccessed"]},
            )
        )
        for row in rows
    ]


def as_columns(rows: list[dict[str, Any]], *, dictionaries: bool = False) -> list[Envelope]:
    attributes = {name: pa.array([row[name] for row in rows], type) for name, type in TYPES.items()}
    if dictionaries:
        attributes["owner"] = attributes["owner"].dictionary_encode()
    listing = Listing(
        HDFS,
        7,
        [row["path"] for row in rows],
        [row["directory"] for row in rows],
        attributes,
        {"lastAccessed": pa.array([row["lastAccessed"] for row in rows], pa.int64())},
    )
    batches = listing_envelopes(listing)
    return [Envelope(**row) for batch in batches for row in batch.to_pylist()]


@given(st.lists(ROWS, max_size=20), st.booleans())
def test_a_listing_equals_its_rows_one_by_one(rows: list[dict[str, Any]], dictionaries: bool) -> None:
    columns, rows_alone = as_columns(rows, dictionaries=dictionaries), one_by_one(rows)

    assert [each._replace(document=b"", volatile=b"") for each in columns] == [
        each._replace(document=b"", volatile=b"") for each in rows_alone
    ]
    assert [each.fields() for each in columns] == [each.fields() for each in rows_alone]


def test_a_row_implies_a_relation_to_its_directory() -> None:
    row = dict.fromkeys(TYPES) | {"path": "/a/b", "directory": False, "lastAccessed": None}

    [envelope] = as_columns([row])

    above = listed_path_key(HDFS, "/a", EntityType.DIRECTORY)
    _, relation = implied_relation(envelope)
    assert relation["endpoint1Ids"] == [above.identity]
    assert (relation["type"], relation["endpoint1Type"], relation["endpoint2Type"]) == (
        "PARENT_CHILD",
        "DIRECTORY",
        "FILE",
    )


def test_a_long_listing_is_split_into_batches_in_order() -> None:
    paths = [f"/d/{at}" for at in range(10_001)]

    batches = list(listing_envelopes(Listing(HDFS, 1, paths, [False] * len(paths))))

    assert len(batches) == 3
    assert [path for batch in batches for path in batch["tree_path"].to_pylist()] == paths
