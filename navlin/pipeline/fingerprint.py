"""Fingerprints of saved positions. Saved positions are valid only for one extractor, one version, and one set of the
settings that affect reading."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import fields
from typing import Any, Final

import orjson

from navlin.model.extractor import GIVEN, KEEPS_POSITIONS, Extractor, Registration

MASKED_AS: Final = "all 2"
"""Version of the masking of literals. Increase it if more is masked, so that everything is read again and masked."""


def fingerprint(registration: Registration, extractor: Extractor) -> str:
    """Return the name and version of an extractor, with a hash of the settings that affect reading
    (`navlin.model.extractor.keeps_positions`)."""
    return f"{registration.name} {registration.version} {_hash(extractor, all_settings=False)}"


def settings_hash(extractor: Extractor) -> str:
    """Return a hash of all settings of an extractor, including those that do not affect reading."""
    return _hash(extractor, all_settings=True)


def why_read_again(saved_under: Collection[str], now: str) -> str:
    """Return a sentence that says why positions saved under other fingerprints are no longer valid."""
    if not is_of_other_reader(saved_under, now):
        return "settings that decide what is read have changed: everything is read again"
    return "the extractor differs from that of the last run, or is newer: everything is read again"


def is_of_other_reader(saved_under: Collection[str], now: str) -> bool:
    """Whether no fingerprint in ``saved_under`` has the extractor and version of ``now``."""
    kind = now.rpartition(" ")[0]
    return all(each.rpartition(" ")[0] != kind for each in saved_under)


def _hash(extractor: Extractor, *, all_settings: bool) -> str:
    dataclass_instance: Any = extractor
    settings = {
        each.name: repr(getattr(extractor, each.name))
        for each in fields(dataclass_instance)
        if each.name not in GIVEN and (all_settings or not each.metadata.get(KEEPS_POSITIONS))
    }
    if extractor.estate.masks_literals:
        settings["literals"] = MASKED_AS
    return hashlib.blake2b(orjson.dumps(settings, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()
