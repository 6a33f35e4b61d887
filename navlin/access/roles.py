"""What a user may do. Navigator's roles, each of which may do all that the one before may."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Role(IntEnum):
    """A user's rights."""

    LINEAGE_VIEWER = 1
    """May ask."""
    METADATA_ADMINISTRATOR = 2
    """May also write on entities."""
    ADMINISTRATOR = 3
    """May also request runs and purges, and make users."""

    @property
    def words(self) -> str:
        """The name as people write it: ``lineage-viewer``."""
        return self.name.lower().replace("_", "-")


ROLES: Final = {role.words: role for role in Role}
"""By the name that people write."""
