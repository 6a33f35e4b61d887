"""Paths in a source's own tree: the places of records, and the branches that a `Covered` covers.

A path is ``/`` followed by components joined by ``/``; a component has its own ``/`` and ``%`` percent-encoded. Paths
compare by component: ``/sales/orders`` does not contain ``/sales/orders_old``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

ROOT = "/"


def tree_path(*components: str) -> str:
    """Join components: ``tree_path("SALES", "ORDERS")`` is ``/SALES/ORDERS``; without components, the root."""
    return ROOT + "/".join([part.replace("%", "%25").replace("/", "%2F") for part in components])


def components(path: str) -> tuple[str, ...]:
    """Split a path into the components that `tree_path` takes."""
    parts = path[1:].split("/") if path != ROOT else []
    return tuple(part.replace("%2F", "/").replace("%25", "%") for part in parts)


def below(path: str, *components: str) -> str:
    """Return the path of components below ``path``."""
    rest = tree_path(*components)
    return rest if path == ROOT else path + rest


def parent_of(path: str) -> str:
    """Return the path one step up; the root for the root, and for a name that is not a path (programs may give their
    own files any name)."""
    return path.rpartition("/")[0] or ROOT


def upward(path: str) -> Iterator[str]:
    """Yield the path itself, then its ancestors, up to the root."""
    while path != ROOT:
        yield path
        path = parent_of(path)
    yield ROOT


def contains(path: str, other: str) -> bool:
    """Whether ``other`` is ``path`` or below it."""
    return path == ROOT or other == path or other.startswith(path + "/")


def excepted(path: str, exceptions: Collection[str]) -> bool:
    """Whether one of ``exceptions`` contains ``path``. Pass a set if there are many, so that the cost depends only on
    the depth."""
    if not exceptions:
        return False
    while path not in exceptions:
        if path in (ROOT, ""):
            return False
        path = parent_of(path)
    return True
