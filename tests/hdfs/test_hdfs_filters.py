"""Path filters select the same paths as Python code, on an Arrow column, and on paths in the tree."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.path_filters import PathFilters, wrong_globs

TAKEN, LEFT_OUT = True, False


def in_arrow(filters: PathFilters, path: str) -> bool:
    """Whether the filters accept a path, tested as in a column of an image."""
    paths = pa.array([path])
    included = pc.match_substring_regex(paths, f"^{filters.included}$")[0].as_py()
    excluded = pc.match_substring_regex(paths, f"^{filters.excluded}$")[0].as_py()
    return included and not excluded


def in_tree(filters: PathFilters, path: str) -> bool:
    """Whether the filters accept a path, tested as `Covered` tests it."""
    return not filters.matching or re.fullmatch(filters.matching, path.replace("%", "%25")) is not None


@pytest.mark.parametrize(
    ("path", "taken"),
    [
        ("/", TAKEN),
        ("/user/ann", TAKEN),
        ("/user/ann/.Trash", LEFT_OUT),
        ("/user/ann/.Trash/Current/user/ann/f", LEFT_OUT),
        ("/zone/.Trash/ann/f", LEFT_OUT),
        ("/user/ann/.Trashed", TAKEN),
        ("/w/t/.hive-staging_hive_2026-01-01/x", LEFT_OUT),
        ("/w/t/_temporary/0/f", LEFT_OUT),
        ("/_temporary", LEFT_OUT),
        ("/w/t/my_temporary/f", TAKEN),
        ("/user/ann/.sparkStaging/application_1/f", LEFT_OUT),
        ("/w/t/.spark-staging-0a1b/ds=1/f", LEFT_OUT),
        ("/user/ann/.staging/job_1", LEFT_OUT),
        ("/in/f.csv._COPYING_", LEFT_OUT),
        ("/tmp/hive/ann/x", LEFT_OUT),
        ("/tmp/hive2", TAKEN),
        ("/tmp", TAKEN),
    ],
)
def test_leftovers_of_jobs_are_excluded_by_default(path: str, taken: bool) -> None:
    filters = PathFilters()

    assert filters.takes(path) is in_arrow(filters, path) is in_tree(filters, path) is taken


@pytest.mark.parametrize(
    ("include", "exclude", "path", "taken"),
    [
        ("/data", "", "/data/x/y", TAKEN),
        ("/data", "", "/", TAKEN),
        ("/data", "", "/database", LEFT_OUT),
        ("/data/*/raw", "", "/data/a", TAKEN),
        ("/data/*/raw", "", "/data/a/raw/f", TAKEN),
        ("/data/*/raw", "", "/data/a/cooked", LEFT_OUT),
        ("/data/**", "", "/data", TAKEN),
        ("/", "/data/**", "/data", TAKEN),
        ("/", "/data/**", "/data/x", LEFT_OUT),
        ("/", "/a/**/b", "/a/b", LEFT_OUT),
        ("/", "/a/**/b", "/a/x/y/b/z", LEFT_OUT),
        ("/", "/a/**/b", "/a/x/bb", TAKEN),
        ("/", "/a/?", "/a/%", LEFT_OUT),
        ("/", "/a/?", "/a/%2", TAKEN),
        ("/", "/a/100%", "/a/100%/f", LEFT_OUT),
        ("/", "/a/100%", "/a/100%25", TAKEN),
        ("/", "/a/[%x]5", "/a/%5", LEFT_OUT),
        ("/", "/a/[!x]5", "/a/%5", LEFT_OUT),
        ("/", "/a/[!%]5", "/a/%5", TAKEN),
        ("/", "/a/[b-d]", "/a/c", LEFT_OUT),
        ("/", "/a.b", "/axb", TAKEN),
        ("/", "/a/*", "/a/two\nlines", LEFT_OUT),
        ("/", "/a/b", "/a/b\n", TAKEN),
        ("/", "/ä/*", "/ä/ö", LEFT_OUT),
    ],
)
def test_a_glob_covers_its_matches_and_everything_below(
    include: str, exclude: str, path: str, taken: bool
) -> None:
    filters = PathFilters((include,), (exclude,) if exclude else ())

    assert filters.takes(path) is in_arrow(filters, path) is in_tree(filters, path) is taken


GLOBS = st.lists(st.text("ab%*?.[]!-^", min_size=1, max_size=4), min_size=1, max_size=3).map(
    lambda names: "/" + "/".join(names)
)
PATHS = st.lists(st.text("ab%25.-^\n", min_size=1, max_size=4), max_size=4).map(
    lambda names: "/" + "/".join(names)
)


@settings(max_examples=400)
@given(
    st.lists(GLOBS, min_size=1, max_size=3),
    st.lists(GLOBS | GLOBS.map(lambda glob: "/**" + glob), max_size=3),
    PATHS,
)
def test_all_three_filter_forms_agree(include: list[str], exclude: list[str], path: str) -> None:
    if list(wrong_globs(include, exclude)):
        return
    filters = PathFilters(tuple(include), tuple(exclude))

    assert filters.takes(path) is in_arrow(filters, path) is in_tree(filters, path)
    above = path.rpartition("/")[0]
    if above and filters.takes(path):
        assert filters.takes(above), "what stands above is on the way"


@settings(max_examples=400)
@given(
    st.text("ab%*?.-^$(+", min_size=1, max_size=5).filter(lambda name: "**" not in name),
    st.text("ab%.-^$(+", max_size=5),
)
def test_a_name_matches_as_in_fnmatch(glob: str, name: str) -> None:
    if name and glob not in (".", ".."):
        assert PathFilters(exclude=(f"/{glob}",)).takes(f"/{name}") is not fnmatchcase(name, glob)


def test_without_a_filter_everything_is_covered() -> None:
    filters = PathFilters(exclude=())

    assert filters.matching == ""
    assert filters.takes("/any/thing") and in_arrow(filters, "/any/thing")


@pytest.mark.parametrize("glob", ["data", "**/x", "/a/x**", "/a/../b", "/a/[b", "/a/[*-0]", "/a/[z-a]"])
def test_an_invalid_glob_is_reported(glob: str) -> None:
    [(setting, message)] = wrong_globs(("/",), (glob,))

    assert setting == "exclude"
    assert glob in message


def test_an_include_pattern_needs_a_known_parent_path() -> None:
    assert list(wrong_globs(("/data/*/raw/**",), ())) == []
    [(setting, message)] = wrong_globs(("/data/**/raw",), ())
    assert setting == "include"
    assert "exclude instead" in message
