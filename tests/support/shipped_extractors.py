"""The extractors that navlin ships, and settings with which each of them can be made."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING
from typing import Any, Final

from navlin.model.extractor import GIVEN, Registration
from navlin.service.loader import load_extractors
from navlin.service.settings.typed import settings_of
from navlin.shipped import CONF

# Extractors that other tests of the session register are not among them.
SHIPPED: Final[Mapping[str, Registration]] = {
    name: each for name, each in load_extractors().items() if each.make.__module__.startswith("extractors.")
}


def shown() -> dict[str, Any]:
    """Return the example configuration with every commented-out ``#key = value`` enabled."""
    text = (CONF / "navlin.toml").read_text()
    return tomllib.loads(re.sub(r'^#(?=["\w.]+ = )', "", text, flags=re.MULTILINE))


SHOWN: Final = shown()
SHOWN_SOURCES: Final[Mapping[str, dict[str, Any]]] = {each["extractor"]: each for each in SHOWN["source"]}


def required_settings(name: str) -> dict[str, Any]:
    """Return the settings that an extractor requires, with the values of the example configuration."""
    required = (
        setting
        for setting, item in settings_of(SHIPPED[name].make, GIVEN).items()
        if item.default is MISSING and item.default_factory is MISSING
    )
    return {each: SHOWN_SOURCES[name][each] for each in required}
