"""Verify at start that the top-level packages ``extractors`` and ``linker`` are navlin's own.

Other distributions have these names too. One that was installed into navlin's environment has replaced navlin's files,
and one that comes first on the path hides them.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Final

OWN: Final = ("extractors", "linker")
MARK: Final = '__distribution__ = "navlin"'
"""A line of the ``__init__.py`` of each own package."""


class ForeignPackage(Exception):
    """A package that navlin needs belongs to another distribution; the message says where it is, and gives a remedy."""


def verify_own_packages() -> None:
    """Read where the packages are, without importing them, because foreign code should not run. Raises
    `ForeignPackage`."""
    beside = Path(__file__).resolve().parents[1]
    for name in OWN:
        spec = find_spec(name)
        file = Path(spec.origin).resolve() if spec is not None and spec.origin is not None else None
        if file is None or file.parent.parent != beside or not _is_marked(file):
            folder = beside / name if file is None else file.parent
            raise ForeignPackage(
                f"the package {name!r} in {folder} is not navlin's own: "
                "install navlin into an environment of its own, with no other package of that name"
            )


def _is_marked(file: Path) -> bool:
    return MARK in file.read_text(errors="replace").splitlines()
