"""OpenLineage: events in which Airflow, dbt, Flink, Trino, Spark with an agent and others report their jobs."""

from __future__ import annotations

from extractors.openlineage.openlineage_events import OpenLineageEvents

__all__ = ["OpenLineageEvents"]
