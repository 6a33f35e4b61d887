"""Paths in a source's own tree: where a record stands, and what a `Covered` covers.

A path is ``/`` followed by components joined by ``/``; a component has its own ``/`` and ``%`` percent-encoded. Paths
compare by component: ``/sales/orders`` does not contain ``/sales/orders_old``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

ROOT = "/"


def tree_path(*components: str) -> str:
    """``tree_path("SALES", "ORDERS")`` is ``/SALES/ORDERS``; without components, the root."""
    return ROOT + "/".join([part.replace("%", "%25").replace("/", "%2F") for part in components])


def components(path: str) -> tuple[str, ...]:
    """The components of a path, as `tree_path` takes them."""
    parts = path[1:].split("/") if path != ROOT else []
    return tuple(part.replace("%2F", "/").replace("%25", "%") for part in parts)


def below(path: str, *components: str) -> str:
    """The path of something below ``path``."""
    rest = tree_path(*components)
    return rest if path == ROOT else path + rest


def parent_of(path: str) -> str:
    """The path one step up; the root's is the root, and so is that of a name that is no path: a program may call a file of
    its own anything."""
    return path.rpartition("/")[0] or ROOT


def upward(path: str) -> Iterator[str]:
    """The path itself, then what contains it, up to the root."""
    while path != ROOT:
        yield path
        path = parent_of(path)
    yield ROOT


def contains(path: str, other: str) -> bool:
    """Whether ``other`` is ``path`` or stands below it."""
    return path == ROOT or other == path or other.startswith(path + "/")


def excepted(path: str, exceptions: Collection[str]) -> bool:
    """Whether one of ``exceptions`` contains ``path``. Give a set where they are many: the cost follows the depth."""
    if not exceptions:
        return False
    while path not in exceptions:
        if path in (ROOT, ""):
            return False
        path = parent_of(path)
    return True
