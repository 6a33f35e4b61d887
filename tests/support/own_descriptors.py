"""Following logs as a separate process would, independently of other logs that this process follows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from extractors.lineage.kept_open_files import KeptOpenFiles
from extractors.lineage.planned_files import plan_files


@contextmanager
def holding(held: KeptOpenFiles) -> Iterator[None]:
    """Inside the block, hold the planned files open in ``held``. The more files it holds, the fewer descriptors each
    source gets.
    """
    defaults = plan_files.__kwdefaults__
    assert defaults is not None
    with patch.dict(defaults, kept_open=held):
        yield
