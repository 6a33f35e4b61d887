"""Merging the paths that events touch, compared with a model of a file system: reading the merged paths must give the
current state.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.hdfs.client import HdfsEvent
from extractors.hdfs.filters import PathFilters
from extractors.hdfs.touched import TouchedPaths
from navlin.model.tree import contains, parent_of


def event(kind: str, path: str, to: str = "", *, directory: bool = False) -> HdfsEvent:
    """An event as the NameNode reports it, with transaction id 0."""
    return HdfsEvent(0, kind, path, to, directory)


def merged(*events: HdfsEvent, takes: Callable[[str], bool] = lambda path: True) -> TouchedPaths:
    touched = TouchedPaths(takes)
    for each in events:
        touched.add(each)
    return touched


CREATE, CLOSE, UNLINK, RENAME, METADATA = "CREATE", "CLOSE", "UNLINK", "RENAME", "METADATA"


# -- One event after another -------------------------------------------------------------------------------------------


def test_a_written_file_is_described_once_with_its_directory() -> None:
    touched = merged(
        event(CREATE, "/a/f"), event("APPEND", "/a/f"), event(CLOSE, "/a/f"), event(METADATA, "/a/f")
    )

    assert list(touched.described()) == ["/a", "/a/f"]
    assert list(touched.gone()) == list(touched.listed()) == []


def test_a_removed_file_is_deleted_and_its_directory_described() -> None:
    touched = merged(event(CLOSE, "/a/f"), event(UNLINK, "/a/f"))

    assert list(touched.described()) == ["/a"]
    assert list(touched.gone()) == ["/a/f"]


def test_a_removed_directory_replaces_all_paths_below_it() -> None:
    touched = merged(event(CLOSE, "/a/b/f"), event(UNLINK, "/a/b/g"), event(UNLINK, "/a"))

    assert list(touched.described()) == ["/"]
    assert list(touched.gone()) == ["/a"]


def test_a_renamed_directory_is_deleted_at_its_source_and_listed_at_its_target() -> None:
    touched = merged(event(CLOSE, "/a/x/f"), event(RENAME, "/a/x", "/b/y"), event(CLOSE, "/b/y/f"))

    assert list(touched.gone()) == ["/a/x", "/b/y"]
    assert list(touched.listed()) == ["/b/y"]
    assert list(touched.described()) == ["/a", "/b"]


def test_a_directory_created_in_the_round_is_listed_as_a_whole() -> None:
    files = [event(kind, f"/out/part-{n}") for n in range(100) for kind in (CREATE, CLOSE)]
    touched = merged(event(CREATE, "/out", directory=True), *files)

    assert list(touched.listed()) == ["/out"]
    assert list(touched.described()) == ["/"]
    assert touched.places == 1


def test_a_removed_and_recreated_path_is_covered_and_read() -> None:
    touched = merged(event(UNLINK, "/a"), event(CREATE, "/a"))

    assert list(touched.gone()) == ["/a"]
    assert list(touched.described()) == ["/", "/a"]


def test_a_chain_of_renames_lists_only_its_end() -> None:
    touched = merged(event(RENAME, "/a", "/b"), event(RENAME, "/b", "/c"))

    assert list(touched.gone()) == ["/a", "/b", "/c"]
    assert list(touched.listed()) == ["/c"]


def test_an_excluded_path_is_ignored_but_its_directory_has_changed() -> None:
    takes = PathFilters(exclude=("/**/_temporary",)).takes
    touched = merged(
        event(CREATE, "/out/_temporary", directory=True),
        event(CREATE, "/out/_temporary/0/f"),
        event(RENAME, "/out/_temporary/0/f", "/out/f"),
        event(RENAME, "/in/g", "/out/_temporary/g"),
        takes=takes,
    )

    assert sorted(touched.described()) == ["/in", "/out"]
    assert sorted(touched.listed()) == ["/out/f"]
    assert sorted(touched.gone()) == ["/in/g", "/out/f"]


@pytest.mark.parametrize(
    ("sidecar", "target"),
    [("/d/.navigator", "/d"), ("/.navigator", "/"), ("/d/.f.txt.navigator", "/d/f.txt")],
)
@pytest.mark.parametrize("kind", [CLOSE, UNLINK])
def test_a_sidecar_marks_its_target_as_changed(kind: str, sidecar: str, target: str) -> None:
    assert target in list(merged(event(kind, sidecar)).described())


# -- Comparison with a model -------------------------------------------------------------------------------------------

NAMES = ("a", "b", "c")
PATHS = [
    "/" + "/".join(names)
    for names in [(x,) for x in NAMES]
    + [(x, y) for x in NAMES for y in NAMES]
    + [("a", "a", z) for z in NAMES]
]


@dataclass
class FileSystem:
    """A model of a file system. ``things`` maps each path to (whether it is a directory, stamp of its last change);
    ``events`` has the events of all changes.
    """

    things: dict[str, tuple[bool, int]] = field(default_factory=lambda: {"/": (True, 0)})
    events: list[HdfsEvent] = field(default_factory=list)
    stamp: int = 0

    def make(self, path: str, *, directory: bool) -> None:
        above = self.things.get(parent_of(path))
        here = self.things.get(path)
        if above is None or not above[0] or (here is not None and (directory or here[0])):
            return
        self._put(path, directory)
        self.events.append(event(CREATE, path, directory=directory))
        if not directory:
            self._put(path, directory)
            self.events.append(event(CLOSE, path))

    def change(self, path: str) -> None:
        if path in self.things:
            self.stamp += 1
            self.things[path] = (self.things[path][0], self.stamp)
            self.events.append(event(METADATA, path))

    def remove(self, path: str) -> None:
        if path in self.things:
            self._take(path)
            self.events.append(event(UNLINK, path))

    def rename(self, path: str, to: str) -> None:
        here, above, there = self.things.get(path), self.things.get(parent_of(to)), self.things.get(to)
        if here is None or above is None or not above[0] or contains(path, to):
            return
        if there is not None and (there[0] or here[0]):  # a file may replace a file
            return
        moved = {to + old.removeprefix(path): what for old, what in self._take(path).items()}
        self.things.update(moved)
        self._changed(parent_of(to))
        self.events.append(event(RENAME, path, to))

    def _take(self, path: str) -> dict[str, tuple[bool, int]]:
        taken = {old: what for old, what in self.things.items() if contains(path, old)}
        for old in taken:
            del self.things[old]
        self._changed(parent_of(path))
        return taken

    def _put(self, path: str, directory: bool) -> None:
        self.stamp += 1
        self.things[path] = (directory, self.stamp)
        self._changed(parent_of(path))

    def _changed(self, path: str) -> None:
        self.stamp += 1
        self.things[path] = (True, self.stamp)


def follow(
    index: dict[str, tuple[bool, int]], there: FileSystem, touched: TouchedPaths, filters: PathFilters
) -> None:
    """Update the index as the pipeline does: a path that is read is updated, a path that is covered but not read is
    removed.
    """
    read = {path: there.things[path] for path in touched.described() if path in there.things}
    for top in touched.listed():
        read |= {
            path: what for path, what in there.things.items() if contains(top, path) and filters.takes(path)
        }
    for top in touched.gone():
        for path in [path for path in index if contains(top, path) and path not in read]:
            del index[path]
    index.update(read)


operations = st.lists(
    st.one_of(
        st.tuples(st.just("make"), st.sampled_from(PATHS), st.booleans()),
        st.tuples(st.just("change"), st.sampled_from(PATHS)),
        st.tuples(st.just("remove"), st.sampled_from(PATHS)),
        st.tuples(st.just("rename"), st.sampled_from(PATHS), st.sampled_from(PATHS)),
        # Follow all events except the last ones. The state read may then include changes whose events are followed
        # later.
        st.tuples(st.just("follow"), st.integers(0, 4)),
    ),
    min_size=10,
    max_size=60,
)


FILTERS = {
    "everything": PathFilters(exclude=()),
    "some left out": PathFilters(exclude=("/**/c", "/b/a")),
    "some taken": PathFilters(("/a/*", "/b"), ("/a/b",)),
}


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
@settings(max_examples=300)
@given(done=operations)
def test_following_ends_in_the_current_state(filters: PathFilters, done: list[tuple[object, ...]]) -> None:
    follow_and_compare(filters, done)


@pytest.mark.soak
@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
def test_following_ends_in_the_current_state_after_many_operations(filters: PathFilters, seed: str) -> None:
    @hypothesis.seed(seed)
    @settings(max_examples=2_000)
    @given(done=operations)
    def many(done: list[tuple[object, ...]]) -> None:
        follow_and_compare(filters, done)

    many()


def follow_and_compare(filters: PathFilters, done: list[tuple[object, ...]]) -> None:
    there, index, reported = FileSystem(), {"/": (True, 0)}, 0
    for name, *arguments in [*done, ("follow", 0)]:
        match name, arguments:
            case "make", [str(path), bool(directory)]:
                there.make(path, directory=directory)
            case "change", [str(path)]:
                there.change(path)
            case "remove", [str(path)]:
                there.remove(path)
            case "rename", [str(path), str(to)]:
                there.rename(path, to)
            case "follow", [int(behind)]:
                touched = TouchedPaths(filters.takes)
                until = max(reported, len(there.events) - behind)
                for each in there.events[reported:until]:
                    touched.add(each)
                reported = until
                follow(index, there, touched, filters)

    assert index == {path: what for path, what in there.things.items() if filters.takes(path)}
