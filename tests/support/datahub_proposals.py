"""DataHub proposals for items, arranged for comparison in tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from navlin.export.datahub import DataHubOptions, records
from navlin.export.values import (
    Item,
)

HIVE_ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,sales.orders,PROD)"
HIVE_DAILY = "urn:li:dataset:(urn:li:dataPlatform:hive,sales.daily,PROD)"


def proposals(items: Iterable[Item], **options: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in records(items, DataHubOptions(**options))]


def aspects(items: Iterable[Item], **options: Any) -> dict[tuple[str, str], Any]:
    """Map (entity, aspect name) to the aspect. Asserts that none appears twice with different values."""
    found: dict[tuple[str, str], Any] = {}
    for each in proposals(items, **options):
        key, aspect = (each["entityUrn"], each["aspectName"]), each["aspect"]["json"]
        assert found.setdefault(key, aspect) == aspect or key[1] == "dataProcessInstanceRunEvent", key
        found[key] = aspect
    return found


def urns(items: Iterable[Item], **options: Any) -> list[str]:
    return list(dict.fromkeys(each["entityUrn"] for each in proposals(items, **options)))
