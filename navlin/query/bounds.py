"""Limits of queries and results. This module imports nothing from navlin, so that commands, endpoints and pages can
check the limits without loading the queries."""

from __future__ import annotations

from typing import Final

LIMIT: Final = 25
MOST: Final = 10_000
"""Maximum number of results in a list."""
MOST_OFFSET: Final = 1_000_000
"""Maximum offset in a list, because Solr sorts all skipped results. A narrower query is the alternative."""
MAX_LIMIT: Final = 500_000
"""Maximum number of search results on a page, as in Navigator."""
MAX_OFFSET: Final = 2_000_000_000
"""Maximum offset of a search, because Solr counts with 32 bits."""
VALUES: Final = 25
MOST_VALUES: Final = 10_000
"""Maximum number of values counted per field."""
MOST_HOPS: Final = 1_000
"""Maximum depth of a lineage in each direction."""
MAX_NODES: Final = 400
"""Maximum number of nodes in a diagram, as in Navigator."""
MAX_WALKED: Final = 20_000
"""Maximum number of nodes visited in one direction, shown or not."""
WALK_S: Final = 30
"""Default maximum duration of a walk, in seconds. A chain is read level by level, so its length alone can cost minutes."""
MOST_WALK_S: Final = 300
FOLLOWED: Final = 5_000
"""Default maximum number of tables and paths that an impact analysis follows."""
