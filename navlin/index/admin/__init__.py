"""Cores of the index: their creation, backups, and upgrades of the schema."""
