"""Spark settings that determine how much of a plan the event log contains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class PlanSetting:
    """A setting of Spark jobs. ``wanted`` is a value that keeps plans complete, ``default`` is Spark's default, and
    ``loses`` describes the information that is lost with other values.
    """

    name: str
    wanted: str
    default: str
    loses: str


PLAN_SETTINGS: Final = (
    PlanSetting(
        "spark.sql.debug.maxToStringFields",
        "2000",
        "25",
        "lists of more columns are cut, and with them sources of columns",
    ),
    PlanSetting(
        "spark.sql.ui.explainMode", "formatted", "formatted", "the plan holds no columns, or cut ones"
    ),
    PlanSetting(
        "spark.sql.maxMetadataStringLength",
        "2000",
        "100",
        "of several paths that are read, only the first ones",
    ),
    PlanSetting(
        "spark.sql.maxPlanStringLength",
        "2147483632",
        "2147483632",
        "longer plans are cut and have no columns",
    ),
)


def advice(log: str, properties: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each setting that an application should change. ``properties`` are the application's Spark
    properties.
    """
    for setting in PLAN_SETTINGS:
        value = str(properties.get(setting.name) or setting.default)
        low = value.isdigit() and setting.wanted.isdigit() and int(value) < int(setting.wanted)
        if low or not (value.isdigit() or value == setting.wanted):
            yield f"{log}: {setting.name} is {value}, {setting.wanted} would be better: {setting.loses}"
