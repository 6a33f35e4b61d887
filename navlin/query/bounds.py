"""Bounds of answers. The module loads nothing, so that every door can check them before it asks."""

from __future__ import annotations

from typing import Final

LIMIT: Final = 25
MOST: Final = 10_000
"""Results of a list, at most."""
MOST_OFFSET: Final = 1_000_000
"""Solr sorts all skipped results: use a narrower question instead."""
MAX_LIMIT: Final = 500_000
"""Navigator's own limit for a page of search results."""
MAX_OFFSET: Final = 2_000_000_000
"""Solr counts with 32 bits."""
VALUES: Final = 25
MOST_VALUES: Final = 10_000
"""Counted values of a field, at most."""
MOST_HOPS: Final = 1_000
"""In each direction of a lineage."""
MAX_NODES: Final = 400
"""Navigator's own limit for a diagram."""
MAX_WALKED: Final = 20_000
"""Nodes visited in one direction, shown or not."""
FOLLOWED: Final = 5_000
"""Default maximum number of tables and paths that an impact analysis follows."""
