"""Asking: search, lineage, and naming what is asked for."""
