"""Keys of all kinds, and the paths that a listing must show for them, as written down from S3's documentation and from
Hadoop's clients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.support.s3_rounds import Round

FILE: Final = "FILE"
IMPLICIT: Final = "implicit DIRECTORY"
EXPLICIT: Final = "explicit DIRECTORY"


@dataclass(frozen=True, slots=True)
class KindOfKeys:
    """Keys of objects of three bytes, and of ``empty`` objects. ``paths`` maps each path to its kind. ``odd`` is the number
    of keys that are not paths. ``kept`` tells whether versitygw keeps and lists the keys as they are.
    """

    keys: Sequence[str] = ()
    paths: Mapping[str, str] = field(default_factory=dict)
    empty: Sequence[str] = ()
    odd: int = 0
    kept: bool = True

    @property
    def sizes(self) -> Mapping[str, int]:
        """Key → size of its object, in bytes."""
        return {**dict.fromkeys(self.keys, 3), **dict.fromkeys(self.empty, 0)}


def _alone(key: str, *, kept: bool = True) -> KindOfKeys:
    """Return an object at the top of the bucket."""
    return KindOfKeys((key,), {f"/{key}": FILE}, kept=kept)


def _odd(*keys: str, above: str = "") -> KindOfKeys:
    """Return keys that are not paths, and the directory above them."""
    return KindOfKeys(keys, {above: IMPLICIT} if above else {}, odd=len(keys), kept=False)


KINDS: Final[Mapping[str, KindOfKeys]] = {
    "an object in directories": KindOfKeys(
        ("plain/2026/part-0",),
        {"/plain": IMPLICIT, "/plain/2026": IMPLICIT, "/plain/2026/part-0": FILE},
    ),
    "an object and keys below its name": KindOfKeys(
        ("both/b", "both/b-c", "both/b.d/e", "both/b/c"),
        {
            "/both": IMPLICIT,
            "/both/b": EXPLICIT,
            "/both/b-c": FILE,
            "/both/b.d": IMPLICIT,
            "/both/b.d/e": FILE,
            "/both/b/c": FILE,
        },
        kept=False,
    ),
    "an empty name": _odd("gap//x", "gap///y", above="/gap"),
    "two dots as a name": _odd("up/../y", "up/..", "..", above="/up"),
    "a dot as a name": _odd("here/./y", "here/.", ".", above="/here"),
    "a leading slash": _odd("/lead", "/"),
    "slashes alone at the end": _odd("ends//", "//", above="/ends"),
    "a NUL": _odd("nul\0x"),
    "dots in names": KindOfKeys(
        (".hidden/..data/...",),
        {"/.hidden": IMPLICIT, "/.hidden/..data": IMPLICIT, "/.hidden/..data/...": FILE},
    ),
    "percent signs": _alone("per%cent%25%2F"),
    "plus signs": _alone("plus+plus++"),
    "blanks": _alone(" blank  at both ends "),
    "letters beyond ASCII": KindOfKeys(
        ("ü/日本/🙂",), {"/ü": IMPLICIT, "/ü/日本": IMPLICIT, "/ü/日本/🙂": FILE}
    ),
    "letters in two cases": KindOfKeys(
        ("Case/x", "case/x"), {"/Case": IMPLICIT, "/Case/x": FILE, "/case": IMPLICIT, "/case/x": FILE}
    ),
    "characters of XML and URLs": _alone("question?mark#hash&amp;<tag>"),
    "quotes and a backslash": _alone("quote\"and'backslash\\", kept=False),
    "control characters": _alone("control\x01\x1f\x7f", kept=False),
    "white space": _alone("tab\tand\nnewline\r"),
    "a tilde and a colon": KindOfKeys(("~/x:y",), {"/~": IMPLICIT, "/~/x:y": FILE}),
    "a partition": KindOfKeys(("ds=2026-01-01/k=",), {"/ds=2026-01-01": IMPLICIT, "/ds=2026-01-01/k=": FILE}),
    "1,024 bytes": _alone("a" * 1_024, kept=False),
    "1,024 bytes of 512 letters": _alone("é" * 512, kept=False),
    "a marker of an empty directory": KindOfKeys((), {"/made": EXPLICIT}, empty=("made/",)),
    "a marker of a directory with objects": KindOfKeys(
        ("full/x",), {"/full": EXPLICIT, "/full/x": FILE}, empty=("full/",)
    ),
    "a marker with contents": KindOfKeys(("filled/",), {"/filled": EXPLICIT}, kept=False),
    "a marker of s3n": KindOfKeys((), {"/none": EXPLICIT}, empty=("none_$folder$",)),
    "a marker of s3n after the objects": KindOfKeys(
        ("old/x",), {"/old": EXPLICIT, "/old/x": FILE}, empty=("old_$folder$",)
    ),
    "a marker of s3n in a directory": KindOfKeys(
        (), {"/deep": IMPLICIT, "/deep/down": EXPLICIT}, empty=("deep/down_$folder$",)
    ),
    "a marker's name with contents": _alone("kept_$folder$"),
    "a marker's end alone": KindOfKeys((), {"/_$folder$": FILE}, empty=("_$folder$",)),
}
"""No two kinds have a path in common."""

ALL: Final = KindOfKeys(
    [key for each in KINDS.values() for key in each.keys],
    {path: kind for each in KINDS.values() for path, kind in each.paths.items()},
    [key for each in KINDS.values() for key in each.empty],
    sum(each.odd for each in KINDS.values()),
)


def shown(done: Round) -> Mapping[str, str]:
    """Return the kind of each path but the bucket's, as a listing shows it."""
    return {path: _kind(row["type"], row.get("implicit")) for path, row in done.rows.items() if path != "/"}


def counted(done: Round) -> int:
    """Return the number of keys that are not paths, as rejects count them."""
    assert all(each.reason.startswith("its key is not a path") for each in done.rejects), done.rejects
    return sum(each.count for each in done.rejects)


def _kind(entity_type: str, implicit: bool | None) -> str:
    if entity_type == "DIRECTORY":
        return IMPLICIT if implicit else EXPLICIT
    return entity_type
