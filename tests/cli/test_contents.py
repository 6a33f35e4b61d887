"""The totals of a directory's contents are kept until the next image, whatever else is read about the directory in
between.
"""

from __future__ import annotations

from typing import Any

import pytest

from navlin.index.graph.entity import LastRead, StoredEntity
from navlin.index.graph.graph import Graph
from navlin.index.graph.state import look_up
from navlin.index.schema.fields import ELEMENTS
from navlin.index.schema.stamp import Stamp
from navlin.index.solr.solr import Solr
from navlin.index.usage.contents import Content, contents_at
from navlin.index.usage.readers import LocationPath
from navlin.index.write.documents import entity_envelope
from navlin.index.write.graph_changes import GraphChanges
from navlin.index.write.renames import read_renames
from navlin.index.write.rewriting import flag_deleted, rewrite
from navlin.index.write.writing import Outcome, outcome_of, write
from navlin.model.keys import path_key
from navlin.model.records import Entity
from navlin.model.source import HDFS, Source, source_id

IMAGE = {
    "contentFiles": 2,
    "contentSize": 30,
    "contentSpace": 90,
    "contentModified": 1_000,
    "contentAccessed": 2_000,
}
CONTENT = Content(2, 30, 90, 1_000, 2_000)


class Directory:
    def __init__(self, solr: Solr, name: str) -> None:
        self.solr, self.now_ms = solr, 1_000_000
        source = Source(source_id("contents", name), HDFS, name, "contents")
        self.key = path_key(source, "/kept")
        self.place = LocationPath(source.id, "/kept")

    def read(self, **attributes: Any) -> Outcome:
        self.now_ms += 1_000
        stamp = Stamp(f"run##{self.now_ms}", self.now_ms)
        envelope = entity_envelope(Entity(self.key, self.now_ms, {"owner": "ann", **attributes}))
        held = look_up(self.solr, ELEMENTS, [self.key.identity]).get(self.key.identity)
        outcome = outcome_of(
            envelope, held, covered_as_of_ms=0, follows_events=False, purged_before_ms=0, stamp=stamp
        )
        list(write(self.solr, ELEMENTS, [(envelope, outcome)], stamp))
        self.solr.commit(ELEMENTS, soft=True)
        return outcome

    def drop(self) -> None:
        self.now_ms += 1_000
        stamp = Stamp(f"run##{self.now_ms}", self.now_ms)
        list(
            rewrite(
                self.solr, ELEMENTS, [self.key.identity], lambda each: flag_deleted(each, stamp, self.now_ms)
            )
        )
        self.solr.commit(ELEMENTS, soft=True)

    @property
    def content(self) -> Content | None:
        return contents_at(Graph(self.solr), [self.place]).get(self.place)


@pytest.fixture
def directory(solr: Solr, request: pytest.FixtureRequest) -> Directory:
    return Directory(solr, request.node.name)


def test_rereading_the_directory_alone_keeps_its_content_sums(directory: Directory) -> None:
    assert directory.read(**IMAGE) == Outcome.NEW
    assert directory.content == CONTENT
    assert directory.read(permissions="rwx") == Outcome.CHANGED
    assert directory.content == CONTENT


def test_the_next_image_rewrites_the_sums_only_if_they_changed(directory: Directory) -> None:
    directory.read(**IMAGE)
    assert directory.read(**IMAGE) == Outcome.UNCHANGED
    assert directory.read(**{**IMAGE, "contentAccessed": 9_000}) == Outcome.CHANGED
    assert directory.content == Content(2, 30, 90, 1_000, 9_000)
    # The directory is now empty, so no times remain.
    directory.read(contentFiles=0, contentSize=0, contentSpace=0)
    assert directory.content == Content()


def test_a_recreated_directory_has_no_sums(directory: Directory) -> None:
    directory.read(**IMAGE)
    directory.drop()
    assert directory.content is None
    directory.read()
    assert directory.content is None


def test_content_sums_and_the_last_read_move_with_a_rename(
    directory: Directory,
) -> None:
    directory.read(**IMAGE)
    changes, identity = GraphChanges(directory.solr), directory.key.identity
    changes.change_entities([identity], lambda each: each.with_last_read(LastRead(5_000, "bob", 6_000)))
    moved = read_renames(directory.solr, directory.place.source_id, "run", [("/kept", "/new")])
    taken = StoredEntity.of({"identity": "new", **moved.values["/new"]})
    assert taken.last_read == LastRead(5_000, "bob", 6_000)
    assert taken.document["contentSize"] == 30
    (before,) = directory.solr.get(ELEMENTS, [identity])
    assert not any(name.startswith(("content", "lastRead")) for name in moved.at("/kept", before) or {})
