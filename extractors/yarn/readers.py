"""The readers of the engines that submit jobs of MapReduce."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from extractors.yarn.engines import Engine
from extractors.yarn.pig import Pig
from extractors.yarn.sqoop import Sqoop

ENGINES: Final[tuple[Engine, ...]] = (Pig(), Sqoop())
"""The readers, in the order in which a job is offered to them."""


def engine_of(properties: Mapping[str, str]) -> Engine | None:
    """Return the engine that submitted a job with these properties; None if none did."""
    return next((engine for engine in ENGINES if engine.run_of(properties)), None)
