"""Path filters: globs, and the regular expressions built from them.

In a glob, ``*`` matches anything within one name, ``?`` matches one character, ``[abc]`` and ``[!abc]`` match one
character of a set, and ``**`` matches any number of names. A glob covers the paths that it matches and everything
below them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from extractors.lineage.staging import left_out

STAGING = left_out()
"""Default of ``exclude``: globs for temporary and discarded files of jobs and users."""

ANY_DEPTH = "**"
_ONE_OF = re.compile(r"\[!?[^]/]+\]")


@dataclass(frozen=True, slots=True)
class PathFilters:
    """Globs to include and exclude, compiled to regular expressions. Directories above an included path are included.
    Everything below an excluded path is excluded, so a walk need not descend there.
    """

    include: tuple[str, ...] = ("/",)
    exclude: tuple[str, ...] = STAGING
    _included: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _excluded: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_included", re.compile(self.included))
        object.__setattr__(self, "_excluded", re.compile(self.excluded))

    def takes(self, path: str) -> bool:
        """Whether a path is to be read."""
        return not self._excluded.fullmatch(path) and (
            self.include == ("/",) or self._included.fullmatch(path) is not None
        )

    def taken(self, paths: Any) -> Any:
        """Return for each path of an Arrow array whether it is to be read, as an Arrow array."""
        # Loads pyarrow, so it is imported only when many paths are read.
        import pyarrow.compute as pc

        taken = pc.invert(pc.match_substring_regex(paths, f"^{self.excluded}$"))
        if self.include != ("/",):
            taken = pc.and_(taken, pc.match_substring_regex(paths, f"^{self.included}$"))
        return taken

    @property
    def included(self) -> str:
        """Regular expression that fully matches every included path. It is also valid in RE2."""
        return _either(
            [*map(_at_or_below, self.include), *(on for glob in self.include for on in _on_the_way(glob))]
        )

    @property
    def excluded(self) -> str:
        """Regular expression that fully matches every excluded path. It is also valid in RE2."""
        return _either(_excluding(self.exclude, in_tree=False))

    @property
    def matching(self) -> str:
        """Regular expression that fully matches the tree paths to read, for `Covered.matching`; "" if all are read."""
        excluded = [f"(?!{_either(_excluding(self.exclude, in_tree=True))}\\Z)"] if self.exclude else []
        if self.include == ("/",):
            return f"(?s:{excluded[0]}.*)" if excluded else ""
        ways = [on for glob in self.include for on in _on_the_way(glob, in_tree=True)]
        included = _either([*(_at_or_below(glob, in_tree=True) for glob in self.include), *ways])
        return "".join((*excluded, included))


def wrong_globs(include: Sequence[str], exclude: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each invalid glob, as (setting, message). In ``include``, ``**`` is allowed only at the end, because the
    names of the directories above an included path must be known.
    """
    for setting, globs in (("include", include), ("exclude", exclude)):
        for glob in globs:
            if wrong := _wrong(glob):
                yield setting, wrong
            elif setting == "include" and ANY_DEPTH in _names(glob)[:-1]:
                yield setting, f'"{glob}" has a ** before its end: name what to leave out in exclude instead'
    if not include:
        yield "include", 'include must have a glob; ["/"] is everything'


def _wrong(glob: str) -> str:
    if not glob.startswith("/"):
        return f'"{glob}" must begin with a slash ("/**/{glob}" is that name anywhere)'
    for name in _names(glob):
        if ANY_DEPTH in name and name != ANY_DEPTH:
            return f'"{glob}": ** must stand alone between two slashes'
        if name in (".", ".."):
            return f'"{glob}" must not contain . or .. as a name'
        if "[" in _ONE_OF.sub("", name):
            return f'"{glob}" opens a [ that it does not close'
        for one_of in _ONE_OF.findall(name):
            try:
                slash = one_of[1] != "!" and re.fullmatch(f"[{_inside(one_of)}]", "/")
            except re.error as error:
                return f'"{glob}": {one_of} is not a set of characters ({error})'
            if slash:
                return f'"{glob}": {one_of} has a slash in it, which no name has'
    return ""


# -- A glob as a regular expression ----------------------------------------------------------------------------------------


def _names(glob: str) -> list[str]:
    return [name for name in glob.split("/") if name]


def _either(expressions: Sequence[str]) -> str:
    # Without expressions, use an empty character class, because neither Python nor RE2 has a plain "never".
    return f"(?s:{'|'.join(expressions)})" if expressions else r"[^\s\S]"


def _at_or_below(glob: str, *, in_tree: bool = False) -> str:
    return "".join(_expressions(_names(glob), in_tree=in_tree)) + "(?:/.*)?"


def _on_the_way(glob: str, *, in_tree: bool = False) -> Iterator[str]:
    names = [name for name in _names(glob) if name != ANY_DEPTH]
    yield "/"
    for depth in range(1, len(names)):
        yield "".join(_expressions(names[:depth], in_tree=in_tree))


def _excluding(globs: Sequence[str], *, in_tree: bool) -> list[str]:
    """Return expressions for excluded globs. Names excluded at any depth share one expression, because very many paths
    are tested.
    """
    anywhere: list[str] = []
    others: list[str] = []
    for glob in globs:
        names = _names(glob)
        if len(names) == 2 and names[0] == ANY_DEPTH:
            anywhere.append(_name(names[1], in_tree=in_tree))
        elif names and names[-1] == ANY_DEPTH:
            others.append("".join(_expressions(names[:-1], in_tree=in_tree)) + "/.+")
        else:
            others.append(_at_or_below(glob, in_tree=in_tree))
    return ([f"(?:/.*)?/(?:{'|'.join(anywhere)})(?:/.*)?"] if anywhere else []) + others


def _expressions(names: Sequence[str], *, in_tree: bool) -> Iterator[str]:
    for name in names:
        yield "(?:/.*)?" if name == ANY_DEPTH else "/" + _name(name, in_tree=in_tree)


def _name(glob: str, *, in_tree: bool) -> str:
    """Convert one name of a glob to a regular expression. A tree path has ``%25`` for a percent sign."""
    one = "(?:%25|[^/%])" if in_tree else "[^/]"
    parts: list[str] = []
    for part in re.findall(f"{_ONE_OF.pattern}|.", glob, re.DOTALL):
        match part:
            case "*":
                parts.append("[^/]*")
            case "?":
                parts.append(one)
            case _ if len(part) > 1:
                parts.append(_one_of(part, in_tree=in_tree))
            case "%" if in_tree:
                parts.append("%25")
            case _:
                parts.append(re.escape(part))
    return "".join(parts)


def _one_of(glob: str, *, in_tree: bool) -> str:
    negated = glob[1] == "!"
    inside = _inside(glob)
    one = f"[^/{inside}]" if negated else f"[{inside}]"
    if not in_tree:
        return one
    per_cent = re.fullmatch(one, "%") is not None
    return f"(?:%25|(?!%){one})" if per_cent else f"(?!%){one}"


def _inside(glob: str) -> str:
    # A hyphen keeps its meaning, as in all shells.
    return re.sub(r"([\\^\[\]&~|])", r"\\\1", glob.removeprefix("[").removeprefix("!").removesuffix("]"))
