"""Maintenance of the index: opening, upgrades, backups, purges, and forgetting of sources."""
