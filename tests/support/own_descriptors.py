"""Logs that are followed as in a process of their own, whatever other tests of this process follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from extractors.lineage.held_files import HeldFiles
from extractors.lineage.planned_files import plan_files


@contextmanager
def holding(held: HeldFiles) -> Iterator[None]:
    """What is planned meanwhile is held open there: a source gets the fewer descriptors the more of them there are."""
    defaults = plan_files.__kwdefaults__
    assert defaults is not None
    with patch.dict(defaults, held=held):
        yield
