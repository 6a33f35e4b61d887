"""Navigator's roles. Each role includes the rights of the previous one."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Role(IntEnum):
    LINEAGE_VIEWER = 1
    """May read."""
    METADATA_ADMINISTRATOR = 2
    """May also edit the metadata of entities."""
    ADMINISTRATOR = 3
    """May also request runs and purges, and create users."""

    @property
    def words(self) -> str:
        """The user-facing name: ``lineage-viewer``."""
        return self.name.lower().replace("_", "-")


ROLES: Final = {role.words: role for role in Role}
"""User-facing name → role."""
