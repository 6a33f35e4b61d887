"""Parts of Navigator's API that navlin does not have, each with an error message that names the alternative."""

from __future__ import annotations

import re
from typing import Final

_USERS: Final = "users and roles are kept by `navlin user` on the machine of this server"
NOT_HERE: Final = {
    "audits": "there are no audits here: Navigator's audit server kept them, and navlin reads no audit logs",
    "auth": _USERS,
    "users": _USERS,
    "policy": "there are no policies here",
    "policies": "there are no policies here",
    "tags": "tags are counted by /interactive/entities with facetFields=tags",
}
"""First path segment below the version → the error message."""
_ADDRESS: Final = re.compile(r"/api/v\d{1,3}/(\w+)(?:/.*)?", re.DOTALL)


def why_not(path: str) -> str | None:
    """Return why a path does not exist; None if clients of Navigator do not expect the path."""
    found = _ADDRESS.fullmatch(path)
    return NOT_HERE.get(found[1]) if found else None
