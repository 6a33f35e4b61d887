"""Queries: search, lineage, and resolving names to entities."""
