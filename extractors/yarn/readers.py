"""The readers of the engines that submit jobs of MapReduce."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from extractors.yarn import pig, sqoop_records
from extractors.yarn.engines import Engine

ENGINES: Final[tuple[Engine, ...]] = (pig.READER, sqoop_records.READER)
"""The readers, in the order in which a job is offered to them."""


def engine_of(properties: Mapping[str, str]) -> Engine | None:
    """Return the engine that submitted a job with these properties; None if none did."""
    return next((engine for engine in ENGINES if engine.run_of(properties)), None)
