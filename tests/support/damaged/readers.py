from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Final

from extractors.lineage.line_logs import LineLogs
from tests.support import damaged
from tests.support.damaged.line_logs import of_its_case
from tests.support.damaged.tallies import Reader
from tests.support.shipped_extractors import SHIPPED

_FOUND: Final[Mapping[str, Reader]] = {
    name: reader
    for module in pkgutil.iter_modules(damaged.__path__, f"{damaged.__name__}.")
    if module.name != __name__
    for name, reader in vars(importlib.import_module(module.name)).items()
    if name in SHIPPED
}
READERS: Final[Mapping[str, Reader]] = {
    name: _FOUND.get(name) or of_its_case(name)
    for name, each in SHIPPED.items()
    if name in _FOUND or issubclass(each.make, LineLogs)
}
"""Extractor name → function that damages and reads its records: the function of that name in a module of this folder. An
extractor that follows files of lines needs none."""
