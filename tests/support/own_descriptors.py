"""Follows logs as in a separate process, independently of other logs that this process follows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from extractors.lineage.held_files import HeldFiles
from extractors.lineage.planned_files import plan_files


@contextmanager
def holding(held: HeldFiles) -> Iterator[None]:
    """Files planned meanwhile are held open in ``held``: the more there are, the fewer descriptors a source gets."""
    defaults = plan_files.__kwdefaults__
    assert defaults is not None
    with patch.dict(defaults, held=held):
        yield
