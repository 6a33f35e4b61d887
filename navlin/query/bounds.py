"""How much an answer may have. Loads nothing, so that every door can say it before it asks."""

from __future__ import annotations

from typing import Final

LIMIT: Final = 25
MOST: Final = 10_000
"""Of a list."""
MOST_OFFSET: Final = 1_000_000
"""Solr sorts all that is passed over: a narrower question finds what is further away."""
MAX_LIMIT: Final = 500_000
"""Navigator's own limit of a page of search results."""
MAX_OFFSET: Final = 2_000_000_000
"""Solr counts with 32 bits."""
VALUES: Final = 25
MOST_VALUES: Final = 10_000
"""Of a field that is counted by."""
MOST_HOPS: Final = 1_000
"""In each direction of a lineage."""
MAX_NODES: Final = 400
"""Navigator's own limit of a diagram."""
MAX_WALKED: Final = 20_000
"""How many nodes are looked at in one direction, shown or not."""
FOLLOWED: Final = 5_000
"""How many tables and paths an impact follows."""
